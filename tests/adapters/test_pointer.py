"""The pointer on pages that make it hard: click variants, menus, dragging, scrolling, covers, pages that never rest."""

from typing import Any

import pytest

from replaywright.browser.session import ChromiumSession
from replaywright.domain.page.targets import Target
from replaywright.domain.task.actions import Cause, Effect
from replaywright.errors import ActionFailed
from replaywright.ports.browser import Report
from tests.adapters.browser_site import Site
from tests.adapters.steps import button, link, opened, says, work


async def failure(session: ChromiumSession, *given: Any, **more: Any) -> ActionFailed:
    with pytest.raises(ActionFailed) as caught:
        await session.perform(work(*given, **more))
    return caught.value


async def holds(session: ChromiumSession, text: str) -> bool:
    [verdict] = (await session.perform(work("wait_for", expect=[says(text)], timeout_ms=1000))).after
    return verdict.passed


def succeeded(report: Report) -> bool:
    return report.acted and all(verdict.passed for verdict in report.after)


# ---------------------------------------------------------------------------------------------- clicks


@pytest.mark.parametrize(
    ("action", "how", "seen"),
    [
        ("click", {}, "click button 0"),
        ("click", {"button": "middle"}, "auxclick button 1"),
        ("click", {"button": "right"}, "menu open"),
        ("click", {"modifiers": ["Shift"]}, "click button 0 shiftKey, held Shift"),
        (
            "click",
            {"modifiers": ["Meta", "Alt", "Control"]},
            "click button 0 ctrlKey altKey metaKey, held Alt+Control+Meta",
        ),
        ("double_click", {"modifiers": ["Alt"]}, "dblclick button 0 altKey"),
    ],
)
async def test_every_button_and_modifier_arrives_as_such(
    session: ChromiumSession, site: Site, action: str, how: dict[str, Any], seen: str
) -> None:
    await opened(session, site, "pointer_clicks.html")

    report = await session.perform(work(action, button("Row"), expect=[says(seen)], **how))

    assert succeeded(report)
    assert report.evidence.input_landed
    assert session.tabs.current.title == "Pointer"


async def test_a_menu_of_the_right_button_is_used_like_any_other(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "pointer_clicks.html")

    await session.perform(work("click", button("Row"), button="right"))
    report = await session.perform(work("click", {"role": "menuitem", "name": "Rename"}, expect=[says("renamed")]))

    assert succeeded(report)


@pytest.mark.parametrize("how", [{"modifiers": ["Control"]}, {"button": "middle"}])
async def test_a_link_clicked_for_another_tab_opens_one(
    session: ChromiumSession, site: Site, how: dict[str, Any]
) -> None:
    await opened(session, site, "pointer_clicks.html")

    learned = await session.perform(work("click", link("Second page"), **how))
    opened_at = session.url
    await session.perform(work("close_tab"))
    replayed = await session.perform(work("click", link("Second page"), causes=learned.evidence.causes, **how))

    for report in (learned, replayed):
        assert Cause.POPUP in report.evidence.causes
        assert Cause.NEW_DOCUMENT not in report.evidence.causes
    assert opened_at == session.url == site.url("browser_second.html")


async def test_a_position_counts_from_the_corner_of_the_element_wherever_it_is_scrolled_to(
    session: ChromiumSession, site: Site
) -> None:
    await opened(session, site, "pointer_clicks.html")
    places = [("Map", "map", {"x": 20, "y": 2300}), ("Map", "map", {"x": 590, "y": 5})]
    places.append(("Timeline", "pan", {"x": 1400, "y": 850}))

    for name, shown, place in places:
        wanted = says(f"{shown} at {place['x']}, {place['y']}")
        report = await session.perform(work("click", {"role": "img", "name": name}, position=place, expect=[wanted]))
        assert succeeded(report), (name, place)


async def test_a_position_outside_of_the_element_is_refused_with_the_size(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "pointer_clicks.html")

    refused = await failure(
        session, "click", {"role": "img", "name": "Map"}, position={"x": 700, "y": 5}, timeout_ms=800
    )

    assert refused.reason == "position_outside"
    assert not refused.dispatched
    assert "position" in str(refused)
    assert "700, 5" in str(refused)
    assert "600 × 2400" in str(refused)
    assert await holds(session, "untouched")


# --------------------------------------------------------------------------------------------- dragging


def item(name: str) -> dict[str, str]:
    return {"role": "listitem", "text": name}


def into(name: str) -> dict[str, str]:
    return {"role": "list", "name": name}


