"""Which identifiers say that an element is the recorded one, and which say nothing."""

from typing import Any

import pytest

from replaywright.domain.locating.identity import Identity, identities_of, identity_keys, looks_generated
from replaywright.domain.page.targets import Target


def field(**attributes: str) -> Target:
    return Target(tag="input", role="textbox", name="E-mail", attributes=attributes)


def button(**attributes: str) -> Target:
    return Target(tag="button", role="button", name="Save", attributes=attributes)


def only(recorded: Target, seen: Target) -> Identity:
    return identities_of(recorded, [seen])[0]


MADE_BY_REACT = ["_r_q_", "_R_1ab_", "«r1»", "dialog-_r_f_", "_r_f_-label", "_shop-r_k_"]


@pytest.mark.parametrize(
    "made", ["id_17", ":r3:", "x7f", "radix-menu", "mat-input", "42", "a" * 61, "a b", *MADE_BY_REACT]
)
def test_an_identifier_that_a_program_numbered_is_not_believed(made: str) -> None:
    assert looks_generated(made)


@pytest.mark.parametrize("chosen", ["email", "save-button", "user_name", "step1", "toys_r_us_", "r_q", "_r"])
def test_an_identifier_that_a_person_chose_is(chosen: str) -> None:
    assert not looks_generated(chosen)


def test_an_equal_test_id_speaks_for_an_element() -> None:
    known = only(button(**{"data-testid": "save"}), button(**{"data-testid": "save"}))

    assert known.agreeing == ("data-testid",)
    assert known.speaks_for


def test_another_test_id_speaks_against_it() -> None:
    known = only(button(**{"data-testid": "save"}), button(**{"data-testid": "send"}))

    assert known.speaks_against
    assert not known.speaks_for


def test_an_identifier_that_is_not_there_any_more_says_nothing() -> None:
    assert only(button(id="save"), button()) == Identity()


def test_identifiers_that_contradict_each_other_speak_neither_way() -> None:
    known = only(field(id="mail", name="mail"), field(id="mail", name="phone"))

    assert (known.agreeing, known.differing) == (("id",), ("name",))
    assert not known.speaks_for
    assert not known.speaks_against


def test_an_identifier_that_several_elements_have_speaks_for_none() -> None:
    twin = button(id="save")

    assert [known.speaks_for for known in identities_of(twin, [twin, twin])] == [False, False]


@pytest.mark.parametrize("now", ["userCount", "user-count", "UserCount"])
def test_an_identifier_may_be_written_otherwise(now: str) -> None:
    then, others = (Target(tag="input", role="textbox", attributes={"name": name}) for name in ("user_count", "users"))
    [seen, another] = identities_of(then, [others.model_copy(update={"attributes": {"name": now}}), others])

    assert (seen.agreeing, another.differing) == (("name",), ("name",))


def test_an_address_alone_does_not_say_which_of_the_links_it_is() -> None:
    link = Target(tag="a", role="link", name="Users", attributes={"href": "/users"})
    known = only(link, link)

    assert known.agreeing == ("href",)
    assert not known.speaks_for


@pytest.mark.parametrize(
    ("role", "attributes", "keys"),
    [
        ("textbox", {"name": "mail"}, {"name": "mail"}),
        ("radio", {"name": "size", "value": "L"}, {"name and value": "size=L"}),
        ("radio", {"name": "size"}, {}),
        ("checkbox", {"name": "news"}, {"name": "news"}),
        ("button", {"name": "action", "value": "send"}, {"name and value": "action=send"}),
        ("button", {"name": "action"}, {}),
        ("textbox", {"name": "field_4711"}, {}),
        ("button", {"id": "row3"}, {}),
        ("button", {"href": "/users"}, {}),
    ],
)
def test_what_counts_as_an_identifier_depends_on_the_kind_of_element(
    role: str, attributes: dict[str, Any], keys: dict[str, str]
) -> None:
    assert identity_keys(Target(tag="input", role=role, attributes=attributes)) == keys
