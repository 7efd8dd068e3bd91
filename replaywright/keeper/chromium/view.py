"""Pictures of the page as it is now, for a person who watches; the browser sends none while nobody asks."""

import asyncio
import logging
import time
from typing import Any, Final

from replaywright.domain.page.targets import Box
from replaywright.errors import StackFailed
from replaywright.keeper.chromium.multiplexer import Multiplexer
from replaywright.keeper.protocol import ViewReport

UNWATCHED_S: Final = 5.0
"""Time without a request after which the browser stops sending pictures."""
_APART_S: Final = 0.2
"""Time between two pictures: Chromium sends the next one when it is told that this one has come."""
_DOCUMENT_S: Final = 0.5
"""Limit for a page to say which document it has."""
_CAST: Final = {"format": "jpeg", "quality": 60, "maxWidth": 1280, "maxHeight": 1280}

_log = logging.getLogger(__name__)


class View:
    """Pictures of the newest page of one browser."""

    def __init__(self, devtools: Multiplexer, pages: dict[str, str]) -> None:
        """Watch one of `pages`, which has the target of each session, the oldest first."""
        self._devtools = devtools
        self._pages = pages
        self._page = self._session = ""
        self._pointed: tuple[str, Box] | None = None
        """The element that was found last, and its document."""
        self._metadata: dict[str, Any] = {}
        """Of the picture: the size of the viewport, and how far it is scrolled, in CSS pixels."""
        self._number, self._data = time.time_ns() // 1_000_000, ""  # no number is used by two keepers of one run
        self._news = asyncio.Event()
        self._following = asyncio.Lock()
        self._timer: asyncio.TimerHandle | None = None

    async def after(self, seen: int, limit_s: float) -> ViewReport:
        """Return the first picture after number `seen`, or none if there is none within the limit.

        Raises:
            StackFailed: Chromium does not answer.
        """
        self._end_at(None)
        try:
            async with self._following:
                await self._follow()
            if self._number == seen or not self._data:
                self._news.clear()
                async with asyncio.timeout(limit_s):
                    await self._news.wait()
        except TimeoutError:
            pass  # the page has not changed
        finally:
            self._end_at(UNWATCHED_S)
        has_news = self._number != seen and self._data
        if not has_news:
            return ViewReport()
        return ViewReport(number=self._number, jpeg=self._data, element=await self._element())

    def point(self, document: str, box: Box) -> None:
        """Note where the element of the step under way is, on the page of this document."""
        self._pointed = document, box
        if self._session and self._data:
            self._number += 1
            self._news.set()

    async def _element(self) -> tuple[float, float, float, float] | None:
        """Return where the element is in the picture, in fractions; None if the page has another document by now."""
        if self._pointed is None:
            return None
        (document, box), seen = self._pointed, self._metadata
        try:
            tree = await self._devtools.call("Page.getFrameTree", {}, self._session, limit_s=_DOCUMENT_S)
        except StackFailed:  # the page is busy
            return None
        if tree["frameTree"]["frame"]["loaderId"] != document:
            return None
        width, height = seen["deviceWidth"] or 1, seen["deviceHeight"] or 1
        left, top = box.x - seen["scrollOffsetX"], box.y - seen["scrollOffsetY"]
        return left / width, top / height, box.width / width, box.height / height

    def close(self) -> None:
        """Have the browser send no more pictures."""
        self._end_at(None)
        if self._session:
            self._devtools.unsubscribe(self._session)
            self._devtools.send("Target.detachFromTarget", {"sessionId": self._session})
        self._page = self._session = ""

    def _end_at(self, after_s: float | None) -> None:
        """Close after so long, unless somebody asks before; with None, not by itself."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if after_s is None else asyncio.get_running_loop().call_later(after_s, self.close)

    async def _follow(self) -> None:
        """Have the newest page send its pictures, and no other."""
        of_the_run = {info["targetId"] for info in await self._devtools.pages()}
        newest = next((page for page in reversed(self._pages.values()) if page in of_the_run), "")
        if newest == self._page:
            return
        self.close()
        if not newest:
            return
        attached = await self._devtools.call("Target.attachToTarget", {"targetId": newest, "flatten": True})
        self._page, self._session = newest, str(attached["sessionId"])
        self._devtools.subscribe(self._session, self._on_event)
        try:
            await self._devtools.call("Page.startScreencast", _CAST, self._session)
        except StackFailed:
            self.close()
            raise
        _log.info("somebody watches the page")

    def _on_event(self, session: str, event: dict[str, Any]) -> None:
        if event["method"] != "Page.screencastFrame":
            return
        params = event["params"]
        asyncio.get_running_loop().call_later(_APART_S, self._go_on, session, params["sessionId"])
        self._number, self._data, self._metadata = self._number + 1, params["data"], params["metadata"]
        self._news.set()

    def _go_on(self, session: str, number: int) -> None:
        if session == self._session:
            self._devtools.send("Page.screencastFrameAck", {"sessionId": number}, session)
