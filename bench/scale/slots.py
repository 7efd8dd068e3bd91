"""Temporal's resource-based slots beside places: how many browsers are let in, and how long their steps wait.

Browsers are stand-ins here: processes that take their memory a second after they were started and keep it to the end of
their run, as Chromium does with a page. Temporal, its worker and its tuner are real.
"""

import asyncio
import statistics
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import psutil
from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.worker import ResourceBasedSlotConfig, UnsandboxedWorkflowRunner, Worker, WorkerTuner

from bench.scale.fleet import MIB, p95
from replaywright.settings import load_settings
from replaywright.stack import Stack
from replaywright.testing.grants import allow_loopback

BROWSER_MIB = 150
ROOM = 6
"""Browsers that there is memory for."""
RUNS = 24
STEPS = 10
SHORT_LIMIT = timedelta(minutes=1)
_BROWSER = f"import time; time.sleep(1); held = b'x' * ({BROWSER_MIB} << 20); time.sleep(600)"


@workflow.defn
class Visit:
    """Open a browser as soon as there is a place, do some steps, close it."""

    @workflow.run
    async def run(self, queue: str) -> list[float]:
        """Of each step: the seconds that it waited for a slot."""
        run = workflow.info().workflow_id
        while not await workflow.execute_activity("open", run, task_queue=queue, start_to_close_timeout=SHORT_LIMIT):
            await workflow.sleep(1)
        waited = []
        for _ in range(STEPS):
            asked = workflow.time()
            own = f"{queue}-own"
            begun: float = await workflow.execute_activity(
                "step", run, task_queue=own, start_to_close_timeout=SHORT_LIMIT
            )
            waited.append(begun - asked)
        await workflow.execute_activity("close", run, task_queue=f"{queue}-own", start_to_close_timeout=SHORT_LIMIT)
        return waited


@dataclass
class Host:
    """The browsers of this machine, by run."""

    places: int | None
    browsers: dict[str, "subprocess.Popen[bytes]"] = field(default_factory=dict)
    most: int = 0

    @activity.defn(name="open")
    async def open(self, run: str) -> bool:
        """Start a browser; whether there was a place."""
        if self.places is not None and len(self.browsers) >= self.places:
            return False
        command = [sys.executable, "-I", "-S", "-c", _BROWSER]
        self.browsers[run] = await asyncio.to_thread(subprocess.Popen, command)
        self.most = max(self.most, len(self.browsers))
        await asyncio.sleep(0.3)
        return True

    @activity.defn(name="step")
    async def step(self, _run: str) -> float:
        """Take a moment; when it began, by the clock that workflows have."""
        begun = activity.info().started_time.timestamp()
        await asyncio.sleep(0.2)
        return begun

    @activity.defn(name="close")
    async def close(self, run: str) -> None:
        """End the browser."""
        if (browser := self.browsers.pop(run, None)) is not None:
            browser.kill()
            await asyncio.to_thread(browser.wait)


async def compared(*, tell: Callable[[str], None]) -> list[dict[str, object]]:
    """Places, then resource-based slots."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="replaywright-scale-") as folder:
        allow_loopback(Path(folder))
        settings = load_settings().model_copy(update={"home": Path(folder), "temporal_address": None})
        async with Stack(settings, persistent=False, tell=tell) as stack:
            client = await Client.connect(stack.running.temporal_address)
            for resource_based in (False, True):
                rows.append(await _visited(client, resource_based=resource_based))
                tell(str(rows[-1]))
    return rows


async def _visited(client: Client, *, resource_based: bool) -> dict[str, object]:
    host, queue = Host(None if resource_based else ROOM), f"slots-{uuid.uuid4().hex[:8]}"
    memory = psutil.virtual_memory()
    target = (memory.total - memory.available + ROOM * BROWSER_MIB * MIB) / memory.total
    exits = AsyncExitStack()
    async with exits:
        for name, activities in ((queue, [host.open]), (f"{queue}-own", [host.step, host.close])):
            tuner = WorkerTuner.create_resource_based(
                target_memory_usage=target, target_cpu_usage=1.0, activity_config=ResourceBasedSlotConfig(1, 500)
            )
            most = (
                {"tuner": tuner} if resource_based else {"max_concurrent_activities": 4 if name == queue else 2 * ROOM}
            )
            workflows = [Visit] if name == queue else []
            runner = UnsandboxedWorkflowRunner()
            await exits.enter_async_context(
                Worker(
                    client,
                    task_queue=name,
                    activities=activities,
                    workflows=workflows,
                    workflow_runner=runner,
                    disable_eager_activity_execution=True,
                    **most,
                )
            )
        visits = (
            client.execute_workflow(Visit.run, queue, id=f"{queue}-{number}", task_queue=queue)
            for number in range(RUNS)
        )
        waited = [seconds for told in await asyncio.gather(*visits) for seconds in told]
    return {
        "slots": "by resources" if resource_based else "places",
        "room_for": ROOM,
        "most_browsers": host.most,
        "median_wait_ms": round(1000 * statistics.median(waited)),
        "p95_wait_ms": round(1000 * p95(waited)),
        "most_wait_ms": round(1000 * max(waited)),
    }
