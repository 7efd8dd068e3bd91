"""What is written of outcomes, and what is known of those that the ledger has."""

from typing import Any

from replaywright.domain.actions import Effect
from replaywright.domain.outcomes import Status, StepOutcome
from replaywright.domain.runs import ActionRequest, step_title
from replaywright.domain.trace import input_of
from replaywright.ports import Recording


def from_ledger(outcome: StepOutcome) -> StepOutcome:
    """The outcome, marked as one of an earlier attempt."""
    return outcome.model_copy(update={"from_ledger": True})


def settled_outcome(request: ActionRequest) -> StepOutcome:
    """What is known of a step that a person declared done, and of which nothing else was recorded."""
    return StepOutcome(status=Status.DONE, reason="person", fingerprint=request.fingerprint, effect=Effect.COMMIT)


def recording_of(request: ActionRequest, outcome: StepOutcome, trace: dict[str, Any]) -> Recording:
    """What is written of an outcome; `trace` adds to its line."""
    return Recording(
        run_id=request.run_id,
        lineage=request.lineage,
        tenant=request.tenant,
        sequence=request.sequence,
        epoch=request.epoch,
        outcome=outcome,
        title=step_title(request.step),
        given=input_of(request.step),
        trace={
            **trace,
            "task": request.task,
            "usage": request.usage.model_dump(by_alias=True),
            "previous": request.previous,
            "attempt": request.attempt,
        },
    )
