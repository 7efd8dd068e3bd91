"""A browser in which a person works, who is Playwright over a connection of its own, and the recorder that watches."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from playwright.async_api import Dialog, Page, async_playwright

from replaywright.browser.devtools.attach import ChromiumBrowsers
from replaywright.imports import Imported
from replaywright.ports.recording import Demonstration
from replaywright.recording.recorder import Recorder


class Watched:
    """A recording that is under way."""

    def __init__(self, demonstration: Demonstration, recorder: Recorder, page: Page) -> None:
        self.demonstration, self.recorder, self.page = demonstration, recorder, page

    @staticmethod
    def leave(_dialog: Dialog) -> None:
        """Leave a dialog open: Playwright dismisses those for which nobody listens."""

    async def did(self, steps: int) -> None:
        """Return when so many steps are recorded, and the last one has come to rest."""
        try:
            async with asyncio.timeout(20):
                while len(self.recorder.steps) < steps or not self.recorder.settled.is_set():
                    await asyncio.sleep(0.02)
        except TimeoutError:
            raise AssertionError(f"{steps} steps are not there: {self.recorder.lines}") from None

    def task(self) -> Imported:
        """The task so far."""
        return self.recorder.task("recorded")

    def brief(self) -> list[dict[str, Any]]:
        """The steps so far, without instructions and expectations."""
        left_out = {"instruction", "expect", "timeout_ms"}
        return [
            step.model_dump(mode="json", exclude_none=True, exclude_defaults=True, exclude=left_out)
            for step in self.task().task.steps
        ]


@asynccontextmanager
async def watched(
    browsers: ChromiumBrowsers, endpoint: str, url: str, secrets: Sequence[str] = ()
) -> AsyncIterator[Watched]:
    """Record what is done on this page."""
    demonstration = await browsers.watch(endpoint)
    recorder = Recorder(demonstration, url, secrets, changed=lambda: None)
    running = asyncio.create_task(recorder.run())
    try:
        async with asyncio.timeout(30):
            await asyncio.wait({running, asyncio.create_task(recorder.settled.wait())}, return_when="FIRST_COMPLETED")
        async with async_playwright() as playwright:
            person = await playwright.chromium.connect_over_cdp(endpoint)
            page = next(page for page in person.contexts[0].pages if page.url.startswith(url))
            watching = Watched(demonstration, recorder, page)
            page.on("dialog", watching.leave)
            yield watching
    finally:
        recorder.end()
        await running
        await demonstration.close()
