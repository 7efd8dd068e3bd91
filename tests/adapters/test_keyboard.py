"""Pages worked with the keyboard alone, against a real Chromium."""

from typing import Any

import pytest

from replaywright.browser.session import ChromiumSession
from replaywright.ports.browser import Report
from tests.adapters.browser_site import Site
from tests.adapters.steps import opened, says, work

PAGE = "forms_keys.html"


def focused(**query: str) -> dict[str, Any]:
    return {"focused": query}


async def press(session: ChromiumSession, *combinations: str, expect: dict[str, Any]) -> Report:
    """Press one after the other; the last one must lead to what is expected."""
    *before, last = combinations
    for combination in before:
        await session.perform(work("press", keys=combination))
    report = await session.perform(work("press", keys=last, expect=[expect], timeout_ms=3000))
    assert report.after[0].passed, report.after
    return report


async def on(session: ChromiumSession, target: dict[str, str], combination: str, *expect: dict[str, Any]) -> Report:
    report = await session.perform(work("press", target, keys=combination, instruction="it", expect=expect))
    assert all(verdict.passed for verdict in report.after), report.after
    return report


async def test_the_focus_goes_forth_and_back_through_the_fields(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)

    there = await press(session, "Tab", "Tab", expect=focused(label="Second"))
    await press(session, "Shift+Tab", expect=focused(label="First"))

    assert [verdict.passed for verdict in there.before] == [False]


async def test_a_form_is_filled_and_sent_by_keys_alone(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)

    for keys in ("Tab", "a", "Shift+b", "Tab", "ü", "+", "Space", "1"):
        await session.perform(work("press", keys=keys))

    await press(session, "Enter", expect=says("sent aB,ü+ 1"))


async def test_a_menu_bar_is_one_stop_and_the_arrows_go_through_it(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)

    await on(session, {"role": "menuitem", "name": "File"}, "ArrowRight", focused(role="menuitem", name="Edit"))
    await press(session, "ArrowRight", "Enter", expect=says("menu View"))
    await press(session, "Tab", "Shift+Tab", expect=focused(role="menuitem", name="View"))


async def test_the_active_descendant_of_a_list_counts_as_focused(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)
    mails = {"role": "listbox", "name": "Mails"}

    await on(session, mails, "ArrowDown", focused(role="option", name="One"))
    await press(session, "ArrowDown", expect=focused(role="option", name="Two"))
    await on(session, mails, "Enter", says("mail Two"))
    await on(session, mails, "Control+A", says("all mails"))


@pytest.mark.parametrize(
    ("combinations", "text"),
    [
        (["Control+K"], "palette"),
        (["Control+Shift+P"], "commands P"),
        (["g", "i"], "go to inbox"),
        (["?"], "help true"),
    ],
)
async def test_shortcuts_of_the_document_are_heard(
    session: ChromiumSession, site: Site, combinations: list[str], text: str
) -> None:
    await opened(session, site, PAGE)

    await press(session, *combinations, expect=says(text))


async def test_a_dialog_holds_the_focus_and_gives_it_back(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)

    await on(session, {"role": "button", "name": "Open"}, "Enter", focused(role="button", name="Yes"))
    await press(session, "Tab", "Space", expect={"exists": {"role": "dialog"}})
    await press(session, "Escape", expect=focused(role="button", name="Open"))
    await on(session, {"role": "button", "name": "Open"}, "Space", {"exists": {"role": "dialog"}})
    await press(session, "Enter", expect=says("yes"))


async def test_space_ticks_what_has_the_focus(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)

    await on(session, {"role": "checkbox", "name": "Agree"}, "Space")

    assert not (await session.perform(work("check", {"role": "checkbox", "name": "Agree"}))).acted


async def test_keys_reach_the_field_of_a_frame(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)
    inner = {"label": "Inner field"}

    await on(session, inner, "F2", says("F2 inside"), focused(**inner))
    await press(session, "x", expect={"value_equals": "x", "of": inner})
