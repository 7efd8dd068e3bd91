"""The record of a failed step: a picture without secrets, the document, and recent console and network lines.

Every part has its own time limit; a missing part has a reason: a page that hangs has no picture, but its requests are
known. The page's document is not changed: secrets are hidden by an animation of the agent's world, which observers of
the page do not see, and which ends by itself. The picture is of the window: for more than that Chromium resizes the
page, which hears of it, closes its lists and loads more, before the step is tried once more.
"""

import asyncio
import base64
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from replaywright.browser.devtools.cdp import CdpFailed
from replaywright.browser.devtools.channel import Frame, Tab
from replaywright.browser.devtools.evidence import without_query
from replaywright.browser.devtools.journal import Journal
from replaywright.browser.page import script_of
from replaywright.domain.page.targets import Box
from replaywright.domain.secrets.redaction import apart
from replaywright.observing import observer
from replaywright.ports.browser import Capture, Shown

EVIDENCE_S, SCREEN_S, DOM_S = 5.0, 2.0, 2.5
"""Limits of a failed step's picture, of any other one, and of the documents."""
LIMIT_S = EVIDENCE_S + DOM_S
"""Limit of all together."""
FRAME_S = 2.0
"""Limit of one call to one frame."""
PICTURE_BYTES = 20_000_000
DOM_CHARACTERS = 400_000
"""Limit of all documents together."""
TEXT_LIMITS = {"characters": 300_000, "elements": 60_000, "ms": 1_000}
"""Limits of the texts of a document that are searched for secrets before its picture is taken."""
_Part = TypeVar("_Part")
OVERLAP = 100
"""Texts before a piece that are looked at with it."""
JPEG_QUALITY = 60
"""Per cent: a page's text can be read, at a fifth of the size of a PNG."""
_ALONE = "{{secret}}"
"""Replaces a text that contains a secret: no secret continues across it."""
PIECE = 16_000
"""Characters that are searched for secrets at a time: other sessions of this worker have their turn in between."""
SEAM = 3_000
"""Characters on both sides of where a document is parted that are looked at together."""
TRIES = 2
"""Tries of a picture while the page shows new secrets."""


class CaptureFailed(Exception):
    """A part of a capture cannot be had; the message says why."""


class MaskingFailed(CaptureFailed):
    """A part of a capture cannot be had, because a secret on the page could not be hidden."""


