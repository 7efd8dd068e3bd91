"""One TCP connection with what the proxy needs and asyncio's streams lack: to learn that the peer is gone while
nobody reads from it.
"""

import asyncio
from collections.abc import Callable

HIGH_WATER_BYTES = 256 * 1024
"""Bytes that are read ahead; more stay in the kernel."""


class BufferedConnection(asyncio.Protocol):
    """A buffered connection. `close` or `abort` it in the end; both are fine twice."""

    def __init__(self, on_connect: Callable[["BufferedConnection"], None] | None = None) -> None:
        self._on_connect = on_connect
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._eof = False
        self._lost = False
        self._reading: asyncio.Future[None] | None = None
        self._writable: asyncio.Future[None] | None = None
        self._reading_paused = False
        self.on_gone: Callable[[], None] | None = None
        """Called once when the peer has closed its side, read or unread."""

    @property
    def is_gone(self) -> bool:
        """The peer has closed its side. Bytes may still wait to be read."""
        return self._eof or self._lost

    @property
    def peer_address(self) -> tuple[str, int]:
        """Address and port at the other end."""
        assert self._transport is not None
        host, port, *_ = self._transport.get_extra_info("peername")
        return host, port

    @property
    def own_address(self) -> tuple[str, int]:
        """Address and port at this end."""
        assert self._transport is not None
        host, port, *_ = self._transport.get_extra_info("sockname")
        return host, port

    async def read(self) -> bytes:
        """Return what has come, waiting for something; empty at the end."""
        while not self._buffer and not self.is_gone:
            self._reading = asyncio.get_running_loop().create_future()
            try:
                await self._reading
            finally:
                self._reading = None
        data = bytes(self._buffer)
        self._buffer.clear()
        if self._reading_paused and self._transport is not None and not self._transport.is_closing():
            self._reading_paused = False
            self._transport.resume_reading()
        return data

    def write(self, data: bytes) -> None:
        """Hand bytes to the network; a lost connection swallows them."""
        if self._transport is not None and not self._lost:
            self._transport.write(data)

    async def drain(self) -> None:
        """Wait until the peer takes more.

        Raises:
            ConnectionError: the connection is lost.
        """
        if self._writable is not None:
            await asyncio.shield(self._writable)
        if self._lost:
            raise ConnectionResetError("connection lost")

    def write_eof(self) -> None:
        """Close our side."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write_eof()

    def close(self) -> None:
        """Close after what was written has left."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Close at once and throw away what has not left."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take over the connection."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if self._on_connect is not None:
            self._on_connect(self)

    def data_received(self, data: bytes) -> None:
        """Keep what came until it is read."""
        self._buffer += data
        if len(self._buffer) > HIGH_WATER_BYTES and self._transport is not None:
            self._reading_paused = True
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> bool:
        """Note that the peer has closed its side; ours stays open."""
        self._eof = True
        self._wake()
        self._tell_gone()
        return True

    def connection_lost(self, _exc: Exception | None) -> None:
        """Note that both sides are closed."""
        self._lost = True
        self._wake()
        self.resume_writing()
        self._tell_gone()

    def pause_writing(self) -> None:
        """Have `drain` wait."""
        if self._writable is None:
            self._writable = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        """Let `drain` return."""
        if self._writable is not None:
            if not self._writable.done():
                self._writable.set_result(None)
            self._writable = None

    def _wake(self) -> None:
        if self._reading is not None and not self._reading.done():
            self._reading.set_result(None)

    def _tell_gone(self) -> None:
        callback, self.on_gone = self.on_gone, None
        if callback is not None:
            callback()
