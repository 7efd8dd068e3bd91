"""Chromium as the benchmarks start it: by Playwright, and with a DevTools endpoint beside Playwright's pipe."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
from playwright.async_api import Browser, async_playwright

from replaywright.browser.devtools.cdp import BrowserConnection, connected
from replaywright.keeper.chromium.chromium import DISABLED_FEATURES
from replaywright.settings import load_settings
from replaywright.stack.chromium import find_chromium
from replaywright.stack.processes import free_port

_PORT = "--remote-debugging-port="


@asynccontextmanager
async def launched(path: Path | None = None) -> AsyncIterator[Browser]:
    """The Chromium at this path, else the one that is configured. What a keeper's does without costs half of a tab."""
    settings = load_settings()
    arguments = [f"{_PORT}{free_port()}", f"--disable-features={','.join(DISABLED_FEATURES)}"]
    if path is not None or not settings.chromium_sandbox:
        arguments.append("--no-sandbox")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=path or find_chromium(settings.chromium).path, args=arguments
        )
        try:
            yield browser
        finally:
            await browser.close()


async def connection_to(browser: Browser) -> BrowserConnection:
    """A connection to a Chromium that `launched` has started."""
    session = await browser.new_browser_cdp_session()
    told = await session.send("SystemInfo.getInfo")
    await session.detach()
    port = next(word for word in told["commandLine"].split() if word.startswith(_PORT)).removeprefix(_PORT)
    return await connected(f"http://127.0.0.1:{port}")


async def give_one_new_tab(endpoint: str) -> None:
    """Open a tab of its own for a test, and close all others."""
    async with httpx.AsyncClient(trust_env=False) as http:
        await http.put(f"{endpoint}/json/new?about:blank")
        tabs = [tab for tab in (await http.get(f"{endpoint}/json/list")).json() if tab["type"] == "page"]
        for tab in tabs[1:]:
            await http.get(f"{endpoint}/json/close/{tab['id']}")
