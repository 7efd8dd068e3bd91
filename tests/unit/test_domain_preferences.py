"""Preference rules: which element is taken instead of the model's pick, and numbers as people write them."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replaywright.domain.locating.preferences import number_in, overruled
from replaywright.domain.page.snapshots import Element, Snapshot
from replaywright.domain.page.targets import Target
from replaywright.domain.step.overrides import OverrideRule, parse_rules

SELECT = {"role": "link", "name": "Select"}


def prefer(order: str, by: str | None = None, **among: Any) -> OverrideRule:
    wanted = {"among": among or SELECT, "order": order, **({} if by is None else {"by": by})}
    return parse_rules({"rules": [{"name": "rule", "prefer": wanted}]}, "test")[0]


def page(*rows: str, **fields: Any) -> Snapshot:
    """A table with a link in each row; the row's cells stand between bars."""
    elements = [
        Element(id=f"e{number}", target=Target(role="link", name="Select", row=tuple(row.split("|"))), **fields)
        for number, row in enumerate(rows, 1)
    ]
    other = Element(id="e99", target=Target(role="button", name="Search"))
    return Snapshot(url="http://shop.example/", elements=(*elements, other))


def taken(rule: OverrideRule, snapshot: Snapshot, picked: str) -> str:
    changed = overruled((rule,), snapshot, picked)
    return picked if changed is None else changed.element.id


@pytest.mark.parametrize(("order", "expected"), [("first", "e1"), ("last", "e3"), ("lowest", "e2"), ("highest", "e3")])
def test_each_order_takes_its_own(order: str, expected: str) -> None:
    flights = page("Airline A|$412.50", "Airline B|$99", "Airline C|$1,204.00")

    assert taken(prefer(order), flights, "e1") == expected


def test_what_was_picked_and_what_was_taken_is_told() -> None:
    changed = overruled((prefer("lowest"),), page("A|$9", "B|$5"), "e1")

    assert changed is not None
    assert changed.said == 'rule rule: the model picked link "Select" (A · $9), the rule chose link "Select" (B · $5)'


def test_a_pick_that_the_rule_is_not_about_stays() -> None:
    assert overruled((prefer("first"),), page("A|$9", "B|$5"), "e99") is None
    assert overruled((prefer("first"),), page("A|$9"), "nowhere") is None


def test_a_pick_that_is_as_good_as_the_best_stays() -> None:
    assert overruled((prefer("lowest"),), page("A|$5", "B|$5.00"), "e2") is None


def test_elements_that_are_not_to_be_seen_are_no_choice() -> None:
    snapshot = page("A|$9", "B|$5")
    hidden = snapshot.elements[1].model_copy(update={"visible": False})
    snapshot = snapshot.model_copy(update={"elements": (snapshot.elements[0], hidden)})

    assert overruled((prefer("lowest"),), snapshot, "e1") is None


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        (("A|$9|$12", "B|$5"), "two amounts in a row"),
        (("A|9 €", "B|$5"), "two currencies"),
        (("A|sold out", "B|sold out"), "no amounts at all"),
        (("A|3 stars|14 rooms", "B|4 stars|2 rooms"), "two numbers in a row"),
    ],
)
def test_what_cannot_be_compared_is_left_to_the_model(rows: tuple[str, ...], why: str) -> None:
    assert overruled((prefer("lowest"),), page(*rows), "e1") is None, why


def test_a_row_without_an_amount_is_no_candidate() -> None:
    assert taken(prefer("lowest"), page("A|sold out", "B|$7", "C|$5"), "e2") == "e3"


def test_a_pattern_says_which_number_is_meant() -> None:
    rows = page("A|was $20|now $9", "B|was $12|now $11", "C|was $30|now $8.50")

    assert taken(prefer("lowest", by=r"now (\S+)"), rows, "e1") == "e3"
    assert taken(prefer("lowest", by=r"was \S+"), rows, "e1") == "e2"


def test_the_only_amount_counts_among_other_numbers_of_a_row() -> None:
    assert taken(prefer("lowest"), page("Room 2|4 beds|90 €", "Room 1|2 beds|80 €"), "e1") == "e2"


def test_cards_without_rows_are_compared_by_what_their_group_says() -> None:
    def card(number: int, price: str) -> tuple[Element, Element]:
        item: dict[str, Any] = {"group": "g1", "group_item": number}
        return (
            Element(id=f"p{number}", target=Target(tag="span", text=price), actionable=False, **item),
            Element(id=f"e{number}", target=Target(role="link", name="Select"), **item),
        )

    snapshot = Snapshot(url="http://x/", elements=(*card(1, "30 €"), *card(2, "12,50 €"), *card(3, "1.200 €")))

    assert taken(prefer("lowest"), snapshot, "e1") == "e2"
    assert taken(prefer("highest"), snapshot, "e1") == "e3"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1.234,56", "1234.56"),
        ("1,234.56", "1234.56"),
        ("1 234,50", "1234.50"),
        ("1\u202f234,50", "1234.50"),
        ("1'234.50", "1234.50"),
        ("1.234", "1234"),
        ("1,234", "1234"),
        ("1.234.567", "1234567"),
        ("12.50", "12.50"),
        ("12,5", "12.5"),
        ("0.125", "0.125"),
        ("0,999", "0.999"),
        ("1234.567", "1234.567"),
        ("−5", "-5"),
        ("7", "7"),
        ("5.", "5"),
    ],
)
def test_numbers_are_read_as_they_are_written_anywhere(text: str, number: str) -> None:
    assert number_in(text) == Decimal(number)


@pytest.mark.parametrize("text", ["", "-", "free", "12.34.56", "1,23,45", "1.23,45.6", ",5", "1,2345,678"])
def test_what_is_no_clear_number_is_none(text: str) -> None:
    assert number_in(text) is None


@given(st.integers(0, 10**9), st.integers(0, 99), st.sampled_from([",.", ".,", " ,", "'.", "\u00a0,"]))
def test_every_amount_with_cents_is_read_back(whole: int, cents: int, marks: str) -> None:
    text = f"{whole:,}".replace(",", marks[0]) + f"{marks[1]}{cents:02d}"

    assert number_in(text) == Decimal(f"{whole}.{cents:02d}")


@pytest.mark.parametrize(
    ("cheap", "dear"),
    [("1.234,56 €", "1.300 €"), ("$1,234.56", "$1,300"), ("EUR 9,90", "9.95 EUR"), ("CHF 1'100.-", "CHF 1'200.-")],
)
def test_money_is_compared_in_any_format(cheap: str, dear: str) -> None:
    assert taken(prefer("lowest"), page(f"A|{dear}", f"B|{cheap}"), "e1") == "e2"


@pytest.mark.parametrize(
    "among",
    [
        {"role": "link", "name_in": ["Choose", "SELECT"]},
        {"role": "link", "name_contains": "sel"},
        {"text": "select"},
        {"role": "link", "text_in": ["elect"]},
    ],
)
def test_elements_are_described_as_in_task_files(among: dict[str, Any]) -> None:
    assert taken(prefer("last", **among), page("A", "B"), "e1") == "e2"
