"""Whether what is expected of a step may still come true, when its own time has passed."""

from replaywright.domain.predicate.predicates import OfStep, Predicate, flattened
from replaywright.domain.proof.proof import refused_by
from replaywright.domain.step.outcomes import Status, StepOutcome
from replaywright.domain.task.steps import Step

LATE = "late"
"""Reason of a step whose expectation came true after its time."""


def may_come_late(step: Step, outcome: StepOutcome) -> bool:
    """Whether looking at the page once more can show that the step did its work after all.

    It can where a required expectation on the page does not hold, and nothing else speaks against the step: what the
    site refused stays refused, whatever the page shows, what it has not answered yet may still be refused, and what a
    step itself caused does not change by waiting. A step that is unproven although its expectation holds is not proven
    by looking again.
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
    """Whether it judges what the step caused, not what the page shows."""
    return any(isinstance(part, OfStep) for part in flattened(predicate))
