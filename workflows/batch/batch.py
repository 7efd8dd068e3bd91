"""The workflow `BrowserBatch`: one task over many rows, each a run of its own, and none of them twice.

A row's run has an id that the batch's id and the row decide, and that Temporal takes once. So whoever begins a row
again, because a worker, this workflow or the command that began it was lost, meets the run that there is, and waits for
that. Rows come from the artifact store and their ends go to Redis: the history holds little more than the rows under
way.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Coroutine
from datetime import timedelta
from typing import Any, TypeVar

from temporalio import workflow
from temporalio.common import SearchAttributePair, TypedSearchAttributes, WorkflowIDReusePolicy
from temporalio.exceptions import (
    ActivityError,
    CancelledError,
    ChildWorkflowError,
    FailureError,
    WorkflowAlreadyStartedError,
)
from temporalio.workflow import ChildWorkflowHandle, ParentClosePolicy

from workflows import policies
from workflows.calls import Terms, ask
from workflows.run.searchable import key_of

with workflow.unsafe.imports_passed_through():
    from activities.run.endings import ended_badly, ended_well
    from replaywright.domain.batch.batches import (
        PROBLEMS_KEPT,
        BatchInput,
        BatchProgress,
        BatchState,
        BegunRow,
        NoteRows,
        ReadRows,
        Row,
        RowEnd,
        RowsToDo,
        StopBatch,
        Stopped,
        Watched,
        WatchRows,
        row_end,
        run_id_of,
        run_input_of,
    )
    from replaywright.domain.common.base import Record
    from replaywright.domain.run.runs import RunResult
    from replaywright.domain.trace.saying import count
    from replaywright.domain.trace.search_attributes import SITE

_Answer = TypeVar("_Answer")

_TASK_TIMEOUT = timedelta(seconds=5)
"""Search attributes of the rows' runs: see `replaywright.cli.runs.starting`."""
_NOTED_AT_ONCE = 200
"""Ends of rows in one activity."""


