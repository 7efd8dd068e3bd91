"""Looking for an element that is not in the document yet: lists that make their rows while they are scrolled."""

from collections.abc import Callable

from replaywright.browser.devtools.cdp import CdpFailed
from replaywright.browser.devtools.channel import Frame, Tab, script_for
from replaywright.browser.devtools.waiting import Deadline
from replaywright.browser.step.attempt import PageAttempt
from replaywright.browser.tabs import Tabs

MOST_PAGES = 300
"""How far a search goes at most; usually the step's budget ends it before."""
RESERVE_S = 0.5
"""Of the budget, for telling that it was not found."""
NETWORK_S = 3.0
"""How long a request that was set off by scrolling is waited for: its answer may bring the next rows."""


async def search(
    tabs: Tabs,
    tab: Tab,
    frame: Frame,
    attempt: PageAttempt,
    *,
    is_enough: Callable[[], bool],
    deadline: Deadline,
) -> bool:
    """Scroll the areas of `frame` page by page until the agent has something to say about the element.

    Begins with the area that the element was recorded in; each is seen down to its end, then up from where it
    stood. Nothing is pressed, and what was scrolled stays so.

    Returns whether the element is there, or `is_enough` of what was seen to stop; False when all was seen, or time or
    pages are used up.
    """
    for _ in range(MOST_PAGES):
        if deadline.left() <= RESERVE_S or not frame.context:
            return False
        ended = tab.traffic.ended
        try:
            script = script_for("searchOn", attempt.token)
            told = await tab.call(frame, script, timeout_s=max(0.1, deadline.left()))
        except CdpFailed:
            return False
        if told["found"] or is_enough():
            return True
        if tab.traffic.busy():
            await tabs.until(lambda: not tab.traffic.busy(), deadline.left(NETWORK_S))
        elif not told["more"] and tab.traffic.ended == ended:  # else the page was looked at before an answer came
            return False
    return False
