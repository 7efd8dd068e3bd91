"""Selection of the rows that a batch tries again: those that failed, each resumed where it stopped."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from temporalio.client import WorkflowExecutionStatus

from replaywright.cli.batch.batch_place import BatchStore
from replaywright.cli.runs.finding import find_run, scope_of
from replaywright.cli.runs.options import RunOptions
from replaywright.cli.runs.resume import Wish, newest, planned
from replaywright.cli.servers.connect import Backend
from replaywright.domain.batch.batches import BatchInput, Row, RowEnd, RowResume
from replaywright.domain.run.resuming import OPEN_STATES
from replaywright.domain.task.tasks import Task
from replaywright.errors import InputInvalid

_PLANNED_AT_ONCE = 8


@dataclass(frozen=True)
class Chosen:
    """Request of the caller."""

    rows: frozenset[int] = frozenset()
    """Only these, whatever is in doubt; all others that came to nothing if empty."""
    task: Task | None = None
    manner: RunOptions = field(default_factory=RunOptions)
    who: str = ""


@dataclass
class Picked:
    """Rows that are tried again, and the others with the reasons."""

    rows: list[Row] = field(default_factory=list)
    left_out: list[tuple[int, str]] = field(default_factory=list)


async def chosen(
    here: Backend, store: BatchStore, batch: str, before: BatchInput, wish: Chosen, *, tell: Callable[[str], None]
) -> Picked:
    """Return the rows to try again in order, each with the state that its run resumes from.

    Raises:
        InputInvalid: a row that was named is not there, was done, or has not ended.
        StoreUnavailable: the ledger cannot be read.
    """
    failed = await _unmet(store, batch, before.of_file, wish)
    if failed:
        tell(f"reading what {len(failed)} rows have done")
    places = asyncio.Semaphore(_PLANNED_AT_ONCE)

    async def one(row: Row, end: RowEnd) -> Row | RowEnd | tuple[int, str]:
        async with places:
            try:
                return await _again(here, row, end, wish)
            except InputInvalid as exc:
                return row.number, str(exc)

    picked = Picked()
    for found in await asyncio.gather(*(one(row, end) for row, end in failed)):
        match found:
            case Row():
                picked.rows.append(found)
            case RowEnd():
                await store.ends.note(store.tenant, batch, [found])
                picked.left_out.append((found.number, f"it was done by {found.run_id} meanwhile"))
            case number, why:
                picked.left_out.append((number, why))
    return picked


async def _unmet(store: BatchStore, batch: str, rows: str, wish: Chosen) -> list[tuple[Row, RowEnd]]:
    """Return those of the wanted rows that failed, with their ends."""
    failed: list[tuple[Row, RowEnd]] = []
    known: set[int] = set()
    async for row, end in store.rows(batch, rows):
        known.add(row.number)
        if wish.rows and row.number not in wish.rows:
            continue
        if end is not None and end.status != "done":
            failed.append((row, end))
        elif wish.rows:
            message = "was done" if end is not None else "has not ended: `replaywright batch resume` goes on with it"
            raise InputInvalid(f"--row {row.number}: it {message}; only rows that came to nothing are tried again")
    if missing := sorted(wish.rows - known):
        raise InputInvalid(f"--row {missing[0]}: the batch has the rows 1 to {max(known)}")
    return failed


async def _again(here: Backend, row: Row, end: RowEnd, wish: Chosen) -> Row | RowEnd | tuple[int, str]:
    """Return the row with the state that its run resumes from; its end, if a resumed run has done it meanwhile.

    Else its number, and why it is not tried again.
    """
    run = await find_run(here, end.run_id)
    _, lineage = await scope_of(here, run)
    last, _ = await newest(here, run, lineage)
    if last.status is WorkflowExecutionStatus.COMPLETED:
        return RowEnd(number=row.number, status="done", run_id=last.id, ended=end.ended)
    plan = await planned(here, Wish(end.run_id, wish.task, manner=wish.manner, who=wish.who))
    doubtful = plan.found.state in OPEN_STATES or any(not one.is_done for one in plan.found.earlier)
    if doubtful and row.number not in wish.rows:
        return row.number, (
            f"nobody knows whether step {plan.position + 1} took effect: look at the site, then name the row "
            f"(--row {row.number}), and its run finds out or asks"
        )
    order = plan.order
    if order.resume is None:
        raise InputInvalid(f"{end.run_id} has nothing to go on with")
    return row.model_copy(
        update={
            "values": order.values,
            "again": RowResume(run_id=order.run_id, lineage=order.lineage, resume=order.resume, state=order.state),
        }
    )
