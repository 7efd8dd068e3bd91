"""Sealing a short text for a reader who holds a key, so that what carries it need not be trusted.

X25519 with a fresh key of the sender's, HKDF-SHA256 over the shared secret and both public keys, and
ChaCha20-Poly1305; what the text is for is authenticated along with it, so that it cannot be passed off as the answer to
something else. The construction is that of libsodium's sealed boxes with the primitives that `cryptography` has.
"""

import base64
import binascii

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

_KEY = 32
_NONCE = bytes(12)
"""Every message has a key of its own, so one nonce is enough."""
_PURPOSE = b"replaywright sealed answer 1"


class NotSealed(Exception):
    """A key or a sealed text is not what it should be, or not for this reader and purpose."""


def new_key() -> tuple[bytes, str]:
    """Make a private key, and return it with the public one as text."""
    private = X25519PrivateKey.generate()
    return private.private_bytes_raw(), _encoded(private.public_key().public_bytes_raw())


def sealed(text: str, key: str, about: str) -> str:
    """Seal `text` for the holder of the private part of `key`.

    Raises:
        NotSealed: `key` is none.
    """
    public = _decoded(key)
    if len(public) != _KEY:
        raise NotSealed(f"a key has {_KEY} bytes, this one has {len(public)}")
    own = X25519PrivateKey.generate()
    sender = own.public_key().public_bytes_raw()
    try:
        shared = own.exchange(X25519PublicKey.from_public_bytes(public))
    except ValueError as exc:
        raise NotSealed("the key is none that a text can be sealed with") from exc
    box = ChaCha20Poly1305(_derived(shared, sender, public)).encrypt(_NONCE, text.encode(), about.encode())
    return _encoded(sender + box)


def opened(sealed_text: str, private: bytes, about: str) -> str:
    """Return the text that was sealed.

    Raises:
        NotSealed: it was sealed for another key or purpose, or was changed.
    """
    data = _decoded(sealed_text)
    own = X25519PrivateKey.from_private_bytes(private)
    sender, box = data[:_KEY], data[_KEY:]
    if len(sender) != _KEY:
        raise NotSealed("the sealed text is too short")
    try:
        shared = own.exchange(X25519PublicKey.from_public_bytes(sender))
        key = _derived(shared, sender, own.public_key().public_bytes_raw())
        return ChaCha20Poly1305(key).decrypt(_NONCE, box, about.encode()).decode()
    except (InvalidTag, UnicodeDecodeError, ValueError) as exc:
        raise NotSealed("the text was sealed for something else, or was changed") from exc


def _derived(shared: bytes, sender: bytes, reader: bytes) -> bytes:
    return HKDF(algorithm=hashes.SHA256(), length=_KEY, salt=sender + reader, info=_PURPOSE).derive(shared)


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode()


def _decoded(text: str) -> bytes:
    try:
        return base64.urlsafe_b64decode(text.encode())
    except (binascii.Error, ValueError) as exc:
        raise NotSealed("this is not Base64") from exc
