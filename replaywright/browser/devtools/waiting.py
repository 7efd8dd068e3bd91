"""Waiting for events with a limit, without polling."""

import asyncio
import time
from collections.abc import Callable


class Pulse:
    """Wakes whoever waits whenever something about the browser has changed.

    State is kept by those who hear the events; who waits gives a condition over that state, so nothing can be
    missed between two waits.
    """

    def __init__(self) -> None:
        self._waiting: set[asyncio.Future[None]] = set()

    def beat(self) -> None:
        """Something changed."""
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
        """Seconds left, never negative, at most `at_most`."""
        return max(0.0, min(self.ends - time.monotonic(), at_most))

    @property
    def passed(self) -> bool:
        """Whether nothing is left."""
        return time.monotonic() >= self.ends
