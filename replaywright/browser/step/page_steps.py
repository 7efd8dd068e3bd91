"""Steps on the whole page: navigation, tabs, keys for the focused element, and scrolling."""

import asyncio
from collections.abc import Mapping
from typing import Any

from replaywright.browser.devtools.cdp import CdpFailed
from replaywright.browser.devtools.channel import Frame, Tab, script_for
from replaywright.browser.devtools.evidence import without_query
from replaywright.browser.input import entering, keys, trusted
from replaywright.browser.input.dispatch import delivered
from replaywright.browser.step import consequences
from replaywright.browser.step.step_context import StepContext
from replaywright.domain.common.urls import is_web, web_address
from replaywright.domain.predicate.predicates import judges_responses
from replaywright.domain.proof.proof import needs_proof
from replaywright.domain.proof.signed_out import is_sign_in
from replaywright.domain.task.actions import Cause
from replaywright.domain.task.steps import GoBack, Goto, Paste, Press, Scroll, SwitchTab
from replaywright.errors import ActionFailed, InputInvalid

_ARRIVED = (Cause.NEW_DOCUMENT, Cause.SAME_DOCUMENT, Cause.DOWNLOAD)
"""Possible results of a navigation."""
_ERROR_PAGE_S = 1.0
"""Wait for the page that the browser shows in place of one that did not come."""
_ABORTED = "net::ERR_ABORTED"

# ----------------------------------------------------------------------------------------- keys and scrolling


async def touch(context: StepContext, step: Paste | Press | Scroll) -> None:
    """Press keys, paste, or scroll, and wait for what follows.

    Raises:
        ActionFailed: `timeout`: the page did not take the keys.
    """
    await _end_guards(context)
    context.expectation.ask(context.tab, watch=needs_proof(step))
    await context.tabs.until(lambda: context.expectation.is_watching(context.tab), context.deadline.left(1.0))
    context.before = context.expectation.verdicts(context.tab)
    if context.work.secrets:
        await entering.require_allowed(context.tab, await entering.focused_frame(context.tab), context.work.secrets)
    await context.permitted(None)
    context.arm()
    if context.work.secrets:
        await _enter_secret(context)
    elif isinstance(step, Press):
        keys.parse(step.keys)  # raises for an unknown key before anything is touched
        context.dispatched = True
        await _press(context, step.keys)
    elif isinstance(step, Paste) and not context.work.text:
        context.dispatched = True
        await _press(context, "Delete")
    elif isinstance(step, Paste):
        frame = await entering.focused_frame(context.tab)
        async with entering.on_clipboard(context.tabs, context.tab, frame, context.work.text):
            context.dispatched = True
            await _press(context, "Control+V")
    else:
        context.dispatched = True
        scroll = script_for("scrollPage", step.to)
        await context.tab.call(context.tab.main, scroll, timeout_s=context.deadline.left(5.0))
    await consequences.follow(context)


async def _enter_secret(context: StepContext) -> None:
    frame = await entering.focused_frame(context.tab)
    if why := await entering.enter_secret(context.tab, frame, context.work, "enterHere"):
        reason = "not_editable" if why == "not_editable" else "not_landed"
        raise ActionFailed(reason, f"the secret was not entered: {entering.WHY_NOT[why]}", dispatched=False)
    context.dispatched = True


async def _end_guards(context: StepContext) -> None:
    """End the guard of the previous step, so that it does not stop this step's keys."""

    async def end(frame: Frame) -> None:
        try:
            await context.tab.call(frame, script_for("cancel"), timeout_s=context.deadline.left(1.0))
        except CdpFailed:  # the frame is gone or hangs: it takes no input either
            return

    await asyncio.gather(*(end(frame) for frame in context.tab.worlds()))


async def _press(context: StepContext, combination: str) -> None:
    posted = trusted.press(context.tab.cdp, combination)
    await delivered(context, posted, lambda: Cause.NEW_DOCUMENT in context.armed.causes or context.tab.closed)


# ------------------------------------------------------------------------------------------------------ tabs


async def switch_tab(context: StepContext, step: SwitchTab) -> None:
    """Make the only tab that matches the step the current one.

    Raises:
        ActionFailed: `no_such_tab`, `ambiguous_tab`.
    """
    tabs = context.tabs

    def matching() -> list[Tab]:
        opened = tabs.open_tabs
        if step.tab is not None:
            return opened[-1:] if step.tab == "latest" else opened[:1]
        if step.url_contains is not None:
            return [tab for tab in opened if step.url_contains in tab.url]
        return [tab for tab in opened if (step.title_contains or "") in tab.title]

    await tabs.until(lambda: not tabs.is_opening and len(matching()) > 0, context.deadline.left())
    found = matching()
    if len(found) != 1:
        shown = ", ".join(repr(without_query(tab.url)) for tab in tabs.attached)
        reason = "ambiguous_tab" if found else "no_such_tab"
        raise ActionFailed(reason, f"{len(found)} tabs match the step; open tabs: {shown}", dispatched=False)
    tabs.make_current(found[0])
    context.tab = found[0]
    await context.tab.cdp.send("Page.bringToFront", timeout_s=5)
    await tabs.until(lambda: context.tab.main.loaded, context.deadline.left())


