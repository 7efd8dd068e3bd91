"""Upload files: the check of what may leave this machine, and private copies for the browser.

The browser gets a private copy, made from the descriptor that was checked: a file that is replaced between check and
use does not reach a page.
"""

import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from replaywright.domain.session.guard import UploadRoots
from replaywright.domain.step.outcomes import UPLOAD_REFUSED
from replaywright.errors import ActionFailed, PolicyBlocked

FOLDER = "uploads"
"""Folder of the copies in the session's directory, deleted with the browser."""
_BLOCK_BYTES = 1024 * 1024


def allowed(files: Sequence[str], roots: Sequence[Path], rules: Sequence[UploadRoots] = ()) -> tuple[Path, ...]:
    """Return the real paths of `files`: readable plain files inside `roots`, links and `..` resolved.

    Raises:
        ActionFailed: `upload_refused`, nothing was touched.
        PolicyBlocked: one of `rules` does not have its folder; nothing was touched.
    """
    found = tuple(_allowed(file, roots) for file in files)
    for file in found:
        for rule in rules:
            real = rule.model_copy(update={"folders": tuple(map(os.path.realpath, rule.folders))})
            if (refusal := real.refuses(str(file))) is not None:
                raise PolicyBlocked(refusal.message, rule=refusal.rule)
    return found


def _allowed(file: str, roots: Sequence[Path]) -> Path:
    if not roots:
        raise _refused(f"{file!r} may not be uploaded: allow its folder (`replaywright admin uploads allow FOLDER`)")
    tried = [Path(file)] if Path(file).is_absolute() else [root / file for root in roots]
    try:
        path = next((path for path in tried if os.path.lexists(path)), tried[0]).resolve(strict=True)
        inside = any(path.is_relative_to(root.resolve(strict=True)) for root in roots if root.exists())
        status = path.stat()
    except (OSError, ValueError, RuntimeError) as exc:
        why = exc.strerror if isinstance(exc, OSError) and exc.strerror else "it is no usable path"
        raise _refused(f"{file!r} cannot be uploaded: {why.lower()}") from None
    if not inside:
        shown = ", ".join(str(root) for root in roots)
        raise _refused(f"{file!r} is outside the folders of uploads: {shown} (`replaywright admin uploads allow`)")
    _require_plain(file, status)
    if not os.access(path, os.R_OK):
        raise _refused(f"{file!r} may not be read by this worker: change its permissions")
    return path


def _require_plain(file: str, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise _refused(f"{file!r} is no plain file: only files are uploaded, each named by itself")
    if status.st_nlink > 1:
        raise _refused(
            f"{file!r} has {status.st_nlink} names (hard links), and another may lie outside the allowed folders: "
            "copy the file and name the copy"
        )


def private_copy(file: Path, folder: Path) -> Path:
    """Copy a real path that was allowed into a new folder inside `folder`, following no link on the way.

    Raises:
        ActionFailed: `upload_refused`: it is no longer the plain file that was allowed, or it cannot be copied.
    """
    try:
        with os.fdopen(_opened(file), "rb") as source:
            status = os.fstat(source.fileno())
            _require_plain(str(file), status)
            copy = folder / secrets.token_hex(8) / file.name
            copy.parent.mkdir(mode=0o700, parents=True)
            with os.fdopen(os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as target:
                _copy(source, target, status.st_size)
            os.utime(copy, ns=(status.st_atime_ns, status.st_mtime_ns))
    except OSError as exc:
        why = (exc.strerror or "it cannot be read").lower()
        raise _refused(f"{str(file)!r} cannot be uploaded: {why}; see that nothing changes it meanwhile") from None
    return copy


def _opened(file: Path) -> int:
    """Open each folder of a real path inside the one before, and the file last; a link on the way is an error."""
    folder = os.open(file.anchor, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for name in file.parts[1:-1]:
            inner = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            os.close(folder)
            folder = inner
        # O_NONBLOCK: a pipe in the file's place is opened without waiting for a writer.
        return os.open(file.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    finally:
        os.close(folder)


def _copy(source: BinaryIO, target: BinaryIO, size: int) -> None:
    """Copy at most the bytes that the file had when it was opened: one that grows has an end."""
    while size > 0 and (block := source.read(min(size, _BLOCK_BYTES))):
        target.write(block)
        size -= len(block)


class Copies:
    """The private copies of one session; they stay while its browser lives, as a page may read them late."""

    def __init__(self, directory: str) -> None:
        self._folder = Path(directory) / FOLDER if directory else None
        self._temporary: Path | None = None

    def of(self, files: Sequence[Path]) -> tuple[Path, ...]:
        """Copy these files. Raises like `private_copy`."""
        if not files:
            return ()
        if self._folder is None:
            self._folder = self._temporary = Path(tempfile.mkdtemp(prefix="replaywright-uploads-"))
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return tuple(private_copy(file, self._folder) for file in files)

    def close(self) -> None:
        """Delete copies that lie in no session's directory."""
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)


def _refused(message: str) -> ActionFailed:
    return ActionFailed(UPLOAD_REFUSED, message, dispatched=False)
