"""Lists and conditions in a model's plan: what becomes of them, and what is refused."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from replaywright.domain.plan.goal_plans import GoalPlan, checked_goal_plan
from replaywright.domain.plan.plans import PlanRules, checked_plan
from replaywright.domain.task.steps import ForEach, Step
from replaywright.domain.task.tasks import bind_parameters, parse_task
from replaywright.errors import PlanRefused

DOWNLOAD = {"action": "click", "instruction": "the Download link of {{invoice.Number}}"}
LIST = {
    "action": "for_each",
    "item": "invoice",
    "target": {"role": "table", "name": "Invoices"},
    "where": {"Status": "open"},
    "steps": [DOWNLOAD],
}
SHOWN = {"text_contains": "All invoices"}
GOAL = "Download every open invoice"


def checked(
    *items: Mapping[str, Any],
    goal: str = GOAL,
    parameters: Mapping[str, Mapping[str, Any]] | None = None,
    values: Mapping[str, str] | None = None,
    done: Sequence[Step] = (),
    commits: tuple[int, ...] = (),
) -> GoalPlan:
    data = {"task": "t", "goal": goal, "url": "http://site/", "parameters": parameters or {}, "secrets": ["PASSWORD"]}
    task = parse_task(data, "test")
    plan = PlanRules(
        task=task,
        values=bind_parameters(task, values or {}),
        plan=tuple(done),
        position=len(done),
        commits=commits,
        url="http://site/invoices",
    )
    return checked_goal_plan(items, plan, complete=True, verify=[SHOWN], last=False)


def listed(plan: GoalPlan) -> ForEach:
    step = plan.steps[-1]
    assert isinstance(step, ForEach)
    return step


def with_steps(*steps: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    return {**LIST, "steps": list(steps), **fields}


def test_a_list_with_its_condition_is_taken_and_its_items_stay_names() -> None:
    cookies = {"action": "click", "instruction": "the Accept button", "when": [{"exists": {"role": "dialog"}}]}

    plan = checked(cookies, LIST)

    assert [step.action for step in plan.steps] == ["click", "for_each"]
    assert len(plan.steps[0].when) == 1
    step = listed(plan)
    assert (step.item, step.limit, step.where["Status"].equals) == ("invoice", 50, "open")
    assert [inner.instruction for inner in step.steps if inner.action == "click"] == [DOWNLOAD["instruction"]]


def test_values_of_the_goal_become_parameters_in_conditions_and_in_the_steps_of_a_list() -> None:
    body = {"action": "fill", "instruction": "the Note field of {{invoice.Number}}", "value": "for Acme Ltd"}

    plan = checked(
        with_steps(body, where={"Customer": "Acme Ltd", "to": {"one_of": ["42"]}}),
        goal="Note 42 on every invoice of Acme Ltd",
        parameters={"customer": {}, "number": {"type": "number"}},
        values={"customer": "Acme Ltd", "number": "42"},
    )

    step = listed(plan)
    assert (step.where["Customer"].equals, step.where["to"].one_of) == ("{{customer}}", ("{{number}}",))
    [fill] = [inner for inner in step.steps if inner.action == "fill"]
    assert (fill.instruction, fill.value) == (body["instruction"], "for {{customer}}")


@pytest.mark.parametrize("values", ["{{numbers}}", ["INV-1", "INV-2"]])
def test_a_list_in_the_goal_is_gone_through_as_its_parameter(values: Any) -> None:
    body = {"action": "click", "instruction": "the Download link of {{number}}"}

    plan = checked(
        {"action": "for_each", "item": "number", "values": values, "steps": [body]},
        goal="Download {{numbers}}",
        parameters={"numbers": {"type": "list"}},
        values={"numbers": "INV-1, INV-2"},
    )

    assert listed(plan).values == "{{numbers}}"


@pytest.mark.parametrize(
    ("item", "why"),
    [
        (with_steps({"action": "extract", "fields": {"total": {}}}), "action is none of"),
        (with_steps({"action": "upload", "instruction": "the file field", "files": ["/etc/passwd"]}), "none of"),
        (with_steps({"keep": 1}), "action is none of"),
        (with_steps(LIST), "action is none of"),
        (with_steps(*[DOWNLOAD] * 21), "at most 20"),
        (with_steps({**DOWNLOAD, "target": {"css": "a"}}), "no target"),
        (with_steps({**DOWNLOAD, "instruction": "the link of {{order.Number}}"}), "order.Number"),
        (with_steps({"action": "fill", "instruction": "the field", "value": "{{secret:PIN}}"}), "PIN"),
        (with_steps({**DOWNLOAD, "instruction": "{{secret:PASSWORD}}"}), "outside the value"),
        (with_steps({"action": "goto", "url": "http://evil.example/"}), "goto may only open"),
        (with_steps({"action": "goto", "url": "{{invoice.Link}}"}), "goto may only open"),
        (with_steps({"action": "goto", "url": "http://site{{invoice.Link}}"}), "goto may only open"),
        (with_steps({"action": "goto", "url": "http://site:80{{invoice.Link}}"}), "goto may only open"),
        (with_steps(DOWNLOAD, target=None, elements={"css": "tr"}), "elements has no css"),
        (with_steps(DOWNLOAD, elements={"role": "row", "within": {"test_id": "t"}}), "elements has no test_id"),
        (with_steps(DOWNLOAD, where={"Status": {"matches": "(a+)+$"}}), "where has no matches"),
        (with_steps(DOWNLOAD, limit=501), "limit"),
        (with_steps(DOWNLOAD, target={"css": "table"}), "target has no css"),
        (with_steps(), "steps"),
        ({**LIST, "steps": "click"}, "a for_each has steps"),
        (
            {
                "action": "for_each",
                "item": "to",
                "values": ["evil@example.com"],
                "steps": [{**DOWNLOAD, "instruction": "{{to}}"}],
            },
            "does not stand in the goal",
        ),
        ({**LIST, "effect": "irreversible"}, "belongs to the steps"),
        ({**DOWNLOAD, "steps": [DOWNLOAD]}, "no steps"),
    ],
)
def test_a_list_that_breaks_a_rule_is_refused(item: Mapping[str, Any], why: str) -> None:
    with pytest.raises(PlanRefused, match=why):
        checked(item)


def test_a_page_of_the_own_site_may_be_opened_by_a_cell() -> None:
    opened = {"action": "goto", "url": "http://site/invoices/{{invoice.Number}}"}

    assert len(listed(checked(with_steps(opened, DOWNLOAD))).steps) == 2


def test_what_cannot_be_taken_back_comes_after_the_goal_s_values_in_a_list_too() -> None:
    send = {"action": "click", "instruction": "the Send button", "effect": "commit"}
    note = {"action": "fill", "instruction": "the Note field", "value": "Tea"}
    told: dict[str, Any] = {
        "goal": "Send the note Tea to every customer",
        "parameters": {"note": {}},
        "values": {"note": "Tea"},
    }

    assert len(listed(checked(with_steps(note, send), **told)).steps) == 2
    for early in (
        with_steps(send, note),
        with_steps({**send, "expect": [{"text_contains": "Tea"}]}),
        with_steps({**send, "when": [{"text_contains": "Tea"}]}),
    ):
        with pytest.raises(PlanRefused, match=r"\{\{note\}\}.*has not been used"):
            checked(early, **told)


def test_a_list_of_which_commits_were_done_is_not_gone_through_again() -> None:
    pay = {"action": "click", "instruction": "the Pay button of {{invoice.Number}}", "effect": "commit"}
    told: dict[str, Any] = {"goal": "Pay every open invoice"}
    done = checked(with_steps(pay), **told).steps

    for again in (
        with_steps(pay),
        with_steps(DOWNLOAD),
        {
            **with_steps({**pay, "instruction": "the Pay button of {{bill.Number}}"}),
            "item": "bill",
            "target": {"role": "grid"},
        },
    ):
        with pytest.raises(PlanRefused, match="must not be done twice"):
            checked(again, done=done, commits=(0,), **told)
    assert checked(with_steps(pay), done=done, **told).steps


def test_a_name_that_is_taken_by_what_the_task_reads_is_refused() -> None:
    data = {
        "task": "t",
        "url": "http://site/",
        "steps": [{"action": "extract", "fields": {"invoice": {}}}, DOWNLOAD | {"instruction": "the link"}],
        "verify": [SHOWN],
    }
    task = parse_task(data, "test")
    rules = PlanRules(task=task, values={}, plan=task.steps, position=1, url="http://site/")

    with pytest.raises(PlanRefused, match="a field that is read"):
        checked_plan([LIST], rules)
