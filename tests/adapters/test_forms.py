"""Fields, boxes, dates and pasting on a page that does it the hard way, against a real Chromium."""

import re
from pathlib import Path
from typing import Any

import pytest

from replaywright.browser.devtools.attach import ChromiumBrowsers
from replaywright.browser.session import ChromiumSession
from replaywright.errors import ActionFailed
from replaywright.ports.browser import Report
from tests.adapters.browser_site import Site
from tests.adapters.chromium import Chromium
from tests.adapters.steps import button, holds, opened, says, work

PAGE = "forms_fields.html"


def has_value(value: str, **of: str) -> list[dict[str, Any]]:
    return [{"value_equals": value, "of": of}]


async def refusal(session: ChromiumSession, *given: Any, **more: Any) -> ActionFailed:
    with pytest.raises(ActionFailed) as refused:
        await session.perform(work(*given, **{"timeout_ms": 700, **more}))
    return refused.value


def acted(report: Report) -> bool:
    return holds(report) and report.acted


# ----------------------------------------------------------------------------------------------- text


TEXTS = [
    ("Phone", "4155550123", "(415) 555-0123"),
    ("Amount", "1234.5", "1,234.50"),
    ("Controlled", "state of mind", "STATE OF MIND"),
    ("Place", "Springfield", "Springfield"),
    ("Count", "42", "42"),
    ("Mail", "a@b.example", "a@b.example"),
    ("Search", "שלום עולם", "שלום עולם"),
    ("Call", "+1 415", "+1 415"),
    ("Web", "https://x.example/?a=1", "https://x.example/?a=1"),
    ("Notes", "first\nsecond 你好 👩‍👩‍👧\n\nlast", "first\nsecond 你好 👩‍👩‍👧\n\nlast"),
]
"""A field, a text, and the text as the page writes it."""


@pytest.mark.parametrize("action", ["fill", "type"])
async def test_a_field_ends_with_the_text_as_the_page_writes_it(
    session: ChromiumSession, site: Site, action: str
) -> None:
    await opened(session, site, PAGE)

    for label, text, shown in TEXTS:
        report = await session.perform(work(action, {"label": label}, text=text, expect=has_value(shown, label=label)))

        assert acted(report), (label, report.after)


@pytest.mark.parametrize(
    ("field", "text", "pressed", "shown"),
    [("Numbers", "3 4 5", "Add up", "The sum is 12"), ("Command", "stop", "Run", "Ran stop")],
)
async def test_a_page_that_hears_keys_only_knows_what_was_filled_in(
    session: ChromiumSession, site: Site, *, field: str, text: str, pressed: str, shown: str
) -> None:
    await opened(session, site, "forms_heard.html")
    filled = await session.perform(work("fill", {"role": "textbox", "name": field}, text=text))

    report = await session.perform(work("click", button(pressed), expect=[says(shown)]))

    assert acted(filled)
    assert acted(report), report.after


@pytest.mark.parametrize(
    ("label", "text", "reason"),
    [("Locked", "x y", "readonly"), ("Off", "x", "disabled"), ("Short", "too long", "too_long")],
)
async def test_a_field_that_cannot_take_the_text_is_refused_untouched(
    session: ChromiumSession, site: Site, label: str, text: str, reason: str
) -> None:
    await opened(session, site, PAGE)

    refused = await refusal(session, "fill", {"label": label}, text=text)

    assert refused.reason == reason
    assert not refused.dispatched
    assert text not in str(refused)


async def test_a_field_that_does_not_keep_the_text_is_no_success(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)

    refused = await refusal(session, "fill", {"label": "Fixed"}, text="something else")
    secret = await refusal(session, "fill", {"label": "Fixed"}, text="something else", sensitive=True)

    assert (refused.reason, secret.reason) == ("value_differs", "value_differs")
    assert str(refused).startswith("entered 'something else', but the field holds '")
    assert re.fullmatch(r"entered a secret, but the field holds \d+ characters", str(secret))


async def test_keys_do_not_go_to_what_steals_the_focus(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)

    refused = await refusal(session, "type", {"label": "Thief"}, text="some words", timeout_ms=3000)
    untouched = await session.perform(work("wait_for", expect=has_value("", css="#place"), timeout_ms=1000))

    assert refused.reason == "intercepted"
    assert untouched.after[0].passed


