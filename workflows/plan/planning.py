"""What a run may still spend on models, and asking the planner for a revised rest of the plan."""

from temporalio import workflow
from temporalio.exceptions import ActivityError, CancelledError

from workflows import policies
from workflows.step.attempts import Attempt, why_of
from workflows.step.rulings import WITHOUT_PAGE

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.common.templates import fill
    from replaywright.domain.common.urls import origin_of
    from replaywright.domain.page.snapshot_text import quoted
    from replaywright.domain.plan.loops import Course
    from replaywright.domain.plan.model_limits import trusted_context
    from replaywright.domain.plan.trusted_context import TrustedContext
    from replaywright.domain.policy.effective import Caps
    from replaywright.domain.run.runs import (
        Mode,
        Progress,
        Proposal,
        ProposeRequest,
        ReviseRequest,
        Revision,
        RunInput,
        Usage,
    )
    from replaywright.domain.run.spending import Spent, plans_spent, spent
    from replaywright.domain.step.outcomes import MARKED, MARKED_SNAPSHOT, Status, StepOutcome
    from replaywright.domain.task.budgets import RunLimits
    from replaywright.domain.task.steps import Goto
    from replaywright.domain.trace.details import spent_so_far, summary


class Planning:
    """The budget of one run, and the revisions of its plan."""

    def __init__(self, run: RunInput, lineage: str) -> None:
        self._run = run
        self._lineage = lineage
        self._limits = run.budget or RunLimits.of(
            run.task.budget, steps=len(run.task.steps), planner=run.state.goal is not None
        )
        self._caps = Caps()
        self.revised_from = run.state.revised_from
        """For each revision, the index of the step that it began at."""
        self.answers = run.state.answers
        """What the user has said to the planner's questions."""
        self.begun = run.state.begun or workflow.now().timestamp()
        """When the run began, in seconds since 1970, moved on by the time that it waited for a person or a browser."""

    @property
    def answered(self) -> str:
        """What tells a question that is asked again, after the user has said something, from the one before."""
        return f"-answer{len(self.answers)}" if self.answers else ""

    def leave_out(self, seconds: float) -> None:
        """So long the run has waited, which is no time of its own."""
        self.begun += seconds

    def elapsed(self) -> float:
        """Seconds that the run has taken of its own."""
        return workflow.now().timestamp() - self.begun

    def cap(self, caps: Caps) -> None:
        """From now on the run may spend no more than this, whatever it was started with."""
        self._caps, self._limits = caps, caps.over(self._limits)

    def spent(self, usage: Usage) -> Spent | None:
        """Which limit of the run is reached; None while a model may be asked."""
        return spent(self._limits, usage, self.elapsed(), self._caps)

    def told(self, progress: Progress) -> list[str]:
        """What the run has spent, each with its limit."""
        return spent_so_far(progress, self._limits, self.elapsed())

    def no_more_plans(self, usage: Usage) -> Spent | None:
        """Why the planner may not be asked any more; None while it may."""
        return self.spent(usage) or plans_spent(self._limits, len(self.revised_from))

    def is_for_the_planner(self, outcome: StepOutcome) -> bool:
        """Whether another plan may help: it is known what became of the step, and how the page looks."""
        if self._run.mode is Mode.REPLAY or not self._run.task.goal or not self._limits.plans:
            return False
        return self.is_of_the_page(outcome) and bool(snapshot_of(outcome))

    @staticmethod
    def is_of_the_page(outcome: StepOutcome) -> bool:
        """Whether a step failed because the page is not as it was taken to be."""
        failed = outcome.status in (Status.MISSED, Status.UNMET, Status.REFUSED)
        return failed and outcome.reason not in WITHOUT_PAGE

    async def propose(self, attempt: Attempt, outcome: StepOutcome) -> Proposal:
        """Which element of the page the model takes for the step's.

        Raises:
            ActivityError: the model cannot be asked, or gives no usable answer.
        """
        proposal: Proposal = await workflow.execute_activity(
            "model.propose_target",
            ProposeRequest(
                run_id=workflow.info().workflow_id,
                lineage=self._lineage,
                sequence=attempt.sequence,
                instruction=self._instruction(attempt),
                action=attempt.step.action,
                snapshot=outcome.snapshot,
                missed=outcome.lookup,
                tenant=self._run.tenant,
                trusted=self._trusted(attempt),
            ),
            result_type=Proposal,
            activity_id=attempt.activity_id("propose"),
            summary=summary(attempt.sequence, f"where is {attempt.step.instruction!r}?", f"after: {why_of(outcome)}"),
            task_queue=policies.model_queue(workflow.info().task_queue),
            start_to_close_timeout=policies.MODEL_LIMIT,
            schedule_to_close_timeout=policies.MODEL_TOTAL,
            heartbeat_timeout=policies.HEARTBEAT,
            retry_policy=policies.MODEL,
        )
        return proposal

    def _instruction(self, attempt: Attempt) -> str:
        """The step's, with its values; those that were read from a page, such as the cells of a row, in quotes."""
        own = self._run.values
        values = {name: value if name in own else quoted(value) for name, value in attempt.values.items()}
        return fill(attempt.step.instruction, values)

    def _trusted(self, attempt: Attempt) -> TrustedContext:
        """What the element that a model chooses for the step is compared with."""
        run = self._run
        starts = (run.task.url, *(step.url for step in run.task.steps[:1] if isinstance(step, Goto)))
        return trusted_context(
            attempt.step,
            own=run.task.steps,
            goal=run.task.goal,
            origins=filter(None, (origin_of(fill(url, run.values)) for url in starts)),
        )

    async def revise(
        self, attempt: Attempt, outcome: StepOutcome, course: Course, commits: tuple[int, ...]
    ) -> Revision:
        """The planner's answer. That it cannot be had is an answer too: the step's own failure is what counts.

        The step is none of a list's: for one of these there is no other plan.
        """
        try:
            revision: Revision = await workflow.execute_activity(
                "model.revise_plan",
                ReviseRequest(
                    run_id=workflow.info().workflow_id,
                    lineage=self._lineage,
                    tenant=self._run.tenant,
                    sequence=course.written(attempt.sequence),
                    position=attempt.sequence if course.loops else None,
                    task=self._run.task,
                    values=self._run.values,
                    plan=course.rolled,
                    commits=course.commits_written(commits),
                    failed=why_of(outcome),
                    tried=(*attempt.tried, why_of(outcome)),
                    answers=self.answers,
                    **seen_of(outcome),
                ),
                result_type=Revision,
                activity_id=attempt.activity_id(f"plan{len(self.revised_from) + 1}{self.answered}"),
                summary=summary(attempt.sequence, f"how to go on? ({why_of(outcome)})"),
                task_queue=policies.model_queue(workflow.info().task_queue),
                start_to_close_timeout=policies.PLAN_LIMIT,
                schedule_to_close_timeout=policies.PLAN_TOTAL,
                heartbeat_timeout=policies.HEARTBEAT,
                retry_policy=policies.MODEL,
            )
        except ActivityError as error:
            if isinstance(error.cause, CancelledError):
                raise
            return Revision(gave_up=f"the planner cannot be asked: {error.cause or error}")
        if revision.steps:
            self.revised_from = (*self.revised_from, attempt.sequence)
        return revision


def snapshot_of(outcome: StepOutcome) -> str:
    """Where the snapshot of a failed step is kept; empty when there is none."""
    return outcome.snapshot or outcome.artifacts.get("snapshot", "")


def seen_of(outcome: StepOutcome) -> dict[str, str]:
    """The fields of a planner's request that say how the page of a failed step is; a picture has its own snapshot."""
    kept = outcome.artifacts
    missing = outcome.artifacts_missing.get(MARKED, "")
    if MARKED in kept and MARKED_SNAPSHOT in kept:
        return {"snapshot": kept[MARKED_SNAPSHOT], "picture": kept[MARKED]}
    return {"snapshot": snapshot_of(outcome), "picture_missing": missing}
