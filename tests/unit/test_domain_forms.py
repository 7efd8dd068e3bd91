"""Steps that enter and choose: what they take, what is part of their keys, and what holds afterwards."""

from typing import Any

import pytest
from pydantic import TypeAdapter

from replaywright.browser.input.entering import holds
from replaywright.domain.locating.filling import filled_step
from replaywright.domain.page.observed import AssertionContext, ElementProbe, ElementState, ProbeResult
from replaywright.domain.page.targets import ElementQuery
from replaywright.domain.predicate.evaluation import evaluate
from replaywright.domain.predicate.predicates import Predicate
from replaywright.domain.step.fingerprints import content_key, fingerprint
from replaywright.domain.task.actions import Effect, effect_of
from replaywright.domain.task.steps import SelectOption, Step, action_of, names_element
from replaywright.domain.task.tasks import parse_task
from replaywright.errors import InputInvalid

STEP: TypeAdapter[Step] = TypeAdapter(Step)
PREDICATE: TypeAdapter[Predicate] = TypeAdapter(Predicate)
URL = "https://shop.test/orders"


def step(action: str, **fields: Any) -> Step:
    return STEP.validate_python({"action": action, "instruction": "the list", **fields})


def task(*steps: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"task": "t", "url": URL, "steps": [*steps], **fields}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "either value .one label. or values"),
        ({"value": "A", "values": ["B"]}, "either value .one label. or values"),
        ({"values": ["A", "A"]}, "values names 'A' twice"),
        ({"values": []}, "values"),
    ],
)
def test_what_to_choose_is_said_in_one_way(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InputInvalid, match=message):
        parse_task(task({"action": "select_option", "instruction": "the list", **fields}), "t.yaml")


def test_what_is_chosen_or_entered_is_no_part_of_the_content_key_and_part_of_the_fingerprint() -> None:
    for action, field, one, other in (
        ("select_option", "value", "A", "B"),
        ("select_option", "values", ["A"], ["A", "B"]),
        ("paste", "value", "A", "B"),
    ):
        first, second = step(action, **{field: one}), step(action, **{field: other})

        assert content_key("t", URL, first) == content_key("t", URL, second)
        assert fingerprint(first, {}, "", "") != fingerprint(second, {}, "", "")


def test_several_options_are_filled_with_parameters() -> None:
    filled = filled_step(step("select_option", values=["{{first}}", "B"]), {"first": "A"})

    assert isinstance(filled, SelectOption)
    assert filled.wanted == ("A", "B")


def test_a_secret_may_be_pasted_and_not_chosen() -> None:
    pasted = {"action": "paste", "instruction": "the code", "value": "{{secret:CODE}}"}
    chosen = {"action": "select_option", "instruction": "the list", "values": ["{{secret:CODE}}"]}

    assert parse_task(task(pasted, secrets=["CODE"]), "t.yaml").steps[0].action == "paste"
    with pytest.raises(InputInvalid, match=r"steps\[0\] uses a secret outside"):
        parse_task(task(chosen, secrets=["CODE"]), "t.yaml")


def test_pasting_may_be_repeated_and_goes_to_an_element_or_to_the_focus() -> None:
    into, onto = step("paste", value="x"), STEP.validate_python({"action": "paste", "value": "x"})

    assert effect_of(action_of(into), None, None) is Effect.IDEMPOTENT
    assert (names_element(into), names_element(onto)) == (True, False)
    assert into.title == "paste the list = x"
    assert onto.title == "paste = x"


@pytest.mark.parametrize(
    ("states", "reason"),
    [
        ([ElementState(focused=True)], "holds"),
        ([ElementState()], "not_focused"),
        ([ElementState(focused=True), ElementState()], "ambiguous"),
        ([], "none_found"),
    ],
)
def test_exactly_one_element_may_have_the_focus(states: list[ElementState], reason: str) -> None:
    query = ElementQuery(role="menuitem")
    seen = ProbeResult(count=len(states), elements=tuple(states))

    verdict = evaluate(
        PREDICATE.validate_python({"focused": {"role": "menuitem"}}),
        AssertionContext(url=URL, probes=((ElementProbe(query=query), seen),)),
    )

    assert verdict.reason == reason


@pytest.mark.parametrize(
    ("value", "text", "expected"),
    [
        ("(415) 555-0123", "4155550123", True),
        ("ADA", "ada", True),
        ("1,234.50", "1234.5", True),
        ("1.234,50 €", "1234.5", True),
        ("-7", "-7.0", True),
        ("1,234", "1.234", False),
        ("12345", "1234.5", False),
        ("-7", "7.0", False),
        ("", "something", False),
        ("adam", "ada", False),
        ("", "…", False),
    ],
)
def test_a_field_holds_the_text_in_the_form_the_page_gives_it(value: str, text: str, *, expected: bool) -> None:
    assert holds(value, text) is expected
