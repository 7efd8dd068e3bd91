"""Heartbeats from a task of their own, so that a busy activity is never taken for a dead worker."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from temporalio import activity

BEAT_S = 0.4
"""Five beats fit into the heartbeat time-out of `workflows.policies`."""


@contextlib.asynccontextmanager
async def heartbeats(phase: str) -> AsyncIterator[None]:
    """Report that the activity lives, every 0.4 s until the block ends.

    Not at once: the server counts from the activity's start anyway, and most have ended by then.
    """

    async def beat() -> None:
        while True:
            await asyncio.sleep(BEAT_S)
            activity.heartbeat(phase)

    task = asyncio.create_task(beat())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
