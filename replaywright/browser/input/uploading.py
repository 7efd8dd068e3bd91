"""Giving files to an element of a page: to its field, to the chooser that a click opens, or as a drop."""

import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from replaywright.browser.devtools.cdp import CdpFailed, CdpSession
from replaywright.browser.devtools.channel import Frame, script_for
from replaywright.browser.input import trusted
from replaywright.browser.step.step_context import StepContext
from replaywright.errors import ActionFailed

CHOOSER_S = 3.0
"""Wait for the file chooser after the click; some pages ask their server first."""
TAKEN_S = 1.0
"""Wait for the page agent's report of the files."""


class Uploading:
    """Gives files to one element: to its field, to the chooser that a click opens, or as a drop."""

    def __init__(self, context: StepContext, frame: Frame, files: Sequence[Path]) -> None:
        self._tab = context.tab
        self._frame = frame
        self._context = frame.context
        self._attempt = context.attempt
        self._files = files
        self._sizes = sorted((file.name, file.stat().st_size) for file in files)
        self._until = context.tabs.until
        self._deadline = context.deadline

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
            message = "the click opened no file chooser; to drop files on the element, set drop: true"
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
        handle = await self._listened(cdp, node, reply["frameId"])
        await cdp.send("DOM.setFileInputFiles", {"files": self._paths, "objectId": handle})

    async def _described(self, cdp: CdpSession, node: Mapping[str, Any]) -> Mapping[str, str]:
        flat = (await cdp.send("DOM.describeNode", node))["node"].get("attributes", ())
        return dict(zip(flat[::2], flat[1::2], strict=True))

    async def _listened(self, cdp: CdpSession, node: Mapping[str, Any], frame_id: str) -> str:
        """Return the field's handle, and have the agent say what the field is given.

        The field is often in no document, so it can only be handed over to the agent.
        """
        world = self._tab.world_number(frame_id, cdp) if frame_id == self._frame.id else None
        in_world = {} if world is None else {"executionContextId": world}
        handle = str((await cdp.send("DOM.resolveNode", {**node, **in_world}))["object"]["objectId"])
        if world is not None:
            declaration = f"function() {{ {script_for('takeFiles', self._attempt.token)[:-1]}, this); }}"
            await cdp.send("Runtime.callFunctionOn", {"objectId": handle, "functionDeclaration": declaration})
        return handle

    async def drop(self, place: tuple[float, float]) -> trusted.Posted:
        """Post a drag of the files from outside, onto that place.

        Raises:
            ActionFailed: `no_files_taken`: the browser is one that cannot; nothing was done.
        """
        posted = trusted.drop_files(self._tab.cdp, place, self._paths)
        try:
            await posted[0]
        except CdpFailed as exc:
            if exc.closed or exc.timed_out:
                raise
            raise ActionFailed("no_files_taken", exc.message, dispatched=False) from None
        return posted

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