@workflow.defn(name="BrowserBatch")
class BrowserBatch:
    """Runs one task for each row, some at the same time."""

    @workflow.init
    def __init__(self, batch: BatchInput) -> None:
        state = batch.state
        self._batch = batch
        self._id = workflow.info().workflow_id
        self._queue = policies.batch_queue(workflow.info().task_queue)
        self._chunk = state.chunk
        self._admitted = batch.admitted
        self._is_read = False
        self._ahead = deque(state.ahead)
        self._open = {each.number: each for each in state.begun}
        """Rows under way."""
        self._foreign = set(self._open)
        """Those whose runs are not children of this execution: they are watched."""
        self._own: dict[int, ChildWorkflowHandle[Any, RunResult]] = {}
        self._waiting = set(state.waiting)
        self._ended = dict(state.ended)
        self._failures = state.failures
        self._problems = deque(state.problems, maxlen=PROBLEMS_KEPT)
        self._stopped: Stopped = state.stopped
        self._why = state.why
        self._began = state.began or workflow.now().timestamp()
        self._to_note: list[RowEnd] = []
        self._begun_here = 0
        self._is_drained = False
        self._beside: set[asyncio.Task[None]] = set()
        self._fault: BaseException | None = None

    @workflow.run
    async def run(self, _batch: BatchInput) -> BatchProgress:
        """Begin every row that is still to be done, and return when none is under way; failed rows do not fail it."""
        for each in (self._read_rows(), self._note_ends(), self._watch(), self._drain()):
            self._do_beside(each)
        while not self._may_leave:
            try:
                await workflow.wait_condition(lambda: self._may_leave or self._may_begin)
            except asyncio.CancelledError:
                self._stop("aborted", workflow.cancellation_reason() or "the batch was cancelled")
                continue
            if self._may_begin:
                self._begin(self._ahead.popleft())
        if self._fault is not None:
            raise self._fault
        await workflow.wait_condition(workflow.all_handlers_finished)
        if not self._is_finished:
            batch = self._batch.model_copy(update={"state": self._state(), "admitted": self._admitted})
            workflow.continue_as_new(batch)
        self._show()
        return self.progress()

    # ------------------------------------------------------------------------------------------ where it is

    @property
    def _is_finished(self) -> bool:
        """Return True if no row is under way, and none will be begun."""
        return not self._open and (bool(self._stopped) or (self._is_read and not self._ahead))

    @property
    def _is_full(self) -> bool:
        """Return True if no further row is to be begun in this history."""
        is_long = self._begun_here >= self._batch.rows_per_history
        return is_long or workflow.info().is_continue_as_new_suggested()

    @property
    def _may_leave(self) -> bool:
        if self._fault is not None:
            return True
        is_left = self._is_full and (self._is_drained or not (self._open.keys() - self._foreign))
        return not self._to_note and (self._is_finished or is_left)

    @property
    def _may_begin(self) -> bool:
        is_first = self._batch.first_alone and not self._ended.get("done")
        places = 1 if is_first else self._batch.parallel
        busy = len(self._open) - len(self._waiting)
        return bool(self._ahead) and not self._stopped and not self._is_full and busy < places

    def _state(self) -> BatchState:
        return BatchState(
            chunk=self._chunk,
            ahead=tuple(self._ahead),
            begun=tuple(self._open.values()),
            waiting=tuple(sorted(self._waiting)),
            ended=self._ended,
            failures=self._failures,
            problems=tuple(self._problems),
            stopped=self._stopped,
            why=self._why,
            began=self._began,
        )

    @workflow.query
    def progress(self) -> BatchProgress:
        """Return its progress."""
        left = self._batch.total - sum(self._ended.values())
        is_stopping = bool(self._stopped) and left > 0
        return BatchProgress(
            status=("stopped" if is_stopping else "done")
            if self._is_finished
            else ("stopping" if is_stopping else "running"),
            total=self._batch.total,
            ended=self._ended,
            under_way=len(self._open),
            waiting=tuple(self._open[number] for number in sorted(self._waiting)),
            problems=tuple(self._problems),
            stopped=self._stopped,
            why=self._why,
            began=self._began,
        )

    def _show(self) -> None:
        ended = ", ".join(f"{number} {end}" for end, number in self._ended.items()) or "none ended yet"
        stopped = f"; {self._stopped}: {self._why}" if self._stopped else ""
        workflow.set_current_details(
            f"{count(self._batch.total, 'row')}: {ended}; {len(self._open)} under way{stopped}"
        )

    # ------------------------------------------------------------------------------------------ stopping

    @workflow.update
    async def stop(self, said: StopBatch) -> BatchProgress:
        """Begin no further row; with `abort`, cancel those under way. Returns how it stands then."""
        who = said.who or "a person"
        self._stop("aborted" if said.abort else "cancelled", f"{who}: {said.why}" if said.why else f"by {who}")
        return self.progress()

    def _stop(self, how: Stopped, why: str) -> None:
        if self._stopped != "aborted":
            self._stopped, self._why = how, why
        if how == "aborted":
            for child in self._own.values():
                child.cancel()
            for number in self._foreign:
                self._do_beside(self._cancel(self._open[number].run_id))
        self._show()

    @staticmethod
    async def _cancel(run_id: str) -> None:
        try:
            await workflow.get_external_workflow_handle(run_id).cancel()
        except FailureError as error:  # it has ended meanwhile: the watch sees that
            workflow.logger.info("run %s is not cancelled: %s", run_id, error)

    # ------------------------------------------------------------------------------------------ one row

    def _begin(self, row: Row) -> None:
        begun = BegunRow(number=row.number, run_id=run_id_of(self._id, row), began=workflow.now().timestamp())
        self._open[row.number] = begun
        self._begun_here += 1
        self._do_beside(self._perform(row, begun))

    async def _perform(self, row: Row, begun: BegunRow) -> None:
        """Have the row's run begun, and wait for its end.

        One that was begun before is watched instead, and so is one that was cancelled: it has no result, and the watch
        reads what it has done.
        """
        try:
            child = await self._started(row, begun.run_id)
        except WorkflowAlreadyStartedError:
            self._foreign.add(row.number)
            if self._stopped == "aborted":
                await self._cancel(begun.run_id)
            return
        self._own[row.number] = child
        if self._stopped == "aborted":
            child.cancel()
        try:
            ended = ended_well(await child)
        except ChildWorkflowError as error:
            if isinstance(error.cause, CancelledError):
                del self._own[row.number]
                self._foreign.add(row.number)
                return
            ended = ended_badly(error.cause)
        self._end(row_end(begun, *ended, at=workflow.now().timestamp()))

    async def _started(self, row: Row, run_id: str) -> ChildWorkflowHandle[Any, RunResult]:
        batch = self._batch
        run = run_input_of(batch, row)
        child: ChildWorkflowHandle[Any, RunResult] = await workflow.start_child_workflow(
            "BrowserTask",
            run,
            id=run_id,
            result_type=RunResult,
            # The ledger belongs to the id: what was done under it is not done again, so no id serves twice.
            id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
            # What was begun goes on whatever becomes of the batch; begun again, the batch finds it.
            parent_close_policy=ParentClosePolicy.ABANDON,
            task_timeout=_TASK_TIMEOUT,
            memo={**batch.memo, "lineage": run.lineage or run_id, "batch": self._id},
            search_attributes=_attributes(batch.attributes, row.site),
            static_summary=batch.summary or None,
            static_details=batch.details or None,
        )
        return child

    def _end(self, end: RowEnd) -> None:
        self._open.pop(end.number)
        self._own.pop(end.number, None)
        self._foreign.discard(end.number)
        self._waiting.discard(end.number)
        self._ended[end.status] = self._ended.get(end.status, 0) + 1
        self._to_note.append(end)
        if end.status != "done":
            self._problems.append(end)
            self._failures += 1
            if 0 < self._batch.max_failures <= self._failures and not self._stopped:
                self._stop("failures", f"{count(self._failures, 'row')} came to nothing (--max-failures)")

    # ------------------------------------------------------------------------------------------ beside the rows

    def _do_beside(self, doing: Coroutine[Any, Any, None]) -> None:
        """Do this meanwhile; what goes wrong in it ends the batch."""
        task = asyncio.create_task(doing)
        self._beside.add(task)

        def ended(task: asyncio.Task[None]) -> None:
            self._beside.discard(task)
            if not task.cancelled() and task.exception() is not None:
                self._fault = task.exception()

        task.add_done_callback(ended)

    async def _read_rows(self) -> None:
        """Read rows ahead of those that are begun, a chunk at a time."""
        while not self._is_read:
            await workflow.wait_condition(
                lambda: len(self._ahead) < self._batch.parallel and not self._stopped and not self._is_full
            )
            request = ReadRows(
                tenant=self._batch.run.tenant, batch=self._id, index=self._batch.index, chunk=self._chunk
            )
            try:
                found = await self._asked("batch.rows", request, RowsToDo, f"rows of chunk {self._chunk + 1}")
            except ActivityError as error:
                self._stop("rows_unreadable", policies.said(error))
                return
            self._chunk += 1
            self._ahead.extend(found.rows)
            for end, number in found.ended.items():
                self._ended[end] = self._ended.get(end, 0) + number
            self._is_read = self._chunk >= found.chunks
            self._admitted = found.admitted
            self._show()

    async def _note_ends(self) -> None:
        """Keep how rows ended, all together that have ended meanwhile."""
        while True:
            await workflow.wait_condition(lambda: bool(self._to_note))
            ends = tuple(self._to_note[:_NOTED_AT_ONCE])
            noted = NoteRows(tenant=self._batch.run.tenant, batch=self._id, ends=ends)
            await self._asked("batch.note", noted, type(None), f"the ends of {count(len(ends), 'row')}")
            del self._to_note[: len(ends)]
            self._show()

    async def _watch(self) -> None:
        """See when runs end that are not children, and which of those that take long wait for a person."""
        while True:
            await workflow.wait_condition(lambda: bool(self._open))
            if not self._foreign:
                await self._until_a_look()
            since = workflow.now().timestamp() - policies.ROWS_LOOK_EVERY.total_seconds() / 2
            rows = [each for each in self._open.values() if each.number in self._foreign or each.began < since]
            if not rows:
                continue
            watched = WatchRows(
                rows=tuple(rows),
                waiting=tuple(sorted(self._waiting)),
                patience_s=policies.ROWS_PATIENCE.total_seconds() if self._foreign else 0.0,
            )
            seen = await self._asked("batch.watch", watched, Watched, f"watch {count(len(rows), 'run')}")
            self._waiting = self._open.keys() & set(seen.waiting)
            for end in seen.ended:
                if end.number in self._foreign:
                    self._end(end)

    async def _until_a_look(self) -> None:
        """Return when it is time to see who waits for a person, or at once when a run is found that is no child."""
        with contextlib.suppress(TimeoutError):
            await workflow.wait_condition(lambda: bool(self._foreign), timeout=policies.ROWS_LOOK_EVERY)

    async def _drain(self) -> None:
        """Give the rows under way a while to end before this history does, so that few have to be watched."""
        await workflow.wait_condition(lambda: self._is_full)
        await workflow.sleep(policies.ROWS_DRAIN)
        self._is_drained = True

    async def _asked(self, name: str, request: Record, answer: type[_Answer], summary: str) -> _Answer:
        terms = Terms(policies.ROWS, policies.ROWS_LIMIT)
        return await ask(name, request, answer, terms, activity_id=None, summary=summary, queue=self._queue)


def _attributes(given: dict[str, str | int], site: str) -> TypedSearchAttributes:
    values = {**given, SITE.name: site} if site and SITE.name in given else given
    return TypedSearchAttributes([SearchAttributePair(key_of(name, value), value) for name, value in values.items()])
