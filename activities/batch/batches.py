"""The activities of a batch: its rows are read, its runs watched where they are not its children, their ends kept."""

import asyncio
import time
from datetime import UTC, datetime
from typing import TypeVar

from pydantic import ValidationError
from temporalio import activity
from temporalio.client import (
    WorkflowExecutionDescription,
    WorkflowExecutionStatus,
)
from temporalio.service import RPCError, RPCStatusCode

from activities.heartbeats import heartbeats
from activities.run.endings import Ended, end_of
from replaywright.domain.batch.batches import (
    BegunRow,
    NoteRows,
    ReadRows,
    RowEnd,
    RowIndex,
    Rows,
    RowsToDo,
    Watched,
    WatchRows,
    is_to_be_done,
    row_end,
)
from replaywright.domain.run.runs import RunResult
from replaywright.domain.run.standing import End
from replaywright.domain.task.questions import WAITS
from replaywright.errors import ArtifactMissing
from replaywright.ports.stores import Artifacts, RowEnds, Starts

_LOOK_EVERY_S = 0.5
_LOOKED_AT_ONCE = 16
"""Runs that Temporal is asked about at the same time."""
_Read = TypeVar("_Read", RowIndex, Rows)

GONE = "run_gone"
"""Reason of a row whose run the server has forgotten before its end was noted."""


class BatchActivities:
    """Activities `batch.rows`, `batch.watch` and `batch.note`."""

    def __init__(self, artifacts: Artifacts, ends: RowEnds, starts: Starts) -> None:
        self._artifacts = artifacts
        self._ends = ends
        self._starts = starts

    @activity.defn(name="batch.rows")
    async def read_rows(self, request: ReadRows) -> RowsToDo:
        """The rows of a chunk that are still to be done.

        Raises:
            ArtifactMissing: the chunk is not in this worker's store, or was altered.
        """
        async with heartbeats("reading rows"):
            info = activity.info()
            admitted = (await self._starts.of(info.workflow_id or "", info.workflow_run_id or "")).admitted
            index = await read_index(self._artifacts, request.index)
            if request.chunk >= len(index.chunks):
                return RowsToDo(chunks=len(index.chunks), admitted=admitted)
            rows = await read_chunk(self._artifacts, index.chunks[request.chunk].digest)
            numbers = [row.number for row in rows.rows]
            known = await self._ends.ends(request.tenant, request.batch, numbers)
        to_do = tuple(row for row in rows.rows if is_to_be_done(request.batch, row, known.get(row.number)))
        begun = {row.number for row in to_do}
        ended: dict[End, int] = {}
        for number, end in known.items():
            if number not in begun:
                ended[end.status] = ended.get(end.status, 0) + 1
        return RowsToDo(rows=to_do, ended=ended, chunks=len(index.chunks), admitted=admitted)

    @activity.defn(name="batch.note")
    async def note_rows(self, request: NoteRows) -> None:
        """Keep how rows ended. Repeated, it changes nothing."""
        async with heartbeats("noting how rows ended"):
            await self._ends.note(request.tenant, request.batch, request.ends)

    @activity.defn(name="batch.watch")
    async def watch_rows(self, request: WatchRows) -> Watched:
        """Return the runs that have ended or wait for a person, as soon as that differs from what was known."""
        async with heartbeats("watching runs"):
            deadline = time.monotonic() + request.patience_s
            while True:
                seen = await _looked(request.rows)
                news = seen.ended or set(seen.waiting) != set(request.waiting)
                if news or time.monotonic() >= deadline:
                    return seen
                await asyncio.sleep(_LOOK_EVERY_S)


async def read_index(artifacts: Artifacts, digest: str) -> RowIndex:
    """Return the places of a batch's rows.

    Raises:
        ArtifactMissing: it is not there, or is none.
    """
    return _parsed(RowIndex, await artifacts.get(digest), digest)


async def read_chunk(artifacts: Artifacts, digest: str) -> Rows:
    """One chunk.

    Raises:
        ArtifactMissing: it is not there, or is none.
    """
    return _parsed(Rows, await artifacts.get(digest), digest)


def _parsed(model: type[_Read], data: bytes, digest: str) -> _Read:
    try:
        return model.model_validate_json(data)
    except ValidationError as exc:
        raise ArtifactMissing(f"artifact {digest} holds no rows of a batch: {exc}") from exc


async def _looked(rows: tuple[BegunRow, ...]) -> Watched:
    places = asyncio.Semaphore(_LOOKED_AT_ONCE)

    async def one(begun: BegunRow) -> RowEnd | int | None:
        async with places:
            return await _standing(begun)

    found = await asyncio.gather(*map(one, rows))
    return Watched(
        ended=tuple(each for each in found if isinstance(each, RowEnd)),
        waiting=tuple(each for each in found if isinstance(each, int)),
    )


async def _standing(begun: BegunRow) -> RowEnd | int | None:
    """Return how the row ended; its number, where its run waits for a person; None where it goes on."""
    handle = activity.client().get_workflow_handle(begun.run_id, result_type=RunResult)
    try:
        description = await handle.describe()
        if description.status is WorkflowExecutionStatus.RUNNING:
            return begun.number if await _waits(description) else None
        ended = await end_of(handle)
    except RPCError as exc:
        if exc.status is not RPCStatusCode.NOT_FOUND:
            raise
        return row_end(begun, *_gone(begun.run_id), at=time.time())
    met = begun.model_copy(update={"began": min(begun.began, description.start_time.timestamp())})
    return row_end(met, *ended, at=(description.close_time or datetime.now(UTC)).timestamp())


async def _waits(description: WorkflowExecutionDescription) -> bool:
    return bool(await description.memo_value(WAITS, default=""))


def _gone(run_id: str) -> Ended:
    message = (
        f"Temporal has no run {run_id} any more, and its end was not noted: the trace of that id tells what it did"
    )
    return "failed", RunResult(succeeded=False, reason=GONE, message=message)
