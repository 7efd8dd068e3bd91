"""What a run knows of its lists and conditions: the plan with the steps of each item, and steps that are left out."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import Any

from temporalio import workflow

from workflows import policies
from workflows.session.browser import Browser
from workflows.step.attempts import Attempt
from workflows.step.rulings import WITHOUT_PAGE

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.plan.loops import Course, collected, skipped_items
    from replaywright.domain.run.runs import Decision, LeaveOutRequest, RunInput
    from replaywright.domain.step.outcomes import ITEM_LEFT, ITEM_SKIPPED, LEFT_OUT, Status, StepOutcome
    from replaywright.domain.task.steps import Step
    from replaywright.domain.trace.details import summary

_Read = Callable[[Callable[[], Awaitable[Decision]]], Awaitable[Decision]]


class Lists:
    """The course of one run, and which of its steps were left out."""

    def __init__(self, browser: Browser, run: RunInput, plan: Sequence[Step]) -> None:
        """`plan` is the one that was written, or revised: its lists are not written out."""
        self._browser = browser
        self.course = Course(plan, run.values, run.state.loops)
        self._left_until = run.state.left_until
        self.left_out = frozenset(run.state.left_out)
        """Indexes of the steps that were left out."""
        self.skipped = run.state.skipped
        """Items that were left before all their steps were done."""
        self.extracted: dict[str, Any] = dict(run.state.extracted)
        """What the run has read; of the steps of an item, in the list of its items."""

    def passed(self, position: int, outcome: StepOutcome) -> None:
        """The step at `position` is done, or left out."""
        self.extracted = collected(self.extracted, self.course, position, outcome.extracted)
        self.skipped += skipped_items(self.course, position, outcome)
        if outcome.reason in LEFT_OUT:
            self.left_out |= {position}
        iteration = self.course.iteration_at(position)
        if outcome.reason == ITEM_SKIPPED and iteration is not None:
            self._left_until = iteration.ends
        self.course = self.course.after(position, outcome)

    def revised(self, position: int, steps: Sequence[Step]) -> None:
        """Other steps take the place of all from `position` on."""
        self.course = self.course.revised(position, steps)

    def skips_item(self, position: int, outcome: StepOutcome) -> bool:
        """Whether the item of a step that failed with this outcome is left, and the run goes on with the next."""
        loop = self.course.loop_at(position)
        return loop is not None and loop.on_failure == "skip_item" and outcome.reason not in WITHOUT_PAGE

    async def without(self, attempt: Attempt, read: _Read) -> StepOutcome | None:
        """The outcome of a step that is not to be performed; None of any other.

        What was decided is in the history, and a step that was left out is in the ledger: nothing is decided twice.
        `read` runs what only reads, as often as the browser is lost meanwhile.
        """
        if attempt.sequence < self._left_until:
            return await self.leave_out(attempt, ITEM_LEFT, "its item was skipped")
        if not attempt.step.when:
            return None
        decision = await read(lambda: self._decided(attempt, "when"))
        return None if decision.performs else decision.outcome

    async def needless(self, attempt: Attempt, missed: StepOutcome, read: _Read) -> StepOutcome:
        """What has become of a step that missed its element, and so touched nothing.

        What its `when` asked for may have gone meanwhile, by itself or by an override rule: then it is skipped, too.
        """
        if not attempt.step.when or missed.status is not Status.MISSED:
            return missed
        decision = await read(lambda: self._decided(attempt, "still"))
        return missed if decision.performs or decision.outcome is None else decision.outcome

    async def _decided(self, attempt: Attempt, purpose: str) -> Decision:
        waits = max((one.within_ms or 0 for one in attempt.step.when), default=0)
        return await self._browser.call(
            "step.decide",
            attempt.context(),
            Decision,
            activity_id=attempt.activity_id(f"{purpose}-e{self._browser.epoch}"),
            summary=summary(attempt.sequence, f"is it to be done? {attempt.title}"),
            limit=timedelta(milliseconds=attempt.step.timeout_ms + waits) + policies.MARGIN,
            retry_policy=policies.READING,
        )

    async def leave_out(self, attempt: Attempt, reason: str, message: str) -> StepOutcome:
        """Record that a step counts as done without being performed; no browser is needed for that."""
        outcome: StepOutcome = await workflow.execute_activity(
            "step.leave_out",
            LeaveOutRequest(action=attempt.context(), reason=reason, message=message),
            result_type=StepOutcome,
            activity_id=attempt.activity_id("left"),
            summary=summary(attempt.sequence, f"left out: {attempt.title}"),
            task_queue=policies.browser_queue(workflow.info().task_queue),
            start_to_close_timeout=policies.READ_LIMIT,
            heartbeat_timeout=policies.HEARTBEAT,
            retry_policy=policies.OPENING,
        )
        return outcome

    def state(self) -> dict[str, Any]:
        """What of it continue-as-new carries, by the fields of `RunState`."""
        return {
            "loops": self.course.loops,
            "left_until": self._left_until,
            "left_out": tuple(sorted(self.left_out)),
            "skipped": self.skipped,
            "extracted": self.extracted,
        }
