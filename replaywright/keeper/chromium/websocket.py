"""WebSockets (RFC 6455) as DevTools speaks them: whole text messages, in both roles."""

import asyncio
import base64
import hashlib
import secrets
import ssl
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import SplitResult

MAX_MESSAGE_BYTES = 256 * 1024 * 1024
"""Chromium's own limit; a picture of a long page comes in one message."""

_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_CONTINUED, _TEXT, _BINARY, _CLOSE, _PING, _PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA
_LAST, _MASKED = 0x80, 0x80
_SMALL_BYTES = 64 * 1024
"""Messages up to this size are sent in one piece; to join the parts of a larger one would copy it."""


class WebSocket:
    """One end of an open connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_client: bool) -> None:
        self._reader = reader
        self._writer = writer
        self._is_client = is_client
        self.is_cut = False
        """The connection was cut from this side."""

    @property
    def local_address(self) -> str:
        """The address of this host that it leaves by."""
        address: str = self._writer.get_extra_info("sockname")[0]
        return address

    async def receive(self) -> bytes | None:
        """The next message; None at the end."""
        whole = bytearray()
        try:
            while True:
                is_last, kind, payload = await self._frame()
                match kind:
                    case _ if kind in (_CONTINUED, _TEXT, _BINARY):
                        whole += payload
                        if len(whole) > MAX_MESSAGE_BYTES:
                            return None
                        if is_last:
                            return bytes(whole)
                    case _ if kind == _PING:
                        self._write(_PONG, payload)
                    case _ if kind == _CLOSE:
                        return None
        except (OSError, asyncio.IncompleteReadError):
            return None

    async def _frame(self) -> tuple[bool, int, bytes]:
        first, second = await self._reader.readexactly(2)
        size = second & ~_MASKED
        if size == 126:
            size = int.from_bytes(await self._reader.readexactly(2))
        elif size == 127:
            size = int.from_bytes(await self._reader.readexactly(8))
        if size > MAX_MESSAGE_BYTES:
            raise OSError(f"a message of {size} bytes")
        mask = await self._reader.readexactly(4) if second & _MASKED else b""
        payload = await self._reader.readexactly(size)
        return bool(first & _LAST), first & 0x0F, _masked(payload, mask) if mask else payload

    async def send(self, message: bytes) -> None:
        """Send a text, waiting while the peer takes no more.

        Raises:
            OSError: the connection is lost.
        """
        self._write(_TEXT, message)
        await self._writer.drain()

    def write(self, *parts: bytes | memoryview) -> None:
        """Send a text in parts without waiting; a peer that does not take what was sent is cut."""
        assert not self._is_client, "a client's frames are masked"
        if self.is_cut:
            return
        size = sum(map(len, parts))
        head = _head(_TEXT, size, 0)
        if size < _SMALL_BYTES:
            self._writer.write(b"".join((head, *parts)))
        else:
            self._writer.write(head)
            for part in parts:
                self._writer.write(part)
        if self._writer.transport.get_write_buffer_size() > MAX_MESSAGE_BYTES:
            self.abort()

    def _write(self, kind: int, payload: bytes) -> None:
        mask = secrets.token_bytes(4) if self._is_client else b""
        head = _head(kind, len(payload), _MASKED if mask else 0)
        self._writer.write(head + mask + (_masked(payload, mask) if mask else payload))

    def abort(self) -> None:
        """Cut the connection."""
        self.is_cut = True
        self._writer.transport.abort()


def _head(kind: int, size: int, flag: int) -> bytes:
    if size < 126:
        return bytes((_LAST | kind, flag | size))
    if size < 1 << 16:
        return bytes((_LAST | kind, flag | 126)) + size.to_bytes(2)
    return bytes((_LAST | kind, flag | 127)) + size.to_bytes(8)


def _masked(payload: bytes, mask: bytes) -> bytes:
    repeated = (mask * (len(payload) // 4 + 1))[: len(payload)]
    return (int.from_bytes(payload) ^ int.from_bytes(repeated)).to_bytes(len(payload))


async def open_websocket(url: SplitResult, target: str) -> WebSocket:
    """Connect to `target` at the host of `url`.

    Raises:
        OSError: nobody answers there, or not with a WebSocket.
    """
    reader, writer, host = await connected(url)
    key = base64.b64encode(secrets.token_bytes(16))
    head = (b"Upgrade: websocket", b"Connection: Upgrade", b"Sec-WebSocket-Version: 13", b"Sec-WebSocket-Key: " + key)
    try:
        writer.write(_request(target, host, head))
        answer = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError) as exc:
        writer.transport.abort()
        raise OSError("it closed the connection without an answer") from exc
    if not answer.startswith(b"HTTP/1.1 101 "):
        writer.transport.abort()
        raise OSError(f"it answered {_status_line(answer)!r}")
    return WebSocket(reader, writer, is_client=True)


async def connected(url: SplitResult) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, str]:
    """A connection to the host of `url`, and what to call it there.

    Chromium answers only who calls it by an address or `localhost`; what ends TLS before it knows it by its name.

    Raises:
        OSError: nobody answers there.
    """
    is_tls = url.scheme in ("https", "wss")
    port = url.port or (443 if is_tls else 80)
    context = ssl.create_default_context() if is_tls else None
    reader, writer = await asyncio.open_connection(url.hostname, port, ssl=context, limit=1 << 20)
    name = str(url.hostname) if is_tls else str(writer.get_extra_info("peername")[0])
    return reader, writer, f"[{name}]:{port}" if ":" in name else f"{name}:{port}"


def _request(target: str, host: str, headers: Iterable[bytes]) -> bytes:
    return b"\r\n".join((f"GET {target} HTTP/1.1\r\nHost: {host}".encode("latin-1"), *headers, b"", b""))


async def fetched(url: SplitResult, target: str) -> bytes:
    """The body of a small answer.

    Raises:
        OSError: nobody answers, or with something else than success.
    """
    reader, writer, host = await connected(url)
    try:
        writer.write(_request(target, host, (b"Connection: close",)))
        head = await reader.readuntil(b"\r\n\r\n")
        if b" 200 " not in head.partition(b"\r\n")[0]:
            raise OSError(f"it answered {_status_line(head)!r}")
        length = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        if length:
            return await reader.readexactly(min(int(length[0].partition(b":")[2]), 1 << 20))
        return await reader.read(1 << 20)
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError) as exc:
        raise OSError("its answer ended too soon") from exc
    finally:
        writer.transport.abort()


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a request."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]

    def values(self, name: str) -> list[str]:
        """Return all values of a header; its name is in lower case."""
        return [value for other, value in self.headers if other == name]

    @property
    def key(self) -> str:
        """The key of a client that asks for a WebSocket; empty for any other request."""
        wants = any(value.lower() == "websocket" for value in self.values("upgrade"))
        return next(iter(self.values("sec-websocket-key")), "") if wants and self.method == "GET" else ""


async def read_head(reader: asyncio.StreamReader) -> Head:
    """Read the head of a request.

    Raises:
        OSError: the connection ended before it, or it is too long or no HTTP.
    """
    try:
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").rstrip("\r\n").split("\r\n")
        method, target, _ = first.split(" ")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError) as exc:
        raise OSError("it sent no request") from exc
    pairs = (line.partition(":")[::2] for line in lines)
    return Head(method, target, tuple((name.strip().lower(), value.strip()) for name, value in pairs))


def refused(status: int, why: str) -> bytes:
    """Answer a request with a refusal."""
    body = why.encode()
    return b"HTTP/1.1 %d Refused\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body)


def accepted(key: str) -> bytes:
    """The answer to a client that wants a WebSocket."""
    told = base64.b64encode(hashlib.sha1(key.encode("latin-1") + _GUID).digest())  # noqa: S324 - RFC 6455 says so
    return (
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Accept: " + told + b"\r\n\r\n"
    )


def _status_line(head: bytes) -> str:
    return head.partition(b"\r\n")[0][:80].decode("latin-1")
