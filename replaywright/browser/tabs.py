"""The tabs of one attached browser: which are open, which one steps act in, and the events they send."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, TypeAlias

from playwright.async_api import Browser, BrowserContext, Page, Request
from playwright.async_api import Error as PlaywrightError

from replaywright.browser.devtools.cdp import BrowserConnection, CdpFailed, CdpSession, EvaluationCounter
from replaywright.browser.devtools.channel import Frame, Tab
from replaywright.browser.devtools.evidence import Recorder, without_query
from replaywright.browser.devtools.exchanges import Exchanges
from replaywright.browser.devtools.first_requests import FirstRequests
from replaywright.browser.devtools.handover import Handover
from replaywright.browser.devtools.waiting import Pulse
from replaywright.browser.step.attempt import PageAttempt
from replaywright.domain.page.observed import SAFE_METHODS
from replaywright.domain.requests.exchanges import Exchange
from replaywright.domain.session.guard import StepGuard
from replaywright.errors import SessionLost

TAB_TIMEOUT_S = 10.0
_CURRENT, _BORROWED = "current", "borrowed"
"""Of what is handed over: the id of a tab's top frame."""
BLANK = ("about:blank", "chrome://newtab/", "chrome://new-tab-page/", "")

Listener: TypeAlias = "Callable[[Tab | None, str, Mapping[str, Any]], None]"
"""Receives protocol events: tab, method, parameters. The tab is None for events of the browser itself."""


USUAL_KEPT = 200
"""Kinds of requests that are remembered."""


