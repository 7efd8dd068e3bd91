"""Late expectations: a last look at the page after the time of a step."""

from replaywright.domain.predicate.predicates import OfStep, Predicate, flattened
from replaywright.domain.proof.proof import refused_by
from replaywright.domain.step.outcomes import Status, StepOutcome
from replaywright.domain.task.steps import Step

LATE = "late"
"""Reason of a step whose expectation came true after its time."""


def may_come_late(step: Step, outcome: StepOutcome) -> bool:
    """Return True if another look at the page can still prove the step.

    That requires an unmet expectation on the page and no other objection: a refused request stays refused, a pending
    one may still be refused, and the consequences of the step itself do not change. A step that is unproven although
    its expectation holds gains nothing from another look.
    """
    if outcome.status is not Status.UNMET or outcome.left or refused_by(outcome.evidence, outcome.url) is not None:
        return False
    if any(request.kind == "request" and not request.status for request in outcome.evidence.requests):
        return False
    declared = len(step.expect)
    if any(result.fails for result in outcome.predicates[declared:]):
        return False
    lacking = [one for one, result in zip(step.expect, outcome.predicates, strict=False) if result.fails]
    return bool(lacking) and not any(map(_is_of_the_step, lacking))


def _is_of_the_step(predicate: Predicate) -> bool:
    """Return True if the predicate judges consequences of the step, not the page."""
    return any(isinstance(part, OfStep) for part in flattened(predicate))
