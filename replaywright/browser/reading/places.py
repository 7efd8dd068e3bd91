"""Position of a framed element on the page, for its mark on a picture."""

from replaywright.browser.devtools.cdp import CdpFailed
from replaywright.browser.devtools.channel import Frame, Tab
from replaywright.browser.reading import frames
from replaywright.browser.step.attempt import ViewportBox
from replaywright.domain.page.targets import Box

_ANSWER_S = 1.0


async def in_page(tab: Tab, frame: Frame, place: ViewportBox) -> Box | None:
    """Return the upright box around it in the top document; None if unknown."""
    try:
        quads = await frames.quads(tab, frame)
        scroll_x, scroll_y = await tab.call(tab.main, "[scrollX, scrollY]", timeout_s=_ANSWER_S)
    except CdpFailed:
        return None
    corners = []
    for x, y in (
        (place.left, place.top),
        (place.right, place.top),
        (place.right, place.bottom),
        (place.left, place.bottom),
    ):
        for quad in quads:
            x, y = quad.place(x, y)  # noqa: PLW2901 - from one document to the one around it
        corners.append((x + scroll_x, y + scroll_y))
    left, top = min(x for x, _ in corners), min(y for _, y in corners)
    right, bottom = max(x for x, _ in corners), max(y for _, y in corners)
    return Box(x=left, y=top, width=right - left, height=bottom - top)
