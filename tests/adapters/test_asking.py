"""Asking the site about a step in doubt: the run's own page stays as it is, and only an answer counts as one."""

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any

import pytest
from playwright.async_api import Error as PlaywrightError

from replaywright.browser.session import ChromiumSession
from replaywright.domain.proof.reconciling import answer_of
from replaywright.ports.browser import SiteAnswer, Work
from tests.adapters.browser_site import Site
from tests.adapters.steps import PREDICATE, link, opened, work

SHOWN = {"text_contains": "Minutes of Monday", "within_ms": 1500}
MISSING = {"text_contains": "Minutes of Tuesday", "within_ms": 300}


async def asked(session: ChromiumSession, works: list[Work], expect: Mapping[str, Any] = MISSING) -> tuple[str, str]:
    """The verdict, and why."""
    predicates = (PREDICATE.validate_python(expect),)
    seen: SiteAnswer = await session.ask_site(works, predicates)
    return answer_of(predicates, seen.results, seen.void, seen.incomplete)


async def test_the_site_is_asked_in_a_tab_of_its_own_and_the_page_of_the_run_never_knows(
    session: ChromiumSession, site: Site
) -> None:
    await opened(session, site, "form.html")
    script = "addEventListener('blur', () => document.title = 'left'); document.onvisibilitychange = () => 0"
    await session.tabs.current.page.evaluate(f"{script}; window.mark = 1")

    there = await asked(session, [work("goto", url=site.url("sent-late"))], SHOWN)
    not_there = await asked(session, [work("goto", url=site.url("sent"))])

    page = session.tabs.current.page
    assert (there[0], not_there[0]) == ("yes", "no")
    assert session.url == site.url("form.html")
    assert len(page.context.pages) == 1
    assert await page.evaluate("[window.mark, document.title === 'left', document.visibilityState]") == [
        1,
        False,
        "visible",
    ]


@pytest.mark.long
@pytest.mark.parametrize(
    ("page", "why"),
    [
        ("status-500", "http_500"),
        ("status-404", "http_404"),
        ("signed-out", "led_elsewhere"),
        ("elsewhere", "led_elsewhere"),
        ("signed-out-by-script", "led_elsewhere"),
        ("asks-again", "sign_in_page"),
        ("sent-by-script?/status-503", "http_503"),
        ("sent-by-script?/status-401", "http_401"),
        ("sent-by-script?http://127.0.0.1:9/", "request_failed"),
        ("slow?ms=4000", "timeout"),
    ],
)
async def test_a_page_that_is_not_what_was_asked_for_says_nothing(
    session: ChromiumSession, site: Site, page: str, why: str
) -> None:
    assert await asked(session, [work("goto", url=site.url(page), timeout_ms=2000)]) == ("unknown", why)


@pytest.mark.long
async def test_a_server_that_cannot_be_reached_says_nothing(session: ChromiumSession) -> None:
    assert await asked(session, [work("goto", url="http://127.0.0.1:9/sent")]) == ("unknown", "navigation_failed")


@pytest.mark.long
@pytest.mark.parametrize("page", ["sent-by-script?/status-404", "sent-by-script?/echo"])
async def test_data_that_came_without_it_says_that_it_is_not_there(
    session: ChromiumSession, site: Site, page: str
) -> None:
    assert (await asked(session, [work("goto", url=site.url(page))]))[0] == "no"


@pytest.mark.long
async def test_a_link_may_lead_on_and_what_it_opened_is_closed_again(session: ChromiumSession, site: Site) -> None:
    follow = [work("goto", url=site.url("popping")), work("click", link("All messages"), effect="read")]

    assert (await asked(session, follow, SHOWN))[0] == "yes"
    assert len(session.tabs.current.page.context.pages) == 1


@pytest.mark.long
async def test_a_click_that_changes_something_ends_the_asking(session: ChromiumSession, site: Site) -> None:
    follow = [work("goto", url=site.url("counting")), work("click", link("All messages"), effect="read")]

    assert await asked(session, follow, SHOWN) == ("unknown", "changed_something")


@pytest.mark.long
@pytest.mark.parametrize(
    ("step", "why"),
    [
        (work("expand", {"role": "button", "name": "Folders"}, timeout_ms=500), "element_not_found"),
        (work("wait_for", expect=[{"text_contains": "Outbox", "within_ms": 300}], timeout_ms=500), "step_unmet"),
    ],
)
async def test_a_step_that_does_not_lead_on_says_nothing(
    session: ChromiumSession, site: Site, step: Work, why: str
) -> None:
    assert await asked(session, [work("goto", url=site.url("sent")), step]) == ("unknown", why)


@pytest.mark.long
async def test_a_page_that_crashes_is_no_loss_of_the_session(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "form.html")

    async def crash() -> None:
        await session.tabs.until(lambda: "slow" in session.tabs.current.url, 10)
        with contextlib.suppress(PlaywrightError):
            await session.tabs.current.page.goto("chrome://crash")

    slow = work("goto", url=site.url("slow?ms=0"), expect=[{"text_contains": "never", "within_ms": 5000}])
    crashing = asyncio.create_task(crash())
    answer = await asked(session, [slow])
    await crashing

    assert answer == ("unknown", "page_crashed")
    assert session.url == site.url("form.html")
