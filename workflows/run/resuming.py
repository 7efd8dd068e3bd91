"""Going on after another run of the lineage: what the ledger answers is taken from it."""

from temporalio import workflow

from workflows import policies
from workflows.calls import Terms, ask
from workflows.parts import Parts
from workflows.repair.order import StepRunner
from workflows.run.context import RunContext
from workflows.step.doubts import EARLIER_RUN

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.run.resuming import ResumeRequest, Resumption
    from replaywright.domain.trace.details import event_summary


async def resume(parts: Parts, runner: StepRunner) -> None:
    """Take over what the ledger answers, resolve what it has in doubt, bring the browser to the first other step.

    Raises:
        ActivityError: the ledger has lost records since the resume was planned.
    """
    context, browser = parts.context, parts.browser
    context.show("asking the ledger")
    found = await _ask(context, 1)
    browser.epoch = max(browser.epoch + 1, found.epoch)
    earlier = "" if browser.session is None else browser.session.session_id
    is_live = bool(earlier) and await browser.recover()
    await browser.open()
    _take_over(parts, runner, found)
    was_doubtful = found.is_doubtful
    if was_doubtful:
        await parts.doubts.resolved(parts.attempts.here(), "" if is_live else EARLIER_RUN, earlier)
        found = await _ask(context, 2)
        _take_over(parts, runner, found)
        while browser.epoch < found.epoch:
            browser.raise_epoch()
    if is_live and was_doubtful:  # the page that the step in doubt was left on
        return
    if is_live:
        await browser.close()
        await browser.open()
    if not await parts.recovery.rebuilt():
        await parts.recovery.recover()
    browser.adopted = True


def _take_over(parts: Parts, runner: StepRunner, found: Resumption) -> None:
    """Pass the steps that the ledger answers: for these nothing is done."""
    for answered in found.answered[parts.context.position :]:
        attempt = parts.attempts.here()
        attempt.note(answered.outcome)
        runner.passed(attempt, answered.outcome)


async def _ask(context: RunContext, number: int) -> Resumption:
    """Ask the ledger about the plan, as it was written."""
    run, resume = context.run, context.run.resume
    assert resume is not None, "only of a run that goes on after another"
    return await ask(
        "run.resume",
        ResumeRequest(
            **context.scope, task=run.task.task, plan=context.course.rolled, values=run.values, resume=resume
        ),
        Resumption,
        Terms(policies.ASKING, policies.LEDGER_LIMIT),
        activity_id=f"resume-{number}",
        summary=event_summary(f"{resume.answered} steps from the ledger of {resume.of}"),
    )
