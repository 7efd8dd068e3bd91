"""The browser adapter against a real Chromium and a small real site."""

import asyncio
import signal
import socket
import sys
import time
from pathlib import Path

import psutil
import pytest

from replaywright.browser.devtools.attach import ChromiumBrowsers
from replaywright.browser.reading import snapshots
from replaywright.browser.session import ChromiumSession
from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.page.snapshot_text import snapshot_text
from replaywright.domain.page.targets import Target
from replaywright.domain.task.actions import Cause, Effect
from replaywright.errors import ActionFailed, SessionLost
from tests.adapters.browser_site import Site
from tests.adapters.chromium import Chromium
from tests.adapters.steps import PREDICATE, button, holds, link, opened, says, work
from tests.waiting import until

# ------------------------------------------------------------------------------------------------- acting


async def test_a_click_reaches_the_element_and_its_expectation_is_awaited(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "browser_basic.html")

    report = await session.perform(work("click", button("Count"), expect=[says("count 1")]))

    assert holds(report)
    assert report.acted
    assert [verdict.passed for verdict in report.before] == [False]
    assert report.evidence.causes == (Cause.NOTHING,)
    assert report.evidence.observed_effect is Effect.READ
    assert report.evidence.input_landed is True
    assert report.target is not None
    assert report.target.name == "Count"


@pytest.mark.parametrize("text", ["plain", 'Zoë\'s "mail" & <b>', "你好 🎉", "", "{{secret:X}} \\ \u2028"])
async def test_fill_replaces_what_a_field_holds(session: ChromiumSession, site: Site, text: str) -> None:
    await opened(session, site, "browser_basic.html")
    await session.perform(work("fill", {"label": "Name"}, text="before"))

    report = await session.perform(
        work("fill", {"label": "Name"}, text=text, expect=[{"value_equals": text, "of": {"label": "Name"}}])
    )

    assert holds(report)
    assert report.acted


async def test_fill_keeps_line_breaks_and_sets_dates(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "browser_basic.html")

    notes = await session.perform(
        work("fill", {"label": "Notes"}, text="a\nb", expect=[{"value_equals": "a\nb", "of": {"label": "Notes"}}])
    )
    day = await session.perform(
        work(
            "fill", {"label": "Day"}, text="2026-11-21", expect=[{"value_equals": "2026-11-21", "of": {"label": "Day"}}]
        )
    )

    assert holds(notes)
    assert holds(day)


async def test_what_is_there_already_is_not_touched(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "browser_basic.html")
    await session.perform(work("fill", {"label": "Name"}, text="same"))
    await session.perform(work("check", {"label": "Send a copy"}))

    filled = await session.perform(work("fill", {"label": "Name"}, text="same"))
    checked = await session.perform(work("check", {"label": "Send a copy"}))
    selected = await session.perform(work("select_option", {"label": "Priority"}, value="Normal"))

    assert [report.acted for report in (filled, checked, selected)] == [False, False, False]
    assert all(report.lookup.hit for report in (filled, checked, selected))


async def test_type_sends_keys(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "browser_basic.html")
    await session.perform(work("fill", {"label": "Typed"}, text="old"))

    report = await session.perform(
        work(
            "type",
            {"label": "Typed"},
            text="Ab 1é!",
            expect=[{"value_equals": "Ab 1é!", "of": {"label": "Typed"}}, says("A b 1 !")],
        )
    )

    assert holds(report)


async def test_an_input_mask_is_accepted_and_another_value_is_not(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "browser_basic.html")

    masked = await session.perform(work("fill", {"label": "Phone"}, text="5551234567"))
    with pytest.raises(ActionFailed) as failed:
        await session.perform(work("fill", {"label": "Stubborn"}, text="yes"))

    assert masked.acted
    assert failed.value.reason == "value_differs"
    assert failed.value.dispatched


async def test_check_uncheck_and_radio(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "browser_basic.html")

    on = await session.perform(work("check", {"label": "Send a copy"}, expect=[says("copy true")]))
    off = await session.perform(work("uncheck", {"label": "Send a copy"}, expect=[says("copy false")]))
    radio = await session.perform(work("check", {"label": "Big"}))

    assert holds(on)
    assert holds(off)
    assert radio.acted


async def test_select_by_label_and_by_value(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "browser_basic.html")

    by_label = await session.perform(
        work("select_option", {"label": "Priority"}, value="High & urgent", expect=[says("priority h")])
    )
    by_value = await session.perform(
        work("select_option", {"label": "Priority"}, value="l", expect=[says("priority l")])
    )

    assert holds(by_label)
    assert holds(by_value)
    assert by_value.evaluations == 1