@pytest.mark.parametrize(
    ("target", "field"),
    [
        ({"css": "#wrapper"}, {"css": "#street"}),
        ({"css": "#town-label"}, {"css": "#town"}),
        ({"css": "#fancy"}, {"label": "Fancy"}),
    ],
)
@pytest.mark.parametrize("action", ["fill", "type", "paste"])
async def test_the_only_field_inside_what_is_named_is_meant(
    session: ChromiumSession, site: Site, action: str, target: dict[str, str], field: dict[str, str]
) -> None:
    await opened(session, site, PAGE)

    report = await session.perform(
        work(action, target, text="High Street 1", instruction="it", expect=has_value("High Street 1", **field))
    )

    assert acted(report), report.after
    again = await session.perform(work("fill", target, text="High Street 1"))
    assert not again.acted


async def test_one_of_two_fields_is_never_guessed(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)

    refused = await refusal(session, "fill", {"css": "#pair"}, text="here")

    assert refused.reason == "not_editable"
    assert "2 fields are inside it" in str(refused)


# ----------------------------------------------------------------------------------------------- boxes

BOXES: list[dict[str, str]] = [
    {"css": "label:has(#plain)"},
    {"label": "Overlaid"},
    {"role": "switch", "name": "Wifi"},
    {"role": "checkbox", "name": "All rows"},
    {"label": "Half"},
    button("Bold"),
]


@pytest.mark.parametrize("target", BOXES, ids=lambda target: next(reversed(target.values())))
async def test_a_box_ends_as_wanted_and_is_left_alone_when_it_is(
    session: ChromiumSession, site: Site, target: dict[str, str]
) -> None:
    await opened(session, site, PAGE)

    checked = await session.perform(work("check", target))
    still = await session.perform(work("check", target))
    cleared = await session.perform(work("uncheck", target, instruction="it"))
    blank = await session.perform(work("uncheck", target, instruction="it"))

    assert [report.acted for report in (checked, still, cleared, blank)] == [True, False, True, False]


@pytest.mark.parametrize("name", ["All rows", "Half"])
async def test_a_box_of_three_states_is_cleared(session: ChromiumSession, site: Site, name: str) -> None:
    await opened(session, site, PAGE)

    report = await session.perform(work("uncheck", {"role": "checkbox", "name": name}, instruction="it"))

    assert report.acted
    assert not (await session.perform(work("uncheck", {"role": "checkbox", "name": name}, instruction="it"))).acted


async def test_radio_buttons_are_chosen_and_cannot_be_cleared(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)

    fast = await session.perform(work("check", {"role": "radio", "name": "Fast"}))
    two = await session.perform(work("check", {"role": "radio", "name": "Two"}))
    slow = await session.perform(work("check", {"role": "radio", "name": "Slow"}))
    refused = await refusal(session, "uncheck", {"role": "radio", "name": "Two"}, instruction="it")

    assert fast.acted
    assert two.acted
    assert slow.acted
    assert refused.reason == "radio"
    assert not refused.dispatched


# ----------------------------------------------------------------------------------------------- dates


@pytest.mark.parametrize(
    ("label", "value", "wrong", "remedy"),
    [
        ("Day", "2026-11-14", "14.11.2026", "values such as 2026-11-21, min 2026-01-01"),
        ("Day", "2026-11-14", "2025-12-31", "min 2026-01-01"),
        ("Time", "09:30", "half past nine", "14:30"),
        ("Moment", "2026-11-14T09:30", "2026-11-14", "2026-11-21T14:30"),
        ("Month", "2026-11", "November", "2026-11"),
        ("Week", "2026-W46", "46", "2026-W47"),
        ("Tint", "#ff8800", "orange", "#1a2b3c"),
    ],
)
async def test_a_date_is_set_in_its_own_form_and_refused_with_the_remedy_in_another(
    session: ChromiumSession, site: Site, *, label: str, value: str, wrong: str, remedy: str
) -> None:
    await opened(session, site, PAGE)

    report = await session.perform(work("fill", {"label": label}, text=value, expect=has_value(value, label=label)))
    refused = await refusal(session, "fill", {"label": label}, text=wrong)

    assert acted(report)
    assert refused.reason == "no_such_value"
    assert remedy in str(refused)
    assert not refused.dispatched


