"""The end of a run: the final verification and what is kept for later runs, or the step that it was broken off in."""

from collections.abc import Callable
from datetime import datetime

from temporalio import workflow
from temporalio.exceptions import ActivityError

from workflows import policies
from workflows.session.browser import Browser
from workflows.session.recovery import Recovery
from workflows.step.attempts import Attempt

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.run.commit_lines import CommitLine, CommitState, left_at
    from replaywright.domain.run.runs import Finished, FinishRequest, Stopped, StopRequest
    from replaywright.domain.step.outcomes import Status, StepOutcome
    from replaywright.domain.trace.details import summary


async def verified(browser: Browser, request: Callable[[], FinishRequest], recovery: Recovery) -> Finished:
    """Verify the final page, in a new browser if need be, which `recovery` sees to.

    Raises:
        ActivityError: the policy ends the run, or it cannot be looked at.
    """
    return await recovery.read(lambda: _by_its_worker(browser, request(), "final verification"))


async def kept(browser: Browser, request: FinishRequest) -> Finished:
    """Keep what was learned; the last step has seen that all is as it should be. Any worker does if its own is lost.

    Raises:
        ActivityError: the policy ends the run.
    """
    said = "verified by the last step: keep what was learned"
    try:
        return await _by_its_worker(browser, request, said)
    except ActivityError as error:
        if not policies.is_loss(error):
            raise
    finished: Finished = await workflow.execute_activity(
        "run.finish",
        request,
        result_type=Finished,
        activity_id=f"finish-e{browser.epoch}-anywhere",
        summary=said,
        task_queue=policies.browser_queue(workflow.info().task_queue),
        start_to_close_timeout=policies.READ_LIMIT,
        heartbeat_timeout=policies.HEARTBEAT,
        retry_policy=policies.OPENING,
    )
    return finished


async def stopped(browser: Browser, request: StopRequest) -> Stopped:
    """Have the gate of a commit step closed, by whatever worker can; what is known of the step."""
    asked = request.action
    activity_id = f"{asked.sequence + 1:04d}-stop-e{asked.run.epoch}"
    said = summary(asked.sequence, "stop its requests; report what was sent")
    try:
        return await browser.on_its_host(
            "effect.stop",
            request,
            Stopped,
            session=asked.run.session,
            activity_id=activity_id,
            summary=said,
            limit=policies.READ_LIMIT,
        )
    except ActivityError as error:
        workflow.logger.warning("no worker on the host stopped step %d: %s", asked.sequence + 1, error.cause)
    try:
        answer: Stopped = await workflow.execute_activity(
            "effect.stop",
            request,
            result_type=Stopped,
            activity_id=f"{activity_id}-anywhere",
            summary=said,
            task_queue=policies.browser_queue(workflow.info().task_queue),
            start_to_close_timeout=policies.READ_LIMIT,
            schedule_to_close_timeout=policies.NOTICE_TOTAL,
            heartbeat_timeout=policies.HEARTBEAT,
            retry_policy=policies.ASKING,
        )
    except ActivityError as error:
        workflow.logger.warning("step %d stays in doubt: %s", asked.sequence + 1, error.cause)
        return Stopped(state="in_doubt")
    return answer


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
    """When the step's request was let go, as its outcome tells; None where it does not."""
    departure = None if outcome is None else outcome.evidence.departure
    return None if departure is None or departure.cut else left_at(departure.permitted_at)


def line_of(attempt: Attempt, state: CommitState, left: datetime | None) -> CommitLine:
    """The line of a step."""
    return CommitLine(step=attempt.sequence, title=attempt.title, state=state, left_at=left)


async def _by_its_worker(browser: Browser, request: FinishRequest, said: str) -> Finished:
    return await browser.call(
        "run.finish",
        request,
        Finished,
        activity_id=f"finish-e{browser.epoch}",
        summary=said,
        limit=policies.READ_LIMIT,
        retry_policy=policies.READING,
    )
