"""What a run may spend, and what is said when it has."""

import pytest

from replaywright.domain.policy.effective import Caps
from replaywright.domain.run.scope import Usage
from replaywright.domain.run.spending import money_said, plans_spent, spent
from replaywright.domain.task.budgets import CALLS, TOKENS, Budget, Price, RunLimits

PRICED = Usage(calls=3, input_tokens=900, output_tokens=100, model="m", cost_usd=0.5, priced=3)


@pytest.mark.parametrize(
    ("limits", "usage", "seconds", "said"),
    [
        (RunLimits(), PRICED, 9e9, ""),
        (RunLimits(calls=4), PRICED, 0, ""),
        (RunLimits(calls=3), PRICED, 0, "3 model calls is spent (3 were made): allow more with --max-calls, or"),
        (RunLimits(calls=0), Usage(), 0, "--max-calls"),
        (RunLimits(tokens=1000), PRICED, 0, "budget.tokens"),
        (RunLimits(tokens=1001), PRICED, 0, ""),
        (RunLimits(money=0.5), PRICED, 0, "--max-money"),
        (RunLimits(money=0.6), PRICED, 0, ""),
        (
            RunLimits(money=0.6),
            Usage(calls=1, model="m"),
            0,
            "m costs is unknown: set REPLAYWRIGHT_MODEL_PRICE",
        ),
        (RunLimits(money=0.6), Usage(), 0, ""),
        (RunLimits(seconds=10), PRICED, 9.9, ""),
        (RunLimits(seconds=10), PRICED, 10, "--max-seconds"),
        (RunLimits(calls=None, tokens=None), Usage(calls=10**6, input_tokens=10**9), 0, ""),
    ],
)
def test_the_limit_that_is_reached_is_named_with_its_value_and_the_remedy(
    limits: RunLimits, usage: Usage, seconds: float, said: str
) -> None:
    told = spent(limits, usage, seconds)

    assert bool(said) == (told is not None)
    assert told is None or (said in told.said and told.rule == "")


@pytest.mark.parametrize(
    ("limits", "name"),
    [(RunLimits(), "calls"), (RunLimits(calls=9, tokens=9), "tokens"), (RunLimits(money=3.0), "money")],
)
def test_a_limit_that_is_the_policy_s_is_told_with_its_rule_and_no_option_lifts_it(
    limits: RunLimits, name: str
) -> None:
    rule = f"policy 'p': spending.{name}"
    value = {"calls": 3, "tokens": 5, "money": 0.5}[name]
    caps = Caps.model_validate({name: {"rule": rule, "value": value}})

    told = spent(caps.over(limits), PRICED, 0, caps)

    assert told is not None
    assert told.rule == rule
    assert rule in told.said
    assert "--max" not in told.said


def test_plans_are_counted_apart() -> None:
    assert plans_spent(RunLimits(plans=2), 1) is None
    told = plans_spent(RunLimits(plans=2), 2)
    assert told is not None
    assert "2 revised plans" in told.said


def test_a_caller_s_word_comes_before_the_task_s_and_that_before_what_is_usual() -> None:
    budget = Budget(calls=5).over(Budget(calls=9, money=1.0))

    limits = RunLimits.of(budget, steps=3, planner=True)

    assert (limits.calls, limits.money, limits.tokens, limits.plans) == (5, 1.0, TOKENS, 2)


def test_without_a_planner_no_plans_are_allowed_whatever_is_asked_for() -> None:
    assert RunLimits.of(Budget(plans=5), steps=3, planner=False).plans == 0


def test_learning_a_long_task_is_within_what_is_usual() -> None:
    limits = RunLimits.of(Budget(), steps=200, planner=False)

    assert limits.calls == 400
    assert limits.tokens == 400 * TOKENS // CALLS


def test_money_is_counted_only_where_a_price_is_known_and_never_shown_as_nothing() -> None:
    unpriced = Usage(calls=1, input_tokens=10)

    assert Price(input_usd=2, output_usd=10).of(500_000, 100_000) == 2.0
    assert money_said(PRICED) == "0.5000 US dollars"
    assert money_said(unpriced) == "cost unknown"
    assert money_said(PRICED.plus(unpriced)) == "at least 0.5000 US dollars"
    assert money_said(Usage()) == ""
