"""Two demonstrations with other values: what differs is a parameter, what agrees is the check."""

from typing import Any

import pytest

from replaywright.domain.task.tasks import Task, parse_task
from replaywright.recording.comparing import compared, data_of

SEND = {"action": "click", "instruction": "the send button", "target": {"role": "button", "name": "Send"}}


def fill(name: str, field: str = "") -> dict[str, Any]:
    target = {"role": "textbox", "name": field or name.title()}
    return {"action": "fill", "instruction": f"the {name} field", "target": target, "value": "{{" + name + "}}"}


def click(name: str, **fields: Any) -> dict[str, Any]:
    return {
        "action": "click",
        "instruction": f"the {name} button",
        "target": {"role": "button", "name": name},
        **fields,
    }


def task(*steps: dict[str, Any], url: str = "https://shop.example/", **values: str) -> Task:
    given = {name: {"type": "text", "example": value} for name, value in values.items()}
    return parse_task({"task": "shop", "url": url, "parameters": given, "steps": list(steps)}, "test")


def steps(one: Task, other: Task) -> list[dict[str, Any]]:
    return [
        {key: step[key] for key in step if key != "instruction"} for step in data_of(compared(one, other).task)["steps"]
    ]


def test_values_that_are_the_same_in_both_are_no_parameters() -> None:
    one = task(fill("user"), fill("to"), SEND, user="demo", to="ada")
    other = task(fill("user"), fill("to"), SEND, user="demo", to="grace")

    joined = compared(one, other).task

    assert [getattr(step, "value", "") for step in joined.steps] == ["demo", "{{to}}", ""]
    assert {name: given.example for name, given in joined.parameters.items()} == {"to": "ada"}


def test_elements_that_differ_in_a_word_have_it_as_a_parameter() -> None:
    joined = compared(task(click("ok")), task(click("cancel"))).task

    assert data_of(joined)["steps"] == [
        {
            "action": "click",
            "instruction": 'the "{{button}}" button',
            "target": {"role": "button", "name": "{{button}}"},
        }
    ]
    assert joined.parameters["button"].example == "ok"


def test_only_the_part_of_a_selector_or_address_that_differs_is_a_parameter() -> None:
    def shown(color: str, seed: int) -> Task:
        css = {"css": f'#area [data-color="{color}"]'}
        return task(
            {"action": "click", "instruction": "it", "target": css}, url=f"https://shop.example/?seed={seed}&run=1"
        )

    joined = compared(shown("red", 1), shown("blue", 27)).task

    assert joined.url == "https://shop.example/?seed={{start_url}}&run=1"
    assert data_of(joined)["steps"][0]["target"] == {"css": '#area [data-color="{{value}}"]'}


def test_an_element_that_is_named_by_a_value_that_was_entered_has_that_parameter() -> None:
    one = task(fill("to"), click("Delete ada"), to="ada")
    other = task(fill("to"), click("Delete grace"), to="grace")

    assert steps(one, other)[1]["target"]["name"] == "Delete {{to}}"


def test_expectations_stay_that_agree_without_their_values() -> None:
    def shown(name: str, number: str) -> Task:
        told = [{"text_contains": f"Sent to {name}"}, {"text_contains": f"Number {number}"}, {"url_contains": "/sent"}]
        return task(fill("to"), click("Send", expect=told), to=name)

    assert steps(shown("ada", "17"), shown("grace", "18"))[1]["expect"] == [
        {"text_contains": "Sent to {{to}}"}, {"url_contains": "/sent"},
    ]  # fmt: skip


def test_a_step_that_one_of_them_skips_is_done_where_its_element_is() -> None:
    longer, shorter = task(click("Accept"), fill("to"), SEND, to="ada"), task(fill("to"), SEND, to="grace")
    optional = {"action": "click", "target": click("Accept")["target"], "when": [{"exists": click("Accept")["target"]}]}

    assert steps(longer, shorter)[0] == optional
    assert steps(shorter, longer)[0] == optional
    assert [step["action"] for step in steps(longer, shorter)] == ["click", "fill", "click"]


def test_a_value_that_only_one_of_them_entered_has_it_as_the_default() -> None:
    joined = compared(task(SEND), task(fill("note"), SEND, note="Hi")).task

    assert joined.parameters["note"].default == "Hi"


def test_the_stronger_effect_and_the_longer_time_count() -> None:
    one = task(click("Go", effect="read", timeout_ms=20_000))
    other = task(click("Go", effect="commit"))

    [step] = steps(one, other)
    assert (step["effect"], step["timeout_ms"]) == ("commit", 20_000)


def test_secrets_stay_secrets() -> None:
    def shown() -> Task:
        step = fill("word") | {"value": "{{secret:WORD}}"}
        return parse_task(
            {"task": "shop", "url": "https://shop.example/", "secrets": ["WORD"], "steps": [step]}, "test"
        )

    joined = compared(shown(), shown()).task

    assert (joined.secrets, joined.steps[0].value) == (("WORD",), "{{secret:WORD}}")  # type: ignore[union-attr]


def at(target: dict[str, Any]) -> dict[str, Any]:
    return {"action": "click", "instruction": "it", "target": target}


ROW = {"role": "row", "text": "Ada"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"role": "button", "name": "Delete", "nth": 2}, {"role": "button", "name": "Delete", "nth": 3}),
        ({"css": "#area > i:nth-of-type(2)"}, {"css": "#area > i:nth-of-type(3)"}),
        ({"css": 'i[data-color="red"]'}, {"css": "#area > i:nth-of-type(3)"}),
        ({"css": 'a[href="/delete/17"]'}, {"role": "link", "name": "Delete", "within": ROW}),
        ({"role": "button", "name": "Delete", "within": ROW}, {"role": "button", "name": "Delete"}),
        (
            {"role": "button", "name": "Delete", "within": {"role": "row", "nth": 1}},
            {"role": "button", "name": "Delete", "within": {"role": "row", "nth": 2}},
        ),
    ],
)
def test_elements_that_two_demonstrations_tell_by_other_things_are_pressed_by_no_replay(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    joined = compared(task(at(one), SEND), task(at(other), SEND))

    assert [step.get("target") for step in data_of(joined.task)["steps"]] == [None, SEND["target"]]
    assert [(note.where, note.kind) for note in joined.notes] == [("step 1", "check"), ("end", "check")]
    assert not joined.task.parameters


def test_a_step_that_one_of_them_skips_is_left_out_if_only_a_place_tells_its_element() -> None:
    longer, shorter = task(at({"css": "main > i:nth-of-type(2)"}), SEND), task(SEND)

    assert [step["target"] for step in steps(longer, shorter)] == [SEND["target"]]


def test_a_number_that_changes_stays_a_parameter_where_something_has_consequences() -> None:
    def shown(number: int, effect: str) -> Task:
        order = {"role": "link", "name": f"Order {number}", "name_contains": "Order"}
        return task(at(order) | {"effect": "read"}, SEND | {"effect": effect})

    assert steps(shown(1, "commit"), shown(2, "commit"))[0]["target"] == {"role": "link", "name": "{{link}}"}
    assert steps(shown(1, "read"), shown(2, "read"))[0]["target"] == {"role": "link", "name_contains": "Order"}


def test_a_drag_by_another_distance_is_told() -> None:
    def dragged(x: int) -> Task:
        return task(
            {"action": "drag", "instruction": "the slider", "target": {"role": "slider"}, "by": {"x": x, "y": 0}}
        )

    def is_told(x: int) -> bool:
        return any("other distances" in note.advice for note in compared(dragged(40), dragged(x)).notes)

    assert is_told(60)
    assert not is_told(40)
