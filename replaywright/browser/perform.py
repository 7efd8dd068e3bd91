"""One step in the browser: find, act once, wait for what it set off, and check what is expected."""

import asyncio
import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urlsplit

from replaywright.browser import (
    choosing,
    entering,
    extraction,
    frames,
    hand,
    keys,
    pointer,
    sliding,
    snapshots,
    uploads,
)
from replaywright.browser.attempt import Expectation, Ready
from replaywright.browser.channel import WORLD, Frame, Tab, script_for
from replaywright.browser.evidence import DIALOG_LIMIT, LINE_LIMIT, LIST_LIMIT, Recorder, without_query
from replaywright.browser.find import Finder, Found, Missed, Patience, why_blocked
from replaywright.browser.waiting import Deadline
from replaywright.browser.wire import WireFailed
from replaywright.domain.actions import Cause, effect_of
from replaywright.domain.outcomes import Evidence, Lookup
from replaywright.domain.predicates import PredicateResult
from replaywright.domain.snapshots import Snapshot
from replaywright.domain.targets import Target
from replaywright.domain.tasks import (
    Check,
    Click,
    CloseTab,
    DoubleClick,
    Drag,
    Extract,
    Fill,
    GoBack,
    Goto,
    Hover,
    Paste,
    Press,
    Scroll,
    SelectOption,
    SwitchTab,
    Type,
    Uncheck,
    Upload,
    WaitFor,
    action_of,
    names_element,
)
from replaywright.domain.text import shorten
from replaywright.errors import ActionFailed
from replaywright.ports import BeforeDispatch, Report, Work

if TYPE_CHECKING:
    from replaywright.browser.session import ChromiumSession

UNRESPONSIVE_S = 10.0
"""What a step may take beyond its budget when the browser does not answer; everything else ends within it."""
AFTERMATH_S = 1.0
"""Once an input is on its way, at least this long is spent on learning what became of it."""
LANDING_GRACE_S = 0.5
"""After the browser has delivered an input: how long the agent's word that it arrived may still take."""
EFFECT_S = 1.0
"""How long a field may take to hold what was entered."""
OBSERVE_S = 0.15
"""The least time for which the consequences of an input are watched while they are not known yet."""
QUIET_S = 0.05
"""No request and no navigation under way for this long: the input has had its effect."""
OBSERVE_LIMIT_S = 5.0
_ARRIVED = (Cause.NEW_DOCUMENT, Cause.SAME_DOCUMENT, Cause.DOWNLOAD)
"""What a navigation comes to."""
_ABORTED = "net::ERR_ABORTED"
ABSENT_CAUSE_S = 1.0
"""A recorded consequence that does not begin within this time will not come."""

_SCROLL_PAGE = """(to => {
  const whole = document.scrollingElement ?? document.documentElement;
  let box = whole;
  if (whole.scrollHeight <= innerHeight + 1) {
    const scrollable = e => e.scrollHeight > e.clientHeight + 1 && /auto|scroll/.test(getComputedStyle(e).overflowY);
    const area = e => e.clientWidth * e.clientHeight;
    box = [...document.querySelectorAll("*")].filter(scrollable).sort((a, b) => area(b) - area(a))[0] ?? whole;
  }
  box.scrollTo({top: to === "top" ? 0 : box.scrollHeight, behavior: "instant"});
})"""


