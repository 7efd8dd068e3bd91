"""Choosing from lists, native ones and those that pages make themselves, against a real Chromium."""

from typing import Any

import pytest

from replaywright.browser.session import ChromiumSession
from replaywright.errors import ActionFailed
from replaywright.ports.browser import Report
from tests.adapters.browser_site import Site
from tests.adapters.steps import holds, opened, says, work

PAGE = "forms_choose.html"


async def choose(session: ChromiumSession, target: dict[str, str], *labels: str, **more: Any) -> Report:
    which: dict[str, Any] = {"value": labels[0]} if len(labels) == 1 else {"values": labels}
    return await session.perform(work("select_option", target, **which, **more))


async def text_of(session: ChromiumSession, css: str) -> str:
    fields = {"it": {"find": {"css": css}}}
    return str((await session.perform(work("extract", fields=fields))).extracted["it"])


async def log_of(session: ChromiumSession) -> str:
    """What the page noted, without the word that it begins with."""
    return (await text_of(session, "#log")).removeprefix("nothing;").strip()


TOPPINGS = {"label": "Toppings"}


async def test_several_options_of_a_native_list_are_chosen_and_the_others_are_not(
    session: ChromiumSession, site: Site
) -> None:
    await opened(session, site, PAGE)

    report = await choose(session, TOPPINGS, "Mushrooms", "Rocket")
    again = await choose(session, TOPPINGS, "Rocket", "Mushrooms")

    assert holds(report)
    assert report.acted
    assert not again.acted
    assert await log_of(session) == "toppings mush,Rocket;"


async def test_options_of_one_name_are_told_apart_by_their_group(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)

    report = await choose(session, TOPPINGS, "Cold / Ham")
    with pytest.raises(ActionFailed, match="2 options are called Ham") as refused:
        await choose(session, TOPPINGS, "Ham", timeout_ms=600)

    assert holds(report)
    assert not refused.value.dispatched


@pytest.mark.parametrize(
    ("target", "labels", "message"),
    [
        ({"label": "Size"}, ["Huge"], r"Small \| Medium \| Large"),
        ({"label": "Size"}, ["Small", "Large"], "one option only"),
        (TOPPINGS, ["Truffle"], "disabled"),
        ({"role": "listbox", "name": "Days"}, ["Sunday"], r"Monday \| Tuesday \| Wednesday"),
        ({"label": "Colour"}, ["Green"], r"Red \| Blue"),
    ],
)
async def test_an_option_that_is_not_there_is_refused_untouched(
    session: ChromiumSession, site: Site, target: dict[str, str], labels: list[str], message: str
) -> None:
    await opened(session, site, PAGE)

    with pytest.raises(ActionFailed, match=message) as refused:
        await choose(session, target, *labels, timeout_ms=600)

    assert not refused.value.dispatched
    assert await log_of(session) == ""


async def test_options_that_come_after_another_choice_are_waited_for(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)

    await choose(session, {"label": "Land"}, "Austria")
    report = await choose(session, {"label": "City"}, "Wien")

    assert holds(report)


async def test_a_list_that_only_sets_something_off_is_judged_by_what_is_expected(
    session: ChromiumSession, site: Site
) -> None:
    await opened(session, site, PAGE)

    report = await choose(session, {"label": "Actions"}, "Archive", expect=[says("action Archive")])
    with pytest.raises(ActionFailed, match="but the list shows"):
        await choose(session, {"label": "Actions"}, "Delete")

    assert holds(report)


FRUIT = {"css": "#fruit"}


async def test_a_button_with_a_list_elsewhere_in_the_document_and_late_options(
    session: ChromiumSession, site: Site
) -> None:
    await opened(session, site, PAGE)

    report = await choose(session, FRUIT, "Pear")
    again = await choose(session, FRUIT, "Pear")

    assert holds(report)
    assert await text_of(session, "#fruit") == "Pear"
    assert await log_of(session) == "fruit Pear;"
    assert not again.acted


async def test_two_options_of_one_name_in_a_list_of_the_page_are_refused_and_neither_is_pressed(
    session: ChromiumSession, site: Site
) -> None:
    await opened(session, site, PAGE)

    with pytest.raises(ActionFailed, match="2 options are called Plum"):
        await choose(session, FRUIT, "Plum", timeout_ms=2500)

    assert await text_of(session, "#fruit") == "Choose…"


async def test_a_missing_option_of_a_list_of_the_page_is_named_with_those_there_are(
    session: ChromiumSession, site: Site
) -> None:
    await opened(session, site, PAGE)

    with pytest.raises(ActionFailed, match=r"it has Apple \| Pear \| Pear tree"):
        await choose(session, FRUIT, "Cherry", timeout_ms=2500)


@pytest.mark.parametrize("name", ["Ann Smith", "Zoë Quinn", "张伟"])
async def test_a_field_that_asks_the_server_is_typed_into_and_its_option_pressed(
    session: ChromiumSession, site: Site, name: str
) -> None:
    await opened(session, site, PAGE)

    report = await choose(session, {"label": "Person"}, name)

    assert holds(report)
    assert await log_of(session) == f"person {name};"


async def test_a_suggestion_of_the_browser_is_entered_by_its_value(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)

    report = await choose(
        session, {"label": "Colour"}, "Blue", expect=[{"value_equals": "#00f", "of": {"label": "Colour"}}]
    )

    assert holds(report)


async def test_chips_are_chosen_one_after_the_other_through_a_box_around_the_field(
    session: ChromiumSession, site: Site
) -> None:
    await opened(session, site, PAGE)

    report = await choose(session, {"css": "#tags-field"}, "press", "urgent")

    assert holds(report)
    assert await log_of(session) == "tag press; tag urgent;"


@pytest.mark.parametrize("name", ["Days", "Files"])
async def test_a_listbox_ends_with_exactly_the_wanted_options(session: ChromiumSession, site: Site, name: str) -> None:
    await opened(session, site, PAGE)
    labels = {"Days": ("Monday", "Wednesday"), "Files": ("b.txt", "c.txt")}[name]
    target = {"role": "listbox", "name": name}

    report = await choose(session, target, *labels)
    again = await choose(session, target, *labels)

    assert holds(report)
    assert report.acted
    assert not again.acted
    chosen = f"#{name.lower()} [aria-selected=true]"
    fields = {"count": {"take": "count", "type": "integer", "find": {"css": chosen}}}
    assert (await session.perform(work("extract", fields=fields))).extracted == {"count": 2}


async def test_a_list_that_draws_only_its_window_is_scrolled_to_the_option(
    session: ChromiumSession, site: Site
) -> None:
    await opened(session, site, PAGE)

    report = await choose(session, {"role": "combobox", "name": "Number"}, "Entry 155", timeout_ms=60_000)

    assert holds(report)
    assert await text_of(session, "#number") == "Entry 155"


async def test_a_second_option_of_the_name_outside_the_window_is_noticed(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)

    with pytest.raises(ActionFailed, match="2 options are called Entry 60"):
        await choose(session, {"role": "combobox", "name": "Number"}, "Entry 60", timeout_ms=30_000)

    assert await text_of(session, "#number") == "none"


async def test_a_list_that_does_not_show_what_was_chosen_is_no_success(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)

    with pytest.raises(ActionFailed, match="but the list shows") as failed:
        await choose(session, {"label": "Stubborn"}, "Yes", timeout_ms=4000)

    assert failed.value.dispatched
