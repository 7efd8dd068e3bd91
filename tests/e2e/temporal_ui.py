"""Temporal's own UI as people use it: the list of runs, and the pages of one run."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urljoin

from playwright.async_api import BrowserContext, Error, Page

from bench.chromium import launched

PATIENCE_MS = 40_000
"""How long a page may take on a busy machine."""


@dataclass(frozen=True)
class TemporalUi:
    """The UI of one server in one browser."""

    browser: BrowserContext
    url: str
    namespace: str = "default"

    @contextlib.asynccontextmanager
    async def runs(self, query: str, *, shows: str) -> AsyncIterator[Page]:
        """The list of the runs that this query finds, once it shows this text."""
        async with self._page(f"workflows?query={quote(query)}") as page:
            await page.get_by_text(shows).first.wait_for()
            yield page

    @contextlib.asynccontextmanager
    async def run(self, run_id: str, tab: str, *, shows: str) -> AsyncIterator[Page]:
        """One page of a run, once it shows this text."""
        async with self._page(f"workflows/{quote(run_id, safe='')}") as page:
            await page.get_by_role("tab", name=tab).click()
            async with asyncio.timeout(PATIENCE_MS / 1000):
                while shows not in await text_of(page):
                    await page.wait_for_timeout(100)  # of several frames nothing tells when they are filled
            yield page

    @contextlib.asynccontextmanager
    async def _page(self, path: str) -> AsyncIterator[Page]:
        page = await self.browser.new_page()
        page.set_default_timeout(PATIENCE_MS)
        try:
            await page.goto(urljoin(self.url, f"/namespaces/{self.namespace}/{path}"))
            yield page
        finally:
            await page.close()


async def text_of(page: Page) -> str:
    """All that the page shows; the UI has its Markdown in frames."""
    texts = []
    for frame in page.frames:
        with contextlib.suppress(Error):  # it is being filled: the next look sees it
            texts.append(await frame.locator("body").inner_text(timeout=5_000))
    return "\n".join(texts)


@contextlib.asynccontextmanager
async def temporal_ui(url: str, chromium: Path) -> AsyncIterator[TemporalUi]:
    """The UI at this address."""
    async with launched(chromium) as browser:
        context = await browser.new_context(viewport={"width": 1180, "height": 800})
        await (await context.new_page()).goto(url)
        yield TemporalUi(context, url)
