"""Following a demonstration: acts are joined to steps, each with what it led to; the person's commands change them."""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import Final

from replaywright.domain.page.snapshots import Snapshot
from replaywright.domain.task.actions import Effect
from replaywright.imports import Imported
from replaywright.ports.recording import Act, Demonstration
from replaywright.recording.writing import Recorded, effect_of, may_focus, title_of, written

LOOK_EVERY_S: Final = 1.0
"""How often a page is read on which nothing is done: what has come meanwhile is not the doing of the next act."""
REST_LIMIT_S: Final = 10.0
"""How long the end waits for the last act to come to rest."""
_CLICKS: Final = frozenset({"click", "check", "uncheck"})


class DemonstrationRecorder:
    """Records one demonstration; `changed` is called after each change of the list of steps."""

    def __init__(
        self,
        demonstration: Demonstration,
        url: str,
        secrets: Sequence[str] = (),
        *,
        changed: Callable[[], None],
        is_open: bool = False,
    ) -> None:
        """With `is_open` the page at `url` is open already."""
        self.steps: list[Recorded] = []
        self.is_paused = self.is_pointing = False
        self._demonstration = demonstration
        self._url = url
        self._secrets = secrets
        self._changed = changed
        self._is_open = is_open
        self._looking: asyncio.Task[None] | None = None
        self._seen: Snapshot | None = None
        """The page as it was last read."""
        self._ended = asyncio.Event()
        self.settled = asyncio.Event()
        """Set while the latest act has come to rest."""

    async def run(self) -> None:
        """Open the page, unless it is open, and record until `end`, or until the browser is closed.

        Raises:
            ActionFailed: the page does not load.
        """
        if self._is_open:
            self._demonstration.listen(on=True)
        else:
            await self._demonstration.open(self._url)
        self._look(None)
        ended = asyncio.create_task(self._ended.wait())
        try:
            while not self._ended.is_set():
                following = asyncio.create_task(self._demonstration.next_act())
                await asyncio.wait({following, ended}, return_when=asyncio.FIRST_COMPLETED)
                if not following.done():
                    following.cancel()
                elif (act := following.result()) is None:
                    self.end()
                else:
                    self._take(act)
        finally:
            ended.cancel()
            with contextlib.suppress(TimeoutError):  # what the last act led to is still to be read
                async with asyncio.timeout(REST_LIMIT_S):
                    await self.settled.wait()
            await self._stop_looking()
            if self.steps and self.steps[-1].outcome.after is None:
                self.steps[-1].outcome = self._demonstration.so_far(self.steps[-1].act.number)

    def task(self, name: str) -> Imported:
        """Return the task of the steps so far.

        Raises:
            InputInvalid: there are none.
        """
        return written(self.steps, name, self._url, self._secrets)

    @property
    def lines(self) -> list[str]:
        """The steps so far, one line each, with what is to be known of each."""
        return [line_of(number, each) for number, each in enumerate(self.steps, start=1)]

    @property
    def has_ended(self) -> bool:
        """True once the person has finished, or the browser is closed."""
        return self._ended.is_set()

    # ------------------------------------------------------------------------------------------------ commands

    def undo(self) -> None:
        """Forget the last step; what it did to the page stays."""
        if self.steps:
            self.steps.pop()
            self._changed()

    def toggle_parameter(self) -> None:
        """Let the value that was entered last be the same in every run, or a parameter again."""
        if each := next((each for each in reversed(self.steps) if each.has_value and not each.act.secret), None):
            each.is_parameter = not each.is_parameter
            self._changed()

    def set_effect(self, effect: Effect) -> None:
        """Say of the last step that it has consequences, or that it may be repeated."""
        if self.steps:
            self.steps[-1].effect = effect
            self._changed()

    def point(self) -> None:
        """Let the next click in the page say that what it hits must be there; again: leave that."""
        self.is_pointing = not self.is_pointing
        self._listen()

    def pause(self) -> None:
        """Record nothing until this is called again."""
        self.is_paused = not self.is_paused
        self._listen()

    def _listen(self) -> None:
        self._demonstration.listen(on=not self.is_paused, pointing=self.is_pointing)
        self._changed()

    def end(self) -> None:
        """End the recording."""
        self._ended.set()
        self._changed()

    # -------------------------------------------------------------------------------------------------- acts

    def _take(self, act: Act) -> None:
        """Add an act, join it to the step before it, or let that step expect what was pointed at."""
        last = self.steps[-1] if self.steps else None
        if act.kind == "point":
            self.is_pointing = False
            if last is not None:
                last.points.append(act)
            self._listen()
            return
        if last is not None and last.act.number == act.number:
            last.act = act
            self._changed()
            return
        if last is not None and last.outcome.after is None:
            last.outcome = self._demonstration.so_far(last.act.number)
        before = self._seen
        waited_s = act.at - last.act.at if last is not None else 0.0
        if act.kind == "double_click":
            while self.steps and _is_click_on(self.steps[-1].act, act):
                before = self.steps.pop().before
        if last is not None and act.kind in {"fill", "select"} and may_focus(last) and _is_click_on(last.act, act):
            before = self.steps.pop().before
        each = Recorded(act, before, waited_s=waited_s, signs_in=last is not None and last.act.signs_in)
        self.steps.append(each)
        self._look(each)
        self._changed()

    def _look(self, each: Recorded | None) -> None:
        self.settled.clear()
        if self._looking is not None:
            self._looking.cancel()
        self._looking = asyncio.create_task(self._read(each))

    async def _read(self, each: Recorded | None) -> None:
        """Read what the act led to, then keep reading the page until the next one."""
        self._seen = None
        outcome = await self._demonstration.outcome(each.act.number if each is not None else 0, self._known_secrets)
        self._seen = outcome.again
        if each is not None:
            each.outcome = outcome
        self.settled.set()
        self._changed()
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            self._seen = await self._demonstration.look(self._known_secrets) or self._seen

    @property
    def _known_secrets(self) -> list[str]:
        return [each.act.value for each in self.steps if each.act.secret and each.act.value]

    async def _stop_looking(self) -> None:
        if self._looking is None:
            return
        self._looking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._looking


def _is_click_on(act: Act, other: Act) -> bool:
    same = act.element is not None and other.element is not None and act.element.number == other.element.number
    return same and act.kind in _CLICKS


def line_of(number: int, each: Recorded) -> str:
    """Return a step as the panel shows it."""
    effect = effect_of(each)
    marks = ["" if effect.repeatable else "has consequences", "" if each.is_parameter else "always this value"]
    marks += [f"{len(each.points)} checked" if each.points else ""]
    said = ", ".join(filter(None, marks))
    return f"{number}. {title_of(each.act)}" + (f"  [{said}]" if said else "")
