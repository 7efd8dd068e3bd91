"""Whether a page hears its input yet: what a server has rendered stands there before the scripts that make it work.

What is entered before is shown, and never reaches the page's own state; a press leads to nothing.
"""

import time
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any, Final

from replaywright.browser.devtools.cdp import CdpFailed
from replaywright.browser.devtools.channel import Tab
from replaywright.browser.devtools.waiting import Deadline
from replaywright.browser.step.find import FoundElement
from replaywright.browser.step.step_context import StepContext

LIMIT_S: Final = 3.0
"""Wait for a page that goes on loading."""
_ANSWER_S: Final = 1.0
_AGAIN_S: Final = 0.05
_RAN_S: Final = 0.15
"""Time for scripts to run once all are loaded."""
_LATER_S: Final = 1.0
"""The same where it was recorded that more is heard: parts of a page may be made to work when it is at rest. What a
changed element hears may have changed with it."""
_TYPES: Final = """
    beforeinput change click dblclick focus focusin input keydown keypress keyup mousedown mouseup pointerdown pointerup
    submit touchend touchstart
"""
_INPUTS: Final = frozenset(_TYPES.split())
"""Types of events that the input of a step leads to."""


async def heard(context: StepContext, found: FoundElement) -> Mapping[str, int] | None:
    """Return the number of listeners of each type on the way of an input to the element; None if that is not known.

    Of an element that is learned or healed they are counted, of another one they are those that were recorded.
    """
    is_new = context.work.learning or found.lookup.healed
    return await _counted(context.tab, found) if is_new else _recorded(context)


async def waited(context: StepContext, found: FoundElement) -> bool:
    """Wait until the page hears the element as it did when it was recorded; else until its scripts have run.

    Returns:
        False if there was nothing to wait for; True: the page may be another one, and the element elsewhere.
    """
    recorded, document, looks = _recorded(context), context.tabs.document, 0
    is_later = bool(recorded) and not found.lookup.healed
    patience_s, since = (_LATER_S, time.monotonic()) if is_later else (_RAN_S, context.tab.loaded_at)
    until = Deadline(context.deadline.left(LIMIT_S))
    while document != context.environment.rested:
        counts = await _counted(context.tab, found) if recorded else None
        if recorded is not None and all((counts or {}).get(kind, 0) >= number for kind, number in recorded.items()):
            break
        now = time.monotonic()
        since = now if context.tab.is_loading else since
        if until.passed or now - since >= patience_s:
            context.environment.rested = document  # what has not come by now is not waited for again
            break
        looks += 1
        await context.tabs.until(lambda: False, until.left(_AGAIN_S))
    return looks > 0


def _recorded(context: StepContext) -> Mapping[str, int] | None:
    return None if context.work.target is None else context.work.target.heard


@cache
def _script() -> str:
    return (resources.files("replaywright.browser.step") / "hearing.js").read_text(encoding="utf-8")


async def _counted(tab: Tab, found: FoundElement) -> Mapping[str, int] | None:
    """Ask in the page's own world, whose listeners the browser tells only there."""
    point = found.ready.point
    if point is None and found.ready.place is not None:
        box = found.ready.place[0]
        point = box.x + box.width / 2, box.y + box.height / 2
    if point is None or found.frame is not tab.main:
        return None
    evaluation = {
        "expression": f"({_script()})({point[0]}, {point[1]})",
        "includeCommandLineAPI": True,
        "returnByValue": True,
    }
    try:
        answer = await tab.cdp.send("Runtime.evaluate", evaluation, timeout_s=_ANSWER_S)
    except CdpFailed:  # the document went away, or is busy
        return None
    counts: Any = answer["result"].get("value")
    if not isinstance(counts, dict):
        return None
    return {kind: number for kind, number in sorted(counts.items()) if kind in _INPUTS and isinstance(number, int)}