@pytest.mark.parametrize(("text", "says_so"), [("High & urgent", "priority h"), ("l", "priority l")])
async def test_to_fill_a_select_is_to_choose_from_it(
    session: ChromiumSession, site: Site, text: str, says_so: str
) -> None:
    await opened(session, site, "browser_basic.html")

    report = await session.perform(work("fill", {"label": "Priority"}, text=text, expect=[says(says_so)]))
    with pytest.raises(ActionFailed) as failed:
        await session.perform(work("fill", {"label": "Priority"}, text="Highest", timeout_ms=800))

    assert holds(report)
    assert failed.value.reason == "no_such_option"


async def test_an_option_that_does_not_exist_is_named_as_such(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "browser_basic.html")

    with pytest.raises(ActionFailed, match="Low") as failed:
        await session.perform(work("select_option", {"label": "Priority"}, value="Highest", timeout_ms=800))

    assert failed.value.reason == "no_such_option"
    assert not failed.value.dispatched


async def test_a_select_waits_for_the_written_intent(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "browser_basic.html")
    seen: list[str] = []

    async def refuse(target: Target | None, _before: tuple[PredicateResult, ...]) -> None:
        seen.append(target.name if target else "")
        raise SessionLost("fenced")

    with pytest.raises(SessionLost, match="fenced"):
        await session.perform(work("select_option", {"label": "Priority"}, value="Low"), refuse)
    verdicts = await session.check([PREDICATE.validate_python(says("priority l"))], 300)

    assert seen == ["Priority"]
    assert [verdict.passed for verdict in verdicts] == [False]


async def test_nothing_is_touched_when_the_dispatch_is_refused(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "browser_basic.html")

    async def refuse(_: Target | None, _before: tuple[PredicateResult, ...]) -> None:
        raise SessionLost("fenced")

    with pytest.raises(SessionLost, match="fenced"):
        await session.perform(work("click", button("Count")), refuse)
    report = await session.perform(work("click", button("Count"), expect=[says("count 1")]))

    assert holds(report)


async def test_hover_double_click_and_scroll(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "browser_basic.html")

    hovered = await session.perform(work("hover", button("Menu"), expect=[says("Menu content")]))
    doubled = await session.perform(work("double_click", button("Twice"), expect=[says("double")]))
    scrolled = await session.perform(work("scroll", button("Far down")))
    bottom = await session.perform(work("scroll", to="bottom"))
    top = await session.perform(work("scroll", to="top"))
    far = await session.perform(work("click", button("Far down"), expect=[says("bottom")]))

    assert holds(hovered)
    assert holds(doubled)
    assert holds(far)
    assert scrolled.acted
    assert bottom.acted
    assert top.acted


async def test_press_on_an_element_and_on_the_focus(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "browser_basic.html")
    await session.perform(work("fill", {"label": "Name"}, text="abc"))

    await session.perform(work("press", {"label": "Name"}, keys="Control+A"))
    emptied = await session.perform(
        work("press", keys="Delete", expect=[{"value_equals": "", "of": {"label": "Name"}}])
    )
    entered = await session.perform(work("press", button("Count"), keys="Enter", expect=[says("count 1")]))

    assert holds(emptied)
    assert holds(entered)


async def test_an_unknown_key_touches_nothing(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "browser_basic.html")

    with pytest.raises(ActionFailed, match="Entre") as failed:
        await session.perform(work("press", keys="Entre"))

    assert failed.value.reason == "unknown_key"
    assert not failed.value.dispatched


async def test_values_are_read_with_their_types(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "browser_basic.html")
    fields = {
        "total": {"find": {"test_id": "total"}, "type": "number"},
        "free": {"find": {"test_id": "free"}, "type": "boolean"},
        "orders": {"take": "table", "find": {"role": "table", "name": "Orders"}},
        "target": {"take": "attribute", "attribute": "href", "find": link("Slow page")},
    }

    report = await session.perform(work("extract", fields=fields))

    assert report.extracted == {
        "total": 1241.5,
        "free": False,
        "orders": [{"Item": "Tea", "Price": "1,234.50 €"}, {"Item": "Cake", "Price": "7 €"}],
        "target": "/slow?ms=400",
    }


async def test_a_value_that_is_missing_or_of_another_type_is_an_error(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "browser_basic.html")

    with pytest.raises(ActionFailed, match="none") as missing:
        await session.perform(work("extract", fields={"none": {"find": {"test_id": "nowhere"}}}))
    with pytest.raises(ActionFailed, match="integer") as other:
        await session.perform(work("extract", fields={"free": {"find": {"test_id": "free"}, "type": "integer"}}))

    assert missing.value.reason == "extract_missing"
    assert other.value.reason == "extract_type"


