"""A task that is done by its requests, without a page, where enough runs have shown them."""

import asyncio
from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError
from temporalio.exceptions import TimeoutError as ActivityTimeout
from temporalio.workflow import ActivityCancellationType

from workflows import policies
from workflows.calls import ASKING, Terms, ask
from workflows.parts import Parts
from workflows.repair.order import StepRunner
from workflows.run.context import RunContext
from workflows.run.finishing import known_of, left_by, line_of
from workflows.step.attempts import Attempt
from workflows.step.doubts import EARLIER_RUN
from workflows.step.factory import final_predicates

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.policy.host_rules import network_policy
    from replaywright.domain.proof.proof import is_answered
    from replaywright.domain.requests.commands import (
        ACTIVITY,
        LOST_ACTIVITY,
        WITHOUT_PAGE,
        RequestsRun,
        RunRequests,
        ShownRequests,
        TaskRequests,
        is_sampled,
        key_of,
    )
    from replaywright.domain.run.runs import Finished
    from replaywright.domain.run.scope import Mode
    from replaywright.domain.step.outcomes import StepOutcome
    from replaywright.domain.task.actions import Effect
    from replaywright.domain.trace.details import event_summary


class Requests:
    """Does a task by its requests, or has the page's requests kept."""

    def __init__(self, parts: Parts, runner: StepRunner) -> None:
        self._parts = parts
        self._context = parts.context
        self._runner = runner
        self.finished: Finished | None = None
        """Set when the whole task was done by requests."""

    async def done(self) -> bool:
        """Do the task by its requests; return True if nothing is left for a page.

        Raises:
            ActivityError: a rule forbids a host of it.
            TaskFailed: a step with consequences is in doubt, and nobody can tell.
        """
        parts, context = self._parts, self._context
        if not is_wanted(context) or context.position:
            return False
        if why := why_page(context):
            context.warn(f"tier: requests: the task is done by its page, as {why}")
            return False
        if context.run.mode is Mode.LEARN or is_sampled(context.run_id) or parts.steering.is_changed:
            return False
        ran = await self._ran()
        if ran.status == "done":
            for outcome in ran.outcomes:
                self._pass(parts.attempts.here(), outcome)
        if ran.status == "open":
            await self._resolved(ran)
        context.board.check_stops()
        if ran.status == "done":
            self.finished = Finished(predicates=ran.verification, note=WITHOUT_PAGE)
        elif ran.reason:
            what = "the task" if ran.status == "page" else "the rest"
            context.warn(f"tier: requests: {what} is done by the page: {ran.reason}")
        return ran.status == "done"

    async def _ran(self) -> RequestsRun:
        """Have a worker send the requests; if the run is ended at the same moment, note what was sent."""
        context, parts = self._context, self._parts
        request = RunRequests(
            **context.scope,
            requests=requests_of(context),
            epoch=parts.browser.epoch,
            acts=tuple(context.course.act_at(index) for index in range(len(context.plan))),
            network=network_policy(context.run.task, context.run.values),
        )
        may_repeat = all(parts.attempts.at(index).may_repeat for index in range(len(context.plan)))
        context.show("sending its requests")
        parts.steering.all_begun = True
        try:
            return await self._sent(request, may_repeat=may_repeat)
        except asyncio.CancelledError:  # also raised in place of an answer that came with it
            parts.steering.is_ending = True
            if not may_repeat:
                await asyncio.shield(self._note_ended(request))
            raise
        finally:
            parts.steering.all_begun = False
            parts.browser.epoch += 2  # an intent that was taken back was so under the next one

    async def _sent(self, request: RunRequests, *, may_repeat: bool) -> RequestsRun:
        """Ask a worker; if it was lost, what it may have sent is in doubt."""
        limit = policies.OPEN_LIMIT + timedelta(milliseconds=sum(step.timeout_ms for step in self._context.plan))
        terms = Terms(policies.ONCE, limit, cancellation=ActivityCancellationType.WAIT_CANCELLATION_COMPLETED)
        what = event_summary("do the task by its requests")
        try:
            return await ask(ACTIVITY, request, RequestsRun, terms, activity_id="requests", summary=what)
        except ActivityError as error:
            if not (policies.is_loss(error) or policies.leaves_doubt(error)):
                raise
            why = policies.said(error)
            if may_repeat or policies.never_began(error):
                return RequestsRun(status="page", reason=why)
            request = request.model_copy(update={"witness": _witness_of(error)})
        return await _left(request, why, ASKING)

    async def _note_ended(self, request: RunRequests) -> None:
        """Note what is known of the step with consequences of a run that is ended."""
        try:
            ran = await _left(request, "the run was ended", Terms(policies.ASKING, total=policies.NOTICE_TOTAL))
        except ActivityError as error:
            workflow.logger.warning("nobody can tell what the run has sent: %s", error.cause)
            ran = RequestsRun(status="page")
            self._context.warn("tier: requests: the run was ended while it was sending, and nobody can tell what")
        if ran.outcomes:
            line = known_of(self._parts.attempts.at(len(ran.outcomes) - 1), ran.outcomes[-1])
            if line is not None:
                self._context.add_commit(line)

    async def _resolved(self, ran: RequestsRun) -> None:
        """Bring a browser to the step with consequences that was sent, and resolve it: the last of the outcomes.

        If the run ends before, that step stands in its commits as what is known of it.
        """
        parts = self._parts
        self._context.is_shown = False
        *before, sent = ran.outcomes
        for outcome in before:
            self._pass(parts.attempts.here(), outcome)
        attempt, is_resolved = parts.attempts.here(), False
        try:
            self._context.board.check_stops()
            await parts.browser.open()
            if not await parts.recovery.rebuilt():
                await parts.recovery.recover()
            parts.browser.adopted = True
            answered = is_answered(sent.evidence)
            resolution = await parts.doubts.resolved(attempt, EARLIER_RUN, answered=answered)
            is_resolved = True
        finally:
            if not is_resolved and (line := known_of(attempt, sent)) is not None:
                self._context.add_commit(line)
        if resolution.outcome is not None:
            self._pass(attempt, resolution.outcome)
        else:
            parts.browser.raise_epoch()  # the one in which it was found not done is over

    def _pass(self, attempt: Attempt, outcome: StepOutcome) -> None:
        """Go on after a step that is done."""
        attempt.note(outcome)
        self._runner.passed(attempt, outcome)
        if not outcome.effect.repeatable:
            self._context.add_commit(line_of(attempt, "done", left_by(outcome)))