async def test_a_text_field_with_a_calendar_takes_the_text_and_the_calendar_closes(
    session: ChromiumSession, site: Site
) -> None:
    await opened(session, site, PAGE)

    report = await session.perform(work("fill", {"label": "Start"}, text="2026-11-14"))
    left = await session.perform(
        work("press", keys="Tab", expect=[{"not_exists": {"role": "grid", "name": "November 2026"}}])
    )

    assert acted(report)
    assert all(verdict.passed for verdict in left.after)
    report = await session.perform(work("wait_for", expect=has_value("14/11/2026", label="Start")))
    assert report.after[0].passed


async def test_a_read_only_field_gets_its_day_from_the_calendar(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)

    refused = await refusal(session, "fill", {"label": "End"}, text="14/11/2026")
    await session.perform(work("click", {"label": "End"}, expect=[{"exists": {"role": "grid"}}]))
    report = await session.perform(work("click", button("14"), expect=has_value("14/11/2026", label="End")))

    assert refused.reason == "readonly"
    assert acted(report)


# ----------------------------------------------------------------------------------------------- pasting


async def test_a_code_is_spread_over_its_boxes_by_the_page(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)

    expect = [*has_value("4", label="Digit 1"), *has_value("9", label="Digit 4")]
    report = await session.perform(work("paste", {"label": "Digit 1"}, text="4819", expect=expect))

    assert acted(report)


async def test_rows_and_columns_are_pasted_into_a_grid(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)

    expect = [{"text_contains": word, "within": {"css": "#grid"}} for word in ("north", "12", "south", "7")]
    report = await session.perform(
        work("paste", {"css": "#a1"}, text="north\t12\nsouth\t7", instruction="the first cell", expect=expect)
    )
    await session.perform(work("fill", {"label": "Town"}, text="elsewhere"))
    await session.perform(work("press", {"css": "#a1"}, keys="Escape", instruction="the first cell"))
    focused = await session.perform(work("paste", text="east", expect=[says("east")]))

    assert acted(report)
    assert all(verdict.passed for verdict in focused.after)


@pytest.mark.parametrize("label", ["Town", "Notes", "Phone"])
async def test_what_is_pasted_replaces_what_was_there(session: ChromiumSession, site: Site, label: str) -> None:
    await opened(session, site, PAGE)
    await session.perform(work("fill", {"label": label}, text="111"))

    report = await session.perform(work("paste", {"label": label}, text="222", expect=has_value("222", label=label)))

    assert acted(report)


async def test_a_pasted_secret_does_not_stay_on_the_clipboard(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)

    report = await session.perform(work("paste", {"label": "Secret"}, text="hunter2-hunter2", sensitive=True))
    await session.perform(work("press", {"label": "Town"}, keys="Control+V"))
    town = await session.perform(work("wait_for", expect=has_value("", label="Town"), timeout_ms=1000))
    log = await session.perform(work("extract", fields={"it": {"find": {"css": "#log"}}}))

    assert acted(report)
    assert town.after[0].passed
    assert "copied" not in log.extracted["it"]


async def test_two_sessions_have_a_clipboard_each(
    session: ChromiumSession, browsers: ChromiumBrowsers, site: Site, chromium_path: Path, tmp_path: Path
) -> None:
    await opened(session, site, PAGE)
    await session.perform(work("fill", {"label": "Town"}, text="only here"))
    for keys in ("Control+A", "Control+C"):
        await session.perform(work("press", {"label": "Town"}, keys=keys))

    async with Chromium(chromium_path, tmp_path) as address:
        other = await browsers.attach(address)
        await opened(other, site, PAGE)
        await other.perform(work("press", {"label": "Town"}, keys="Control+V"))
        there = await other.perform(work("wait_for", expect=has_value("", label="Town"), timeout_ms=2000))
        await other.detach()
    pasted = await session.perform(
        work("press", {"label": "Street and number"}, keys="Control+V", expect=has_value("only here", css="#street"))
    )

    assert there.after[0].passed
    assert holds(pasted)


async def test_a_page_that_stops_the_paste_is_no_success(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)

    refused = await refusal(session, "paste", {"label": "Nopaste"}, text="some words", timeout_ms=3000)

    assert refused.reason == "value_differs"
    assert str(refused) == "entered 'some words', but the field holds nothing"