@dataclass
class _Capturing:
    """One capture of one tab."""

    tab: Tab
    typed: Sequence[str]
    redact: Callable[[str], str]
    ends: float = 0.0
    """Until when the present part has to be there; monotonic seconds."""
    is_open: bool = False
    """Nothing has to be hidden, and the page is looked at meanwhile: nothing may be hidden from now on."""
    hangs: bool = False
    """True when the top document did not answer in time: it is not called again."""
    views: list[Box] = field(default_factory=list)
    """Parts of the page that the window showed whenever it was searched: before and after each try."""
    missing: dict[str, str] = field(default_factory=dict)

    def left_s(self, most_s: float) -> float:
        """Return the time for the next part, at least a moment."""
        return max(0.05, min(most_s, self.ends - time.monotonic()))

    def shows_secret(self, text: str) -> bool:
        """Return whether `text` holds a secret in any encoding that redaction knows, or one that was typed."""
        folded = text.casefold()
        return self.redact(text) != text or any(secret.casefold() in folded for secret in self.typed)

    def cleaned(self, text: str) -> str:
        """Return `text` without secrets."""
        for secret in self.typed:
            text = text.replace(secret, "{{secret}}")
        return self.redact(text)

    async def call(self, frame: Frame, function: str, *arguments: Any) -> Any:
        """Call a function of capture.js in that frame."""
        source = script_of("page/dom.js", "reading/capture.js", once="globalThis.replaywrightCapture")
        call = f"replaywrightCapture.{function}({', '.join(json.dumps(argument) for argument in arguments)})"
        return await self.tab.call(frame, source + call, timeout_s=self.left_s(FRAME_S))

    # --------------------------------------------------------------------------------------------- picture

    async def of_screen(
        self, *, jpeg: bool = False, on_open: Callable[[], None] | None = None, most_s: float = SCREEN_S
    ) -> bytes:
        """Return a picture of the screen with all secrets hidden; `show` ends the hiding.

        `on_open` is called where there are none: others may read the page from then on, and touch nothing.

        Raises:
            CaptureFailed: it cannot be taken, or not without a secret in it.
        """
        self.ends = time.monotonic() + most_s
        try:
            return await self._masked(jpeg=jpeg, on_open=on_open)
        except MaskingFailed:
            observer().not_masked("picture")
            raise

    def show(self) -> None:
        """Show again what was hidden."""
        for frame in self.tab.worlds():
            self.tab.notify(frame, "globalThis.replaywrightCapture?.show()")

    async def _masked(self, *, jpeg: bool, on_open: Callable[[], None] | None) -> bytes:
        hidden = 0
        for _ in range(TRIES):
            hidden += await self._hide()
            if on_open is not None and not hidden:
                self.is_open = True
                on_open()
            data = await self._shoot(jpeg=jpeg)
            if not (shown := await self._hide()):
                return data
            hidden += shown
        raise MaskingFailed("the page showed secrets anew while its picture was taken")

    async def _hide(self) -> int:
        """Hide in all frames whatever shows a secret, and frames that cannot be asked; how much was newly hidden."""
        until = (time.time() + self.left_s(LIMIT_S)) * 1000
        worlds = self.tab.worlds()
        shown = await asyncio.gather(*(self._secrets_in(frame) for frame in worlds))
        places = dict(zip(worlds, shown, strict=True))
        blind = {frame.parent for frame in self.tab.frames.values() if places.get(frame) is None}
        if places.get(self.tab.main) is None:
            raise CaptureFailed("the page did not answer in time, so that no secret on it could be hidden")
        hidden = 0
        for frame, found in places.items():
            if found is None or not (found or frame.id in blind):
                continue
            if self.is_open:
                raise MaskingFailed("the page showed a secret while its picture was taken")
            try:
                answer = await self.call(frame, "hide", found, frame.id in blind, until)
            except CdpFailed as exc:
                raise MaskingFailed(f"a secret on the page could not be hidden: {exc}") from exc
            if answer < 0:
                raise MaskingFailed("a secret on the page could not be hidden")
            hidden += answer
        return hidden

    async def _secrets_in(self, frame: Frame) -> list[int] | None:
        """Return the places in the frame that show a secret; None if it does not answer or is too large."""
        try:
            reply = await self.call(frame, "texts", TEXT_LIMITS)
        except CdpFailed as exc:
            self.hangs = self.hangs or (exc.timed_out and frame is self.tab.main)
            return None
        if frame is self.tab.main:
            x, y, width, height = reply["view"]
            self.views.append(Box(x=x, y=y, width=width, height=height))
        if not reply["complete"]:
            return None
        found: list[int] = list(reply["secret"])
        texts: list[str] = reply["texts"]
        size = begin = 0
        for place, text in enumerate(texts):
            if self.shows_secret(text):
                found.append(place)
                texts[place] = _ALONE
            size += len(text)
            if size > PIECE or place == len(texts) - 1:
                # With the texts before this piece: a secret may span both.
                window = range(max(0, begin - OVERLAP), place + 1)
                found += [window[at] for at in apart([texts[one] for one in window], self.shows_secret)]
                size, begin = 0, place + 1
                await asyncio.sleep(0)
                if time.monotonic() > self.ends:
                    return None
        return found

    async def _shoot(self, *, jpeg: bool) -> bytes:
        wanted: dict[str, Any] = {"format": "jpeg", "quality": JPEG_QUALITY} if jpeg else {"format": "png"}
        try:
            reply = await self.tab.cdp.send("Page.captureScreenshot", wanted, timeout_s=self.left_s(EVIDENCE_S))
        except CdpFailed as exc:
            raise CaptureFailed(f"no picture could be taken: {exc}") from exc
        data = base64.b64decode(reply["data"])
        if len(data) > PICTURE_BYTES:
            raise CaptureFailed(f"the picture has {len(data)} bytes, more than {PICTURE_BYTES}")
        return data

    # ------------------------------------------------------------------------------------------- documents

    async def documents(self) -> str:
        """Return the HTML of all frames, the top one first, without secrets.

        Raises:
            CaptureFailed: the top document does not answer.
        """
        if self.hangs:
            raise CaptureFailed("the page did not answer in time")
        self.ends = time.monotonic() + DOM_S
        parts: list[str] = []
        left = DOM_CHARACTERS
        for frame in self.tab.worlds():
            where = self.cleaned(without_query(frame.url)).replace("--", "- -")
            if left <= 0 or time.monotonic() > self.ends:
                parts.append(f"<!-- left out: document {where} -->")
                continue
            try:
                reply = await self.call(frame, "write", {"characters": left, "ms": 1_000})
            except CdpFailed as exc:
                if frame is self.tab.main:
                    raise CaptureFailed(f"the document could not be read: {exc}") from exc
                parts.append(f"<!-- did not answer: document {where} -->")
                continue
            complete = reply["complete"]
            parts.append(f"<!-- document {where} -->")
            waiting = ""
            for piece in reply["pieces"]:
                if time.monotonic() > self.ends:
                    complete, waiting = False, ""
                    break
                if self._is_parted(waiting, piece):
                    waiting += piece
                    continue
                parts.append(self.cleaned(waiting))
                left -= len(waiting)
                waiting = piece
                await asyncio.sleep(0)
            parts.append(self.cleaned(waiting))
            left -= len(waiting)
            if not complete:
                parts.append(f"<!-- cut here: more of document {where} was left out -->")
        return "\n".join(parts)

    def _is_parted(self, left: str, right: str) -> bool:
        """Return whether a secret spans the seam of both pieces."""
        left, right = left[-SEAM:], right[:SEAM]
        return self.cleaned(left + right) != self.cleaned(left) + self.cleaned(right)

    async def try_part(self, kind: str, part: Callable[[], Awaitable[_Part]]) -> _Part | None:
        """Return the result of `part`; note the reason and return None when it fails."""
        try:
            return await part()
        except CaptureFailed as exc:
            self.missing[kind] = self.cleaned(str(exc))[:200]
            return None


