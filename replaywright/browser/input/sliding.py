"""Moving a slider that is no native field: by keys, or by its thumb if it does not react to keys."""

from collections.abc import Mapping, Sequence
from typing import Any

from replaywright.browser.input import trusted
from replaywright.browser.step.attempt import Ready
from replaywright.browser.step.step_context import StepContext
from replaywright.errors import ActionFailed

MOVED_S = 0.4
"""Wait for a slider to move after a key or a move of the pointer."""
ROUNDS = 60
"""Limit of key presses or moves of the thumb."""
MOST_PRESSES = 50
"""Limit of presses between two readings of the value."""
FIRST_PX = 8.0
"""First move of the thumb, which shows the value of a pixel."""


async def slide(context: StepContext, ready: Ready, place: tuple[float, float]) -> None:
    """Move the slider at `place` until `aria-valuenow` is the value of the step.

    Raises:
        ActionFailed: `value_differs`: neither keys nor pointer reach the value; the message has the nearest.
    """
    wanted = float(context.work.text)
    slider = _Slider(context, ready.state["slider"], wanted)
    if slider.takes_keys and await slider.by_keys():
        return
    if not slider.is_over and await slider.by_thumb(place):
        return
    if context.attempt.intercepted is not None:
        return
    message = f"the slider does not take the value {wanted:g}: the nearest that was reached is {slider.nearest:g}"
    raise ActionFailed("value_differs", message, dispatched=True)


class _Slider:
    def __init__(self, context: StepContext, first: Mapping[str, Any], wanted: float) -> None:
        self._context = context
        self._tab = context.tab
        self._attempt = context.attempt
        self._first = first
        self._wanted = wanted
        self._deadline = context.deadline
        self.nearest = self.now

    @property
    def now(self) -> float:
        """Return the value that the page agent reported last."""
        slider = self._attempt.state.get("slider") or self._first
        return float(slider["now"] or 0)

    @property
    def takes_keys(self) -> bool:
        """Return whether it can have the focus."""
        return bool(self._first["focused"])

    @property
    def is_over(self) -> bool:
        """Return whether to give up."""
        return self._attempt.intercepted is not None or self._tab.closed or self._deadline.passed

    # ------------------------------------------------------------------------------------------------ keys

    async def by_keys(self) -> bool:
        """Press keys; return whether the value was reached."""
        for key, end in (("Home", self._first["min"]), ("End", self._first["max"])):
            if end is not None and end == self._wanted and await self._press(key) == self._wanted:
                return True
        pairs: list[tuple[str, str]] = [("ArrowRight", "ArrowLeft"), ("ArrowUp", "ArrowDown")]
        for more, less in reversed(pairs) if self._first["vertical"] else pairs:
            if await self._approach(more, less):
                return True
        return False

    async def _approach(self, more: str, less: str) -> bool:
        """Press until the value is there, goes past it, or does not move."""
        worth, turned = 0.0, False
        for _ in range(ROUNDS):
            before = self.now
            missing = self._wanted - before
            if missing == 0 or self.is_over:
                return missing == 0
            times = min(int(abs(missing) / worth + 1e-6), MOST_PRESSES) if worth else 1
            if times == 0:
                return False  # a single press goes past it
            # The last press is separate: in a burst, pages may report an old value.
            times = max(1, times - 1)
            moved = await self._press(more if missing > 0 else less, times) - before
            if moved == 0:
                return False
            if moved * missing < 0:  # right to left, or upside down
                if turned:
                    return False
                more, less, turned = less, more, True
            worth = abs(moved) / times
        return self.now == self._wanted

    async def _press(self, key: str, times: int = 1) -> float:
        before = self.now
        posted = [event for _ in range(times) for event in trusted.press(self._tab.cdp, key)]
        await self._settled(posted, before)
        return self.now

    async def _settled(self, posted: Sequence[trusted.Sent], before: float) -> None:
        """Wait until the events were delivered and the value rests."""
        for sent in posted:
            sent.add_done_callback(lambda _: self._context.tabs.pulse.beat())
        await self._context.tabs.until(
            lambda: self.is_over or all(sent.done() for sent in posted), self._deadline.left()
        )
        limit = self._deadline.left(MOVED_S)
        while await self._context.tabs.until(lambda: self.is_over or self.now != before, limit):  # noqa: B023
            before = self.now
            if self.is_over or before == self._wanted:
                break
            limit = self._deadline.left(MOVED_S / 4)
        if abs(self.now - self._wanted) < abs(self.nearest - self._wanted):
            self.nearest = self.now

    # ------------------------------------------------------------------------------------------- the thumb

    async def by_thumb(self, place: tuple[float, float]) -> bool:
        """Drag the thumb and release it at the nearest place; return whether the value was reached."""
        cdp = self._tab.cdp
        await self._settled([trusted.move(cdp, place)], self.now)
        await self._settled([trusted.down(cdp, place)], self.now)
        if self.is_over:
            await self._settled([trusted.up(cdp, place)], self.now)
            return False
        along = await self._search(place)
        await self._settled([trusted.up(cdp, self._at(place, along))], self.now)
        return self.now == self._wanted

    def _at(self, place: tuple[float, float], along: float) -> tuple[float, float]:
        return (place[0], place[1] - along) if self._first["vertical"] else (place[0] + along, place[1])

    async def _search(self, place: tuple[float, float]) -> float:
        """Return the thumb's distance to the value, by repeated interpolation."""
        along, best = 0.0, 0.0
        step = FIRST_PX if self._wanted > self.now else -FIRST_PX
        for _ in range(ROUNDS):
            if self.now == self._wanted or self.is_over:
                return along
            before, missing = self.now, self._wanted - self.now
            along += step
            await self._settled([trusted.move(self._tab.cdp, self._at(place, along), pressed="left")], before)
            moved = self.now - before
            if self.now == self.nearest:
                best = along
            if moved == 0:
                step *= 2  # it is between two values, or reacts only to larger moves
                if abs(along) > 20_000:
                    break
                continue
            left = self._wanted - self.now
            step = step * left / moved
            if abs(step) < 1:
                step = 1.0 if step > 0 else -1.0
                if left * missing < 0 and abs(along - best) <= 1:
                    break  # one pixel leads past it
        return best
