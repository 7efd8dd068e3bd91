"""Commit steps that end their run: stopped, and what is known of them."""

from datetime import datetime

from temporalio import workflow
from temporalio.exceptions import ActivityError

from workflows import policies
from workflows.calls import Terms, ask
from workflows.session.browser import Browser
from workflows.step.attempts import Attempt

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.run.commit_lines import CommitLine, CommitState, left_at
    from replaywright.domain.run.commit_requests import Stopped, StopRequest
    from replaywright.domain.step.outcomes import Status, StepOutcome
    from replaywright.domain.trace.details import summary


async def stopped(browser: Browser, request: StopRequest) -> Stopped:
    """Have the gate of a commit step closed, by whatever worker can; what is known of the step."""
    asked = request.action
    activity_id = f"{asked.sequence + 1:04d}-stop-e{asked.run.epoch}"
    what = summary(asked.sequence, "stop its requests; report what was sent")
    try:
        return await browser.on_its_host(
            "effect.stop", request, Stopped, session=asked.run.session, activity_id=activity_id, summary=what
        )
    except ActivityError as error:
        workflow.logger.warning("no worker on the host stopped step %d: %s", asked.sequence + 1, error.cause)
    try:
        terms = Terms(policies.ASKING, total=policies.NOTICE_TOTAL)
        return await ask("effect.stop", request, Stopped, terms, activity_id=f"{activity_id}-anywhere", summary=what)
    except ActivityError as error:
        workflow.logger.warning("step %d stays in doubt: %s", asked.sequence + 1, error.cause)
        return Stopped(state="in_doubt")


def known_of(attempt: Attempt, outcome: StepOutcome | None) -> CommitLine | None:
    """Return the line of a commit step that ended its run; None if it had no consequences to speak of."""
    if outcome is None:
        return line_of(attempt, "in_doubt", None)
    departure = outcome.evidence.departure
    match outcome.status:
        case Status.DONE:
            state: CommitState = "done"
        case Status.IN_DOUBT:
            state = "in_doubt"
        case Status.BLOCKED if departure is not None and departure.bytes_up:
            state = "in_doubt"
        case _:
            state = "not_done"
    silent = state == "not_done" and departure is None and attempt.step.effect is None
    return None if silent or outcome.effect.repeatable else line_of(attempt, state, left_by(outcome))


def left_by(outcome: StepOutcome | None) -> datetime | None:
    """Return the time at which the step's request was let go, by its outcome; None if unknown."""
    departure = None if outcome is None else outcome.evidence.departure
    return None if departure is None or departure.cut else left_at(departure.permitted_at)


def line_of(attempt: Attempt, state: CommitState, left: datetime | None) -> CommitLine:
    """The line of a step."""
    return CommitLine(step=attempt.sequence, title=attempt.title, state=state, left_at=left)
