"""One CDP session: every command has a time limit, and its errors say nothing that was typed."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from replaywright.browser.devtools.connection import BrowserConnection

COMMAND_TIMEOUT_S = 15.0
"""A command that is not answered by then belongs to a page that hangs."""
_NO_SESSION = -32001
"""Chromium's error for a command to a session that has ended."""


class CdpFailed(Exception):
    """A CDP command failed. Never leaves this package: what it means depends on who asked."""

    def __init__(self, method: str, message: str, *, timed_out: bool = False, closed: bool = False) -> None:
        super().__init__(f"{method}: {message}")
        self.method = method
        self.message = message
        self.timed_out = timed_out
        self.closed = closed
        """True when the page or the browser is gone."""


@dataclass
class EvaluationCounter:
    """Round trips of a session so far."""

    evaluations: int = 0
    """Scripts evaluated: each is one round trip through a page's main thread."""


@dataclass(slots=True, eq=False)
class _Command:
    method: str
    secret: bool
    answer: asyncio.Future[Mapping[str, Any]]
    limit: asyncio.TimerHandle

    def fail(self, message: str, *, timed_out: bool = False, closed: bool = False) -> None:
        self.limit.cancel()
        if not self.answer.done():
            self.answer.set_exception(CdpFailed(self.method, message, timed_out=timed_out, closed=closed))
            self.answer.exception()  # retrieved here, so that an error without a waiter is not reported as unhandled


class CdpSession:
    """A CDP session: sends commands in order, and passes every event to one listener.

    When the session ends, pending commands fail, and the listener receives the event `closed`.
    """

    def __init__(
        self,
        connection: BrowserConnection,
        session: str,
        listener: Callable[["CdpSession", str, Mapping[str, Any]], None],
        counts: EvaluationCounter,
    ) -> None:
        """Join the connection as `session`, an id that the browser gave; "" is the browser's own session."""
        self.connection = connection
        self._session = session
        self._listener = listener
        self._counts = counts
        self._commands: dict[int, _Command] = {}
        self._is_closed = False
        connection.join(session, self)

    def post(
        self, method: str, params: Mapping[str, Any] | None = None, *, secret: bool = False
    ) -> asyncio.Future[Mapping[str, Any]]:
        """Send a command without waiting; the future is its answer.

        With `secret`, errors leave out the browser's message, as that may repeat the parameters.
        """
        if method in ("Runtime.evaluate", "Runtime.callFunctionOn"):
            self._counts.evaluations += 1
        loop = asyncio.get_running_loop()
        number = self.connection.ask(self, self._session, method, params or {})
        limit = loop.call_later(COMMAND_TIMEOUT_S, self._late, number)
        command = _Command(method, secret, loop.create_future(), limit)
        if self._is_closed or not self.connection.is_open:
            command.fail("the session is closed", closed=True)
        else:
            self._commands[number] = command
        return command.answer

    def notify(self, method: str, params: Mapping[str, Any] | None = None, *, secret: bool = False) -> None:
        """Send a command and ignore its answer."""
        _ = self.post(method, params, secret=secret)

    async def send(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        secret: bool = False,
        timeout_s: float = COMMAND_TIMEOUT_S,
    ) -> Mapping[str, Any]:
        """Send a command after all that were posted before, and wait for its answer.

        Raises:
            CdpFailed: the browser refused, the session is closed, or no answer came in time.
        """
        answer = self.post(method, params, secret=secret)
        if timeout_s >= COMMAND_TIMEOUT_S:
            return await answer
        try:
            async with asyncio.timeout(timeout_s):
                return await answer
        except TimeoutError:
            raise CdpFailed(method, f"no answer in {timeout_s:g} s", timed_out=True) from None

    async def attached(
        self, target: str, listener: Callable[["CdpSession", str, Mapping[str, Any]], None], counts: EvaluationCounter
    ) -> "CdpSession":
        """Return a new session for a page; this one is the browser's.

        Raises:
            CdpFailed: there is no such page.
        """
        message = await self.send("Target.attachToTarget", {"targetId": target, "flatten": True})
        return CdpSession(self.connection, message["sessionId"], listener, counts)

    def close(self) -> None:
        """Stop listening, and give up what is still on its way."""
        self.connection.leave(self._session)
        self._is_closed = True
        self._fail_all("the session is closed", closed=True)

    # ------------------------------------------------------------------------------- what the connection tells

    def on_answer(self, number: int, message: Mapping[str, Any]) -> None:
        """Receive the answer to a command."""
        command = self._commands.pop(number, None)
        if command is None:
            return
        command.limit.cancel()
        error = message.get("error")
        if error is not None:
            closed = error.get("code") == _NO_SESSION
            command.fail(error["message"] if closed or not command.secret else "failed", closed=closed)
        elif not command.answer.done():
            command.answer.set_result(message.get("result") or {})

    def on_event(self, method: str, params: Mapping[str, Any]) -> None:
        """Receive an event."""
        if method == "Inspector.targetCrashed":  # pending commands get no answer
            self._fail_all("the page crashed")
        self._listener(self, method, params)

    def on_end(self) -> None:
        """Note that the connection or the session has ended."""
        if not self._is_closed:
            self.close()
            self._listener(self, "closed", {})

    def _fail_all(self, message: str, *, closed: bool = False) -> None:
        commands, self._commands = self._commands, {}
        for command in commands.values():
            command.fail(message, closed=closed)

    def _late(self, number: int) -> None:
        command = self._commands.pop(number, None)
        if command is not None:
            command.fail(f"no answer in {COMMAND_TIMEOUT_S:g} s", timed_out=True)
