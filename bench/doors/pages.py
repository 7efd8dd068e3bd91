"""Pages of other origins in the user's own browser: a plain Chromium, none of ours."""

from collections.abc import Iterator, Sequence

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Page, async_playwright

from bench.doors.attacker import Attacker
from bench.doors.knocks import PATHS, Knock
from bench.doors.tree import Socket
from replaywright.settings import load_settings
from replaywright.stack.chromium import find_chromium

WHO = "a page of another origin"
_LIMIT_MS = 5_000
_NAMES = "--host-resolver-rules=MAP attacker.example 127.0.0.1, MAP rebound.example 127.0.0.1"
"""Names as the attacker's own name server gives them out: the second now leads to this machine."""


async def knock(attacker: Attacker, sockets: Sequence[Socket]) -> list[Knock]:
    """Show the attacker's page, then bring a page of each port to a name of the attacker's (DNS rebinding)."""
    settings = load_settings()
    found: list[Knock] = []
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=find_chromium(settings.chromium).path,
            args=[_NAMES, *([] if settings.chromium_sandbox else ["--no-sandbox"])],
        )
        page = await browser.new_page()
        await page.goto(f"http://attacker.example:{attacker.port}/knock?who=plain")
        await page.get_by_text("looked everywhere").wait_for(timeout=120_000)
        found += told(attacker, "plain", WHO, sockets)
        for each in sockets:
            for path in PATHS:
                found.append(await _rebound(page, each, path))
        await browser.close()
    return found


def told(attacker: Attacker, key: str, who: str, sockets: Sequence[Socket]) -> Iterator[Knock]:
    """One knock for each port that the attacker's page tried, and one for each way that it got through."""
    reports = dict(attacker.told(key))
    for each in sockets:
        through = reports.get(each.port)
        if through is None:
            continue
        yield Knock(
            str(each), who, "fetch, WebSocket", bool(through), "; ".join(f"{how}: {what}" for how, what in through)
        )


async def _rebound(page: Page, each: Socket, path: str) -> Knock:
    try:
        answer = await page.goto(f"http://rebound.example:{each.port}{path}", timeout=_LIMIT_MS)
    except PlaywrightError:  # no HTTP, or no answer
        answer = None
    is_through = answer is not None and answer.ok
    return Knock(
        str(each), WHO, f"opened as rebound.example{path}", is_through, await page.title() if is_through else ""
    )
