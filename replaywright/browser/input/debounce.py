"""Debounced handlers of a page: what was entered may reach the page's own state only when a timer has fired.

An editor that copies its text into its form 250 ms after the last key loses it where a press follows sooner. No person
is so quick, a replay is.
"""

import asyncio
import time
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from typing import Any, Final

from replaywright.browser.devtools.cdp import CdpFailed, CdpSession
from replaywright.browser.devtools.channel import Frame, Tab
from replaywright.browser.devtools.waiting import Deadline
from replaywright.browser.tabs import Tabs

LIMIT_S: Final = 1.0
"""Timers of more are no debouncing; and no press waits longer."""
_ANSWER_S: Final = 1.0
_FIRED_S: Final = 0.01
"""A timer that is due has fired by then, if the page is at rest."""

_Handle = asyncio.Future[Mapping[str, Any]]


@cache
def _script() -> str:
    source = (resources.files("replaywright.browser.input") / "debounce.js").read_text(encoding="utf-8")
    return f"({source})({1000 * LIMIT_S:g})"


class Debounces:
    """Timers that inputs have started in the documents of a session, since the last press that could send."""

    def __init__(self) -> None:
        self._watched: dict[CdpSession, tuple[str, _Handle]] = {}
        """Document (by the agent's world in it) and handle of the watcher, by session."""
        self._since: float | None = None

    def watch(self, tab: Tab) -> None:
        """Watch the tab's timers from now on; nobody waits for that, and the input comes after it."""
        if self._since is None:
            self._since = time.monotonic()
        for frame in _roots(tab):
            document, handle = self._watched.get(frame.cdp, ("", None))
            if handle is None or document != frame.context:
                self._watched[frame.cdp] = frame.context, frame.cdp.post("Runtime.evaluate", {"expression": _script()})
            elif len(tab.frames) > 1 and (watcher := _watcher(handle)):
                frame.cdp.notify("Runtime.callFunctionOn", _call(watcher, "watch"))

    async def over(self, tabs: Tabs, tab: Tab) -> None:
        """Wait until the timers that inputs have started have fired, `LIMIT_S` at most."""
        if self._since is None:
            return
        since, limit = self._since, Deadline(LIMIT_S)
        self._since = None
        while (left_s := await self._left(tab, time.monotonic() - since)) > 0 and not limit.passed:
            await tabs.until(lambda: False, min(left_s + _FIRED_S, limit.left()))

    async def _left(self, tab: Tab, age_s: float) -> float:
        """Return the seconds until the last of the timers fires; 0 without any."""
        watched = [(frame.cdp, *self._watched.get(frame.cdp, ("", None)), frame.context) for frame in _roots(tab)]
        asked = (_ask(cdp, handle, age_s) for cdp, document, handle, now in watched if handle and document == now)
        return max(await asyncio.gather(*asked), default=0.0)


def _roots(tab: Tab) -> Iterable[Frame]:
    """Return the topmost frame of each of the tab's sessions."""
    roots: dict[CdpSession, Frame] = {}
    for frame in tab.worlds():
        roots.setdefault(frame.cdp, frame)
    return roots.values()


def _watcher(handle: _Handle) -> str:
    """Return the id of the watcher; empty while there is none, as in a document that went away."""
    has_failed = not handle.done() or handle.cancelled() or handle.exception() is not None
    return "" if has_failed else handle.result().get("result", {}).get("objectId", "")


def _call(watcher: str, name: str, *arguments: float) -> dict[str, Any]:
    return {
        "objectId": watcher,
        "functionDeclaration": f"function(...given) {{ return this.{name}(...given); }}",
        "arguments": [{"value": value} for value in arguments],
        "returnByValue": True,
    }


async def _ask(cdp: CdpSession, handle: _Handle, age_s: float) -> float:
    try:
        async with asyncio.timeout(_ANSWER_S):
            await asyncio.wait([handle])
            answer = await cdp.send("Runtime.callFunctionOn", _call(_watcher(handle), "left", 1000 * age_s))
    except (CdpFailed, TimeoutError):  # the document went away, or is busy
        return 0.0
    left_ms = answer["result"].get("value")
    return left_ms / 1000 if isinstance(left_ms, int | float) else 0.0
