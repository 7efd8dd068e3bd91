"""Forms that are drawn otherwise once they are worked in, or at the next visit: their fields are the same ones."""

from dataclasses import replace

from replaywright.browser.session import ChromiumSession
from tests.adapters.browser_site import Site
from tests.adapters.steps import holds, opened, work

PAGE = "changing_forms.html"
TYPE = {"role": "combobox", "name": "Type"}


async def test_an_editor_that_its_focus_empties_is_filled(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)

    report = await session.perform(work("fill", {"role": "textbox", "name": "Message"}, text="Dear all"))

    assert holds(report)
    body = session.tabs.current.page.frame_locator("iframe").locator("body")
    assert (await body.inner_text()).strip() == "Dear all"


async def test_a_heading_further_down_is_not_of_the_fields_before_it(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)
    first = (await session.perform(replace(work("select_option", TYPE, value="List"), learning=True))).target
    shown = (await session.perform(replace(work("select_option", TYPE, value="Text"), learning=True))).target
    await session.perform(work("select_option", TYPE, value="List"))
    answer = work("fill", {"role": "textbox", "name": "Answer"}, text="Oslo")
    inner = (await session.perform(replace(answer, learning=True))).target

    assert first is not None
    assert shown is not None
    assert inner is not None
    assert (first.container, shown.container, inner.container) == ("group", "group", 'group "Answers"')


async def test_an_example_that_is_the_present_date_says_not_which_field_it_is(
    session: ChromiumSession, site: Site
) -> None:
    await opened(session, site, PAGE)
    step = work("fill", {"role": "textbox", "name": "Due"}, text="soon")
    target = (await session.perform(replace(step, learning=True))).target
    assert target is not None
    await opened(session, site, PAGE)

    report = await session.perform(replace(step, query=None, target=target))

    seen = await session.tabs.current.page.locator(".due").get_attribute("placeholder")
    assert seen != target.attributes["placeholder"]
    assert (report.lookup.hit, report.lookup.healed) == (True, False)
