"""The files of Chromium's own DevTools, which it serves to its own pages only.

They are asked for in a page of a context of its own, which the run's clients are not shown (`Multiplexer.hide`).
"""

import asyncio
import base64
import json
import re

from replaywright.errors import StackFailed
from replaywright.keeper.chromium.multiplexer import Multiplexer

_ROOT = "devtools://devtools/bundled/"
_PLAIN_PAGE = f"{_ROOT}devtools_compatibility.js"
"""A page of that origin that runs nothing."""
_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*")
_FETCH = """fetch(%s).then(answer => answer.blob()).then(blob => new Promise((done, fail) => {
  const reader = new FileReader();
  reader.onload = () => done(reader.result);
  reader.onerror = () => fail(reader.error);
  reader.readAsDataURL(blob);
}))"""
_FILE_S = 10.0


class FrontEnd:
    """Reads files of DevTools out of one browser."""

    def __init__(self, devtools: Multiplexer) -> None:
        self._devtools = devtools
        self._opening = asyncio.Lock()
        self._context = ""
        self._session = ""

    async def file(self, name: str) -> tuple[str, bytes] | None:
        """Return content type and content of a file; None when there is none of this name.

        Raises:
            StackFailed: Chromium does not answer.
        """
        if _NAME.fullmatch(name) is None:
            return None
        async with self._opening:
            if not self._session:
                await self._open()
        request = {"expression": _FETCH % json.dumps(_ROOT + name), "awaitPromise": True, "returnByValue": True}
        reply = await self._devtools.call("Runtime.evaluate", request, self._session, limit_s=_FILE_S)
        if "exceptionDetails" in reply:
            return None
        kind, _, content = str(reply["result"]["value"]).removeprefix("data:").partition(";base64,")
        return kind, base64.b64decode(content)

    def close(self) -> None:
        """Close the page."""
        if self._context:
            self._devtools.send("Target.disposeBrowserContext", {"browserContextId": self._context})
            self._context = self._session = ""

    async def _open(self) -> None:
        self.close()
        self._context = (await self._devtools.call("Target.createBrowserContext"))["browserContextId"]
        self._devtools.hide(self._context)
        where = {"url": "about:blank", "browserContextId": self._context}
        page = (await self._devtools.call("Target.createTarget", where))["targetId"]
        attached = await self._devtools.call("Target.attachToTarget", {"targetId": page, "flatten": True})
        reply = await self._devtools.call("Page.navigate", {"url": _PLAIN_PAGE}, attached["sessionId"])
        if reply.get("errorText"):
            raise StackFailed(f"Chromium does not open the files of its DevTools: {reply['errorText']}")
        self._session = str(attached["sessionId"])
