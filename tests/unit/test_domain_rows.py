"""Whether two rows are the same: by what they say, wherever they stand."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replaywright.domain.common.text import tokens
from replaywright.domain.locating.rows import same_row

INVOICE = ("Invoice 12", "ACME", "open", "EUR")


@pytest.mark.parametrize(
    ("recorded", "seen"),
    [
        (("Ann",), ("Ann-Marie", "ann-marie@example.com", "admin")),
        (("Ann",), ("Ann Smith", "admin")),
        (("Ann", "Berlin"), ("Ann-Marie", "Berlin")),
        (("Invoice 12",), ("Invoice 123", "ACME")),
        (INVOICE, ("Invoice 123", "ACME", "open", "EUR")),
        (("open", "Invoice 12", "ACME", "EUR"), ("open", "Invoice 123", "ACME", "EUR")),
        (("ACME", "1204", "open", "EUR", "paid by card"), ("ACME", "1205", "open", "EUR", "paid by card")),
        (("Bob", "a@example.com", "admin", "Berlin"), ("Bob", "b@example.com", "admin", "Berlin")),
        (("Alexander", "admin"), ("Alexandra", "admin")),
        (("Invoice 7", "open"), ("Invoice 8", "open")),
        (("█ Choir [calendar]",), ("Choir 2", "Calendar")),
        (("-12 [open]",), ("12", "open")),
        (("10:30",), ("11:00",)),
        (("Soup",), ("Soup 4",)),
        (("Soup",), ("4 Soups",)),
        (("2. Soup",), ("4. Soup",)),
        (("Ann", "3 days ago"), ("Bob", "3 days ago")),
    ],
)
def test_a_row_that_shares_words_with_the_recorded_one_is_another(
    recorded: tuple[str, ...], seen: tuple[str, ...]
) -> None:
    assert not same_row(recorded, seen)


@pytest.mark.parametrize(
    ("recorded", "seen"),
    [
        (INVOICE, ("EUR", "open", "Invoice 12", "ACME")),
        (INVOICE, (*INVOICE, "Anna", "net 30")),
        (("Ann",), ("3", "Ann", "admin")),
        (("Invoice 7", "Ada Lovelace", "3 days ago"), ("Invoice 7", "Ada Lovelace", "4 days ago")),
        (("Soup",), ("4. Soup", "1 trial")),
        (("Soup",), ("Soup #12",)),
        (("Soup",), ("#12 Soup",)),
        (("19s ago",), ("about a minute ago",)),
        (("vor 2 Stunden",), ("3 小时前",)),
        (("Invoice 7", "ACME Ltd", "open"), ("INVOICE 7", "ACME Ltd", "paid")),
        (("To",), ("An",)),
        (("A text that was cut off in the middle because it is a whole p…",), ("Another",)),
        ((), ("Ann",)),
    ],
)
def test_a_row_is_the_same_with_other_columns_other_order_and_a_newer_date(
    recorded: tuple[str, ...], seen: tuple[str, ...]
) -> None:
    assert same_row(recorded, seen)


@pytest.mark.parametrize(
    ("recorded", "seen"),
    [
        (("Groups", "Add", "Change"), ("Groups", "Add Change")),
        (("Sign in by password:", "Yes No"), ("Sign in by password: Yes No",)),
        (("Ada Lovelace", "Edit"), ("Ada", "Lovelace", "Edit")),
        (("█ Choir [calendar]", "12 songs"), ("Choir", "(Calendar)", "12 songs")),
    ],
)
def test_cells_that_a_layout_joins_or_parts_are_the_same_row(recorded: tuple[str, ...], seen: tuple[str, ...]) -> None:
    assert same_row(recorded, seen, tokens("Add"))
    assert same_row(seen, recorded, tokens("Add"))


@pytest.mark.parametrize(
    ("recorded", "seen"),
    [(("Ann", "admin"), ("Ann Lee", "admin")), (("Invoice 12", "open"), ("Invoice 12 3", "open"))],
)
def test_a_cell_to_which_words_came_that_no_cell_had_is_another(
    recorded: tuple[str, ...], seen: tuple[str, ...]
) -> None:
    assert not same_row(recorded, seen)
    assert not same_row(seen, recorded)


def test_the_words_of_the_control_itself_do_not_tell_rows_apart() -> None:
    own = tokens("Edit")

    assert same_row(("Ann", "Edit"), ("Ann", "Edit", "admin"), own)
    assert not same_row(("Ann", "Edit"), ("Ben", "Edit"), own)


@given(st.lists(st.text(max_size=12), max_size=6), st.randoms())
def test_every_row_is_itself_in_any_order(row: list[str], random: Random) -> None:
    shuffled = list(row)
    random.shuffle(shuffled)

    assert same_row(row, shuffled)


def test_signs_around_a_text_do_not_make_it_another() -> None:
    assert same_row(("Ann", "admin", "open"), ("ann:", "Admin *", "› open"))
    assert not same_row(("C++", "language"), ("C#", "language"))
