"""Values in what was read from a picture."""

import pytest

from replaywright.domain.secrets.drawn import DrawnLine, folded, showing


def line(text: str, x: float = 0, y: float = 0, certainty: float = 0.99) -> DrawnLine:
    return DrawnLine(text, certainty, ((x, y), (x + 100, y), (x + 100, y + 20), (x, y + 20)))


def column(*texts: str) -> list[DrawnLine]:
    return [line(text, y=30 * at) for at, text in enumerate(texts)]


@pytest.mark.parametrize(
    "read",
    [
        "hunter2-Zx9q",
        "Password: HUNTER2 ZX9Q!",
        "hunterz-2x9g",
        "huntcr2-Zx9q",
        "hunter2Zx9",
        "h u n t e r 2 - Z x 9 q",
        "the hunter2",
    ],
)
def test_a_value_is_found_with_mistakes_of_reading_and_in_part(read: str) -> None:
    assert showing(column("Sign in here", read, "Forgotten it?"), ["hunter2-Zx9q"]) == {1}


@pytest.mark.parametrize("read", ["Order 1234 of today", "hunt the zebra", "The quick brown fox", "12.5 kg", ""])
def test_other_text_is_not_hidden(read: str) -> None:
    assert not showing(column(read), ["hunter2-Zx9q", "DE89 3704 0044 0532 0130 00"])


def test_a_value_in_groups_across_a_row_is_found() -> None:
    groups = ["DE89", "3704", "0044", "0532", "0130", "00"]
    lines = [line(group, x=150 * at, y=3 * (at % 2)) for at, group in enumerate(groups)]

    assert showing([line("Account", y=-60), *lines, line("Balance", y=60)], [" ".join(groups)]) == set(range(1, 7))


def test_a_value_down_one_of_two_columns_is_found() -> None:
    left = [line(text, y=30 * at) for at, text in enumerate(["tok", "en4", "7aq", "zxw"])]
    right = [line(text, x=300, y=30 * at) for at, text in enumerate(["some words", "are here", "and there", "too"])]

    assert showing([*left, *right], ["token47aqzxw"]) == {0, 1, 2, 3}


def test_what_is_not_read_surely_is_hidden() -> None:
    assert showing([line("xx", certainty=0.3), line("clear text", y=40)], ["hunter2-Zx9q"]) == {0}


@pytest.mark.parametrize(("value", "hidden"), [("7", {0}), ("a7", set()), ("#!", {2})])
def test_short_values_are_found_as_words(value: str, hidden: set[int]) -> None:
    assert showing(column("Room 7 is free", "77 rooms", "so #! there"), [value]) == hidden


def test_letters_that_look_alike_are_the_same() -> None:
    assert folded("O0 lI1| rn S5 B8") == folded("0O i1l! m 5s 8b")
