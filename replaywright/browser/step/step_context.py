"""State of one step, shared by the modules that perform it."""

import asyncio
import time
from collections.abc import Mapping
from typing import Any, NoReturn

from replaywright.browser.devtools.cdp import CdpFailed
from replaywright.browser.devtools.channel import WORLD, Frame, Tab
from replaywright.browser.devtools.evidence import DIALOG_LIMIT, LINE_LIMIT, LIST_LIMIT, Recorder, without_query
from replaywright.browser.devtools.waiting import Deadline
from replaywright.browser.input import entries
from replaywright.browser.reading import snapshots
from replaywright.browser.step.attempt import PageAttempt
from replaywright.browser.step.environment import StepEnvironment
from replaywright.domain.common.text import shorten
from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.page.snapshots import Snapshot
from replaywright.domain.page.targets import Target
from replaywright.domain.proof.proof import is_input, needs_proof
from replaywright.domain.step.outcomes import DATE_MISREAD, ENTRY_LOST, Evidence
from replaywright.domain.task.actions import Cause
from replaywright.errors import ActionFailed
from replaywright.ports.browser import BeforeDispatch, Work

_AFTERMATH_S = 1.0
"""Once an input is on its way, at least this long is spent on learning what became of it."""

_LATELY_S = 2.0
"""Age of a request that a press does not wait for: a page that asks all the time would hold it up for ever."""
_REST_S = 5.0
"""Wait for a page to rest, before a model is shown it or it is read; one that asks for news all the time never does."""
_DRAWING_S = 0.15
PICTURED_S = 10.0
"""Wait for a picture; it has a shorter limit of its own."""


