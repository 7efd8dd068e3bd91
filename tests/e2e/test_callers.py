"""Workflows of teams that call a browser task: what becomes of the run when their worker is killed."""

import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from replaywright.cli.runs.starting import run_input
from replaywright.cli.servers.macs import start_memo
from replaywright.domain.run.scope import Mode
from tests.e2e.lab import Lab

pytestmark = pytest.mark.slow

CALLER = Path(__file__).parents[2] / "examples" / "caller.py"


@contextmanager
def serving(address: str, queue: str) -> Iterator["subprocess.Popen[bytes]"]:
    """The worker of the team; killed at the end of the block at the latest."""
    worker = subprocess.Popen([sys.executable, CALLER, address, queue])
    try:
        yield worker
    finally:
        worker.kill()
        worker.wait()


@pytest.mark.long
async def test_a_run_survives_the_worker_of_its_caller_which_gets_the_result(lab: Lab) -> None:
    await lab.served()
    here, order = lab.place, lab.order(mode=Mode.REPLAY)
    address = here.settings.temporal_address or ""
    queue, child = f"orders-{uuid.uuid4().hex[:8]}", here.client.get_workflow_handle
    given = {"queue": here.queue, "run": run_input(here.settings, order).model_dump(mode="json", by_alias=True)}
    memo = start_memo(here, "PlaceOrder", queue, given)

    with serving(address, queue) as worker:
        async with lab.freezing(lab.stage.worker, "acted:2"):
            caller = await here.client.start_workflow("PlaceOrder", given, id=queue, task_queue=queue, memo=memo)
        worker.kill()
        worker.wait()
    lab.thaw(lab.stage.worker)
    ended = await child(f"{queue}/browser").result()  # while nobody serves its caller
    waits = await caller.describe()
    with serving(address, queue):
        result = await caller.result()

    assert ended["succeeded"]
    assert waits.status is not None
    assert waits.status.name == "RUNNING"
    assert result["succeeded"]
    lab.assert_one_right_mail(order)
