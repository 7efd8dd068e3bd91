"""The end of a canary: elements of the steps that it does not perform, looked for on the page where it stops."""

from typing import Final

from temporalio import workflow

from workflows.parts import Parts
from workflows.repair.page import override
from workflows.step.attempts import Attempt
from workflows.step.failures import TaskFailed
from workflows.step.rulings import counted, explained

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.skill.check_tasks import LaterStep
    from replaywright.domain.step.fingerprints import fingerprint, instruction_parameters
    from replaywright.domain.step.outcomes import Status, StepOutcome

NOT_LOOKED_AT: Final = "not looked at, as the page where the canary stops does not show it"
"""Part of the warning that names the steps."""
ALIKE: Final = "something like it is there, changed or of another step"
"""Part of the warning of later steps: what they act on may well come only after the first consequence."""


async def look_ahead(parts: Parts) -> None:
    """Look for the elements of a canary's later steps, and warn of those that are not there.

    Raises:
        TaskFailed: the step that a run in earnest would perform next on this page has no element there.
    """
    context, unseen, alike = parts.context, [], []
    for look in context.run.looks:
        if not instruction_parameters(look.step) <= context.run.values.keys():
            unseen.append(look.step.title)
            continue
        attempt = _attempt(parts, look)
        context.show(f"{attempt.title}: only looking for it")
        outcome = await _looked(parts, attempt)
        attempt.note(outcome)
        if outcome.status is Status.DONE and outcome.lookup.healed and not look.is_next:
            alike.append(attempt.title)
            continue
        context.change(totals=counted(context.state.totals, outcome))
        if outcome.status is Status.DONE:
            continue
        if look.is_next and not look.step.when:
            raise TaskFailed(outcome.reason or outcome.status, explained(attempt, outcome), outcome.artifacts)
        unseen.append(attempt.title)
    for why, titles in ((NOT_LOOKED_AT, unseen), (ALIKE, alike)):
        if titles:
            context.warn(f"{why}: {'; '.join(titles)}")


async def _looked(parts: Parts, attempt: Attempt) -> StepOutcome:
    """Return what came of a look, after rules of the site that clear the way."""
    outcome = await parts.doubts.decided(attempt)
    if outcome.due and outcome.status is not Status.DONE and await override(parts, outcome.due, attempt.sequence):
        attempt.retry("override", outcome)
        outcome = await parts.doubts.decided(attempt)
    return outcome


def _attempt(parts: Parts, look: LaterStep) -> Attempt:
    """Return the attempt, as a step after the last of the plan."""
    context = parts.context
    previous, values = f"{context.state.previous}/look/{look.number}", context.run.values
    return Attempt(
        browser=parts.browser,
        context=context,
        sequence=context.position + look.number - context.run.looks[0].number,
        step=look.step,
        fingerprint=fingerprint(look.step, values, previous, ""),
        values=values,
        occurrence=look.occurrence,
        previous=context.state.previous,
        looks=True,
    )
