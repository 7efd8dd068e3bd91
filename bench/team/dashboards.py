"""`replaywright dashboard` as a process."""

import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from replaywright.stack import start_child

_READY_S = 60.0


@asynccontextmanager
async def dashboard(environment: Mapping[str, str], log: Path) -> AsyncIterator[str]:
    """Serve the dashboard; yield the address with its token.

    Raises:
        StackFailed: it did not come up.
    """
    command = [sys.executable, "-m", "replaywright", "dashboard"]
    child = start_child("dashboard", command, log=log, environment={**os.environ, **environment})

    def address() -> str:
        said = log.read_text() if log.exists() else ""
        return next((line.split()[1] for line in said.splitlines() if line.startswith("dashboard: http")), "")

    async def is_there() -> bool:
        return bool(address())

    try:
        await child.wait_until(is_there, _READY_S)
        yield address()
    finally:
        await child.stop()