@pytest.mark.parametrize(
    ("what", "how", "result"),
    [
        ("Write", {"to": into("Done")}, "Write is in Done"),
        ("Test", {"to": into("Archive")}, "Test is in Archive"),
        ("One", {"to": item("Three")}, "Ranking: Two Three One Four"),
        ("Four", {"to": item("One")}, "Ranking: Four One Two Three"),
        ("Two", {"to": into("Shortlist")}, "Shortlist: Two"),
        ("Two", {"to": into("Archive")}, "Archive: Two"),
    ],
)
async def test_an_element_is_dragged_to_another_one(
    session: ChromiumSession, site: Site, what: str, how: dict[str, Any], result: str
) -> None:
    await opened(session, site, "pointer_drag.html")

    report = await session.perform(work("drag", item(what), instruction=what, expect=[says(result)], **how))

    assert succeeded(report)
    assert report.evidence.input_landed
    assert report.evidence.observed_effect is Effect.READ


LISTS = {
    "Half": "Ann Bob Cid Dan Eve",
    "Uneven": "Ash Birch Cedar Elm Fir",
    "Edge": "Add Cut Pay Run Set",
    "Itself": "Red Tan Sky Jet Ivy",
    "Native": "Oak Yew Box Bay",
    "Grid": "P1 P2 P3 P4 P5 P6 P7 P8 P9",
}
MOVES = {
    "Half": [(3, 2), (1, 2), (0, 4), (4, 0), (3, 1)],
    "Uneven": [(0, 1), (1, 0), (4, 1), (0, 3), (3, 2)],
    "Edge": [(1, 0), (0, 1), (4, 2), (0, 4)],
    "Itself": [(3, 2), (1, 2), (4, 0), (0, 3)],
    "Native": [(0, 1), (3, 2), (3, 0), (0, 2)],
    "Grid": [(2, 3), (3, 2), (4, 1), (1, 4), (8, 0), (0, 8), (6, 5), (5, 4), (4, 5)],
}


@pytest.mark.parametrize(
    "name", [name if name in ("Half", "Native") else pytest.param(name, marks=pytest.mark.long) for name in LISTS]
)
async def test_an_item_takes_the_place_of_the_one_it_is_dropped_on_however_its_list_makes_room(
    session: ChromiumSession, site: Site, name: str
) -> None:
    for start, end in MOVES[name]:
        await opened(session, site, "pointer_order.html")
        items = LISTS[name].split()
        what, to = items[start], items[end]
        items.insert(end, items.pop(start))

        report = await session.perform(work("drag", item(what), instruction=what, to=item(to)))

        assert report.evidence.input_landed
        assert await session.tabs.current.page.inner_text("#out") == f"{name}: {' '.join(items)}", (what, to)


@pytest.mark.parametrize(
    ("what", "to", "result"),
    [("Write", into("Done"), "Write is in Done"), ("One", item("Three"), "Ranking: Two Three One Four")],
)
async def test_an_element_inside_a_frame_is_dragged_there(
    session: ChromiumSession, site: Site, what: str, to: dict[str, str], result: str
) -> None:
    await opened(session, site, "pointer_framed.html")

    report = await session.perform(work("drag", item(what), instruction=what, to=to, expect=[says(result)]))

    assert succeeded(report)


async def test_an_element_that_captures_the_pointer_is_dragged_by_a_distance(
    session: ChromiumSession, site: Site
) -> None:
    await opened(session, site, "pointer_drag.html")

    report = await session.perform(
        work("drag", button("Pin"), by={"x": 170, "y": 60}, expect=[says("pin at 170px")], instruction="the pin")
    )

    assert succeeded(report)


@pytest.mark.parametrize(
    ("what", "to", "reason"),
    [
        ("Write", "Closed", "not_dropped"),
        pytest.param("Write", "Nowhere", "no_destination", marks=pytest.mark.long),
        ("One", "Nowhere", "no_destination"),
    ],
)
async def test_a_drag_that_cannot_land_fails_with_the_reason(
    session: ChromiumSession, site: Site, what: str, to: str, reason: str
) -> None:
    await opened(session, site, "pointer_drag.html")

    failed = await failure(session, "drag", item(what), to=into(to), instruction=what, timeout_ms=3000)

    assert failed.reason == reason
    assert failed.dispatched is (reason == "not_dropped")


@pytest.mark.parametrize(("what", "to", "outcome"), [("Write", "Done", "put back"), ("One", "Shortlist", "called off")])
async def test_a_destination_that_is_covered_during_the_drag_gets_no_drop(
    session: ChromiumSession, site: Site, what: str, to: str, outcome: str
) -> None:
    await opened(session, site, "pointer_drag.html?trap")

    failed = await failure(session, "drag", item(what), to=into(to), instruction=what, timeout_ms=30_000)

    assert failed.reason == "intercepted"
    assert failed.dispatched
    assert await holds(session, outcome)


