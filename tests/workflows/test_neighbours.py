"""A neighbour tells Temporal at once of what a dead worker had under way; of a living one it tells nothing."""

import asyncio
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from replaywright.stack.serving.neighbours import Neighbours
from tests.waiting import until
from workflows import policies

PATIENCE = timedelta(minutes=5)
"""Nothing else but a neighbour ends the activity so soon."""


@workflow.defn(sandboxed=False)
class Asking:
    """Has one activity done; says how it was lost, if it was."""

    @workflow.run
    async def run(self, tries: int) -> str:
        try:
            answer: str = await workflow.execute_activity(
                "hang", start_to_close_timeout=PATIENCE, retry_policy=RetryPolicy(maximum_attempts=tries)
            )
        except ActivityError as error:
            kind = error.cause.type if isinstance(error.cause, ApplicationError) else ""
            return f"lost: {kind}" if policies.is_loss(error) else f"failed: {kind}"
        return answer


class Hanging:
    """An activity that hangs at its first try, and whether it has begun."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()

    @activity.defn(name="hang")
    async def hang(self) -> str:
        if activity.info().attempt > 1:
            return "done by another"
        self.begun.set()
        await asyncio.Event().wait()
        return ""


@dataclass
class Dying:
    """A worker that a test kills."""

    process: "subprocess.Popen[bytes]"
    worker: Neighbours


@pytest.fixture
def dying(tmp_path: Path, client: Client, monkeypatch: pytest.MonkeyPatch) -> Iterator[Dying]:
    started = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    with monkeypatch.context() as patched:
        patched.setattr(os, "getpid", lambda: started.pid)
        worker = Neighbours(tmp_path, client)
    yield Dying(started, worker)
    started.kill()
    started.wait()


@pytest.mark.parametrize(("tries", "said"), [(1, "lost: WorkerLost"), (2, "done by another")])
async def test_what_a_killed_worker_had_under_way_is_lost_at_once(
    client: Client, tmp_path: Path, dying: Dying, tries: int, said: str
) -> None:
    living, hanging, queue = Neighbours(tmp_path, client), Hanging(), f"test-{uuid.uuid4().hex[:8]}"
    watching = asyncio.create_task(living.watch())
    async with Worker(
        client,
        task_queue=queue,
        workflows=[Asking],
        activities=[hanging.hang],
        interceptors=[dying.worker.interceptor],
        workflow_runner=UnsandboxedWorkflowRunner(),
    ):
        handle = await client.start_workflow(Asking.run, tries, id=queue, task_queue=queue)
        await hanging.begun.wait()
        dying.process.send_signal(signal.SIGKILL)

        assert await handle.result() == said
    await until(lambda: len(list((tmp_path / "workers").iterdir())) == 1)
    watching.cancel()
    living.leave()
    assert list((tmp_path / "workers").iterdir()) == []


async def test_nothing_is_told_of_what_is_over_or_of_another_machine(
    client: Client, tmp_path: Path, dying: Dying
) -> None:
    living, folder = Neighbours(tmp_path, client), tmp_path / "workers"
    [dead] = folder.glob(f"*-{dying.process.pid}-*")
    elsewhere = folder / f"0123456789ab-{dying.process.pid}-7"
    elsewhere.mkdir()
    for each in (dead, elsewhere):
        (each / "torn").write_bytes(b"x")
    dying.process.kill()
    dying.process.wait()

    watching = asyncio.create_task(living.watch())

    await until(lambda: not dead.exists())
    watching.cancel()
    assert (elsewhere / "torn").exists()
