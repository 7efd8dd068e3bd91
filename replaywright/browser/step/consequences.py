"""Consequences of an input: the state of its field, and the events that it caused."""

import time
from collections.abc import Sequence

from replaywright.browser.devtools.waiting import Deadline
from replaywright.browser.input import entering
from replaywright.browser.step.attempt import Ready
from replaywright.browser.step.step_context import StepContext
from replaywright.domain.common.text import shorten
from replaywright.domain.task.actions import Cause
from replaywright.domain.task.steps import Check, Collapse, Expand, Fill, Paste, SelectOption, Switch, Type, Uncheck

_EFFECT_S = 1.0
"""Wait for a field to hold the entered value."""
_OBSERVE_S = 0.15
"""The least time for which the consequences of an input are watched while they are not known yet."""
_QUIET_S = 0.05
"""No request and no navigation under way for this long: the input has had its effect."""
_OBSERVE_LIMIT_S = 5.0
_SHOWN = 80
"""Characters of a value that a message shows."""
_ABSENT_CAUSE_S = 1.0
"""A recorded consequence that does not begin within this time will not come."""

# --------------------------------------------------------------------------------------- on what was entered


def is_seen_on_element(context: StepContext) -> bool:
    """Return whether the step leaves its element in a defined state."""
    return isinstance(context.step, Switch | Fill | Type | Paste | SelectOption)


async def took_effect(context: StepContext) -> bool:
    """Wait a moment for the wanted value or state of the control; return whether it came."""
    attempt, step = context.attempt, context.step

    def done() -> bool:
        match step:
            case Check() | Uncheck():
                return attempt.state.get("checked") is isinstance(step, Check)
            case Expand() | Collapse():
                return attempt.state.get("expanded") is isinstance(step, Expand)
        return attempt.value_ok is True

    def gone() -> bool:
        return Cause.NEW_DOCUMENT in context.armed.causes or context.frame.id not in context.tab.frames

    return await context.tabs.until(lambda: done() or gone(), context.deadline.left(_EFFECT_S))


def has_another_way(context: StepContext, ready: Ready, tries: int) -> bool:
    """Return whether the same input once more, or another one, may help.

    It may for a checkbox of three states, for an editor, and for a field that has its old value again: pages replace
    fields while they are rendered.
    """
    if isinstance(context.step, Switch):
        return bool(ready.state.get("mixed")) and tries < 2
    if isinstance(context.step, Fill) and not tries and not ready.state.get("editor") and ready.point is not None:
        return context.attempt.state.get("value") == ready.state.get("value")
    return entering.is_pasted(context.step, ready, context.work.text, tries) and isinstance(context.step, Fill)


def require_effect(context: StepContext) -> None:
    """Raise unless the result in the page is equivalent to the wanted one."""
    if context.attempt.intercepted is not None:
        what = context.attempt.intercepted.by or "something else"
        context.fail("intercepted", f"the input was redirected to {what}, and stopped before the page saw it there")
    if isinstance(context.step, Switch):
        wanted = "on" if isinstance(context.step, Check) else "off" if isinstance(context.step, Uncheck) else ""
        wanted = wanted or ("open" if isinstance(context.step, Expand) else "closed")
        context.fail("state_differs", f"the control did not change: it should be {wanted}")
    if isinstance(context.step, SelectOption):
        if not context.step.expect:  # lists that only trigger something return to their old value
            chosen = ", ".join(map(repr, context.step.wanted))
            told = f"chose {chosen}, but the list shows {_held(context)}"
            context.fail("value_differs", f"{told}; if it only triggers something, expect what comes of it")
        return
    state = context.attempt.state  # what an editor draws beside the text is no mask of a field
    if state.get("drawn") or not entering.holds(str(state.get("value") or ""), context.work.text):
        entered = "a secret" if context.work.sensitive else repr(shorten(context.work.text, _SHOWN))
        context.fail("value_differs", f"entered {entered}, but the field holds {_held(context)}")


