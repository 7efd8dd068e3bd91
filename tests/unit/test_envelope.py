"""What is sealed is read by who holds the key, and for what it was sealed for; by nobody else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replaywright.sealing.envelope import NotSealed, new_key, opened, sealed


@given(st.text(max_size=200))
def test_what_was_sealed_is_read_again(text: str) -> None:
    private, public = new_key()
    text = text.encode("utf-8", "replace").decode()

    assert opened(sealed(text, public, "run/1-1"), private, "run/1-1") == text


def test_the_same_text_is_sealed_differently_each_time_and_does_not_show() -> None:
    _, public = new_key()

    one, other = (sealed("123456", public, "run/1-1") for _ in range(2))

    assert one != other
    assert "123456" not in one


def test_another_key_another_question_or_a_changed_text_is_refused() -> None:
    private, public = new_key()
    stranger, _ = new_key()
    box = sealed("123456", public, "run/1-1")
    changed = box[:60] + ("A" if box[60] != "A" else "B") + box[61:]

    for told, key, about in ((box, stranger, "run/1-1"), (box, private, "run/2-2"), (changed, private, "run/1-1")):
        with pytest.raises(NotSealed):
            opened(told, key, about)


@pytest.mark.parametrize("told", ["", "AAAA", "no base64 ö", "A" * 43 + "="])
def test_what_is_no_seal_or_no_key_is_refused(told: str) -> None:
    private, _ = new_key()

    with pytest.raises(NotSealed):
        opened(told, private, "run/1-1")
    with pytest.raises(NotSealed):
        sealed("123456", told, "run/1-1")
