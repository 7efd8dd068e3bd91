"""Text on its way into a page: when it is pasted, how it gets on the clipboard and off it, and whether it arrived."""

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from decimal import Decimal

from replaywright.browser.devtools.cdp import CdpFailed
from replaywright.browser.devtools.channel import Frame, Tab, script_for
from replaywright.browser.step.attempt import Ready
from replaywright.browser.tabs import Tabs
from replaywright.domain.secrets.secret_sites import RULE, BoundSecret, refusal
from replaywright.domain.task.steps import Fill, Paste, Step
from replaywright.errors import ActionFailed
from replaywright.ports.browser import Work

WHY_NOT = {
    "moved": "the page went elsewhere",
    "gone": "its field went away, or is another one now",
    "focus_lost": "its field does not take the focus",
    "not_editable": "what has the focus is no field",
    "too_long": "it is longer than its field allows",
    "failed": "the page agent failed",
}
"""Messages by the page agent's reason for not entering a secret."""
ANSWER_S = 5.0
"""Limit of writing the clipboard, and of the wait for a new document in which to empty it."""


def is_pasted(step: Step, ready: Ready, text: str, tries: int) -> bool:
    """Return whether the text goes through the clipboard: for paste steps, and paragraphs in an editor.

    Editors turn pasted text into paragraphs; they may keep an inserted line feed as it is, and in some the Enter key
    sends. An editor that accepts no paste gets line after line (`tries` > 0).
    """
    if isinstance(step, Paste):
        return bool(text)
    if ready.state.get("drawn"):  # what is typed key by key, code editors indent and complete
        return isinstance(step, Fill) and bool(text) and not tries
    return isinstance(step, Fill) and bool(ready.state.get("editor")) and "\n" in text.strip("\n") and not tries


@asynccontextmanager
async def on_clipboard(tabs: Tabs, tab: Tab, frame: Frame, text: str) -> AsyncIterator[None]:
    """Keep the text on the browser's clipboard inside the block, and empty it afterwards.

    Raises:
        ActionFailed: it could not be written, or not be cleared, as the page is gone.
    """
    if not await _copy(frame, text):
        message = "the text could not be put on the browser's clipboard"
        raise ActionFailed("clipboard_refused", message, dispatched=False)
    try:
        yield
    finally:
        await _clear(tabs, tab, frame)


async def require_allowed(tab: Tab, frame: Frame, secrets: Sequence[BoundSecret]) -> list[str]:
    """Return the present origins of the frame's document and of those around it.

    Raises:
        ActionFailed: a secret may not be entered there, or it is not known where that is. Nothing was done.
    """
    try:
        reply = await tab.call(frame, script_for("origins"), timeout_s=ANSWER_S)
    except CdpFailed:
        reply = []
    origins = [str(origin) for origin in reply or ()]
    if why := refusal(secrets, origins):
        raise ActionFailed(RULE, why, dispatched=False)
    return origins


async def enter_secret(tab: Tab, frame: Frame, work: Work, call: str, *first: int) -> str:
    """Have the page agent enter the secret if its site allows it; return "", or a key of `WHY_NOT`.

    Check and input concern the same documents: the agent receives their origins, and a newer document has another
    world, in which nothing is evaluated.

    Raises:
        ActionFailed: it is not allowed there.
    """
    origins = await require_allowed(tab, frame, work.secrets)
    script = script_for(call, *first, work.text, origins)
    params = {"expression": script, "uniqueContextId": frame.context, "returnByValue": True}
    try:
        answer = await frame.cdp.send("Runtime.evaluate", params, secret=True, timeout_s=ANSWER_S)
    except CdpFailed as exc:
        if exc.timed_out:  # it may have been entered
            raise ActionFailed("timeout", "the page did not take the secret in time", dispatched=True) from None
        return "gone"
    why = answer["result"].get("value")
    return why if why == "" or why in WHY_NOT else "failed"


async def focused_frame(tab: Tab) -> Frame:
    """Return the frame that has the focus; the top one if none does."""
    for frame in tab.worlds():
        try:
            if await tab.call(frame, script_for("hasFocus"), timeout_s=ANSWER_S):
                return frame
        except CdpFailed:  # the frame went away
            continue
    return tab.main


async def _clear(tabs: Tabs, tab: Tab, frame: Frame) -> None:
    """Clear the clipboard, in a new document if the paste has led to one."""
    for place in (frame, tab.main):
        if not await tabs.until(lambda: bool(place.context) or tab.closed, ANSWER_S):  # noqa: B023
            continue
        for _ in range(2):  # the document may be replaced at this moment
            try:
                if place.context and not tab.closed and await _copy(place, ""):
                    return
            except CdpFailed:
                await tabs.until(lambda: bool(place.context), ANSWER_S)  # noqa: B023
    message = "the clipboard could not be emptied after the paste: end this session if the value is a secret"
    raise ActionFailed("clipboard_kept", message, dispatched=True)


async def _copy(frame: Frame, text: str) -> bool:
    params = {"expression": script_for("carry", text), "uniqueContextId": frame.context, "returnByValue": True}
    answer = await frame.cdp.send("Runtime.evaluate", {**params, "userGesture": True}, secret=True, timeout_s=ANSWER_S)
    return answer["result"].get("value") is True


def holds(value: str, text: str) -> bool:
    """Return whether a field's value equals the text, up to an input mask or the notation of a number.

    Decimal point and sign of a number count: 12345 does not equal 1234.5.
    """
    if re.fullmatch(r"[+-]?\d*\.?\d+", text.strip()) and not text.strip().isdigit():
        return _numbers(value) == {Decimal(text.strip())}
    return _same_characters(value, text)


def _same_characters(left: str, right: str) -> bool:
    """Return whether two values differ only in what an input mask adds: spaces, dashes, brackets."""

    def bare(text: str) -> str:
        return "".join(character for character in text if character.isalnum()).lower()

    return bool(bare(right)) and bare(left) == bare(right)


def _numbers(value: str) -> set[Decimal]:
    """Return the possible values of a written number: `1,234.50` and `1.234,50 €` have one, `1,234` two."""
    digits = re.sub(r"[^\d.,+-]", "", value)
    found: set[Decimal] = set()
    for point, group in ((".", ","), (",", ".")):
        if re.fullmatch(rf"[+-]?\d{{1,3}}(?:\{group}\d{{3}})+(?:\{point}\d+)?|[+-]?\d*\{point}?\d+", digits):
            found.add(Decimal(digits.replace(group, "").replace(point, ".")))
    return found
