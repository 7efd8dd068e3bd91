"""The Chromium implementation of the `BrowserSession` port."""

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from playwright.async_api import Browser, BrowserContext
from playwright.async_api import Error as PlaywrightError

from replaywright.browser.devtools.cdp import BrowserConnection, CdpFailed
from replaywright.browser.devtools.channel import Tab
from replaywright.browser.devtools.dialogs import DialogHandler
from replaywright.browser.devtools.downloads import DOWNLOAD_LIMIT_BYTES, DownloadTracker
from replaywright.browser.devtools.evidence import without_query
from replaywright.browser.devtools.journal import Journal
from replaywright.browser.devtools.passkeys import Authenticator
from replaywright.browser.devtools.sockets import OpenSockets
from replaywright.browser.devtools.waiting import Deadline
from replaywright.browser.input.debounce import Debounces
from replaywright.browser.input.unsent import UnsentEntries
from replaywright.browser.input.uploads import Copies
from replaywright.browser.reading import capture, marks, snapshots, storage
from replaywright.browser.step import asking, overrides
from replaywright.browser.step.environment import StepEnvironment
from replaywright.browser.step.late_requests import LateRequests
from replaywright.browser.step.perform import StepRun
from replaywright.browser.tabs import BLANK, Tabs
from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.page.outlines import Outline
from replaywright.domain.page.snapshots import Snapshot
from replaywright.domain.predicate.evaluation import CustomPredicate
from replaywright.domain.predicate.predicates import Predicate
from replaywright.domain.proof.carrying import Sought
from replaywright.domain.proof.proof import is_input
from replaywright.domain.requests.exchanges import Exchange
from replaywright.domain.session.guard import StepGuard
from replaywright.domain.site_session.passkeys import Passkey
from replaywright.domain.step.checkpoints import PageState
from replaywright.domain.step.outcomes import Evidence, UnsafeRequest
from replaywright.domain.step.overrides import OverrideRule
from replaywright.domain.task.steps import ForEach
from replaywright.errors import ActionFailed
from replaywright.ports.browser import (
    BeforeDispatch,
    Capture,
    Download,
    Look,
    OnFound,
    Pressed,
    Report,
    Shown,
    SiteAnswer,
    Work,
)

_Reading = TypeVar("_Reading")
_STATUS = "performance.getEntriesByType('navigation')[0]?.responseStatus ?? 0"
_STATUS_S = 2.0
"""Limit for a page to tell the status that its document came with."""

FRAMES_S = 1.0
"""Wait for loading frames before a page is shown to a model or a person."""
BODIES_S = 1.0
"""Wait for bodies of responses that are being read."""
READING_MS = 1_000
"""Least time for reading a list after its page has used up the time of the step."""
SECRET_LIMIT = 4
"""Shorter secrets are not searched for inside other values: they occur everywhere by chance."""


