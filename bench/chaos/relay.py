"""A TCP relay between one worker and one server: cut, it loses nothing and passes nothing, as a partition does."""

import asyncio
import contextlib
from types import TracebackType
from typing import Self

_CHUNK_BYTES = 65_536


class Relay:
    """Passes bytes on to `host:port` while it is not cut; what waits meanwhile arrives afterwards."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._whole = asyncio.Event()
        self._whole.set()
        self._pumps: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        """Listen on a free port of the loopback interface."""
        self._server = await asyncio.start_server(self._accepted, "127.0.0.1", 0)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End all connections."""
        self._server.close()
        for pump in self._pumps:
            pump.cancel()
        await asyncio.gather(*self._pumps, return_exceptions=True)

    def cut(self) -> None:
        """Pass nothing on from now on; connections stay open, and new ones are taken and not answered."""
        self._whole.clear()

    def mend(self) -> None:
        """Pass everything on again, what waited first."""
        self._whole.set()

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        pump = asyncio.current_task()
        assert pump is not None
        self._pumps.add(pump)
        try:
            await self._connected(reader, writer)
        except (OSError, asyncio.CancelledError):
            pass  # the server is away, or the relay ends: either way this connection is over
        finally:
            self._pumps.discard(pump)
            self._closed(writer)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._whole.wait()
        there_reader, there_writer = await asyncio.open_connection(*self._target)
        try:
            both = [asyncio.create_task(self._pump(*ends)) for ends in ((reader, there_writer), (there_reader, writer))]
            try:
                await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for one in both:
                    one.cancel()
                await asyncio.gather(*both, return_exceptions=True)
        finally:
            self._closed(there_writer)

    def _closed(self, writer: asyncio.StreamWriter) -> None:
        """Close it, what was written first; on a relay that is cut, nothing of that gets anywhere any more."""
        if self._whole.is_set():
            writer.close()
        else:
            writer.transport.abort()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(_CHUNK_BYTES):
                await self._whole.wait()
                writer.write(data)
                await writer.drain()
