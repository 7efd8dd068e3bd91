"""One TCP connection with what the proxy needs and asyncio's streams lack: to learn that the peer is gone while
nobody reads from it.
"""

import asyncio
from collections.abc import Callable
from typing import cast

HIGH_WATER_BYTES = 256 * 1024
"""Bytes that are read ahead; more stay in the kernel."""
_PIECE_BYTES = 1024 * 1024
"""More than is ever read ahead."""


class BufferedConnection(asyncio.StreamReaderProtocol):
    """A buffered connection. `close` or `abort` it in the end; both are fine twice."""

    def __init__(self, on_connect: Callable[["BufferedConnection"], None] | None = None) -> None:
        self._incoming = asyncio.StreamReader(limit=HIGH_WATER_BYTES // 2)
        super().__init__(self._incoming)
        self._on_connect = on_connect
        self._outgoing: asyncio.StreamWriter | None = None
        self._is_lost = False
        self.is_gone = False
        """The peer has closed its side. Bytes may still wait to be read."""
        self.on_gone: Callable[[], None] | None = None
        """Called once when the peer has closed its side, read or unread."""

    @property
    def peer_address(self) -> tuple[str, int]:
        """Address and port at the other end."""
        return self._address("peername")

    @property
    def own_address(self) -> tuple[str, int]:
        """Address and port at this end."""
        return self._address("sockname")

    def _address(self, end: str) -> tuple[str, int]:
        assert self._outgoing is not None
        host, port, *_ = self._outgoing.get_extra_info(end)
        return host, port

    async def read(self) -> bytes:
        """Return what has come, waiting for something; empty at the end."""
        return await self._incoming.read(_PIECE_BYTES)

    def write(self, data: bytes) -> None:
        """Hand bytes to the network; a lost connection swallows them."""
        if self._outgoing is not None and not self._is_lost:
            self._outgoing.write(data)

    async def drain(self) -> None:
        """Wait until the peer takes more.

        Raises:
            ConnectionError: the connection is lost.
        """
        if self._outgoing is not None and not self._is_lost:
            await self._outgoing.drain()
        if self._is_lost:
            raise ConnectionResetError("connection lost")

    def write_eof(self) -> None:
        """Close our side."""
        if self._outgoing is not None and not self._outgoing.is_closing():
            self._outgoing.write_eof()

    def close(self) -> None:
        """Close after what was written has left."""
        if self._outgoing is not None:
            self._outgoing.close()

    def abort(self) -> None:
        """Close at once and throw away what has not left."""
        if self._outgoing is not None:
            self._outgoing.transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take over the connection."""
        super().connection_made(transport)
        sink = cast("asyncio.WriteTransport", transport)
        self._outgoing = asyncio.StreamWriter(sink, self, self._incoming, asyncio.get_running_loop())
        if self._on_connect is not None:
            self._on_connect(self)

    def eof_received(self) -> bool:
        """Note that the peer has closed its side; ours stays open."""
        super().eof_received()
        self._tell_gone()
        return True

    def connection_lost(self, _exc: Exception | None) -> None:
        """Note that both sides are closed: for a reader, that is the end, whatever has ended it."""
        self._is_lost = True
        super().connection_lost(None)
        self._tell_gone()

    def _tell_gone(self) -> None:
        self.is_gone = True
        callback, self.on_gone = self.on_gone, None
        if callback is not None:
            callback()
