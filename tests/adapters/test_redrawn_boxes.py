"""Boxes that are equal in all but their places, in a list that is drawn anew when one of them is ticked."""

import pytest

from replaywright.browser.session import ChromiumSession
from replaywright.errors import ActionFailed
from tests.adapters.browser_site import Site
from tests.adapters.steps import holds, opened, work

PAGE = "redrawn_boxes.html"
SECOND = {"role": "checkbox", "nth": 2}


async def test_a_box_is_ticked_when_the_one_that_was_drawn_in_its_place_is(
    session: ChromiumSession, site: Site
) -> None:
    await opened(session, site, PAGE)

    report = await session.perform(work("check", SECOND))
    again = await session.perform(work("check", SECOND))

    assert holds(report)
    assert (report.acted, again.acted) == (True, False)
    assert await session.tabs.current.page.evaluate("things.map((thing) => thing.done)") == [False, True, False]


async def test_a_box_that_is_drawn_anew_as_it_was_is_not_ticked(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, f"{PAGE}?refused")

    with pytest.raises(ActionFailed, match="it should be on"):
        await session.perform(work("check", SECOND))
