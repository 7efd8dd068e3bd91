"""A connection between a client and a server of the tests that can be slow, or cut off."""

import asyncio
import contextlib
from typing import Self


class Between:
    """Passes bytes on, each piece `delay_s` later; while `is_cut`, connections break and are refused."""

    def __init__(self, port: int, *, delay_s: float = 0.0) -> None:
        self._target = port
        self._delay_s = delay_s
        self._open: set[asyncio.StreamWriter] = set()
        self.is_cut = False
        self.port = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._pass_on, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self.cut()
        self._server.close()

    def cut(self) -> None:
        """Break every connection, and refuse new ones."""
        self.is_cut = True
        for writer in self._open:
            writer.transport.abort()

    def mend(self) -> None:
        """Pass on again."""
        self.is_cut = False

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.is_cut:
            writer.transport.abort()
            return
        behind, ahead = await asyncio.open_connection("127.0.0.1", self._target)
        self._open |= {writer, ahead}
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._copy(reader, ahead))
                tasks.create_task(self._copy(behind, writer))
        finally:
            self._open -= {writer, ahead}

    async def _copy(self, source: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await source.read(65536):
                await asyncio.sleep(self._delay_s)
                to.write(data)
        to.close()
