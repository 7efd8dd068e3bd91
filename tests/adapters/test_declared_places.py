"""Elements that a task declares by their position, their frame, or a selector that leads into shadow roots."""

from typing import Any

import pytest

from replaywright.browser.session import ChromiumSession
from tests.adapters.browser_site import Site
from tests.adapters.steps import PREDICATE, button, holds, opened, says, work

PAGE = "positions.html"
PICK, PRESS = button("Pick"), button("Press")


async def reasons(session: ChromiumSession, *expect: dict[str, Any]) -> list[str]:
    """The verdicts on a page whose frames are there."""
    await session.check([PREDICATE.validate_python({"count": PRESS, "equals": 3})], 5_000)
    verdicts = await session.check([PREDICATE.validate_python({**one, "within_ms": 0}) for one in expect], 5_000)
    return [verdict.reason for verdict in verdicts]


@pytest.mark.parametrize(
    ("query", "who"),
    [
        ({**PICK, "nth": 1}, "Ada"),
        ({**PICK, "nth": 2}, "Bo"),
        ({**PICK, "nth": 3}, "Cy"),
        ({**PICK, "nth": -1}, "Cy"),
        ({**PICK, "nth": -3}, "Ada"),
        ({**PICK, "within": {"role": "listitem", "nth": 2}}, "Cy"),
        ({"css": "button.pick"}, "Bo"),
        ({"css": "x-row >>> button"}, "Bo"),
        ({**PICK, "within": {"css": "x-row"}}, "Bo"),
        ({**PICK, "within": {"css": "section.row"}}, "Bo"),
    ],
)
async def test_a_position_counts_what_a_person_sees_in_the_order_of_the_page(
    session: ChromiumSession, site: Site, query: dict[str, Any], who: str
) -> None:
    await opened(session, site, PAGE)

    report = await session.perform(work("click", query, expect=[says(f"picked {who}")]))

    assert holds(report)


@pytest.mark.parametrize("nth", [4, -4])
async def test_a_position_behind_the_last_is_a_miss(session: ChromiumSession, site: Site, nth: int) -> None:
    await opened(session, site, PAGE)

    report = await session.perform(work("click", {**PICK, "nth": nth}, timeout_ms=2_000))

    assert (report.lookup.hit, report.lookup.reason, report.acted) == (False, "not_found", False)


async def test_a_position_is_counted_when_the_page_has_come_to_rest(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, f"{PAGE}?filling")

    report = await session.perform(work("click", {**PICK, "nth": 1}, expect=[says("picked Al")]))

    assert holds(report)


@pytest.mark.parametrize(
    ("frame", "side"),
    [
        ("right", "right"),
        ("The right side", "right"),
        ("/positions_inner.html", ""),
        ("iframe.aside", "right"),
        (["outer", "left"], "inner-left"),
        ("outer", None),
        ("left", ""),
        ("nowhere", None),
        ("iframe[", None),
    ],
)
async def test_a_frame_is_named_by_name_title_address_or_selector(
    session: ChromiumSession, site: Site, frame: str | list[str], side: str | None
) -> None:
    await opened(session, site, PAGE)
    await session.check([PREDICATE.validate_python({"count": PRESS, "equals": 3})], 5_000)

    report = await session.perform(work("click", {**PRESS, "frame": frame}, timeout_ms=3_000))

    if side:
        assert report.lookup.hit
        told = {"text_contains": f"pressed on the {side}", "within": {"css": "span", "frame": frame}}
        assert await reasons(session, told) == ["holds"]
    else:  # two frames have this name or address, or none has
        assert report.lookup.reason == ("ambiguous" if side == "" else "not_found")


async def test_values_are_read_from_the_frame_that_the_target_names(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)
    fields = {"said": {"find": {"css": "span"}}, "second": {"find": {"css": "button, span", "nth": 2}}}

    report = await session.perform(work("extract", {"css": "body", "frame": "right"}, fields=fields))

    assert report.extracted == {"said": "waiting", "second": "waiting"}


async def test_a_condition_in_a_frame_is_about_that_frame_alone(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)

    assert await reasons(
        session,
        {"count": PRESS, "equals": 3},
        {"count": {**PRESS, "frame": "right"}, "equals": 1},
        {"exists": {**PICK, "frame": "right"}},
        {"exists": {**PRESS, "frame": "nowhere"}},
        {"count": {**PICK, "nth": 2}, "equals": 1},
    ) == ["holds", "holds", "none_found", "none_found", "holds"]


async def test_what_exists_can_be_seen_unless_the_dom_is_asked(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)
    kept = {"text": "Kept for later"}

    assert await reasons(
        session,
        {"exists": button("Draft")},
        {"exists": {"css": "#stored"}, "in_dom": True},
        {"exists": {"role": "button", "text": "Draft"}, "in_dom": True},
        {"exists": button("Draft"), "in_dom": True},
        {"not_exists": kept},
        {"not_exists": kept, "in_dom": True},
        {"exists": kept, "in_dom": True},
        {"exists": {**kept, "within": {"css": "div"}}, "in_dom": True},
    ) == ["none_found", "holds", "holds", "holds", "holds", "still_there", "holds", "holds"]
