"""Signatures of records in shared stores: they bind a record to its writer, tenant and name.

A signature is `<key id>:<base64url of HMAC-SHA-256>` over the canonical JSON (RFC 8785) of tenant, kind, name, schema
and payload. Its key is derived from a master key for each tenant and purpose (HKDF-SHA-256, RFC 5869), so that no
record counts for another tenant, under another name, or as something else. The first of several keys signs; all verify.
"""

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Final

from replaywright.domain.common.canonical import canonical

KEY_BYTES: Final = 32
_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}")


@dataclass(frozen=True)
class Key:
    """A master key."""

    id: str
    """Stands beside its signatures and ciphertexts."""
    secret: bytes = field(repr=False)

    def derived(self, purpose: str, tenant: str = "") -> bytes:
        """Return 32 bytes for one purpose and tenant."""
        info = canonical({"purpose": purpose, "tenant": tenant})
        # HKDF of one block. Every command that starts a run needs it, and a library takes longer to load.
        extracted = hmac.digest(b"replaywright", self.secret, "sha256")
        return hmac.digest(extracted, info + b"\x01", "sha256")


def parse_keys(text: str) -> tuple[Key, ...]:
    """Parse keys `id:base64,id2:base64`, separated by commas, blanks or line ends.

    Raises:
        ValueError: a key is invalid; the message never has its value.
    """
    keys: list[Key] = []
    for number, part in enumerate(re.split(r"[\s,]+", text.strip()), 1):
        name, separator, encoded = part.partition(":")
        if not separator or not _ID.fullmatch(name):
            raise ValueError(f"key {number} is not written as id:base64 (an id is letters, digits, dot, _ and -)")
        try:
            secret = base64.b64decode(encoded, altchars=b"-_" if set(encoded) & set("-_") else None, validate=True)
        except (binascii.Error, ValueError):
            raise ValueError(f"key {name!r} is no base64") from None
        if len(secret) != KEY_BYTES:
            raise ValueError(f"key {name!r} has {len(secret)} bytes, expected {KEY_BYTES}")
        if any(key.id == name for key in keys):
            raise ValueError(f"the id {name!r} stands in it twice")
        keys.append(Key(name, secret))
    return tuple(keys)


def written_key(key: Key) -> str:
    """Return the key in the form of `parse_keys`."""
    return f"{key.id}:{base64.b64encode(key.secret).decode()}"


class Fault(StrEnum):
    """Reason to ignore a record."""

    UNSIGNED = "unsigned"
    UNKNOWN_KEY = "signed with a key that is not known here"
    ALTERED = "altered, or copied from elsewhere: its signature is not of this"


@dataclass(frozen=True)
class Signed:
    """Signed content."""

    tenant: str
    kind: str
    """entry, entry-active, skill, skill-statuses, override, trace."""
    name: str
    """The key in Redis, with the record if the key has several."""
    schema: int
    payload: Mapping[str, str | int | bool]
    """Numbers, texts and booleans; a long text by its `text_digest`."""


class Signer:
    """Signs with the first of its keys and verifies with all. Without keys nothing is signed or verified."""

    def __init__(self, keys: Sequence[Key] = ()) -> None:
        self._keys = tuple(keys)
        self._derived: dict[tuple[str, str, str], bytes] = {}

    @property
    def key_ids(self) -> tuple[str, ...]:
        """Ids of the keys; the first one signs."""
        return tuple(key.id for key in self._keys)

    @property
    def is_unsigned(self) -> bool:
        """True without keys: everything is accepted."""
        return not self._keys

    def sign(self, what: Signed) -> str:
        """Return the signature; empty without keys."""
        return self.mac("sign", what.tenant, _content_of(what))

    def fault(self, what: Signed, signature: str) -> Fault | None:
        """Return why the signature does not match; None if it does, and always without keys."""
        return self.mac_fault("sign", what.tenant, _content_of(what), signature) if self._keys else None

    def mac(self, purpose: str, tenant: str, data: Mapping[str, Any]) -> str:
        """Return the MAC of JSON-like data for this purpose and tenant; empty without keys.

        Raises:
            ValueError: JSON cannot carry the data exactly.
        """
        return self._mac(self._keys[0], purpose, tenant, canonical(dict(data))) if self._keys else ""

    def mac_fault(self, purpose: str, tenant: str, data: Mapping[str, Any], signature: str) -> Fault | None:
        """Return why the MAC does not match; None if it does. Without keys everything is unsigned."""
        key_id, separator, _ = signature.partition(":")
        if not separator:
            return Fault.UNSIGNED
        key = next((key for key in self._keys if key.id == key_id), None)
        if key is None:
            return Fault.UNKNOWN_KEY
        try:
            expected = self._mac(key, purpose, tenant, canonical(dict(data)))
        except (RecursionError, ValueError):  # it cannot have been signed
            return Fault.ALTERED
        # As bytes: Redis may hold anything.
        same = hmac.compare_digest(expected.encode(), signature.encode("utf-8", "surrogatepass"))
        return None if same else Fault.ALTERED

    def is_current(self, signature: str) -> bool:
        """Return True if the signing key made it."""
        return not self._keys or signature.startswith(f"{self._keys[0].id}:")

    def _mac(self, key: Key, purpose: str, tenant: str, data: bytes) -> str:
        derived = self._derived.get((key.id, purpose, tenant))
        if derived is None:
            derived = self._derived[key.id, purpose, tenant] = key.derived(purpose, tenant)
        mac = base64.urlsafe_b64encode(hmac.digest(derived, data, "sha256"))
        return f"{key.id}:{mac.decode().rstrip('=')}"


UNSIGNED: Final = Signer()
"""Accepts everything."""


def text_digest(text: str | bytes) -> str:
    """Return the SHA-256 of a text for a payload: the bytes read are the bytes signed."""
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest()


def _content_of(what: Signed) -> dict[str, Any]:
    return asdict(what)
