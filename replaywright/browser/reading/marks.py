"""A page for a planner with vision: its snapshot, and a picture of the window with a mark on each element.

A mark has the number of the element's id in the snapshot. Marks are drawn on the picture, never into the page, and
secrets are hidden as in the record of a failed step. An element that moves while the picture is taken has no mark: a
mark on another element would be worse.
"""

import asyncio
import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from replaywright.browser.devtools.cdp import CdpFailed
from replaywright.browser.devtools.channel import Frame, Tab, script_for
from replaywright.browser.page import script_of
from replaywright.browser.reading import capture, frames, snapshots
from replaywright.domain.page.snapshots import Snapshot
from replaywright.ports.browser import Look

FRAME_S = 2.0
"""Limit of one call to one frame."""
DRAW_S = 5.0
"""Limit of drawing the marks."""
MARKS_LIMIT = 250
"""More marks than this cover what they stand for."""
FRAMED_LIMIT = 60
"""Limit of marks in frames: each needs calls to the documents around it."""
LONGEST = 1568
"""Pixels of a picture's longer side: providers reduce what is larger, and the digits with it."""


@dataclass(frozen=True)
class _Mark:
    number: int
    corners: tuple[tuple[float, float], ...]
    """Corners in CSS pixels of the top document's viewport."""


async def look(
    tab: Tab, typed: Sequence[str], wanted: Callable[[Snapshot], Sequence[str]], redact: Callable[[str], str]
) -> Look:
    """Return the page and a picture with a mark on each visible element whose id `wanted` names.

    Raises:
        CdpFailed: the page cannot be read. A missing picture is no error: `Look.missing` has the reason.
    """
    snapshot, origins = await snapshots.take_pictured(tab, typed)
    try:
        picture = await _picture(tab, typed, {one: origins[one] for one in wanted(snapshot)}, redact)
    except (capture.CaptureFailed, CdpFailed) as exc:
        return Look(snapshot, missing=redact(str(exc))[:200])
    return Look(snapshot, picture)


async def _picture(
    tab: Tab, typed: Sequence[str], wanted: Mapping[str, tuple[Frame, str]], redact: Callable[[str], str]
) -> bytes:
    before = await _placed(tab, wanted)
    data = await capture.screen(tab, typed, redact)
    after = await _placed(tab, wanted)
    marks = [mark for mark in after if mark in before][:MARKS_LIMIT]
    specs = [{"number": mark.number, "corners": mark.corners} for mark in marks]
    arguments = ", ".join(json.dumps(one) for one in (base64.b64encode(data).decode(), specs, LONGEST))
    source = script_of("reading/marks.js", once="globalThis.replaywrightMarks")
    drawn = await tab.call(tab.main, f"{source}replaywrightMarks.draw({arguments})", timeout_s=DRAW_S)
    return base64.b64decode(drawn)


async def _placed(tab: Tab, wanted: Mapping[str, tuple[Frame, str]]) -> list[_Mark]:
    """Return the marks of the elements that are visible now."""
    by_frame: dict[Frame, dict[str, str]] = {}
    for element_id, (frame, known_as) in wanted.items():
        if frame.context:
            by_frame.setdefault(frame, {})[known_as] = element_id
    found = await asyncio.gather(*(_placed_in(tab, frame, ids) for frame, ids in by_frame.items()))
    return sorted((mark for marks in found for mark in marks), key=lambda mark: mark.number)


async def _placed_in(tab: Tab, frame: Frame, ids: Mapping[str, str]) -> list[_Mark]:
    try:
        reply = await tab.call(frame, script_for("picturedAt", list(ids)), timeout_s=FRAME_S)
        if frame is not tab.main:
            reply = await _uncovered(tab, frame, reply[:FRAMED_LIMIT])
        quads = await frames.quads(tab, frame)
    except CdpFailed:
        if frame is tab.main:
            raise
        return []  # the frame is gone, or not displayed: nothing of it can be marked
    return [_mark(ids[one["id"]], one, quads) for one in reply]


async def _uncovered(tab: Tab, frame: Frame, reply: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the elements that no document around the frame covers."""
    seen = await asyncio.gather(*(frames.is_uncovered(tab, frame, one["x"], one["y"]) for one in reply))
    return [one for one, is_seen in zip(reply, seen, strict=True) if is_seen]


def _mark(element_id: str, place: Mapping[str, float], quads: Sequence[frames.Quad]) -> _Mark:
    left, top, right, bottom = (place[side] for side in ("left", "top", "right", "bottom"))
    drawn = (frames.mapped(quads, x, y) for x, y in ((left, top), (right, top), (right, bottom), (left, bottom)))
    corners = tuple((float(round(x)), float(round(y))) for x, y in drawn)
    return _Mark(int(element_id.removeprefix("e")), corners)
