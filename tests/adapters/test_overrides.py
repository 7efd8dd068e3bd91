"""Override rules on real pages: what is due, what is clicked, and what a stuck step waits for."""

import asyncio
from typing import Any

import pytest

from replaywright.browser.session import ChromiumSession
from replaywright.domain.step.overrides import OverrideRule, parse_rules
from replaywright.errors import ActionFailed
from replaywright.overrides import shipped_rules
from replaywright.ports.browser import Work
from tests.adapters.browser_site import Site
from tests.adapters.steps import button, holds, opened, says, work

BUY = button("Buy now")


def rule(**fields: Any) -> OverrideRule:
    return parse_rules({"rules": [{"name": "rule", **fields}]}, "test")[0]


def buying(*rules: OverrideRule) -> Work:
    """The click on "Buy now", with a budget that no test would want to wait for."""
    return work("click", BUY, expect=[says("[bought]")], timeout_ms=300_000, overrides=rules)


async def perform(session: ChromiumSession, due: tuple[OverrideRule, ...]) -> None:
    """What the workflow does with rules that are due."""
    for one in due:
        for step in one.steps:
            report = await session.perform(Work(step=step, query=getattr(step, "target", None), expect=step.expect))
            assert holds(report)


async def said(session: ChromiumSession) -> str:
    return str(await session.tabs.current.page.inner_text("#out"))


@pytest.mark.parametrize(
    ("piece", "names", "outcome"),
    [
        ("drawer", ["offer-close"], "[drawer closed]"),
        ("german", ["consent-reject"], "[no cookies]"),
        ("notice", ["consent-accept"], "[cookies noticed]"),
        ("link", ["consent-reject-link"], "[no cookies]"),
        ("frame", ["consent-reject"], "[no cookies]"),
    ],
)
async def test_what_covers_a_button_is_cleared_away_by_the_shipped_rules(
    session: ChromiumSession, site: Site, piece: str, names: list[str], outcome: str
) -> None:
    await opened(session, site, f"overrides.html#{piece}")

    async with asyncio.timeout(60):  # the step itself would wait much longer
        with pytest.raises(ActionFailed) as failure:
            await session.perform(buying(*shipped_rules()))
    due = await session.due(shipped_rules())
    await perform(session, due)
    report = await session.perform(buying())

    assert (failure.value.reason, failure.value.dispatched) == ("covered", False)
    assert [one.name for one in due] == names
    assert holds(report)
    assert await said(session) == f"{outcome}[bought]"


async def test_a_drawer_that_comes_under_the_pointer_is_noticed_by_the_stopped_click(
    session: ChromiumSession, site: Site
) -> None:
    await opened(session, site, "overrides.html#late")
    before = await session.due(shipped_rules())

    with pytest.raises(ActionFailed) as failure:
        await session.perform(buying(*shipped_rules()))
    due = await session.due(shipped_rules())
    await perform(session, due)
    report = await session.perform(buying())

    assert before == ()
    assert failure.value.reason in ("intercepted", "covered")
    assert not failure.value.dispatched
    assert [one.name for one in due] == ["offer-close"]
    assert holds(report)
    assert await said(session) == "[drawer closed][bought]"


@pytest.mark.parametrize("piece", ["", "own"])
async def test_what_a_rule_does_not_know_is_left_alone(session: ChromiumSession, site: Site, piece: str) -> None:
    await opened(session, site, f"overrides.html#{piece}")

    assert await session.due(shipped_rules()) == ()


async def test_a_step_that_finds_what_it_needs_never_asks_for_rules_of_stuck_steps(
    session: ChromiumSession, site: Site
) -> None:
    await opened(session, site, "overrides.html#dialog")

    report = await session.perform(
        work("fill", {"label": "E-mail"}, text="ada@site.example", overrides=shipped_rules())
    )

    assert holds(report)
    assert await said(session) == ""


async def test_an_element_that_is_missing_is_not_waited_for_while_a_rule_is_due(
    session: ChromiumSession, site: Site
) -> None:
    await opened(session, site, "overrides.html#german")
    late = work("click", button("Nowhere"), timeout_ms=60_000, overrides=shipped_rules())

    report = await session.perform(late)

    assert report.lookup.reason == "not_found"
    assert [one.name for one in await session.due(shipped_rules())] == ["consent-reject"]


async def test_rules_are_judged_over_all_frames_and_by_the_address(session: ChromiumSession, site: Site) -> None:
    loaded = [says("our partners store")]
    await session.perform(work("goto", url=site.url("overrides.html#frame"), expect=loaded))
    click = [{"action": "click", "instruction": "it", "target": button("Reject all")}]
    rules = {
        "in the frame": rule(when={"text_contains": "our partners store"}, do=click),
        "nowhere": rule(when={"text_contains": "no such text"}, do=click),
        "not in any": rule(when={"not_exists": button("Accept all")}, do=click),
        "address": rule(when={"url_contains": "/overrides.html"}, do=click),
        "another address": rule(when={"url_contains": "/elsewhere"}, do=click),
        "both": rule(when={"all_of": [{"exists": BUY}, {"exists": button("Accept all")}]}, do=click),
    }

    due = await session.due(tuple(rules.values()))

    assert [name for name, one in rules.items() if one in due] == ["in the frame", "address", "both"]


async def test_an_element_within_another_is_not_one_of_the_same_name_elsewhere(
    session: ChromiumSession, site: Site
) -> None:
    await opened(session, site, "overrides.html#drawer")

    report = await session.perform(
        work("click", {**button("Close"), "within": {"role": "overlay"}}, expect=[says("[drawer closed]")])
    )
    twice = await session.perform(work("click", {**button("Close"), "within": {"role": "main"}}))

    assert holds(report)
    assert holds(twice)
    assert await said(session) == "[drawer closed][closed the account]"


async def test_a_page_that_is_busy_has_no_rule_due(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "overrides.html#drawer")
    busy = session.tabs.current.page.evaluate(
        "setTimeout(() => { const end = Date.now() + 1000; while (Date.now() < end); })"
    )
    await busy

    assert await session.due(shipped_rules()) == ()
