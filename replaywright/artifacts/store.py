"""A content-addressed store on any file system that fsspec knows."""

import asyncio
import contextlib
import hashlib
import io
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

import fsspec  # type: ignore[import-untyped]  # it has no types
from fsspec.implementations.local import LocalFileSystem  # type: ignore[import-untyped]

from replaywright.domain.secrets.signing import Key
from replaywright.errors import ArtifactMissing, ArtifactsUnavailable, SealBroken, SettingsInvalid
from replaywright.sealing.files import HEAD_BYTES, SealedFiles, clear_size, is_sealed

PIECE_BYTES = 1024 * 1024
"""Size of the pieces in which files are read."""
_HEAD_LIMIT = 64
"""Bytes; the head of an encrypted file is shorter."""
_DIGEST = re.compile(r"[0-9a-f]{64}")


class ArtifactStore:
    """`Artifacts` under one address: `<first two digits>/<next two>/<SHA-256>`.

    On local files a value appears whole or not at all (written aside, synced, renamed), and only its owner may read it:
    storage states hold live credentials. Object stores do the same by themselves. Nothing is ever changed in place, so
    writing the same value twice, from two processes at once, is harmless.

    With keys, values are encrypted; they are called by the SHA-256 of their clear text all the same, which tells those
    who can list the store which values are alike. What was written in clear before is read, and encrypted when it is
    put again.
    """

    def __init__(self, url: str, keys: Sequence[Key] = ()) -> None:
        """Keep values under `url`: a path, `file://…`, `s3://…`, `gs://…`, `memory://…`.

        The first of the `keys` encrypts, all of them decrypt; without any, values are kept in clear.

        Raises:
            SettingsInvalid: the scheme is unknown, or what it needs is not installed.
        """
        try:
            self._files, self._root = fsspec.url_to_fs(url)
        except (ValueError, ImportError) as exc:
            raise SettingsInvalid(f"REPLAYWRIGHT_ARTIFACTS_URL {url!r} cannot be used: {exc}") from exc
        self._sealing = SealedFiles(keys) if keys else None

    @property
    def is_sealed(self) -> bool:
        """True if what is put is encrypted."""
        return self._sealing is not None

    @property
    def folder(self) -> Path | None:
        """Folder of the values; None when they are not on local files."""
        return Path(self._root) if isinstance(self._files, LocalFileSystem) else None

    def path_of(self, digest: str) -> str:
        """Return the place of the value with this digest, there or not: a path on local files, else an address.

        Raises:
            ArtifactMissing: that is no digest.
        """
        if not _DIGEST.fullmatch(digest):
            raise ArtifactMissing(f"{digest!r} is no artifact's digest")
        return str(self._path(digest) if self.folder else self._files.unstrip_protocol(self._path(digest)))

    async def size(self, digest: str) -> int | None:
        """Return the size of the value in bytes; None when it is not there (any more).

        Raises:
            ArtifactsUnavailable: the store cannot be reached or refuses to read.
        """
        return await asyncio.to_thread(self._size, digest)

    async def put(self, data: bytes) -> str:
        """Store and return the SHA-256, hexadecimal; nothing is written when it is there already, unharmed.

        Raises:
            ArtifactsUnavailable: the store cannot be reached or refuses to write (no space, no permission).
        """
        return await asyncio.to_thread(self._put, data)

    async def put_file(self, path: Path) -> str:
        """Store the content of a file, of any size, and return its SHA-256 as `put` does.

        Raises:
            ArtifactsUnavailable: the file cannot be read, or the store cannot be reached or refuses to write.
        """
        return await asyncio.to_thread(self._put_file, path)

    async def get(self, digest: str) -> bytes:
        """Return the value whose SHA-256 is `digest`.

        Raises:
            ArtifactMissing: it is not there, or what is there is something else.
            ArtifactsUnavailable: the store cannot be reached or refuses to read.
        """
        return await asyncio.to_thread(self._get, digest)

    def _put(self, data: bytes) -> str:
        digest = hashlib.sha256(data).hexdigest()
        try:
            if isinstance(self._files, LocalFileSystem):
                self._put_locally(digest, io.BytesIO(data))
            elif not self._is_there(digest, len(data)):
                self._files.makedirs(self._files._parent(self._path(digest)), exist_ok=True)  # noqa: SLF001 - fsspec's only name for it
                self._files.pipe_file(self._path(digest), b"".join(self._kept_as(digest, io.BytesIO(data))))
        except OSError as exc:
            raise ArtifactsUnavailable(f"artifact {digest} cannot be written to {self._root}: {exc}") from exc
        return digest

    def _put_file(self, source: Path) -> str:
        try:
            with source.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
                size = file.tell()
                if isinstance(self._files, LocalFileSystem):
                    file.seek(0)
                    self._put_locally(digest, file)
                elif not self._is_there(digest, size):
                    self._files.makedirs(self._files._parent(self._path(digest)), exist_ok=True)  # noqa: SLF001 - fsspec's only name for it
                    file.seek(0)
                    with self._files.open(self._path(digest), "wb") as sink:
                        sink.writelines(self._kept_as(digest, file))
        except OSError as exc:
            raise ArtifactsUnavailable(f"file {source} cannot be written to {self._root}: {exc}") from exc
        return digest

    def _get(self, digest: str) -> bytes:
        if not _DIGEST.fullmatch(digest):
            raise ArtifactMissing(f"{digest!r} is no artifact's digest")
        try:
            data: bytes = self._files.cat_file(self._path(digest))
        except FileNotFoundError as exc:
            raise ArtifactMissing(f"no artifact {digest} in {self._root}") from exc
        except OSError as exc:
            raise ArtifactsUnavailable(f"artifact {digest} cannot be read from {self._root}: {exc}") from exc
        if self.folder is not None:
            _used(Path(self._path(digest)))
        if hashlib.sha256(data).hexdigest() == digest:
            return data
        if is_sealed(data):
            data = self._opened(digest, data)
        if hashlib.sha256(data).hexdigest() != digest:
            raise ArtifactMissing(f"artifact {digest} in {self._root} was altered: its content has another digest")
        return data

    def _opened(self, digest: str, data: bytes) -> bytes:
        if self._sealing is None:
            raise ArtifactMissing(
                f"artifact {digest} in {self._root} is encrypted, and no key is known here: set "
                "REPLAYWRIGHT_ARTIFACT_KEYS"
            )
        try:
            return self._sealing.opened_whole(data, digest)
        except SealBroken as exc:
            raise ArtifactMissing(f"artifact {digest} in {self._root} cannot be read: {exc}") from exc

    def _kept_as(self, digest: str, source: BinaryIO) -> Iterable[bytes]:
        """Yield the bytes to write for the content of `source`."""
        if self._sealing is None:
            return iter(lambda: source.read(PIECE_BYTES), b"")
        return self._sealing.sealed(source, digest)

    def _put_locally(self, digest: str, source: BinaryIO) -> None:
        """Write the value a piece at a time, unless it is there, unharmed and encrypted with the current key."""
        path, root = Path(self._path(digest)), Path(self._root)
        try:
            with path.open("rb") as kept:
                if self._is_as_today(digest, kept):
                    _used(path)
                    return
        except FileNotFoundError:
            _make_folders(path, root)
        _write_aside(path, self._kept_as(digest, source))

    def _is_as_today(self, digest: str, kept: BinaryIO) -> bool:
        found = hashlib.sha256()
        if self._sealing is None:
            pieces = iter(lambda: kept.read(PIECE_BYTES), b"")
        elif self._sealing.is_current(kept.read(_HEAD_LIMIT)):
            kept.seek(0)
            pieces = self._sealing.opened(kept, digest)
        else:
            return False
        try:
            for piece in pieces:
                found.update(piece)
        except SealBroken:
            return False
        return found.hexdigest() == digest

    def _size(self, digest: str) -> int | None:
        if not _DIGEST.fullmatch(digest):
            return None
        try:
            size = int(self._files.info(self._path(digest))["size"])
            head = self._files.cat_file(self._path(digest), start=0, end=HEAD_BYTES)
            return clear_size(head, size) if is_sealed(head) else size
        except FileNotFoundError:
            return None
        except OSError as exc:
            raise ArtifactsUnavailable(f"artifact {digest} cannot be read from {self._root}: {exc}") from exc

    def _path(self, digest: str) -> str:
        return f"{self._root}/{digest[:2]}/{digest[2:4]}/{digest}"

    def _is_there(self, digest: str, size: int) -> bool:
        try:
            kept = self._sealing.sealed_size(size) if self._sealing else size
            return bool(self._files.info(self._path(digest))["size"] == kept)
        except FileNotFoundError:
            return False


def _used(path: Path) -> None:
    """Note the use, so that the value is not deleted for its age. A read-only store has no limits either."""
    with contextlib.suppress(OSError):
        os.utime(path)


def _make_folders(path: Path, root: Path) -> None:
    for folder in (root, path.parent.parent, path.parent):
        folder.mkdir(mode=0o700, parents=folder is root, exist_ok=True)


def _write_aside(path: Path, pieces: Iterable[bytes]) -> None:
    """Write to a file beside `path` and rename it: `path` appears whole or not at all."""
    aside = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:  # noqa: PTH123 - the mode from the start
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    except OSError:
        aside.unlink(missing_ok=True)
        raise
