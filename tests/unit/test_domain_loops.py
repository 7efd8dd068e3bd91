"""Lists: which items there are, the plan with the steps of each, and what a task file may say of them."""

from typing import Any

import pytest

from replaywright.domain.plan.loops import Course, collected, items_of
from replaywright.domain.step.fingerprints import content_key, fingerprint
from replaywright.domain.step.outcomes import Status, StepOutcome
from replaywright.domain.task.steps import ForEach, Step
from replaywright.domain.task.tasks import GivenTexts, bind_parameters, parse_task
from replaywright.errors import ActionFailed, InputInvalid

PAY = {"action": "click", "instruction": "the pay button of {{invoice.No}}", "effect": "commit"}
ROWS = [
    {"No": "I1", "Customer": "Acme", "State": "open"},
    {"No": "I2", "Customer": "Bolt", "State": "Paid"},
    {"No": "I3", "Customer": "Crux", "State": " open "},
]


def task(*steps: dict[str, Any], **fields: Any) -> Any:
    return parse_task({"task": "t", "url": "http://site/", "steps": list(steps), **fields}, "test.yaml")


def for_each(*steps: dict[str, Any], **fields: Any) -> dict[str, Any]:
    source = {} if {"values", "elements"} & fields.keys() else {"instruction": "the table"}
    return {"action": "for_each", "item": "invoice", "steps": list(steps or (PAY,)), **source, **fields}


def loop(**fields: Any) -> ForEach:
    step = task(for_each(**fields)).steps[0]
    assert isinstance(step, ForEach)
    return step


def read(items: list[Any]) -> StepOutcome:
    return StepOutcome(status=Status.DONE, extracted={"items": items})


@pytest.mark.parametrize(
    ("where", "numbers"),
    [
        ({}, ["I1", "I2", "I3"]),
        ({"state": "OPEN"}, ["I1", "I3"]),
        ({"Customer": {"contains": "o"}}, ["I2"]),
        ({"State": {"none_of": ["paid"]}, "No": {"matches": "[23]$"}}, ["I3"]),
        ({"Customer": {"one_of": ["acme", "crux"]}}, ["I1", "I3"]),
    ],
)
def test_rows_are_taken_by_the_texts_of_their_cells(where: dict[str, Any], numbers: list[str]) -> None:
    items = items_of(loop(where=where), {"items": ROWS})

    assert [row["No"] for row in items if isinstance(row, dict)] == numbers


def test_an_item_that_is_there_twice_is_done_once() -> None:
    assert items_of(loop(), {"items": [*ROWS, ROWS[0]]}) == tuple(ROWS)


def test_more_items_than_the_limit_are_refused_or_left_as_declared() -> None:
    with pytest.raises(ActionFailed, match=r"3 items, and limit is 2.*raise limit") as raised:
        items_of(loop(limit=2), {"items": ROWS})

    assert (raised.value.reason, raised.value.dispatched) == ("too_many_items", False)
    assert items_of(loop(limit=2, on_more="stop"), {"items": ROWS}) == tuple(ROWS[:2])


def test_a_column_that_the_table_does_not_have_is_refused_by_name() -> None:
    with pytest.raises(ActionFailed, match=r"no column 'Due'; it has: 'No', 'Customer', 'State'"):
        items_of(loop(where={"Due": "today"}), {"items": ROWS})


def test_too_much_text_is_refused_before_anything_is_done() -> None:
    with pytest.raises(ActionFailed) as raised:
        items_of(loop(), {"items": [{"No": "x" * 200_000}]})

    assert raised.value.reason == "items_too_large"


def test_the_steps_of_each_item_are_written_out_with_its_values() -> None:
    plan = task(for_each(PAY, {"action": "go_back"}), {"action": "go_back"}).steps
    course = Course(plan, {"who": "Ada"}).after(0, read(ROWS))

    assert [step.action for step in course.plan] == ["for_each", *["click", "go_back"] * 3, "go_back"]
    assert course.values_at(3)["invoice.No"] == "I2"
    assert course.values_at(3)["who"] == "Ada"
    assert course.values_at(3)["invoice"] == "I2 Bolt Paid"
    assert course.values_at(7) == {"who": "Ada"}
    assert [course.label_at(at) for at in (0, 1, 6, 7)] == ["", "invoice 1/3", "invoice 3/3", ""]
    assert [course.following(at) is None for at in range(8)] == [True, False, True, False, True, False, True, True]
    assert [course.place_of(at) for at in range(9)] == [0, 0, 0, 0, 0, 0, 0, 1, 2]
    assert Course(course.rolled, {}, course.loops).plan == course.plan


def test_every_item_has_fingerprints_of_its_own_and_all_have_one_content_key() -> None:
    course = Course(task(for_each()).steps, {}).after(0, read(ROWS))
    marks = {fingerprint(course.plan[at], course.values_at(at), "", "") for at in (1, 2, 3)}
    keys = {content_key("acme", "http://site/", course.plan[at]) for at in (1, 2, 3)}

    assert (len(marks), len(keys)) == (3, 1)


