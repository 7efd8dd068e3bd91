"""Live updates of a page as server-sent events."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Generic, TypeVar

from markupsafe import Markup
from sse_starlette import ServerSentEvent

from replaywright.dashboard.rendering import digest_of

Value = TypeVar("Value")
RETRY_MS = 2000
"""Delay before a browser reconnects."""


class Shared(Generic[Value]):
    """Short-lived cache that computes a value once for several concurrent readers."""

    def __init__(self, lasts_s: float) -> None:
        """Keep values for `lasts_s` seconds."""
        self._lasts_s = lasts_s
        self._made: dict[object, tuple[float, asyncio.Task[Value]]] = {}

    async def get(self, key: object, make: Callable[[], Awaitable[Value]]) -> Value:
        """Return the cached value of this key, or make it; raises what `make` raises."""
        now = time.monotonic()
        for old in [each for each, (until, task) in self._made.items() if until < now and task.done()]:
            del self._made[old]
        if key not in self._made:

            async def made() -> Value:
                return await make()

            self._made[key] = now + self._lasts_s, asyncio.create_task(made())
        # One who leaves takes nothing from the others.
        return await asyncio.shield(self._made[key][1])

    def forget(self) -> None:
        """Have every value made anew."""
        self._made.clear()


async def changed_regions(
    look: Callable[[], Awaitable[tuple[Mapping[str, Markup], bool]]], every_s: float
) -> AsyncIterator[ServerSentEvent]:
    """Yield each region once, and again after each change; `end` when the page is final.

    Args:
        look: Returns the regions by id, and whether they are final.
        every_s: Seconds between two looks.
    """
    sent: dict[str, str] = {}
    while True:
        regions, is_final = await look()
        for name, html in regions.items():
            digest = digest_of(html)
            if sent.get(name) != digest:
                sent[name] = digest
                data = json.dumps({"id": name, "digest": digest, "html": html})
                yield ServerSentEvent(data, event="region", retry=RETRY_MS)
        if is_final:
            yield ServerSentEvent("", event="end")
            return
        await asyncio.sleep(every_s)
