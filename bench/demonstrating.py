"""A browser in which a person works, who is Playwright over a connection of its own, and the recorder that watches."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from playwright.async_api import Dialog, Page, async_playwright

from replaywright.browser.devtools.endpoint import driver_url
from replaywright.imports import Imported
from replaywright.ports.recording import Demonstration
from replaywright.recording.recorder import DemonstrationRecorder


class Watched:
    """A recording that is under way."""

    def __init__(
        self, demonstration: Demonstration, recorder: DemonstrationRecorder, page: Page, changed: asyncio.Event
    ) -> None:
        self.demonstration, self.recorder, self.page = demonstration, recorder, page
        self._changed = changed

    @staticmethod
    def leave(_dialog: Dialog) -> None:
        """Leave a dialog open: Playwright dismisses those for which nobody listens."""

    async def did(self, steps: int) -> None:
        """Return when so many steps are recorded, and the last one has come to rest."""
        try:
            async with asyncio.timeout(20):
                while len(self.recorder.steps) < steps or not self.recorder.settled.is_set():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise AssertionError(f"{steps} steps are not there: {self.recorder.lines}") from None

    async def ended(self) -> None:
        """Return when the recording has ended by itself."""
        async with asyncio.timeout(20):
            while not self.recorder.has_ended:
                self._changed.clear()
                await self._changed.wait()

    async def pointed(self) -> None:
        """Return when the last step has something that must be there after it."""
        async with asyncio.timeout(20):
            while not self.recorder.steps[-1].points:
                self._changed.clear()
                await self._changed.wait()

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
    demonstration: Demonstration, endpoint: str, url: str, secrets: Sequence[str] = ()
) -> AsyncIterator[Watched]:
    """Record what is done on this page, in the browser at `endpoint`."""
    changed = asyncio.Event()
    recorder = DemonstrationRecorder(demonstration, url, secrets, changed=changed.set)
    running = asyncio.create_task(recorder.run())
    resting = asyncio.create_task(recorder.settled.wait())
    try:
        async with asyncio.timeout(30):
            await asyncio.wait({running, resting}, return_when=asyncio.FIRST_COMPLETED)
        async with async_playwright() as playwright:
            with driver_url(endpoint) as address:
                person = await playwright.chromium.connect_over_cdp(address)
            origin = "/".join(url.split("/")[:3])  # the address itself may have led to a page to sign in
            page = next(page for page in person.contexts[0].pages if page.url.startswith(origin))
            watching = Watched(demonstration, recorder, page, changed)
            page.on("dialog", watching.leave)
            yield watching
    finally:
        resting.cancel()
        recorder.end()
        await running
