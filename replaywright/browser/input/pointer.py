"""Pointer gestures of several steps, each decided by the page's reaction to the one before."""

import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from replaywright.browser.devtools.cdp import CdpFailed
from replaywright.browser.devtools.channel import Frame, script_for
from replaywright.browser.input import keys, trusted
from replaywright.browser.step.step_context import StepContext
from replaywright.domain.task.steps import Drag, Offset, PointerStep, Position, Scroll, Step
from replaywright.errors import ActionFailed

Place = tuple[float, float]
"""A point of the top document's viewport, in CSS pixels."""

STRIDE_PX = 40.0
"""About how far the pointer goes between two of its events while it drags."""
LEAST_STRIDES, MOST_STRIDES = 6, 25
"""Lists begin to drag only after the pointer has moved some pixels, and make room while it moves."""
NUDGES = (4.0, 9.0, 14.0)
"""Distances from the press at which the page is expected to begin the drag, in each direction."""
AIMS = 24
"""Limit of moves after a destination that gives way or a list that makes room step by step."""
TAKEN_S = 1.0
"""Wait for the browser's drag data once the page has begun a drag."""
ENDED_S = 0.5
"""Wait for the agent's report of a release after the browser has delivered it."""


def _inward(coordinate: float, distance: float) -> float:
    """Return a distance that leads away from the window's left or top edge."""
    return -distance if coordinate >= distance else distance


def spec_of(step: Step) -> dict[str, Any]:
    """Return the page agent's part of the specification: positions, ends and destinations."""
    spec: dict[str, Any] = {}
    if isinstance(step, PointerStep) and step.position is not None:
        spec["position"] = step.position.model_dump()
    if isinstance(step, Scroll) and step.to != "element":
        spec["end"] = step.to
    if isinstance(step, Drag):
        spec["drop"] = {
            "query": None if step.to is None else step.to.model_dump(exclude_none=True),
            "position": None if step.to_position is None else step.to_position.model_dump(),
            "by": None if step.by is None else step.by.model_dump(),
        }
    return spec


def refusal(step: Step, reason: str, by: str) -> str:
    """Return a message with field, value and remedy for a position that cannot be used; else ""."""
    match reason, step:
        case "position_outside", PointerStep(position=Position() as place):
            return _outside("position", place, by)
        case "to_position_outside", Drag(to_position=Position() as place):
            return _outside("to_position", place, by)
        case "destination_outside", Drag(by=Offset() as way):
            return f"by: {way.x:g}, {way.y:g} leads out of the window of {by} CSS pixels; drag less far, or use to"
        case "no_destination", Drag():
            return f"to: nothing to drop on: {by} matches; exactly one must be there, in the document of the element"
        case "ambiguous_destination", Drag():
            return f"to: {by} elements match; say more of the one to drop on, so that exactly one does"
        case "not_scrollable", Scroll():
            return f"to: {step.to}: nothing in the element can be scrolled; name the area, or leave it out for the page"
        case _:
            return ""


def _outside(field: str, place: Position, size: str) -> str:
    return f"{field}: {place.x:g}, {place.y:g} is outside of the element of {size} CSS pixels; give a place inside it"


@dataclass(frozen=True)
class Aim:
    """The page agent's answer: the next point on the way to the destination."""

    point: Place | None
    over: bool
    native: bool
    gone: bool