async def test_values_of_one_element_are_read_in_one_evaluation_and_in_another_that_has_to_agree(
    session: ChromiumSession, site: Site
) -> None:
    await opened(session, site, "browser_basic.html")

    report = await session.perform(
        work("extract", {"role": "table", "name": "Orders"}, fields={"rows": {"take": "table"}})
    )

    assert [row["Item"] for row in report.extracted["rows"]] == ["Tea", "Cake"]
    assert report.evaluations == 2


# ------------------------------------------------------------------------------------- what is certain


async def recorded(session: ChromiumSession, site: Site, page: str, query: dict[str, str]) -> Target:
    await opened(session, site, page)
    report = await session.perform(work("hover", query))
    assert report.target is not None
    return report.target


async def untouched(session: ChromiumSession) -> bool:
    verdicts = await session.check([PREDICATE.validate_python(says("untouched"))], 1000)
    return all(verdict.passed for verdict in verdicts)


async def test_two_equal_buttons_are_a_miss_and_neither_is_clicked(session: ChromiumSession, site: Site) -> None:
    target = await recorded(session, site, "browser_one.html", button("Send"))
    target = target.model_copy(update={"attributes": {}, "css": "", "xpath": "/html/body/div[9]/button[1]"})
    await opened(session, site, "browser_twins.html")

    by_target = await session.perform(work("click", target))
    by_query = await session.perform(work("click", button("Send"), timeout_ms=2000))

    assert (by_target.lookup.hit, by_target.lookup.reason, by_target.acted) == (False, "ambiguous", False)
    assert (by_query.lookup.hit, by_query.lookup.reason, by_query.acted) == (False, "ambiguous", False)
    assert by_target.snapshot is not None
    assert await untouched(session)


async def test_an_xpath_that_now_points_at_another_control_is_a_miss(session: ChromiumSession, site: Site) -> None:
    target = await recorded(session, site, "browser_one.html", button("Send"))
    await opened(session, site, "browser_swapped.html")

    report = await session.perform(work("click", target))

    assert not report.lookup.hit
    assert report.lookup.reason == "disagrees"
    assert not report.acted
    assert report.snapshot is not None
    assert any(element.target.name == "Delete" for element in report.snapshot.elements)
    assert await untouched(session)


async def test_a_changed_element_is_healed_without_a_model(session: ChromiumSession, site: Site) -> None:
    target = await recorded(session, site, "browser_one.html", button("Send"))
    await opened(session, site, "browser_changed.html")

    kept = await session.perform(work("click", target, heal=False))
    healed = await session.perform(work("click", target, expect=[says("sent")]))

    assert not kept.lookup.hit
    assert not kept.acted
    assert healed.lookup.healed
    assert holds(healed)
    assert healed.target is not None
    assert healed.target.name == "Send message"


async def test_an_unknown_element_is_a_miss_with_a_snapshot(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "browser_one.html")

    report = await session.perform(work("click"))

    assert report.lookup.reason == "no_entry"
    assert report.snapshot is not None
    assert 'button "Send"' in snapshot_text(report.snapshot)
    assert await untouched(session)


async def test_a_page_whose_scripts_are_busy_is_read_within_the_time_of_the_step(
    session: ChromiumSession, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "FRAME_TIMEOUT_S", 0.3)
    await opened(session, site, "browser_one.html")
    await session.tabs.current.page.evaluate(
        "setTimeout(() => { for (const end = Date.now() + 2000; Date.now() < end; ); })"
    )

    report = await session.perform(work("click"))

    assert report.lookup.reason == "no_entry"
    assert report.snapshot is not None
    assert 'button "Send"' in snapshot_text(report.snapshot)


@pytest.mark.parametrize("query", ["", "?bar"])
async def test_a_page_that_fills_itself_by_a_timer_is_read_when_it_is_filled(
    session: ChromiumSession, site: Site, query: str
) -> None:
    await opened(session, site, f"browser_filling.html{query}")

    report = await session.perform(work("click"))

    assert report.lookup.reason == "no_entry"
    assert report.snapshot is not None
    assert "Approve order 7" in {element.target.name for element in report.snapshot.elements}


async def test_a_declared_element_that_is_not_there_is_not_found(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "browser_one.html")

    report = await session.perform(work("click", button("Pay"), timeout_ms=1000))

    assert report.lookup.reason == "not_found"
    assert not report.acted


@pytest.mark.parametrize("page", ["browser_late.html", "browser_late.html?fetch"])
async def test_an_element_that_comes_late_is_waited_for(session: ChromiumSession, site: Site, page: str) -> None:
    target = await recorded(session, site, page, button("Send"))
    await opened(session, site, page)

    report = await session.perform(work("click", target, expect=[says("sent")]))

    assert holds(report)
    assert not report.lookup.healed


