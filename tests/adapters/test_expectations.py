"""What is expected of steps, on a real page: every predicate, patience, and steps whose result is there already."""

from typing import Any

import pytest

from replaywright.browser.session import ChromiumSession
from replaywright.domain.step.outcomes import Proof
from replaywright.errors import ActionFailed
from tests.adapters.browser_site import Site
from tests.adapters.steps import PREDICATE, button, holds, opened, says, work

PAGE = "expectations.html"
BADGE, NOTE = {"test_id": "badge"}, {"text": "Note at the end"}
ROWS = {"role": "row"}
MENU = button("Menu")


async def checked(session: ChromiumSession, *expect: dict[str, Any]) -> list[str]:
    """The verdicts now, as reasons."""
    verdicts = await session.check([PREDICATE.validate_python({**one, "within_ms": 0}) for one in expect], 5_000)
    return [verdict.reason for verdict in verdicts]


# ---------------------------------------------------------------------------------------------- each predicate


@pytest.mark.parametrize(
    ("name", "predicate", "before"),
    [
        ("Rename the page", {"title_contains": "another"}, "title_differs"),
        ("Scroll to the note", {"visible": NOTE}, "out_of_view"),
        ("Cover the badge", {"not_": {"visible": BADGE}}, "holds_but_must_not"),
        ("Add a row", {"count": ROWS, "equals": 2}, "count_differs"),
        ("Add a row", {"count": ROWS, "at_least": 2, "at_most": 3}, "count_differs"),
        ("Change the total", {"text_equals": "12 € (net)", "of": {"test_id": "total"}}, "text_differs"),
        ("Bold", {"checked": button("Bold")}, "not_checked"),
        ("Unlock", {"enabled": button("Locked")}, "disabled"),
        ("Post", {"response_status": "2xx"}, "no_response"),
        ("Post", {"response_status": 201, "of": "/things", "method": "post"}, "no_response"),
        ("Get what is not there", {"response_status": "404", "of": "/status-404"}, "no_response"),
        ("Ask", {"dialog_seen": "confirm: delete the row"}, "no_dialog"),
    ],
)
async def test_a_predicate_tells_what_a_step_brought_about(
    session: ChromiumSession, site: Site, name: str, predicate: dict[str, Any], before: str
) -> None:
    await opened(session, site, PAGE)

    report = await session.perform(work("click", button(name), expect=[predicate]))

    assert [verdict.reason for verdict in report.before] == [before]
    assert holds(report)
    assert report.proof is Proof.BECAME_TRUE


@pytest.mark.parametrize(
    ("predicate", "reason"),
    [
        ({"visible": {"text": "In the popover"}}, "none_found"),
        ({"visible": {"role": "button", "name": "Nowhere"}}, "none_found"),
        ({"text_equals": "12 €", "of": ROWS}, "text_differs"),
        ({"text_equals": "x", "of": {"role": "checkbox", "name": "x"}}, "none_found"),
        ({"checked": {"role": "button"}}, "ambiguous"),
        ({"checked": button("Unlock")}, "not_checkable"),
        ({"checked": {"label": "Send a copy"}}, "not_checked"),
        ({"not_": {"checked": {"label": "There is none"}}}, "none_found"),
        ({"enabled": button("Locked")}, "disabled"),
        ({"focused": {"label": "Name"}}, "not_focused"),
        ({"count": ROWS, "at_most": 0}, "count_differs"),
        ({"visible": BADGE}, "holds"),
        ({"enabled": button("Unlock")}, "holds"),
        ({"text_equals": "12 €", "of": {"test_id": "total"}}, "holds"),
        ({"title_contains": "EXPECT"}, "holds"),
    ],
)
async def test_a_predicate_that_does_not_hold_says_why(
    session: ChromiumSession, site: Site, predicate: dict[str, Any], reason: str
) -> None:
    await opened(session, site, PAGE)

    assert await checked(session, predicate) == [reason]


async def test_what_is_covered_is_there_but_not_visible(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)
    await session.perform(work("click", button("Cover the badge")))

    assert await checked(session, {"visible": BADGE}, {"exists": BADGE}) == ["out_of_view", "holds"]


