"""What a step says that met a page to sign in on."""

import pytest

from replaywright.domain.proof.signed_out import signed_out_message, signs_in
from tests.adapters.steps import STEP


@pytest.mark.parametrize(
    ("is_recorded", "said", "unsaid"),
    [
        (True, "did not when this was recorded", "{{secret:NAME}}"),
        (False, "the step before does not lead there", "recorded"),
    ],
)
def test_the_message_names_the_page_and_tells_a_recorded_step_from_a_new_one(
    is_recorded: bool, said: str, unsaid: str
) -> None:
    message = signed_out_message("https://shop.example/login", is_recorded=is_recorded)

    assert "https://shop.example/login" in message
    assert said in message
    assert unsaid not in message


OPEN = {"action": "goto", "url": "https://shop.example/orders"}
USER = {"action": "fill", "instruction": "the user name", "value": "ada"}
PASSWORD = {"action": "fill", "instruction": "the password", "value": "{{secret:PASSWORD}}"}
PRESS = {"action": "click", "instruction": "go on"}


@pytest.mark.parametrize(
    ("steps", "signing"),
    [
        ((OPEN, USER, PASSWORD, PRESS), [True, True, True, True]),
        ((OPEN, PRESS, USER, PASSWORD, PRESS, PRESS), [True, False, True, True, True, False]),
        ((OPEN, OPEN, USER, PASSWORD), [False, True, True, True]),
        ((OPEN, USER, PRESS), [False, False, False]),
    ],
)
def test_a_page_is_opened_to_sign_in_on_if_a_step_on_it_enters_a_secret(
    steps: tuple[dict[str, str], ...], signing: list[bool]
) -> None:
    plan = [STEP.validate_python(step) for step in steps]

    assert [signs_in(plan, position) for position in range(len(plan))] == signing
