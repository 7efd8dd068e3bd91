"""The dashboard's pages in a real browser, over a source that a test changes: what stays while they change, and axe."""

import asyncio
import contextlib
import dataclasses
import socket
from collections.abc import AsyncIterator
from importlib import resources
from typing import Any
from urllib.parse import quote

import pytest
import uvicorn
from playwright.async_api import Browser, expect

from replaywright.dashboard.app import Dashboard
from replaywright.dashboard.guard import AccessGuard
from replaywright.dashboard.views import LivePicture
from replaywright.errors import StackFailed
from tests.unit.dashboard import OWNER, PICTURE, RUNNING, WAITING, FakeSource, ended, full
from tests.waiting import PATIENT_MS

pytestmark = pytest.mark.slow

AXE = (resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
SERIOUS = ("serious", "critical")
PAGES = {
    "runs": "",
    "run": f"run?id={quote(RUNNING.run_id)}",
    "waiting": f"run?id={quote(WAITING.run_id)}",
    "failed": f"run?id={quote(ended(3).run_id)}",
    "inbox": "inbox",
    "skills": "skills?sort=health&order=down",
    "skill": "skill?name=send-mail",
    "changes": "changes?name=send-mail",
    "sessions": "sessions",
    "cache": "cache?sort=hits",
    "kept": "kept",
    "nothing": "nothing",
}


@contextlib.asynccontextmanager
async def served(source: FakeSource) -> AsyncIterator[tuple[str, str]]:
    """The address with the token, and the one of the pages."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{listener.getsockname()[1]}"
        pages = Dashboard(source, tenant="acme", owner=OWNER, every_s=0.1).app()
        guard = AccessGuard(pages, hosts=[host], origins=[f"http://{host}"])
        server = uvicorn.Server(uvicorn.Config(guard, log_level="error", timeout_graceful_shutdown=1))
        serving = asyncio.create_task(server.serve([listener]))
        try:
            yield f"http://{host}{guard.entrance}", f"http://{host}{guard.path}"
        finally:
            server.should_exit = True
            await serving


async def test_what_the_reader_holds_stays_while_rows_come_go_and_move(browser: Browser) -> None:
    source = full()
    async with served(source) as (entrance, _):
        page = await browser.new_page()
        await page.goto(entrance)
        rows = page.locator("tbody tr")
        await expect(rows).to_have_count(7)
        link = page.get_by_role("link", name="pay-invoice")
        await link.focus()
        await link.evaluate("one => { one.dataset.mark = 'the same' }")
        source.rows = (
            ended(9, run_id="new/1", task="new"),
            dataclasses.replace(RUNNING, step=9),
            *reversed(source.rows[1:6]),
        )

        await expect(rows.first).to_contain_text("new", timeout=PATIENT_MS)
        await expect(rows).to_have_count(7)
        keys = await rows.evaluate_all("all => all.map(one => one.dataset.key)")
        assert keys == [row.run_id for row in source.rows]
        await expect(rows.nth(1)).to_contain_text("9 of 10")
        assert "pay-invoice" in await page.evaluate("document.activeElement.textContent")
        await expect(page.locator("#live")).to_have_text("Live", timeout=PATIENT_MS)
        await page.close()


async def test_a_server_that_goes_away_is_said_and_what_was_known_stays(browser: Browser) -> None:
    source = full()
    async with served(source) as (entrance, _):
        page = await browser.new_page()
        await page.goto(entrance)
        await expect(page.locator("tbody tr")).to_have_count(7)
        source.fails = StackFailed("connection refused")

        await expect(page.get_by_role("alert")).to_contain_text("Temporal does not answer", timeout=PATIENT_MS)
        await expect(page.locator("tbody tr")).to_have_count(7)
        source.fails = None
        await expect(page.get_by_role("alert")).to_have_count(0, timeout=PATIENT_MS)
        await page.close()


async def test_a_page_that_could_not_be_shown_goes_on_by_itself(browser: Browser) -> None:
    source = full()
    source.fails = StackFailed("connection refused")
    async with served(source) as (entrance, _):
        page = await browser.new_page()
        await page.goto(entrance)
        await expect(page.get_by_role("heading", name="Temporal does not answer")).to_be_visible()
        source.fails = None

        await expect(page.locator("tbody tr")).to_have_count(7, timeout=PATIENT_MS)
        await page.close()


async def test_the_page_of_a_run_is_shown_while_somebody_looks(browser: Browser) -> None:
    source = full()
    source.screens = {}
    async with served(source) as (entrance, inside):
        page = await browser.new_page()
        await page.goto(entrance)
        picture = await page.screenshot(type="jpeg")
        source.screens = {RUNNING.run_id: LivePicture(7, picture)}
        await page.goto(inside + PAGES["run"])
        canvas = page.get_by_role("img", name="The page as the run's browser shows it now")
        await expect(page.locator("#live")).to_have_text("Live", timeout=PATIENT_MS)
        assert source.watched == 0, "nobody looks"

        await page.get_by_text("Watch the page").click()
        await expect(canvas).to_be_visible(timeout=PATIENT_MS)
        assert await canvas.evaluate("one => one.width") > 300
        source.screens = {}
        await expect(page.get_by_text("the run has no browser at the moment")).to_be_visible(timeout=PATIENT_MS)

        await page.get_by_text("Watch the page").click()
        source.screens = {RUNNING.run_id: LivePicture(8, picture)}
        await expect(page.locator("#screen")).to_have_attribute("data-watched", "", timeout=PATIENT_MS)
        assert source.watched > 0
        watched = source.watched
        await page.reload()
        await expect(page.locator("#live")).to_have_text("Live", timeout=PATIENT_MS)
        assert source.watched == watched, "nobody looks"


DESKTOP = {"viewport": {"width": 1280, "height": 860}}
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True}


@pytest.mark.parametrize(
    ("options", "names"),
    [
        pytest.param(PHONE, ("failed", "skill", "changes"), id="some"),
        pytest.param(DESKTOP, tuple(PAGES), id="desktop", marks=pytest.mark.long),
        pytest.param(PHONE, tuple(PAGES), id="phone", marks=pytest.mark.long),
        pytest.param({"color_scheme": "dark"}, tuple(PAGES), id="dark", marks=pytest.mark.long),
    ],
)
async def test_nothing_serious_keeps_anybody_from_reading_a_page(
    browser: Browser, options: dict[str, Any], names: tuple[str, ...]
) -> None:
    source = full()
    source.pictures = {WAITING.run_id: PICTURE}
    found: dict[str, list[str]] = {}
    async with served(source) as (entrance, inside):
        context = await browser.new_context(**options)
        page = await context.new_page()
        await page.goto(entrance)
        await page.wait_for_url(inside)
        for name in names:
            await page.goto(inside + PAGES[name])
            await page.evaluate(AXE)
            result = await page.evaluate("axe.run()")
            found[name] = [one["id"] for one in result["violations"] if one["impact"] in SERIOUS]
            if await page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                found[name].append("wider than the screen")
        await context.close()

    assert list(found) == list(names)
    assert {name: faults for name, faults in found.items() if faults} == {}
