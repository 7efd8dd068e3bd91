"""Templates in steps and recorded targets: today's values go in, and come out again when something is recorded."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from replaywright.domain.common.text import EDGE
from replaywright.domain.locating.filling import filled_step, filled_target, general_target, unseen_parameters
from replaywright.domain.page.targets import ElementQuery, Target
from replaywright.domain.predicate.predicates import TextContains
from replaywright.domain.task.steps import Drag, Extract, Step
from replaywright.errors import InputInvalid

STEPS: TypeAdapter[Step] = TypeAdapter(Step)
VALUES = {"to": "ada@example.com"}
ROW = Target(
    tag="button",
    role="button",
    name="Delete ada@example.com",
    text="ada@example.com",
    label="ada@example.com",
    attributes={"title": "Delete ada@example.com"},
    css="[title='Delete ada@example.com']",
    neighbours=("ada@example.com", "Bob"),
    container='listitem "ada@example.com"',
    row=("ada@example.com", "Monday"),
    element_hash="h",
)


def step(**fields: Any) -> Step:
    return STEPS.validate_python({"action": "click", "instruction": "the button", **fields})


def test_a_step_is_filled_wherever_it_names_a_parameter() -> None:
    fields = {"target": {"name": "To {{to}}"}, "expect": [{"text_contains": "{{to}}"}]}
    filled = filled_step(step(instruction="the mail to {{to}}", **fields), VALUES)

    assert filled.instruction == "the mail to ada@example.com"
    assert getattr(filled, "target", None) == ElementQuery(name="To ada@example.com")
    assert filled.expect == (TextContains(text_contains=f"{EDGE}ada@example.com{EDGE}"),)


def test_the_element_that_is_dropped_on_may_be_named_by_a_parameter() -> None:
    dragged = step(action="drag", instruction="the card", to={"role": "list", "name": "{{to}}"})

    assert isinstance(dragged, Drag)
    assert dragged.destination == "to role 'list', name '{{to}}'"
    assert filled_step(dragged, VALUES).to == ElementQuery(role="list", name="ada@example.com")  # type: ignore[union-attr]
    assert dragged.title == "drag the card to role 'list', name '{{to}}'"


def test_a_title_says_how_it_is_clicked_when_that_is_not_plain() -> None:
    assert step(button="right", modifiers=["Shift"]).title == "click the button (Shift+right)"
    assert step(button="left").title == "click the button"


def test_what_is_typed_stays_a_template_and_what_is_chosen_does_not() -> None:
    typed = filled_step(step(action="fill", value="{{to}}"), VALUES)
    chosen = filled_step(step(action="select_option", value="{{to}}"), VALUES)

    assert (getattr(typed, "value", ""), getattr(chosen, "value", "")) == ("{{to}}", "ada@example.com")


def test_the_fields_to_read_are_filled() -> None:
    fields = {"a": {"find": {"name": "{{to}}"}}, "b": {}}

    filled = filled_step(step(action="extract", instruction="", fields=fields), VALUES)

    assert isinstance(filled, Extract)
    assert (filled.fields["a"].find, filled.fields["b"].find) == (ElementQuery(name="ada@example.com"), None)


@pytest.mark.parametrize(
    "fields",
    [
        {"target": {"name": "{{to}}"}},
        {"action": "extract", "instruction": "", "fields": {"a": {"find": {"text": "{{to}}"}}}},
        {"expect": [{"exists": {"name": "{{to}}"}}]},
    ],
)
def test_a_query_of_which_nothing_is_left_is_refused_instead_of_matching_everything(fields: dict[str, Any]) -> None:
    with pytest.raises(InputInvalid, match="its parameters are all empty"):
        filled_step(step(**fields), {"to": ""})


def test_a_recorded_target_holds_no_value_of_its_steps_parameters() -> None:
    general = general_target(ROW, VALUES, frozenset({"to"}))

    assert "ada@example.com" not in general.model_dump_json()
    assert (general.name, general.row, general.neighbours) == (
        "Delete {{to}}",
        ("{{to}}",),
        ("{{to}}", "Bob"),
    )


def test_the_number_of_todays_row_is_not_kept_for_the_row_of_another_value() -> None:
    row = Target(tag="button", role="button", name="Rename", row=("2. cake", "1 trial"))
    general = general_target(row, {"dish": "cake"}, frozenset(), frozenset({"dish"}))

    assert general.row == ("{{dish}}",)


def test_values_of_parameters_that_the_step_does_not_name_stay() -> None:
    assert general_target(ROW, VALUES, frozenset()) == ROW


def test_identifiers_of_todays_element_are_not_kept_for_the_element_of_another_value() -> None:
    cancel = Target(
        tag="button", name="Cancel", attributes={"id": "cancel", "class": "wide"}, css="#cancel", element_hash="h"
    )

    general = general_target(cancel, {"answer": "Cancel"}, frozenset(), frozenset({"answer"}))
    fixed = general_target(cancel, {"answer": "Cancel"}, frozenset(), frozenset({"another"}))

    assert (general.name, general.attributes, general.element_hash) == ("{{answer}}", {"class": "wide"}, "")
    assert fixed == cancel


def test_a_field_is_called_what_it_is_called_whatever_is_entered() -> None:
    field = Target(
        tag="input",
        name="email",
        label="email",
        attributes={"name": "email", "id": "email", "placeholder": "email", "value": "email"},
        css="#email",
        neighbours=("email", "Last entered: email"),
        container='form "email"',
        row=("email", "required"),
        element_hash="h",
    )
    given = frozenset({"kind"})

    general = general_target(field, {"kind": "email"}, given, entered=given)
    other_day = filled_target(general, {"kind": "phone"})

    assert general == field.model_copy(
        update={
            "attributes": {"name": "email", "id": "email", "placeholder": "email"},
            "neighbours": ("email", "Last entered: {{kind}}"),
            "element_hash": "",
        }
    )
    assert (other_day.name, other_day.css, other_day.attributes) == ("email", "#email", general.attributes)


@pytest.mark.parametrize(
    ("name", "kept"), [("Message", "Message"), ("Dear Ada, thanks", ""), ("Dear Ada, thanks for all", "")]
)
def test_what_an_element_holds_of_a_value_entered_is_no_part_of_its_recording(name: str, kept: str) -> None:
    editor = Target(tag="div", role="textbox", name=name, text="Dear Ada, thanks for all", element_hash="h")

    general = general_target(editor, {"who": "Ada"}, frozenset({"who"}), entered=frozenset({"who"}))

    assert (general.name, general.text, general.element_hash) == (kept, "", "")


def test_a_parameter_that_names_the_element_does_so_although_it_is_what_another_one_holds() -> None:
    field = Target(tag="input", name="Ada", attributes={"value": "Bob"}, neighbours=("Ada",))
    values = {"who": "Ada", "what": "Bob"}

    general = general_target(field, values, frozenset({"who", "what"}), frozenset({"who"}), frozenset({"what"}))

    assert (general.name, general.attributes, general.neighbours) == ("{{who}}", {}, ("{{who}}",))


@pytest.mark.parametrize(
    ("target", "unseen"),
    [
        (Target(name="Page 3"), set()),
        (Target(row=("Order 3", "open")), set()),
        (Target(attributes={"href": "/page/3"}), set()),
        (Target(xpath="/html/body/input[3]", attributes={"id": "field3"}, neighbours=("3",)), {"nth"}),
    ],
)
def test_a_parameter_that_only_position_or_surroundings_would_show_is_unseen(target: Target, unseen: set[str]) -> None:
    naming = frozenset({"nth"})

    assert unseen_parameters(general_target(target, {"nth": "3"}, frozenset(), naming), naming) == unseen


@given(st.emails())
def test_todays_value_stands_where_the_recorded_one_stood(address: str) -> None:
    today = filled_target(general_target(ROW, VALUES, frozenset({"to"})), {"to": address})

    assert (today.name, today.container) == (f"Delete {address}", f'listitem "{address}"')
    assert today.element_hash == ""


def test_the_hash_of_an_element_without_values_is_kept() -> None:
    assert filled_target(Target(tag="button", name="Send", element_hash="h"), VALUES).element_hash == "h"


def test_a_parameter_that_has_no_value_any_more_stays_a_template() -> None:
    assert filled_target(Target(tag="button", name="{{cc}}"), VALUES).name == "{{cc}}"
