"""One CDP session: every command has a time limit, and its errors say nothing that was typed."""

import asyncio
import inspect
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from playwright.async_api import CDPSession
from playwright.async_api import Error as PlaywrightError

COMMAND_TIMEOUT_S = 15.0
"""A command that is not answered by then belongs to a page that hangs."""


class WireFailed(Exception):
    """A CDP command failed. Never leaves this package: what it means depends on who asked."""

    def __init__(self, method: str, message: str, *, timed_out: bool = False) -> None:
        super().__init__(f"{method}: {message}")
        self.method = method
        self.message = message
        self.timed_out = timed_out

    @property
    def closed(self) -> bool:
        """Whether there is no longer anyone to answer: the page, the browser, or the driver in between is gone."""
        return "has been closed" in self.message or "Target closed" in self.message


@dataclass
class Counts:
    """What a session has cost so far."""

    evaluations: int = 0
    """Scripts evaluated: each is one round trip through a page's main thread."""


class Wire:
    """Sends commands in the order they are posted, and hands every event to one listener."""

    def __init__(
        self, session: CDPSession, listener: Callable[["Wire", str, Mapping[str, Any]], None], counts: Counts
    ) -> None:
        self._session = session
        self._listener = listener
        self._counts = counts
        self.closed_at = 0.0
        """When it was first seen that nobody answers any more; monotonic seconds, 0 while somebody does."""
        self._posted: set[asyncio.Task[Mapping[str, Any]]] = set()

        def hear(event: Mapping[str, Any]) -> None:
            self._listener(self, event["method"], event.get("params") or {})

        # Playwright asks for it at every event: worked out anew each time, that was a fifth of a worker's time.
        hear.__signature__ = inspect.signature(hear)  # type: ignore[attr-defined]
        self._hear = hear
        session.on("event", hear)

    def post(
        self, method: str, params: Mapping[str, Any] | None = None, *, secret: bool = False
    ) -> asyncio.Task[Mapping[str, Any]]:
        """Send without waiting; the task ends with the answer.
        With `secret`, the error does not repeat what the browser said, as that may repeat the parameters.
        """
        if method in ("Runtime.evaluate", "Runtime.callFunctionOn"):
            self._counts.evaluations += 1
        task = asyncio.create_task(self._send(method, params or {}, secret=secret))
        self._posted.add(task)
        task.add_done_callback(self._settled)
        return task

    def tell(self, method: str, params: Mapping[str, Any] | None = None, *, secret: bool = False) -> None:
        """Send; the answer does not matter."""
        self.post(method, params, secret=secret).add_done_callback(self._posted.discard)

    async def send(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        secret: bool = False,
        timeout_s: float = COMMAND_TIMEOUT_S,
    ) -> Mapping[str, Any]:
        """Send, after everything that was posted before, and wait for the answer.

        Raises:
            WireFailed: the browser refused, the session is closed, or no answer came in time.
        """
        task = self.post(method, params, secret=secret)
        try:
            async with asyncio.timeout(timeout_s):
                return await task
        except TimeoutError:
            raise WireFailed(method, f"no answer in {timeout_s:g} s", timed_out=True) from None

    async def _send(self, method: str, params: Mapping[str, Any], *, secret: bool) -> Mapping[str, Any]:
        message = ""
        try:
            async with asyncio.timeout(COMMAND_TIMEOUT_S):
                answer: Mapping[str, Any] = await self._session.send(method, dict(params))
                return answer or {}
        except PlaywrightError as exc:
            message = exc.message if not secret or WireFailed(method, exc.message).closed else "failed"
        except TimeoutError:
            raise WireFailed(method, f"no answer in {COMMAND_TIMEOUT_S:g} s", timed_out=True) from None
        # Outside the handler: as its context, the original error would be printed with the parameters it repeats.
        failed = WireFailed(method, message)
        if failed.closed and not self.closed_at:
            self.closed_at = time.monotonic()
            self._listener(self, "closed", {})
        raise failed

    def _settled(self, task: asyncio.Task[Mapping[str, Any]]) -> None:
        self._posted.discard(task)
        if not task.cancelled():
            task.exception()  # retrieved here, so that an answer nobody waits for is no unhandled error

    def close(self) -> None:
        """Stop listening and give up what is still on its way."""
        self._session.remove_listener("event", self._hear)
        for task in tuple(self._posted):
            task.cancel()

    async def detach(self) -> None:
        """End the CDP session; one that has ended already is fine."""
        self.close()
        try:
            async with asyncio.timeout(2):
                await self._session.detach()
        except (PlaywrightError, TimeoutError):
            return
