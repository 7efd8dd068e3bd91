"""Lead a port of all addresses to one of loopback: `python -m bench.forward FROM TO`. Chromium's DevTools need it."""

import asyncio
import contextlib
import sys


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    writer.close()


async def forward(outer: int, inner: int) -> None:
    """Serve for ever."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, back = await asyncio.open_connection("127.0.0.1", inner)
        except OSError:
            writer.close()
            return
        await asyncio.gather(_pass_on(reader, back), _pass_on(there, writer))

    server = await asyncio.start_server(serve, "0.0.0.0", outer)  # noqa: S104 - that is what it is for
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(forward(int(sys.argv[1]), int(sys.argv[2])))
