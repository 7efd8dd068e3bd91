"""Forms that are drawn otherwise once they are worked in, or at the next visit: their fields are the same ones."""

from dataclasses import replace

import pytest

from replaywright.browser.session import ChromiumSession
from replaywright.domain.page.snapshots import Snapshot
from tests.adapters.browser_site import Site
from tests.adapters.steps import holds, opened, work
from tests.pages.harness import AgentPage

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


@pytest.mark.parametrize(
    "query",
    [{"role": "textbox", "name": "Due"}, {"placeholder": "0000-00-00 00:00", "nth": 2}, {"css": "input", "nth": 3}],
)
async def test_examples_of_the_day_do_not_say_which_field_it_is(
    session: ChromiumSession, site: Site, query: dict[str, object]
) -> None:
    await opened(session, site, PAGE)
    step = work("fill", query, text="soon")
    target = (await session.perform(replace(step, learning=True))).target
    assert target is not None
    for day in (1, -1):  # the example of one field is that of the other on the day before
        await opened(session, site, f"{PAGE}?{day}")

        report = await session.perform(replace(step, query=None, target=target))

        assert (report.lookup.hit, report.lookup.healed, report.target) == (True, False, target)


@pytest.mark.parametrize(
    ("placeholder", "said"),
    [
        ("11/29/2026 10:03 pm", "00/00/0000 00:00"),
        ("e.g. 2026-11-29T10:03:20", "e.g. 0000-00-00T00:00:00"),
        ("29. 11. 2026", "00. 00. 0000"),
        ("9.1.26 – 9.2.26", "00.00.00 – 00.00.00"),
        ("From 29 Nov 2026", "From 00 0000"),
        ("December 1st, 2026, 9:30 AM", "00, 0000, 00:00"),
        ("Player 2", "Player 2"),
        ("8.8.4.4", "8.8.4.4"),
        ("192.168.10.12", "192.168.10.12"),
        ("555-0142", "555-0142"),
        ("1,200.50", "1,200.50"),
    ],
)
async def test_a_date_in_a_placeholder_is_told_by_its_form(agent: AgentPage, placeholder: str, said: str) -> None:
    await agent.show(f"<input placeholder='{placeholder}'><input aria-label=Other>")

    taken = Snapshot.model_validate(await agent.call("replaywright.snapshot({maxMs: 60000})"))

    target = taken.elements[0].target
    assert (target.name, target.attributes["placeholder"]) == (said, said)
    assert (target.css == f'input[placeholder="{placeholder}"]') == (placeholder == said)
