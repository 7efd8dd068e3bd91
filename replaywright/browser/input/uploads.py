"""Uploads: the check of files that may leave this machine, and how a page receives them.

The browser gets a private copy, made from the descriptor that was checked: a file that is replaced between check and
use does not reach a page.
"""

import contextlib
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from replaywright.browser.devtools.cdp import CdpSession
from replaywright.browser.devtools.channel import Frame, Tab, script_for
from replaywright.browser.devtools.waiting import Deadline
from replaywright.browser.input import hand
from replaywright.browser.step.attempt import PageAttempt
from replaywright.domain.session.guard import UploadRoots
from replaywright.errors import ActionFailed, PolicyBlocked

CHOOSER_S = 3.0
"""Wait for the file chooser after the click; some pages ask their server first."""
FOLDER = "uploads"
"""Folder of the copies in the session's directory, deleted with the browser."""
TAKEN_S = 1.0
"""Wait for the page agent's report of the files."""
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
        raise _refused(f"{file!r} may not be uploaded: set REPLAYWRIGHT_UPLOAD_ROOTS to the folders that may be")
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
        raise _refused(f"{file!r} is outside the folders that REPLAYWRIGHT_UPLOAD_ROOTS allows: {shown}")
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
    return ActionFailed("upload_refused", message, dispatched=False)


class Uploading:
    """Gives files to one element: to its field, to the chooser that a click opens, or as a drop."""

    def __init__(
        self,
        tab: Tab,
        frame: Frame,
        attempt: PageAttempt,
        files: Sequence[Path],
        *,
        until: Callable[[Callable[[], bool], float], Awaitable[bool]],
        deadline: Deadline,
    ) -> None:
        self._tab = tab
        self._frame = frame
        self._context = frame.context
        self._attempt = attempt
        self._files = files
        self._sizes = sorted((file.name, file.stat().st_size) for file in files)
        self._until = until
        self._deadline = deadline

    @property
    def _paths(self) -> list[str]:
        return [str(file) for file in self._files]

    async def set_field(self) -> None:
        """Set the field that the agent has found; it need not be visible."""
        script = script_for("takeFiles", self._attempt.token)
        params = {"expression": script, "uniqueContextId": self._context}
        reply = await self._frame.cdp.send("Runtime.evaluate", params)
        node = reply["result"].get("objectId")
        if node is None:
            raise ActionFailed("detached", "the file field went away", dispatched=False)
        await self._frame.cdp.send("DOM.setFileInputFiles", {"files": self._paths, "objectId": node})

    @contextlib.asynccontextmanager
    async def caught_chooser(self) -> AsyncIterator[None]:
        """Have the browser tell of a file chooser instead of showing it."""
        sessions = {self._tab.cdp, self._frame.cdp}
        self._tab.chooser = None
        for cdp in sessions:
            await cdp.send("Page.setInterceptFileChooserDialog", {"enabled": True})
        try:
            yield
        finally:
            for cdp in sessions:
                cdp.notify("Page.setInterceptFileChooserDialog", {"enabled": False})

    async def answer_chooser(self) -> None:
        """Give the files to the field whose chooser the click has opened.

        Raises:
            ActionFailed: no chooser was opened, or it takes something else.
        """
        await self._until(lambda: self._tab.chooser is not None, self._deadline.left(CHOOSER_S))
        if self._tab.chooser is None:
            message = "the click opened no file chooser; where files are to be dropped on the element, say drop: true"
            raise ActionFailed("no_file_chooser", message, dispatched=True)
        cdp, reply = self._tab.chooser
        if "backendNodeId" not in reply:
            raise ActionFailed("no_file_chooser", "the chooser belongs to no file field", dispatched=True)
        node = {"backendNodeId": reply["backendNodeId"]}
        field = await self._described(cdp, node)
        if "webkitdirectory" in field:
            message = "the field takes a folder, and only files are uploaded"
            raise ActionFailed("takes_folders", message, dispatched=True)
        if reply["mode"] == "selectSingle" and len(self._files) > 1:
            message = f"the field takes one file, and the step names {len(self._files)}"
            raise ActionFailed("takes_one_file", message, dispatched=True)
        await self._listen(cdp, node, reply["frameId"])
        await cdp.send("DOM.setFileInputFiles", {"files": self._paths, **node})

    async def _described(self, cdp: CdpSession, node: Mapping[str, Any]) -> Mapping[str, str]:
        flat = (await cdp.send("DOM.describeNode", node))["node"].get("attributes", ())
        return dict(zip(flat[::2], flat[1::2], strict=True))

    async def _listen(self, cdp: CdpSession, node: Mapping[str, Any], frame_id: str) -> None:
        """Have the agent say what the field is given; it is often in no document, so it can only be handed over."""
        world = self._tab.world_number(frame_id, cdp)
        if world is None or frame_id != self._frame.id:
            return
        resolved = await cdp.send("DOM.resolveNode", {**node, "executionContextId": world})
        declaration = f"function() {{ {script_for('takeFiles', self._attempt.token)[:-1]}, this); }}"
        handle = resolved["object"]["objectId"]
        await cdp.send("Runtime.callFunctionOn", {"objectId": handle, "functionDeclaration": declaration})

    def drop(self, place: tuple[float, float]) -> hand.Posted:
        """Post a drag of the files from outside, onto that place."""
        return hand.drop_files(self._tab.cdp, place, self._paths)

    async def verify(self) -> None:
        """Verify that the page was given these files, unless it went on to another document.

        Raises:
            ActionFailed: `files_differ` or `no_files_taken`.
        """
        attempt = self._attempt

        def gone() -> bool:
            return self._tab.closed or self._frame.context != self._context

        await self._until(lambda: attempt.uploaded is not None or gone(), self._deadline.left(TAKEN_S))
        if attempt.uploaded is None:
            if gone() or (self._tab.chooser is not None and self._tab.chooser[1]["frameId"] != self._frame.id):
                return
            raise ActionFailed("no_files_taken", "the element took no files", dispatched=True)
        if sorted(attempt.uploaded) != self._sizes:
            message = f"the page was given other files than the step names: {list(attempt.uploaded)!r}"
            raise ActionFailed("files_differ", message[:300], dispatched=True)