async def test_a_covered_element_is_not_clicked_and_the_cover_is_named(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "browser_covered.html")

    with pytest.raises(ActionFailed, match="Cookies") as failed:
        await session.perform(work("click", button("Send"), timeout_ms=800))

    assert failed.value.reason == "covered"
    assert not failed.value.dispatched
    assert await untouched(session)


async def test_a_cover_that_goes_away_is_waited_for(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "browser_covered.html?until=500")

    report = await session.perform(work("click", button("Send"), expect=[says("sent")]))

    assert holds(report)


async def test_input_that_would_meet_something_else_never_reaches_the_page(
    session: ChromiumSession, site: Site
) -> None:
    await opened(session, site, "browser_moving.html")

    with pytest.raises(ActionFailed, match="Trap") as failed:
        await session.perform(work("click", button("Send"), timeout_ms=3000))

    assert failed.value.reason in ("intercepted", "covered")
    assert not failed.value.dispatched
    assert await untouched(session)


async def test_a_disabled_button_is_reported_as_disabled(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "browser_basic.html")

    with pytest.raises(ActionFailed, match="disabled") as failed:
        await session.perform(work("click", button("Never"), timeout_ms=600))

    assert failed.value.reason == "disabled"
    assert not failed.value.dispatched


async def test_an_expectation_that_does_not_hold_is_reported_with_a_snapshot(
    session: ChromiumSession, site: Site
) -> None:
    await opened(session, site, "browser_basic.html")

    report = await session.perform(work("click", button("Count"), expect=[says("count 7")], timeout_ms=700))

    assert report.acted
    assert [verdict.passed for verdict in report.after] == [False]
    assert report.snapshot is not None


# ------------------------------------------------------------------------------------------ consequences


async def test_unsafe_requests_are_evidence_without_their_query(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "browser_basic.html")

    post = await session.perform(work("click", button("Post"), expect=[says("posted")]))
    beacon = await session.perform(work("click", button("Beacon"), expect=[says("beacon sent")]))
    fetch = await session.perform(work("click", button("Fetch"), expect=[says("fetched")]))

    assert [(one.method, one.url, one.status, one.kind) for one in post.evidence.requests] == [
        ("POST", site.url("sink"), 201, "request")
    ]
    assert [one.kind for one in beacon.evidence.requests] == ["beacon"]
    assert post.evidence.observed_effect is Effect.COMMIT
    assert fetch.evidence.observed_effect is Effect.READ
    assert "private" not in repr(post.evidence) + repr(beacon.evidence)


async def test_a_submitted_form_is_evidence_with_its_status(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "browser_basic.html")

    report = await session.perform(work("click", button("Submit"), expect=[{"url_contains": "/browser_second"}]))

    assert holds(report)
    assert report.evidence.causes == (Cause.NEW_DOCUMENT,)
    assert [(one.method, one.url, one.status) for one in report.evidence.requests] == [
        ("POST", site.url("submit"), 303)
    ]


@pytest.mark.parametrize("name", ["Second page", "Slow page"])
async def test_a_navigation_is_awaited_while_learning(session: ChromiumSession, site: Site, name: str) -> None:
    await opened(session, site, "browser_basic.html")

    report = await session.perform(work("click", link(name)))

    assert report.evidence.causes == (Cause.NEW_DOCUMENT,)
    assert report.title in ("Second", "Slow")


async def test_a_navigation_that_a_timer_starts_is_awaited_while_learning(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "browser_basic.html")

    report = await session.perform(work("click", button("Go later")))

    assert report.evidence.causes == (Cause.NEW_DOCUMENT,)
    assert report.title == "Second"


async def test_a_replayed_click_awaits_the_recorded_navigation(session: ChromiumSession, site: Site) -> None:
    target = await recorded(session, site, "browser_basic.html", link("Slow page"))
    await until(lambda: time.monotonic() - session.tabs.current.loaded_at > 1)  # its scripts have run

    report = await session.perform(
        work(
            "click", target, causes=(Cause.NEW_DOCUMENT,), expect=[{"exists": {"role": "heading", "name": "Slow page"}}]
        )
    )

    assert holds(report)
    assert report.evaluations == 2  # looked for, and timers watched


async def test_a_change_of_address_without_a_document_is_seen(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "browser_basic.html")

    report = await session.perform(work("click", button("Push"), expect=[{"url_contains": "view=2"}]))

    assert holds(report)
    assert report.evidence.causes == (Cause.SAME_DOCUMENT,)


