"""A stage of one part: Temporal, Redis, a worker and the demo's site, whose task was learned once."""

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from replaywright.settings import load_settings
from tests.e2e.conftest import taught
from tests.e2e.lab import Lab


@asynccontextmanager
async def learned() -> AsyncIterator[Lab]:
    """Start a stage; it ends with the block."""
    with tempfile.TemporaryDirectory(prefix="replaywright-team-") as folder:
        async with taught(load_settings(), Path(folder) / "freeze") as lab:
            yield lab