class ChromiumSession:
    """One attached Chromium; implements `BrowserSession`. One step at a time."""

    def __init__(
        self,
        browser: Browser,
        context: BrowserContext,
        connection: BrowserConnection,
        *,
        directory: str = "",
        download_limit_bytes: int = DOWNLOAD_LIMIT_BYTES,
        upload_roots: Callable[[], Sequence[Path]] = tuple,
        custom: Mapping[str, CustomPredicate] | None = None,
        on_found: OnFound | None = None,
    ) -> None:
        self.tabs = tabs = Tabs(browser, context, connection, directory=directory)
        self.environment = StepEnvironment(
            tabs=tabs,
            dialogs=DialogHandler(tabs),
            downloads=DownloadTracker(tabs, directory, download_limit_bytes),
            copies=Copies(directory),
            debounces=Debounces(),
            unsent=UnsentEntries(directory),
            upload_roots=upload_roots,
            custom=custom or {},
            first_token=secrets.randbelow(2**40) + 1,
            on_found=on_found,
        )
        self.last_evidence = Evidence()
        self._context = context
        self._last: StepRun | None = None
        """The latest step, for evidence that comes late."""
        self._late_requests = LateRequests()
        self._authenticator: Authenticator | None = None
        self._journal = Journal()
        self._sockets = OpenSockets(directory)
        environment = self.environment
        tabs.listeners += [self._on_event, environment.downloads.on_event, self._sockets.on_event]
        tabs.listeners.append(environment.unsent.on_event)

    async def open(self) -> None:
        """Attach to all open tabs.

        Raises:
            SessionLost: no page answers.
        """
        self._context.on("dialog", self.environment.dialogs.answer)
        await self.tabs.open()
        await asyncio.to_thread(self._sockets.read)
        await asyncio.to_thread(self.environment.unsent.read)
        for tab in self.tabs.attached:
            tab.traffic.earlier_sockets = self._sockets.earlier
        await self.environment.downloads.open()

    def _on_event(self, tab: Tab | None, method: str, params: Mapping[str, Any]) -> None:
        if tab is None:
            return
        self._journal.on_event(method, params)
        if self.tabs.recorder is None or self._last is None or not self._last.is_press:
            self._late_requests.on_event(tab, method, params, beside=self.tabs.last_recorder)

    # ----------------------------------------------------------------------------------------- steps

    @property
    def url(self) -> str:
        """See `BrowserSession.url`."""
        return self.tabs.current.url

    @property
    def wanted_url(self) -> str:
        """See `BrowserSession.wanted_url`."""
        return self.tabs.current.main.unreachable or self.url

    @property
    def open_sockets(self) -> tuple[str, ...]:
        """See `BrowserSession.open_sockets`."""
        seen = (without_query(url) for tab in self.tabs.attached for url in tab.traffic.sockets.values())
        return tuple(dict.fromkeys((*self._sockets.earlier.values(), *seen)))

    @property
    def document(self) -> str:
        """See `BrowserSession.document`."""
        return self.tabs.document

    @property
    def unsent(self) -> Sought:
        """See `BrowserSession.unsent`."""
        return self.environment.unsent.of(self.document)

    @property
    def guard(self) -> StepGuard:
        """The policy of the latest step; it applies between steps, too."""
        return self.tabs.guard

    async def perform(self, work: Work, before_dispatch: BeforeDispatch | None = None) -> Report:
        """See `BrowserSession.perform`."""
        if isinstance(work.step, ForEach):
            work = await self._wait_for_list(work)
        await self.tabs.keep_exchanges(work.records)
        tabs, typed = self.tabs, self.environment.typed
        entered = (work.text, work.dialog_text or "") if work.sensitive else ()
        typed += [text for text in entered if len(text) >= SECRET_LIMIT and text not in typed]
        self.environment.dialogs.declare(work)
        tabs.begin_step(work.guard)
        self._last = run = StepRun(self.environment, work, before_dispatch)
        context = run.context
        try:
            report = await run.perform()
            tabs.hand_over()
            return report
        except CdpFailed as exc:
            _ = tabs.current  # raises if the cause is that the browser or its last page is gone
            reason = "timeout" if exc.timed_out else "detached"
            raise ActionFailed(reason, str(exc), dispatched=context.dispatched) from None
        except ActionFailed:
            _ = tabs.current  # raises if the cause is that the browser or its last page is gone
            raise
        finally:
            self.last_evidence = context.evidence()
            if context.recorder is not None and is_input(work.step):
                self._late_requests.add(work.fingerprint, context.recorder, context.given_at, is_press=run.is_press)
            tabs.recorder = tabs.attempt = None

    async def _wait_for_list(self, work: Work) -> Work:
        """Wait until the expectation of a list holds; return the work with the time that is left."""
        begun = time.monotonic()
        if work.expect:
            await self.check(work.expect, work.timeout_ms)
        left_ms = work.timeout_ms - int(1000 * (time.monotonic() - begun))
        return replace(work, timeout_ms=max(left_ms, READING_MS))

    async def late(self, enough: Callable[[Evidence], bool], timeout_ms: int) -> Evidence:
        """See `BrowserSession.late`."""
        assert self._last is not None
        context = self._last.context
        await self.tabs.until(lambda: enough(context.evidence()), timeout_ms / 1000)
        return context.evidence()

    def pressed(self) -> Mapping[str, Pressed]:
        """See `BrowserSession.pressed`."""
        return self._late_requests.pressed()

    async def idle(self, seconds: float) -> None:
        """See `BrowserSession.idle`."""
        await self.tabs.until(lambda: False, seconds)
        _ = self.tabs.current

    async def look_again(self, report: Report, timeout_ms: int) -> Report:
        """See `BrowserSession.look_again`."""
        assert self._last is not None
        try:
            return await self._last.look_again(report, timeout_ms / 1000)
        except CdpFailed as exc:
            _ = self.tabs.current  # raises if the cause is that the browser or its last page is gone
            raise ActionFailed("detached", str(exc), dispatched=True) from None

    async def come_back(self, url: str, timeout_ms: int) -> bool:
        """See `BrowserSession.come_back`."""
        page = self.tabs.current.page
        try:
            await page.goto(url, wait_until="domcontentloaded", timeout=timeout_ms)
        except PlaywrightError:  # the page is gone or does not load: the next step reports it
            _ = self.tabs.current
            return False
        return True

    async def leave(self, timeout_ms: int) -> bool:
        """See `BrowserSession.leave`."""
        self.tabs.require_alive()
        deadline = Deadline(timeout_ms / 1000)
        with self.environment.dialogs.leaving():
            try:
                return all([await self._leaves(tab, deadline) for tab in self.tabs.attached])
            except CdpFailed:
                return False

    async def _leaves(self, tab: Tab, deadline: Deadline) -> bool:
        """Have a page navigate itself to an empty one: so its process sends what the page keeps for its end first.

        A navigation from outside would end the page at some later time.
        """
        if not tab.closed and tab.url not in BLANK:
            leaving = {"expression": f"location.replace({BLANK[0]!r})"}
            await tab.cdp.send("Runtime.evaluate", leaving, timeout_s=deadline.left())
        return await self.tabs.until(lambda: tab.closed or tab.url in BLANK, deadline.left())

    @property
    def unanswered(self) -> tuple[UnsafeRequest, ...]:
        """See `BrowserSession.unanswered`."""
        return () if self.tabs.recorder is None else self.tabs.recorder.unanswered

    async def release(self, downloads: Sequence[Download]) -> None:
        """See `BrowserSession.release`."""
        self.environment.downloads.release(downloads)

    async def check(self, expect: Sequence[Predicate], timeout_ms: int) -> tuple[PredicateResult, ...]:
        """See `BrowserSession.check`."""
        return await self.environment.evaluate(expect, Deadline(timeout_ms / 1000), patient=True)

    async def ask_site(self, works: Sequence[Work], expect: Sequence[Predicate]) -> SiteAnswer:
        """See `BrowserSession.ask_site`."""
        exchanges = self.tabs.exchanges
        step = exchanges.step
        try:
            return await asking.ask(self.environment, self.perform, works, expect)
        finally:
            exchanges.step = step

    async def due(self, rules: Sequence[OverrideRule]) -> tuple[OverrideRule, ...]:
        """See `BrowserSession.due`."""
        return await overrides.due(self.tabs.current, rules) if rules else ()

    # --------------------------------------------------------------------------------------- reading

    async def snapshot(self) -> Snapshot:
        """See `BrowserSession.snapshot`."""
        await self._wait_for_frames()
        return await self._read(lambda tab: snapshots.take(tab, self.environment.typed))

    async def look(self, wanted: Callable[[Snapshot], Sequence[str]], redact: Callable[[str], str]) -> Look:
        """See `BrowserSession.look`."""
        await self._wait_for_frames()
        return await self._read(lambda tab: marks.look(tab, self.environment.typed, wanted, redact))

    async def _wait_for_frames(self) -> None:
        """Wait for loading frames: a step ends as soon as its page can be used."""
        await self.tabs.until(lambda: not self.tabs.current.frames_load, FRAMES_S)

    async def _read(self, read: Callable[[Tab], Awaitable[_Reading]]) -> _Reading:
        tabs = self.tabs
        await tabs.until(lambda: bool(tabs.current.main.context), snapshots.FRAME_TIMEOUT_S)
        try:
            return await read(tabs.current)
        except CdpFailed as exc:
            tab = tabs.current
            await tabs.until(lambda: tab.main.loaded and bool(tab.main.context), snapshots.FRAME_TIMEOUT_S)
            try:  # a new document came in between
                return await read(tab)
            except CdpFailed:
                tabs.require_alive()
                raise ActionFailed("timeout", f"the page could not be read: {exc}", dispatched=False) from None

    async def picture(self, redact: Callable[[str], str]) -> Shown:
        """See `BrowserSession.picture`."""
        environment = self.environment
        try:
            return await capture.shown(self.tabs.current, environment.typed, redact, environment.show)
        finally:
            environment.is_shown = False

    async def capture(self, redact: Callable[[str], str]) -> Capture:
        """See `BrowserSession.capture`."""
        return await capture.take(self.tabs.current, self._journal, self.environment.typed, redact)

    async def page_fault(self) -> str:
        """See `BrowserSession.page_fault`."""
        tab = self.tabs.current
        if tab.main.unreachable:
            return "navigation_failed"
        try:
            status = int(await tab.call(tab.main, _STATUS, timeout_s=_STATUS_S))
        except CdpFailed:
            self.tabs.require_alive()
            return ""  # it is busy: something is there
        return f"http_{status}" if status >= 400 else ""

    async def outline(self) -> Outline:
        """See `BrowserSession.outline`."""
        return await self._read(lambda tab: storage.outline(tab, self.environment.typed))

    async def state(self) -> tuple[PageState, Outline]:
        """See `BrowserSession.state`."""
        async with self.environment.reading():
            tab = self.tabs.current
            try:
                await self.tabs.until(lambda: bool(tab.main.context), storage.TAKE_S)
                return await storage.take(tab, self.environment.typed, tabs=len(self.tabs.open_tabs))
            except (PlaywrightError, CdpFailed) as exc:
                self.tabs.require_alive()
                message = f"cookies and storage could not be read: {exc}"
                raise ActionFailed("timeout", message[:300], dispatched=False) from None

    async def put_storage(self, state: PageState) -> None:
        """See `BrowserSession.put_storage`."""
        self.tabs.require_alive()
        try:
            await storage.put(self.tabs.current, state)
        except (PlaywrightError, TimeoutError):
            self.tabs.require_alive()
            message = "cookies and storage could not be put back"
            raise ActionFailed("timeout", message, dispatched=False) from None

    async def exchanges(self) -> tuple[Exchange, ...]:
        """See `BrowserSession.exchanges`."""
        return await self.tabs.recorded(BODIES_S)

    async def put_passkeys(self, passkeys: Sequence[Passkey]) -> None:
        """See `BrowserSession.put_passkeys`."""
        self.tabs.require_alive()
        if self._authenticator is not None:  # an earlier try of the same
            return
        authenticator = Authenticator(passkeys)
        try:
            for tab in self.tabs.open_tabs:
                await authenticator.add_to(tab)
        except CdpFailed as exc:
            self.tabs.require_alive()
            raise ActionFailed("unsupported", f"the browser takes no passkeys: {exc}", dispatched=False) from None
        self._authenticator = authenticator
        self.tabs.listeners.append(authenticator.on_event)
        self.tabs.on_attached = authenticator.add_to

    @property
    def passkeys(self) -> tuple[Passkey, ...] | None:
        """See `BrowserSession.passkeys`."""
        return None if self._authenticator is None else self._authenticator.passkeys

    async def restore(self, state: PageState) -> None:
        """See `BrowserSession.restore`."""
        self.tabs.require_alive()
        with self.environment.dialogs.leaving():
            try:
                await storage.restore(self.tabs.current, state)
            except (PlaywrightError, CdpFailed, TimeoutError):
                self.tabs.require_alive()
                message = f"cookies and storage could not be put back at {state.url[:200]!r}"
                raise ActionFailed("navigation_failed", message, dispatched=True) from None

    async def detach(self) -> None:
        """See `BrowserSession.detach`."""
        await self.tabs.detach()
        await self.environment.unsent.written()
        self.environment.copies.close()
