"""One stage for many runs of the demo's task: start it, kill its worker at a point, see what became of it."""

import itertools
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from temporalio.client import WorkflowHandle

from cache.connection import open_redis
from cache.steps import RedisStepStore
from demo.main_job import TASK_FILE
from demo.stage import Stage
from demo.webmail.store import SentMessage
from replaywright.cli.follow import Ending, follow, handle_of
from replaywright.cli.run import Order, start
from replaywright.cli.taskfile import new_run_id, read_task
from replaywright.domain.runs import Mode, RunResult
from replaywright.domain.tasks import Task, bind_parameters

KILL = "REPLAYWRIGHT_INTERNAL_KILL"


@dataclass
class Lab:
    """Runs the demo's task, each time with a mail of its own."""

    stage: Stage
    numbers: "itertools.count[int]" = field(default_factory=itertools.count)
    task: Task = field(default_factory=lambda: read_task(str(TASK_FILE)))

    def order(self, task: Task | None = None, **fields: Any) -> Order:
        """A run with a subject that no other run has."""
        number = next(self.numbers)
        given = {"to": f"p{number}@example.com", "subject": f"No. {number}", "body": f"Body {number}"}
        values = bind_parameters(self.task, {"base_url": self.stage.webmail, **given})
        return Order(task or self.task, values, new_run_id(self.task, values), **fields)

    async def run(self, order: Order) -> Ending:
        """Start a run and follow it until it ends or waits for a person."""
        await start(self.stage.place, order)
        return await self.follow(order)

    async def follow(self, order: Order) -> Ending:
        """Follow a run until it ends or waits for a person."""
        return await follow(self.handle(order), show=lambda _progress, _note: None, until_waiting=True)

    def handle(self, order: Order) -> WorkflowHandle[Any, RunResult]:
        """The run's handle."""
        return handle_of(self.stage.place.client, order.run_id)

    def mails(self, order: Order) -> list[SentMessage]:
        """What the site stored of this run."""
        return [mail for mail in self.stage.sent() if mail.subject == order.values["subject"]]

    async def trace(self, order: Order) -> list[dict[str, Any]]:
        """The run's trace."""
        settings = self.stage.place.settings
        client = open_redis(settings.redis_url or "")
        try:
            return await RedisStepStore(client).trace(tenant=settings.tenant, lineage=order.run_id)
        finally:
            await client.aclose()

    async def performed(self, order: Order) -> Counter[int]:
        """How often each step's success was recorded, by number."""
        lines = await self.trace(order)
        return Counter(line["sequence"] for line in lines if line["kind"] == "step" and line["status"] == "done")

    async def replace_worker(self, **variables: str) -> None:
        """Kill the worker and start another."""
        self.stage.kill_worker()
        await self.stage.worker_ended()
        await self.stage.start_worker(**variables)

    async def learn(self) -> None:
        """Run once, so that later runs are replays."""
        ending = await self.run(self.order(mode=Mode.LEARN))
        assert ending.status == "done", ending


def armed(point: str, sequence: int, folder: Path) -> dict[str, str]:
    """The variable that makes a worker kill itself at `point` of step `sequence`, once."""
    return {KILL: f"{point}:{sequence}:{folder / f'fired-{point}-{sequence}'}"}