async def test_the_keys_and_buttons_are_up_again_after_a_drag_that_failed(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "pointer_drag.html?trap")
    await failure(session, "drag", item("One"), to=into("Shortlist"), instruction="One", timeout_ms=30_000)
    await opened(session, site, "pointer_drag.html")

    report = await session.perform(
        work("drag", item("Four"), to=into("Shortlist"), instruction="Four", expect=[says("Shortlist: Four")])
    )

    assert succeeded(report)


# --------------------------------------------------------------------------------------------- scrolling


async def test_an_area_with_its_own_scroll_is_scrolled_to_its_end(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "pointer_lists.html")
    terms = {"role": "region", "name": "Terms"}
    place = "document.getElementById('static')"
    page = session.tabs.current.page

    await session.perform(work("scroll", terms, to="bottom", instruction="the terms"))
    bottom = await page.evaluate(f"[scrollY, {place}.scrollTop + {place}.clientHeight - {place}.scrollHeight]")
    await session.perform(work("scroll", terms, to="top", instruction="the terms"))
    top = await page.evaluate(f"{place}.scrollTop")

    assert (bottom, top) == ([0, 0], 0)


async def test_an_area_is_scrolled_after_the_permission(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "pointer_lists.html")
    page = session.tabs.current.page
    area = "document.getElementById('static')"
    seen: list[int] = []

    async def permission(*_: object) -> None:
        seen.append(await page.evaluate(f"{area}.scrollTop"))

    await session.perform(
        work("scroll", {"role": "region", "name": "Terms"}, to="bottom", instruction="the terms"), permission
    )

    assert seen == [0]
    assert await page.evaluate(f"{area}.scrollTop + {area}.clientHeight - {area}.scrollHeight") == 0


async def test_what_cannot_be_scrolled_is_refused(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "pointer_lists.html")

    refused = await failure(session, "scroll", {"role": "status"}, to="bottom", instruction="out", timeout_ms=800)

    assert refused.reason == "not_scrollable"
    assert "to: bottom" in str(refused)


async def clicked(session: ChromiumSession) -> list[str]:
    clicks: list[str] = await session.tabs.current.page.evaluate("clicks")
    return clicks


@pytest.mark.parametrize(("address", "order"), [pytest.param("", 60, marks=pytest.mark.long), ("?end", 95)])
async def test_a_row_that_is_made_while_scrolling_is_found_in_both_directions(
    session: ChromiumSession, site: Site, address: str, order: int
) -> None:
    await opened(session, site, f"pointer_lists.html{address}")
    cell = {"role": "cell", "name": f"Order {order}"}

    report = await session.perform(work("click", cell, timeout_ms=60_000))

    assert report.acted
    assert await clicked(session) == [f"Order {order}"]


@pytest.mark.long
async def test_a_recorded_button_of_a_row_that_is_not_there_yet_is_found_again(
    session: ChromiumSession, site: Site
) -> None:
    await opened(session, site, "pointer_lists.html")
    await session.perform(work("click", {"role": "cell", "name": "Order 70"}, timeout_ms=60_000))
    place = "//div[span='Order 70']//button"
    button_of = session.tabs.current.page.locator(f"xpath={place}")
    assert await button_of.count() == 1
    described = await session.tabs.current.call(
        session.tabs.current.main,
        f'replaywright.describe(document.evaluate("{place}", document, null, 9).singleNodeValue)',
        timeout_s=5,
    )
    await opened(session, site, "pointer_lists.html")

    report = await session.perform(work("click", Target.model_validate(described), timeout_ms=60_000))

    assert report.lookup.hit, report.lookup
    assert await holds(session, "opened Order 70")
    assert await clicked(session) == ["Open"]


async def test_rows_that_are_fetched_at_the_end_are_waited_for(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "pointer_lists.html")

    report = await session.perform(work("click", button("Read story 47"), timeout_ms=60_000, expect=[says("read 47")]))

    assert succeeded(report)


async def test_what_is_in_no_list_is_a_miss_within_the_budget_and_nothing_is_touched(
    session: ChromiumSession, site: Site
) -> None:
    await opened(session, site, "pointer_lists.html")

    report = await session.perform(work("click", button("Read story 99"), timeout_ms=6_000))

    assert (report.acted, report.lookup.reason) == (False, "not_found")
    assert await clicked(session) == []
    assert await holds(session, "untouched")


# ------------------------------------------------------------------------------------------------ menus


