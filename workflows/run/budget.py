"""Limits of a run on models and time, and its own clock."""

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.policy.effective import Caps
    from replaywright.domain.run.runs import Progress, RunInput
    from replaywright.domain.run.scope import Usage
    from replaywright.domain.run.spending import Spent, plans_spent, spent
    from replaywright.domain.task.budgets import RunLimits
    from replaywright.domain.trace.details import spent_so_far


class RunBudget:
    """Limits of one run, and the time that it has taken of its own."""

    def __init__(self, run: RunInput) -> None:
        self._limits = run.budget or RunLimits.of(
            run.task.budget, steps=len(run.task.steps), planner=run.state.goal is not None
        )
        self._caps = Caps()
        self.begun = run.state.begun or workflow.now().timestamp()
        """Start of the run in seconds since 1970, moved on by the time that it waited for a person or a browser."""

    def leave_out(self, seconds: float) -> None:
        """Take so many seconds of waiting off the run's own time."""
        self.begun += seconds

    def elapsed(self) -> float:
        """Return the seconds that the run has taken of its own."""
        return workflow.now().timestamp() - self.begun

    def cap(self, caps: Caps) -> None:
        """Lower the limits to what a policy allows."""
        self._caps, self._limits = caps, caps.over(self._limits)

    def spent(self, usage: Usage) -> Spent | None:
        """Return the limit that is reached; None while a model may be asked."""
        return spent(self._limits, usage, self.elapsed(), self._caps)

    def no_more_plans(self, usage: Usage, revisions: int) -> Spent | None:
        """Return the limit for which the planner may not be asked; None while it may."""
        return self.spent(usage) or plans_spent(self._limits, revisions)

    @property
    def has_plans(self) -> bool:
        """Return True if the planner may be asked at all."""
        return bool(self._limits.plans)

    def lines(self, progress: Progress) -> list[str]:
        """Return what the run has spent, each amount with its limit, for people."""
        return spent_so_far(progress, self._limits, self.elapsed())
