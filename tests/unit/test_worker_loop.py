"""Which event loop a worker has, and what does not hold it up."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from worker import _event_loop

SERVED = """
import asyncio, contextlib, gc, os, signal
import worker

@contextlib.asynccontextmanager
async def polling(*_):
    asyncio.get_running_loop().call_soon(os.kill, os.getpid(), signal.SIGTERM)
    yield

async def connected(*_):
    return None

worker.workers, worker.connect = polling, connected
asyncio.run(worker._serve("workflow"))
print(gc.get_freeze_count(), len(gc.get_objects()))
"""
"""A worker that has nothing to poll, and is ended at once."""


def test_a_worker_runs_on_uvloop() -> None:
    uvloop = pytest.importorskip("uvloop", reason="it is not installed")
    loop_factory = _event_loop()
    assert loop_factory is not None

    loop = loop_factory()
    loop.close()

    assert isinstance(loop, uvloop.Loop)


def test_where_there_is_no_uvloop_it_runs_on_asyncios_own_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvloop", None)

    assert _event_loop() is None


def test_what_a_worker_is_made_of_is_not_gone_through_for_garbage(tmp_path: Path) -> None:
    environment = {**os.environ, "REPLAYWRIGHT_HOME": str(tmp_path)}

    ended = subprocess.run(
        [sys.executable, "-c", SERVED], env=environment, capture_output=True, text=True, check=True, timeout=60
    )

    kept_out, gone_through = map(int, ended.stdout.split())
    assert kept_out > 100_000 > 10 * gone_through