def entry(name: str) -> dict[str, str]:
    return {"role": "menuitem", "name": name}


@pytest.mark.parametrize(("query", "hidden"), [({"role": "menuitem", "name": "Export"}, 1), (link("Export"), 0)])
async def test_a_miss_counts_the_elements_that_are_so_and_that_nobody_can_see(
    session: ChromiumSession, site: Site, query: dict[str, str], hidden: int
) -> None:
    await opened(session, site, "pointer_menus.html")

    report = await session.perform(work("click", query, timeout_ms=1_000))

    assert (report.lookup.reason, report.lookup.hidden) == ("not_found", hidden)


@pytest.mark.parametrize(
    ("way", "last", "result"),
    [(("File", "Export"), "PDF", "exported as PDF"), (("Share", "People"), "Cleo", "shared with Cleo")],
)
async def test_a_menu_stays_open_on_the_way_to_an_item_of_its_submenu(
    session: ChromiumSession, site: Site, way: tuple[str, ...], last: str, result: str
) -> None:
    await opened(session, site, "pointer_menus.html")

    for name in way:
        assert succeeded(await session.perform(work("hover", entry(name))))
    report = await session.perform(work("click", entry(last), expect=[says(result)]))

    assert succeeded(report)


async def test_a_menu_is_closed_by_the_pointer_going_elsewhere(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "pointer_menus.html")

    people = {"exists": entry("People")}
    over = await session.perform(work("hover", entry("Share"), expect=[people]))
    off = await session.perform(work("hover", entry("Print"), expect=[{"not_exists": entry("People")}]))

    assert succeeded(over)
    assert succeeded(off)


# ------------------------------------------------------------------------------------------------ covers


async def test_an_element_between_two_bars_that_stick_to_the_window_is_brought_out(
    session: ChromiumSession, site: Site
) -> None:
    await opened(session, site, "pointer_covers.html")

    for name, said in (("Save", "saved"), ("Delete", "deleted")):
        assert succeeded(await session.perform(work("click", button(name), expect=[says(said)])))


@pytest.mark.parametrize("goes", ["fading", "rule"])
async def test_a_cover_that_goes_away_by_itself_is_waited_out(session: ChromiumSession, site: Site, goes: str) -> None:
    await opened(session, site, f"pointer_covers.html?{goes}")

    report = await session.perform(work("click", button("Save"), expect=[says("saved")]))

    assert succeeded(report)


@pytest.mark.parametrize("action", ["click", "double_click", "hover"])
async def test_a_cover_that_stays_is_named_and_not_touched(session: ChromiumSession, site: Site, action: str) -> None:
    await opened(session, site, "pointer_covers.html?stays")

    refused = await failure(session, action, button("Save"), timeout_ms=1500)

    assert (refused.reason, refused.dispatched) == ("covered", False)
    assert 'alertdialog "Newsletter"' in str(refused)
    assert await holds(session, "untouched")


# ------------------------------------------------------------------------------- pages that draw anew


async def remove_of(session: ChromiumSession, name: str) -> Target:
    place = f"//li[span='{name}']//button"
    script = f'replaywright.describe(document.evaluate("{place}", document, null, 9).singleNodeValue)'
    told = await session.tabs.current.call(session.tabs.current.main, script, timeout_s=5)
    return Target.model_validate(told)


@pytest.mark.parametrize("kind", ["", "always", "down"])
async def test_a_page_that_draws_itself_anew_all_the_time_gets_the_press_where_it_belongs(
    session: ChromiumSession, site: Site, kind: str
) -> None:
    await opened(session, site, "pointer_redrawn.html")
    target = await remove_of(session, "Cleo")
    await opened(session, site, f"pointer_redrawn.html?{kind}")

    presses: list[str] = []
    stopped: list[ActionFailed] = []
    for _ in range(5):
        try:
            await session.perform(work("click", target, timeout_ms=6000))
            presses = await session.tabs.current.page.evaluate("presses")
        except ActionFailed as failed:  # stopped, which is right: nothing was pressed then
            stopped.append(failed)
        if presses:
            break

    assert presses
    assert not any(failed.dispatched for failed in stopped)
    assert {press.split()[1] for press in presses} == {"Cleo"}


@pytest.mark.parametrize("kind", ["sorting", "over"])
async def test_a_list_that_is_sorted_while_the_pointer_comes_never_gets_the_press_of_another_row(
    session: ChromiumSession, site: Site, kind: str
) -> None:
    await opened(session, site, "pointer_redrawn.html")
    target = await remove_of(session, "Bob")
    await opened(session, site, f"pointer_redrawn.html?{kind}")

    stopped: list[ActionFailed] = []
    for _ in range(6):
        try:
            await session.perform(work("click", target, timeout_ms=2000))
        except ActionFailed as failed:
            stopped.append(failed)
    presses = await session.tabs.current.page.evaluate("presses")

    assert not any(failed.dispatched for failed in stopped)
    assert {press.split()[1] for press in presses} <= {"Bob"}


