"""Small histories: a run that waits for a person, and batches. The activities are scripted, the server is real."""

import asyncio
import uuid
from collections.abc import Callable
from pathlib import Path

from temporalio.client import Client, WorkflowHistory

from replaywright.cli.runs.searchable import start_attributes
from replaywright.cli.servers.connect import Backend
from replaywright.domain.run.commands import CommandOnStep
from replaywright.domain.run.commit_requests import PersonVerdict
from replaywright.domain.run.runs import Totals
from replaywright.domain.step.outcomes import StepOutcome
from replaywright.settings import Settings
from replaywright.stack.temporal import DevServer, provide_temporal
from tests.e2e.lab import until
from tests.workflows.batches import bench, rows, third_fails
from tests.workflows.scripted import Script, done, missed, run_of, scripted, waiting
from workflows.plugin import WorkflowPlugin
from workflows.task import BrowserTask

GOTO = {"action": "goto", "url": "http://site/"}
FILL = {"action": "fill", "instruction": "the name field", "value": "Ada"}


def closed_at_first() -> Script:
    """The second step finds its field when it is performed again."""

    def perform(asked: CommandOnStep, call: int) -> StepOutcome:
        return missed("not_found") if asked.context.sequence == 1 and call == 0 else done(asked)

    return Script(perform=perform)


async def record_searchable(path: Path, scratch: Path, as_text: Callable[[WorkflowHistory], str]) -> None:
    """Write, if it is missing, the history of a run that was started with search attributes, waits, and is answered.

    All other runs are started without any.
    """
    if path.exists():
        return
    binary = await provide_temporal(scratch)
    server = await DevServer(binary.path, log=scratch / "searchable.log", database=scratch / "searchable.db").start()
    try:
        client = await Client.connect(server.address, plugins=[WorkflowPlugin()])
        place = Backend(client, Settings(temporal_address=server.address), "configured")
        attributes = await start_attributes(place, task="test", site="site", skill="", mode="replay", totals=Totals())
        run = run_of(GOTO, FILL, on_failure="ask", mode="replay")
        async with scripted(client, closed_at_first()) as queue:
            handle = await client.start_workflow(
                BrowserTask.run, run, id=f"run-{uuid.uuid4().hex}", task_queue=queue, search_attributes=attributes
            )
            await waiting(handle)
            await handle.execute_update(BrowserTask.resolve_step, PersonVerdict(sequence=1, verdict="retry"))
            await handle.result()
            path.write_text(as_text(await handle.fetch_history()), encoding="utf-8")
    finally:
        await server.child.stop()


async def record_batches(folder: Path, scratch: Path, as_text: Callable[[WorkflowHistory], str]) -> None:
    """Write what is missing: a batch that continued as new, and has a row that failed, as `first` and `last`; and one
    that finds the runs it had begun before.
    """
    continued = [folder / f"{part}.json" for part in ("first", "last")]
    begun_again = folder / "begun-again.json"
    if all(path.exists() for path in (*continued, begun_again)):
        return
    binary = await provide_temporal(scratch)
    server = await DevServer(binary.path, log=scratch / "batch.log", database=scratch / "batch.db").start()
    try:
        client = await Client.connect(server.address, plugins=[WorkflowPlugin(sandboxed=True)])
        if not all(path.exists() for path in continued):
            for path, history in zip(continued, await batch_that_continued(client), strict=True):
                path.write_text(as_text(history), encoding="utf-8")
        if not begun_again.exists():
            begun_again.write_text(as_text(await batch_begun_again(client)), encoding="utf-8")
    finally:
        await server.child.stop()


async def batch_that_continued(client: Client) -> tuple[WorkflowHistory, WorkflowHistory]:
    """Its first history and its last."""
    async with bench(client, Script(perform=third_fails)) as made:
        handle = await made.start(rows(5), f"batch-{uuid.uuid4().hex}", parallel=2, rows_per_history=3)
        await handle.result()
    first = client.get_workflow_handle(handle.id, run_id=handle.first_execution_run_id)
    return await first.fetch_history(), await client.get_workflow_handle(handle.id).fetch_history()


async def batch_begun_again(client: Client) -> WorkflowHistory:
    """Of one that was terminated with two rows under way."""
    held = asyncio.Event()

    async def performing(request: CommandOnStep, _call: int) -> StepOutcome:
        await held.wait()
        return done(request)

    async with bench(client, Script(performing=performing)) as made:
        given = rows(2)
        handle = await made.start(given, f"batch-{uuid.uuid4().hex}", parallel=2)
        await until("both rows are under way", lambda: len({one.run_id for one in made.script.opened}) == len(given))
        await handle.terminate("recorded")
        again = await made.start(given, handle.id, parallel=2)
        held.set()
        await again.result()
        history: WorkflowHistory = await again.fetch_history()
    return history
