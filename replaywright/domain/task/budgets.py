"""What a run may spend on models, and what a model costs."""

from pydantic import Field

from replaywright.domain.common.base import Authored, Record

CALLS = 60
"""Model calls of a run unless it says otherwise, or more for a long task: learning takes one a step."""
CALLS_PER_STEP = 2
TOKENS = 400_000
"""Tokens for `CALLS` calls, in and out together, unless the run says otherwise."""
PLANS = 2
"""Revised plans of a run unless it says otherwise; none where no planner is configured."""
GOAL_PLANS = 6
"""The same for a run that begins from a goal, in which no person has looked at the steps before."""


class Budget(Authored):
    """What somebody allows a run, in a task file or on the command line; None leaves it to what is usual."""

    calls: int | None = Field(None, ge=0)
    """Requests to models; 0 to never ask one."""
    tokens: int | None = Field(None, ge=0)
    """Tokens in and out together."""
    money: float | None = Field(None, ge=0, allow_inf_nan=False)
    """US dollars; needs the models' prices in the worker's settings."""
    seconds: float | None = Field(None, ge=0, allow_inf_nan=False)
    """Since the run began, without the time that it waited for a person."""
    plans: int | None = Field(None, ge=0)
    """How often the rest of the plan may be revised."""

    def over(self, other: "Budget") -> "Budget":
        """This budget, and where it says nothing, what the other one says."""
        return Budget(**{**other.model_dump(exclude_none=True), **self.model_dump(exclude_none=True)})


class Limits(Record):
    """What a run may spend; None means without limit. Beyond a limit no model is asked any more."""

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
    def of(cls, budget: Budget, *, steps: int, planner: bool) -> "Limits":
        """The limits of a run of so many steps with this budget; without a `planner` no plan is ever revised."""
        calls = max(CALLS, steps * CALLS_PER_STEP)
        usual = {"calls": calls, "tokens": calls * TOKENS // CALLS, "plans": 0}
        if planner:
            usual["plans"] = PLANS if steps else GOAL_PLANS
        given = budget.model_dump(exclude_none=True, exclude=set() if planner else {"plans"})
        return cls(**{**usual, **given})


class Price(Record):
    """US dollars for a million tokens."""

    input_usd: float
    output_usd: float

    def of(self, input_tokens: int, output_tokens: int) -> float:
        """What so many tokens cost."""
        return (input_tokens * self.input_usd + output_tokens * self.output_usd) / 1_000_000
