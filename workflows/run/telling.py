"""Measurements of a run: emitted once, when it happened, and not again when its history is replayed.

A worker that is lost between telling and Temporal's acceptance of what the workflow did then leaves it to be told by
the next one again. Nothing here is a command: a history is the same with it and without.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from temporalio import workflow

from workflows.step.attempts import Attempt, begun_at
from workflows.step.failures import TaskBlocked

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.run.runs import RunInput
    from replaywright.domain.step.outcomes import LEFT_OUT, Status, StepOutcome
    from replaywright.domain.step.overrides import host_of
    from replaywright.observing import TELL, RecoveryKind, RecoveryTold, StepEnd, StepTold, Told, child_of, span


@contextlib.contextmanager
def step_told(run: RunInput, attempt: Attempt) -> Iterator[None]:
    """Tell how a step of the plan ended; whatever is scheduled in the block is a part of it."""
    end: StepEnd = "failed"
    with _part(f"step/{attempt.sequence}", lambda spanned: _step_told(run, attempt, end, spanned)):
        try:
            yield
            end = _end_of(attempt.came_to)
        except TaskBlocked:
            end = "blocked"
            raise
        except asyncio.CancelledError:
            end = "cancelled"
            raise


@dataclass
class Recovering:
    """A recovery that is under way."""

    kind: RecoveryKind = "failed"


@contextlib.contextmanager
def recovery_told() -> Iterator[Recovering]:
    """Tell how long a recovery took; whoever recovers says how it ended."""
    recovering = Recovering()
    with _part("recovery", lambda spanned: RecoveryTold(**spanned, kind=recovering.kind)):
        yield recovering


@contextlib.contextmanager
def _part(what: str, told: Callable[[dict[str, Any]], Told]) -> Iterator[None]:
    """Make the block a span named `what`; at its end emit what is made of it, unless the workflow is evicted in it."""
    begun, parent = workflow.time_ns(), span.get()
    own = child_of(parent, f"{what}/{begun}")
    token = span.set(own)
    is_put_away = False
    try:
        yield
    except GeneratorExit:  # of a worker that was ended: nothing runs in the workflow's own context any more
        is_put_away = True
        raise
    finally:
        if not is_put_away:
            tell = workflow.extern_functions().get(TELL)
            if tell is not None and not workflow.unsafe.is_replaying():
                ends = {"ended_ns": workflow.time_ns(), "run_id": workflow.info().workflow_id}
                tell(told({"parent": parent, "own": own, "begun_ns": begun, **ends}))
            span.reset(token)


def _end_of(outcome: StepOutcome | None) -> StepEnd:
    if outcome is None or outcome.status is not Status.DONE:
        return "replaced"
    return "skipped" if outcome.reason in LEFT_OUT else "done"


def _step_told(run: RunInput, attempt: Attempt, end: StepEnd, spanned: dict[str, Any]) -> StepTold:
    outcome = attempt.came_to
    return StepTold(
        **spanned,
        site=host_of(begun_at(run) if outcome is None or not outcome.url else outcome.url),
        sequence=attempt.sequence + 1,
        action=attempt.step.action,
        effect="" if outcome is None else outcome.effect.value,
        outcome=end,
        how=_how(outcome),
        tier="" if outcome is None else outcome.lookup.tier,
        reason="" if outcome is None else outcome.reason,
        fingerprint=attempt.fingerprint[:12],
    )


def _how(outcome: StepOutcome | None) -> str:
    """Return how the element was found."""
    if outcome is None:
        return "none"
    if outcome.from_ledger:
        return "ledger"
    if not outcome.lookup.hit:
        return "none"
    if outcome.lookup.from_model:
        return "model"
    if outcome.lookup.candidate_of:
        return "candidate"
    if outcome.lookup.healed:
        return "healed"
    return "declared" if outcome.lookup.tier == "query" else "replayed"
