"""The Chromium implementation of the `Demonstration` port."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from playwright.async_api import Browser, BrowserContext, Dialog
from playwright.async_api import Error as PlaywrightError

from replaywright.browser.devtools.cdp import BrowserConnection, CdpFailed
from replaywright.browser.devtools.channel import Frame, Tab
from replaywright.browser.devtools.evidence import Recorder
from replaywright.browser.reading import frames, snapshots
from replaywright.browser.tabs import BLANK, Tabs
from replaywright.domain.page.snapshots import Snapshot
from replaywright.domain.page.targets import FrameStep
from replaywright.domain.step.outcomes import Evidence
from replaywright.errors import ActionFailed, SessionLost
from replaywright.ports.recording import Act, ActedOn, DialogAnswer, Outcome

SCRIPT: Final = "recording/person.js"
QUIET_S: Final = 0.3
"""A page that has sent and loaded nothing for this long is quiet."""
QUIET_LIMIT_S: Final = 8.0
"""A page that is never quiet is read after this."""
_OWN_DOING_S: Final = 1.0
"""A tab that closes or goes back so soon after an act in it does so because of the act."""
_LEAVING_S: Final = 2.0
"""A page that does not answer for so long is left as it is."""
_NEW_DOCUMENT: Final = frozenset({"differentDocument", "restore"})
_KEPT_UP: Final = frozenset({"fill", "select"})
"""Acts that are told anew with each change of one value."""
_HISTORY: Final = frozenset({"historyDifferentDocument", "historySameDocument"})


@dataclass
class _TabState:
    """How a tab came to its address."""

    visited: list[str] = field(default_factory=list)
    asked: bool = False
    """The page asked for the navigation that is under way."""
    typed: str = ""
    """Address of a navigation under way that the page did not ask for."""
    acted_at: float = 0.0


@dataclass
class _Collected:
    """What came of one act."""

    recorder: Recorder | None = None
    answers: list[DialogAnswer] = field(default_factory=list)


class WatchedBrowser:
    """One attached Chromium in which a person works; implements `Demonstration`."""

    def __init__(self, browser: Browser, context: BrowserContext, connection: BrowserConnection) -> None:
        self.tabs = Tabs(browser, context, connection, scripts=(SCRIPT,))
        self.tabs.on_person = self._on_person
        self.tabs.listeners.append(self._on_event)
        self.dialogs: dict[Tab, Mapping[str, Any]] = {}
        """Open dialogs, as the browser told of them."""
        self.on_list: Callable[[Frame, Sequence[str]], None] | None = None
        """Receives the options of a list that is opened while lists are hidden."""
        self._lists_hidden = False
        self._context = context
        self._acts: asyncio.Queue[Act | None] = asyncio.Queue()
        self._states: dict[Tab, _TabState] = {}
        self._paths: dict[str, tuple[FrameStep, ...]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._collected: dict[int, _Collected] = {}
        self._last: Act | None = None
        self._on, self._pointing = True, False

    async def attach(self) -> None:
        """Attach to all open tabs.

        Raises:
            SessionLost: no page answers.
        """
        self._context.on("dialog", _leave_to_person)
        await self.tabs.open()

    async def open(self, url: str) -> None:
        """See `Demonstration.open`."""
        tab = self.tabs.current
        self._state(tab).acted_at = time.monotonic()
        self.listen(on=False)
        try:
            await tab.page.goto(url, wait_until="domcontentloaded")
        except PlaywrightError as exc:
            raise ActionFailed("navigation_failed", exc.message.splitlines()[0], dispatched=True) from None
        finally:
            self._states[tab] = _TabState([tab.url])
            self.listen(on=True)
        await self._quiet(tab)

    async def next_act(self) -> Act | None:
        """See `Demonstration.next_act`."""
        return await self._acts.get()

    async def outcome(self, number: int, secrets: Sequence[str]) -> Outcome:
        """See `Demonstration.outcome`."""
        try:
            await self._quiet(self.tabs.current)
        except SessionLost:  # the act closed the last tab
            return self.so_far(number)
        after = await self.look(secrets)
        await self.tabs.pulse.until(lambda: False, QUIET_S)
        return self.so_far(number).model_copy(update={"after": after, "again": await self.look(secrets)})

    def so_far(self, number: int) -> Outcome:
        """See `Demonstration.so_far`."""
        collected = self._collected.get(number, _Collected())
        evidence = Evidence() if collected.recorder is None else collected.recorder.evidence()
        return Outcome(evidence=evidence, dialogs=tuple(collected.answers))

    async def look(self, secrets: Sequence[str]) -> Snapshot | None:
        """See `Demonstration.look`."""
        try:
            return await snapshots.take(self.tabs.current, secrets)
        except (CdpFailed, SessionLost):  # a new document came in between, a dialog is open, or the browser is closed
            return None

    def listen(self, *, on: bool, pointing: bool = False) -> None:
        """See `Demonstration.listen`."""
        self._on, self._pointing = on, pointing
        for tab in self.tabs.open_tabs:
            for frame in tab.worlds():
                self._tell(tab, frame)

    def _tell(self, tab: Tab, frame: Frame) -> None:
        state = (self._on, self._pointing, self._lists_hidden)
        tab.notify(frame, f"replaywrightPerson({', '.join(str(value).lower() for value in state)})")

    def hide_lists(self) -> None:
        """Keep lists of options closed, and tell their options instead: no picture of the page shows them."""
        self._lists_hidden = True
        self.listen(on=self._on, pointing=self._pointing)

    async def close(self) -> None:
        """See `Demonstration.close`."""
        for task in tuple(self._tasks):
            task.cancel()
        for tab in self.tabs.open_tabs:  # what was put into the pages stays there, and is to do nothing
            await tab.call_all(tab.worlds(), "replaywrightPerson(false, false, false)", timeout_s=_LEAVING_S)
        await self.tabs.detach()

    # ------------------------------------------------------------------------------------------- what is told

    def _on_person(self, frame: Frame, message: Mapping[str, Any]) -> None:
        tab = next((tab for tab in self.tabs.attached if tab.frames.get(frame.id) is frame), None)
        if tab is None:
            return
        if not self._on and message["act"] not in {"document", "list"}:  # done before the page heard of the pause
            return
        if message["act"] == "document":
            self._tell(tab, frame)
            if frame is not tab.main:
                self._begin(self._learn_path(tab, frame))
            return
        if message["act"] == "list":
            if self.on_list is not None:
                self.on_list(frame, message["values"])
            return
        told = {key: value for key, value in message.items() if key not in {"act", "type", "attempt", "title"}}
        opener = self.tabs.opener_of(tab)
        act = Act.model_validate(
            {**told, "kind": message["act"], "tab": tab.main.id, "opener": opener.main.id if opener else "",
             "url": tab.url, "at": time.monotonic()}
        )  # fmt: skip
        act = self._collect(tab, frame, act)
        if frame is tab.main:
            self._acts.put_nowait(act)
        elif frame.id in self._paths:
            self._acts.put_nowait(_inside(act, self._paths[frame.id]))
        else:
            self._begin(self._tell_inside(tab, frame, act))

    def _collect(self, tab: Tab, frame: Frame, act: Act) -> Act:
        """Collect the evidence of an act from the moment when it is told: its page reacts at once."""
        self._state(tab).acted_at = act.at
        last = self._last
        if last is not None and act.kind == last.kind in _KEPT_UP and _number(act) == _number(last):
            return act.model_copy(update={"number": last.number})
        if act.kind != "point":
            self._last = act = act.model_copy(update={"number": len(self._collected) + 1})
            self.tabs.make_current(tab)
            recorder = Recorder(frame.id, tab.main.id)
            self._collected[act.number] = _Collected(recorder)
            self.tabs.begin_step(None)
            self.tabs.record(recorder, popups=True)
        return act

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _learn_path(self, tab: Tab, frame: Frame) -> None:
        with contextlib.suppress(CdpFailed, KeyError, ValueError):  # it is gone again
            self._paths[frame.id] = await frames.path_of(tab, frame)

    async def _tell_inside(self, tab: Tab, frame: Frame, act: Act) -> None:
        await self._learn_path(tab, frame)
        self._acts.put_nowait(_inside(act, self._paths.get(frame.id, (FrameStep(url=frame.url),))))

    # ------------------------------------------------------------------------------------------- the browser

    def _state(self, tab: Tab) -> _TabState:
        return self._states.setdefault(tab, _TabState())

    def _on_event(self, tab: Tab | None, method: str, params: Mapping[str, Any]) -> None:
        if tab is None:
            if method == "closed":
                self._acts.put_nowait(None)
            return
        match method:
            case "Page.frameRequestedNavigation" if params["frameId"] == tab.main.id:
                self._state(tab).asked = True
            case "Page.frameStartedNavigating" if params["frameId"] == tab.main.id:
                self._started(tab, params)
            case "Page.frameNavigated" if params["frame"]["id"] == tab.main.id:
                self._arrived(tab, tab.url)
            case "Page.navigatedWithinDocument" if params["frameId"] == tab.main.id:
                self._arrived(tab, params["url"])
            case "Page.javascriptDialogOpening":
                self.dialogs[tab] = params
            case "Page.javascriptDialogClosed":
                self._answered(self.dialogs.pop(tab, {}), params)
            case "closed" if tab.closed:
                self._closed(tab)
            case _:
                pass

    def _started(self, tab: Tab, params: Mapping[str, Any]) -> None:
        """Note a navigation that the page did not ask for: an address was typed, or history was used."""
        state, kind = self._state(tab), params["navigationType"]
        recently = time.monotonic() - state.acted_at < _OWN_DOING_S
        is_typed = kind in _NEW_DOCUMENT and not state.asked and (bool(state.visited) or not self.tabs.opener_of(tab))
        if (is_typed or (kind in _HISTORY and not recently)) and params["url"] not in BLANK and self._on:
            state.typed = params["url"]

    def _arrived(self, tab: Tab, url: str) -> None:
        state = self._state(tab)
        typed, state.typed, state.asked = state.typed, "", False
        went_back = len(state.visited) > 1 and state.visited[-2] == url
        if went_back:
            state.visited.pop()
        elif not state.visited or state.visited[-1] != url:
            state.visited.append(url)
        if typed:
            kind = "go_back" if went_back else "goto"
            act = Act.model_validate({"kind": kind, "tab": tab.main.id, "url": typed, "at": time.monotonic()})
            self._acts.put_nowait(self._collect(tab, tab.main, act))

    def _closed(self, tab: Tab) -> None:
        state = self._states.pop(tab, _TabState())
        if time.monotonic() - state.acted_at > _OWN_DOING_S and self._on:
            self._acts.put_nowait(Act(kind="close_tab", tab=tab.main.id, url=tab.url, at=time.monotonic()))
        if not self.tabs.open_tabs:
            self._acts.put_nowait(None)

    def _answered(self, dialog: Mapping[str, Any], params: Mapping[str, Any]) -> None:
        """Note how a dialog was answered; one that asks before a page is left is answered like any other."""
        accepted, kind = bool(params["result"]), dialog.get("type", "")
        collected = self._collected.get(self._last.number) if self._last is not None else None
        if collected is not None and collected.recorder is not None:
            text = params.get("userInput") if accepted and kind == "prompt" else None
            collected.answers.append(DialogAnswer(accepted=accepted, text=text))
            collected.recorder.dialog(kind, f"{kind}: {dialog.get('message', '')}", accepted=accepted)

    # ------------------------------------------------------------------------------------------------ reading

    async def _quiet(self, tab: Tab) -> None:
        """Wait until the tab has loaded, sent and asked nothing for a moment."""
        deadline = time.monotonic() + QUIET_LIMIT_S

        def is_busy() -> bool:
            busy = tab.is_loading or tab.traffic.busy() or self.tabs.is_opening or bool(self.dialogs)
            return not tab.closed and (busy or not tab.main.loaded or not tab.main.context)

        with contextlib.suppress(SessionLost):
            while (left := deadline - time.monotonic()) > 0:
                if await self.tabs.until(lambda: not is_busy(), left) and not await self.tabs.until(is_busy, QUIET_S):
                    return


def _leave_to_person(_dialog: Dialog) -> None:
    """Do nothing: Playwright dismisses the dialogs of a page for which nobody listens."""


def _number(act: Act) -> str:
    return act.element.number if act.element is not None else ""


def _inside(act: Act, path: tuple[FrameStep, ...]) -> Act:
    """Return the act with the frame in its elements: by name, title or address, as a query takes it."""
    element, to = _framed(act.element, path, named=True), _framed(act.to, path, named=False)
    return act.model_copy(update={"element": element, "to": to})


def _framed(acted: ActedOn | None, path: tuple[FrameStep, ...], *, named: bool) -> ActedOn | None:
    if acted is None:
        return None
    names = tuple(step.name or step.title or step.url or f"iframe:nth-of-type({step.index + 1})" for step in path)
    query = acted.query.model_copy(update={"frame": names}) if acted.query is not None and named else acted.query
    return acted.model_copy(update={"query": query, "target": acted.target.model_copy(update={"frame": path})})