class StepRun:
    """Performs one `Work`."""

    def __init__(self, session: "ChromiumSession", work: Work, before_dispatch: BeforeDispatch | None) -> None:
        self.session = session
        self.work = work
        self.step = work.step
        self.deadline = Deadline(work.timeout_ms / 1000)
        self.dispatched = False
        self._tries = 0
        """How often the input was given again, as it had not led to what was wanted."""
        self._gave = False
        """Whether input was given that the agent asked for on its way."""
        self._before_dispatch = before_dispatch
        self._evaluated = session.counts.evaluations
        self._expectation = Expectation.of(work.expect, session.next_token(), session.typed)
        self._tab: Tab = session.current
        self._frame: Frame = self._tab.main
        self._recorder: Recorder | None = None
        self._preload: asyncio.Task[Mapping[str, Any]] | None = None
        self._before: tuple[PredicateResult, ...] = ()
        self._extracted: dict[str, Any] = {}
        self._open_before = tuple(tab for tab in session.tabs if not tab.closed)
        self._dialogs_before: tuple[str, ...] = ()
        self._begun = time.monotonic()
        self._armed_at = 0.0
        self._found_at = 0.0
        self._acted_at = 0.0

    async def perform(self) -> Report:
        """The whole step within its budget; see `BrowserSession.perform`."""
        self.session.attempt = self._expectation.attempt
        self._expectation.attempt.on_ready = self._on_ready
        limit = asyncio.timeout(self.deadline.left() + UNRESPONSIVE_S)
        try:
            async with limit:
                return await (self._on_element() if names_element(self.step) else self._on_page())
        except TimeoutError:
            if not limit.expired():  # of the caller's `before_dispatch`
                raise
            seconds = self.work.timeout_ms / 1000
            message = f"the page did not answer within the step's {seconds:g} s"
            raise ActionFailed("timeout", message, dispatched=self.dispatched) from None
        finally:
            self._remove_preload()

    # ------------------------------------------------------------------------------------ on one element

    async def _on_element(self) -> Report:
        spec = self._spec()
        files = uploads.allowed(self.step.files, self.session.upload_roots) if isinstance(self.step, Upload) else ()
        result = await self._find(spec)
        self._found_at = time.monotonic()
        if isinstance(result, Missed):
            return self._missed(result)
        self._frame = result.frame
        if isinstance(self.step, Extract):
            self._extracted = extraction.typed(self.step.fields, result.ready.extracted)
            return await self._already_there(result, acted=True)
        if result.ready.state.get("already"):
            return await self._already_there(result, acted=False)
        await self._dispatch(result, files)
        if self._expectation.attempt.intercepted and self._may_repeat():
            await self._dispatch(await self._find_again(spec, result), files)
        self._require_landed()
        await self._consequences()
        await self._effect(spec, result)
        self._acted_at = time.monotonic()
        return await self._verified(result.lookup, result.ready.target)

    def _spec(self) -> dict[str, Any]:
        needs = {
            Click: "click",
            DoubleClick: "click",
            Hover: "hover",
            Drag: "drag",
            Fill: "fill",
            Type: "type",
            Paste: "paste",
            Press: "focus",
            SelectOption: "select",
            Check: "check",
            Uncheck: "check",
            Upload: "upload",
            Scroll: "scroll",
            Extract: "read",
        }
        step = self.step
        return {
            "need": needs[type(step)],
            "text": self.work.text if isinstance(step, Fill | Type | Paste) else None,
            **choosing.spec_of(step),
            **pointer.spec_of(step),
            "wanted": isinstance(step, Check) if isinstance(step, Check | Uncheck) else None,
            "fields": _told_fields(step) if isinstance(step, Extract) else None,
            "files": {"count": len(step.files), "drop": bool(step.drop)} if isinstance(step, Upload) else None,
            "hold": self._before_dispatch is not None,
            "probes": self._expectation.told_probes,
            "settleMs": 250,
        }

    async def _find(self, spec: dict[str, Any]) -> Found | Missed:
        finder = Finder(
            self.session,
            work=self.work,
            expectation=self._expectation,
            deadline=self.deadline,
            spec=spec,
            patience=Patience(),
        )
        return await finder.find()

    async def _find_again(self, spec: dict[str, Any], first: Found) -> Found:
        covering = self._expectation.attempt.intercepted
        result = await self._find(spec)
        if isinstance(result, Missed):
            if covering is None:
                self._require_effect()
                self._fail("gone", "the element was gone before the step had its effect")
            message = f"the input was stopped: it would have met {covering.by}"
            raise ActionFailed("intercepted", message, dispatched=False)
        return Found(first.lookup, result.frame, result.ready)

    def _may_repeat(self) -> bool:
        return effect_of(action_of(self.step), self.step.effect, None).repeatable

    def _on_ready(self, frame: Frame, ready: Ready) -> None:
        self._frame = frame
        self._before = self._expectation.verdicts(self._tab)
        if ready.point is None and self._before_dispatch is None and not ready.state.get("already"):
            self._go(frame)  # the agent goes on by itself, and everything from here on is its doing

    async def _dispatch(self, found: Found, files: Sequence[Path]) -> None:
        point = found.ready.point
        place = None if point is None else await self._place(found.frame, point)
        if self._before_dispatch is not None and not self.dispatched:
            await self._before_dispatch(found.ready.target)
        if not self.dispatched or place is not None:
            self._go(found.frame)
        if isinstance(self.step, Drag) and place is not None:
            await self._drag(found.frame, place)
        elif isinstance(self.step, Fill) and place is not None and found.ready.state.get("slider"):
            await sliding.slide(self.session, found.ready, place, float(self.work.text), self.deadline)
            await self._landing([], LANDING_GRACE_S)
        elif place is not None and entering.is_pasted(self.step, found.ready, self.work.text, self._tries):
            async with entering.carried(self.session, self._tab, found.frame, self.work.text):
                await self._landing(hand.press(self._tab.wire, "Control+V"), LANDING_GRACE_S)
        elif isinstance(self.step, Upload):
            await self._upload(self.step, found.frame, place, files)
        else:
            posted = self._input(place)
            await self._landing(posted, LANDING_GRACE_S if posted else math.inf)

    async def _drag(self, frame: Frame, place: tuple[float, float]) -> None:
        gesture = pointer.Dragging(
            self._tab,
            frame,
            self._expectation.attempt,
            until=self.session.until,
            placed=self._place,
            deadline=self.deadline,
        )
        await gesture.perform(place)
        await self._landing([], LANDING_GRACE_S)

    async def _upload(
        self, step: Upload, frame: Frame, place: tuple[float, float] | None, files: Sequence[Path]
    ) -> None:
        attempt = self._expectation.attempt
        upload = uploads.Uploading(self._tab, frame, attempt, files, until=self.session.until, deadline=self.deadline)
        if place is None:
            await upload.set_field()
            await self._landing([], uploads.TAKEN_S)
        elif step.drop:
            await self._landing(upload.drop(place), LANDING_GRACE_S)
        else:
            async with upload.caught_chooser():
                await self._landing(hand.point(self._tab.wire, place, clicks=1), LANDING_GRACE_S)
                if attempt.intercepted is None:
                    await upload.answer_chooser()
        if attempt.intercepted is None:
            await upload.verify()

    def _go(self, frame: Frame) -> None:
        """From here on the page may be touched."""
        self.deadline = Deadline(max(self.deadline.left(), AFTERMATH_S))
        self._arm()
        self._expectation.attempt.renew(frame)
        self.dispatched = True

    async def _place(self, frame: Frame, point: tuple[float, float]) -> tuple[float, float]:
        """The point in the top document's viewport, where the pointer is; keys go to the focus, wherever that is."""
        if frame is self._tab.main or isinstance(self.step, Fill | Type | Paste | Press):
            return point
        try:
            await frames.bring_into_view(self._tab, frame, *point)
            uncovered = await frames.is_uncovered(self._tab, frame, *point)
            place = await frames.drawn_at(self._tab, frame, *point)
        except (WireFailed, KeyError):
            raise ActionFailed("detached", "the frame went away", dispatched=False) from None
        if not uncovered:
            raise ActionFailed("covered", "the frame is covered by something at that point", dispatched=False)
        return place

    def _input(self, place: tuple[float, float] | None) -> hand.Posted:
        """Post the trusted input of the step; nothing for what the agent does itself."""
        wire = self._tab.wire
        match self.step:
            case Click() | DoubleClick() as step if place is not None:
                clicks = 2 if isinstance(step, DoubleClick) else 1
                button, modifiers = step.button or "left", step.modifiers or ()
                return hand.point(wire, place, clicks, button=button, modifiers=modifiers)
            case Check() | Uncheck() if place is not None:
                return hand.point(wire, place, clicks=1)
            case Hover() if place is not None:
                return hand.point(wire, place, clicks=0)
            case Fill() if place is not None and self._tries:
                return hand.enter_lines(wire, self.work.text)
            case Fill() | Type() | Paste() if place is not None:
                return hand.enter(wire, self.work.text, key_by_key=isinstance(self.step, Type))
            case Press(keys=combination):
                return hand.press(wire, combination)
            case _:
                # The agent does it itself: it has, or waits for the word when something had to be written first.
                if self._before_dispatch is not None:
                    self._tab.tell(self._frame, script_for("act", self._expectation.attempt.token))
                return []

    async def _landing(self, posted: hand.Posted, patience: float) -> None:
        """Wait until the input has arrived, was stopped, or has visibly taken effect."""
        attempt, recorder = self._expectation.attempt, self._armed

        def over() -> bool:
            return attempt.intercepted is not None or Cause.NEW_DOCUMENT in recorder.causes or self._tab.closed

        await self._delivered(posted, over)

        def news() -> bool:
            return over() or attempt.landed or bool(attempt.failed) or bool(attempt.wants)

        while await self.session.until(news, self.deadline.left(patience)) and attempt.wants and not over():
            wish = attempt.wants.pop(0)
            self._gave = True
            await self._delivered(await choosing.give(self._tab.wire, self._frame, wish, self._place), over)
        recorder.landed = True if attempt.landed else None if over() else False

    async def _delivered(self, posted: hand.Posted, over: Callable[[], bool]) -> None:
        """Wait until the browser has handed every event to the page."""
        for task in posted:
            task.add_done_callback(lambda _: self.session.pulse.beat())
        if not await self.session.until(lambda: over() or all(task.done() for task in posted), self.deadline.left()):
            self._fail("timeout", "the page did not take the input in time")

    @property
    def _armed(self) -> Recorder:
        assert self._recorder is not None
        return self._recorder

    def _require_landed(self) -> None:
        attempt = self._expectation.attempt
        if attempt.intercepted is not None:
            what = attempt.intercepted.by or "something else"
            message = f"the input would have met {what}; it was stopped before the page saw it"
            raise ActionFailed("intercepted", message, dispatched=attempt.landed or self._gave)
        if attempt.failed:
            raise ActionFailed("agent_failed", attempt.failed, dispatched=self.dispatched)
        if attempt.blocked is not None and not attempt.landed:
            self._tab.tell(self._frame, script_for("cancel"))
            self._fail(attempt.blocked.reason, why_blocked(attempt.blocked.reason, attempt.blocked.by))
        recorder = self._recorder
        if recorder is not None and recorder.landed is False and not recorder.causes and not self.work.expect:
            self._fail("not_landed", "the page did not see the input arrive at the element")

    async def _effect(self, spec: dict[str, Any], found: Found) -> None:
        """A field must hold what was entered, a checkbox be what was wanted; a page may take a moment for that."""
        if not isinstance(self.step, Check | Uncheck | Fill | Type | Paste | SelectOption):
            return
        while not await self._took_effect():
            if not self._has_another_way(found.ready):
                self._require_effect()
                return
            self._tries += 1
            found = await self._find_again(spec, found)
            if found.ready.state.get("already"):
                return
            await self._dispatch(found, ())
            self._require_landed()

    def _has_another_way(self, ready: Ready) -> bool:
        """Whether the same input once more, or another one, leads on: a checkbox of three states, an editor."""
        if isinstance(self.step, Check | Uncheck):
            return bool(ready.state.get("mixed")) and self._tries < 2
        return entering.is_pasted(self.step, ready, self.work.text, self._tries) and isinstance(self.step, Fill)

    async def _took_effect(self) -> bool:
        attempt, wanted = self._expectation.attempt, isinstance(self.step, Check)

        def done() -> bool:
            if isinstance(self.step, Check | Uncheck):
                return attempt.state.get("checked") is wanted
            return attempt.value_ok is True

        def gone() -> bool:
            return Cause.NEW_DOCUMENT in self._armed.causes or self._frame.id not in self._tab.frames

        return await self.session.until(lambda: done() or gone(), self.deadline.left(EFFECT_S))

    def _require_effect(self) -> None:
        """Raise unless what the page made of the input is as good as what was wanted."""
        if isinstance(self.step, Check | Uncheck):
            self._fail("state_differs", "the control did not change")
        if isinstance(self.step, SelectOption):
            if not self.work.expect:  # lists that only set something off return to what they showed
                self._fail("value_differs", "the list does not show what was chosen")
            return
        if not entering.holds(str(self._expectation.attempt.state.get("value") or ""), self.work.text):
            self._fail("value_differs", "the field does not hold what was entered")

    def _fail(self, reason: str, message: str) -> NoReturn:
        raise ActionFailed(reason, message, dispatched=self.dispatched)

    async def _already_there(self, found: Found, *, acted: bool) -> Report:
        """Nothing is left to be done; what is expected is still checked."""
        self._acted_at = time.monotonic()
        return await self._verified(found.lookup, found.ready.target, acted=acted)

    # ------------------------------------------------------------------------------------------ on the page

    async def _on_page(self) -> Report:
        self._found_at = time.monotonic()
        step = self.step
        match step:
            case WaitFor():
                if step.answers:  # it waits for what comes after the dialog
                    self._arm()
                self._acted_at = time.monotonic()
                return await self._verified(Lookup(hit=True), None, acted=False)
            case Extract():
                await self.session.until(lambda: bool(self._tab.main.context), self.deadline.left())
                script = script_for("extract", self._expectation.attempt.token, _told_fields(step))
                told = await self._tab.call(self._tab.main, script, timeout_s=max(1.0, self.deadline.left()))
                self._extracted = extraction.typed(step.fields, told)
                self._acted_at = time.monotonic()
                return await self._verified(Lookup(hit=True), None)
            case SwitchTab():
                await self._switch(step)
            case CloseTab():
                await self._close()
            case Paste() | Press() | Scroll():
                await self._end_guards()
                self._expectation.ask(self._tab)
                await self.session.until(
                    lambda: self._expectation.context(self._tab) is not None, self.deadline.left(1.0)
                )
                self._before = self._expectation.verdicts(self._tab)
                await self._touch(step)
            case Goto() | GoBack():
                await self._navigate(step)
            case _:
                raise AssertionError(f"no page action: {step.action}")
        self._acted_at = time.monotonic()
        return await self._verified(Lookup(hit=True), None)

    async def _touch(self, step: Paste | Press | Scroll) -> None:
        if self._before_dispatch is not None:
            await self._before_dispatch(None)
        self._arm()
        if isinstance(step, Press):
            keys.parse(step.keys)  # a key that does not exist touches nothing
            self.dispatched = True
            await self._keys(step.keys)
        elif isinstance(step, Paste) and not self.work.text:
            self.dispatched = True
            await self._keys("Delete")
        elif isinstance(step, Paste):
            frame = await entering.focused_frame(self._tab)
            async with entering.carried(self.session, self._tab, frame, self.work.text):
                self.dispatched = True
                await self._keys("Control+V")
        else:
            self.dispatched = True
            await self._tab.call(self._tab.main, f'{_SCROLL_PAGE}("{step.to}")', timeout_s=self.deadline.left(5.0))
        await self._consequences()

    async def _end_guards(self) -> None:
        """The guard of the step before, on its element, is not for the keys of this one; input overtakes scripts."""

        async def end(frame: Frame) -> None:
            try:
                await self._tab.call(frame, script_for("cancel"), timeout_s=self.deadline.left(1.0))
            except WireFailed:  # the frame went away, or hangs: it takes no input either
                return

        await asyncio.gather(*(end(frame) for frame in self._tab.worlds()))

    async def _keys(self, combination: str) -> None:
        posted = hand.press(self._tab.wire, combination)
        await self._delivered(posted, lambda: Cause.NEW_DOCUMENT in self._armed.causes or self._tab.closed)

    async def _switch(self, step: SwitchTab) -> None:
        def matching() -> list[Tab]:
            tabs = [tab for tab in self.session.tabs if not tab.closed]
            if step.tab is not None:
                return tabs[-1:] if step.tab == "latest" else tabs[:1]
            if step.url_contains is not None:
                return [tab for tab in tabs if step.url_contains in tab.url]
            return [tab for tab in tabs if (step.title_contains or "") in tab.title]

        await self.session.until(lambda: not self.session.opening and len(matching()) > 0, self.deadline.left())
        found = matching()
        if len(found) != 1:
            shown = ", ".join(repr(without_query(tab.url)) for tab in self.session.tabs)
            reason = "ambiguous_tab" if found else "no_such_tab"
            raise ActionFailed(reason, f"{len(found)} tabs answer to the step; open are: {shown}", dispatched=False)
        self.session.make_current(found[0])
        self._tab = found[0]
        await self._tab.wire.send("Page.bringToFront", timeout_s=5)
        await self.session.until(lambda: self._tab.main.loaded, self.deadline.left())

    async def _close(self) -> None:
        if len([tab for tab in self.session.tabs if not tab.closed]) == 1:
            raise ActionFailed("last_tab", "this is the only tab; closing it would end the session", dispatched=False)
        tab = self._tab
        self._arm()
        self.dispatched = True
        tab.wire.tell("Page.close")
        await self.session.until(lambda: tab.closed or self._is_held(), self.deadline.left())
        if not tab.closed:
            self._fail_if_held()
            self._fail("timeout", "the tab did not close")
        self._tab = self.session.current

    async def _navigate(self, step: Goto | GoBack) -> None:
        tab = self._tab
        if isinstance(step, Goto):
            if urlsplit(step.url).scheme.lower() not in ("http", "https"):
                shown = step.url[:200]
                message = f"cannot open {shown!r}: only http and https addresses are opened"
                raise ActionFailed("scheme_refused", message, dispatched=False)
            command, params = "Page.navigate", {"url": step.url}
        else:
            history = await tab.wire.send("Page.getNavigationHistory")
            position = history["currentIndex"] - 1
            if position < 0:
                raise ActionFailed("no_history", "there is no page to go back to", dispatched=False)
            command, params = "Page.navigateToHistoryEntry", {"entryId": history["entries"][position]["id"]}
        if self._before_dispatch is not None:
            await self._before_dispatch(None)
        self._arm(watch=True)
        recorder = self._armed
        self.dispatched = True
        error = await self._answer_to(command, params)
        if error == _ABORTED and not recorder.causes and not self._is_held():
            # Chromium drops what comes right after a navigation that a dialog held; and to get a page twice is safe.
            error = await self._answer_to(command, params)
        self._fail_if_held()
        if tab.main.unreachable and not error:
            error = "the server cannot be reached"
        if error and Cause.DOWNLOAD not in recorder.causes:
            self._fail("navigation_failed", f"the page could not be opened: {error}")
        if not any(cause in recorder.causes for cause in _ARRIVED):
            self._fail("timeout", "the page did not come in time")
        await self.session.until(lambda: tab.main.loaded and not tab.main.loading, self.deadline.left())
        if not tab.main.loaded and Cause.NEW_DOCUMENT in recorder.causes:
            self._fail("timeout", "the document did not arrive completely in time")
        status = tab.traffic.statuses.get(tab.main.loader, 0)
        if status >= 400 and Cause.NEW_DOCUMENT in recorder.causes:
            self._fail(f"http_{status}", f"{without_query(tab.url)} answered with status {status}")

    async def _answer_to(self, command: str, params: dict[str, Any]) -> str:
        """What the browser says of a navigation: "", or why there is none."""
        recorder = self._armed
        sent = self._tab.wire.post(command, params)
        sent.add_done_callback(lambda _: self.session.pulse.beat())
        # The answer to Page.navigate comes when the document is there, or cannot be had.
        await self.session.until(
            lambda: (
                (sent.done() or command != "Page.navigate")
                and (_error_of(sent) != "" or self._is_held() or any(cause in recorder.causes for cause in _ARRIVED))
            ),
            self.deadline.left(),
        )
        return _error_of(sent)

    def _is_held(self) -> bool:
        """Whether the page has asked before it would be left, and was told to stay."""
        return self._recorder is not None and self._recorder.stayed

    def _fail_if_held(self) -> None:
        if self._is_held():
            message = (
                "the page asked whether it may be left (beforeunload), and stayed; to leave it, say dialog: accept"
            )
            self._fail("held_by_dialog", message)

    # ----------------------------------------------------------------------------------------- afterwards

    def _arm(self, *, watch: bool = False) -> None:
        """Collect evidence from now on; have the expected new document answer without being asked."""
        self._armed_at = time.monotonic()
        self._recorder = Recorder(self._frame.id, self._tab.main.id)
        self.session.recorder = self._recorder
        self._open_before = tuple(tab for tab in self.session.tabs if not tab.closed)
        if self.work.causes is None or Cause.POPUP in self.work.causes:
            self.session.hear_popups(self._recorder)
        expected = watch or (self.work.causes is not None and Cause.NEW_DOCUMENT in self.work.causes)
        if expected and self._expectation.attempt.probes and self._preload is None:
            params = {"source": self._expectation.script, "worldName": WORLD}
            self._expectation.preloaded = self._tab.wire
            self._preload = self._tab.wire.post("Page.addScriptToEvaluateOnNewDocument", params)

    def _remove_preload(self) -> None:
        if self._preload is not None:
            self._preload.add_done_callback(self._removed)

    def _removed(self, added: "asyncio.Task[Mapping[str, Any]]") -> None:
        if not added.cancelled() and added.exception() is None and not self._tab.closed:
            self._tab.wire.tell(
                "Page.removeScriptToEvaluateOnNewDocument", {"identifier": added.result()["identifier"]}
            )

    async def _consequences(self) -> None:
        if self.work.causes is None:
            await self._observe()
        else:
            await self._await_causes(self.work.causes)

    def _busy(self) -> bool:
        """Whether something that the input set off is still under way."""
        recorder = self._armed
        main = self.session.current.main
        arriving = bool(recorder.navigating or main.loading) or not main.loaded or self.session.opening
        arriving = arriving or recorder.windows > len(recorder.popups)
        return arriving or (self._frame.id in self._tab.frames and bool(self._frame.loading))

    async def _observe(self) -> None:
        """What the input sets off is not known yet: watch until nothing more follows, for a bounded time."""
        limit = Deadline(self.deadline.left(OBSERVE_LIMIT_S))
        tabs = self.session.tabs

        def busy() -> bool:
            return self._busy() or any(tab.traffic.busy(since=self._armed_at) for tab in tabs)

        await self.session.until(lambda: False, limit.left(OBSERVE_S))
        while not limit.passed:
            await self.session.until(lambda: not busy(), limit.left())
            if not await self.session.until(busy, limit.left(QUIET_S)):
                break

    async def _await_causes(self, causes: Sequence[Cause]) -> None:
        """Wait for what the recording says that this input sets off."""
        recorder = self._armed
        awaited = [cause for cause in causes if cause is not Cause.NOTHING]
        if not awaited:
            return

        def seen() -> bool:
            return all(cause in recorder.causes for cause in awaited)

        while not await self.session.until(seen, self.deadline.left(ABSENT_CAUSE_S)):
            if self.deadline.passed or not (self._busy() or self._tab.traffic.busy(since=self._armed_at)):
                return  # the page behaves differently now; what is expected of it decides
        if Cause.NEW_DOCUMENT in awaited or Cause.POPUP in awaited:
            await self.session.until(lambda: not self._busy(), self.deadline.left())

    async def _verified(self, lookup: Lookup, target: Target | None, *, acted: bool = True) -> Report:
        recorder, downloads = self._recorder, self.session.downloads
        if recorder is not None:
            await self.session.until(lambda: not downloads.running(recorder), self.deadline.left())
        after = await self.session.verified(self._expectation, self.deadline, dispatched=self.dispatched)
        if recorder is not None:
            after = (*after, *downloads.verdicts(recorder))
        verified_at = time.monotonic()
        snapshot: Snapshot | None = None
        if not all(verdict.passed for verdict in after):
            snapshot = await self._read()
        return self._report(lookup, target, acted=acted, after=after, snapshot=snapshot, verified_at=verified_at)

    def evidence(self) -> Evidence:
        """What was seen of the step so far; after its report, what remains to be told."""
        seen = Evidence() if self._recorder is None else self._recorder.evidence()
        opened = [tab for tab in self.session.tabs_seen if tab not in self._open_before]
        tabs = [f"opened {_address(tab)}" for tab in opened]
        tabs += [f"closed {_address(tab)}" for tab in (*self._open_before, *opened) if tab.closed]
        if self._recorder is not None:
            tabs += ["opened and closed again"] * self._recorder.popups.count("")
        self._dialogs_before += self.session.dialogs.earlier()
        dialogs = (*self._dialogs_before, *seen.dialogs)[:DIALOG_LIMIT]
        return seen.model_copy(update={"tabs": tuple(tabs[:LIST_LIMIT]), "dialogs": dialogs})

    async def _read(self) -> Snapshot | None:
        try:
            return await snapshots.take(self.session.current, self.session.typed)
        except WireFailed:
            return None

    def _missed(self, missed: Missed) -> Report:
        for frame in self._tab.worlds():
            if frame.id in self._expectation.attempt.asked:
                self._tab.tell(frame, script_for("cancel"))
        return self._report(missed.lookup, None, acted=False, snapshot=missed.snapshot)

    def _report(
        self,
        lookup: Lookup,
        target: Target | None,
        *,
        acted: bool,
        after: tuple[PredicateResult, ...] = (),
        snapshot: Snapshot | None = None,
        verified_at: float = 0.0,
    ) -> Report:
        tab = self.session.current
        found_at, acted_at = self._found_at or time.monotonic(), self._acted_at
        return Report(
            lookup=lookup,
            target=target,
            acted=acted,
            before=self._before,
            after=after,
            evidence=self.evidence(),
            downloads=self.session.downloads.report(self._recorder),
            url=tab.url,
            title=tab.title,
            extracted=self._extracted,
            snapshot=snapshot,
            evaluations=self.session.counts.evaluations - self._evaluated,
            locating_ms=(found_at - self._begun) * 1000,
            acting_ms=max(0.0, acted_at - found_at) * 1000,
            verifying_ms=max(0.0, verified_at - acted_at) * 1000 if acted_at else 0.0,
        )


def _address(tab: Tab) -> str:
    return shorten(without_query(tab.url), LINE_LIMIT)


def _told_fields(step: Extract) -> dict[str, Any]:
    return {
        name: field.model_dump(by_alias=True, exclude_none=True, exclude={"type"})
        for name, field in step.fields.items()
    }


def _error_of(sent: "asyncio.Task[Mapping[str, Any]]") -> str:
    if not sent.done() or sent.cancelled():
        return ""
    if (failed := sent.exception()) is not None:
        if isinstance(failed, WireFailed) and not failed.closed and not failed.timed_out:
            return failed.message
        raise failed
    return str(sent.result().get("errorText") or "")
