"""Updates of runs, as commands and the client send them."""

import asyncio
import contextlib
import getpass
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from typing import Final, TypeVar

from pydantic import ValidationError
from temporalio.client import (
    WorkflowExecutionStatus,
    WorkflowUpdateFailedError,
    WorkflowUpdateRPCTimeoutOrCancelledError,
)
from temporalio.service import RPCError, RPCStatusCode

from replaywright.cli.runs.finding import find_run
from replaywright.cli.runs.follow import ended, handle_of, progress_of
from replaywright.cli.servers.connect import Backend, open_existing_backend, temporal_errors
from replaywright.cli.servers.macs import update_arguments
from replaywright.domain.common.base import Record
from replaywright.domain.run.commit_lines import commits_said
from replaywright.domain.run.commit_requests import PersonVerdict
from replaywright.domain.run.runs import Progress
from replaywright.domain.run.steering import Said
from replaywright.domain.task.questions import Question, Verdict
from replaywright.errors import InputInvalid, StackFailed
from replaywright.sealing.envelope import NotSealed, sealed

ANSWER_LIMIT = timedelta(seconds=15)
_TRIES: Final = 4
_AGAIN_S: Final = 0.25

_Answer = TypeVar("_Answer")


@contextlib.asynccontextmanager
async def under_way(run: str, what: str) -> AsyncIterator[tuple[Backend, str]]:
    """Find an open run that somebody wants to `what`, with the servers that it is on.

    Raises:
        InputInvalid: there is no such run, or it is over.
        StackFailed: Temporal does not answer.
    """
    async with open_existing_backend() as here:
        run_id = (await find_run(here, run)).id
        await require_going(here, run_id, what)
        yield here, run_id


async def ended_message(here: Backend, run_id: str, what: str) -> str:
    """Describe how a run ended and that there is nothing to `what`; empty for an open run.

    Raises:
        InputInvalid: there is no such run.
        StackFailed: Temporal cannot be reached.
    """
    handle = handle_of(here.client, run_id)
    with temporal_errors(here.settings, run_id):
        execution = await handle.describe()
        if execution.status is WorkflowExecutionStatus.RUNNING:
            return ""
        ending = await ended(handle)
    at = "" if execution.close_time is None else f" at {execution.close_time.astimezone():%Y-%m-%d %H:%M:%S}"
    message = f"run {run_id} ended as {ending.status.replace('_', ' ')}{at}: nothing to {what}"
    return "; ".join(filter(None, (message, commits_said(ending.result.commits))))


async def require_going(here: Backend, run_id: str, what: str) -> None:
    """Check that a run is open, so that it can be asked to `what`.

    Raises:
        InputInvalid: it is over; the message says how it ended and what it has done.
        StackFailed: Temporal cannot be reached.
    """
    if message := await ended_message(here, run_id, what):
        raise InputInvalid(message)


async def updated(
    here: Backend,
    run_id: str,
    update: str,
    asked: Record,
    answer: type[_Answer],
    *,
    once: str = "",
    limit: timedelta = ANSWER_LIMIT,
) -> _Answer:
    """Send an update to a run and return its answer. A repeated id returns the same answer and does nothing.

    Raises:
        InputInvalid: the run does not take it; says what is possible.
        StackFailed: no worker is there to take it.
    """
    try:
        with temporal_errors(here.settings, run_id):
            once = once or uuid.uuid4().hex
            found: _Answer = await once_ready(
                lambda: handle_of(here.client, run_id).execute_update(
                    update,
                    args=update_arguments(here, run_id, update=update, once=once, asked=asked),
                    id=once,
                    result_type=answer,
                    rpc_timeout=limit,
                )
            )
    except WorkflowUpdateFailedError as exc:
        raise InputInvalid(f"{run_id}: {exc.cause}") from exc
    except WorkflowUpdateRPCTimeoutOrCancelledError as exc:
        raise StackFailed(
            f"no worker took it in {limit.total_seconds():g} s: start `replaywright up`, then repeat this"
        ) from exc
    return found


async def once_ready(send: Callable[[], Awaitable[_Answer]]) -> _Answer:
    """Send an update and return its answer; send it again if Temporal did not accept it.

    Temporal drops an update that comes while a workflow task fails, and says FAILED_PRECONDITION: nothing was done.

    Raises:
        RPCError: it fails otherwise, or was not accepted several times.
    """
    for _ in range(_TRIES - 1):
        try:
            return await send()
        except RPCError as exc:
            if exc.status is not RPCStatusCode.FAILED_PRECONDITION:
                raise
            await asyncio.sleep(_AGAIN_S)
    return await send()


async def decide(here: Backend, run_id: str, verdict: PersonVerdict) -> None:
    """Send a person's verdict to a run.

    Raises:
        InputInvalid: the run does not take it.
        StackFailed: no worker is there to take it.
    """
    await updated(here, run_id, "resolve_step", verdict, type(None))


async def progress_or_fail(here: Backend, run_id: str) -> Progress:
    """Query the progress of the run.

    Raises:
        StackFailed: no worker answers.
    """
    progress = await progress_of(handle_of(here.client, run_id))
    if progress is None:
        raise StackFailed(f"{run_id}: no worker answers for it: start `replaywright up`, then repeat this")
    return progress


async def question_of(here: Backend, run_id: str) -> Question:
    """Return the question of the run.

    Raises:
        InputInvalid: it asks nothing.
        StackFailed: no worker answers.
    """
    await require_going(here, run_id, "answer")
    progress = await progress_or_fail(here, run_id)
    if progress.question is None:
        raise nothing_asked(run_id, progress)
    return progress.question


def nothing_asked(run_id: str, progress: Progress) -> InputInvalid:
    """Make the error for a run that waits for no answer."""
    return InputInvalid(f"{run_id} asks nothing: it is {progress.status}; `replaywright answer` lists what waits")


def verdict_on(run_id: str, question: Question, verdict: Verdict, text: str, *, who: str, why: str) -> PersonVerdict:
    """Build the verdict on a question; a code is sealed, so that only the run's activity can read it.

    Raises:
        StackFailed: the question has no key to seal a code with.
    """
    plain, box = text, ""
    if verdict == "answer" and question.wants == "code":
        try:
            plain, box = "", sealed(text, question.key, f"{run_id}/{question.id}")
        except NotSealed as exc:
            raise StackFailed(f"{run_id}: the question has no key to seal the code with: {exc}") from exc
    return PersonVerdict(
        sequence=question.sequence,
        verdict=verdict,
        who=who,
        why=why,
        question=question.id,
        value=plain,
        sealed=box,
    )


def user_name() -> str:
    """Return the name of the user of this command."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # no name for this user id, as in some containers
        return "command line"


def by_user(why: str) -> Said:
    """Return the name of the user of this command, with the reason; see `said_by`."""
    return said_by(user_name(), why)


def said_by(who: str, why: str) -> Said:
    """Return a person's name, with the reason.

    Raises:
        InputInvalid: the reason is too long.
    """
    try:
        return Said(who=who, why=why)
    except ValidationError as exc:
        raise InputInvalid(f"--why has {len(why)} characters, and may have 1000") from exc
