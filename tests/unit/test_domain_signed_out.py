"""What a step says that met a page to sign in on."""

import pytest

from replaywright.domain.proof.signed_out import signed_out_message


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