async def test_dialogs_are_dismissed_and_recorded(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "browser_basic.html")

    report = await session.perform(work("click", button("Delete"), expect=[says("kept")]))

    assert holds(report)
    assert report.evidence.causes == (Cause.DIALOG,)
    assert report.evidence.dialogs == ("confirm: Delete it? (dismissed)",)


async def test_a_download_is_recorded(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "browser_basic.html")

    report = await session.perform(work("click", link("Report")))

    assert report.evidence.downloads == ("report.csv",)
    assert Cause.DOWNLOAD in report.evidence.causes
    assert report.title == "Basic"


@pytest.mark.parametrize("causes", [None, (Cause.POPUP,)])
async def test_a_new_tab_becomes_the_current_one(
    session: ChromiumSession, site: Site, causes: tuple[Cause, ...] | None
) -> None:
    await opened(session, site, "browser_basic.html")

    popup = await session.perform(
        work("click", link("New tab"), causes=causes, expect=[{"exists": {"role": "heading", "name": "Second page"}}])
    )
    first = await session.perform(work("switch_tab", url_contains="browser_basic"))
    latest = await session.perform(work("switch_tab", tab="latest"))
    closed = await session.perform(work("close_tab"))

    assert holds(popup)
    assert Cause.POPUP in popup.evidence.causes
    assert [report.title for report in (popup, first, latest, closed)] == ["Second", "Basic", "Second", "Basic"]


async def test_a_slow_popup_is_awaited(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "browser_basic.html")

    report = await session.perform(work("click", button("Slow popup"), expect=[{"url_contains": "/slow"}]))

    assert holds(report)
    assert report.title == "Slow"


async def test_a_tab_that_closes_itself_gives_way_to_its_opener(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "browser_basic.html")
    await session.perform(work("click", link("New tab")))

    report = await session.perform(work("click", button("Close me")))

    assert report.title == "Basic"


async def test_the_only_tab_is_not_closed(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "browser_basic.html")

    with pytest.raises(ActionFailed) as failed:
        await session.perform(work("close_tab"))
    with pytest.raises(ActionFailed) as missing:
        await session.perform(work("switch_tab", url_contains="nowhere", timeout_ms=300))

    assert failed.value.reason == "last_tab"
    assert missing.value.reason == "no_such_tab"


# -------------------------------------------------------------------------------------------- navigating


async def test_goto_and_going_back(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "browser_basic.html")

    there = await session.perform(
        work(
            "goto", url=site.url("browser_second.html"), expect=[{"exists": {"role": "heading", "name": "Second page"}}]
        )
    )
    back = await session.perform(work("go_back", expect=[says("nothing yet")]))

    assert holds(there)
    assert there.evaluations == 0
    assert holds(back)
    assert back.title == "Basic"


@pytest.mark.parametrize(
    ("address", "reason", "dispatched"),
    [
        ("file:///etc/passwd", "scheme_refused", False),
        ("javascript:alert(1)", "scheme_refused", False),
        ("status-404", "http_404", True),
        ("status-500", "http_500", True),
        ("loop", "navigation_failed", True),
        ("http://127.0.0.1:1/", "navigation_failed", True),
    ],
)
async def test_a_page_that_cannot_be_opened_says_why(
    session: ChromiumSession, site: Site, address: str, reason: str, dispatched: bool
) -> None:
    url = address if ":" in address else site.url(address)

    with pytest.raises(ActionFailed) as failed:
        await session.perform(work("goto", url=url))

    assert failed.value.reason == reason
    assert failed.value.dispatched is dispatched


@pytest.mark.parametrize(("status", "holding"), [("404", True), ("4xx", True), ("200", False)])
async def test_a_page_of_whose_status_the_step_speaks_is_judged_by_that(
    session: ChromiumSession, site: Site, status: str, holding: bool
) -> None:
    report = await session.perform(
        work("goto", url=site.url("status-404"), expect=[{"response_status": status, "within_ms": 500}])
    )

    assert holds(report) is holding


@pytest.mark.parametrize("page", ["members-only", "asks-first"])
async def test_a_refused_page_that_asks_for_a_password_is_there_for_steps_that_sign_in(
    session: ChromiumSession, site: Site, page: str
) -> None:
    there = await session.perform(
        work("goto", url=site.url(page), signs_in=True, expect=[{"exists": {"role": "heading", "name": "Members"}}])
    )

    assert holds(there)


@pytest.mark.parametrize(
    ("page", "signs_in", "reason"),
    [
        ("members-only", False, "http_403"),
        ("asks-first", False, "http_401"),
        ("broken-form", True, "http_500"),
        ("status-403", True, "http_403"),
    ],
)
async def test_a_refused_page_is_not_there_for_other_steps_nor_without_a_password_field(
    session: ChromiumSession, site: Site, page: str, signs_in: bool, reason: str
) -> None:
    with pytest.raises(ActionFailed) as failed:
        await session.perform(work("goto", url=site.url(page), signs_in=signs_in))

    assert failed.value.reason == reason


