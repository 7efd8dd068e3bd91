"""Filling templates is one pass, in both directions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replaywright.domain.common.templates import (
    fill,
    fill_canonical,
    generalise,
    malformed_in,
    parameters_in,
    secrets_in,
)
from replaywright.errors import InputInvalid

NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)
TEXT = st.text(max_size=30)
TRICKY = st.one_of(TEXT, st.sampled_from(["{{a}}", "{{secret:P}}", "{{ a }}", "}}{{", "\\1", "\\g<0>"]))


def test_parameters_and_secrets_are_told_apart() -> None:
    text = "{{to}} {{ subject }} {{secret:PASSWORD}} {{ secret: PIN }} {not} {{no-name}}"

    assert parameters_in(text) == {"to", "subject"}
    assert secrets_in(text) == {"PASSWORD", "PIN"}


@given(value=TRICKY, before=TEXT.filter(lambda text: "{" not in text))
def test_a_value_is_never_read_as_a_template(value: str, before: str) -> None:
    filled = fill(before + "{{a}}", {"a": value, "b": "no"}, secret=lambda name: f"<{name}>")

    assert filled == before + value


def test_a_parameter_cannot_reach_a_secret() -> None:
    assert fill("{{a}}", {"a": "{{secret:PASSWORD}}"}, secret=lambda _: "hunter2") == "{{secret:PASSWORD}}"


def test_secrets_stay_references_until_they_are_asked_for() -> None:
    assert fill("{{secret:P}}", {}) == "{{secret:P}}"
    assert fill("{{secret:P}}", {}, secret=str.lower) == "p"


def test_a_missing_value_says_how_to_give_it() -> None:
    with pytest.raises(InputInvalid, match=r"'to' has no value; pass it with --param to="):
        fill("{{to}}", {})


@given(value=TRICKY)
def test_what_looks_like_a_secret_and_a_secret_differ_in_the_canonical_form(value: str) -> None:
    real = fill_canonical("{{secret:P}}", {})

    assert real != fill_canonical("{{a}}", {"a": value})
    assert real == ["", {"secret": "P"}, ""]


def test_the_canonical_form_without_secrets_is_the_text() -> None:
    assert fill_canonical("to {{a}}", {"a": "x"}) == "to x"


def test_values_become_names_longest_first() -> None:
    values = {"first": "Ada", "full": "Ada Lovelace"}

    assert generalise("Ada Lovelace, Ada", values, values) == "{{full}}, {{first}}"


def test_a_name_that_was_put_in_is_not_searched_for_values() -> None:
    values = {"subject": "Minutes of Monday", "word": "subject"}

    assert generalise("Minutes of Monday", values, values) == "{{subject}}"


def test_short_values_stand_for_themselves() -> None:
    assert generalise("to do", {"to": "to"}, ["to"]) == "to do"


def test_a_short_value_of_a_naming_parameter_is_replaced_as_a_word_of_its_own() -> None:
    values = {"n": "3", "sign": "+"}

    assert generalise("Tab #3 of 13: 3rd +1", values, [], ["n", "sign"]) == "Tab #{{n}} of 13: 3rd {{sign}}1"
    assert generalise("Part 3 of A-3-b, 3.50", values, [], ["n"]) == "Part {{n}} of A-3-b, 3.50"


@given(
    values=st.dictionaries(NAMES, st.text(st.characters(exclude_characters="{}"), max_size=12), max_size=4),
    text=st.text(st.characters(exclude_characters="{}"), max_size=40),
)
def test_filling_undoes_generalising(values: dict[str, str], text: str) -> None:
    whole = text + "".join(values.values()) + text

    assert fill(generalise(whole, values, values), values) == whole
    assert fill(generalise(whole, values, (), values), values) == whole


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{{to}} and {{secret:P}}", None),
        ('{"a": {"b": {}}}', None),
        ("{{to-name}}", "{{to-name}}"),
        ("{{secrt:P}}", "{{secrt:P}}"),
        ("{{}}", "{{}}"),
    ],
)
def test_what_was_meant_as_a_template_and_is_none_is_noticed(text: str, found: str | None) -> None:
    assert malformed_in(text) == found
