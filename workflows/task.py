"""The workflow `BrowserTask`: one loop for learning, replaying and healing."""

import asyncio
from typing import NoReturn

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError

from workflows.admission import refused
from workflows.parts import Parts
from workflows.repair.order import StepRunner
from workflows.repair.page import override
from workflows.run.context import RunContext
from workflows.run.ending import RunEnding
from workflows.run.handlers import Handlers
from workflows.run.requests import Requests
from workflows.run.resuming import resume
from workflows.run.skill_runs import note_run
from workflows.run.starting import begun_with, check_policy, lineage_of, newest
from workflows.run.telling import step_told
from workflows.step.failures import TaskFailed
from workflows.step.looking import look_ahead
from workflows.step.rulings import MESSAGE_LIMIT

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.run.commit_requests import PersonVerdict
    from replaywright.domain.run.runs import RunInput, RunResult
    from replaywright.domain.step.outcomes import SKIPPED_AHEAD
    from replaywright.errors import InputInvalid, ReplaywrightError


@workflow.defn(name="BrowserTask")
class BrowserTask(Handlers):
    """Runs one task in one browser; every step is an activity, the history is the checkpoint."""

    @workflow.init
    def __init__(self, run: RunInput) -> None:
        self._objection = ""
        try:
            run = begun_with(run)
        except InputInvalid as exc:
            self._objection = str(exc)
        self._context = RunContext(run, lineage_of(run))
        self._parts = parts = Parts(self._context)
        self._steering, self._lending, self._person = parts.steering, parts.lending, parts.person
        self._signing_in = parts.signing_in
        self._runner = StepRunner(parts)
        self._ending = RunEnding(parts)
        self._requests = Requests(parts, self._runner)
        self._admitted = ""

    @workflow.run
    async def run(self, run: RunInput) -> RunResult:  # noqa: ARG002 - `__init__` has it
        """Perform the plan, verify the task, make active what was learned.

        Raises:
            ApplicationError: type `TaskFailed`, or `TaskBlocked` if a rule of the policy ended the run; its details
                are the `RunResult` and a `RunFailure`. Type `InputInvalid`, without details, if `run` is wrong.
        """
        if self._objection:
            raise refused(self._objection)
        self._parts.steering.begin()
        self._context.begin()
        try:
            await self._begin()
            await self._perform_plan()
            await look_ahead(self._parts)
            result = await self._ending.finished(self._requests.finished)
        except (TaskFailed, ActivityError, ReplaywrightError, asyncio.CancelledError) as error:
            result = await self._ending.broken_off(error)
        self._parts.steering.is_over = True
        result = await self._close(result)
        return self._report(result)

    # ---------------------------------------------------------------------------------------- the loop

    async def _perform_plan(self) -> None:
        """Perform step after step, until the plan is done and the planner adds nothing to it."""
        parts, context = self._parts, self._context
        begun_at = context.position
        while not context.is_at_end or await self._planned_on():
            if context.position - begun_at >= context.run.steps_per_history:
                await workflow.wait_condition(workflow.all_handlers_finished)
                self._continue(self._carried())
            if await self._left_out():
                continue
            due = context.state.due
            context.change(due=())
            await override(parts, due, context.position)
            await parts.recycler.between_steps()
            attempt = parts.attempts.next()
            context.show(attempt.title)
            with step_told(context.run, attempt):
                outcome = await self._runner.carry_out(attempt)
                if outcome is not None:
                    await parts.recovery.complete(outcome, context.position)
                    self._runner.passed(attempt, outcome)

    async def _left_out(self) -> bool:
        """Wait while the run is paused; return whether a person had the current step left out."""
        parts, context = self._parts, self._context
        context.board.check_stops()
        await parts.steering.paused()
        skip = parts.steering.skip_at(context.position)
        if skip is None:
            return False
        attempt = parts.attempts.here()
        outcome = await parts.lists.leave_out(attempt, SKIPPED_AHEAD, f"left out by {skip.said}")
        outcome = outcome.model_copy(update={"warnings": (f"{SKIPPED_AHEAD}: left out by {skip.said}",)})
        attempt.note(outcome)
        self._runner.passed(attempt, outcome)
        return True

    async def _planned_on(self) -> bool:
        """Have the planner go on where the plan of a goal ends; return whether there is more to do.

        Raises:
            TaskFailed: the planner gave up, may not be asked any more, or has no end.
        """
        context = self._context
        while context.is_unfinished and context.is_at_end:
            context.show()
            revision = await self._parts.human.informed(self._parts.goals.next_part)
            if revision.gave_up:
                raise TaskFailed("planner_gave_up", f"the planner gave up: {revision.gave_up}"[:MESSAGE_LIMIT])
            context.count_usage(revision.usage)
            context.revise(revision.steps)
        return not context.is_at_end

    # ----------------------------------------------------------------------------------- the beginning

    async def _begin(self) -> None:
        """Have the policy decide, find out what the run does, and get a browser.

        Raises:
            TaskFailed: the run cannot begin; `TaskBlocked` if a rule of the policy forbids it.
        """
        run, goals = self._context.run, self._parts.goals
        if run.schedule:  # who made it could not know the lineage, and continuing as new forgets what was told before
            workflow.upsert_memo({"lineage": self._context.lineage})
        self._admitted = await check_policy(self._context)
        if run.named:
            self._context.show(f"looking up the skill {run.named}")
            self._continue(await newest(run, self._context.lineage))
        if goals.is_undecided:
            decided = await goals.decided()
            await workflow.wait_condition(workflow.all_handlers_finished)  # of a person who was asked
            self._continue(decided)
        if run.resume is not None and not run.state.resumed:
            await resume(self._parts, self._runner)
        if not await self._requests.done():
            await self._signed_in()

    async def _signed_in(self) -> None:
        """Get a browser, signed in with the session that the task names; wait for that before a place is taken.

        Raises:
            TaskFailed: it cannot be signed in, or the task may not use it.
        """
        parts = self._parts
        if parts.browser.session is not None:
            return
        if parts.signing_in.is_used:
            await parts.signing_in.ask()
        await parts.browser.open()
        await parts.recovery.read(parts.signing_in.enter)

    def _continue(self, run: RunInput) -> NoReturn:
        """Continue as new, with the proof that the first execution's start was signed."""
        workflow.continue_as_new(run.model_copy(update={"admitted": self._admitted}))

    def _carried(self) -> RunInput:
        """Return the input with which the run continues as new in the middle of its plan."""
        browser = self._parts.browser
        state = self._context.carried(epoch=browser.epoch, session=browser.session)
        return self._context.run.model_copy(update={"lineage": self._context.lineage, "state": state})

    # ------------------------------------------------------------------------------------------ the end

    async def _close(self, result: RunResult) -> RunResult:
        """Write down what was learned, give back the browser, and count the run for its skill."""
        context, browser = self._context, self._parts.browser
        result = await self._parts.goals.ended(result)
        await self._parts.signing_in.end(result)
        context.board.doing = "closing the browser"
        await browser.close(is_over=True)
        result = result.model_copy(update={"refused_hosts": browser.refused})
        if context.run.skill is not None:
            await note_run(context, context.run.skill, result)
        return result

    def _report(self, result: RunResult) -> RunResult:
        """Show how the run ended.

        Raises:
            ApplicationError: it did not succeed.
        """
        context = self._context
        step = "" if result.failed_step is None else f"step {result.failed_step + 1}: "
        message = "" if result.succeeded else f"{step}{result.message or result.reason}"
        context.board.end("done" if result.succeeded else "blocked" if result.rule else "failed", message)
        context.show()
        if result.succeeded:
            return result
        if result.rule:
            workflow.upsert_memo({"status": "blocked"})  # lists of runs do not tell one failure from another
        kind = "TaskBlocked" if result.rule else "TaskFailed"
        failure = context.failure(result, self.plan())
        raise ApplicationError(message, result, failure, type=kind, non_retryable=True)

    # ---------------------------------------------------------------------------------- what people say

    @workflow.update
    async def resolve_step(self, verdict: PersonVerdict) -> None:
        """A person's decision on the step that the run waits for."""
        self._person.answer(verdict)

    @resolve_step.validator
    def _check_resolve_step(self, verdict: PersonVerdict) -> None:
        self._person.check(verdict)
