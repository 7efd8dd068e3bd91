"""What a run has spent of its budget, and how that reads."""

from replaywright.domain.budgets import Limits
from replaywright.domain.runs import Usage

BUDGET_SPENT = "budget_spent"
"""Reason of a step for which a model was not asked, because a limit of the run is reached."""


def spent(limits: Limits, usage: Usage, seconds: float) -> str:
    """Which limit is reached, its value, and what to do about it; empty while a model may be asked."""
    tokens = usage.input_tokens + usage.output_tokens
    if limits.calls is not None and usage.calls >= limits.calls:
        return _said("calls", f"{limits.calls} model calls", f"{usage.calls} were made")
    if limits.tokens is not None and tokens >= limits.tokens:
        return _said("tokens", f"{limits.tokens} tokens", f"{tokens} were used")
    if limits.money is not None and usage.unpriced:
        return (
            f"the run may spend {limits.money:g} US dollars (money), and what {usage.model or 'the model'} costs is "
            "unknown: set REPLAYWRIGHT_MODEL_INPUT_PRICE and REPLAYWRIGHT_MODEL_OUTPUT_PRICE where the worker runs (of "
            "the planner REPLAYWRIGHT_PLANNER_MODEL_INPUT_PRICE and _OUTPUT_PRICE), or leave the limit out"
        )
    if limits.money is not None and usage.cost_usd >= limits.money:
        return _said("money", f"{limits.money:g} US dollars", f"{usage.cost_usd:.4f} were spent")
    if limits.seconds is not None and seconds >= limits.seconds:
        return _said("seconds", f"{limits.seconds:g} seconds", f"{seconds:.0f} have passed")
    return ""


def plans_spent(limits: Limits, plans: int) -> str:
    """That the plan may not be revised once more, and what to do about it; empty while it may."""
    return "" if plans < limits.plans else _said("plans", f"{limits.plans} revised plans", f"{plans} were made")


def money_said(usage: Usage) -> str:
    """What model calls cost, as people read it; never a price that nobody knows."""
    if not usage.calls:
        return ""
    if usage.unpriced:
        return f"at least {usage.cost_usd:.4f} US dollars" if usage.cost_usd else "cost unknown"
    return f"{usage.cost_usd:.4f} US dollars" if usage.cost_usd else ""


def _said(limit: str, value: str, used: str) -> str:
    return (
        f"the run's budget of {value} is spent ({used}): allow more with --max-{limit}, or with budget.{limit} in the "
        "task file"
    )
