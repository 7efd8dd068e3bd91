"""What a page takes in only when a timer has fired is there when a press follows at once; a real Chromium."""

import json
from importlib import resources

import pytest

from replaywright.browser.input.debounce import Debounces
from replaywright.browser.session import ChromiumSession
from tests.adapters.browser_site import Site
from tests.adapters.steps import button, opened, says, work

PAGE = "debounced.html"


@pytest.mark.parametrize("name", ["Editor", "Re-armed", "Chained", "Framed", "Inner"])
async def test_what_was_entered_is_in_the_pages_own_state_when_a_press_follows(
    session: ChromiumSession, site: Site, name: str
) -> None:
    await opened(session, site, PAGE)

    await session.perform(work("fill", {"role": "textbox", "name": name}, text="We open at nine."))
    report = await session.perform(work("click", button("Save")))

    assert report.acted
    assert await saved(session) == {name: "We open at nine."}


async def test_a_timer_that_is_due_and_has_not_fired_is_waited_for(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "browser_basic.html")
    source = (resources.files("replaywright.browser.input") / "debounce.js").read_text(encoding="utf-8")

    left_ms = await session.tabs.current.page.evaluate(
        f"""() => {{
            const watcher = ({source})(1000), begun = performance.now();
            setTimeout(() => {{}}, 5);
            while (performance.now() - begun < 50);
            return watcher.left(1000);
        }}"""
    )

    assert left_ms > 0


async def test_all_that_was_entered_since_the_last_press_is_there(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)

    await session.perform(work("check", {"label": "Ticked"}))
    await session.perform(work("fill", {"label": "Re-armed"}, text="twice"))
    await session.perform(work("click", button("Save")))
    await session.perform(work("fill", {"label": "Re-armed"}, text="and again"))
    await session.perform(work("click", button("Save")))

    assert await saved(session) == {"Ticked": "true", "Re-armed": "and again"}


async def test_after_a_new_document_its_timers_are_waited_for(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)
    await session.perform(work("fill", {"label": "Re-armed"}, text="gone"))
    await opened(session, site, PAGE)

    await session.perform(work("fill", {"label": "Chained"}, text="here"))
    await session.perform(work("click", button("Save"), expect=[says("here")]))

    assert await saved(session) == {"Chained": "here"}


async def test_neither_older_timers_nor_their_successors_nor_long_ones_are_waited_for(
    session: ChromiumSession, site: Site
) -> None:
    await opened(session, site, "browser_basic.html")
    debounces, tab = Debounces(), session.tabs.current
    debounces.watch(tab)
    await tab.page.evaluate("setTimeout(function again() { window.rounds = 1; setTimeout(again, 900); }, 0)")
    await tab.page.wait_for_function("window.rounds")
    await debounces.over(session.tabs, tab)

    debounces.watch(tab)
    await tab.page.evaluate("setTimeout(() => { window.late = true; }, 60_000)")
    await debounces.over(session.tabs, tab)

    assert await tab.page.evaluate("window.late ?? false") is False


async def saved(session: ChromiumSession) -> dict[str, str]:
    page = session.tabs.current.page
    told: dict[str, str] = json.loads(await page.locator("#saved").inner_text())
    return told
