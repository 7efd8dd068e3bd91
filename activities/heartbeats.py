"""Heartbeats from a task of their own, so that a busy activity is never taken for a dead worker."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from temporalio import activity

BEAT_S = 0.4
"""Five beats fit into the heartbeat time-out of `workflows.policies`."""


class Beats:
    """Heartbeats of one activity."""

    def __init__(self, phase: str) -> None:
        self._said = [phase]

    def beat(self) -> None:
        """Report that the activity lives."""
        activity.heartbeat(*self._said)

    def tell(self, word: str) -> None:
        """Add a word to a beat now and to every later one: whoever loses the activity is told it."""
        self._said.append(word)
        self.beat()


@contextlib.asynccontextmanager
async def heartbeats(phase: str) -> AsyncIterator[Beats]:
    """Report that the activity lives, every 0.4 s until the block ends.

    Not at once: the server counts from the activity's start anyway, and most have ended by then.
    """
    beats = Beats(phase)

    async def beat() -> None:
        while True:
            await asyncio.sleep(BEAT_S)
            beats.beat()

    task = asyncio.create_task(beat())
    try:
        yield beats
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
