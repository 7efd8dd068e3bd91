"""How fast a batch goes and how large its histories are: rows a second, with real servers and a scripted browser.

    make bench-batch                       # 2,000 rows, 32 at a time
    make bench-batch ARGS="--rows 200"

Temporal, Redis, artifact store and the workers' code are real; the rows' browsers are played by a script that answers
at once, so what is measured is the batch and the runs around its rows.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table
from temporalio.client import Client
from temporalio.worker import Worker

from activities.batch.batches import BatchActivities
from replaywright.cli.batch.batch_place import batch_handle, batch_store, start_batch
from replaywright.cli.runs.starting import Order, prepared
from replaywright.cli.servers.connect import Backend
from replaywright.domain.batch.batches import BatchInput, Row
from replaywright.domain.run.scope import Mode
from replaywright.domain.task.tasks import parse_task
from replaywright.errors import StackFailed
from replaywright.settings import load_settings
from replaywright.stack import Stack
from replaywright.testing.grants import allow_loopback
from replaywright.testing.stores import FakeStarts
from tests.workflows.scripted import Script, scripted
from workflows.plugin import WorkflowPlugin
from workflows.policies import batch_queue

TASK = parse_task(
    {
        "task": "greet",
        "parameters": {"who": {}},
        "steps": [
            {"action": "goto", "url": "http://site/"},
            {"action": "fill", "instruction": "the name field", "value": "{{who}}"},
            {"action": "click", "instruction": "the send button", "effect": "commit"},
        ],
        "verify": [{"url_contains": "/"}],
    },
    "the benchmark",
)


async def histories(here: Backend, batch: str) -> list[tuple[int, int]]:
    """Events and bytes of each execution of the batch, the newest first."""
    found = []
    run_id: str | None = (await here.client.get_workflow_handle(batch).describe()).run_id
    while run_id:
        handle = here.client.get_workflow_handle(batch, run_id=run_id)
        told = await handle.describe()
        started = (
            await anext(aiter(handle.fetch_history_events(page_size=1)))
        ).workflow_execution_started_event_attributes
        found.append((told.history_length, told.raw_description.workflow_execution_info.history_size_bytes))
        run_id = started.continued_execution_run_id
    return found


async def measure(rows: int, parallel: int, console: Console) -> dict[str, float | int]:
    """Do so many rows, and see that each was done once."""
    with tempfile.TemporaryDirectory(prefix="replaywright-bench-") as folder:
        allow_loopback(Path(folder))
        settings = load_settings().model_copy(update={"home": Path(folder), "temporal_address": None})
        async with Stack(settings, persistent=False, tell=lambda text: console.print(text, style="dim")) as stack:
            client = await Client.connect(stack.settings.temporal_address or "", plugins=[WorkflowPlugin()])
            script = Script()
            async with scripted(client, script) as queue:
                here = Backend(client, stack.settings, "started", served_by=queue)
                async with batch_store(here) as store:
                    batches = BatchActivities(store.artifacts, store.ends, FakeStarts())
                    own: list[Callable[..., object]] = [batches.read_rows, batches.note_rows, batches.watch_rows]
                    async with Worker(client, task_queue=batch_queue(queue), activities=own, workflows=[]):
                        given = [Row(number=at, values={"who": f"guest {at}"}) for at in range(1, rows + 1)]
                        told = await prepared(here, Order(TASK, given[0].values, "", Mode.REPLAY))
                        batch = f"bench-{uuid.uuid4().hex[:8]}"
                        begun = time.perf_counter()
                        started = BatchInput(
                            run=told.input,
                            index=await store.put(given),
                            total=rows,
                            parallel=parallel,
                            summary=told.summary,
                            details=told.details,
                            memo=told.memo,
                        )
                        await start_batch(here, batch, started, again=False)
                        result = await batch_handle(here, batch).result()
                        seconds = time.perf_counter() - begun
                        sizes = await histories(here, batch)
    sent = [request.context.values["who"] for request in script.performed if request.context.step.action == "click"]
    if result.done != rows or sorted(sent) != sorted(row.values["who"] for row in given):
        raise StackFailed(
            f"{result.done} of {rows} rows were done, {len(sent)} sent, {len(set(sent))} of them different"
        )
    most_events, most_bytes = max(events for events, _ in sizes), max(size for _, size in sizes)
    table = Table("rows", "at a time", "seconds", "rows/s", "executions", "most events", "most KB")
    figures = (rows, parallel, f"{seconds:.1f}", f"{rows / seconds:.1f}", len(sizes), most_events, most_bytes // 1024)
    table.add_row(*map(str, figures))
    console.print(table)
    return {
        "rows": rows,
        "parallel": parallel,
        "rows_per_second": round(rows / seconds, 2),
        "executions": len(sizes),
        "events_per_row": round(sum(events for events, _ in sizes) / rows, 2),
        "most_events": most_events,
        "most_bytes": most_bytes,
        "done_twice": len(sent) - len(set(sent)),
    }


def main() -> int:
    """Measure, print a table, and as the last line the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=2_000, help="rows of the batch (default: %(default)s)")
    parser.add_argument("--parallel", type=int, default=32, help="rows at the same time (default: %(default)s)")
    given = parser.parse_args()
    if given.rows < 1 or given.parallel < 1:
        parser.error(f"--rows {given.rows} --parallel {given.parallel}: expected 1 or more")
    figures = asyncio.run(measure(given.rows, given.parallel, Console()))
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
