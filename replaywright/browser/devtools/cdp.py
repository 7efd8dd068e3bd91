"""The WebSocket to a browser, and the CDP sessions of one attachment that share it; commands keep their order.

Every command has a time limit, and its errors say nothing that was typed. Playwright's driver has a connection of its
own. Frequent commands use this one: through the driver, a process in between, an answer takes about twice as long
(docs/internals/adr/0009-a-connection-of-our-own.md).
"""

import asyncio
import itertools
import json
import logging
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import httpx
from websockets.client import ClientProtocol
from websockets.exceptions import WebSocketException
from websockets.frames import Frame, Opcode
from websockets.http11 import Response
from websockets.protocol import OPEN, SEND_EOF
from websockets.uri import parse_uri

from replaywright.browser.devtools.endpoint import is_unix, reachable

COMMAND_TIMEOUT_S = 15.0
"""A command that is not answered by then belongs to a page that hangs."""
ANSWER_S = 20.0
"""Wait for the WebSocket's address; callers set shorter limits."""
_NO_SESSION = -32001
"""Chromium's error for a command to a session that has ended."""
_silent = logging.getLogger("replaywright.browser.devtools.cdp")
_silent.setLevel(logging.WARNING)  # with more, the library would print what is typed

Listener: TypeAlias = "Callable[[CdpSession, str, Mapping[str, Any]], None]"
"""Receives the events of a session, and `closed` when it ends."""


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
    session: "CdpSession"
    method: str
    secret: bool
    answer: asyncio.Future[Mapping[str, Any]]
    limit: asyncio.TimerHandle

    def fail(self, message: str, *, timed_out: bool = False, closed: bool = False) -> None:
        self.limit.cancel()
        if not self.answer.done():
            self.answer.set_exception(CdpFailed(self.method, message, timed_out=timed_out, closed=closed))
            self.answer.exception()  # retrieved here, so that an error without a waiter is not reported as unhandled

    def take(self, message: Mapping[str, Any]) -> None:
        self.limit.cancel()
        error = message.get("error")
        if error is not None:
            closed = error.get("code") == _NO_SESSION
            self.fail(error["message"] if closed or not self.secret else "failed", closed=closed)
        elif not self.answer.done():
            self.answer.set_result(message.get("result") or {})


class CdpSession:
    """A CDP session: sends commands in order, and passes every event to one listener.

    When the session ends, pending commands fail, and the listener receives the event `closed`.
    """

    def __init__(
        self,
        connection: "BrowserConnection",
        session: str,
        listener: Listener,
        counts: EvaluationCounter,
    ) -> None:
        """Join the connection as `session`, an id that the browser gave; "" is the browser's own session."""
        self.connection = connection
        self._session = session
        self._listener = listener
        self._counts = counts
        self.is_closed = False
        connection.join(session, self)

    def post(
        self, method: str, params: Mapping[str, Any] | None = None, *, secret: bool = False
    ) -> asyncio.Future[Mapping[str, Any]]:
        """Send a command without waiting; the future is its answer.

        With `secret`, errors leave out the browser's message, as that may repeat the parameters.
        """
        if method in ("Runtime.evaluate", "Runtime.callFunctionOn"):
            self._counts.evaluations += 1
        return self.connection.ask(self, self._session, method, params or {}, secret=secret)

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

    async def attached(self, target: str, listener: Listener, counts: EvaluationCounter) -> "CdpSession":
        """Return a new session for a page; this one is the browser's.

        Raises:
            CdpFailed: there is no such page.
        """
        message = await self.send("Target.attachToTarget", {"targetId": target, "flatten": True})
        return CdpSession(self.connection, message["sessionId"], listener, counts)

    def close(self) -> None:
        """Stop listening, and give up what is still on its way."""
        self.is_closed = True
        self.connection.leave(self._session)
        self.connection.give_up(self, "the session is closed", closed=True)

    # ------------------------------------------------------------------------------- what the connection tells

    def on_event(self, method: str, params: Mapping[str, Any]) -> None:
        """Receive an event."""
        if method == "Inspector.targetCrashed":  # pending commands get no answer
            self.connection.give_up(self, "the page crashed")
        self._listener(self, method, params)

    def on_end(self) -> None:
        """Note that the connection or the session has ended."""
        if not self.is_closed:
            self.close()
            self._listener(self, "closed", {})