async def test_a_server_that_does_not_answer_ends_with_the_budget(session: ChromiumSession, site: Site) -> None:
    with pytest.raises(ActionFailed) as failed:
        await session.perform(work("goto", url=site.url("slow?ms=2500"), timeout_ms=400))

    assert failed.value.reason == "timeout"


@pytest.mark.parametrize("which", [0, 1, 2])
async def test_a_field_that_a_model_chose_among_others_of_its_name_is_told_by_where_it_was_seen(
    session: ChromiumSession, site: Site, which: int
) -> None:
    await opened(session, site, "browser_postings.html")
    seen = await session.snapshot()
    chosen = [element for element in seen.elements if element.target.name == "Amount"][which]

    report = await session.perform(work("fill", chosen.target, text="3.10"))

    assert report.lookup.hit, report.lookup
    now = await session.snapshot()
    values = [element.value for element in now.elements if element.target.name == "Amount"]
    assert values == ["3.10" if at == which else "" for at in range(3)]


@pytest.mark.parametrize("target", [None, {"role": "list", "name": "Orders"}])
async def test_a_page_is_read_when_what_is_new_is_no_longer_beside_what_was_there(
    session: ChromiumSession, site: Site, target: dict[str, str] | None
) -> None:
    await opened(session, site, "browser_exchanged.html")
    await session.perform(work("click", button("Only open ones"), causes=(Cause.SAME_DOCUMENT,)))

    report = await session.perform(work("extract", target, fields={"all": {"take": "texts", "find": {"css": "li"}}}))

    assert report.extracted == {"all": ["Cake, open"]}


@pytest.mark.parametrize("target", [None, {"role": "list", "name": "Orders"}])
async def test_a_page_is_read_when_it_has_what_it_asked_the_server_for(
    session: ChromiumSession, site: Site, target: dict[str, str] | None
) -> None:
    await opened(session, site, "browser_narrowed.html")
    pressed = await session.perform(
        work("click", button("Only open ones"), causes=(Cause.SAME_DOCUMENT,), expect=[{"url_contains": "only=open"}])
    )

    report = await session.perform(work("extract", target, fields={"all": {"take": "texts", "find": {"css": "li"}}}))

    assert holds(pressed)
    assert report.extracted == {"all": ["Cake, open"]}


async def test_wait_for_waits_and_touches_nothing(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "browser_late.html")

    report = await session.perform(work("wait_for", expect=[{"exists": button("Send")}]))
    unmet = await session.perform(work("wait_for", expect=[{"exists": button("Pay")}], timeout_ms=400))

    assert holds(report)
    assert [verdict.passed for verdict in unmet.after] == [False]
    assert not unmet.acted


# ----------------------------------------------------------------------------------- frames and shadow


@pytest.mark.parametrize("where", ["near", "deep"])
async def test_elements_inside_frames_are_found_again_and_clicked(
    session: ChromiumSession, site: Site, where: str
) -> None:
    page = f"browser_frames.html?port={site.other_port}"
    await opened(session, site, page)
    await session.check([PREDICATE.validate_python({"exists": {"role": "heading", "name": "Frames"}})], 1000)
    target = await _inside(session, where)

    clicked = await session.perform(work("click", target, expect=[says(f"inner pressed ?{where}")]))
    field = await _inside(session, where, label="Inside")
    filled = await session.perform(work("fill", field, text="in a frame"))

    assert holds(clicked)
    assert filled.acted
    assert clicked.target is not None
    assert clicked.target.frame == target.frame
    assert len(target.frame) == (1 if where == "near" else 2)


async def _inside(session: ChromiumSession, where: str, *, name: str = "Press", label: str = "") -> Target:
    """The element of this name or label in a frame, once all frames are there."""
    async with asyncio.timeout(10):
        while True:
            snapshot = await session.snapshot()
            for element in snapshot.elements:
                seen = element.target
                is_it = seen.label == label if label else seen.name == name
                if is_it and seen.frame and seen.frame[-1].name == where:
                    return seen
            await session.tabs.until(lambda: False, 0.1)


async def test_a_declared_element_is_found_in_the_only_frame_that_has_it(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "browser_nest.html")

    report = await session.perform(work("click", button("Press"), expect=[says("inner pressed ?deep")]))

    assert holds(report)
    assert report.target is not None
    assert [step.name for step in report.target.frame] == ["deep"]


