"""Encrypted files of any size: a head that names the key, and pieces that are encrypted each for itself.

    head    "RWA1", the length of the key's id (one byte), the id
    piece   nonce, ciphertext of up to 1 MiB, tag; bound to the file's name, its index, and whether it is the last

So no piece can be left out, moved, or put into another file, and no file is in memory as a whole while it is written.
"""

from collections.abc import Iterator, Sequence
from io import BytesIO
from typing import BinaryIO

from replaywright.domain.secrets.signing import Key
from replaywright.errors import SealBroken
from replaywright.sealing.cipher import NONCE_BYTES, Cipher

MAGIC = b"RWA1"
HEAD_BYTES = len(MAGIC) + 1
"""Bytes that tell the length of the head."""
PIECE_BYTES = 1024 * 1024
_ADDED = NONCE_BYTES + 16
"""Bytes that a piece is longer than what it holds."""


def is_sealed(head: bytes) -> bool:
    """Return whether a file with this beginning is encrypted; clear text like that is told apart by its digest."""
    return head[: len(MAGIC)] == MAGIC


def clear_size(head: bytes, size: int) -> int:
    """Return the size of the clear text in an encrypted file of `size` bytes."""
    body = size - HEAD_BYTES - (head[len(MAGIC)] if len(head) > len(MAGIC) else 0)
    return max(0, body - _ADDED * -(-body // (PIECE_BYTES + _ADDED)))


class SealedFiles:
    """Encrypts with the first of its keys, and decrypts with all of them."""

    def __init__(self, keys: Sequence[Key]) -> None:
        self._cipher = Cipher(keys, "artifact")
        name = self._cipher.key_id.encode()
        self._head = MAGIC + bytes([len(name)]) + name

    def sealed_size(self, size: int) -> int:
        """Return the size of the encrypted file for `size` bytes."""
        return len(self._head) + size + _ADDED * max(1, -(-size // PIECE_BYTES))

    def sealed(self, source: BinaryIO, name: str) -> Iterator[bytes]:
        """Yield the encrypted file in pieces."""
        yield self._head
        piece, index = source.read(PIECE_BYTES), 0
        while True:
            following = source.read(PIECE_BYTES) if len(piece) == PIECE_BYTES else b""
            yield self._cipher.encrypt(piece, _bound(name, index, last=not following))
            if not following:
                return
            piece, index = following, index + 1

    def opened(self, source: BinaryIO, name: str) -> Iterator[bytes]:
        """Yield the clear text of an encrypted file in pieces.

        Raises:
            SealBroken: its key is not known here, or it was altered.
        """
        head = source.read(HEAD_BYTES)
        if len(head) < HEAD_BYTES or not is_sealed(head):
            raise SealBroken("it is not encrypted")
        key_id = source.read(head[-1]).decode("utf-8", "replace")
        piece, index = source.read(PIECE_BYTES + _ADDED), 0
        while True:
            following = source.read(PIECE_BYTES + _ADDED)
            yield self._cipher.decrypt(piece, key_id, _bound(name, index, last=not following))
            if not following:
                return
            piece, index = following, index + 1

    def is_current(self, head: bytes) -> bool:
        """Return whether a file with this beginning is encrypted with the current key."""
        return head.startswith(self._head)

    def opened_whole(self, data: bytes, name: str) -> bytes:
        """Return the clear text of an encrypted file with this content.

        Raises:
            SealBroken: its key is not known here, or it was altered.
        """
        return b"".join(self.opened(BytesIO(data), name))


def _bound(name: str, index: int, *, last: bool) -> bytes:
    return b"\0".join((name.encode(), str(index).encode(), b"last" if last else b"more"))
