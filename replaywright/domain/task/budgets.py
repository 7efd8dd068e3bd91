"""Limits on what a run spends on models, and the prices of models."""

from pydantic import Field

from replaywright.domain.common.base import Authored, Record

CALLS = 60
"""Default model calls of a run; more for a long task, as learning takes one call a step."""
CALLS_PER_STEP = 2
TOKENS = 400_000
"""Default tokens for `CALLS` calls, in and out together."""
PLANS = 2
"""Default number of revised plans of a run; none without a planner."""
GOAL_PLANS = 6
"""The same for a run that begins from a goal, whose steps nobody has reviewed."""


class Budget(Authored):
    """Budget of a run in a task file or on the command line; None takes the default."""

    calls: int | None = Field(None, ge=0)
    """Requests to models; 0 to ask none."""
    tokens: int | None = Field(None, ge=0)
    """Tokens in and out together."""
    money: float | None = Field(None, ge=0, allow_inf_nan=False)
    """US dollars; needs the models' prices in the worker's settings."""
    seconds: float | None = Field(None, ge=0, allow_inf_nan=False)
    """Since the run began, without waiting for people."""
    plans: int | None = Field(None, ge=0)
    """Revisions of the rest of the plan."""

    def over(self, other: "Budget") -> "Budget":
        """Fill the unset fields of this budget from the other one."""
        return Budget(**{**other.model_dump(exclude_none=True), **self.model_dump(exclude_none=True)})


class RunLimits(Record):
    """Limits of a run; None means no limit. Beyond a limit no model is asked."""

    calls: int | None = CALLS
    """Requests to models."""
    tokens: int | None = TOKENS
    """Tokens in and out together."""
    money: float | None = None
    """US dollars."""
    seconds: float | None = None
    """Since the run began, without waiting for people."""
    plans: int = 0
    """Revisions of the plan."""

    @classmethod
    def of(cls, budget: Budget, *, steps: int, planner: bool) -> "RunLimits":
        """Return the limits of a run with so many steps; without a `planner` no plan is revised."""
        calls = max(CALLS, steps * CALLS_PER_STEP)
        limits = {"calls": calls, "tokens": calls * TOKENS // CALLS, "plans": 0}
        if planner:
            limits["plans"] = PLANS if steps else GOAL_PLANS
        given = budget.model_dump(exclude_none=True, exclude=set() if planner else {"plans"})
        return cls(**{**limits, **given})


class Price(Record):
    """Price of a model in US dollars for a million tokens."""

    input_usd: float
    output_usd: float

    def of(self, input_tokens: int, output_tokens: int) -> float:
        """Return the cost of so many tokens."""
        return (input_tokens * self.input_usd + output_tokens * self.output_usd) / 1_000_000