async def take(tab: Tab, journal: Journal, typed: Sequence[str], redact: Callable[[str], str]) -> Capture:
    """Return all that can be captured of the page within `LIMIT_S`, without secrets."""
    capturing = _Capturing(tab, tuple(typed), redact)
    if not tab.main.context:
        capturing.missing |= dict.fromkeys(("screenshot", "dom"), "the page has no document")
        screenshot = dom = None
    else:
        try:
            screenshot = await capturing.try_part("screenshot", lambda: capturing.of_screen(most_s=EVIDENCE_S))
        finally:
            capturing.show()
        dom = await capturing.try_part("dom", capturing.documents)
    return Capture(
        screenshot=screenshot,
        dom=dom,
        console=journal.console_lines(capturing.cleaned),
        network=journal.network_lines(capturing.cleaned),
        missing=capturing.missing,
    )


async def screen(tab: Tab, typed: Sequence[str], redact: Callable[[str], str]) -> bytes:
    """Return a PNG of the screen without secrets, within `SCREEN_S`.

    Raises:
        CaptureFailed: it cannot be taken, or not without a secret in it; the message says why, and names none.
    """
    capturing = _Capturing(tab, tuple(typed), redact)
    try:
        return await capturing.of_screen()
    except CaptureFailed as exc:
        raise CaptureFailed(capturing.cleaned(str(exc))[:200]) from None
    finally:
        capturing.show()


async def shown(
    tab: Tab, typed: Sequence[str], redact: Callable[[str], str], on_open: Callable[[], None] | None = None
) -> Shown:
    """Return a JPEG of the screen without secrets, in about `SCREEN_S`, or the reason why there is none.

    `on_open` is called as soon as the page may be looked at meanwhile; see `_Capturing.of_screen`.
    """
    capturing = _Capturing(tab, tuple(typed), redact)
    if not tab.main.context:
        return Shown(missing="the page has no document")
    try:
        data = await capturing.of_screen(jpeg=True, on_open=on_open)
        *_, before, view = capturing.views
        if view != before:
            raise CaptureFailed("the page was scrolled, or its window changed, while its picture was taken")
    except CaptureFailed as exc:
        return Shown(missing=capturing.cleaned(str(exc))[:200])
    finally:
        capturing.show()
    return Shown(data, view)
