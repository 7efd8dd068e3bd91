"""A live browser: its tabs, and what becomes known about them while nobody looks."""

import asyncio
import contextlib
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from playwright.async_api import Browser, BrowserContext, Page, Request
from playwright.async_api import Error as PlaywrightError

from replaywright.browser.devtools.channel import Frame, Tab
from replaywright.browser.devtools.connection import Connection
from replaywright.browser.devtools.dialogs import Dialogs
from replaywright.browser.devtools.downloads import DOWNLOAD_LIMIT_BYTES, Downloads
from replaywright.browser.devtools.evidence import Recorder
from replaywright.browser.devtools.journal import Journal
from replaywright.browser.devtools.waiting import Deadline, Pulse
from replaywright.browser.devtools.wire import Counts, Wire, WireFailed
from replaywright.browser.input.uploads import Copies
from replaywright.browser.reading import capture, marks, snapshots, storage
from replaywright.browser.step import asking, overrides
from replaywright.browser.step.attempt import SILENCE_S, Attempt, Expectation
from replaywright.browser.step.latecomers import Latecomers
from replaywright.browser.step.perform import StepRun
from replaywright.domain.page.observed import SAFE_METHODS, PredicateResult
from replaywright.domain.page.outlines import Outline
from replaywright.domain.page.snapshots import Snapshot
from replaywright.domain.predicate.evaluation import CustomPredicate
from replaywright.domain.predicate.eventually import Eventually
from replaywright.domain.predicate.predicates import Predicate
from replaywright.domain.session.guard import StepGuard
from replaywright.domain.step.checkpoints import PageState
from replaywright.domain.step.outcomes import Evidence, UnsafeRequest
from replaywright.domain.step.overrides import OverrideRule
from replaywright.domain.task.steps import ForEach
from replaywright.errors import ActionFailed, SessionLost
from replaywright.ports import BeforeDispatch, Capture, Download, Look, Pressed, Report, Shown, SiteAnswer, Work

_Reading = TypeVar("_Reading")

TAB_TIMEOUT_S = 10.0
FRAMES_S = 1.0
"""How long frames that are still loading are waited for before a page is shown to a model or a person."""
READING_MS = 1_000
"""What is left at least for reading a list when its page has used up the time of the step."""
_FIRST_LOOK_S = 1.0
"""After which predicates are looked at again that have had no time counted yet, because the page was not at rest."""
BLANK = ("about:blank", "chrome://newtab/", "chrome://new-tab-page/", "")
SECRET_LIMIT = 4
"""Shorter secrets are not searched for inside other values: they occur everywhere by chance."""