# -------------------------------------------------------------------------------------------------- patience


async def test_what_comes_late_is_waited_for(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)

    report = await session.perform(work("click", button("Say it soon"), expect=[says("Here it is")]))

    assert holds(report)


async def test_patience_is_not_spent_while_an_answer_is_under_way(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)
    hasty = {**says("Here it is"), "within_ms": 300}

    slow = await session.perform(work("click", button("Say it after the answer"), expect=[hasty], causes=()))
    await opened(session, site, PAGE)
    at_rest = await session.perform(work("click", button("Say it soon"), expect=[hasty], causes=()))

    assert holds(slow)
    assert [verdict.reason for verdict in at_rest.after] == ["text_missing"]


async def test_a_page_at_rest_is_given_up_before_the_steps_time_is_over(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)
    never = {**says("Nobody says this"), "within_ms": 100}

    report = await session.perform(work("click", button("Add a row"), expect=[never], timeout_ms=300_000))

    assert [verdict.reason for verdict in report.after] == ["text_missing"]
    assert report.snapshot is not None


async def test_what_is_not_required_is_told_and_waited_for_no_longer_than_it_says(
    session: ChromiumSession, site: Site
) -> None:
    await opened(session, site, PAGE)
    never = {**says("Nobody says this"), "within_ms": 0, "required": False}

    report = await session.perform(work("click", button("Say it soon"), expect=[never, says("Here it is")]))

    assert [(verdict.reason, verdict.fails) for verdict in report.after] == [("text_missing", False), ("holds", False)]


# ------------------------------------------------------------------------------- what is as wanted already


@pytest.mark.parametrize(
    ("element", "content"),
    [(MENU, "Inside the menu"), (button("Details"), "Of the details"), (button("Popover"), "In the popover")],
)
async def test_what_opens_is_opened_once_and_closed_once(
    session: ChromiumSession, site: Site, element: dict[str, str], content: str
) -> None:
    await opened(session, site, PAGE)

    done = [
        await session.perform(work(action, element, instruction="it"))
        for action in ("expand", "expand", "collapse", "collapse")
    ]
    seen = await checked(session, says(content))

    assert [report.acted for report in done] == [True, False, True, False]
    assert all(report.lookup.hit for report in done)
    assert seen == ["text_missing"]


async def test_a_menu_that_closed_again_is_opened_again_by_the_same_step(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)
    expand = work("expand", MENU, instruction="the menu", expect=[says("Inside the menu")])

    first = await session.perform(expand)
    await session.perform(work("click", button("Add a row")))
    again = await session.perform(expand)

    assert (first.acted, again.acted) == (True, True)
    assert holds(again)


@pytest.mark.parametrize(
    ("element", "reason"), [(button("Stuck"), "state_differs"), (button("Opens nothing"), "not_expandable")]
)
async def test_what_does_not_open_is_no_success(
    session: ChromiumSession, site: Site, element: dict[str, str], reason: str
) -> None:
    await opened(session, site, PAGE)

    with pytest.raises(ActionFailed) as failed:
        await session.perform(work("expand", element, instruction="it", timeout_ms=1_500))

    assert failed.value.reason == reason


@pytest.mark.parametrize(
    ("action", "target", "text", "fields", "events"),
    [
        ("fill", {"label": "Name"}, "Ada", {}, "inputs"),
        ("select_option", {"label": "Size"}, None, {"value": "Large"}, "changes"),
    ],
)
async def test_what_is_there_already_is_left_alone_unless_it_is_always_to_be_done(  # noqa: PLR0917 - a table's row
    session: ChromiumSession,
    site: Site,
    action: str,
    target: dict[str, str],
    text: str | None,
    fields: Any,
    events: str,
) -> None:
    await opened(session, site, PAGE)

    done = [
        await session.perform(work(action, target, text=text, always=always, **fields)) for always in (None, None, True)
    ]
    counted = await session.perform(
        work("extract", fields={"events": {"find": {"test_id": events}, "type": "integer"}})
    )

    assert [report.acted for report in done] == [True, False, True]
    assert counted.extracted["events"] >= 2
