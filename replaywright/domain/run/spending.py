"""Spent budget of a run, and its wording."""

from dataclasses import dataclass

from replaywright.domain.policy.effective import Caps
from replaywright.domain.run.scope import Usage
from replaywright.domain.task.budgets import RunLimits

BUDGET_SPENT = "budget_spent"
"""Reason of a step for which a model was not asked, because a limit of the run is reached."""


@dataclass(frozen=True)
class Spent:
    """A limit of a run that is reached."""

    said: str
    """The limit, its value and the remedy."""
    rule: str = ""
    """The rule of the policy that the limit comes from; empty if it is the run's own."""


def spent(limits: RunLimits, usage: Usage, seconds: float, caps: Caps | None = None) -> Spent | None:
    """Return the limit that is reached; None while a model may be asked. `caps` are the policy's limits."""
    tokens, caps = usage.input_tokens + usage.output_tokens, caps or Caps()
    if limits.calls is not None and usage.calls >= limits.calls:
        rule = caps.rule_of(limits, "calls")
        return _said("calls", f"{limits.calls} model calls", f"{usage.calls} were made", rule)
    if limits.tokens is not None and tokens >= limits.tokens:
        return _said("tokens", f"{limits.tokens} tokens", f"{tokens} were used", caps.rule_of(limits, "tokens"))
    if limits.money is not None and usage.unpriced:
        return Spent(
            f"the run may spend {limits.money:g} US dollars (money), and what {usage.model or 'the model'} costs is "
            "unknown: set REPLAYWRIGHT_MODEL_PRICE where the worker runs (of the planner "
            "REPLAYWRIGHT_PLANNER_MODEL_PRICE), or leave the limit out",
            caps.rule_of(limits, "money"),
        )
    if limits.money is not None and usage.cost_usd >= limits.money:
        rule = caps.rule_of(limits, "money")
        return _said("money", f"{limits.money:g} US dollars", f"{usage.cost_usd:.4f} were spent", rule)
    if limits.seconds is not None and seconds >= limits.seconds:
        return _said("seconds", f"{limits.seconds:g} seconds", f"{seconds:.0f} have passed")
    return None


def plans_spent(limits: RunLimits, plans: int) -> Spent | None:
    """Return the limit on revised plans if it is reached; None while the plan may be revised."""
    return None if plans < limits.plans else _said("plans", f"{limits.plans} revised plans", f"{plans} were made")


def money_said(usage: Usage) -> str:
    """Return the cost of model calls for people; unknown prices are not guessed."""
    if not usage.calls:
        return ""
    if usage.unpriced:
        return f"at least {usage.cost_usd:.4f} US dollars" if usage.cost_usd else "cost unknown"
    return f"{usage.cost_usd:.4f} US dollars" if usage.cost_usd else ""


def _said(limit: str, value: str, used: str, rule: str = "") -> Spent:
    if rule:
        return Spent(f"the run's budget of {value} is spent ({used}): {rule} allows no more", rule)
    remedy = f"allow more with --max-{limit}, or with budget.{limit} in the task file"
    return Spent(f"the run's budget of {value} is spent ({used}): {remedy}")