async def test_a_declared_element_in_two_frames_is_ambiguous(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, f"browser_frames.html?port={site.other_port}")
    await _inside(session, "deep")

    report = await session.perform(work("click", button("Press"), timeout_ms=2000))

    assert (report.lookup.hit, report.lookup.reason, report.acted) == (False, "ambiguous", False)


async def test_a_click_into_a_covered_frame_is_refused(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, f"browser_frames.html?port={site.other_port}")
    target = await _inside(session, "deep")
    await opened(session, site, f"browser_frames.html?port={site.other_port}&covered#cover")
    await _inside(session, "deep")

    with pytest.raises(ActionFailed) as failed:
        await session.perform(work("click", target, timeout_ms=2000))

    assert failed.value.reason == "covered"
    assert not failed.value.dispatched


async def test_shadow_roots_are_part_of_the_page(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "browser_shadow.html")

    await session.perform(work("fill", {"label": "Subject"}, text="hello"))
    report = await session.perform(work("click", button("Send"), expect=[says("sent hello")]))

    assert holds(report)
    assert report.target is not None
    assert "#shadow" in report.target.xpath


# ---------------------------------------------------------------------------------- cost and endurance


async def test_a_replayed_step_costs_one_evaluation_and_a_press_after_an_input_two_more(
    session: ChromiumSession, site: Site
) -> None:
    count = await recorded(session, site, "browser_basic.html", button("Count"))
    name = (await session.perform(work("fill", {"label": "Name"}, text="x"))).target
    second = (await session.perform(work("hover", link("Second page")))).target
    assert name is not None
    assert second is not None

    click = await session.perform(
        work("click", count, causes=(Cause.NOTHING,), is_consequential=False, expect=[says("count 1")])
    )
    fill = await session.perform(
        work("fill", name, text="y", causes=(Cause.NOTHING,), expect=[{"value_equals": "y", "of": {"label": "Name"}}])
    )
    leave = await session.perform(
        work(
            "click",
            second,
            causes=(Cause.NEW_DOCUMENT,),
            expect=[{"exists": {"role": "heading", "name": "Second page"}}],
        )
    )

    assert [holds(report) for report in (click, fill, leave)] == [True, True, True]
    assert [report.evaluations for report in (click, fill, leave)] == [2, 1, 3]


async def test_a_secret_is_not_read_back(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "browser_basic.html")
    secret = "hunter2-" + "x" * 8

    report = await session.perform(
        work("fill", {"label": "Name"}, text=secret, sensitive=True, expect=[says("never")], timeout_ms=600)
    )
    snapshot = await session.snapshot()
    with pytest.raises(ActionFailed) as failed:
        await session.perform(work("fill", {"label": "Stubborn"}, text=secret, sensitive=True))

    assert secret not in repr(report)
    assert secret not in snapshot.model_dump_json()
    assert secret not in repr(failed.value) + str(failed.value.__context__) + str(failed.value.__cause__)


_KILLED = """
import asyncio, sys
from replaywright.browser.devtools.attach import ChromiumBrowsers
from replaywright.domain.page.targets import ElementQuery
from replaywright.domain.task.steps import Fill, Goto
from replaywright.ports.browser import Work

async def main(endpoint, url):
    session = await ChromiumBrowsers().attach(endpoint)
    await session.perform(Work(step=Goto(action="goto", url=url)))
    step = Fill(action="fill", instruction="name", value="x")
    await session.perform(Work(step=step, text="from the first", query=ElementQuery(label="Name")))
    print("ready", flush=True)
    await asyncio.Event().wait()

asyncio.run(main(*sys.argv[1:]))
"""


async def test_a_successor_adopts_the_page_of_a_killed_worker(
    browsers: ChromiumBrowsers, site: Site, chromium_path: Path, tmp_path: Path
) -> None:
    async with Chromium(chromium_path, tmp_path) as endpoint:
        url = site.url("browser_basic.html")
        first = await asyncio.create_subprocess_exec(
            sys.executable, "-c", _KILLED, endpoint, url, stdout=asyncio.subprocess.PIPE
        )
        assert first.stdout is not None
        async with asyncio.timeout(30):
            assert await first.stdout.readline() == b"ready\n"
        first.send_signal(signal.SIGKILL)
        await first.wait()

        session = await browsers.attach(endpoint)
        name = {"value_equals": "from the first", "of": {"label": "Name"}}
        verdicts = await session.check([PREDICATE.validate_python(name)], 2000)
        report = await session.perform(work("click", button("Count"), expect=[says("count 1")]))
        shown = session.url
        await session.detach()

    assert shown == url
    assert [verdict.passed for verdict in verdicts] == [True]
    assert holds(report)


