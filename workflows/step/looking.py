"""The end of a canary: elements of the steps that it does not perform, looked for on the page where it stops."""

from dataclasses import replace
from typing import Final

from temporalio import workflow
from temporalio.exceptions import ActivityError

from workflows import policies
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
NOT_REHEARSED: Final = "not rehearsed"
"""Part of the warning that says why."""


async def look_ahead(parts: Parts) -> None:
    """Look for the elements of a canary's later steps, and warn of those that are not there.

    Raises:
        TaskFailed: the step that a run in earnest would perform next on this page has no element there.
    """
    context = parts.context
    unseen: dict[int, str] = {}
    missing: dict[int, Attempt] = {}
    alike = []
    for look in context.run.looks:
        if not instruction_parameters(look.step) <= context.run.values.keys():
            unseen[look.number] = look.step.title
            continue
        attempt = _attempt(parts, look)
        outcome = await _looked(parts, attempt)
        if outcome.status is Status.DONE and outcome.lookup.healed and not look.is_next:
            alike.append(attempt.title)
            continue
        context.change(totals=counted(context.state.totals, outcome))
        if outcome.status is Status.DONE:
            continue
        if look.is_next and not look.step.when:
            raise TaskFailed(outcome.reason or outcome.status, explained(attempt, outcome), outcome.artifacts)
        missing[look.number] = attempt
    if context.run.rehearses and missing and context.run.looks[0].number not in unseen | missing:
        await _rehearse(parts, context.run.looks[0], missing)
    unseen |= {number: attempt.title for number, attempt in missing.items()}
    for why, titles in ((NOT_LOOKED_AT, [title for _, title in sorted(unseen.items())]), (ALIKE, alike)):
        if titles:
            context.warn(f"{why}: {'; '.join(titles)}")


async def _rehearse(parts: Parts, look: LaterStep, missing: dict[int, Attempt]) -> None:
    """Give the next step its input, with all held back that it would send, and look again for what was `missing`.

    What is there now has come of the input, and counts as it would in a run. The first step whose element is not
    there ends it: the page may have wanted an answer first.
    """
    context, attempt = parts.context, replace(_attempt(parts, look), looks=False)
    why_not = await _given(parts, attempt)
    if why_not:
        context.warn(f"{NOT_REHEARSED}: {attempt.title}: {why_not}")
        return
    for number, later in list(missing.items()):
        later.retry("rehearsed", later.came_to)
        outcome = await _looked(parts, later)
        if outcome.status is not Status.DONE:
            return
        context.change(totals=counted(context.state.totals, outcome))
        del missing[number]


async def _given(parts: Parts, attempt: Attempt) -> str:
    """Give a step its input in a browser that sends nothing; return why that was not done, empty if it was."""
    try:
        if why_not := await parts.browser.hold_back():
            return why_not
        parts.context.show(f"{attempt.title}: rehearsing it")
        outcome = await attempt.reapply("rehearsed: nothing leaves that it would send")
    except ActivityError as error:
        if not policies.is_loss(error):
            raise
        return policies.said(error)
    is_given = outcome.status in (Status.DONE, Status.UNMET, Status.IN_DOUBT)
    return "" if is_given else explained(attempt, outcome)


async def _looked(parts: Parts, attempt: Attempt) -> StepOutcome:
    """Return what came of a look, after rules of the site that clear the way."""
    parts.context.show(f"{attempt.title}: only looking for it")
    outcome = await parts.doubts.decided(attempt)
    if outcome.due and outcome.status is not Status.DONE and await override(parts, outcome.due, attempt.sequence):
        attempt.retry("override", outcome)
        outcome = await parts.doubts.decided(attempt)
    attempt.note(outcome)
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
