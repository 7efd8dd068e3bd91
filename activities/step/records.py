"""Recordings and trace lines of outcomes, and the standing of recorded ones."""

from typing import Any, Literal

from replaywright.domain.run.commands import StepContext
from replaywright.domain.run.scope import Usage
from replaywright.domain.step.outcomes import Costs, Status, StepOutcome
from replaywright.domain.task.actions import Effect
from replaywright.domain.trace.trace import input_of, step_line
from replaywright.ports.ledger import Known, Recording, StepStore


def from_ledger(outcome: StepOutcome) -> StepOutcome:
    """Return the outcome, marked as one of an earlier attempt."""
    return outcome.model_copy(update={"from_ledger": True})


def answered_line(context: StepContext, outcome: StepOutcome) -> dict[str, Any]:
    """Return the trace line of a step that the ledger answered: it was not performed, and cost nothing."""
    return step_line(
        outcome.model_copy(update={"costs": Costs()}),
        sequence=context.sequence,
        title=context.step.title,
        run_id=context.run.run_id,
        epoch=context.run.epoch,
        given=input_of(context.step),
        more={"task": context.run.task, "previous": context.previous, "attempt": context.attempt},
    )


def standing_of(known: Known) -> Literal["", "done", "doubtful"]:
    """Return how a step that must not be repeated stands: without effect (or harmless), done, or unknown.

    A success that was reported after it had been found not done is for a resolver to look at.
    """
    match known.state:
        case "" | "NOT_DONE":
            return "" if known.late is None else "doubtful"
        case "COMMITTED":
            return "" if known.outcome is not None and known.outcome.effect.repeatable else "done"
        case _:
            return "doubtful"


async def has_lost_nothing(store: StepStore, context: StepContext, witness: str) -> bool:
    """Tell if the ledger certainly has all that was written to it since the step before, which left the `witness`."""
    run = context.run
    return bool(witness) and await store.is_whole(tenant=run.tenant, lineage=run.lineage, witness=witness)


def settled_outcome(fingerprint: str) -> StepOutcome:
    """Return the outcome of a step that a person declared done, and of which nothing else was recorded."""
    return StepOutcome(status=Status.DONE, reason="person", fingerprint=fingerprint, effect=Effect.COMMIT)


def recording_of(
    context: StepContext, outcome: StepOutcome, trace: dict[str, Any], usage: Usage | None = None
) -> Recording:
    """Return the recording of an outcome; `trace` adds to its line."""
    return Recording(
        run_id=context.run.run_id,
        lineage=context.run.lineage,
        tenant=context.run.tenant,
        sequence=context.sequence,
        epoch=context.run.epoch,
        outcome=outcome,
        title=context.step.title,
        given=input_of(context.step),
        owner=context.run.lineage,
        act=context.act,
        trace={
            **trace,
            "task": context.run.task,
            "usage": (usage or Usage()).model_dump(by_alias=True),
            "previous": context.previous,
            "attempt": context.attempt,
        },
    )
