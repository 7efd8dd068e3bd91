"""WebSockets as DevTools speaks them: whole text messages, in both roles."""

import asyncio
import contextlib
import ssl
from collections import deque
from urllib.parse import SplitResult

from websockets.client import ClientProtocol
from websockets.datastructures import Headers
from websockets.frames import DATA_OPCODES, Frame
from websockets.http11 import Request, Response
from websockets.protocol import State
from websockets.server import ServerProtocol
from websockets.uri import parse_uri

MAX_MESSAGE_BYTES = 256 * 1024 * 1024
"""Chromium's own limit; a picture of a long page comes in one message."""
_READ_BYTES = 64 * 1024


class WebSocket:
    """One end of a connection that becomes a WebSocket by its opening handshake."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        protocol: ClientProtocol | ServerProtocol | None = None,
    ) -> None:
        """Make the server's end, unless `protocol` is that of a client."""
        self._reader = reader
        self._writer = writer
        self._protocol = protocol or ServerProtocol(max_size=MAX_MESSAGE_BYTES)
        self._head: Request | Response | None = None
        self._parts: list[bytes | bytearray | memoryview] = []
        self._messages: deque[bytes] = deque()
        self.is_cut = False
        """The connection was cut from this side."""

    @property
    def local_address(self) -> str:
        """The address of this host that it leaves by."""
        address: str = self._writer.get_extra_info("sockname")[0]
        return address

    # ---- opening handshake --------------------------------------------------------------------------------------

    async def read_request(self) -> Request:
        """Read the head of a client's request.

        Raises:
            OSError: the connection ended before it, or it is too long or no HTTP.
        """
        while self._head is None and await self._read():
            pass
        if not isinstance(self._head, Request):
            raise OSError("it sent no request")
        return self._head

    def accept(self, request: Request) -> None:
        """Answer a client that asks for a WebSocket.

        Raises:
            OSError: it asks for none; it has been answered with a refusal.
        """
        assert isinstance(self._protocol, ServerProtocol)
        response = self._protocol.accept(request)
        self.answer(response)
        if self._protocol.state is not State.OPEN:
            raise OSError(f"it was refused a WebSocket: {response.status_code}")

    def refuse(self, status: int, why: str) -> None:
        """Answer a client with a refusal."""
        assert isinstance(self._protocol, ServerProtocol)
        self.answer(self._protocol.reject(status, why))

    def answer(self, response: Response) -> None:
        """Answer a client."""
        assert isinstance(self._protocol, ServerProtocol)
        self._protocol.send_response(response)
        self._flush()

    async def ask(self, request: Request) -> Response:
        """Send a client's request and return the answer.

        Raises:
            OSError: there is none.
        """
        assert isinstance(self._protocol, ClientProtocol)
        self._protocol.send_request(request)
        self._flush()
        while self._head is None and await self._read():
            pass
        if not isinstance(self._head, Response):
            raise OSError("it closed the connection without an answer")
        return self._head

    # ---- messages -----------------------------------------------------------------------------------------------

    async def receive(self) -> bytes | None:
        """Return the next message; None at the end."""
        try:
            while not self._messages:
                if self.is_cut or self._protocol.state is not State.OPEN or not await self._read():
                    return None
        except OSError:
            return None
        return None if self.is_cut else self._messages.popleft()

    async def send(self, message: bytes) -> None:
        """Send a text, waiting while the peer takes no more.

        Raises:
            OSError: the connection is lost.
        """
        if self._protocol.state is not State.OPEN:
            raise ConnectionResetError("the WebSocket is closed")
        self._protocol.send_text(message)
        self._flush()
        await self._writer.drain()

    def write(self, *parts: bytes | memoryview) -> None:
        """Send a text in parts without waiting; a peer that does not take what was sent is cut."""
        if self.is_cut or self._protocol.state is not State.OPEN:
            return
        self._protocol.send_text(b"".join(parts))
        self._flush()
        if self._writer.transport.get_write_buffer_size() > MAX_MESSAGE_BYTES:
            self.abort()

    async def drain(self) -> None:
        """Wait while the peer takes no more; a connection that is lost takes everything."""
        with contextlib.suppress(ConnectionError):
            await self._writer.drain()

    def abort(self) -> None:
        """Cut the connection."""
        self.is_cut = True
        self._writer.transport.abort()

    async def _read(self) -> bool:
        """Take in what has come; return whether more may come."""
        if data := await self._reader.read(_READ_BYTES):
            self._protocol.receive_data(data)
        else:
            self._protocol.receive_eof()
        for event in self._protocol.events_received():
            if not isinstance(event, Frame):
                self._head = event
            elif event.opcode in DATA_OPCODES:
                self._parts.append(event.data)
                if event.fin:
                    self._messages.append(b"".join(self._parts))
                    self._parts.clear()
        self._flush()
        return bool(data) and self._protocol.handshake_exc is None

    def _flush(self) -> None:
        """Write what the protocol has to send; the end of the stream is for the owner of the connection to make."""
        self._writer.writelines(filter(None, self._protocol.data_to_send()))


async def open_websocket(url: SplitResult, target: str) -> WebSocket:
    """Connect to `target` at the host of `url`.

    Raises:
        OSError: nobody answers there, or not with a WebSocket.
    """
    reader, writer, host = await _connected(url)
    protocol = ClientProtocol(parse_uri(f"ws://{host}{target}"), max_size=MAX_MESSAGE_BYTES)
    socket = WebSocket(reader, writer, protocol)
    try:
        response = await socket.ask(protocol.connect())
        if protocol.handshake_exc is not None:
            raise OSError(f"it answered {response.status_code} {response.reason_phrase[:80]!r}")
    except OSError:
        socket.abort()
        raise
    return socket


async def fetched(url: SplitResult, target: str) -> bytes:
    """Return the body of a small answer.

    Raises:
        OSError: nobody answers, or with something else than success.
    """
    reader, writer, host = await _connected(url)
    socket = WebSocket(reader, writer, ClientProtocol(parse_uri(f"ws://{host}{target}")))
    try:
        response = await socket.ask(Request(target, Headers(Host=host, Connection="close")))
    finally:
        socket.abort()
    if response.status_code != 200:
        raise OSError(f"it answered {response.status_code} {response.reason_phrase[:80]!r}")
    return bytes(response.body)


def asks_for_websocket(request: Request) -> bool:
    """Return whether a request is for a WebSocket, as far as a glance tells; `WebSocket.accept` looks closer."""
    return any(value.lower() == "websocket" for value in request.headers.get_all("Upgrade"))


async def _connected(url: SplitResult) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, str]:
    """Connect to the host of `url`, and return what to call it there, too.

    Chromium answers only who calls it by an address or `localhost`; what ends TLS before it knows it by its name.

    Raises:
        OSError: nobody answers there.
    """
    is_tls = url.scheme in ("https", "wss")
    port = url.port or (443 if is_tls else 80)
    context = ssl.create_default_context() if is_tls else None
    reader, writer = await asyncio.open_connection(url.hostname, port, ssl=context)
    name = str(url.hostname) if is_tls else str(writer.get_extra_info("peername")[0])
    return reader, writer, f"[{name}]:{port}" if ":" in name else f"{name}:{port}"
