"""Selection of the rows that a batch tries again: those that failed, each resumed where it stopped."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from temporalio.client import WorkflowExecutionStatus

from replaywright.cli.batch.batch_place import BatchStore, find_batch, is_under_way, start_batch
from replaywright.cli.runs.finding import find_run, input_of, scope_of
from replaywright.cli.runs.options import RunOptions
from replaywright.cli.runs.resume import Wish, newest, planned
from replaywright.cli.servers.connect import Backend
from replaywright.domain.batch.batches import BatchInput, BatchState, Row, RowEnd, RowResume
from replaywright.domain.run.resuming import OPEN_STATES
from replaywright.domain.task.tasks import Task
from replaywright.errors import InputInvalid

_PLANNED_AT_ONCE = 8
_TOLD = 3


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


@dataclass(frozen=True)
class Again:
    """A batch whose failed rows are tried again."""

    batch: str
    picked: Picked
    given: BatchInput
    """Input of the batch over the picked rows."""


async def planned_again(
    here: Backend, store: BatchStore, batch: str, wish: Chosen, *, tell: Callable[[str], None]
) -> Again:
    """Plan to try the rows of a batch again; nothing is begun.

    Raises:
        InputInvalid: there is no such batch, it is under way, or a row that was named is not there, was done, or has
            not ended.
        StoreUnavailable: the ledger cannot be read.
    """
    found = await find_batch(here, batch)
    if is_under_way(found):
        raise InputInvalid(
            f"{found.id} is under way: wait for its end (`replaywright batch resume {found.id}`), or stop it with "
            f"`replaywright batch cancel {found.id}`"
        )
    before = await input_of(here, found, BatchInput)
    picked = await _chosen(here, store, found.id, before, wish, tell=tell)
    given = before.model_copy(
        update={
            "run": before.run.model_copy(update=_changes(wish.task, wish.manner)),
            "index": await store.put(picked.rows),
            "whole": before.of_file,
            "total": len(picked.rows),
            "max_failures": 0,
            "first_alone": False,
            "state": BatchState(),
        }
    )
    return Again(found.id, picked, given)


async def begin_again(here: Backend, again: Again) -> None:
    """Begin to try the picked rows again.

    Raises:
        InputInvalid: none was picked.
        StackFailed: Temporal refuses it.
    """
    if not again.picked.rows:
        left = "; ".join(f"row {number}: {why}" for number, why in again.picked.left_out[:_TOLD])
        why = f" ({left})" if left else ""
        raise InputInvalid(f"{again.batch}: there is no row to try again{why}; `replaywright batch show {again.batch}`")
    await start_batch(here, again.batch, again.given, again=True)


def _changes(mended: Task | None, manner: RunOptions) -> dict[str, Any]:
    """Return the changed fields of rows that are tried again; they are no runs of the skill any more."""
    wanted = {
        "task": mended,
        "mode": manner.mode,
        "heal": manner.heal,
        "on_failure": None if manner.on_failure is None else manner.on_failure.value,
        "pictures": manner.pictures,
    }
    return {"skill": None, "relearns": False} | {name: value for name, value in wanted.items() if value is not None}


async def _chosen(
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
