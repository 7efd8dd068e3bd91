"""Frames that a query names: by name, title, a part of the address, or a CSS selector."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from replaywright.browser.devtools.cdp import CdpFailed
from replaywright.browser.devtools.channel import Frame, Tab
from replaywright.browser.devtools.evidence import without_query
from replaywright.browser.reading.frames import describe
from replaywright.domain.common.text import normalise
from replaywright.domain.page.targets import FrameStep

LOOK_AGAIN_S = 0.25
"""A frame that was not there is looked for again after this time: scripts name frames late."""
_MATCHES = "function (selector) { return Element.prototype.matches.call(this, selector); }"

_Path: TypeAlias = tuple[str, ...]


@dataclass(frozen=True)
class _LookUp:
    """Frames that were found, with the tab's frames at that time."""

    ids: frozenset[str]
    frames: tuple[tuple[str, str], ...]
    at: float


class NamedFrames:
    """The named frames of a step's tabs, looked up when they are first asked for and when frames have changed."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, _Path], _LookUp] = {}
        self._looking: dict[tuple[str, _Path], asyncio.Task[None]] = {}

    def of(self, tab: Tab, path: _Path) -> frozenset[str] | None:
        """Return the ids of the frames at `path`; None while they are looked up, after which the tab's pulse beats."""
        key, frames = (tab.main.id, path), _frames_of(tab)
        known = self._found.get(key)
        is_current = known is not None and known.frames == frames
        is_late = known is not None and not known.ids and time.monotonic() - known.at > LOOK_AGAIN_S
        if (not is_current or is_late) and key not in self._looking:
            self._looking[key] = asyncio.create_task(self._look(tab, key, frames))
        return known.ids if known is not None and is_current else None

    async def _look(self, tab: Tab, key: tuple[str, _Path], frames: tuple[tuple[str, str], ...]) -> None:
        try:
            self._found[key] = _LookUp(await named(tab, key[1]), frames, time.monotonic())
        finally:
            del self._looking[key]
            tab.pulse.beat()


def _frames_of(tab: Tab) -> tuple[tuple[str, str], ...]:
    return tuple((frame.id, frame.url) for frame in tab.frames.values())


async def named(tab: Tab, path: Sequence[str]) -> frozenset[str]:
    """Return the ids of the frames at `path`: each part names frames at any depth inside those of the part before."""
    outer = {tab.main.id}
    for part in path:
        inside = [
            frame for frame in tab.frames.values() if any(above.id in outer for above in tab.ancestors(frame)[:-1])
        ]
        outer = {frame.id for frame in await _called(tab, inside, part)}
    return frozenset(outer)


async def _called(tab: Tab, frames: Sequence[Frame], part: str) -> list[Frame]:
    """Return the frames that are called so: by their names if any is, else by titles, addresses, a selector."""
    described = await asyncio.gather(*(_described(tab, frame) for frame in frames))
    known = [(frame, step) for frame, step in zip(frames, described, strict=True) if step is not None]
    by_name = [frame for frame, step in known if part in (step.name, frame.name)]
    wanted = normalise(part)
    by_title = [frame for frame, step in known if wanted in (normalise(step.title), normalise(frame.title))]
    is_address = "/" in part or "." in part
    by_url = [frame for frame, _ in known if is_address and part in without_query(frame.url)]
    if found := by_name or by_title or by_url:
        return found
    matching = await asyncio.gather(*(_matches(tab, frame, part) for frame, _ in known))
    return [frame for (frame, _), matches in zip(known, matching, strict=True) if matches]


async def _described(tab: Tab, frame: Frame) -> FrameStep | None:
    try:
        return await describe(tab, frame)
    except (CdpFailed, KeyError, ValueError):  # it went away meanwhile
        return None


async def _matches(tab: Tab, frame: Frame, selector: str) -> bool:
    """Return whether the element that shows the frame matches a selector; what is no selector matches nothing."""
    parent = tab.frames.get(frame.parent or "")
    world = None if parent is None else tab.world_number(parent.id, parent.cdp)
    if parent is None or world is None:
        return False
    try:
        owner = await parent.cdp.send("DOM.getFrameOwner", {"frameId": frame.id})
        place = {"backendNodeId": owner["backendNodeId"], "executionContextId": world}
        element = (await parent.cdp.send("DOM.resolveNode", place))["object"]["objectId"]
        call = {"functionDeclaration": _MATCHES, "objectId": element, "arguments": [{"value": selector}]}
        answer = await parent.cdp.send("Runtime.callFunctionOn", call | {"returnByValue": True})
    except CdpFailed:
        return False
    return "exceptionDetails" not in answer and bool(answer["result"].get("value"))