class Tabs:
    """The open tabs of one browser. Routes their events to listeners and to the recorder of the latest step."""

    def __init__(
        self,
        browser: Browser,
        context: BrowserContext,
        connection: BrowserConnection,
        *,
        directory: str = "",
        scripts: tuple[str, ...] = (),
    ) -> None:
        """Take `directory`: the session's, in which the next attachment finds which tab steps act in."""
        self.pulse = Pulse()
        self.counts = EvaluationCounter()
        self.exchanges = Exchanges(self.pulse)
        self._first_requests = FirstRequests(self.exchanges)
        self.cdp = CdpSession(connection, "", self._on_browser_event, self.counts)
        """CDP session of the browser itself."""
        self.listeners: list[Listener] = []
        self.attached: list[Tab] = []
        """All tabs, except those that were removed after they closed."""
        self.seen: list[Tab] = []
        """`attached`, and the tabs that closed since the present step began."""
        self.attempt: PageAttempt | None = None
        """The attempt that receives the page agent's messages."""
        self.recorder: Recorder | None = None
        """Collects evidence from the moment of an input on; None between steps."""
        self.last_recorder: Recorder | None = None
        """The same, kept until the next step begins: late events belong to the step before."""
        self.usual: set[str] = set()
        """Method and address of requests by now that may change something."""
        self.guard = StepGuard()
        """The policy of the latest step; it applies between steps, too."""
        self.on_person: Callable[[Frame, Mapping[str, Any]], None] | None = None
        """Receives what a script beside the agent tells of a person."""
        self.on_attached: Callable[[Tab], Awaitable[None]] | None = None
        """Called with each tab that was attached."""
        self._scripts = scripts
        self._popups_opened = 0
        """Number of tabs that have opened since the latest step began."""
        self._browser = browser
        self._context = context
        self._current: Tab | None = None
        self._borrowed: Tab | None = None
        """The tab in which the site is asked, beside the one that steps act in."""
        self._handover = Handover(directory, "tabs.json")
        self._openers: dict[Tab, Tab] = {}
        self._opening: set[asyncio.Task[None]] = set()
        self._detached = False

    # ------------------------------------------------------------------------------------------ attaching

    async def open(self) -> None:
        """Attach to all open tabs; the steps go on in the one that an earlier attachment says.

        Raises:
            SessionLost: no page answers.
        """
        told = await asyncio.to_thread(self._handover.read)
        self._browser.on("disconnected", lambda _: self.pulse.beat())
        self._context.on("page", self._on_page)
        pages = self._context.pages or [await self._context.new_page()]
        for page in pages:
            if self._tab_of(page) is None:
                await self._attach(page)
        await self._close_borrowed(told.get(_BORROWED))
        if not self.attached:
            raise SessionLost("no page of the browser answers")
        known = (tab for tab in self.attached if tab.main.id == told.get(_CURRENT))
        shown = (tab for tab in self.attached if tab.url not in BLANK)
        self._current = next(known, None) or next(shown, self.attached[0])

    async def _close_borrowed(self, frame_id: object) -> None:
        """Close the tab in which a worker that was lost was asking the site."""
        for tab in [tab for tab in self.attached if tab.main.id == frame_id]:
            with contextlib.suppress(PlaywrightError, TimeoutError):
                async with asyncio.timeout(TAB_TIMEOUT_S):
                    await tab.page.close()
            tab.detach()
            self.attached.remove(tab)
            self.seen.remove(tab)

    async def _attach(self, page: Page) -> None:
        tab = Tab(page, self.cdp, self.pulse, self, self.counts, self.exchanges, self._scripts)
        try:
            async with asyncio.timeout(TAB_TIMEOUT_S):
                await tab.open()
                if self.on_attached is not None:
                    await self.on_attached(tab)
        except (CdpFailed, PlaywrightError, TimeoutError):
            return  # the tab closed or hangs: it cannot be used
        if self._tab_of(page) is None:
            tab.is_attached = True
            self.attached.append(tab)
            self.seen.append(tab)

    def _tab_of(self, page: Page | None) -> Tab | None:
        return next((tab for tab in self.attached if tab.page is page), None)

    def _on_page(self, page: Page) -> None:
        task = asyncio.create_task(self._take_popup(page))
        self._opening.add(task)
        task.add_done_callback(self._on_popup_taken)

    def _on_popup_taken(self, task: asyncio.Task[None]) -> None:
        self._opening.discard(task)
        self.pulse.beat()

    async def _take_popup(self, page: Page) -> None:
        recorder, opener = self.recorder, self._current
        self._popups_opened += 1
        if self.guard.popups is not None and self._popups_opened > self.guard.popups.value:
            if recorder is not None:
                recorder.popup("")
            with contextlib.suppress(PlaywrightError):  # it is closed already
                await page.close()
            return
        await self._attach(page)
        tab = self._tab_of(page)
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
    def is_opening(self) -> bool:
        """Return whether a new tab is being attached."""
        return bool(self._opening)

    @property
    def open_tabs(self) -> list[Tab]:
        """Return the tabs that are not closed."""
        return [tab for tab in self.attached if not tab.closed]

    @property
    def current(self) -> Tab:
        """Return the tab that steps act in. After it closed: its opener, else the first tab.

        Raises:
            SessionLost: the browser or its last page is gone.
        """
        self.require_alive()
        assert self._current is not None
        while self._current.closed:
            opener = self._openers.get(self._current)
            self.attached = self.open_tabs
            if not self.attached:
                raise SessionLost("the last page of the browser was closed")
            self._current = opener if opener in self.attached else self.attached[0]
        if self._current.crashed:
            raise SessionLost(f"the page at {self._current.url[:200]!r} crashed")
        if self._current.unattended:
            raise SessionLost("Playwright's driver, which handles the page's dialogs and tabs, has ended")
        return self._current

    @property
    def document(self) -> str:
        """Return an identifier of the current tab's document; see `BrowserSession.document`."""
        return f"{self.current.main.id}/{self.current.main.loader}"

    def opener_of(self, tab: Tab) -> Tab | None:
        """Return the tab in which a step opened `tab`; None for any other."""
        return self._openers.get(tab)

    def make_current(self, tab: Tab) -> None:
        """Let the next steps act in `tab`."""
        self._current = tab
        self.hand_over()

    def hand_over(self) -> None:
        """Have the next attachment go on in the current tab.

        That is so when a step has ended: one that is lost on the way is done again in the tab that it began in.
        """
        if self._borrowed is None and self._current is not None:
            self._handover.write({_CURRENT: self._current.main.id})

    @contextlib.contextmanager
    def borrowing(self, tab: Tab) -> Iterator[None]:
        """Act in `tab` until the block ends, and then again in the one before; a later attachment closes `tab`."""
        before, self._borrowed, self._current = self.current, tab, tab
        self._handover.write({_CURRENT: before.main.id, _BORROWED: tab.main.id})
        try:
            yield
        finally:
            self._borrowed, self._current = None, before

    async def new_window(self) -> str:
        """Open an empty tab in a new window, so that it hides no other page; return the id of its top frame.

        Raises:
            SessionLost: the browser is gone.
        """
        try:
            made = await self.cdp.send("Target.createTarget", {"url": "about:blank", "newWindow": True})
        except CdpFailed as exc:
            self.require_alive()
            raise SessionLost(f"the browser opens no tab: {exc.message}") from None
        frame_id: str = made["targetId"]
        return frame_id

    def forget_closed(self) -> None:
        """Drop closed tabs, so that no step reports them."""
        self.attached = self.open_tabs
        self.seen = [tab for tab in self.seen if not tab.closed]

    def require_alive(self) -> None:
        """Raise `SessionLost` when the browser is gone."""
        if self._detached:
            raise SessionLost("this session was detached")
        if not (self.cdp.connection.is_open and self._browser.is_connected()):
            raise SessionLost("the connection to the browser is closed")

    async def until(self, condition: Callable[[], bool], timeout_s: float) -> bool:
        """Wait for `condition`; raise `SessionLost` at once when the browser or its last page is gone."""

        def alive_and_holds() -> bool:
            _ = self.current
            return condition()

        return await self.pulse.until(alive_and_holds, timeout_s)

    async def detach(self) -> None:
        """Close all connections to the browser; it goes on."""
        if self._detached:
            return
        self._detached = True
        for task in tuple(self._opening):
            task.cancel()
        self._first_requests.close()
        for tab in self.attached:
            tab.detach()
        self.cdp.close()
        self.cdp.connection.close()
        try:
            async with asyncio.timeout(5):
                await self._browser.close()  # attached over CDP, this closes the connection only
        except (PlaywrightError, TimeoutError):
            return

    # --------------------------------------------------------------------------------------------- events

    def begin_step(self, guard: StepGuard | None) -> None:
        """Start a step: later events are no longer evidence of the one before."""
        if guard is not None:
            self.guard, self._popups_opened = guard, 0
        self.seen = self.open_tabs
        if self.last_recorder is not None and self.last_recorder.covers_popups:
            self._context.remove_listener("request", self._on_request)
        self.last_recorder = None

    def record(self, recorder: Recorder, *, popups: bool) -> None:
        """Collect evidence in `recorder`; with `popups` also requests of new tabs, from before they are attached."""
        self.recorder = self.last_recorder = recorder
        if popups:
            recorder.covers_popups = True
            self._context.on("request", self._on_request)

    async def keep_exchanges(self, step: int | None) -> None:
        """Keep the requests from now on as those of this step; with None keep none."""
        self.exchanges.step = step
        if step is None or self.exchanges.is_on:
            return
        self.exchanges.is_on = True
        self._context.on("request", self._on_any_request)
        await asyncio.gather(*(tab.keep_bodies() for tab in self.open_tabs))

    async def recorded(self, timeout_s: float) -> tuple[Exchange, ...]:
        """Return what was kept of requests, waiting for bodies that are being read."""
        self._first_requests.catch_up()
        return await self.exchanges.all(timeout_s)

    def on_message(self, frame: Frame, message: Mapping[str, Any]) -> None:
        """Pass a message of the page agent to the attempt it is for, or what a person did to its listener."""
        if self.on_person is not None and message["type"] == "person":
            self.on_person(frame, message)
        elif self.attempt is not None and message["attempt"] == self.attempt.token:
            self.attempt.take(frame, message)

    def on_event(self, tab: Tab, method: str, params: Mapping[str, Any]) -> None:
        """Pass a protocol event on; the recorder receives only events of the step's own tabs."""
        recorder = self.last_recorder
        if recorder is not None and tab.main.id in recorder.tab_ids:
            recorder.on_event(tab.traffic, method, params)
        for listener in tuple(self.listeners):
            listener(tab, method, params)
        if method == "Network.requestWillBeSent" and len(self.usual) < USUAL_KEPT:
            sent = params["request"]
            if sent["method"].upper() not in SAFE_METHODS:
                self.usual.add(f"{sent['method'].upper()} {without_query(sent['url'])}")

    def _on_browser_event(self, _cdp: CdpSession, method: str, params: Mapping[str, Any]) -> None:
        for listener in tuple(self.listeners):
            listener(None, method, params)
        self.pulse.beat()

    def is_step_page(self, page: Page | None) -> bool:
        """Return whether the present step causes what `page` does: it is the step's tab, or one that it opened."""
        return self._is_step_tab(self._tab_of(page))

    def is_step_frame(self, frame_id: str) -> bool:
        """Return the same for a frame; a frame in no known tab belongs to a tab that is just opening."""
        return self._is_step_tab(next((tab for tab in self.attached if frame_id in tab.frames), None))

    def _is_step_tab(self, tab: Tab | None) -> bool:
        return tab is None or (self.recorder is not None and tab.main.id in self.recorder.tab_ids)

    def _on_request(self, request: Request) -> None:
        recorder = self.last_recorder
        if recorder is None or request.method.upper() in SAFE_METHODS:
            return
        by_worker = request.service_worker is not None
        if by_worker or self._is_of_new_tab(request):
            recorder.sent_elsewhere(request.method.upper(), request.url, by_worker=by_worker)

    def _on_any_request(self, request: Request) -> None:
        if request.service_worker is None:
            self._first_requests.note(request, is_new_tab=self._is_of_new_tab(request))

    def _is_of_new_tab(self, request: Request) -> bool:
        try:
            return self._tab_of(request.frame.page) is None
        except PlaywrightError:  # its tab is not there yet
            return True
