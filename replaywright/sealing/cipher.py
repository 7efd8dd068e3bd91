"""AES-256-GCM with keys that can be exchanged."""

import secrets
from collections.abc import Sequence

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from replaywright.domain.secrets.signing import Key
from replaywright.errors import SealBroken

NONCE_BYTES = 12
"""96 random bits: after 2^32 messages with one key, two nonces are alike with a probability of 2^-33."""


class Cipher:
    """Encrypts with the first of its keys, and decrypts with all of them.

    Args:
        keys: At least one.
        purpose: What the keys are derived for: what was encrypted for one purpose cannot be read for another.
    """

    def __init__(self, keys: Sequence[Key], purpose: str) -> None:
        if not keys:
            raise ValueError("a cipher needs a key")
        self._purpose = purpose
        self._ciphers = {key.id: AESGCM(key.derived(purpose)) for key in keys}
        self.key_id = keys[0].id
        """Id of the key that encrypts."""

    def encrypt(self, data: bytes, bound_to: bytes = b"") -> bytes:
        """Return nonce, ciphertext and tag; `bound_to` has to be given again to decrypt it."""
        nonce = secrets.token_bytes(NONCE_BYTES)
        return nonce + self._ciphers[self.key_id].encrypt(nonce, data, self._bound(self.key_id, bound_to))

    def decrypt(self, sealed: bytes, key_id: str, bound_to: bytes = b"") -> bytes:
        """Return the clear text.

        Raises:
            SealBroken: the key is not known here, or this is not what it encrypted.
        """
        cipher = self._ciphers.get(key_id)
        if cipher is None:
            known = ", ".join(self._ciphers)
            raise SealBroken(f"it is encrypted with the key {key_id[:40]!r}, and here are: {known}")
        try:
            return cipher.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], self._bound(key_id, bound_to))
        except (InvalidTag, ValueError) as exc:
            raise SealBroken(f"it was altered, or encrypted with another key of the id {key_id!r}") from exc

    def _bound(self, key_id: str, bound_to: bytes) -> bytes:
        return b"\0".join((self._purpose.encode(), key_id.encode(), bound_to))
