"""A page that loads its data over what was entered is not sent, where it had kept that when it was recorded."""

import json
from dataclasses import replace

import pytest

from replaywright.browser.session import ChromiumSession
from replaywright.errors import ActionFailed
from replaywright.ports.browser import Report, Work
from tests.adapters.browser_site import Site
from tests.adapters.steps import button, opened, work

PAGE = "overwritten.html"
NAME = work("fill", {"label": "Name"}, text="Ada")
TOWN = work("select_option", {"label": "Town"}, value="Pisa")
NEWS = work("check", {"label": "News"})
TAGS = work("type", {"label": "Tags"}, text="red")
SAVE = work("click", button("Save"))


async def saved(session: ChromiumSession) -> object:
    said = await session.tabs.current.page.locator("#saved").inner_text()
    return json.loads(said) if said else None


async def learned(session: ChromiumSession, *steps: Work) -> Report:
    for step in steps:
        await session.perform(step)
    return await session.perform(replace(SAVE, learning=True))


@pytest.mark.parametrize(("step", "name"), [(NAME, "Name"), (TOWN, "Town"), (NEWS, "News")])
async def test_what_the_page_has_changed_since_is_not_sent_until_it_is_entered_again(
    session: ChromiumSession, site: Site, step: Work, name: str
) -> None:
    await opened(session, site, PAGE)
    assert (await learned(session, step)).keeps_entries
    press = replace(SAVE, keeps_entries=True)
    await opened(session, site, f"{PAGE}?late")
    await session.perform(step)
    await session.tabs.current.page.evaluate("show()")

    with pytest.raises(ActionFailed, match=f"changed what was entered in '{name}'") as failed:
        await session.perform(press)
    with pytest.raises(ActionFailed, match=name):
        await session.perform(press)
    nothing = await saved(session)
    await session.perform(step)
    await session.perform(press)

    assert (failed.value.reason, failed.value.dispatched, nothing) == ("entry_lost", False, None)
    expected = {"name": "Eve", "town": "Riga", "tags": "", "due": "", "all": ""}
    given = {"Name": {"name": "Ada"}, "Town": {"town": "Pisa"}, "News": {"news": "on"}}
    assert await saved(session) == expected | given[name]


async def test_a_field_that_took_what_was_entered_elsewhere_had_not_kept_it_when_it_was_recorded(
    session: ChromiumSession, site: Site
) -> None:
    await opened(session, site, PAGE)

    report = await learned(session, NAME, TAGS, NEWS)

    assert not report.keeps_entries
    assert await saved(session) == {"name": "Ada", "town": "Riga", "news": "on", "tags": "", "due": "", "all": "red "}


async def test_entries_count_until_the_next_press_and_only_of_fields_that_are_still_there(
    session: ChromiumSession, site: Site
) -> None:
    await opened(session, site, PAGE)
    await learned(session, NAME)
    await session.tabs.current.page.evaluate("form.name.value = 'Bob'")

    again = await session.perform(replace(SAVE, keeps_entries=True))
    await session.perform(TOWN)
    await session.tabs.current.page.evaluate("form.town.remove()")
    without = await session.perform(replace(SAVE, keeps_entries=True))

    assert (again.acted, without.acted) == (True, True)
    assert await saved(session) == {"name": "Bob", "tags": "", "due": "", "all": ""}


@pytest.mark.parametrize("learning", [True, False])
async def test_a_date_that_the_page_takes_for_another_one_is_not_sent(
    session: ChromiumSession, site: Site, learning: bool
) -> None:
    await opened(session, site, f"{PAGE}?day=11/29/2026")
    await session.perform(work("fill", {"label": "Due"}, text="2027-03-14"))
    await session.perform(TOWN)

    with pytest.raises(ActionFailed, match=r"another date in what was entered in 'Due' \(11/29/2026\)") as failed:
        await session.perform(replace(SAVE, learning=learning))
    refused = await saved(session)
    await session.perform(work("fill", {"label": "Due"}, text="03/14/2027"))
    await session.perform(replace(SAVE, learning=learning))

    assert (failed.value.reason, failed.value.dispatched, refused) == ("date_misread", False, None)
    assert await saved(session) == {"name": "Eve", "town": "Pisa", "tags": "", "due": "03/14/2027", "all": ""}


@pytest.mark.parametrize(
    ("entered", "shown"),
    [
        ("2027-03-14", "14.03.2027"),
        ("2027-03-14", "3/14/27, 12:00 AM"),
        ("14.3.2027", "2027-03-14"),
        ("2027-03-14", ""),
        ("2027-03-14", "Sunday"),
        ("10.0.20.3", "10.0.20.4"),
        ("1.2.3", "1.2.4"),
    ],
)
async def test_the_same_date_in_other_words_is_kept_and_so_is_what_is_no_date(
    session: ChromiumSession, site: Site, entered: str, shown: str
) -> None:
    await opened(session, site, PAGE)
    await session.perform(work("fill", {"label": "Due"}, text=entered))
    await session.tabs.current.page.evaluate(f"form.due.value = {json.dumps(shown)}")

    report = await session.perform(replace(SAVE, learning=True))

    assert (report.acted, report.keeps_entries) == (True, False)
