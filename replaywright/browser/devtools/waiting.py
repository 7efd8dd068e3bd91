"""Waiting for events with a limit, without polling."""

import asyncio
import time
from collections.abc import Callable


class Pulse:
    """Wakes all waiters when something about the browser has changed.

    Event handlers keep the state, and a waiter gives a condition over it, so no event is missed between two waits.
    """

    def __init__(self) -> None:
        self._waiting: set[asyncio.Future[None]] = set()

    def beat(self) -> None:
        """Wake all waiters."""
        for future in self._waiting:
            if not future.done():
                future.set_result(None)
        self._waiting.clear()

    async def until(self, condition: Callable[[], bool], timeout_s: float) -> bool:
        """Wait until `condition` holds; False when it did not within `timeout_s`."""
        deadline = time.monotonic() + timeout_s
        while not condition():
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            future = asyncio.get_running_loop().create_future()
            self._waiting.add(future)
            try:
                async with asyncio.timeout(left):
                    await future
            except TimeoutError:
                return condition()
            finally:
                self._waiting.discard(future)
        return True


class Deadline:
    """The end of a step's budget."""

    def __init__(self, timeout_s: float) -> None:
        self.ends = time.monotonic() + timeout_s

    def left(self, at_most: float = float("inf")) -> float:
        """Return the seconds left, never negative, at most `at_most`."""
        return max(0.0, min(self.ends - time.monotonic(), at_most))

    @property
    def passed(self) -> bool:
        """Return whether no time is left."""
        return time.monotonic() >= self.ends
