"""What is taken over of a labeller's words."""

from typing import Any

import pytest

from replaywright.domain.common.lists import list_parameter
from replaywright.domain.plan.goal_runs import Labels
from replaywright.domain.recall.labels import checked_labels

GOAL = "给 ada@example.com 发送邮件，主题是'Tea 42'，密码 hunter2"


def labels(*parameters: dict[str, Any], **fields: Any) -> Labels:
    answer = {"label": "Send a mail", "name": "send-mail", "parameters": list(parameters), **fields}
    return checked_labels(answer, GOAL, secrets=("PASSWORD",), is_secret=lambda text: "hunter2" in text)


def parameter(name: str = "subject", value: str = "Tea 42", kind: str = "text") -> dict[str, str]:
    return {"name": name, "type": kind, "value": value}


def test_values_that_stand_in_the_goal_become_typed_parameters() -> None:
    found = labels(parameter("to", "ada@example.com", "email"), parameter(), parameter("count", "42", "number"))

    assert [(one.name, one.type, one.value) for one in found.parameters] == [
        ("to", "email", "ada@example.com"),
        ("subject", "text", "Tea 42"),
        ("count", "number", "42"),
    ]
    assert found.refused == ()


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (parameter(value="Coffee"), "does not stand in the goal"),
        (parameter(value="tea 42"), "does not stand in the goal"),
        (parameter(value=""), "does not stand in the goal"),
        (parameter(value=GOAL), "whole goal"),
        (parameter("pw", "hunter2"), "secrets are no parameters"),
        (parameter("PASSWORD"), "is there already"),
        (parameter("1st"), "no parameter name"),
    ],
)
def test_what_the_labeller_made_up_and_what_is_secret_is_dropped(given: dict[str, str], why: str) -> None:
    found = labels(given)

    assert found.parameters == ()
    assert why in found.refused[0]


def test_a_value_that_is_not_of_the_type_said_is_text() -> None:
    assert labels(parameter(kind="email")).parameters[0].type == "text"
    assert labels(parameter(kind="list")).parameters[0].type == "text"


@pytest.mark.parametrize(
    ("goal", "texts"),
    [
        ("Download the invoices INV-1, INV-2 and INV-3", ["INV-1", "INV-2", "INV-3"]),
        ("下载发票 INV-1、INV-2 和 INV-3", ["INV-1", "INV-2", "INV-3"]),
        ("Open 'Tea' & 'Coffee'", ["Tea", "Coffee"]),
        ("Download INV-1", ["INV-1"]),
    ],
)
def test_several_values_that_stand_side_by_side_are_a_list(goal: str, texts: list[str]) -> None:
    answer = {"name": "x", "parameters": [{"name": "items", "type": "list", "value": texts}]}

    found = checked_labels(answer, goal, secrets=(), is_secret=lambda _: False)

    [one] = found.parameters
    assert (one.type, list_parameter(one.value)) == ("list", tuple(texts))
    assert one.words in goal
    assert (one.words.startswith(texts[0]), one.words.endswith(texts[-1])) == (True, True)


@pytest.mark.parametrize("texts", [["ada@example.com", "Tea 42"], ["Tea", "42"], ["Tea", ""], ["hunter2"]])
def test_a_list_whose_texts_do_not_stand_side_by_side_or_are_secret_is_dropped(texts: list[str]) -> None:
    found = labels({"name": "items", "type": "list", "value": texts})

    assert found.parameters == ()
    assert found.refused[0].startswith("items: ")


def test_a_name_is_made_fit_to_be_one() -> None:
    assert labels(name="Send Mail!").name == "send-mail"
    assert labels(name="发送", label="").name == "task"
