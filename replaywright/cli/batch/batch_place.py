"""Access to batches: rows in the artifact store, ends in Redis, the workflow in Temporal."""

import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

from temporalio.client import WorkflowExecution, WorkflowExecutionDescription, WorkflowExecutionStatus, WorkflowHandle
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError

from activities.batch.batches import read_chunk, read_index
from cache.row_ends import RedisRowEnds
from replaywright.artifacts.store import ArtifactStore
from replaywright.cli.runs.finding import is_ours, memo_of, unique_id
from replaywright.cli.runs.starting import TASK_TIMEOUT
from replaywright.cli.servers.artifacts import artifact_store_of
from replaywright.cli.servers.connect import Backend, temporal_errors
from replaywright.cli.servers.macs import start_memo
from replaywright.cli.servers.store import open_store
from replaywright.domain.batch.batches import (
    ROWS,
    ROWS_AGAIN,
    BatchInput,
    BatchProgress,
    Chunk,
    Row,
    RowEnd,
    RowIndex,
    chunks_of,
)
from replaywright.domain.trace.saying import count
from replaywright.errors import ArtifactMissing, InputInvalid

BATCH = "BrowserBatch"
"""Workflow type."""
_LISTED = 1_000


@dataclass(frozen=True)
class BatchStore:
    """Store of rows and their ends."""

    artifacts: ArtifactStore
    ends: RedisRowEnds
    tenant: str

    async def put(self, rows: Sequence[Row]) -> str:
        """Store rows, and return the digest of their index.

        Raises:
            ArtifactsUnavailable: the store cannot be written to.
        """
        chunks: list[Chunk] = []
        for chunk, data in chunks_of(rows):
            digest = await self.artifacts.put(data)
            chunks.append(Chunk(digest=digest, first=chunk.rows[0].number, count=len(chunk.rows)))
        index = RowIndex(rows=len(rows), chunks=tuple(chunks))
        return await self.artifacts.put(index.model_dump_json(by_alias=True).encode())

    async def index(self, digest: str) -> RowIndex:
        """Find the rows.

        Raises:
            InputInvalid: they are not in the store of this command.
        """
        with self._explained():
            return await read_index(self.artifacts, digest)

    async def rows(self, batch: str, digest: str) -> AsyncIterator[tuple[Row, RowEnd | None]]:
        """Yield the rows in order, each with its end.

        Raises:
            InputInvalid: they are not in the store of this command.
            StoreUnavailable: Redis does not say how they ended.
        """
        for chunk in (await self.index(digest)).chunks:
            with self._explained():
                rows = (await read_chunk(self.artifacts, chunk.digest)).rows
            ends = await self.ends.ends(self.tenant, batch, [row.number for row in rows])
            for row in rows:
                yield row, ends.get(row.number)

    async def standing(self, batch: str, digest: str, *, ended: bool) -> BatchProgress:
        """Return the progress over all rows, by the ends that were noted.

        Raises:
            InputInvalid: the rows are not in the store of this command.
            StoreUnavailable: Redis does not say how they ended.
        """
        counts: dict[Any, int] = {}
        total, problems = 0, []
        async for _row, end in self.rows(batch, digest):
            total += 1
            if end is not None:
                counts[end.status] = counts.get(end.status, 0) + 1
                problems += [] if end.status == "done" else [end]
        status = "running" if not ended else "done" if sum(counts.values()) == total else "stopped"
        told = {"status": status, "total": total, "ended": counts, "problems": problems[-20:]}
        return BatchProgress.model_validate(told)

    @contextlib.contextmanager
    def _explained(self) -> Any:
        try:
            yield
        except ArtifactMissing as exc:
            raise InputInvalid(
                f"the batch's rows cannot be read: {exc}; set REPLAYWRIGHT_ARTIFACTS_URL to the store that the batch "
                "was begun with"
            ) from exc


@contextlib.asynccontextmanager
async def batch_store(here: Backend) -> AsyncIterator[BatchStore]:
    """Open the rows of the tenant's batches and their results."""
    async with open_store(here.settings) as store:
        yield BatchStore(artifact_store_of(here.settings), RedisRowEnds(store.client), store.tenant)


# ---------------------------------------------------------------------------------------------- the workflow


def batch_handle(here: Backend, batch: str) -> WorkflowHandle[Any, BatchProgress]:
    """Return a handle on the newest execution of a batch."""
    return here.client.get_workflow_handle(batch, result_type=BatchProgress)


async def start_batch(here: Backend, batch: str, given: BatchInput, *, again: bool) -> None:
    """Start a batch; with `again`, one that has ended.

    Raises:
        InputInvalid: there is one with this id, or it is under way.
        StackFailed: Temporal refuses it.
    """
    reuse = WorkflowIDReusePolicy.ALLOW_DUPLICATE if again else WorkflowIDReusePolicy.REJECT_DUPLICATE
    try:
        with temporal_errors(here.settings):
            await here.client.start_workflow(
                BATCH,
                given,
                id=batch,
                task_queue=here.queue,
                task_timeout=TASK_TIMEOUT,
                id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
                id_reuse_policy=reuse,
                static_summary=f"{count(given.total, 'row')} of {given.run.task.task}",
                memo={
                    "task": given.run.task.task,
                    "tenant": here.settings.tenant,
                    ROWS: given.of_file,
                    ROWS_AGAIN: given.index if given.whole else "",
                    **start_memo(here, BATCH, batch, given),
                },
            )
    except WorkflowAlreadyStartedError as exc:
        raise InputInvalid(
            f"there is a batch or run with the id {batch!r}; `replaywright batch resume {batch}` goes on with it, "
            f"`replaywright batch show {batch}` shows it"
        ) from exc


async def find_batch(here: Backend, batch: str) -> WorkflowExecutionDescription:
    """Find the batch with this id, the only one whose id begins or ends with it, or the `latest`.

    Raises:
        InputInvalid: there is none, or more than one.
    """
    try:
        with temporal_errors(here.settings, batch):
            named = await here.client.get_workflow_handle(batch).describe()
        if named.workflow_type == BATCH and await is_ours(here, named):
            return named
        known = []
    except InputInvalid:
        known = [each.id for each in await batches(here, _LISTED)]
    found = unique_id(batch, known, "batches")
    if not found:
        raise InputInvalid(f"there is no batch {batch!r}; `replaywright batch list` lists them")
    with temporal_errors(here.settings, found):
        return await here.client.get_workflow_handle(found).describe()


async def batches(here: Backend, limit: int) -> list[WorkflowExecution]:
    """List the newest batches, each once."""
    found: dict[str, WorkflowExecution] = {}
    query = f'WorkflowType = "{BATCH}" AND ExecutionStatus != "ContinuedAsNew"'
    with temporal_errors(here.settings):
        async for execution in here.client.list_workflows(query):
            if len(found) == limit:
                break
            if await is_ours(here, execution):
                found.setdefault(execution.id, execution)
    return list(found.values())


def is_under_way(execution: WorkflowExecution) -> bool:
    """Tell whether the batch is under way."""
    return execution.status is WorkflowExecutionStatus.RUNNING


async def rows_digest(execution: WorkflowExecution) -> str:
    """Return the digest of the index of the batch's whole file."""
    return await memo_of(execution, ROWS)
