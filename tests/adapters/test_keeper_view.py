"""The page of a browser as a person sees it, by way of its keeper: only while somebody looks."""

import os
import signal
from pathlib import Path

import pytest
from playwright.async_api import Page, Playwright

from replaywright.domain.page.targets import Box
from replaywright.errors import KeeperRefused
from replaywright.keeper.chromium import view
from replaywright.keeper.host.client import KeeperClient, launch_keeper
from tests.adapters.test_keeper import Site, driving, first_page, options, playwright, site
from tests.waiting import until

__all__ = ["playwright", "site"]

RED, BLUE = "document.body.style.background = 'rgb(255, 0, 0)'", "document.body.style.background = 'rgb(0, 0, 255)'"


MIDDLE = """async (jpeg) => {
    const picture = await createImageBitmap(await (await fetch(`data:image/jpeg;base64,${jpeg}`)).blob());
    const canvas = new OffscreenCanvas(1, 1).getContext("2d");
    canvas.drawImage(picture, picture.width / 2, picture.height / 2, 1, 1, 0, 0, 1, 1);
    const colours = canvas.getImageData(0, 0, 1, 1).data.slice(0, 3);
    return ["red", "green", "blue"][colours.indexOf(Math.max(...colours))];
}"""


async def middle(keeper: KeeperClient, page: Page, seen: int) -> tuple[int, str]:
    """The number of the next picture, and the strongest colour in its middle."""
    report = await keeper.view(seen, 10_000)
    assert report.number, "no picture came"
    return report.number, await page.evaluate(MIDDLE, report.jpeg)


async def test_the_page_is_shown_as_it_changes_beside_the_worker_that_drives_it(
    sessions: Path, playwright: Playwright, site: Site
) -> None:
    handle = await launch_keeper(sessions, options())
    async with await handle.connect() as keeper:
        async with driving(playwright, keeper, 1) as browser:
            page = await first_page(browser)
            await page.goto(site.url)
            await page.evaluate(RED)
            number, colour = await middle(keeper, page, 0)
            while colour != "red":  # as it was before
                number, colour = await middle(keeper, page, number)
            await page.evaluate(BLUE)
            while colour != "blue":
                number, colour = await middle(keeper, page, number)

            opened = await page.context.new_page()
            await opened.goto(site.url)
            await opened.evaluate(RED)
            while colour != "red":
                number, colour = await middle(keeper, page, number)
            await opened.close()
            while colour != "blue":
                number, colour = await middle(keeper, page, number)

            assert await page.evaluate("document.title") is not None, "the worker still drives it"
        await keeper.close(9)


async def test_the_element_of_the_step_is_told_until_the_page_has_another_document(
    sessions: Path, playwright: Playwright, site: Site
) -> None:
    handle = await launch_keeper(sessions, options())
    async with await handle.connect() as keeper:
        async with driving(playwright, keeper, 1) as browser:
            page = await first_page(browser)
            await page.goto(site.url)
            await page.evaluate("document.body.style.height = '5000px'; scrollTo(0, 1000)")
            devtools = await page.context.new_cdp_session(page)

            async def document() -> str:
                tree = await devtools.send("Page.getFrameTree")
                return str(tree["frameTree"]["frame"]["loaderId"])

            before = await keeper.view(0, 10_000)
            keeper.point(1, await document(), Box(x=128, y=1090, width=64, height=45))
            report = await keeper.view(before.number, 10_000)
            while report.element is None:
                report = await keeper.view(report.number, 10_000)
            width, height = await page.evaluate("[innerWidth, innerHeight]")
            assert before.element is None
            assert report.element == pytest.approx((128 / width, 90 / height, 64 / width, 45 / height), abs=0.001)

            keeper.point(1, "another", Box(x=1, y=1, width=1, height=1))
            after = await keeper.view(report.number, 10_000)
            assert after.number
            assert after.element is None
        await keeper.close(9)


async def test_the_browser_sends_no_pictures_when_nobody_looks(
    sessions: Path, playwright: Playwright, site: Site
) -> None:
    handle = await launch_keeper(sessions, options())
    async with await handle.connect() as keeper:
        async with driving(playwright, keeper, 1) as browser:
            page = await first_page(browser)
            await page.goto(site.url)
            number, _ = await middle(keeper, page, 0)
            await page.wait_for_timeout((view.UNWATCHED_S + 1) * 1000)
            for at in range(10):
                await page.evaluate(BLUE if at % 2 else RED)
                await page.wait_for_timeout(150)

            assert (await middle(keeper, page, number))[0] == number + 1, "the first picture since"
        await keeper.close(9)


async def test_what_is_no_live_browser_is_not_shown(sessions: Path) -> None:
    handle = await launch_keeper(sessions, options())
    async with await handle.connect() as keeper:
        assert handle.record.chromium is not None
        os.kill(handle.record.chromium.pid, signal.SIGKILL)

        async def is_dead() -> bool:
            return not (await keeper.status()).chromium_alive

        await until(is_dead)
        with pytest.raises(KeeperRefused, match="can be watched"):
            await keeper.view(0, 100)
        await keeper.close(9)
