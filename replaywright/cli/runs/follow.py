"""Follows a run: progress by query, end by long poll, through outages of workers and servers."""

import asyncio
import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, TypeAlias, TypeVar

from pydantic import ValidationError
from temporalio.client import Client, WorkflowHandle, WorkflowQueryFailedError
from temporalio.service import RPCError, RPCStatusCode

from activities.run.endings import end_of
from replaywright.cli.runs.silence import Silence, Vain
from replaywright.domain.run.runs import Progress, RunResult, Totals
from replaywright.domain.run.standing import End
from replaywright.domain.session.sessions import SessionRef
from replaywright.errors import InputInvalid, StackFailed

WORKFLOW = "BrowserTask"
"""Workflow type: callers use the name, as they would from any other language."""

_QUERY_EVERY_S = 0.3
_QUERY_LIMIT = timedelta(seconds=5)
_SILENCE_S = 3.0
"""Time after which a silent worker or a run without progress is reported."""
_AWAY_S = 10.0
"""Time after which an unreachable server counts as gone."""
_PASSING = frozenset({RPCStatusCode.UNAVAILABLE, RPCStatusCode.DEADLINE_EXCEEDED, RPCStatusCode.CANCELLED})
_BROKEN = "transport error"
"""Message of the client for a connection that closed while it waited; the status is `unknown` then."""

_Answer = TypeVar("_Answer", Progress, SessionRef)
Status: TypeAlias = End | Literal["waiting"]


@dataclass(frozen=True)
class Ending:
    """End of a run, or its wait for a person."""

    status: Status
    result: RunResult
    progress: Progress | None = None
    """Last known progress; None if no worker answered."""


class ServerGone(StackFailed):
    """Temporal cannot be reached any more; the run is not affected and goes on when the server is back."""


def handle_of(client: Client, run_id: str) -> WorkflowHandle[Any, RunResult]:
    """Return a typed handle on the newest execution of a run."""
    return client.get_workflow_handle(run_id, result_type=RunResult)


async def progress_of(handle: WorkflowHandle[Any, RunResult], limit: timedelta = _QUERY_LIMIT) -> Progress | None:
    """Ask the run for its progress; None when no worker answers in time.

    Raises:
        ServerGone: Temporal cannot be reached.
    """
    return await _asked(handle, "progress", Progress, limit)


async def session_of(handle: WorkflowHandle[Any, RunResult], limit: timedelta = _QUERY_LIMIT) -> SessionRef | None:
    """Ask the run for the session with its browser; None when it has none, or no worker answers in time.

    Raises:
        ServerGone: Temporal cannot be reached.
    """
    return await _asked(handle, "browser", SessionRef, limit)


async def _asked(
    handle: WorkflowHandle[Any, RunResult], query: str, answer: type[_Answer], limit: timedelta
) -> _Answer | None:
    try:
        found: _Answer | None = await handle.query(query, result_type=answer, rpc_timeout=limit)
    except (WorkflowQueryFailedError, ValidationError):
        return None
    except RPCError as exc:
        if exc.status is RPCStatusCode.UNAVAILABLE:
            raise ServerGone(f"Temporal cannot be reached: {exc.message}") from exc
        if exc.status is RPCStatusCode.NOT_FOUND:
            raise InputInvalid(f"there is no run {handle.id!r}; `replaywright runs` lists them") from exc
        return None
    return found


async def follow(
    handle: WorkflowHandle[Any, RunResult],
    *,
    show: Callable[[Progress | None, str], None],
    until_waiting: bool,
    patient: bool = False,
) -> Ending:
    """Return when the run has ended or, with `until_waiting`, begins to wait for a person.

    Args:
        handle: The run.
        show: Is given each progress, and a note when there is something to say about its absence.
        until_waiting: Whether waiting for a person is an end.
        patient: Wait for a server that is away, however long.

    Raises:
        ServerGone: Temporal was out of reach for ten seconds, and `patient` is false.
    """
    last: Progress | None = None
    heard = time.monotonic()
    reached = heard
    moved = heard
    silence, vain = Silence(handle), Vain(handle)
    waiting = asyncio.create_task(ended(handle))
    try:
        while True:
            await asyncio.wait({waiting}, timeout=_QUERY_EVERY_S)
            if waiting.done() and (ending := await _settled(waiting)) is not None:
                last = await _last_word(handle) or last
                if last is not None:
                    show(last, "")
                return _with_progress(ending, last)
            if waiting.done():
                waiting = asyncio.create_task(ended(handle))
            try:
                progress = await progress_of(handle)
            except ServerGone:
                if not patient and time.monotonic() - reached > _AWAY_S:
                    raise
                show(last, "Temporal does not answer; the run goes on when it is back")
                continue
            reached = time.monotonic()
            if progress is None:
                if reached - heard > _SILENCE_S:
                    show(last, await silence.why())
                continue
            if progress != last or progress.status != "running":
                moved = reached
            last, heard = progress, reached
            show(progress, await vain.why() if reached - moved > _SILENCE_S else "")
            if until_waiting and progress.status == "waiting":
                return Ending("waiting", _unfinished(progress), progress)
    finally:
        waiting.cancel()
        with contextlib.suppress(asyncio.CancelledError, RPCError):
            await waiting


async def ended(handle: WorkflowHandle[Any, RunResult]) -> Ending:
    """Wait until the run is over, and return its ending."""
    return Ending(*await end_of(handle))


async def _settled(task: "asyncio.Task[Ending]") -> Ending | None:
    """Return the ending; None if the long poll broke off and must be repeated."""
    try:
        return await task
    except RPCError as exc:
        if exc.status is RPCStatusCode.NOT_FOUND:
            raise InputInvalid(f"the run is not on this Temporal server any more: {exc.message}") from exc
        if exc.status not in _PASSING and exc.message != _BROKEN:
            raise StackFailed(f"Temporal refuses to say how the run ended: {exc.message}") from exc
        return None


async def _last_word(handle: WorkflowHandle[Any, RunResult]) -> Progress | None:
    """Query the progress of a closed run; None if no worker answers."""
    with contextlib.suppress(ServerGone, InputInvalid):
        return await progress_of(handle, timedelta(seconds=2))
    return None


def _with_progress(ending: Ending, progress: Progress | None) -> Ending:
    """Add the progress to the ending; a failure without a result takes its counts from the progress."""
    result = ending.result
    if progress is not None and result.totals == Totals():
        result = result.model_copy(update={"totals": progress.totals})
    return Ending(ending.status, result, progress)


def _unfinished(progress: Progress) -> RunResult:
    return RunResult(
        succeeded=False,
        totals=progress.totals,
        reason="waiting_for_person",
        message=progress.waiting_for,
    )
