"""What becomes of a plan for a goal: templates, a way to verify; or a refusal."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from replaywright.domain.plan.goal_plans import GoalPlan, checked_goal_plan
from replaywright.domain.plan.goal_runs import STEPS, claim_key
from replaywright.domain.plan.plans import PlanRules
from replaywright.domain.task.steps import Fill, Step
from replaywright.domain.task.tasks import parse_task
from replaywright.errors import PlanRefused

VALUES = {"to": "ada@example.com", "subject": "Tea"}
TYPES = {"to": {"type": "email"}, "subject": {}}
TO = {"action": "fill", "instruction": "the recipient field", "value": "{{to}}"}
SUBJECT = {"action": "fill", "instruction": "the subject field", "value": "{{subject}}"}
SEND = {"action": "click", "instruction": "the Send button", "effect": "commit"}
SENT = {"text_contains": "Sent to ada@example.com"}


def checked(
    *items: Mapping[str, Any],
    goal: str = "Send a mail",
    values: Mapping[str, str] = VALUES,
    types: Mapping[str, Mapping[str, Any]] = TYPES,
    done: Sequence[Step] = (),
    complete: bool = False,
    verify: Sequence[Mapping[str, Any]] = (),
    last: bool = False,
) -> GoalPlan:
    task = parse_task(
        {
            "task": "t",
            "goal": goal,
            "url": "http://site/",
            "parameters": {name: dict(types.get(name, {})) for name in values},
            "secrets": ["PASSWORD"],
        },
        "test",
    )
    plan = PlanRules(task=task, values=dict(values), plan=tuple(done), position=len(done), url="http://site/")
    return checked_goal_plan(items, plan, complete=complete, verify=verify, last=last)


def values_of(plan: GoalPlan) -> list[str]:
    return [step.value for step in plan.steps if isinstance(step, Fill)]


def test_values_that_the_planner_wrote_out_become_parameters() -> None:
    written = [{**TO, "value": "ada@example.com"}, {**SUBJECT, "value": "Tea"}, SEND]

    plan = checked(*written, complete=True, verify=[SENT])

    assert values_of(plan) == ["{{to}}", "{{subject}}"]
    assert plan.verify[0].model_dump(exclude_none=True) == {"text_contains": "Sent to {{to}}"}


def test_a_value_in_an_instruction_and_in_an_expectation_becomes_its_parameter() -> None:
    row = {"action": "click", "instruction": "the link in the row of ada@example.com", "expect": [SENT]}

    [step] = checked(row).steps

    assert step.instruction == "the link in the row of {{to}}"
    assert step.expect[0].model_dump(exclude_none=True) == {"text_contains": "Sent to {{to}}"}


@pytest.mark.parametrize(("instruction", "name"), [("the sender field", "sender"), ("the recipient field", "to")])
def test_of_two_parameters_with_one_value_the_field_s_words_choose(instruction: str, name: str) -> None:
    same = {"to": "a@b.example", "sender": "a@b.example"}

    plan = checked({"action": "fill", "instruction": instruction, "value": "a@b.example"}, values=same)

    assert values_of(plan) == ["{{" + name + "}}"]


def test_a_name_that_the_planner_wrote_is_kept_and_where_nothing_chooses_it_is_asked_for_one() -> None:
    same = {"to": "a@b.example", "sender": "a@b.example"}
    field = {"action": "fill", "instruction": "the first field"}

    named = checked({**field, "value": "{{sender}}"}, values=same)

    assert values_of(named) == ["{{sender}}"]
    with pytest.raises(PlanRefused, match=r"write \{\{to\}\} or \{\{sender\}\}"):
        checked({**field, "value": "a@b.example"}, values=same)


def test_nothing_that_cannot_be_taken_back_comes_before_the_goal_s_values_are_entered() -> None:
    other = {**TO, "value": "Eve"}

    with pytest.raises(PlanRefused, match=r"\{\{to\}\}.*has not been used"):
        checked(other, SUBJECT, SEND, complete=True, verify=[SENT])
    expected = {**SEND, "expect": [SENT]}
    with pytest.raises(PlanRefused, match=r"\{\{to\}\}"):
        checked(other, SUBJECT, expected, complete=True, verify=[SENT], last=True)


def test_plain_text_that_no_field_takes_is_let_go_unless_something_else_is_entered() -> None:
    short = {**VALUES, "tone": "short"}
    goal = "Send a short mail to ada@example.com about Tea"

    plan = checked(TO, SUBJECT, SEND, goal=goal, values=short, complete=True, verify=[SENT], last=True)

    assert len(plan.steps) == 3
    other = {"action": "fill", "instruction": "the Bcc field", "value": "Eve"}
    for last in (False, True):
        with pytest.raises(PlanRefused, match="tone"):
            checked(TO, SUBJECT, other, SEND, goal=goal, values=short, complete=True, verify=[SENT], last=last)


def test_a_complete_plan_says_how_the_end_shows_and_is_done_without_if_it_does_not_know() -> None:
    with pytest.raises(PlanRefused, match="verify is empty"):
        checked(TO, SUBJECT, SEND, complete=True)

    assert checked(TO, SUBJECT, SEND, complete=True, last=True).verify == ()


def test_a_goal_may_be_reached_already() -> None:
    done = checked(TO, SUBJECT).steps

    assert checked(done=done, complete=True, verify=[SENT]).steps == ()


@pytest.mark.parametrize(
    ("items", "verify", "why"),
    [
        ([], [], "there are no steps"),
        ([TO] * 21, [], "1 to 20 steps"),
        ([{"action": "goto", "url": "http://evil.example/"}], [], "goto may only open"),
        ([{**TO, "target": {"css": "a"}}], [], "no target"),
        ([{**TO, "value": "{{secret:OTHER}}"}], [], "OTHER"),
        ([TO], [{"no_such": "x"}], "verify"),
    ],
)
def test_the_rules_of_every_plan_hold(items: list[Mapping[str, Any]], verify: list[Any], why: str) -> None:
    with pytest.raises(PlanRefused, match=why):
        checked(*items, verify=verify, complete=bool(verify))


def test_a_plan_without_end_is_refused() -> None:
    done = checked(TO).steps * STEPS

    with pytest.raises(PlanRefused, match=f"may take {STEPS} steps"):
        checked(TO, done=done)


def test_two_sentences_of_one_meaning_are_learned_once_and_two_of_different_meaning_are_not() -> None:
    one = claim_key("http://site/a", "Send ada@example.com a mail with the subject 'Tea'")
    same = claim_key("http://SITE/b".lower(), "send bob@example.org a mail with the subject 'More tea'")
    delete = claim_key("http://site/a", "Delete ada@example.com a mail with the subject 'Tea'")

    assert one == same
    assert len({one, delete, claim_key("http://other/", "Send ada@example.com a mail with the subject 'Tea'")}) == 3