async def test_two_buttons_that_change_places_under_the_pointer_are_not_mistaken(
    session: ChromiumSession, site: Site
) -> None:
    await opened(session, site, "pointer_redrawn.html?swap")

    report = await session.perform(work("click", button("Clear list"), expect=[says("pressed all")]))

    assert succeeded(report)
    assert await session.tabs.current.page.evaluate("presses") == ["mousedown all", "click all"]


async def test_a_box_that_became_ticked_while_its_press_was_stopped_needs_no_other_press(
    session: ChromiumSession, site: Site
) -> None:
    await opened(session, site, "pointer_redrawn.html?ticked")

    report = await session.perform(work("check", {"role": "checkbox", "name": "Invoice"}, timeout_ms=4000))

    ticked = await session.tabs.current.page.evaluate(
        "[...document.querySelectorAll('input')].map((box) => box.checked)"
    )
    assert report.lookup.hit
    assert not report.acted
    assert ticked == [False, True]
    assert await session.tabs.current.page.evaluate("presses") == []


async def test_buttons_that_go_on_changing_places_get_no_press(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "pointer_redrawn.html?swap&always")

    stopped = await failure(session, "click", button("Clear list"))

    assert (stopped.reason, stopped.dispatched) == ("intercepted", False)
    assert 'button "Keep list"' in str(stopped)
    assert await session.tabs.current.page.evaluate("presses") == []


# ---------------------------------------------------------------------------------------------- sliders


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Native", "75"),
        ("Volume", "437"),
        ("Volume", "1000"),
        ("Volume", "0"),
        ("Lowest price", "55"),
        ("Highest price", "35"),
        ("Gain", "-3.5"),
        ("Zoom", "37"),
        ("Zoom", "3"),
    ],
)
async def test_a_slider_is_moved_until_it_has_the_value(
    session: ChromiumSession, site: Site, name: str, value: str
) -> None:
    await opened(session, site, "pointer_sliders.html")
    slider = {"role": "slider", "name": name}

    report = await session.perform(work("fill", slider, text=value, timeout_ms=60_000))
    again = await session.perform(work("fill", slider, text=value))

    assert succeeded(report)
    assert not again.acted


async def test_a_page_that_takes_the_value_of_a_native_slider_when_a_key_is_let_go_gets_it(
    session: ChromiumSession, site: Site
) -> None:
    await opened(session, site, "pointer_sliders.html")

    await session.perform(work("fill", {"role": "slider", "name": "Native"}, text="75"))

    assert await session.tabs.current.page.evaluate("taken.value") == "75"


@pytest.mark.parametrize(
    ("name", "value", "nearest"),
    [("Lowest price", "52", "50"), pytest.param("Highest price", "10", "20", marks=pytest.mark.long)],
)
async def test_a_value_that_a_slider_does_not_have_is_refused_with_the_nearest(
    session: ChromiumSession, site: Site, name: str, value: str, nearest: str
) -> None:
    await opened(session, site, "pointer_sliders.html")

    failed = await failure(session, "fill", {"role": "slider", "name": name}, text=value, timeout_ms=60_000)

    assert failed.reason == "value_differs"
    assert str(failed).endswith(f"the nearest that was reached is {nearest}")


@pytest.mark.parametrize(("value", "said"), [("51", "from 0 to 50"), ("half", "a number from 0 to 50")])
async def test_a_slider_takes_only_numbers_in_its_range(
    session: ChromiumSession, site: Site, value: str, said: str
) -> None:
    await opened(session, site, "pointer_sliders.html")

    failed = await failure(session, "fill", {"role": "slider", "name": "Zoom"}, text=value, timeout_ms=800)

    assert (failed.reason, failed.dispatched) == ("no_such_value", False)
    assert said in str(failed)
    assert await holds(session, "untouched")


@pytest.mark.parametrize("kind", ["mousedown", "mouseup", "pointerdown", "pointerup"])
async def test_a_menu_that_acts_before_the_click_and_goes_away_was_pressed_once(
    session: ChromiumSession, site: Site, kind: str
) -> None:
    await opened(session, site, "pointer_release.html")

    report = await session.perform(work("click", {"role": "menuitem", "name": f"Rename on {kind}"}))

    assert report.acted
    assert report.evidence.input_landed
    assert await holds(session, "renamed 1")
