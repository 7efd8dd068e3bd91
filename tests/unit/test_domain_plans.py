"""A model's plan is carried out only as far as it keeps the rules."""

from typing import Any

import pytest

from replaywright.domain.plan.plans import PlanRules, checked_plan
from replaywright.domain.task.actions import Effect
from replaywright.domain.task.tasks import parse_task
from replaywright.errors import PlanRefused

CLICK = {"action": "click", "instruction": "the Continue button"}
STEPS: list[dict[str, Any]] = [
    {"action": "goto", "url": "http://shop.example/"},
    {"action": "click", "instruction": "the send button", "effect": "commit"},
    {"action": "fill", "instruction": "the name field", "value": "{{name}}"},
    {"action": "click", "instruction": "the order button", "target": {"role": "button"}, "effect": "commit"},
]


def rules(*, verify: bool = True, steps: list[dict[str, Any]] = STEPS, **fields: Any) -> PlanRules:
    """A plan of which the third step failed, after the second, which must not be done again."""
    data = {
        "task": "order",
        "parameters": {"name": {}},
        "secrets": ["PASSWORD"],
        "steps": steps,
        "verify": [{"url_contains": "/thanks"}] if verify else [],
    }
    task = parse_task(data, "test")
    known = {"values": {"name": "Ada"}, "position": 2, "commits": (1,), "url": "http://shop.example:80/cart"}
    return PlanRules.model_validate({"task": task, "plan": task.steps, **known, **fields})


def test_a_plan_of_new_and_kept_steps_is_taken_with_the_kept_ones_as_they_were() -> None:
    given = rules()

    steps = checked_plan([CLICK, {"keep": 3}, {"keep": 4}], given)

    assert steps[0].instruction == "the Continue button"
    assert steps[1:] == given.plan[2:]


def test_a_parameter_may_be_used_anywhere_and_a_secret_where_it_is_entered() -> None:
    plan = [
        {"action": "type", "instruction": "the password of {{name}}", "value": "{{secret:PASSWORD}}"},
        {"action": "fill", "instruction": "the name field", "value": "{{name}}"},
    ]

    assert len(checked_plan(plan, rules())) == 2


@pytest.mark.parametrize(
    ("plan", "why"),
    [
        ([], "1 to 20 steps"),
        ([CLICK] * 21, "1 to 20 steps"),
        ([{"action": "upload", "instruction": "the file field", "files": ["/etc/passwd"]}], "action is none of"),
        ([{"action": "run_script", "instruction": "x"}], "action is none of"),
        ([{"instruction": "x"}], "action is none of"),
        ([{**CLICK, "target": {"css": "button"}}], "no target"),
        ([{**CLICK, "timeout_ms": 300_000}], "no timeout_ms"),
        ([{"action": "fill", "instruction": "the name field"}], "value"),
        ([{"action": "fill", "instruction": "x", "value": "{{mail}}"}], "undeclared parameter 'mail'"),
        ([{"action": "fill", "instruction": "x", "value": "{{secret:PIN}}"}], "undeclared secret 'PIN'"),
        ([{"action": "click", "instruction": "{{secret:PASSWORD}}"}], "outside the value"),
        ([{"action": "goto", "url": "http://shop.example/?p={{secret:PASSWORD}}"}], "outside the value"),
        ([{"action": "goto", "url": "http://evil.example/"}], "may only open pages of http://shop.example:80"),
        ([{"action": "goto", "url": "https://shop.example/"}], "may only open"),
        ([{"action": "goto", "url": "http://shop.example@evil.example/"}], "may only open"),
        ([{"action": "goto", "url": "javascript:alert(1)"}], "may only open"),
        ([{"action": "goto", "url": "{{name}}"}], "may only open"),
        ([{"action": "click", "instruction": "the send button"}], "must not be done twice"),
        ([{"action": "click", "instruction": "Send"}], "must not be done twice"),
        ([CLICK, {"keep": 2}], "none of the remaining steps 3 to 4"),
        ([CLICK, {"keep": 5}], "none of the remaining steps"),
        ([CLICK, {"keep": True}], "takes the number"),
        ([CLICK, {"keep": 3, "action": "click"}], "nothing beside it"),
        ([CLICK, {"keep": 3}, {"keep": 3}], "once each"),
        ([CLICK, {"keep": 4}, {"keep": 3}], "in their order"),
        ([{"keep": 3}, {"keep": 4}], "failed as it is"),
    ],
)
def test_a_plan_that_breaks_a_rule_is_refused_and_says_which(plan: list[dict[str, Any]], why: str) -> None:
    with pytest.raises(PlanRefused) as refusal:
        checked_plan(plan, rules())

    assert why in str(refusal.value)


@pytest.mark.parametrize(
    ("effect", "taken"),
    [("read", None), ("idempotent", None), ("commit", Effect.COMMIT), ("irreversible", Effect.IRREVERSIBLE)],
)
def test_a_model_can_raise_an_effect_and_never_lower_it(effect: str, taken: Effect | None) -> None:
    [step] = checked_plan([{**CLICK, "effect": effect}], rules())

    assert step.effect is taken


def test_without_a_final_verification_a_plan_keeps_all_that_remains() -> None:
    with pytest.raises(PlanRefused, match="step 4 must be kept"):
        checked_plan([CLICK, {"keep": 3}], rules(verify=False))

    assert len(checked_plan([CLICK, {"keep": 3}, {"keep": 4}], rules(verify=False))) == 3


def test_data_that_the_task_reads_stays_in_the_plan() -> None:
    read = {"action": "extract", "fields": {"total": {}}}

    with pytest.raises(PlanRefused, match="it reads data"):
        checked_plan([CLICK], rules(steps=[*STEPS, read]))


def test_a_commit_with_other_values_is_another_one() -> None:
    fill = {"action": "fill", "instruction": "the name field", "value": "Bea"}

    assert checked_plan([fill], rules(commits=(1, 2), position=3))
