"""What is expected of a step from the second time on: what it led to, and nothing that may be otherwise next time."""

from typing import Any

import pytest
from pydantic import TypeAdapter

from replaywright.domain.common.text import EDGE
from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.page.snapshots import Element, Snapshot
from replaywright.domain.page.targets import ElementQuery, FrameStep, Target
from replaywright.domain.predicate.predicates import (
    Exists,
    NotExists,
    TextContains,
    UrlContains,
    ValueEquals,
    meaning_of,
)
from replaywright.domain.proof.deriving import Seen, derived_from, filled_expectations, loosened
from replaywright.domain.task.steps import Step

STEPS: TypeAdapter[Step] = TypeAdapter(Step)
CLICK = STEPS.validate_python({"action": "click", "instruction": "the send button"})
VALUES = {"to": "ada@example.com", "n": "7", "note": "# Annual report\nAll is well."}
COMPOSE, SENT = "https://mail.example/compose", "https://mail.example/sent"
SEND = Target(tag="button", role="button", name="Send")


def shown(role: str, name: str, **fields: Any) -> Element:
    called, said = (name, "") if role else ("", name)
    target = Target(tag=fields.pop("tag", "p"), role=role, name=called, text=said)
    return Element(id=f"{role}-{name}", target=target, actionable=role in ("button", "link", "textbox"), **fields)


def page(*elements: Element, url: str = COMPOSE) -> Snapshot:
    return Snapshot(url=url, elements=elements)


def derived(before: Snapshot, after: Snapshot, again: Snapshot | None = None) -> list[Any]:
    seen = Seen(before=before, after=after, again=again or after)
    return [meaning_of(predicate) for predicate in derived_from(CLICK, seen, SEND, VALUES)]


BEFORE = page(shown("button", "Send"), shown("heading", "New message"))


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (SENT, "/sent"),
        ("https://mail.example/sent?id=5", "/sent"),
        ("https://mail.example/orders/18273/lines", "/orders/"),
        ("https://mail.example/to/ada@example.com", "/to/{{to}}"),
        ("https://other.example/pay", "other.example/pay"),
    ],
)
def test_another_address_is_expected_up_to_where_it_varies(url: str, expected: str) -> None:
    after = page(*BEFORE.elements, url=url)

    assert derived(BEFORE, after) == [{"url_contains": expected}]


@pytest.mark.parametrize(("other", "expected"), [("/delete/MzI=", "/delete/"), ("/delete/NQ==", "/delete/NQ==")])
def test_of_links_of_one_name_only_what_their_addresses_share_is_expected(other: str, expected: str) -> None:
    def delete(href: str) -> Element:
        link = Target(tag="a", role="link", name="Delete", attributes={"href": href})
        return Element(id=href, target=link)

    one = delete("/delete/NQ==")
    seen = Seen(before=page(one, delete(other)), after=(led := page(url="https://mail.example/delete/NQ==")), again=led)

    address, *_ = derived_from(CLICK, seen, one.target, VALUES)

    assert meaning_of(address) == {"url_contains": expected}


def test_an_address_that_differs_by_its_numbers_only_is_not_expected() -> None:
    before = page(shown("button", "Send"), url="https://mail.example/drafts/1")

    assert derived(before, page(*before.elements, url="https://mail.example/drafts/2")) == []


@pytest.mark.parametrize(
    ("appeared", "expected"),
    [
        ([shown("status", "Message sent")], {"exists": {"role": "status", "name": "Message sent"}}),
        ([shown("status", "Sent to ada@example.com")], {"exists": {"role": "status", "name": "Sent to {{to}}"}}),
        ([shown("link", "Undo"), shown("alert", "Sent")], {"exists": {"role": "alert", "name": "Sent"}}),
        ([shown("link", "Undo"), shown("heading", "Outbox")], {"exists": {"role": "heading", "name": "Outbox"}}),
        ([shown("", "Your message is on its way")], {"text_contains": "Your message is on its way"}),
    ],
)
def test_the_most_telling_element_that_appeared_is_expected(appeared: list[Element], expected: dict[str, Any]) -> None:
    after = page(*BEFORE.elements, *appeared)

    assert derived(BEFORE, after) == [{**expected, "required": False}]


