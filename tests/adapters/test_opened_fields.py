"""Nameless fields that a step before has opened: among other values nothing tells them but the focus that they got."""

from dataclasses import replace

import pytest

from replaywright.browser.session import ChromiumSession
from replaywright.ports.browser import Work
from tests.adapters.browser_site import Site
from tests.adapters.steps import opened, work

PAGE = "opened_fields.html"


async def renamed(session: ChromiumSession, file: str) -> Work:
    """Open a file's field, fill it, and return the step that fills it with what was recorded."""
    await session.perform(work("click", {"role": "button", "name": file}))
    step = work("fill", {"css": ".renaming"}, text="ideas")
    target = (await session.perform(replace(step, learning=True))).target
    assert target is not None
    assert (target.name, target.focused) == ("", True)
    return replace(step, query=None, target=target)


async def test_the_field_of_another_file_is_told_by_the_focus(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)
    recorded = await renamed(session, "notes")
    await opened(session, site, f"{PAGE}?names=bread,wine,cheese,oil")
    await session.perform(work("click", {"role": "button", "name": "cheese"}))

    report = await session.perform(replace(recorded, text="butter"))

    assert report.lookup.hit
    await session.perform(work("press", keys="Enter"))
    assert await session.tabs.current.page.locator("#said").inner_text() == "cheese is butter;"


async def test_a_new_line_among_others_is_told_by_the_focus(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)
    await session.perform(work("click", {"role": "button", "name": "Add a line"}))
    step = work("fill", {"role": "textbox", "nth": -1}, text="wine")
    target = (await session.perform(replace(step, learning=True))).target
    assert target is not None
    await opened(session, site, f"{PAGE}?names=bread,oil")
    await session.perform(work("click", {"role": "button", "name": "Add a line"}))

    report = await session.perform(replace(step, query=None, target=target))

    assert report.lookup.hit
    assert await session.tabs.current.page.locator("#lines > div").all_inner_texts() == ["bread", "oil", "wine"]


async def test_a_nameless_field_elsewhere_is_not_the_one_that_was_opened(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)
    recorded = await renamed(session, "notes")
    await opened(session, site, f"{PAGE}?stuck")
    await session.perform(work("click", {"role": "button", "name": "notes"}))  # the focus goes to the filter

    report = await session.perform(recorded)

    assert not report.lookup.hit
    assert await session.tabs.current.page.locator(".filter").input_value() == ""


@pytest.mark.parametrize("query", ["", "?loaded"])
async def test_the_focus_that_the_step_or_a_page_that_is_loaded_gives_is_not_recorded(
    session: ChromiumSession, site: Site, query: str
) -> None:
    await opened(session, site, PAGE + query)

    report = await session.perform(replace(work("fill", {"css": ".filter"}, text="n"), learning=True))

    assert report.target is not None
    assert not report.target.focused
