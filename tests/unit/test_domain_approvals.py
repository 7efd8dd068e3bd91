"""What a person is shown who is asked for an approval, and what that covers."""

from typing import Any

import pytest

from replaywright.domain.plan.loops import Course
from replaywright.domain.run.approvals import approved_act, shown
from replaywright.domain.step.fingerprints import content_key, fingerprint
from replaywright.domain.task.tasks import Task, parse_task
from replaywright.errors import InputInvalid

VALUES = {"iban": "DE00 1234", "amount": "12.50"}
GOTO = {"action": "goto", "url": "https://bank.example/"}
FILL = {"action": "fill", "instruction": "the IBAN field", "value": "{{iban}}"}
PIN = {"action": "fill", "instruction": "the PIN field", "value": "{{secret:PIN}}"}
PAY = {"action": "click", "instruction": "pay {{amount}}", "effect": "irreversible"}
SAVE = {"action": "click", "instruction": "save", "effect": "commit"}
APPROVE = {"action": "approve"}


def task_of(*steps: dict[str, Any]) -> Task:
    parameters = {"iban": {"type": "text"}, "amount": {"type": "text"}}
    data = {"task": "pay", "parameters": parameters, "secrets": ["PIN"], "steps": [GOTO, *steps]}
    return parse_task(data, "test")


def course_of(*steps: dict[str, Any]) -> Course:
    return Course(task_of(*steps).steps, VALUES)


def test_all_is_shown_up_to_the_first_step_with_consequences_with_values_but_no_secrets() -> None:
    course = course_of(APPROVE, FILL, PIN, PAY, FILL)

    assert shown(course, 2) == (
        "3. fill the IBAN field = DE00 1234",
        "4. fill the PIN field = {{secret:PIN}}",
        "5. click pay 12.50 (irreversible)",
    )


def test_of_a_long_way_the_end_is_shown_too() -> None:
    course = course_of(APPROVE, *[FILL] * 20, PAY)

    lines = shown(course, 2)

    assert len(lines) == 12
    assert lines[-1] == "… and 10 more, up to: 23. click pay 12.50 (irreversible)"


def test_an_approval_covers_the_next_irreversible_step_and_nothing_behind_another_commit() -> None:
    pays = course_of(APPROVE, FILL, PAY)

    assert approved_act(pays, 2) == pays.act_at(3) != ""
    assert approved_act(course_of(APPROVE, SAVE, PAY), 2) == ""
    assert approved_act(course_of(APPROVE, APPROVE, PAY), 2) == ""
    assert approved_act(course_of(APPROVE, FILL), 2) == ""


def test_an_approval_of_a_list_that_is_not_read_yet_covers_none_of_its_payments() -> None:
    each = {"action": "for_each", "item": "row", "elements": {"role": "row"}, "steps": [PAY]}

    assert approved_act(course_of(APPROVE, each), 2) == ""


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ({**APPROVE, "on_timeout": "skip"}, "nothing is approved by time"),
        ({**APPROVE, "expect": [{"url_contains": "x"}]}, "approve only asks"),
        ({**APPROVE, "within_s": 0}, "within_s"),
        ({"action": "verification_code"}, "instruction"),
        ({"action": "verification_code", "instruction": "the code", "by": "guess"}, "by"),
        ({"action": "solve_captcha", "on_timeout": "approve"}, "on_timeout"),
    ],
)
def test_a_step_for_a_person_that_is_wrong_names_its_field(step: dict[str, Any], said: str) -> None:
    with pytest.raises(InputInvalid, match=said):
        task_of(step)


def test_how_long_a_person_is_waited_for_changes_neither_fingerprint_nor_key() -> None:
    code = {"action": "verification_code", "instruction": "the code"}
    patient = {**code, "within_s": 60, "remind_every_s": 10, "on_timeout": "skip"}
    one, other = (task_of(step).steps[1] for step in (code, patient))

    assert fingerprint(one, {}, "", "") == fingerprint(other, {}, "", "")
    assert content_key("t", "https://bank.example/", one) == content_key("t", "https://bank.example/", other)
