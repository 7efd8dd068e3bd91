"""The end of a run, read from its result or failure, for clients in a workflow or outside."""

import contextlib
from typing import Any, Final, TypeAlias

from pydantic import TypeAdapter, ValidationError
from temporalio.client import WorkflowFailureError, WorkflowHandle
from temporalio.exceptions import ApplicationError, CancelledError, FailureError, TerminatedError
from temporalio.exceptions import TimeoutError as RunTimeoutError

from replaywright.domain.run.commit_lines import COMMITS, CommitLine, commits_said
from replaywright.domain.run.runs import RunResult
from replaywright.domain.run.standing import End

Ended: TypeAlias = tuple[End, RunResult]
_COMMITS: Final[TypeAdapter[tuple[CommitLine, ...]]] = TypeAdapter(tuple[CommitLine, ...])


async def end_of(handle: WorkflowHandle[Any, RunResult]) -> Ended:
    """Wait until the run is over; how it ended. A cancelled one has no result: its memo says what it has done.

    Raises:
        RPCError: the server does not say.
    """
    try:
        return ended_well(await handle.result())
    except WorkflowFailureError as exc:
        if not isinstance(exc.cause, CancelledError):
            return ended_badly(exc.cause)
    memo = await (await handle.describe()).memo()
    return "cancelled", _cancelled(_COMMITS.validate_python(memo.get(COMMITS, ())))


def ended_well(result: RunResult) -> Ended:
    """Return the end of a run that came to its end."""
    return ("done" if result.succeeded else "failed"), result


def ended_badly(cause: BaseException | None) -> Ended:
    """Return the result that a failure carries, else one with the failure in words."""
    match cause:
        case CancelledError():
            return "cancelled", _cancelled(())
        case TerminatedError():
            message = f"the run was terminated: {cause.message}"
            return "terminated", RunResult(succeeded=False, reason="terminated", message=message)
        case RunTimeoutError():
            message = f"the run took longer than it was allowed to: {cause.message}"
            return "timed_out", RunResult(succeeded=False, reason="timed_out", message=message)
        case ApplicationError() if (carried := _carried(cause)) is not None:
            return ("blocked" if carried.rule else "failed"), carried
        case _:
            reason = (cause.type if isinstance(cause, ApplicationError) else None) or type(cause).__name__
            return "failed", RunResult(succeeded=False, reason=reason, message=_words(cause))


def _cancelled(commits: tuple[CommitLine, ...]) -> RunResult:
    message = "; ".join(filter(None, ("the run was cancelled", commits_said(commits))))
    return RunResult(succeeded=False, reason="cancelled", message=message, commits=commits)


def _carried(error: ApplicationError) -> RunResult | None:
    """The `RunResult` among the failure's details."""
    for detail in error.details:
        if isinstance(detail, dict) and "succeeded" in detail:
            with contextlib.suppress(ValidationError):
                return RunResult.model_validate(detail)
    return None


def _words(error: BaseException | None) -> str:
    """The innermost message of a chain of failures: the outer ones only say that an activity failed."""
    while isinstance(error, FailureError) and error.cause is not None:
        error = error.cause
    if isinstance(error, FailureError):
        return error.message
    return str(error) if error is not None else "no reason given"
