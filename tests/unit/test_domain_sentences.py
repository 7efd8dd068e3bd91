"""Sentences taken apart: words of any script, and what shows itself as a value."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replaywright.domain.common.sentences import TokenKind, masked, plain, sentence_of, stands_alone


def parts(text: str) -> list[tuple[str, str]]:
    return [(token.kind.value, token.text) for token in sentence_of(text).tokens]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Delete, the file!", ["Delete", "the", "file"]),
        ("删除文件。", ["删", "除", "文", "件"]),
        ("ファイルを 削除", ["フ", "ァ", "イ", "ル", "を", "削", "除"]),
        ("खाता हटाओ कि", ["खाता", "हटाओ", "कि"]),
        ("don't touch O’Brien's", ["don't", "touch", "O’Brien's"]),
        ("Schließe e-mail and/or x", ["Schließe", "e-mail", "and/or", "x"]),
        ("удали файл", ["удали", "файл"]),
        ("می\u200cخواهم", ["می\u200cخواهم"]),
    ],
)
def test_words_are_found_in_any_script(text: str, words: list[str]) -> None:
    assert parts(text) == [("word", word) for word in words]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("'a b'", ("text", "a b")),
        ("“a b”", ("text", "a b")),
        ("„a b“", ("text", "a b")),
        ("«a b»", ("text", "a b")),
        ("「a b」", ("text", "a b")),
        ("'Ann's list'", ("text", "Ann's list")),
        ("a.b@example.co.uk.", ("email", "a.b@example.co.uk")),
        ("https://x.example/a?b=1,", ("url", "https://x.example/a?b=1")),
        ("1,234.50", ("number", "1,234.50")),
        ("５００", ("number", "５００")),
        ("-5", ("number", "-5")),
        ("2026-03-01", ("code", "2026-03-01")),
        ("10:30", ("code", "10:30")),
        ("a.txt.", ("code", "a.txt")),
        ("INV/2024-7", ("code", "INV/2024-7")),
        ("snake_case", ("code", "snake_case")),
        ("{{ to }}", ("slot", "to")),
        ("'{{to}}'", ("slot", "to")),
        ("%", ("sign", "%")),
        ("\u202e", ("sign", "\u202e")),
    ],
)
def test_values_slots_and_signs_are_told_by_their_form(text: str, found: tuple[str, str]) -> None:
    assert parts(f"x {text}")[1:] == [found]


def test_a_sign_that_joins_is_passed_over_only_where_it_joins_nothing() -> None:
    assert parts("报告.v2.pdf") == [("word", "报"), ("word", "告"), ("sign", "."), ("code", "v2.pdf")]
    assert parts("one - two") == [("word", "one"), ("word", "two")]


@pytest.mark.parametrize(("text", "asks"), [("Really?", True), ("真的？", True), ("حقا؟", True), ("say 'why?'", False)])
def test_a_question_mark_counts_outside_of_quotations(text: str, asks: bool) -> None:
    assert sentence_of(text).asks is asks


def test_case_width_and_composition_make_no_difference() -> None:
    assert plain("ＳＴＲＡẞＥ") == plain("strasse")
    assert plain("e\u0301") == plain("É")


def test_what_is_kept_of_a_sentence_has_no_values() -> None:
    text = "Send 12 EUR to bob@example.com with 'a secret' on 2026-01-01"

    assert masked(text) == "Send <number> EUR to <email> with '<text>' on <code>"


@pytest.mark.parametrize(
    ("text", "part", "alone"),
    [
        ("a cat", "cat", True),
        ("concat", "cat", False),
        ("文件cat删除", "cat", True),
        ("cats", "cat", False),
        ("x12", "12", False),
    ],
)
def test_a_part_of_a_word_does_not_stand_alone(text: str, part: str, alone: bool) -> None:
    begin = text.index(part)

    assert stands_alone(text, begin, begin + len(part)) is alone


@given(st.text(max_size=80))
def test_tokens_are_what_stands_in_the_sentence_in_order(text: str) -> None:
    tokens = sentence_of(text).tokens

    assert all(text[token.start : token.end] == token.text for token in tokens if token.kind is not TokenKind.SLOT)
    assert all(one.end <= other.start for one, other in pairwise(tokens))


@given(st.text(max_size=80))
def test_no_letter_or_digit_is_passed_over(text: str) -> None:
    tokens = sentence_of(text).tokens

    inside = [False] * len(text)
    for token in tokens:
        inside[token.start : token.end] = [True] * (token.end - token.start)
    assert all(inside[at] for at, sign in enumerate(text) if sign.isalnum())