async def close_tab(context: StepContext) -> None:
    """Close the current tab.

    Raises:
        ActionFailed: `last_tab`; `held_by_dialog`: the page asked, and stayed; `timeout`.
    """
    tabs = context.tabs
    if len(tabs.open_tabs) == 1:
        raise ActionFailed("last_tab", "this is the only tab; closing it would end the session", dispatched=False)
    tab = context.tab
    await context.until_read()
    context.arm()
    context.dispatched = True
    tab.cdp.notify("Page.close")
    await tabs.until(lambda: tab.closed or context.is_held(), context.deadline.left())
    if not tab.closed:
        context.fail_if_held()
        context.fail("timeout", "the tab did not close")
    context.tab = tabs.current


# ------------------------------------------------------------------------------------------------ navigation


async def navigate(context: StepContext, step: Goto | GoBack) -> None:
    """Open an address, or go back, and wait until the document is there, or the download has begun.

    Raises:
        ActionFailed: `scheme_refused`, `address_refused`, `no_history`: nothing was done. `navigation_failed`,
            `timeout`, `held_by_dialog`, `http_404` and so on: the page did not come. One that is refused and asks for
            a password came if the steps on it sign in; an expected status (`response_status`) is judged later.
    """
    tab = context.tab
    command, params = await _navigation(tab, step)
    await context.permitted(None)
    context.arm(watch=True)
    recorder, left = context.armed, tab.main.loader
    context.dispatched = True
    error = await _answer_to(context, command, params)
    if error == _ABORTED and not recorder.causes and not context.is_held():
        # Chromium drops a navigation right after one that a dialog held; a second GET is safe.
        error = await _answer_to(context, command, params)
    context.fail_if_held()
    if tab.main.unreachable and not error:
        error = "the server cannot be reached"
    if error and Cause.DOWNLOAD not in recorder.causes:
        # The browser's own page comes after the error: it would be taken for the one that the next step leads to.
        await context.tabs.until(lambda: tab.main.loader != left, context.deadline.left(_ERROR_PAGE_S))
        context.fail("navigation_failed", f"the page could not be opened: {_in_words(error)}")
    if not any(cause in recorder.causes for cause in _ARRIVED):
        context.fail("timeout", "the page did not come in time")
    await context.tabs.until(lambda: tab.main.loaded and not tab.main.loading, context.deadline.left())
    if not tab.main.loaded and Cause.NEW_DOCUMENT in recorder.causes:
        context.fail("timeout", "the document did not arrive completely in time")
    status = tab.traffic.statuses.get(tab.main.loader, 0)
    if status < 400 or Cause.NEW_DOCUMENT not in recorder.causes or judges_responses(context.work.expect):
        return
    if not (context.work.signs_in and is_sign_in(status, await context.snapshot())):
        answered = f"{without_query(tab.url)} answered with status {status}"
        context.fail(f"http_{status}", f"{answered}; if that is as it should be, expect response_status")


def _in_words(error: str) -> str:
    """Say what Chromium's code means where it is about the site's TLS."""
    code = error.removeprefix("net::")
    if code.startswith("ERR_CERT_"):
        return f"the browser does not accept the certificate of the site ({code})"
    if code.startswith("ERR_SSL_"):
        return f"TLS with the site failed ({code}): is it one that is reached by http://?"
    return error


async def _navigation(tab: Tab, step: Goto | GoBack) -> tuple[str, dict[str, Any]]:
    """Return the browser's command and its parameters."""
    if isinstance(step, Goto):
        try:
            address = web_address(step.url, "goto")
        except InputInvalid as exc:
            reason = "address_refused" if is_web(step.url) else "scheme_refused"
            raise ActionFailed(reason, str(exc), dispatched=False) from exc
        return "Page.navigate", {"url": address.url}
    history = await tab.cdp.send("Page.getNavigationHistory")
    position = history["currentIndex"] - 1
    if position < 0:
        raise ActionFailed("no_history", "there is no page to go back to", dispatched=False)
    return "Page.navigateToHistoryEntry", {"entryId": history["entries"][position]["id"]}


async def _answer_to(context: StepContext, command: str, params: dict[str, Any]) -> str:
    """Send a navigation command; return the browser's error, or ""."""
    recorder, pulse = context.armed, context.tabs.pulse
    sent = context.tab.cdp.post(command, params)
    sent.add_done_callback(lambda _: pulse.beat())
    # Page.navigate is answered when the document is there, or failed.
    await context.tabs.until(
        lambda: (
            (sent.done() or command != "Page.navigate")
            and (_error_of(sent) != "" or context.is_held() or any(cause in recorder.causes for cause in _ARRIVED))
        ),
        context.deadline.left(),
    )
    return _error_of(sent)


def _error_of(sent: "asyncio.Future[Mapping[str, Any]]") -> str:
    if not sent.done() or sent.cancelled():
        return ""
    if (failed := sent.exception()) is not None:
        if isinstance(failed, CdpFailed) and not failed.closed and not failed.timed_out:
            return failed.message
        raise failed
    return str(sent.result().get("errorText") or "")