class BrowserConnection(asyncio.Protocol):
    """Open it by `connected`. Messages may be of any size; nothing is compressed, and nobody is pinged."""

    def __init__(self, url: str) -> None:
        self._websocket = ClientProtocol(parse_uri(url), max_size=None, logger=_silent)
        self._transport: asyncio.Transport | None = None
        self._opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sessions: dict[str, CdpSession] = {}
        self._commands: dict[int, _Command] = {}
        self._numbers = itertools.count(1)
        self._fragments = bytearray()

    @property
    def is_open(self) -> bool:
        """Return whether commands can be sent."""
        return self._transport is not None and self._websocket.state is OPEN

    def join(self, session: str, handler: CdpSession) -> None:
        """Pass events of this session to `handler`; the session of the browser itself is ""."""
        self._sessions[session] = handler

    def leave(self, session: str) -> None:
        """Stop passing on events of this session."""
        self._sessions.pop(session, None)

    def ask(
        self, asker: CdpSession, session: str, method: str, params: Mapping[str, Any], *, secret: bool
    ) -> asyncio.Future[Mapping[str, Any]]:
        """Send a command; the future is its answer. A lost connection drops it."""
        loop, number = asyncio.get_running_loop(), next(self._numbers)
        message = {"id": number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        if self.is_open:
            self._websocket.send_text(json.dumps(message, separators=(",", ":")).encode())
            self._flush()
        limit = loop.call_later(COMMAND_TIMEOUT_S, self._late, number)
        command = _Command(asker, method, secret, loop.create_future(), limit)
        if asker.is_closed or not self.is_open:
            command.fail("the session is closed", closed=True)
        else:
            self._commands[number] = command
        return command.answer

    def give_up(self, asker: CdpSession, message: str, *, closed: bool = False) -> None:
        """Fail the pending commands of a session."""
        for number in [number for number, command in self._commands.items() if command.session is asker]:
            self._commands.pop(number).fail(message, closed=closed)

    def _late(self, number: int) -> None:
        command = self._commands.pop(number, None)
        if command is not None:
            command.fail(f"no answer in {COMMAND_TIMEOUT_S:g} s", timed_out=True)

    def close(self) -> None:
        """Close the connection, which ends all sessions and fails all pending commands."""
        if self.is_open:
            self._websocket.send_close()
            self._flush()
        if self._transport is not None:
            self._transport.close()
        self._end()

    async def open(self, socket_path: str = "") -> None:
        """Connect to the unix socket at this path, without one to the host of the URL.

        Raises:
            OSError: nobody answers there, or not with a WebSocket.
        """
        loop, address = asyncio.get_running_loop(), self._websocket.uri
        if socket_path:
            await loop.create_unix_connection(lambda: self, socket_path)
        else:
            await loop.create_connection(lambda: self, address.host, address.port)
        try:
            await self._opened
        except BaseException:
            self.close()
            raise

    # -------------------------------------------------------------------------------------- asyncio's protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for the WebSocket."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's transports are not asyncio's classes
        self._websocket.send_request(self._websocket.connect())
        self._flush()

    def data_received(self, data: bytes) -> None:
        """Process received bytes."""
        self._websocket.receive_data(data)
        self._flush()
        for event in self._websocket.events_received():
            if isinstance(event, Frame):
                self._take(event)
            elif isinstance(event, Response) and not self._opened.done():
                refused = self._websocket.handshake_exc
                if refused is None:
                    self._opened.set_result(None)
                else:
                    self._opened.set_exception(ConnectionError(str(refused)))

    def eof_received(self) -> None:
        """Process the end of the browser's side."""
        self._websocket.receive_eof()
        self._flush()

    def connection_lost(self, _exc: Exception | None) -> None:
        """End all sessions."""
        self._end()

    def _flush(self) -> None:
        assert self._transport is not None
        for data in self._websocket.data_to_send():
            if data != SEND_EOF:
                self._transport.write(data)
            elif self._transport.can_write_eof() and not self._transport.is_closing():
                self._transport.write_eof()

    def _end(self) -> None:
        self._transport = None
        if not self._opened.done():
            self._opened.set_exception(ConnectionError("it closed the connection without an answer"))
        sessions, self._sessions = self._sessions, {}
        for session in sessions.values():
            session.on_end()

    # ------------------------------------------------------------------------------------------------ messages

    def _take(self, frame: Frame) -> None:
        if frame.opcode not in (Opcode.TEXT, Opcode.CONT):
            return
        if self._fragments or not frame.fin:
            self._fragments += frame.data
            if frame.fin:
                whole, self._fragments = self._fragments, bytearray()
                self._dispatch(json.loads(whole))
        else:
            self._dispatch(json.loads(bytes(frame.data)))

    def _dispatch(self, message: Mapping[str, Any]) -> None:
        number = message.get("id")
        if number is not None:
            command = self._commands.pop(number, None)
            if command is not None:
                command.take(message)
            return
        method, params = message["method"], message.get("params") or {}
        if method == "Target.detachedFromTarget":
            gone = self._sessions.pop(params["sessionId"], None)
            if gone is not None:
                gone.on_end()
        session = self._sessions.get(message.get("sessionId", ""))
        if session is not None:
            session.on_event(method, params)


async def connected(endpoint: str) -> BrowserConnection:
    """Connect to the browser at this DevTools endpoint (`replaywright.browser.devtools.endpoint`).

    Raises:
        OSError: no browser answers there.
    """
    if is_unix(endpoint):
        with reachable(endpoint) as (path, resource):
            connection = BrowserConnection(f"ws://localhost{resource}")
            await connection.open(path)
        return connection
    unused = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # reading the certificate authorities takes 20 ms
    async with httpx.AsyncClient(base_url=endpoint, trust_env=False, verify=unused, timeout=ANSWER_S) as http:
        try:
            url = str((await http.get("/json/version")).json()["webSocketDebuggerUrl"])
            connection = BrowserConnection(url)
        except (httpx.HTTPError, ValueError, KeyError, WebSocketException) as exc:
            raise ConnectionError(f"no browser answers at {endpoint!r}: {exc!r}") from exc
    await connection.open()
    return connection
