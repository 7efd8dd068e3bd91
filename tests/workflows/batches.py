"""The surroundings of a batch in tests: the activities of its rows are scripted, its own are real."""

import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from temporalio.client import Client, WorkflowHandle
from temporalio.worker import Worker

from activities.batch.batches import BatchActivities
from replaywright.domain.batch.batches import (
    BatchInput,
    BatchProgress,
    Chunk,
    Row,
    RowEnd,
    RowIndex,
    chunks_of,
)
from replaywright.domain.run.commands import CommandOnStep
from replaywright.domain.run.runs import RunInput
from replaywright.domain.run.scope import Mode
from replaywright.domain.step.outcomes import StepOutcome
from replaywright.domain.task.tasks import parse_task
from replaywright.testing.batches import FakeRowEnds
from replaywright.testing.stores import FakeArtifacts, FakeStarts
from tests.workflows.scripted import Script, done, missed, scripted
from workflows.batch.batch import BrowserBatch
from workflows.policies import batch_queue

GOTO = {"action": "goto", "url": "http://site/"}
FILL = {"action": "fill", "instruction": "the name field", "value": "{{who}}"}
TENANT = "acme"


def rows(count: int) -> list[Row]:
    return [Row(number=number, line=number + 1, values={"who": f"guest {number}"}) for number in range(1, count + 1)]


GREET = parse_task(
    {"task": "greet", "parameters": {"who": {}}, "steps": [GOTO, FILL], "verify": [{"url_contains": "/"}]}, "the test"
)
GREETING = RunInput(task=GREET, mode=Mode.REPLAY, tenant=TENANT)


@dataclass
class Bench:
    """A batch's surroundings: the activities of its rows are scripted, its own are real."""

    client: Client
    script: Script
    queue: str
    artifacts: FakeArtifacts = field(default_factory=FakeArtifacts)
    ends: FakeRowEnds = field(default_factory=FakeRowEnds)

    async def keep(self, given: list[Row]) -> str:
        """The digest of the rows' index."""
        chunks = []
        for chunk, data in chunks_of(given):
            digest = await self.artifacts.put(data)
            chunks.append(Chunk(digest=digest, first=chunk.rows[0].number, count=len(chunk.rows)))
        index = RowIndex(rows=len(given), chunks=tuple(chunks))
        return await self.artifacts.put(index.model_dump_json().encode())

    async def start(
        self, given: list[Row], batch: str = "", **fields: object
    ) -> WorkflowHandle[BrowserBatch, BatchProgress]:
        told = {"run": GREETING, "index": await self.keep(given), "total": len(given), **fields}
        return await self.client.start_workflow(
            BrowserBatch.run,
            BatchInput.model_validate(told),
            id=batch or f"batch-{uuid.uuid4().hex[:8]}",
            task_queue=self.queue,
        )

    def ended(self, batch: str) -> dict[int, RowEnd]:
        return self.ends.kept.get((TENANT, batch), {})

    def greeted(self) -> list[str]:
        """Who was greeted, in that order."""
        return [
            request.context.values["who"] for request in self.script.performed if request.context.step.action == "fill"
        ]


@asynccontextmanager
async def bench(client: Client, script: Script | None = None) -> AsyncIterator[Bench]:
    script = script or Script()
    async with scripted(client, script) as queue:
        made = Bench(client, script, queue)
        activities = BatchActivities(made.artifacts, made.ends, FakeStarts())
        own: list[Callable[..., object]] = [activities.read_rows, activities.note_rows, activities.watch_rows]
        async with Worker(client, task_queue=batch_queue(queue), activities=own, workflows=[]):
            yield made


def third_fails(request: CommandOnStep, _call: int) -> StepOutcome:
    """The third guest's name has no field."""
    is_third = request.context.step.action == "fill" and request.context.values["who"] == "guest 3"
    return missed("no_entry") if is_third else done(request)
