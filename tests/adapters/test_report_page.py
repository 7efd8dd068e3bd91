"""A report in a real Chromium: no accessibility finding that matters, a keyboard gets everywhere, nothing is loaded."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.async_api import Browser, Page, expect

from replaywright.reports import rendered
from tests.unit.reported import sample
from tests.unit.test_reports import HOSTILE, hostile_view
from tests.waiting import PATIENT_MS

PHONE, DESK = 390, 1200
SERIOUS = {"serious", "critical"}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that learned, healed, asked and failed."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(rendered(*sample()), encoding="utf-8")
    return path


@asynccontextmanager
async def opened(
    browser: Browser,
    path: Path,
    *,
    width: int = DESK,
    scheme: Literal["light", "dark"] = "light",
    scripts: bool = True,
    bypass: bool = False,
) -> AsyncIterator[tuple[Page, list[str]]]:
    """The report in a context of its own, and everything that went wrong or was asked for meanwhile."""
    context = await browser.new_context(
        viewport={"width": width, "height": 844}, color_scheme=scheme, java_script_enabled=scripts, bypass_csp=bypass
    )
    page = await context.new_page()
    faults: list[str] = []
    page.on("console", lambda message: faults.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", lambda request: faults.append(request.url) if not _is_own(request.url, path) else None)
    await page.goto(path.as_uri())
    try:
        yield page, faults
    finally:
        await context.close()


def _is_own(url: str, path: Path) -> bool:
    return url == path.as_uri() or url.startswith("data:image/")


async def findings(page: Page) -> list[str]:
    """What axe finds that a person who needs help would stumble over."""
    axe = (resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
    await page.evaluate(f"{axe};0")
    told: dict[str, list[dict[str, Any]]] = await page.evaluate("axe.run({resultTypes: ['violations']})")
    assert len(told["passes"]) > 30
    return [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in told["violations"] if one["impact"] in SERIOUS]


@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        (PHONE, "dark"),
        pytest.param(PHONE, "light", marks=pytest.mark.long),
        pytest.param(DESK, "dark", marks=pytest.mark.long),
        (DESK, "light"),
    ],
)
async def test_there_is_no_serious_finding_and_nothing_hangs_over_the_edge(
    browser: Browser, report: Path, width: int, scheme: Literal["light", "dark"], pictures: Path
) -> None:
    async with opened(browser, report, width=width, scheme=scheme, bypass=True) as (page, faults):
        await page.screenshot(path=pictures / f"report-{width}-{scheme}.png", full_page=True)
        await page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")

        assert await findings(page) == []
        assert await page.evaluate("document.documentElement.scrollWidth") <= width
        assert faults == []


async def test_a_keyboard_gets_to_the_run_and_opens_and_closes_its_steps(browser: Browser, report: Path) -> None:
    async with opened(browser, report) as (page, faults):
        await page.keyboard.press("Tab")
        assert await page.evaluate("document.activeElement.textContent") == "Skip to the run"
        outline = "getComputedStyle(document.activeElement).outlineStyle"
        assert await page.evaluate(outline) == "solid"
        await page.keyboard.press("Enter")
        assert await page.evaluate("document.activeElement.id") == "main"

        reached = []
        for _ in range(40):
            await page.keyboard.press("Tab")
            reached.append(await page.evaluate("document.activeElement.closest('.step')?.id ?? ''"))
            assert await page.evaluate(outline) != "none"
            if reached[-1] == "step-1":
                break
        assert reached[-1] == "step-1"
        is_open = "document.querySelector('#step-1 details').open"
        assert not await page.evaluate(is_open)
        await page.keyboard.press("Enter")
        assert await page.evaluate(is_open)
        await page.keyboard.press("Space")
        assert not await page.evaluate(is_open)
        assert faults == []


async def test_the_link_in_the_failure_leads_to_its_step_and_the_tools_work(browser: Browser, report: Path) -> None:
    async with opened(browser, report) as (page, faults):
        await page.click("#close-all")
        await page.click("section[aria-labelledby=failure] a")
        await expect(page.locator("#step-6 details").first).to_have_attribute("open", "", timeout=PATIENT_MS)
        await page.click("#open-all")
        assert await page.locator(".timeline details[open]").count() >= 6
        await page.check("#only-news")
        assert not await page.locator("#step-1").is_visible()
        assert await page.locator("#step-6").is_visible()
        assert faults == []


async def test_without_scripts_everything_is_there_and_opens(browser: Browser, report: Path) -> None:
    async with opened(browser, report, scripts=False) as (page, _faults):
        assert await page.locator(".timeline > li.step").count() == 6
        assert not await page.locator("#tools").is_visible()
        await page.click("#step-2 summary")
        assert await page.locator("#step-2 .shots").is_visible()
        assert await page.locator("#step-2 svg[role=img]").first.bounding_box() is not None
        await page.click("details.table summary")
        assert await page.get_by_role("rowheader", name="send-mail-1 (this run)").is_visible()


async def test_a_screen_reader_hears_headings_landmarks_and_what_pictures_show(browser: Browser, report: Path) -> None:
    async with opened(browser, report) as (page, _faults):
        await page.click("#open-all")
        for role in ("banner", "main", "contentinfo", "navigation"):
            assert await page.get_by_role(role).count() == 1, role
        headings = await page.get_by_role("heading", level=2).all_text_contents()
        assert headings == ["How it failed", "Timeline", "Earlier runs of this task", "About this run"]
        names = [await one.get_attribute("aria-label") for one in await page.get_by_role("img").all()]
        assert "The page before step 2, with a frame around the element that the step acts on" in names
        assert any(name and name.startswith("Duration of 7 runs") for name in names)
        assert await page.get_by_role("columnheader", name="Expected").count() == 1


@pytest.mark.parametrize("text", HOSTILE)
async def test_what_comes_from_elsewhere_does_nothing_in_the_page(browser: Browser, tmp_path: Path, text: str) -> None:
    view, loaded = hostile_view(text), sample()[1]
    path = tmp_path / "hostile.html"
    path.write_text(rendered(view, loaded), encoding="utf-8")

    async with opened(browser, path) as (page, faults):
        await page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        assert await page.evaluate("window.hacked ?? null") is None
        assert await page.locator("h1").text_content() == text
        assert faults == []


@pytest.mark.long
async def test_a_report_prints_with_every_step_open(browser: Browser, report: Path) -> None:
    async with opened(browser, report) as (page, _faults):
        await page.emulate_media(media="print")
        await page.evaluate("dispatchEvent(new Event('beforeprint'))")

        assert await page.locator(".step > details:not([open])").count() == 0
        assert not await page.locator("nav").is_visible()
        assert len(await page.pdf()) > 10_000
