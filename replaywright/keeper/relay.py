"""CDP for workers: never Chromium's own port, but a relay that the keeper can take away.

Bytes pass unread. Chromium derives the WebSocket address it tells from the `Host` header, so a client that asks the
relay is sent back to the relay.
"""

import asyncio
from collections.abc import Callable


class _Side(asyncio.Protocol):
    """One of the two connections of a relayed pair: what comes in here goes out there."""

    def __init__(self, on_made: Callable[["_Side"], None], on_lost: Callable[["_Side"], None]) -> None:
        self._on_made = on_made
        self._on_lost = on_lost
        self.transport: asyncio.Transport | None = None
        self.peer: _Side | None = None
        self._out: asyncio.Transport | None = None

    def join(self, peer: "_Side") -> None:
        """Send what comes in to this peer from now on."""
        self.peer = peer
        self._out = peer.transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._on_made(self)

    def data_received(self, data: bytes) -> None:
        if self._out is not None:
            self._out.write(data)

    def pause_writing(self) -> None:
        if self.peer is not None and self.peer.transport is not None and not self.peer.transport.is_closing():
            self.peer.transport.pause_reading()

    def resume_writing(self) -> None:
        if self.peer is not None and self.peer.transport is not None and not self.peer.transport.is_closing():
            self.peer.transport.resume_reading()

    def connection_lost(self, _exc: Exception | None) -> None:
        if self._out is not None:
            self._out.close()
        self._on_lost(self)


class CdpRelay:
    """A loopback port of its own, for one attachment, in front of Chromium's debugging port."""

    def __init__(self, epoch: int, worker: str, debugging_port: int) -> None:
        self.epoch = epoch
        self.worker = worker
        self._debugging_port = debugging_port
        self._server: asyncio.Server | None = None
        self._sides: set[_Side] = set()
        self._connecting: set[asyncio.Task[None]] = set()
        self._closed = False

    @property
    def connections(self) -> int:
        """How many workers' connections are open."""
        return (len(self._sides) + 1) // 2

    async def start(self) -> int:
        """Listen on a free loopback port and return it."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Side(self._accept, self._sides.discard), "127.0.0.1", 0)
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    def close(self) -> None:
        """Stop listening and cut every connection at once; nothing that waits to be sent is sent."""
        self._closed = True
        if self._server is not None:
            self._server.close()
        for task in self._connecting:
            task.cancel()
        for side in list(self._sides):
            if side.transport is not None:
                side.transport.abort()

    def _accept(self, worker: _Side) -> None:
        assert worker.transport is not None
        self._sides.add(worker)
        if self._closed:
            worker.transport.abort()
            return
        worker.transport.pause_reading()
        task = asyncio.create_task(self._connect(worker))
        self._connecting.add(task)
        task.add_done_callback(self._connecting.discard)

    async def _connect(self, worker: _Side) -> None:
        loop = asyncio.get_running_loop()
        assert worker.transport is not None
        try:
            _, browser = await loop.create_connection(
                lambda: _Side(self._sides.add, self._sides.discard), "127.0.0.1", self._debugging_port
            )
        except OSError:
            worker.transport.abort()
            return
        assert browser.transport is not None
        if self._closed or worker.transport.is_closing():
            worker.transport.abort()
            browser.transport.abort()
            return
        worker.join(browser)
        browser.join(worker)
        worker.transport.resume_reading()