def _witness_of(error: ActivityError) -> str:
    """Return the ledger's witness that a lost attempt has left in its heartbeats; empty without one."""
    match error.cause:
        case ActivityTimeout(last_heartbeat_details=[_, str() as witness]):
            return witness
        case _:
            return ""


async def _left(request: RunRequests, why: str, terms: Terms) -> RequestsRun:
    """Ask the ledger what an attempt has sent that was not heard of any more."""
    what = event_summary(f"look up what was in doubt: {why}")
    return await ask(LOST_ACTIVITY, request, RequestsRun, terms, activity_id=None, summary=what)


def requests_of(context: RunContext) -> TaskRequests:
    """Return the task of a run, as its requests are known by it."""
    run = context.run
    return TaskRequests(
        task=run.task.task,
        key=key_of(run.task, context.plan),
        plan=context.plan,
        values=run.values,
        secrets=run.task.secrets,
        verify=final_predicates(context),
    )


def shown_requests(context: RunContext) -> ShownRequests | None:
    """Return a run as it was done by its page, for others to be done by its requests.

    None if it is not wanted, or if one browser has not seen all of it.
    """
    state = context.state
    is_whole = context.is_shown and not (state.totals.recoveries or state.totals.from_ledger)
    if not (is_wanted(context) and is_whole) or why_page(context):
        return None
    return ShownRequests(
        **requests_of(context).model_dump(),
        extracted=state.extracted,
        commits=state.commits,
        day=workflow.now().date().isoformat(),
    )


def is_wanted(context: RunContext) -> bool:
    """Return whether the task asks for it, and is one of its author's steps, done from the beginning."""
    run, state = context.run, context.state
    is_plain = run.resume is None and run.signs_in is None and not (run.is_canary or run.looks)
    return run.task.tier == "requests" and is_plain and state.goal is None and run.skill is None


def why_page(context: RunContext) -> str:
    """Return why the task is always done by its page; empty if it is not."""
    if context.run.task.session:
        return "it is signed in by a session, which a browser keeps"
    if context.run.task.browser is not None:
        return "it sets up its browser"
    if any(step.effect is Effect.IRREVERSIBLE for step in context.plan):
        return "one of its steps can never be undone, and a person allows that on the page"
    return ""