def _held(context: StepContext) -> str:
    """Return the element's value for a message, without secrets."""
    value = str(context.attempt.state.get("value") or "")
    if context.work.sensitive:
        return f"{len(value)} characters" if value else "nothing"
    return repr(shorten(value, _SHOWN)) if value else "nothing"


# ------------------------------------------------------------------------------------------- in the browser


async def await_answers(context: StepContext) -> bool:
    """Wait for the answers to the step's unsafe requests to its site; return False without any.

    Pages show "Saved!" before they know. The wait takes as long as a commit step has time, else a few seconds; then a
    moment for the page to process the answers.
    """
    tabs, recorder = context.tabs, context.recorder
    if recorder is None:
        return False

    def answered() -> bool:
        url = tabs.current.url
        return not any(recorder.awaits_answer(tab.traffic, url) for tab in tabs.attached)

    def is_quiet() -> bool:
        arrived = Cause.NEW_DOCUMENT in recorder.causes  # the old page is gone: nothing processes the answer
        return arrived or time.monotonic() - recorder.answered_at >= _QUIET_S

    if answered() and is_quiet():
        return False
    limit = _OBSERVE_LIMIT_S if context.before_dispatch is None else float("inf")
    await tabs.until(answered, context.deadline.left(limit))
    await tabs.until(is_quiet, _QUIET_S)
    return True


async def follow(context: StepContext) -> None:
    """Wait for the consequences of the input: as recorded, or until nothing more follows."""
    if context.work.causes is None:
        await _observe(context)
    else:
        await _await_causes(context, context.work.causes)


def _is_busy(context: StepContext) -> bool:
    """Return whether a navigation or popup that the input caused is in progress."""
    recorder = context.armed
    main = context.tabs.current.main
    arriving = bool(recorder.navigating or main.loading) or not main.loaded or context.tabs.is_opening
    arriving = arriving or recorder.windows > len(recorder.popups)
    return arriving or (context.frame.id in context.tab.frames and bool(context.frame.loading))


async def _observe(context: StepContext) -> None:
    """Watch until the input has no more consequences, for a bounded time."""
    tabs = context.tabs
    limit = Deadline(context.deadline.left(_OBSERVE_LIMIT_S))

    def busy() -> bool:
        return _is_busy(context) or any(tab.traffic.busy(since=context.armed_at) for tab in tabs.attached)

    await tabs.until(lambda: False, limit.left(_OBSERVE_S))
    while not limit.passed:
        await tabs.until(lambda: not busy(), limit.left())
        if not await tabs.until(busy, limit.left(_QUIET_S)):
            break


async def _await_causes(context: StepContext, causes: Sequence[Cause]) -> None:
    """Wait for the consequences that the recording has of this input."""
    tabs, recorder = context.tabs, context.armed
    awaited = [cause for cause in causes if cause is not Cause.NOTHING]
    if not awaited:
        return

    def seen() -> bool:
        return all(cause in recorder.causes for cause in awaited)

    while not await tabs.until(seen, context.deadline.left(_ABSENT_CAUSE_S)):
        if context.deadline.passed or not (_is_busy(context) or context.tab.traffic.busy(since=context.armed_at)):
            return  # the page behaves differently now; what is expected of it decides
    if Cause.NEW_DOCUMENT in awaited or Cause.POPUP in awaited:
        await tabs.until(lambda: not _is_busy(context), context.deadline.left())


def page_fault(context: StepContext) -> str:
    """Return why the step's new document is an error page; "" if it is none, or there is no new one."""
    recorder, tab = context.recorder, context.tabs.current
    if recorder is None or not {Cause.NEW_DOCUMENT, Cause.POPUP} & recorder.causes.keys():
        return ""
    if tab.main.unreachable:
        return "navigation_failed"
    status = tab.traffic.statuses.get(tab.main.loader, 0)
    return f"http_{status}" if status >= 400 else ""