@pytest.mark.parametrize(
    "appeared",
    [
        shown("status", "Sent at 12:31"),
        shown("status", "3 messages"),
        shown("status", "x" * 81),
        shown("timer", "soon"),
        shown("", "in a moment", tag="time"),
        shown("link", "Carol", group="g1", group_item=2),
        shown("status", "Hidden", visible=False),
        shown("heading", "New message"),
        Element(id="f", target=Target(role="status", name="In a frame", frame=(FrameStep(name="ad"),))),
        shown("heading", "Annual report"),  # of the note that was entered
    ],
)
def test_what_may_be_otherwise_next_time_or_was_there_before_is_not_expected(appeared: Element) -> None:
    assert derived(BEFORE, page(*BEFORE.elements, appeared)) == []


def test_what_a_second_look_does_not_find_again_is_not_expected() -> None:
    after = page(*BEFORE.elements, shown("status", "Sending"))

    assert derived(BEFORE, after, BEFORE) == []


def test_an_element_that_is_gone_since_it_was_pressed_is_expected_to_go() -> None:
    after = page(BEFORE.elements[1])

    assert derived(BEFORE, after) == [{"not_exists": {"role": "button", "name": "Send"}, "required": False}]


def test_a_page_that_did_not_change_leaves_nothing_to_expect() -> None:
    assert derived(BEFORE, BEFORE) == []


# ------------------------------------------------------------------------------------------------ of fields


def fill(value: str) -> Step:
    return STEPS.validate_python({"action": "fill", "instruction": "the recipient", "value": value})


TO = Target(tag="input", role="textbox", name="To")


@pytest.mark.parametrize(
    ("value", "holds", "target", "expected"),
    [
        ("{{to}}", "ada@example.com", TO, [{"value_equals": "{{to}}", "of": {"role": "textbox", "name": "To"}}]),
        ("{{to}}", "ADA@EXAMPLE.COM", TO, []),
        ("{{secret:PIN}}", "1234", TO, []),
        ("x", "x", TO.model_copy(update={"name": "Line 2"}), []),
        ("x", "x", TO.model_copy(update={"attributes": {"type": "password"}}), []),
    ],
)
def test_a_field_is_expected_to_hold_what_was_entered_if_it_shows_just_that(
    value: str, holds: str, target: Target, expected: list[dict[str, object]]
) -> None:
    element = Element(id="e1", target=target, value=holds)

    found = derived_from(fill(value), Seen(after=page(element)), target, VALUES)

    assert [meaning_of(predicate) for predicate in found] == [{**one, "required": False} for one in expected]


def test_a_field_that_has_a_namesake_is_not_expected_anything_of() -> None:
    after = page(*(Element(id=f"e{n}", target=TO, value="x") for n in (1, 2)))

    assert derived_from(fill("x"), Seen(after=after), TO, VALUES) == ()


# -------------------------------------------------------------------------------------------- from then on

STATUS = Exists(exists=ElementQuery(role="status", name="Sent to {{to}}"), required=False)
PATH = UrlContains(url_contains="/sent")
GONE = NotExists(not_exists=ElementQuery(role="button", name="Send"), required=False)
FIELD = ValueEquals(value_equals="{{cc}}", of=ElementQuery(name="Cc"), required=False)


def verdict(passed: bool, required: bool = False) -> PredicateResult:
    return PredicateResult(passed=passed, reason="", required=required)


def test_todays_values_are_expected_and_nothing_of_parameters_that_are_not_there() -> None:
    text = TextContains(text_contains="to {{to}}")

    assert filled_expectations((FIELD, text), VALUES) == (
        TextContains(text_contains=f"to {EDGE}ada@example.com{EDGE}"),
    )


def test_what_did_not_hold_on_a_good_run_is_given_up_and_nothing_else() -> None:
    all_of_them = (PATH, STATUS, FIELD, GONE)

    kept = loosened(all_of_them, (verdict(True, required=True), verdict(False), verdict(True)), VALUES)

    assert kept == (PATH, FIELD, GONE)
    assert loosened(all_of_them, (verdict(True), verdict(True), verdict(True)), VALUES) == all_of_them


def test_nothing_is_given_up_where_nothing_was_looked_at() -> None:
    assert loosened((PATH, STATUS), (), VALUES) == (PATH, STATUS)
