"""Signatures of what is kept where others may write: who wrote a record, for which tenant, and under which name.

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
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from replaywright.domain.common.canonical import canonical

KEY_BYTES: Final = 32
_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}")


@dataclass(frozen=True)
class Key:
    """A master key."""

    id: str
    """Stands beside what it signed or encrypted."""
    secret: bytes = field(repr=False)

    def derived(self, purpose: str, tenant: str = "") -> bytes:
        """32 bytes for one purpose and tenant."""
        told = canonical({"purpose": purpose, "tenant": tenant})
        # HKDF of one block: every command that starts a run needs it, and loading a library takes longer than the rest.
        extracted = hmac.digest(b"replaywright", self.secret, "sha256")
        return hmac.digest(extracted, told + b"\x01", "sha256")


def parse_keys(text: str) -> tuple[Key, ...]:
    """The keys in `id:base64,id2:base64`; commas, blanks and line ends separate them.

    Raises:
        ValueError: what is wrong and with which of them, never what it holds.
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
    """The key as `parse_keys` reads it."""
    return f"{key.id}:{base64.b64encode(key.secret).decode()}"


class Fault(StrEnum):
    """Why a record is not acted on."""

    UNSIGNED = "unsigned"
    UNKNOWN_KEY = "signed with a key that is not known here"
    ALTERED = "altered, or copied from elsewhere: its signature is not of this"


@dataclass(frozen=True)
class Signed:
    """What a signature is of."""

    tenant: str
    kind: str
    """entry, entry-active, skill, skill-statuses, override, trace."""
    name: str
    """The key in Redis, and where it holds several records, which of them."""
    schema: int
    payload: Mapping[str, str | int | bool]
    """Numbers, texts and truth values; a long text by its `text_digest`."""


class Signer:
    """Signs with the first of its keys, and verifies with all of them. Without keys nothing is signed or verified."""

    def __init__(self, keys: Sequence[Key] = ()) -> None:
        self._keys = tuple(keys)
        self._derived: dict[tuple[str, str, str], bytes] = {}

    @property
    def key_ids(self) -> tuple[str, ...]:
        """The one that signs first."""
        return tuple(key.id for key in self._keys)

    @property
    def is_unsigned(self) -> bool:
        """Whether everything is taken as it is found."""
        return not self._keys

    def sign(self, what: Signed) -> str:
        """The signature; empty without keys."""
        return self.mac("sign", what.tenant, _told(what))

    def fault(self, what: Signed, signature: str) -> Fault | None:
        """Why this is not what the signature was made of; None if it is, and always without keys."""
        return self.mac_fault("sign", what.tenant, _told(what), signature) if self._keys else None

    def mac(self, purpose: str, tenant: str, told: Mapping[str, Any]) -> str:
        """MAC of JSON-like data with the key for this purpose and tenant; empty without keys.

        Raises:
            ValueError: JSON cannot carry the data exactly.
        """
        return self._mac(self._keys[0], purpose, tenant, canonical(dict(told))) if self._keys else ""

    def mac_fault(self, purpose: str, tenant: str, told: Mapping[str, Any], signature: str) -> Fault | None:
        """Why this is not what the MAC was made of; None if it is. Without keys everything is unsigned."""
        key_id, separator, _ = signature.partition(":")
        if not separator:
            return Fault.UNSIGNED
        key = next((key for key in self._keys if key.id == key_id), None)
        if key is None:
            return Fault.UNKNOWN_KEY
        try:
            expected = self._mac(key, purpose, tenant, canonical(dict(told)))
        except (RecursionError, ValueError):  # nobody can have signed it
            return Fault.ALTERED
        # As bytes: what stands in Redis may be anything.
        same = hmac.compare_digest(expected.encode(), signature.encode("utf-8", "surrogatepass"))
        return None if same else Fault.ALTERED

    def is_current(self, signature: str) -> bool:
        """Whether the key that signs now made it."""
        return not self._keys or signature.startswith(f"{self._keys[0].id}:")

    def _mac(self, key: Key, purpose: str, tenant: str, data: bytes) -> str:
        derived = self._derived.get((key.id, purpose, tenant))
        if derived is None:
            derived = self._derived[key.id, purpose, tenant] = key.derived(purpose, tenant)
        return _joined(key.id, hmac.digest(derived, data, "sha256"))


UNSIGNED: Final = Signer()
"""Takes everything as it is found."""


def text_digest(text: str | bytes) -> str:
    """SHA-256 of the text, for a payload: the bytes that are read are the bytes that were signed."""
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest()


def _told(what: Signed) -> dict[str, Any]:
    return {
        "kind": what.kind,
        "name": what.name,
        "payload": dict(what.payload),
        "schema": what.schema,
        "tenant": what.tenant,
    }


def _joined(key_id: str, mac: bytes) -> str:
    return f"{key_id}:{base64.urlsafe_b64encode(mac).decode().rstrip('=')}"
