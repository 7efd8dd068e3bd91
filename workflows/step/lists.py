"""Steps that are left out: by their `when`, with their item of a list, or by a person."""

from datetime import timedelta

from temporalio import workflow

from workflows import policies
from workflows.calls import KEEPING, ask
from workflows.run.context import RunContext
from workflows.session.browser import Browser
from workflows.session.recovery import Recovery
from workflows.step.attempts import Attempt
from workflows.step.rulings import WITHOUT_PAGE

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.run.commands import Decision, LeaveOutRequest
    from replaywright.domain.step.outcomes import ITEM_LEFT, StepOutcome
    from replaywright.domain.trace.details import summary


class Lists:
    """Decides which steps of one run are left out, and records that they were."""

    def __init__(self, context: RunContext, browser: Browser, recovery: Recovery) -> None:
        self._context = context
        self._browser = browser
        self._recovery = recovery

    def skips_item(self, position: int, outcome: StepOutcome) -> bool:
        """Return whether the item of a step that failed like this is skipped."""
        loop = self._context.course.loop_at(position)
        return loop is not None and loop.on_failure == "skip_item" and outcome.reason not in WITHOUT_PAGE

    async def without(self, attempt: Attempt) -> StepOutcome | None:
        """The outcome of a step that is not to be performed; None of any other.

        What was decided is in the history, and a step that was left out is in the ledger: nothing is decided twice.
        """
        if attempt.sequence < self._context.state.left_until:
            return await self.leave_out(attempt, ITEM_LEFT, "its item was skipped")
        if not attempt.step.when:
            return None
        decision = await self._recovery.read(lambda: self._decided(attempt, "when"))
        return None if decision.performs else decision.outcome

    async def needless(self, attempt: Attempt, missed: StepOutcome) -> StepOutcome:
        """Return the outcome of a step that missed its element, and so touched nothing.

        What its `when` asked for may have gone meanwhile, by itself or by an override rule: then it is skipped, too.
        """
        decision = await self._recovery.read(lambda: self._decided(attempt, "still"))
        return missed if decision.performs or decision.outcome is None else decision.outcome

    async def _decided(self, attempt: Attempt, purpose: str) -> Decision:
        waits = max((one.within_ms or 0 for one in attempt.step.when), default=0)
        return await self._browser.call(
            "step.decide",
            attempt.step_context(),
            Decision,
            activity_id=attempt.activity_id(f"{purpose}-e{self._browser.epoch}"),
            summary=summary(attempt.sequence, f"check its conditions: {attempt.title}"),
            limit=timedelta(milliseconds=attempt.step.timeout_ms + waits) + policies.MARGIN,
        )

    async def leave_out(self, attempt: Attempt, reason: str, message: str) -> StepOutcome:
        """Record that a step counts as done without being performed; no browser is needed for that."""
        return await ask(
            "step.leave_out",
            LeaveOutRequest(action=attempt.step_context(), reason=reason, message=message),
            StepOutcome,
            KEEPING,
            activity_id=attempt.activity_id("left"),
            summary=summary(attempt.sequence, f"left out: {attempt.title}"),
        )