class StepContext:
    """One `Work` in one session, from its beginning to its report."""

    def __init__(self, environment: StepEnvironment, work: Work, before_dispatch: BeforeDispatch | None) -> None:
        self.environment = environment
        self.tabs = environment.tabs
        self.work = work
        self.step = work.step
        self.before_dispatch = before_dispatch
        self.holds = before_dispatch is not None or environment.is_read or work.recorded is not None
        self.holds |= environment.tabs.current.is_loading or work.looks
        """True if the page agent waits for permission before it acts."""
        self.deadline = Deadline(work.timeout_ms / 1000)
        self.dispatched = False
        """True once the page may have been touched."""
        self.expectation = environment.expectation(work.expect)
        self.tab: Tab = self.tabs.current
        self.frame: Frame = self.tab.main
        self.before: tuple[PredicateResult, ...] = ()
        """Verdicts from before the step did anything."""
        self.recorder: Recorder | None = None
        """Recorder of evidence since `arm`."""
        self.armed_at = 0.0
        self.given_at = 0.0
        """`armed_at` in seconds since 1970."""
        self._acted_in = ""
        """Document that was shown at `armed_at`."""
        self._preload: asyncio.Future[Mapping[str, Any]] | None = None
        self.keeps_entries = False
        """True if the page showed before a press what was entered."""
        self._open_before = tuple(self.tabs.open_tabs)
        self._dialogs_before: tuple[str, ...] = ()

    @property
    def attempt(self) -> PageAttempt:
        """Return the page agent's attempt at this step."""
        return self.expectation.attempt

    @property
    def armed(self) -> Recorder:
        """Return the recorder; there must be one."""
        assert self.recorder is not None
        return self.recorder

    def fail(self, reason: str, message: str) -> NoReturn:
        """Raise `ActionFailed`, which says whether the page may have been touched."""
        raise ActionFailed(reason, message, dispatched=self.dispatched)

    async def snapshot(self) -> Snapshot | None:
        """Read the page; None while it cannot be read."""
        try:
            return await snapshots.take(self.tabs.current, self.environment.typed, about=self.step.instruction)
        except CdpFailed:
            return None

    async def until_rest(self, limit_s: float = _REST_S) -> None:
        """Wait a few seconds until the page has loaded and no request or stream that may change it is under way.

        What a page waited for it draws a moment later, and may ask for more.
        """
        tab, until = self.tab, Deadline(self.deadline.left(limit_s))

        def rests() -> bool:
            under_way = tab.traffic.is_growing or tab.traffic.tells(time.monotonic() - _REST_S)
            return tab.main.loaded and bool(tab.main.context) and not under_way

        while not rests() and not until.passed:
            await self.tabs.until(rests, until.left())
            await self.tabs.until(lambda: not rests(), until.left(_DRAWING_S))

    async def until_answered(self) -> None:
        """Wait until the page has what it asked for lately.

        A replay presses sooner than a person could, and pages are not written for that: they take an answer that was
        asked for before a press, and comes after it, for one to the press. A request that takes long is not waited for.
        """
        tab = self.tab
        await self.tabs.until(lambda: not tab.awaits(time.monotonic() - _LATELY_S), self.deadline.left(_LATELY_S))

    @property
    def is_pictured(self) -> bool:
        """Return whether the picture of before the step is being taken: the page may not be touched."""
        return self.work.picturing is not None and not self.work.picturing.done()

    async def until_pictured(self, *, looks: bool = False) -> None:
        """Wait until that is over, or until the page may be looked at; this does not count as the step's time."""
        begun, picturing = time.monotonic(), self.work.picturing
        if picturing is None or picturing.done():
            return
        picturing.add_done_callback(lambda _: self.tabs.pulse.beat())
        await self.tabs.until(lambda: not self.is_pictured or (looks and self.environment.is_shown), PICTURED_S)
        self.deadline.ends += time.monotonic() - begun

    async def until_read(self) -> None:
        """Wait until the page is read for the checkpoint before the step; that does not count as the step's time."""
        begun = time.monotonic()
        await self.environment.until_read()
        self.deadline.ends += time.monotonic() - begun

    async def permitted(self, target: Target | None) -> None:
        """Wait until `target`, or the page, may be given something."""
        await self.until_read()
        if needs_proof(self.step):
            if self.work.is_consequential:
                await self.environment.debounces.over(self.tabs, self.tab)
                await self.until_answered()  # what the timers have asked for
            await self._take_entries()
        if is_input(self.step):
            self.environment.debounces.watch(self.tab)  # frames, too, that have come while the element was looked for
        if self.before_dispatch is not None:
            await self.before_dispatch(target, self.before)

    async def _take_entries(self) -> None:
        """Note whether the page has kept what was entered.

        Raises:
            ActionFailed: it has not, and had when the press was recorded; or it reads another date in what was given.
        """
        environment, required = self.environment, self.work.keeps_entries
        if not environment.was_entered:
            return
        environment.was_entered = False
        found = await entries.taken(self.tab, required=required)
        self.keeps_entries = found.fields > 0 and not found.lost
        if not found.misread and not (required and found.lost):
            return
        environment.was_entered = True
        if found.misread:
            read = " and ".join(f"{shorten(name, LINE_LIMIT)!r} ({shown})" for name, shown in found.misread)
            message = f"the page reads another date in what was entered in {read}"
            raise ActionFailed(DATE_MISREAD, message, dispatched=False)
        named = " and ".join(repr(shorten(name, LINE_LIMIT)) for name in found.lost)
        message = f"the page has changed what was entered in {named}: it shows something else now"
        raise ActionFailed(ENTRY_LOST, message, dispatched=False)

    # ------------------------------------------------------------------------------------------- evidence

    def go(self, frame: Frame) -> None:
        """Begin to record: the page may be touched from here on."""
        self.deadline = Deadline(max(self.deadline.left(), _AFTERMATH_S))
        self.arm()
        self.attempt.renew(frame)
        self.dispatched = True

    def arm(self, *, watch: bool = False) -> None:
        """Collect evidence from now on; have the expected new document answer without being asked."""
        self.armed_at, self.given_at = time.monotonic(), time.time()
        self.tab.traffic.given = (self.tab.main.loader if is_input(self.step) else "", self.armed_at)
        self._acted_in = self.tabs.document
        unsent, usual = self.environment.unsent.of(self._acted_in), frozenset(self.tabs.usual)
        self.recorder = Recorder(self.frame.id, self.tab.main.id, unsent, usual)
        self.tabs.record(self.recorder, popups=self.work.causes is None or Cause.POPUP in self.work.causes)
        self._open_before = tuple(self.tabs.open_tabs)
        expected = watch or (self.work.causes is not None and Cause.NEW_DOCUMENT in self.work.causes)
        if expected and self.attempt.probes and self._preload is None:
            params = {"source": self.expectation.script, "worldName": WORLD}
            self.expectation.preloaded = self.tab.cdp
            self._preload = self.tab.cdp.post("Page.addScriptToEvaluateOnNewDocument", params)

    def remove_preload(self) -> None:
        """Remove the script that makes new documents answer."""
        if self._preload is not None:
            self._preload.add_done_callback(self._removed)

    def _removed(self, added: "asyncio.Future[Mapping[str, Any]]") -> None:
        if not added.cancelled() and added.exception() is None and not self.tab.closed:
            self.tab.cdp.notify(
                "Page.removeScriptToEvaluateOnNewDocument", {"identifier": added.result()["identifier"]}
            )

    def evidence(self) -> Evidence:
        """Return the evidence so far; after the report, the evidence that came later."""
        seen = Evidence() if self.recorder is None else self.recorder.evidence()
        opened = [tab for tab in self.tabs.seen if tab not in self._open_before]
        tabs = [f"opened {_address(tab)}" for tab in opened]
        tabs += [f"closed {_address(tab)}" for tab in (*self._open_before, *opened) if tab.closed]
        if self.recorder is not None:
            tabs += ["opened and closed again"] * self.recorder.popups.count("")
        self._dialogs_before += self.environment.dialogs.earlier()
        dialogs = (*self._dialogs_before, *seen.dialogs)[:DIALOG_LIMIT]
        return seen.model_copy(update={"tabs": tuple(tabs[:LIST_LIMIT]), "dialogs": dialogs})

    @property
    def is_fresh(self) -> bool:
        """Return whether the current document was loaded after the input."""
        is_loaded = self.tabs.current.url.startswith(("http://", "https://"))
        return bool(self._acted_in) and is_loaded and self.tabs.document != self._acted_in

    # ------------------------------------------------------------------------------- pages that ask to stay

    def is_held(self) -> bool:
        """Return whether the page asked before it was left, and stayed."""
        return self.recorder is not None and self.recorder.stayed

    def fail_if_held(self) -> None:
        """Raise when the page stayed because of its question."""
        if self.is_held():
            message = "the page asked before leaving (beforeunload), and stayed; to leave it, set dialog: accept"
            self.fail("held_by_dialog", message)


def _address(tab: Tab) -> str:
    return shorten(without_query(tab.url), LINE_LIMIT)
