"""A batch whose rows have browsers that a script plays: what is measured is the batch and the runs around its rows.

Temporal, Redis, artifact store and the workers' code are real.
"""

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
from bench.histories import of_batch
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


async def measured(rows: int, parallel: int, console: Console) -> dict[str, object]:
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
                        sizes = await of_batch(client, batch)
    sent = [request.context.values["who"] for request in script.performed if request.context.step.action == "click"]
    if result.done != rows or sorted(sent) != sorted(row.values["who"] for row in given):
        raise StackFailed(
            f"{result.done} of {rows} rows were done, {len(sent)} sent, {len(set(sent))} of them different"
        )
    most_events, most_bytes = max(sizes.events), max(sizes.bytes)
    table = Table("rows", "at a time", "seconds", "rows/s", "executions", "most events", "most KB")
    figures = (
        rows,
        parallel,
        f"{seconds:.1f}",
        f"{rows / seconds:.1f}",
        len(sizes.events),
        most_events,
        most_bytes // 1024,
    )
    table.add_row(*map(str, figures))
    console.print(table)
    return {
        "rows": rows,
        "parallel": parallel,
        "rows_per_second": round(rows / seconds, 2),
        "executions": len(sizes.events),
        "events_per_row": round(sum(sizes.events) / rows, 2),
        "most_events": most_events,
        "most_bytes": most_bytes,
        "done_twice": len(sent) - len(set(sent)),
    }
