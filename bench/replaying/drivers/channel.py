"""The bench's end of a line: JSON objects, one a line, over TCP. `serve(learn=…, replay=…)` answers until it is closed.

This runs in the environment of a peer: nothing of Replaywright is there.
"""

import asyncio
import json
import os
import traceback
from collections.abc import Awaitable, Callable
from typing import Any

_LONGEST = 600
given: dict[str, Any] = json.loads(os.environ["BENCH_GIVEN"])
"""What the bench tells: `base_url` of the model's stand-in, `goal`, `steps`, `state` (a folder), and so on."""


async def serve(**does: Callable[[str], Awaitable[dict[str, Any] | None]]) -> None:
    """Do what is ordered, one after the other, until the bench goes away."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(os.environ["BENCH_PORT"]))
    writer.write(json.dumps({"hello": os.environ["BENCH_NAME"]}).encode() + b"\n")
    while line := await reader.readline():
        order = json.loads(line)
        try:
            told = await does[order["order"]](order["endpoint"]) or {}
        except Exception as error:  # noqa: BLE001  the edge of the process: what a peer raises is told to the bench
            traceback.print_exc()
            told = {"failed": " ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST]}
        writer.write(json.dumps(told).encode() + b"\n")
        await writer.drain()