class Dragging:
    """One drag from press to release; the agent's guard checks both ends.

    A native drag (HTML5) is intercepted from the browser, which would otherwise hand it to the desktop; any other drag
    moves the pointer with its button held down.
    """

    def __init__(self, context: StepContext, frame: Frame, placed: Callable[[Frame, Place], Awaitable[Place]]) -> None:
        self._tab = context.tab
        self._frame = frame
        self._attempt = context.attempt
        self._until = context.tabs.until
        self._placed = placed
        self._deadline = context.deadline
        self._pointer: Place = (0.0, 0.0)
        self._start: Place = (0.0, 0.0)
        self._data: Mapping[str, Any] | None = None
        """Data of a native drag and drop; None for a drag of the pointer alone."""
        self._held = False
        """True while the button is down."""

    async def perform(self, start: Place) -> None:
        """Drag from `start` to the destination that the agent reports.

        Ends with `attempt.landed`, or with `attempt.intercepted` when the press would have hit another element: then
        nothing was touched.

        Raises:
            ActionFailed: the drag had begun and was called off: `no_destination`, `intercepted`, `not_dropped`.
        """
        cdp = self._tab.cdp
        self._tab.dragged = None
        await cdp.send("Input.setInterceptDrags", {"enabled": True})
        try:
            await self._drag(start)
        finally:
            if self._held:
                trusted.up(cdp, self._pointer).add_done_callback(lambda _: self._tab.pulse.beat())
            cdp.notify("Input.setInterceptDrags", {"enabled": False})

    async def _drag(self, start: Place) -> None:
        cdp, attempt = self._tab.cdp, self._attempt
        self._pointer = self._start = start
        await self._delivered(trusted.move(cdp, start))
        self._held = True
        await self._delivered(trusted.down(cdp, start))
        await self._until(lambda: self._over() or attempt.pressed, self._deadline.left(TAKEN_S))
        if self._over() or not attempt.pressed:
            await self._let_go()
            return
        # The destination may be scrolled to only now: the drag of the pressed element has begun.
        for step in NUDGES:
            await self._move((start[0] + _inward(start[0], step), start[1] + _inward(start[1], step)))
        aim = await self._aim()
        for turn in range(AIMS):
            if aim.over or aim.point is None or self._over():
                break
            # Lists react to every move: after the first path, each move is a single one.
            await self._go(aim.point, LEAST_STRIDES if turn == 0 else 1)
            aim = await self._aim()
        if not aim.over:
            await self._call_off(aim)
        await self._release()
        await self._until(lambda: attempt.undropped or attempt.landed or self._over(), self._deadline.left(ENDED_S))
        if attempt.undropped and not attempt.landed:
            message = "the page does not accept a drop there: the element was released and went back"
            raise ActionFailed("not_dropped", message, dispatched=True)
        if attempt.intercepted is not None:
            what = attempt.intercepted.by or "something else"
            message = f"the drop would have hit {what}; it was stopped before the page saw it"
            raise ActionFailed("intercepted", message, dispatched=True)

    def _over(self) -> bool:
        return self._attempt.intercepted is not None or self._tab.closed or not self._frame.context

    async def _aim(self) -> Aim:
        try:
            script = script_for("aim", self._attempt.token)
            reply = await self._tab.call(self._frame, script, timeout_s=max(1.0, self._deadline.left()))
            point = None if reply is None or reply["point"] is None else (reply["point"]["x"], reply["point"]["y"])
            point = None if point is None else await self._placed(self._frame, point)
        except (CdpFailed, ActionFailed):  # the document or its frame went away, or the frame is covered there
            reply = point = None
        if reply is None:
            return Aim(None, over=False, native=False, gone=True)
        aim = Aim(point, over=reply["over"], native=reply["native"], gone=reply["gone"])
        if aim.native and self._data is None:
            await self._take_over()
        return aim

    async def _take_over(self) -> None:
        """Switch to the browser's native drag and drop, as the page has begun one."""
        await self._until(lambda: self._tab.dragged is not None, self._deadline.left(TAKEN_S))
        self._data = self._tab.dragged
        if self._data is None:
            raise ActionFailed("not_dropped", "the browser did not report the dragged data", dispatched=True)
        await self._delivered(self._drag_event("dragEnter", self._pointer))

    async def _go(self, place: Place, least: int) -> None:
        """Move there in at least so many strides, each one delivered before the next."""
        (x, y), (to_x, to_y) = self._pointer, place
        strides = round(math.hypot(to_x - x, to_y - y) / STRIDE_PX)
        strides = min(max(strides, least), MOST_STRIDES)
        for stride in range(1, strides + 1):
            share = stride / strides
            await self._move((x + (to_x - x) * share, y + (to_y - y) * share))
        if self._data is not None:  # the first event at a place only enters the element there
            await self._move(place)

    async def _move(self, place: Place) -> None:
        if self._data is None and self._tab.dragged is not None:
            await self._take_over()
        self._pointer = place
        if self._data is None:
            await self._delivered(trusted.move(self._tab.cdp, place, pressed="left"))
        else:
            await self._delivered(self._drag_event("dragOver", place))

    async def _release(self) -> None:
        if self._data is not None:
            await self._delivered(self._drag_event("drop", self._pointer))
        await self._let_go()

    async def _let_go(self) -> None:
        await self._delivered(trusted.up(self._tab.cdp, self._pointer))
        self._held = False

    def _drag_event(self, kind: str, place: Place) -> trusted.Sent:
        params = {"type": kind, "x": place[0], "y": place[1], "data": self._data}
        return self._tab.cdp.post("Input.dispatchDragEvent", params)

    async def _delivered(self, sent: trusted.Sent) -> None:
        sent.add_done_callback(lambda _: self._tab.pulse.beat())
        if not await self._until(lambda: sent.done() or self._tab.closed, self._deadline.left()):
            raise ActionFailed("timeout", "the page did not take the input in time", dispatched=True)

    async def _call_off(self, aim: Aim) -> None:
        """Move the dragged element back and release it.

        Raises:
            ActionFailed: always.
        """
        if self._frame.context:
            await self._tab.call(self._frame, script_for("cancel"), timeout_s=max(1.0, self._deadline.left()))
        if self._data is not None:
            await self._delivered(self._drag_event("dragCancel", self._pointer))
        for event in keys.press("Escape"):
            self._tab.cdp.notify("Input.dispatchKeyEvent", event)
        self._pointer = self._start
        await self._delivered(trusted.move(self._tab.cdp, self._start, pressed="left"))
        await self._let_go()
        if aim.gone or aim.point is None:
            raise ActionFailed("no_destination", "the destination disappeared during the drag", dispatched=True)
        message = "the destination could not be reached: it is covered or moves away; the drag was cancelled"
        raise ActionFailed("intercepted", message, dispatched=True)
