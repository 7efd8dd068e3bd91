"""One WebSocket to a browser, shared by the CDP sessions of one attachment; commands keep their order.

Playwright's driver has its own connection. Frequent commands use this one: through the driver, a process in between,
an answer takes about twice as long (docs/internals/adr/0009-a-connection-of-our-own.md).
"""

import asyncio
import itertools
import json
import logging
import ssl
from collections.abc import Mapping
from typing import Any, Protocol, cast

import httpx
from websockets.client import ClientProtocol
from websockets.exceptions import WebSocketException
from websockets.frames import Frame, Opcode
from websockets.http11 import Response
from websockets.protocol import OPEN, SEND_EOF
from websockets.uri import parse_uri

from replaywright.browser.devtools.endpoint import is_unix, reachable

ANSWER_S = 20.0
"""Wait for the WebSocket's address; callers set shorter limits."""
_silent = logging.getLogger("replaywright.browser.devtools.connection")
_silent.setLevel(logging.WARNING)  # with more, the library would print what is typed


class SessionHandler(Protocol):
    """One CDP session on the connection."""

    def on_answer(self, number: int, message: Mapping[str, Any]) -> None:
        """Receive the answer to the command of this number."""

    def on_event(self, method: str, params: Mapping[str, Any]) -> None:
        """Receive an event."""

    def on_end(self) -> None:
        """Note that the browser has closed the session, or is gone."""


class BrowserConnection(asyncio.Protocol):
    """Open it by `connected`. Messages may be of any size; nothing is compressed, and nobody is pinged."""

    def __init__(self, url: str) -> None:
        self._websocket = ClientProtocol(parse_uri(url), max_size=None, logger=_silent)
        self._transport: asyncio.Transport | None = None
        self._opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._handlers: dict[str, SessionHandler] = {}
        self._asked: dict[int, SessionHandler] = {}
        self._numbers = itertools.count(1)
        self._fragments = bytearray()

    @property
    def is_open(self) -> bool:
        """Return whether commands can be sent."""
        return self._transport is not None and self._websocket.state is OPEN

    def join(self, session: str, handler: SessionHandler) -> None:
        """Have events of this session message to `handler`; the session of the browser itself is ""."""
        self._handlers[session] = handler

    def leave(self, session: str) -> None:
        """Stop passing on events of this session."""
        self._handlers.pop(session, None)

    def ask(self, handler: SessionHandler, session: str, method: str, params: Mapping[str, Any]) -> int:
        """Send a command and return its number; `handler` receives the answer. A lost connection drops it."""
        number = next(self._numbers)
        command = {"id": number, "method": method, "params": params}
        if session:
            command["sessionId"] = session
        if self.is_open:
            self._asked[number] = handler
            self._websocket.send_text(json.dumps(command, separators=(",", ":")).encode())
            self._flush()
        return number

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
        self._asked.clear()
        handlers, self._handlers = self._handlers, {}
        for handler in handlers.values():
            handler.on_end()

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
            asker = self._asked.pop(number, None)
            if asker is not None:
                asker.on_answer(number, message)
            return
        method, params = message["method"], message.get("params") or {}
        if method == "Target.detachedFromTarget":
            gone = self._handlers.pop(params["sessionId"], None)
            if gone is not None:
                gone.on_end()
        handler = self._handlers.get(message.get("sessionId", ""))
        if handler is not None:
            handler.on_event(method, params)


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