class ChromiumSession:
    """One attached Chromium; implements `BrowserSession`. One step at a time."""

    def __init__(
        self,
        browser: Browser,
        context: BrowserContext,
        connection: Connection,
        *,
        directory: str = "",
        download_limit_bytes: int = DOWNLOAD_LIMIT_BYTES,
        upload_roots: Sequence[Path] = (),
        custom: Mapping[str, CustomPredicate] | None = None,
    ) -> None:
        self.custom: Mapping[str, CustomPredicate] = custom or {}
        """Conditions of the user's own, by name."""
        self.pulse = Pulse()
        self.counts = Counts()
        self.tabs: list[Tab] = []
        self.tabs_seen: list[Tab] = []
        """Those of `tabs`, and such as were closed again since the present step began."""
        self.recorder: Recorder | None = None
        """Collects evidence from the moment of an input on; None between steps."""
        self._last: StepRun | None = None
        """The latest step: what comes late of it is its evidence, too, until the next one begins."""
        self._latecomers = Latecomers()
        self.journal = Journal()
        self.troubles: asking.Troubles | None = None
        """While the site is asked: what goes wrong in its tab."""
        self.attempt: Attempt | None = None
        self.dialogs = Dialogs(self)
        self.downloads = Downloads(self, directory, download_limit_bytes)
        self.copies = Copies(directory)
        """What pages are given of files to upload."""
        self.upload_roots = upload_roots
        """Folders that files may be uploaded from."""
        self.guard = StepGuard()
        """The part of a policy that this session keeps to; the latest step's, also between steps."""
        self.popups_opened = 0
        """Tabs that have opened since the latest step began."""
        self.last_evidence = Evidence()
        self.typed: list[str] = []
        """Secrets that were typed: fields that show them are not read back. In memory only."""
        self._browser = browser
        self._context = context
        self.wire = Wire(connection, "", self._hear, self.counts)
        """To the browser itself."""
        self._current: Tab | None = None
        self._openers: dict[Tab, Tab] = {}
        self._opening: set[asyncio.Task[None]] = set()
        self._detached = False
        self._reading: asyncio.Future[None] | None = None
        # From here on, so that attempts of a worker that was killed cannot be taken for ours.
        self._token = secrets.randbelow(2**40) + 1

    # ------------------------------------------------------------------------------------------------ tabs

    async def open(self) -> None:
        """Attach to all tabs there are.

        Raises:
            SessionLost: no page answers.
        """
        self._browser.on("disconnected", lambda _: self.pulse.beat())
        self._context.on("dialog", self.dialogs.answer)
        self._context.on("page", self._on_page)
        pages = self._context.pages or [await self._context.new_page()]
        for page in pages:
            if not any(tab.page is page for tab in self.tabs):
                await self._attach(page)
        shown = [tab for tab in self.tabs if tab.url not in BLANK]
        if not self.tabs:
            raise SessionLost("no page of the browser answers")
        self._current = (shown or self.tabs)[0]
        await self.downloads.open()

    async def _attach(self, page: Page) -> None:
        tab = Tab(page, self.wire, self.pulse, self, self.counts)
        try:
            async with asyncio.timeout(TAB_TIMEOUT_S):
                await tab.open()
        except (WireFailed, PlaywrightError, TimeoutError):
            return  # closed again, or it hangs: a tab that cannot be spoken to is as good as none
        if not any(known.page is page for known in self.tabs):
            self.tabs.append(tab)
            self.tabs_seen.append(tab)

    def _on_page(self, page: Page) -> None:
        task = asyncio.create_task(self._take_popup(page))
        self._opening.add(task)
        task.add_done_callback(self._opened)

    def _opened(self, task: asyncio.Task[None]) -> None:
        self._opening.discard(task)
        self.pulse.beat()

    async def _take_popup(self, page: Page) -> None:
        recorder, opener = self.recorder, self._current
        self.popups_opened += 1
        if self.guard.popups is not None and self.popups_opened > self.guard.popups.value:
            if recorder is not None:
                recorder.popup("")
            with contextlib.suppress(PlaywrightError):  # it was gone already
                await page.close()
            return
        await self._attach(page)
        tab = next((tab for tab in self.tabs if tab.page is page), None)
        if tab is None or opener is None:
            if recorder is not None:
                recorder.popup("")
            return
        self._openers[tab] = opener
        if recorder is not None and recorder is self.recorder:
            recorder.popup(tab.main.id)
            self._current = tab
        self.pulse.beat()

    @property
    def opening(self) -> bool:
        """Whether a new tab is just being attached."""
        return bool(self._opening)

    @property
    def current(self) -> Tab:
        """The tab that steps act in. When it was closed: the one that opened it, else the first.

        Raises:
            SessionLost: the browser or its last page is gone.
        """
        self.require_alive()
        assert self._current is not None
        while self._current.closed:
            gone = self._current
            self.tabs = [tab for tab in self.tabs if not tab.closed]
            if not self.tabs:
                raise SessionLost("the last page of the browser was closed")
            opener = self._openers.get(gone)
            self._current = opener if opener in self.tabs else self.tabs[0]
        if self._current.crashed:
            raise SessionLost(f"the page at {self._current.url[:200]!r} crashed")
        if self._current.unattended:
            raise SessionLost("Playwright's driver, which attends to the page's dialogs and tabs, has ended")
        return self._current

    def make_current(self, tab: Tab) -> None:
        """Let the next steps act in `tab`."""
        self._current = tab

    async def new_window(self) -> str:
        """Open an empty tab in a window of its own, so that no page is hidden by it; the number of its top frame.

        Raises:
            SessionLost: the browser is gone.
        """
        try:
            made = await self.wire.send("Target.createTarget", {"url": "about:blank", "newWindow": True})
        except WireFailed as exc:
            self.require_alive()
            raise SessionLost(f"the browser opens no tab: {exc.message}") from None
        number: str = made["targetId"]
        return number

    def forget_closed(self) -> None:
        """Take note that tabs were closed that no step has to know of."""
        self.tabs = [tab for tab in self.tabs if not tab.closed]
        self.tabs_seen = [tab for tab in self.tabs_seen if not tab.closed]

    def opener_of(self, tab: Tab) -> Tab | None:
        """The tab that opened `tab`, while it is there."""
        opener = self._openers.get(tab)
        return opener if opener in self.tabs else None

    def require_alive(self) -> None:
        """Raise `SessionLost` when the browser is gone."""
        if self._detached:
            raise SessionLost("this session was let go of")
        if not (self.wire.connection.is_open and self._browser.is_connected()):
            raise SessionLost("the connection to the browser is closed")

    def next_token(self) -> int:
        """An attempt's number, never used before."""
        self._token += 1
        return self._token

    # --------------------------------------------------------------------------------------------- hearing

    def _hear(self, _wire: Wire, method: str, params: Mapping[str, Any]) -> None:
        """The browser itself says something."""
        self.downloads.hear(method, params)
        self.pulse.beat()

    def message(self, frame: Frame, message: Mapping[str, Any]) -> None:
        """The page agent said something on behalf of an attempt."""
        if self.attempt is not None and message["attempt"] == self.attempt.token:
            self.attempt.take(frame, message)

    def event(self, tab: Tab, method: str, params: Mapping[str, Any]) -> None:
        """Any event of the protocol; what other tabs do meanwhile is not the step's doing."""
        self.journal.hear(method, params)
        self.downloads.hear_answer(method, params)
        if self.troubles is not None:
            self.troubles.hear(tab, method, params)
        recorder = self.recorder or self._late
        if recorder is not None and tab.main.id in (recorder.top_id, *recorder.popups):
            recorder.hear(tab.traffic, method, params)
        if self.recorder is None or self._last is None or not self._last.is_press:
            self._latecomers.hear(tab, method, params, beside=recorder)

    @property
    def _late(self) -> Recorder | None:
        """What collects the evidence of a step that has ended."""
        return None if self._last is None else self._last.recorder

    def is_of_step(self, page: Page | None) -> bool:
        """Whether what `page` does now is the present step's doing: its own tab, and those it opened."""
        tab = next((tab for tab in self.tabs if tab.page is page), None)
        return tab is None or self._acts(tab)

    def is_frame_of_step(self, frame_id: str) -> bool:
        """The same by frame; one that is in no tab belongs to a tab that is just being opened."""
        tab = next((tab for tab in self.tabs if frame_id in tab.frames), None)
        return tab is None or self._acts(tab)

    def _acts(self, tab: Tab) -> bool:
        return self.recorder is not None and tab.main.id in (self.recorder.top_id, *self.recorder.popups)

    def hear_popups(self, recorder: Recorder) -> None:
        """Have the recorder told what new tabs send before they can be spoken to."""
        if not recorder.hears_popups:
            recorder.hears_popups = True
            self._context.on("request", self._on_request)

    def _on_request(self, request: Request) -> None:
        recorder = self.recorder or self._late
        if recorder is None or request.method.upper() in SAFE_METHODS:
            return
        by_worker = request.service_worker is not None
        try:
            page = None if by_worker else request.frame.page
        except PlaywrightError:  # of a tab that is not there yet
            page = None
        if not any(tab.page is page for tab in self.tabs):
            recorder.sent_elsewhere(request.method.upper(), request.url, by_worker=by_worker)

    # ----------------------------------------------------------------------------------------- the port

    @property
    def url(self) -> str:
        """URL of the current tab."""
        return self.current.url

    @property
    def wanted_url(self) -> str:
        """See `BrowserSession.wanted_url`."""
        return self.current.main.unreachable or self.current.url

    async def perform(self, work: Work, before_dispatch: BeforeDispatch | None = None) -> Report:
        """See `BrowserSession.perform`."""
        if isinstance(work.step, ForEach):
            work = await self._with_its_list(work)
        entered = (work.text, work.dialog_text or "") if work.sensitive else ()
        self.typed += [text for text in entered if len(text) >= SECRET_LIMIT and text not in self.typed]
        self.dialogs.declare(work)
        if work.guard is not None:
            self.guard, self.popups_opened = work.guard, 0
        self.tabs_seen = [tab for tab in self.tabs if not tab.closed]
        if (late := self._late) is not None and late.hears_popups:
            self._context.remove_listener("request", self._on_request)
        self._last = run = StepRun(self, work, before_dispatch)
        try:
            return await run.perform()
        except WireFailed as exc:
            _ = self.current  # the browser or its last page may be gone, and that is why
            reason = "timeout" if exc.timed_out else "detached"
            raise ActionFailed(reason, str(exc), dispatched=run.dispatched) from None
        except ActionFailed:
            _ = self.current  # the browser or its last page may be gone, and that is why
            raise
        finally:
            self.last_evidence = run.evidence()
            if run.is_press and run.recorder is not None:
                self._latecomers.add(work.fingerprint, run.recorder, run.given_at)
            self.recorder = None
            self.attempt = None

    async def late(self, enough: Callable[[Evidence], bool], timeout_ms: int) -> Evidence:
        """See `BrowserSession.late`."""
        assert self._last is not None
        run = self._last
        await self.until(lambda: enough(run.evidence()), timeout_ms / 1000)
        return run.evidence()

    def pressed(self) -> Mapping[str, Pressed]:
        """See `BrowserSession.pressed`."""
        return self._latecomers.pressed()

    async def idle(self, seconds: float) -> None:
        """See `BrowserSession.idle`."""
        await self.until(lambda: False, seconds)
        _ = self.current

    async def look_again(self, report: Report, timeout_ms: int) -> Report:
        """See `BrowserSession.look_again`."""
        assert self._last is not None
        try:
            return await self._last.look_again(report, timeout_ms / 1000)
        except WireFailed as exc:
            _ = self.current  # the browser or its last page may be gone, and that is why
            raise ActionFailed("detached", str(exc), dispatched=True) from None

    async def come_back(self, url: str, timeout_ms: int) -> bool:
        """See `BrowserSession.come_back`."""
        page = self.current.page
        try:
            await page.goto(url, wait_until="domcontentloaded", timeout=timeout_ms)
        except PlaywrightError:  # gone, or it does not load: the next step says so
            _ = self.current
            return False
        return True

    async def leave(self, timeout_ms: int) -> bool:
        """See `BrowserSession.leave`."""
        self.require_alive()
        self.dialogs.leaving = True
        deadline = Deadline(timeout_ms / 1000)
        try:
            return all([await self._leaves(tab, deadline) for tab in self.tabs])
        except WireFailed:
            return False
        finally:
            self.dialogs.leaving = False

    async def _leaves(self, tab: Tab, deadline: Deadline) -> bool:
        """Have a page leave by itself: so the empty one comes into its own process, after what it sends as it is left.

        Navigated from outside, it would be told of its end at some later time.
        """
        if not tab.closed and tab.url not in BLANK:
            leaving = {"expression": f"location.replace({BLANK[0]!r})"}
            await tab.wire.send("Runtime.evaluate", leaving, timeout_s=deadline.left())
        return await self.until(lambda: tab.closed or tab.url in BLANK, deadline.left())

    @property
    def unanswered(self) -> tuple[UnsafeRequest, ...]:
        """See `BrowserSession.unanswered`."""
        return () if self.recorder is None else self.recorder.unanswered

    async def _with_its_list(self, work: Work) -> Work:
        """The work that is left when the list is there: what is expected of it holds before its items are read."""
        begun = time.monotonic()
        if work.expect:
            await self.check(work.expect, work.timeout_ms)
        left_ms = work.timeout_ms - int(1000 * (time.monotonic() - begun))
        return replace(work, timeout_ms=max(left_ms, READING_MS))

    async def release(self, downloads: Sequence[Download]) -> None:
        """See `BrowserSession.release`."""
        self.downloads.release(downloads)

    async def check(self, expect: Sequence[Predicate], timeout_ms: int) -> tuple[PredicateResult, ...]:
        """See `BrowserSession.check`."""
        expectation = Expectation.of(expect, self.next_token(), self.typed, self.custom)
        self.attempt = expectation.attempt
        try:
            return await self.verified(expectation, Deadline(timeout_ms / 1000), patient=True)
        finally:
            self.attempt = None

    async def ask_site(self, works: Sequence[Work], expect: Sequence[Predicate]) -> SiteAnswer:
        """See `BrowserSession.ask_site`."""
        return await asking.ask(self, works, expect)

    async def due(self, rules: Sequence[OverrideRule]) -> tuple[OverrideRule, ...]:
        """See `BrowserSession.due`."""
        return await overrides.due(self.current, rules) if rules else ()

    async def verified(
        self, expectation: Expectation, deadline: Deadline, *, since: float | None = None, patient: bool = False
    ) -> tuple[PredicateResult, ...]:
        """Wait until all predicates hold in the current tab, or have had their time; the last verdicts.

        `since` is when the input was given (monotonic seconds), None without one: requests that began then are waited
        for. `patient` gives predicates that name no time of their own all that is left.
        """
        verdicts: tuple[PredicateResult, ...] = ()
        eventually = Eventually(expectation.predicates, time.monotonic(), patient=patient)

        def resting(tab: Tab) -> bool:
            waits = since is not None and any(each.traffic.busy(since=since) for each in self.tabs)
            told = expectation.context(tab) is not None
            return told and tab.main.loaded and not (tab.main.loading or waits or self.opening)

        def ends() -> bool:
            nonlocal verdicts
            tab = self.current
            if expectation.attempt.failed:
                raise ActionFailed("agent_failed", expectation.attempt.failed, dispatched=since is not None)
            expectation.ask(tab)
            verdicts = expectation.verdicts(tab, self._seen())
            rests = resting(tab)
            eventually.tick(time.monotonic(), resting=rests)
            if tab.main.loading:
                return False
            return all(verdict.passed for verdict in verdicts) or (rests and eventually.is_over(verdicts))

        # A frame that never answers sends no event either: look once more when it has been silent for long enough.
        again = asyncio.get_running_loop().call_later(SILENCE_S + 0.05, self.pulse.beat)
        try:
            ended = ends()
            while not (ended or deadline.passed):
                ended = await self.until(ends, deadline.left(eventually.left(verdicts) or _FIRST_LOOK_S))
        finally:
            again.cancel()
        return verdicts

    def _seen(self) -> dict[str, Any]:
        """What belongs to the context of a step's expectation beside the page."""
        if self.recorder is None:
            return {}
        return {
            "responses": tuple(self.recorder.responses),
            "dialogs": tuple(self.recorder.dialogs),
            "downloads": self.downloads.complete(self.recorder),
        }

    async def until(self, condition: Callable[[], bool], timeout_s: float) -> bool:
        """Wait for `condition`; ends at once with `SessionLost` when the browser or its last page is gone."""

        def alive_and_holds() -> bool:
            _ = self.current
            return condition()

        return await self.pulse.until(alive_and_holds, timeout_s)

    async def snapshot(self) -> Snapshot:
        """See `BrowserSession.snapshot`."""
        await self._until_frames_are_there()
        return await self._read(lambda tab: snapshots.take(tab, self.typed))

    async def look(self, wanted: Callable[[Snapshot], Sequence[str]], redact: Callable[[str], str]) -> Look:
        """See `BrowserSession.look`."""
        await self._until_frames_are_there()
        return await self._read(lambda tab: marks.look(tab, self.typed, wanted, redact))

    async def _until_frames_are_there(self) -> None:
        """A step ends when its page can be used; frames in it may still be on their way."""
        await self.until(lambda: not self.current.frames_load, FRAMES_S)

    async def _read(self, read: Callable[[Tab], Awaitable[_Reading]]) -> _Reading:
        await self.until(lambda: bool(self.current.main.context), snapshots.FRAME_TIMEOUT_S)
        try:
            return await read(self.current)
        except WireFailed as exc:
            tab = self.current
            await self.until(lambda: tab.main.loaded and bool(tab.main.context), snapshots.FRAME_TIMEOUT_S)
            try:  # a new document came in between
                return await read(tab)
            except WireFailed:
                self.require_alive()
                raise ActionFailed("timeout", f"the page could not be read: {exc}", dispatched=False) from None

    async def picture(self, redact: Callable[[str], str]) -> Shown:
        """See `BrowserSession.picture`."""
        return await capture.shown(self.current, self.typed, redact)

    async def capture(self, redact: Callable[[str], str]) -> Capture:
        """See `BrowserSession.capture`."""
        return await capture.take(self.current, self.journal, self.typed, redact)

    @property
    def document(self) -> str:
        """See `BrowserSession.document`."""
        return f"{self.current.main.id}/{self.current.main.loader}"

    async def outline(self) -> Outline:
        """See `BrowserSession.outline`."""
        return await self._read(lambda tab: storage.outline(tab, self.typed))

    async def state(self) -> tuple[PageState, Outline]:
        """See `BrowserSession.state`."""
        self._reading = reading = asyncio.get_running_loop().create_future()
        try:
            return await self._state()
        finally:
            reading.set_result(None)

    async def left_alone(self) -> None:
        """Wait until what `state` reads is read: what is given to the page from now on would show in it."""
        if self._reading is not None:
            await asyncio.wait({self._reading})

    @property
    def is_read(self) -> bool:
        """Whether `state` is reading the page."""
        return self._reading is not None and not self._reading.done()

    async def _state(self) -> tuple[PageState, Outline]:
        tab = self.current
        try:
            await self.until(lambda: bool(tab.main.context), storage.TAKE_S)
            open_tabs = [known for known in self.tabs if not known.closed]
            return await storage.take(tab, self.typed, tabs=len(open_tabs))
        except (PlaywrightError, WireFailed) as exc:
            self.require_alive()
            said = f"cookies and storage could not be read: {exc}"
            raise ActionFailed("timeout", said[:300], dispatched=False) from None

    async def restore(self, state: PageState) -> None:
        """See `BrowserSession.restore`."""
        self.require_alive()
        self.dialogs.leaving = True
        try:
            async with asyncio.timeout(storage.RESTORE_S):
                await storage.restore(self.current.page, state)
            await self.current.wire.send("Page.enable")  # all that the page told on the way comes before the answer
        except (PlaywrightError, WireFailed, TimeoutError):
            self.require_alive()
            said = f"cookies and storage could not be put back at {state.url[:200]!r}"
            raise ActionFailed("navigation_failed", said, dispatched=True) from None
        finally:
            self.dialogs.leaving = False

    async def detach(self) -> None:
        """See `BrowserSession.detach`."""
        if self._detached:
            return
        self._detached = True
        for task in tuple(self._opening):
            task.cancel()
        for tab in self.tabs:
            tab.detach()
        self.wire.close()
        self.wire.connection.close()
        self.copies.close()
        try:
            async with asyncio.timeout(5):
                await self._browser.close()  # of a browser attached over CDP: only the connection
        except (PlaywrightError, TimeoutError):
            return
