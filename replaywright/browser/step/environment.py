"""The parts of a session that every step uses."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from replaywright.browser.devtools.channel import Tab
from replaywright.browser.devtools.dialogs import DialogHandler
from replaywright.browser.devtools.downloads import DownloadTracker
from replaywright.browser.devtools.waiting import Deadline
from replaywright.browser.input.debounce import Debounces
from replaywright.browser.input.unsent import UnsentEntries
from replaywright.browser.input.uploads import Copies
from replaywright.browser.step.attempt import SILENCE_S, Expectation
from replaywright.browser.tabs import Tabs
from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.predicate.evaluation import CustomPredicate
from replaywright.domain.predicate.eventually import Eventually
from replaywright.domain.predicate.predicates import Predicate
from replaywright.errors import ActionFailed
from replaywright.ports.browser import OnFound

_FIRST_LOOK_S = 1.0
"""Interval of evaluations while the page is not at rest, so that no predicate has had time counted yet."""


@dataclass(eq=False)
class StepEnvironment:
    """One session's tabs, dialogs, downloads and uploads, and the evaluation of predicates in it."""

    tabs: Tabs
    dialogs: DialogHandler
    downloads: DownloadTracker
    copies: Copies
    """Private copies of uploaded files."""
    debounces: Debounces
    """Timers that inputs have started."""
    unsent: UnsentEntries
    """What was entered and not sent yet."""
    upload_roots: Callable[[], Sequence[Path]]
    """Reads the folders that files may be uploaded from."""
    custom: Mapping[str, CustomPredicate]
    """Conditions of the user's own, by name."""
    first_token: int
    """Random, so that attempts of a killed worker are not taken for ours."""
    on_found: OnFound | None = None
    """Told where the element of each step is."""
    typed: list[str] = field(default_factory=list)
    """Secrets that were typed; fields that show them are not read back. In memory only."""
    is_shown: bool = False
    """A picture is being taken in which nothing has to be hidden: the page may be looked at meanwhile."""
    was_entered: bool = False
    """Something was entered since the last press."""
    rested: str = ""
    """Document in which all scripts have run."""
    _may_be_touched: asyncio.Event = field(default_factory=asyncio.Event)
    """Not set while the page's state is read."""

    def __post_init__(self) -> None:
        self._token = self.first_token
        self._may_be_touched.set()

    def expectation(self, predicates: Sequence[Predicate]) -> Expectation:
        """Return an expectation with a new attempt, whose number was never used before."""
        self._token += 1
        return Expectation.of(predicates, self._token, self.typed, self.custom)

    def show(self) -> None:
        """Let the page be looked at while its picture is taken."""
        self.is_shown = True
        self.tabs.pulse.beat()

    # ------------------------------------------------------------------------------ reading for a checkpoint

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[None]:
        """Hold back all input while the page's state is read."""
        self._may_be_touched.clear()
        try:
            yield
        finally:
            self._may_be_touched.set()

    async def until_read(self) -> None:
        """Wait until the page's state is read: later input would show in it."""
        await self._may_be_touched.wait()

    @property
    def is_read(self) -> bool:
        """Return whether the page's state is being read."""
        return not self._may_be_touched.is_set()

    # --------------------------------------------------------------------------------------------- verifying

    async def evaluate(
        self, predicates: Sequence[Predicate], deadline: Deadline, *, since: float | None = None, patient: bool = False
    ) -> tuple[PredicateResult, ...]:
        """Verify predicates outside a step; see `verified`."""
        expectation = self.expectation(predicates)
        self.tabs.attempt = expectation.attempt
        try:
            return await self.verified(expectation, deadline, since=since, patient=patient)
        finally:
            self.tabs.attempt = None

    async def verified(
        self, expectation: Expectation, deadline: Deadline, *, since: float | None = None, patient: bool = False
    ) -> tuple[PredicateResult, ...]:
        """Wait until all predicates hold in the current tab or their time is up; return the last verdicts.

        Args:
            expectation: the predicates, and the attempt that asks the page.
            deadline: the end of the step.
            since: when the input was given (monotonic seconds), None without one: requests since then are waited for.
            patient: give all remaining time to predicates without a time of their own.
        """
        tabs = self.tabs
        verdicts: tuple[PredicateResult, ...] = ()
        eventually = Eventually(expectation.predicates, time.monotonic(), patient=patient)

        def is_resting(tab: Tab) -> bool:
            waits = since is not None and any(each.traffic.busy(since=since) for each in tabs.attached)
            answered = expectation.context(tab) is not None
            return answered and tab.main.loaded and not (tab.main.loading or waits or tabs.is_opening)

        def is_over() -> bool:
            nonlocal verdicts
            tab = tabs.current
            if expectation.attempt.failed:
                raise ActionFailed("agent_failed", expectation.attempt.failed, dispatched=since is not None)
            expectation.ask(tab)
            verdicts = expectation.verdicts(tab, self._step_facts())
            rests = is_resting(tab)
            eventually.tick(time.monotonic(), resting=rests)
            if tab.main.loading:
                return False
            return all(verdict.passed for verdict in verdicts) or (rests and eventually.is_over(verdicts))

        # A frame that never answers sends no event: evaluate once more after it has been silent long enough.
        retry = asyncio.get_running_loop().call_later(SILENCE_S + 0.05, tabs.pulse.beat)
        try:
            ended = is_over()
            while not (ended or deadline.passed):
                ended = await tabs.until(is_over, deadline.left(eventually.left(verdicts) or _FIRST_LOOK_S))
        finally:
            retry.cancel()
        return verdicts

    def _step_facts(self) -> dict[str, Any]:
        """Return what a step's expectation may refer to beside the page."""
        recorder = self.tabs.recorder
        if recorder is None:
            return {}
        return {
            "responses": tuple(recorder.responses),
            "dialogs": tuple(recorder.dialogs),
            "downloads": self.downloads.complete(recorder),
        }
