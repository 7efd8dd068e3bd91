"""Asking the site about a step in doubt: reading steps in a new tab, and reasons that void their answer."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TypeAlias

from playwright.async_api import Error as PlaywrightError

from replaywright.browser.devtools.channel import Tab
from replaywright.browser.devtools.waiting import Deadline
from replaywright.browser.step.environment import StepEnvironment
from replaywright.browser.tabs import Tabs
from replaywright.domain.predicate.evaluation import failing
from replaywright.domain.predicate.predicates import Predicate
from replaywright.domain.proof.reconciling import ANSWER_MS, OVERHEAD_MS, SIGNED_OUT, is_asked_page
from replaywright.domain.task.steps import Goto, names_element
from replaywright.errors import ActionFailed, SessionLost
from replaywright.ports.browser import STILL_LOADING, Report, SiteAnswer, Work

Perform: TypeAlias = "Callable[[Work], Awaitable[Report]]"

TAB_LIMIT_S = 10.0
"""Limit of opening the tab, and of closing it."""


class _VoidAnswer(Exception):
    """The page is not the requested one; the message is the reason."""


async def ask(
    environment: StepEnvironment, perform: Perform, works: Sequence[Work], expect: Sequence[Predicate]
) -> SiteAnswer:
    """See `BrowserSession.ask_site`."""
    url = ""
    try:
        async with asyncio.timeout((sum(work.timeout_ms for work in works) + ANSWER_MS + OVERHEAD_MS) / 1000):
            async with _tab(environment.tabs) as tab:
                begun = time.monotonic()
                try:
                    for work in works:
                        await _perform(perform, work, environment.tabs)
                    return await _answer(environment, tab, works, expect, begun)
                except _VoidAnswer as void:
                    url = tab.url
                    return SiteAnswer(url=url, void=str(void))
                except ActionFailed as exc:
                    url = tab.url
                    return SiteAnswer(url=url, void=exc.reason)
                except SessionLost:
                    if not (tab.crashed or tab.closed):
                        raise
                    return SiteAnswer(void="page_crashed")
    except TimeoutError:
        environment.tabs.require_alive()
        return SiteAnswer(url=url, void="timeout")


async def _answer(
    environment: StepEnvironment,
    tab: Tab,
    works: Sequence[Work],
    expect: Sequence[Predicate],
    begun: float,
) -> SiteAnswer:
    results = await environment.evaluate((*expect, SIGNED_OUT), Deadline(ANSWER_MS / 1000), since=begun)
    url, signed_out = environment.tabs.current.url, results[-1:]
    if failing(signed_out) is not None or not signed_out:
        raise _VoidAnswer("sign_in_page" if signed_out else "no_answer")
    navigations = [work for work in works if isinstance(work.step, Goto) and not work.step.expect]
    if navigations and navigations[-1] is works[-1]:
        _require_asked(navigations[-1], url)  # a script may have led elsewhere since
    rests = tab.main.loaded and not (tab.main.loading or tab.traffic.busy())
    return SiteAnswer(results[:-1], url, incomplete=tab.traffic.failure(tab.url) or ("" if rests else STILL_LOADING))


async def _perform(perform: Perform, work: Work, tabs: Tabs) -> None:
    report = await perform(work)
    if names_element(work.step) and not report.lookup.hit:
        raise _VoidAnswer(f"element_{report.lookup.reason}")
    if any(request.kind != "following" for request in report.evidence.requests) and not isinstance(work.step, Goto):
        raise _VoidAnswer("changed_something")
    if failing(report.after) is not None:
        raise _VoidAnswer("step_unmet")
    if report.page_fault:
        raise _VoidAnswer(report.page_fault)
    if isinstance(work.step, Goto) and not work.step.expect:
        _require_asked(work, tabs.current.url)


def _require_asked(work: Work, url: str) -> None:
    assert isinstance(work.step, Goto)
    if not is_asked_page(work.step.url, url):
        raise _VoidAnswer("led_elsewhere")


@asynccontextmanager
async def _tab(tabs: Tabs) -> AsyncIterator[Tab]:
    """Open a tab in its own window, so that the current page stays visible, and close it afterwards."""
    before = {tab.main.id for tab in tabs.attached}
    try:
        frame_id = await tabs.new_window()
        await tabs.until(lambda: any(tab.main.id == frame_id for tab in tabs.attached), TAB_LIMIT_S)
        found = next((tab for tab in tabs.attached if tab.main.id == frame_id), None)
        if found is None:
            raise TimeoutError
        with tabs.borrowing(found):
            yield found
    finally:
        await _close(tabs, before)
        tabs.hand_over()


async def _close(tabs: Tabs, before: set[str]) -> None:
    """Close the tab and the tabs that it opened; tabs that the run's own page opened meanwhile stay."""
    mine = [tab for tab in tabs.attached if tab.main.id not in before]
    with contextlib.suppress(PlaywrightError, TimeoutError):
        async with asyncio.timeout(TAB_LIMIT_S):
            pages = {tab.page: await tab.page.opener() for tab in mine}
            closing = [tab for tab in mine if pages[tab.page] is None or pages[tab.page] in pages]
            for tab in closing:
                await tab.page.close()
            await tabs.pulse.until(lambda: all(tab.closed for tab in closing), TAB_LIMIT_S)
    tabs.forget_closed()
