"""Giving a step's input to an element that is ready, and waiting until it has arrived there."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from replaywright.browser.devtools.cdp import CdpFailed
from replaywright.browser.devtools.channel import Frame, script_for
from replaywright.browser.input import entering, pointer, sliding, trusted, uploading
from replaywright.browser.reading import frames
from replaywright.browser.step.attempt import Blocked
from replaywright.browser.step.find import FoundElement, why_blocked
from replaywright.browser.step.step_context import StepContext
from replaywright.domain.task.actions import Cause
from replaywright.domain.task.steps import (
    Click,
    DoubleClick,
    Drag,
    Fill,
    Hover,
    Paste,
    Press,
    SelectOption,
    Switch,
    Type,
    Upload,
)
from replaywright.errors import ActionFailed

_LANDING_GRACE_S = 0.5
"""Wait for the agent's report of arrival after the browser has delivered an input."""


class InputDispatch:
    """The input of one step, given once, or again when it had not led to what was wanted (`tries`)."""

    def __init__(self, context: StepContext) -> None:
        self._context = context
        self.tries = 0
        """Number of repetitions after an input without the wanted effect."""
        self._gave = False
        """True after input that the agent requested on the way."""

    @property
    def was_stopped(self) -> bool:
        """Return whether the input was stopped, as it would have hit another element."""
        return self._context.attempt.intercepted is not None

    @property
    def is_untouched(self) -> bool:
        """Return whether the page has seen no key and no press: then any input may be repeated."""
        attempt = self._context.attempt
        return not (attempt.landed or attempt.pressed or self._gave)

    async def give(self, found: FoundElement, files: Sequence[Path] = ()) -> None:
        """Give the input to the element, and wait until it landed, was stopped, or has visibly taken effect.

        Raises:
            ActionFailed: `detached`, `covered`: the frame went away, or cannot be reached; nothing was done.
                `timeout`: the page did not take the input.
        """
        context, step, text = self._context, self._context.step, self._context.work.text
        point = found.ready.point
        place = None if point is None else await self._place(found.frame, point)
        if context.work.secrets:
            await entering.require_allowed(context.tab, found.frame, context.work.secrets)
        if not context.dispatched:
            await context.permitted(found.ready.target)
        if not context.dispatched or place is not None or context.holds:
            context.go(found.frame)
        if context.work.secrets:
            await self._enter_secret(found.frame)
        elif isinstance(step, Drag) and place is not None:
            await self._drag(found.frame, place)
        elif isinstance(step, Fill) and place is not None and found.ready.state.get("slider"):
            await sliding.slide(context, found.ready, place)
            await self._landing([], _LANDING_GRACE_S)
        elif place is not None and entering.is_pasted(step, found.ready, text, self.tries):
            async with entering.on_clipboard(context.tabs, context.tab, found.frame, text):
                await self._landing(trusted.press(context.tab.cdp, "Control+V"), _LANDING_GRACE_S)
        elif isinstance(step, Upload):
            await self._upload(step, found.frame, place, files)
        else:
            posted = self._input(place)
            await self._landing(posted, _LANDING_GRACE_S if posted else math.inf)

    def require_landed(self) -> None:
        """Raise unless the input arrived at the element, or has had visible consequences."""
        context, attempt = self._context, self._context.attempt
        if attempt.intercepted is not None:
            what = attempt.intercepted.by or "something else"
            message = f"the input would have hit {what}; it was stopped before the page saw it"
            raise ActionFailed("intercepted", message, dispatched=attempt.landed or self._gave)
        if attempt.failed:
            context.fail("agent_failed", attempt.failed)
        if attempt.blocked is not None and not attempt.landed:
            context.tab.notify(context.frame, script_for("cancel"))
            context.fail(attempt.blocked.reason, why_blocked(attempt.blocked.reason, attempt.blocked.by))
        recorder = context.recorder
        if recorder is not None and recorder.landed is False and not recorder.causes and not context.step.expect:
            if isinstance(context.step, SelectOption):
                context.fail("timeout", "the step's time was up while the list was still being searched")
            context.fail("not_landed", "the input did not arrive at the element")

    # ------------------------------------------------------------------------------------- kinds of input

    async def _drag(self, frame: Frame, place: tuple[float, float]) -> None:
        gesture = pointer.Dragging(self._context, frame, self._place)
        await gesture.perform(place)
        await self._landing([], _LANDING_GRACE_S)

    async def _enter_secret(self, frame: Frame) -> None:
        """Have the page agent enter the secret, only where it is allowed; see page/secret.js."""
        context = self._context
        why = await entering.enter_secret(context.tab, frame, context.work, "enter", context.attempt.token)
        if why in ("gone", "focus_lost"):  # it may be there again, or another element in its place
            context.attempt.intercepted = Blocked("intercepted", entering.WHY_NOT[why])
        elif why:
            raise ActionFailed(why, f"the secret was not entered: {entering.WHY_NOT[why]}", dispatched=False)
        else:
            await self._landing([], _LANDING_GRACE_S)

    async def _upload(
        self, step: Upload, frame: Frame, place: tuple[float, float] | None, files: Sequence[Path]
    ) -> None:
        context, attempt = self._context, self._context.attempt
        upload = uploading.Uploading(context, frame, files)
        if place is None:
            await upload.set_field()
            await self._landing([], uploading.TAKEN_S)
        elif step.drop:
            await self._landing(await upload.drop(place), _LANDING_GRACE_S)
        else:
            async with upload.caught_chooser():
                await self._landing(trusted.point(context.tab.cdp, place, clicks=1), _LANDING_GRACE_S)
                if attempt.intercepted is None:
                    await upload.answer_chooser()
        if attempt.intercepted is None:
            await upload.verify()

    async def _place(self, frame: Frame, point: tuple[float, float]) -> tuple[float, float]:
        """Return the point in the top document's viewport; for keys as it is, as they go to the focus."""
        tab = self._context.tab
        if frame is tab.main or isinstance(self._context.step, Fill | Type | Paste | Press):
            return point
        try:
            await frames.bring_into_view(tab, frame, *point)
            uncovered = await frames.is_uncovered(tab, frame, *point)
            place = await frames.drawn_at(tab, frame, *point)
        except (CdpFailed, KeyError):
            raise ActionFailed("detached", "the frame went away", dispatched=False) from None
        if not uncovered:
            raise ActionFailed("covered", "the frame is covered by something at that point", dispatched=False)
        return place

    def _input(self, place: tuple[float, float] | None) -> trusted.Posted:
        """Post the trusted input of the step; nothing for what the agent does itself."""
        context = self._context
        cdp, text = context.tab.cdp, context.work.text
        match context.step:
            case Click() | DoubleClick() as step if place is not None:
                clicks = 2 if isinstance(step, DoubleClick) else 1
                button, modifiers = step.button or "left", step.modifiers or ()
                return trusted.point(cdp, place, clicks, button=button, modifiers=modifiers)
            case Switch() if place is not None:
                return trusted.point(cdp, place, clicks=1)
            case Hover() if place is not None:
                return trusted.point(cdp, place, clicks=0)
            case Fill() if place is not None and self.tries and "\n" in text:
                return trusted.enter_lines(cdp, text)
            case Fill() | Type() | Paste() as step if place is not None:
                return trusted.enter(cdp, text, key_by_key=isinstance(step, Type))
            case Press(keys=combination):
                return trusted.press(cdp, combination)
            case _:
                # The agent acts itself: at once, or when it is told to after something was written first.
                if context.holds:
                    context.tab.notify(context.frame, script_for("act", context.attempt.token))
                return []

    async def _grant(self, wish: Mapping[str, Any], over: Callable[[], bool]) -> None:
        """Give the input that the page agent asks for, and wait until it is delivered."""
        context = self._context
        text = context.work.text
        if wish["input"] == "enter" and text and not self.tries and not isinstance(context.step, Type):
            async with entering.on_clipboard(context.tabs, context.tab, context.frame, text):
                await delivered(context, trusted.press(context.tab.cdp, "Control+V"), over)
        else:
            await delivered(context, await self._wished(wish), over)

    async def _wished(self, wish: Mapping[str, Any]) -> trusted.Posted:
        """Post the input that the page agent asks for on its way through what the page makes itself."""
        cdp = self._context.tab.cdp
        match wish["input"]:
            case "click":
                place = await self._place(self._context.frame, (wish["point"]["x"], wish["point"]["y"]))
                modifiers = (wish["modifier"],) if wish.get("modifier") else ()
                return trusted.point(cdp, place, clicks=1, modifiers=modifiers)
            case "press":
                return trusted.press(cdp, wish["keys"])
            case "type":
                return trusted.enter(cdp, wish["text"], key_by_key=True)
            case "enter":
                text, key_by_key = self._context.work.text, isinstance(self._context.step, Type)
                return (
                    trusted.enter_lines(cdp, text)
                    if "\n" in text and not key_by_key
                    else trusted.enter(cdp, text, key_by_key=key_by_key)
                )
            case unknown:
                raise AssertionError(f"no such input: {unknown}")

    # --------------------------------------------------------------------------------------------- arrival

    async def _landing(self, posted: trusted.Posted, patience: float) -> None:
        """Wait until the input has arrived, was stopped, or has visibly taken effect."""
        context, attempt, recorder = self._context, self._context.attempt, self._context.armed

        def over() -> bool:
            return attempt.intercepted is not None or Cause.NEW_DOCUMENT in recorder.causes or context.tab.closed

        await delivered(context, posted, over)

        def news() -> bool:
            ended = attempt.landed or bool(attempt.failed) or (attempt.blocked is not None and attempt.blocked.final)
            return over() or ended or bool(attempt.wants)

        while await context.tabs.until(news, context.deadline.left(patience)) and attempt.wants and not over():
            wish = attempt.wants.pop(0)
            self._gave = True
            await self._grant(wish, over)
        recorder.landed = True if attempt.landed else None if over() else False


async def delivered(context: StepContext, posted: trusted.Posted, over: Callable[[], bool]) -> None:
    """Wait until the browser has delivered every event to the page, or `over` holds.

    Raises:
        ActionFailed: `timeout`: the step's time is up.
    """
    tabs = context.tabs
    for task in posted:
        task.add_done_callback(lambda _: tabs.pulse.beat())
    if not await tabs.until(lambda: over() or all(task.done() for task in posted), context.deadline.left()):
        context.fail("timeout", "the page did not take the input in time")
