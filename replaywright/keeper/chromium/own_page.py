"""A page of the keeper's own, in a context of its own that the run's clients are not shown."""

import asyncio
from collections.abc import Mapping
from typing import Any

from replaywright.errors import StackFailed
from replaywright.keeper.chromium.multiplexer import CALL_S, Multiplexer


class OwnPage:
    """A page that is opened by its first use; it loads nothing from a network."""

    def __init__(self, devtools: Multiplexer, url: str = "") -> None:
        """Have the page show `url`; it is blank without one."""
        self._devtools = devtools
        self._url = url
        self._opening = asyncio.Lock()
        self._context = ""
        self._session = ""

    async def call(self, method: str, params: Mapping[str, Any], *, limit_s: float = CALL_S) -> dict[str, Any]:
        """Send the page a command and return its result.

        Raises:
            StackFailed: Chromium does not answer.
        """
        async with self._opening:
            if not self._session:
                await self._open()
        return await self._devtools.call(method, params, self._session, limit_s=limit_s)

    def close(self) -> None:
        """Close the page."""
        if self._context:
            self._devtools.send("Target.disposeBrowserContext", {"browserContextId": self._context})
            self._context = self._session = ""

    async def _open(self) -> None:
        self.close()
        disposed = {"disposeOnDetach": True}
        self._context = (await self._devtools.call("Target.createBrowserContext", disposed))["browserContextId"]
        self._devtools.hide(self._context)
        where = {"url": "about:blank", "browserContextId": self._context}
        page = (await self._devtools.call("Target.createTarget", where))["targetId"]
        attached = await self._devtools.call("Target.attachToTarget", {"targetId": page, "flatten": True})
        if self._url:
            reply = await self._devtools.call("Page.navigate", {"url": self._url}, attached["sessionId"])
            if reply.get("errorText"):
                raise StackFailed(f"Chromium does not open {self._url}: {reply['errorText']}")
        self._session = str(attached["sessionId"])
