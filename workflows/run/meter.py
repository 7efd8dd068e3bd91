"""What a run has done of all that a policy limits, and the policy's word before it begins."""

from collections.abc import Callable

from temporalio import workflow

from workflows import policies

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.policy.effective import Used
    from replaywright.domain.policy.policy_runs import CheckPolicy, Granted
    from replaywright.domain.run.runs import RunInput
    from replaywright.domain.step.outcomes import StepOutcome
    from replaywright.domain.task.steps import Step


class Meter:
    """Counts; who performs a step is told the counts, and decides by the policy of its worker."""

    def __init__(self, used: Used | None = None, elapsed: Callable[[], float] = lambda: 0.0) -> None:
        """`elapsed` tells how many seconds the run has taken of its own."""
        self._used = used or Used()
        self._elapsed = elapsed

    @property
    def used(self) -> Used:
        """All that was done by now."""
        return self._used.model_copy(update={"seconds": round(self._elapsed(), 3)})

    def note(self, outcome: StepOutcome) -> None:
        """A step was performed."""
        self._used = self._used.after(outcome)


async def granted(run: RunInput, lineage: str, plan: tuple[Step, ...], used: Used) -> Granted:
    """Have the policy of a worker decide whether the run may begin with this plan, or go on with it.

    Raises:
        ActivityError: a rule forbids it; see `workflows.step.failures.rule_behind`.
    """
    answer: Granted = await workflow.execute_activity(
        "policy.check",
        CheckPolicy(
            run_id=workflow.info().workflow_id,
            lineage=lineage,
            tenant=run.tenant,
            task=run.task,
            values=run.values,
            plan=plan,
            used=used,
        ),
        result_type=Granted,
        activity_id="policy-check",
        summary="does the policy allow it?",
        task_queue=policies.browser_queue(workflow.info().task_queue),
        start_to_close_timeout=policies.READ_LIMIT,
        heartbeat_timeout=policies.HEARTBEAT,
        retry_policy=policies.ASKING,
    )
    return answer