async def test_a_browser_that_dies_is_a_lost_session(
    browsers: ChromiumBrowsers, site: Site, chromium_path: Path, tmp_path: Path
) -> None:
    chromium = Chromium(chromium_path, tmp_path)
    async with chromium as endpoint:
        session = await browsers.attach(endpoint)
        await opened(session, site, "browser_basic.html")
        waiting = asyncio.create_task(session.perform(work("wait_for", expect=[says("never")])))
        await asyncio.sleep(0)
        chromium.process.kill()
        with pytest.raises(SessionLost):
            await waiting
        with pytest.raises(SessionLost):
            await session.perform(work("click", button("Count")))
        await session.detach()


async def test_a_page_that_crashes_is_a_lost_session(
    browsers: ChromiumBrowsers, site: Site, chromium_path: Path, tmp_path: Path
) -> None:
    async with Chromium(chromium_path, tmp_path) as endpoint:
        session = await browsers.attach(endpoint)
        await opened(session, site, "browser_basic.html")
        session.tabs.current.cdp.notify("Page.crash")
        with pytest.raises(SessionLost, match="crashed"):
            await session.perform(work("wait_for", expect=[says("never")]))
        await session.detach()


async def test_a_page_that_hangs_costs_no_more_than_the_budget(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "browser_hung.html")

    with pytest.raises(ActionFailed) as hung:
        await session.perform(work("click", button("Hang"), timeout_ms=500))
    with pytest.raises(ActionFailed) as next_one:
        await session.perform(work("click", button("Hang"), timeout_ms=100))

    assert (hung.value.reason, hung.value.dispatched) == ("timeout", True)
    assert (next_one.value.reason, next_one.value.dispatched) == ("timeout", False)


async def test_a_storm_of_dialogs_ends_with_the_budget(
    browsers: ChromiumBrowsers, site: Site, chromium_path: Path, tmp_path: Path
) -> None:
    async with Chromium(chromium_path, tmp_path) as endpoint:
        session = await browsers.attach(endpoint)
        await opened(session, site, "browser_hung.html")
        with pytest.raises(ActionFailed) as failed:
            await session.perform(work("click", button("Storm"), timeout_ms=700))
        await session.detach()

    assert (failed.value.reason, failed.value.dispatched) == ("timeout", True)


async def test_a_page_that_asks_before_it_is_left_is_left_when_the_step_says_so(
    session: ChromiumSession, site: Site
) -> None:
    await opened(session, site, "browser_hung.html")
    await session.perform(work("click", button("Guard")))

    report = await session.perform(work("click", link("Leave"), dialog="accept"))

    assert report.title == "Second"
    assert report.evidence.causes == (Cause.NEW_DOCUMENT,)


async def test_attaching_waits_for_a_navigation_that_is_under_way_and_no_longer_than_it_may(
    browsers: ChromiumBrowsers, site: Site, chromium_path: Path, tmp_path: Path
) -> None:
    hasty = ChromiumBrowsers(connect_timeout_s=0.5)
    await hasty.start()
    async with Chromium(chromium_path, tmp_path) as endpoint:
        first = await browsers.attach(endpoint)
        await opened(first, site, "browser_second.html")
        await first.tabs.current.page.evaluate("setTimeout(() => location.href = '/slow?ms=4000')")
        await first.tabs.until(lambda: bool(first.tabs.current.main.loading), 5)

        with pytest.raises(SessionLost):
            await hasty.attach(endpoint)
        session = await browsers.attach(endpoint)
        verdicts = await session.check([PREDICATE.validate_python(says("Slow page"))], 3000)
        await session.detach()
        await first.detach()
    await hasty.close()

    assert [verdict.passed for verdict in verdicts] == [True]


# The library leaves a future of its own behind when its driver is killed; nothing of ours can await it.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_a_driver_that_dies_loses_its_sessions_and_is_replaced(endpoint: str, site: Site) -> None:
    browsers = ChromiumBrowsers()
    before = {child.pid for child in psutil.Process().children()}
    session = await browsers.attach(endpoint)
    begun = [child for child in psutil.Process().children() if child.pid not in before]
    driver = next(child for child in begun if "run-driver" in child.cmdline())

    driver.kill()
    with pytest.raises(SessionLost):
        await session.perform(work("click", button("Count"), timeout_ms=500))
    successor = await browsers.attach(endpoint)
    await opened(successor, site, "browser_basic.html")
    report = await successor.perform(work("click", button("Count"), expect=[says("count 1")]))
    await successor.detach()
    await browsers.close()

    assert holds(report)


async def test_nothing_that_answers_is_a_lost_session(browsers: ChromiumBrowsers) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    with pytest.raises(SessionLost, match=str(port)):
        await browsers.attach(f"http://127.0.0.1:{port}")
