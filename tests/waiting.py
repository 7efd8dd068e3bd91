"""Waiting for a condition, with a limit and without sleeping longer than it takes."""

import asyncio
import inspect
import time
from collections.abc import Callable

PATIENT_MS = 60_000
"""Time in milliseconds that a page in a browser has on a busy machine."""


async def until(condition: Callable[[], object], timeout_s: float = 20.0) -> None:
    """Wait for a condition, which may be a coroutine function."""
    deadline_s = time.monotonic() + timeout_s
    while not (await held if inspect.isawaitable(held := condition()) else held):
        assert time.monotonic() < deadline_s, "condition did not come true"
        await asyncio.sleep(0.01)
