"""The result of a run: finished, failed, blocked, aborted or cancelled."""

import asyncio

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError, CancelledError

from workflows import policies
from workflows.calls import KEEPING, ask
from workflows.parts import Parts
from workflows.run import finishing
from workflows.run.requests import shown_requests
from workflows.session.signing_in import VERIFICATION_FAILED
from workflows.step.factory import final_predicates
from workflows.step.failures import TaskFailed, rule_behind

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.predicate.unmet import unmet_message
    from replaywright.domain.run.commit_lines import COMMITS, CommitLine, commits_said, left_at
    from replaywright.domain.run.commit_requests import StopRequest
    from replaywright.domain.run.runs import Finished, FinishRequest, RunResult
    from replaywright.domain.run.steering import ABORTED
    from replaywright.domain.step.outcomes import BLOCKED, Status
    from replaywright.errors import ReplaywrightError


class RunEnding:
    """Ends one run."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._context = parts.context

    async def finished(self, verified: Finished | None = None) -> RunResult:
        """Verify the end of the plan, unless it is `verified`, and keep what was learned.

        Raises:
            ActivityError: the policy ends the run, or its page cannot be looked at.
        """
        parts, context = self._parts, self._context
        if verified is not None:
            seen = {"verification": verified.predicates, "note": verified.note}
            return self._result(succeeded=True).model_copy(update=seen)
        await self._listen()
        may_ask = not context.budget.spent(context.state.totals.usage)
        context.count_usage(await parts.probing.learn(may_ask=may_ask))
        context.show("final verification")
        finished = await self._verified()
        if finished.why_page:
            context.warn(f"tier: requests: the task is done by its page: {finished.why_page}")
        seen = {"verification": finished.predicates, "note": finished.note}
        if not finished.verified:
            unmet = next(result for result in finished.predicates if result.fails)
            why = f"every step was done, but the final verification failed: {unmet_message(unmet)}"
            failed = self._failed(VERIFICATION_FAILED, why, at_step=False)
            return failed.model_copy(update={**seen, "artifacts": finished.artifacts})
        kept = {"promoted": finished.promoted, "held": finished.held}
        return self._result(succeeded=True).model_copy(update={**seen, **kept})

    async def _verified(self) -> Finished:
        """Verify the final page, in a new browser if need be, and keep what was learned.

        Where the last step has seen that all is as it should be, any worker keeps it if the run's own is lost.
        """
        browser, last = self._parts.browser, self._context.last

        async def by_its_worker(request: FinishRequest, what: str) -> Finished:
            activity_id = f"finish-e{browser.epoch}"
            return await browser.call("run.finish", request, Finished, activity_id=activity_id, summary=what)

        if last is None or last.verification is None:
            return await self._parts.recovery.read(lambda: by_its_worker(self._finish_request(), "final verification"))
        request, what = self._finish_request(), "verified by the last step: keep what was learned"
        try:
            return await by_its_worker(request, what)
        except ActivityError as error:
            if not policies.is_loss(error):
                raise
        activity_id = f"finish-e{browser.epoch}-anywhere"
        return await ask("run.finish", request, Finished, KEEPING, activity_id=activity_id, summary=what)

    async def broken_off(self, error: BaseException) -> RunResult:
        """Return the result of a run that a failure or a person ended; a cancelled one gives back what it has.

        Raises:
            CancelledError: the run was cancelled.
        """
        parts, context = self._parts, self._context
        if isinstance(error, TaskFailed):
            self._note_unfinished()
            kept = {"artifacts": error.artifacts, "rule": error.rule, "of_values": error.of_values}
            return self._failed(error.reason, str(error), at_step=error.at_step).model_copy(update=kept)
        if isinstance(error, ReplaywrightError):
            if parts.browser.session is None:
                raise error
            return self._failed(type(error).__name__, str(error))
        if isinstance(error, ActivityError) and not isinstance(error.cause, CancelledError):
            kind = error.cause.type if isinstance(error.cause, ApplicationError) else None
            rule = rule_behind(error)
            why = policies.said(error) if rule else str(error.cause or error)
            if policies.is_loss(error) or policies.leaves_doubt(error):
                self._note_unfinished()
            reason = BLOCKED if rule else kind or type(error.cause).__name__
            return self._failed(reason, why).model_copy(update={"rule": rule})
        steering = parts.steering
        if steering.aborted is None or workflow.cancellation_reason() is not None:
            await asyncio.shield(self._leave())
            context.board.end("cancelled", commits_said(context.state.commit_lines))
            context.show()
            raise error
        steering.is_ending = True
        await self._stop()
        await steering.note(ABORTED, steering.aborted, context.position)
        commits = commits_said(context.state.commit_lines)
        return self._failed(ABORTED, "; ".join(filter(None, (f"ended by {steering.aborted}", commits))))

    async def _leave(self) -> None:
        """Let nothing more leave the browser, give back what others wait for, and tell what a cancelled run has done.

        Temporal keeps no result of such a run, so that stands in its memo.
        """
        await self._stop()
        await self._parts.signing_in.end(None)
        await self._parts.browser.close()
        await self._parts.goals.release()
        if lines := self._context.state.commit_lines:
            workflow.upsert_memo({COMMITS: [line.model_dump(mode="json") for line in lines]})

    async def _stop(self) -> None:
        """Have the gate of the commit step under way closed, and note what is known of the step."""
        attempt, browser = self._parts.doubts.at_hand, self._parts.browser
        if attempt is None or attempt.may_repeat or attempt.begun is None or browser.session is None:
            return
        if attempt.came_to is not None and attempt.came_to.status is not Status.IN_DOUBT:
            self._note_unfinished()
            return
        self._parts.doubts.at_hand = None
        browser.raise_epoch()
        request = StopRequest(
            action=attempt.step_context(),
            session_id=attempt.begun.session.session_id,
            begun=attempt.begun.epoch,
            witness=self._context.state.witness,
        )
        stopped = await finishing.stopped(browser, request)
        left = stopped.left_at or finishing.left_by(attempt.came_to)
        if stopped.is_armed or attempt.step.effect is not None:
            self._context.add_commit(finishing.line_of(attempt, stopped.state, left))

    def _note_unfinished(self) -> None:
        """Note what the last outcome of the commit step that ended the run says of it."""
        attempt, self._parts.doubts.at_hand = self._parts.doubts.at_hand, None
        if attempt is None or attempt.may_repeat or attempt.begun is None:
            return
        if (line := finishing.known_of(attempt, attempt.came_to)) is not None:
            self._context.add_commit(line)

    async def _listen(self) -> None:
        """Wait for the late requests of presses that the run has learned, and note them."""
        context, listening = self._context, self._parts.listening
        if not listening.presses:
            return
        context.show(listening.waits_for)
        try:
            late = await listening.heard()
        except ActivityError as error:
            if not policies.is_loss(error):
                raise
            workflow.logger.warning("late requests of learned presses are unknown: %s", error.cause)
            return
        steps = {request.sequence for request in late}
        context.change(commit_lines=tuple(line for line in context.state.commit_lines if line.step not in steps))
        for request in late:
            context.add_commit(CommitLine(step=request.sequence, state="done", left_at=left_at(request.sent_at)))
        context.warn(*map(str, late))

    def _finish_request(self) -> FinishRequest:
        context, browser = self._context, self._parts.browser
        return FinishRequest(
            **context.scope,
            task=context.run.task.task,
            session=browser.ref,
            epoch=browser.epoch,
            verify=final_predicates(context),
            seen=None if context.last is None else context.last.verification,
            content_keys=context.state.content_keys,
            element_keys=context.state.element_keys,
            policy=context.run.task.policy,
            used=context.used,
            requests=shown_requests(context),
        )

    def _failed(self, reason: str, message: str, *, at_step: bool = True) -> RunResult:
        step = self._context.position if at_step else None
        return self._result(succeeded=False).model_copy(
            update={"failed_step": step, "reason": reason, "message": message}
        )

    def _result(self, *, succeeded: bool) -> RunResult:
        state = self._context.state
        return RunResult(
            succeeded=succeeded,
            totals=state.totals,
            extracted=state.extracted,
            skipped=state.skipped,
            files=state.files,
            warnings=state.warnings,
            commits=state.commit_lines,
        )
