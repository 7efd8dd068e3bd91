"""The files of Chromium's own DevTools, which it serves to its own pages only.

They are asked for in a page of the keeper's own.
"""

import base64
import json
import re

from replaywright.keeper.chromium.multiplexer import Multiplexer
from replaywright.keeper.chromium.own_page import OwnPage

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
        self._page = OwnPage(devtools, _PLAIN_PAGE)

    async def file(self, name: str) -> tuple[str, bytes] | None:
        """Return content type and content of a file; None when there is none of this name.

        Raises:
            StackFailed: Chromium does not answer.
        """
        if _NAME.fullmatch(name) is None:
            return None
        request = {"expression": _FETCH % json.dumps(_ROOT + name), "awaitPromise": True, "returnByValue": True}
        reply = await self._page.call("Runtime.evaluate", request, limit_s=_FILE_S)
        if "exceptionDetails" in reply:
            return None
        kind, _, content = str(reply["result"]["value"]).removeprefix("data:").partition(";base64,")
        return kind, base64.b64decode(content)

    def close(self) -> None:
        """Close the page."""
        self._page.close()
