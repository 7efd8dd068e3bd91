"""Search for an element that is not in the document yet: some lists create rows while they are scrolled."""

from collections.abc import Callable

from replaywright.browser.devtools.cdp import CdpFailed
from replaywright.browser.devtools.channel import Frame, Tab, script_for
from replaywright.browser.devtools.waiting import Deadline
from replaywright.browser.step.attempt import PageAttempt
from replaywright.browser.tabs import Tabs

MOST_PAGES = 300
"""Limit of a search; usually the step's budget ends it earlier."""
RESERVE_S = 0.5
"""Part of the budget that is kept for reporting a miss."""
NETWORK_S = 3.0
"""Wait for a request that scrolling has caused: its answer may bring the next rows."""


async def search(
    tabs: Tabs,
    tab: Tab,
    frame: Frame,
    attempt: PageAttempt,
    *,
    is_enough: Callable[[], bool],
    deadline: Deadline,
) -> bool:
    """Scroll the areas of `frame` page by page until the agent reports the element; nothing is pressed.

    The search begins with the area of the recording; each is scrolled down to its end, then up from where it stood.
    Areas are not scrolled back.

    Returns:
        True if the element is there or `is_enough` holds; False when all was seen, or time or pages are used up.
    """
    for _ in range(MOST_PAGES):
        if deadline.left() <= RESERVE_S or not frame.context:
            return False
        ended = tab.traffic.ended
        try:
            script = script_for("searchOn", attempt.token)
            reply = await tab.call(frame, script, timeout_s=max(0.1, deadline.left()))
        except CdpFailed:
            return False
        if reply["found"] or is_enough():
            return True
        if tab.traffic.busy():
            await tabs.until(lambda: not tab.traffic.busy(), deadline.left(NETWORK_S))
        elif not reply["more"] and tab.traffic.ended == ended:  # else an answer came after the look
            return False
    return False