def test_equal_steps_are_numbered_as_written_and_a_list_has_one_number_for_all_items() -> None:
    click, add = {"action": "click", "instruction": "Pay"}, {"action": "click", "instruction": "Add another"}
    course = Course(task(add, for_each(click, add), click, add).steps, {}).after(1, read(ROWS[:2]))
    later = course.revised(len(course.plan) - 1, task(click, add).steps)

    assert [course.occurrence_at(at) for at in range(len(course.plan))] == [1, 1, 1, 2, 1, 2, 2, 3]
    assert [later.occurrence_at(at) for at in (0, 6, 7, 8)] == [1, 2, 3, 3]


def test_what_is_done_for_an_item_is_known_again_in_another_order_and_with_other_cells() -> None:
    plan = task(for_each()).steps
    before = Course(plan, {}).after(0, read(ROWS))
    later = Course(plan, {}).after(0, read([ROWS[2], {**ROWS[0], "State": "paid"}]))

    assert [later.act_at(1), later.act_at(2)] == [before.act_at(3), before.act_at(1)]
    assert len({before.act_at(at) for at in range(4)}) == 4


def test_a_plan_revised_after_a_list_keeps_it() -> None:
    plan = task(for_each(), {"action": "go_back"}).steps
    course = Course(plan, {}).after(0, read(ROWS)).revised(4, plan[1:] * 2)

    assert [step.action for step in course.plan] == ["for_each", *["click"] * 3, "go_back", "go_back"]


def test_what_the_steps_of_an_item_read_is_collected_under_the_item() -> None:
    plan = task(for_each(PAY, {"action": "extract", "fields": {"sum": {}}})).steps
    course = Course(plan, {}).after(0, read(ROWS[:2]))

    found = collected(collected({"a": 1}, course, 2, {"sum": 3}), course, 4, {"sum": 5})

    assert found == {"a": 1, "invoice": [{"item": ROWS[0], "sum": 3}, {"item": ROWS[1], "sum": 5}]}


def test_the_steps_without_a_condition_have_the_fingerprints_that_they_always_had() -> None:
    plain: Step = task({"action": "go_back"}).steps[0]
    conditional: Step = task({"action": "go_back", "when": {"text_contains": "x"}}).steps[0]

    assert fingerprint(plain, {}, "", "") == "a4426bd4f564b27d6bf4a6a239ae74ea61f7a1de666b25b5e6f2e3b3ef6515dd"
    assert fingerprint(conditional, {}, "", "") != fingerprint(plain, {}, "", "")
    assert content_key("a", "http://s/", conditional) == content_key("a", "http://s/", plain)


@pytest.mark.parametrize("given", ["a, b", '["a", "b"]', GivenTexts(["a", "b"])])
def test_a_list_is_given_by_commas_as_json_or_by_repeating_it(given: str) -> None:
    asked = task(
        for_each({"action": "fill", "instruction": "to", "value": "{{invoice}}"}, values="{{names}}"),
        parameters={"names": {"type": "list"}},
    )

    assert bind_parameters(asked, {"names": given}) == {"names": '["a", "b"]'}


def test_several_values_for_a_parameter_that_is_no_list_are_refused() -> None:
    asked = task({"action": "fill", "instruction": "to", "value": "{{a}}"}, parameters={"a": {}})

    with pytest.raises(InputInvalid, match="'a' was given 2 values, and takes one"):
        bind_parameters(asked, {"a": GivenTexts(["x", "y"])})


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (for_each(for_each()), r"steps\[0\] is a for_each inside a for_each"),
        (for_each(item="in voice"), "'in voice' is no name for an item"),
        (for_each(values=["a"], elements={"role": "listitem"}), "say what the items are by one of"),
        (for_each(values="a, b"), "expected a list of texts"),
        (for_each(values=["a"]), r"the items of steps\[0\] have no columns: write 'invoice'"),
        (for_each(limit=501), "limit: .*less than or equal to 500"),
        (for_each(effect="commit"), "effect 'commit' belongs to the steps"),
        (for_each(where={"No": {"contains": "a", "matches": "b"}}), "exactly one of: equals"),
        (for_each(values=["a"], where={"No": "1"}), "where tests columns"),
        (for_each(item="who"), "'who', which is a parameter"),
        (for_each(values="{{who}}"), "'who' is of type text"),
        (PAY, "'invoice.No', and nothing is called 'invoice'"),
        ({**PAY, "instruction": "{{names}}"}, "'names', which is a list"),
        (
            for_each({"action": "upload", "instruction": "file", "files": ["{{invoice.No}}"]}),
            "uploads what the page names",
        ),
        ({**PAY, "instruction": "x", "when": {"downloaded": "*"}}, "tells of a step that was done"),
        ({**PAY, "instruction": "x", "when": {"text_contains": "x", "required": False}}, "required: false"),
    ],
)
def test_a_list_or_condition_that_makes_no_sense_is_refused_with_the_remedy(step: dict[str, Any], said: str) -> None:
    with pytest.raises(InputInvalid, match=said):
        task(step, parameters={"who": {}, "names": {"type": "list"}})


def test_an_item_is_only_known_to_its_own_steps() -> None:
    with pytest.raises(InputInvalid, match=r"steps\[1\] uses 'invoice.No', which only the steps of steps\[0\] know"):
        task(for_each(), PAY)
