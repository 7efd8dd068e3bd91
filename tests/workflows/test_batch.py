"""A batch begins each row once, as a run of its own, some at a time, and notes how each ended."""

import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from temporalio.client import Client, WorkflowHandle
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker

from activities.batches import BatchActivities
from replaywright.domain.batches import (
    BatchInput,
    BatchProgress,
    Chunk,
    Row,
    RowEnd,
    RowIndex,
    chunks_of,
    run_id_of,
)
from replaywright.domain.outcomes import StepOutcome
from replaywright.domain.runs import ActionRequest, Mode, RunInput
from replaywright.domain.tasks import parse_task
from replaywright.testing import FakeArtifacts
from replaywright.testing_batches import FakeRowEnds
from tests.workflows.scripted import Script, done, missed, scripted
from workflows.batch import BrowserBatch
from workflows.plugin import WorkflowPlugin
from workflows.policies import batch_queue

GOTO = {"action": "goto", "url": "http://site/"}
FILL = {"action": "fill", "instruction": "the name field", "value": "{{who}}"}
TENANT = "acme"


@pytest.fixture
async def client(temporal_env: WorkflowEnvironment) -> Client:
    address = temporal_env.client.service_client.config.target_host
    return await Client.connect(address, plugins=[WorkflowPlugin(sandboxed=True)])


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
        return [request.values["who"] for request in self.script.performed if request.step.action == "fill"]


@asynccontextmanager
async def bench(client: Client, script: Script | None = None) -> AsyncIterator[Bench]:
    script = script or Script()
    async with scripted(client, script) as queue:
        made = Bench(client, script, queue)
        activities = BatchActivities(made.artifacts, made.ends)
        own: list[Callable[..., object]] = [activities.read_rows, activities.note_rows, activities.watch_rows]
        async with Worker(client, task_queue=batch_queue(queue), activities=own, workflows=[]):
            yield made


async def test_every_row_is_a_run_of_its_own_and_how_it_ended_is_kept(client: Client) -> None:
    def perform(request: ActionRequest, _call: int) -> StepOutcome:
        is_third = request.step.action == "fill" and request.values["who"] == "guest 3"
        return missed("no_entry") if is_third else done(request)

    async with bench(client, Script(perform=perform)) as made:
        given = rows(7)
        handle = await made.start(given, parallel=3)
        result = await handle.result()
        ends = made.ended(handle.id)

    assert sorted(made.greeted()) == sorted(row.values["who"] for row in given)
    assert (result.status, result.ended) == ("done", {"done": 6, "failed": 1})
    assert [ends[row.number].run_id for row in given] == [run_id_of(handle.id, row) for row in given]
    assert (ends[3].status, ends[3].reason, ends[3].failed_step) == ("failed", "no_entry", 1)
    assert [each.number for each in result.problems] == [3]
