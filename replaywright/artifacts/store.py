"""A content-addressed store on any file system that fsspec knows."""

import asyncio
import contextlib
import hashlib
import io
import os
import re
import shutil
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

import fsspec  # type: ignore[import-untyped]  # it has no types
from fsspec.implementations.local import LocalFileSystem  # type: ignore[import-untyped]

from replaywright.errors import ArtifactMissing, ArtifactsUnavailable, SettingsInvalid

PIECE_BYTES = 1024 * 1024
"""So much of a file is in memory at a time."""
_DIGEST = re.compile(r"[0-9a-f]{64}")


class ArtifactStore:
    """`Artifacts` under one address: `<first two digits>/<next two>/<SHA-256>`.

    On local files a value appears whole or not at all (written aside, synced, renamed), and only its owner may read it:
    storage states hold live credentials. Object stores do the same by themselves. Nothing is ever changed in place, so
    writing the same value twice, from two processes at once, is harmless.
    """

    def __init__(self, url: str) -> None:
        """Keep values under `url`: a path, `file://…`, `s3://…`, `gs://…`, `memory://…`.

        Raises:
            SettingsInvalid: the scheme is unknown, or what it needs is not installed.
        """
        try:
            self._files, self._root = fsspec.url_to_fs(url)
        except (ValueError, ImportError) as exc:
            raise SettingsInvalid(f"REPLAYWRIGHT_ARTIFACTS_URL {url!r} cannot be used: {exc}") from exc

    @property
    def folder(self) -> Path | None:
        """Where the values are; None when they are not on local files."""
        return Path(self._root) if isinstance(self._files, LocalFileSystem) else None

    def path_of(self, digest: str) -> str:
        """Where the value with this digest is, or would be: a path on local files, else an address.

        Raises:
            ArtifactMissing: that is no digest.
        """
        if not _DIGEST.fullmatch(digest):
            raise ArtifactMissing(f"{digest!r} is no artifact's digest")
        return str(self._path(digest) if self.folder else self._files.unstrip_protocol(self._path(digest)))

    async def size(self, digest: str) -> int | None:
        """Bytes of the value with this digest; None when it is not there (any more).

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
        """The value whose SHA-256 is `digest`.

        Raises:
            ArtifactMissing: it is not there, or what is there is something else.
            ArtifactsUnavailable: the store cannot be reached or refuses to read.
        """
        return await asyncio.to_thread(self._get, digest)

    def _put(self, data: bytes) -> str:
        digest = hashlib.sha256(data).hexdigest()
        try:
            if isinstance(self._files, LocalFileSystem):
                _put_locally(Path(self._path(digest)), data, Path(self._root))
            elif not self._is_there(digest, len(data)):
                self._files.makedirs(self._files._parent(self._path(digest)), exist_ok=True)  # noqa: SLF001 - fsspec's only name for it
                self._files.pipe_file(self._path(digest), data)
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
                    _copy_locally(Path(self._path(digest)), file, digest, Path(self._root))
                elif not self._is_there(digest, size):
                    self._files.makedirs(self._files._parent(self._path(digest)), exist_ok=True)  # noqa: SLF001 - fsspec's only name for it
                    self._files.put_file(str(source), self._path(digest))
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
        if hashlib.sha256(data).hexdigest() != digest:
            raise ArtifactMissing(f"artifact {digest} in {self._root} was altered: its content has another digest")
        return data

    def _size(self, digest: str) -> int | None:
        if not _DIGEST.fullmatch(digest):
            return None
        try:
            return int(self._files.info(self._path(digest))["size"])
        except FileNotFoundError:
            return None
        except OSError as exc:
            raise ArtifactsUnavailable(f"artifact {digest} cannot be read from {self._root}: {exc}") from exc

    def _path(self, digest: str) -> str:
        return f"{self._root}/{digest[:2]}/{digest[2:4]}/{digest}"

    def _is_there(self, digest: str, size: int) -> bool:
        try:
            return bool(self._files.info(self._path(digest))["size"] == size)
        except FileNotFoundError:
            return False


def _put_locally(path: Path, data: bytes, root: Path) -> None:
    try:
        if path.read_bytes() == data:
            _used(path)
            return
    except FileNotFoundError:
        _make_folders(path, root)
    _write_aside(path, io.BytesIO(data))


def _copy_locally(path: Path, source: BinaryIO, digest: str, root: Path) -> None:
    """Put the rest of `source` there, unless it is there already, unharmed; a piece at a time."""
    try:
        with path.open("rb") as kept:
            if hashlib.file_digest(kept, "sha256").hexdigest() == digest:
                _used(path)
                return
    except FileNotFoundError:
        _make_folders(path, root)
    _write_aside(path, source)


def _used(path: Path) -> None:
    """Note the use: what is used is not deleted for its age. A store that may only be read has no limits either."""
    with contextlib.suppress(OSError):
        os.utime(path)


def _make_folders(path: Path, root: Path) -> None:
    for folder in (root, path.parent.parent, path.parent):
        folder.mkdir(mode=0o700, parents=folder is root, exist_ok=True)


def _write_aside(path: Path, source: BinaryIO) -> None:
    """Let `path` appear whole or not at all."""
    aside = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:  # noqa: PTH123 - the mode from the start
            shutil.copyfileobj(source, file, PIECE_BYTES)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    except OSError:
        aside.unlink(missing_ok=True)
        raise
