"""Time-based one-time passwords after RFC 6238, from the secret that a site gives for an authenticator app.

Own code, as the usual library refuses secrets of 80 bits, which many sites still give.
"""

import base64
import binascii
import hashlib
import hmac
import re
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

from replaywright.errors import SecretMissing

FRESH_S = 5.0
"""A code that expires sooner is not entered; the next one is awaited."""
_DIGESTS = {"SHA1": hashlib.sha1, "SHA256": hashlib.sha256, "SHA512": hashlib.sha512}
_DIGITS = range(6, 11)
_PERIODS = range(10, 301)
_SEPARATORS = re.compile(r"[\s-]+")


@dataclass(frozen=True)
class Totp:
    """Key and parameters of one-time passwords."""

    key: bytes = field(repr=False)
    digits: int = 6
    period_s: int = 30
    algorithm: str = "SHA1"

    def at(self, moment: float) -> str:
        """Return the code at `moment`, in seconds since 1970."""
        counter = int(moment // self.period_s).to_bytes(8, "big")
        digest = hmac.new(self.key, counter, _DIGESTS[self.algorithm]).digest()
        begin = digest[-1] & 15
        number = int.from_bytes(digest[begin : begin + 4], "big") & 0x7FFFFFFF
        return str(number % 10**self.digits).zfill(self.digits)

    def wait_s(self, moment: float) -> float:
        """Return the seconds to wait at `moment` until a code is valid for `FRESH_S`."""
        left = self.period_s - moment % self.period_s
        return 0.0 if left >= FRESH_S else left


def totp_of(name: str, value: str) -> Totp:
    """Parse the secret `name`: Base32 as sites show it, or an `otpauth://totp/…` address from a QR code.

    Raises:
        SecretMissing: it is neither; the message has the name, never the value.
    """
    if not value.strip().lower().startswith("otpauth:"):
        return Totp(_key(name, value))
    try:
        parts = urlsplit(value.strip())
        given = {key: several[-1] for key, several in parse_qs(parts.query).items()}
    except ValueError as exc:
        raise _refused(name, "its address cannot be read") from exc
    if (parts.hostname or "") != "totp":
        raise _refused(name, "only otpauth://totp/ addresses are made for codes of time")
    algorithm = given.get("algorithm", "SHA1").upper().replace("-", "")
    if algorithm not in _DIGESTS:
        raise _refused(name, f"algorithm is none of {', '.join(_DIGESTS)}")
    return Totp(
        _key(name, given.get("secret", "")),
        digits=_number(name, given, "digits", 6, _DIGITS),
        period_s=_number(name, given, "period", 30, _PERIODS),
        algorithm=algorithm,
    )


def _key(name: str, text: str) -> bytes:
    letters = _SEPARATORS.sub("", text).rstrip("=").upper()
    try:
        key = base64.b32decode(letters + "=" * (-len(letters) % 8))
    except (binascii.Error, ValueError) as exc:
        raise _refused(name, "it is neither Base32 nor an otpauth://totp/ address") from exc
    if not key:
        raise _refused(name, "it has no key in it")
    return key


def _number(name: str, given: dict[str, str], field_name: str, usual: int, allowed: range) -> int:
    text = given.get(field_name, str(usual))
    if not text.isascii() or not text.isdecimal() or len(text) > 4 or int(text) not in allowed:
        raise _refused(name, f"{field_name} is none of {allowed.start} to {allowed.stop - 1}")
    return int(text)


def _refused(name: str, why: str) -> SecretMissing:
    return SecretMissing(f"secret {name!r} is no secret for one-time passwords: {why}; give it as the site shows it")
