"""Expectations that do not hold, told in words, never as a structure of the program."""

import pytest
from pydantic import TypeAdapter

from replaywright.domain.common.text import EDGE
from replaywright.domain.page.observed import AssertionContext, ElementState, PredicateResult, ProbeResult, Response
from replaywright.domain.predicate.evaluation import evaluate
from replaywright.domain.predicate.predicates import Predicate
from replaywright.domain.predicate.unmet import unmet_message

PREDICATE: TypeAdapter[Predicate] = TypeAdapter(Predicate)
URL = "https://shop.example/cart"
FIELD = ElementState(role="textbox", name="Amount", text="", value="12", visible=True, enabled=False)


def told(data: dict[str, object], seen: ProbeResult) -> str:
    predicate = PREDICATE.validate_python(data)
    response = Response(method="POST", url=f"{URL}/pay", status=502, document=True)
    context = AssertionContext(
        url=URL,
        title="Cart",
        probes=() if predicate.probe is None else ((predicate.probe, seen),),
        responses=(response,),
        downloads=("list.csv",),
    )
    result = evaluate(predicate, context)
    assert not result.passed
    return unmet_message(result)


NONE = ProbeResult(nearest=('button "Pay later"',))
ONE = ProbeResult(count=1, in_view=0, elements=(FIELD,))


@pytest.mark.parametrize(
    ("data", "seen", "message"),
    [
        ({"url_contains": "/thanks"}, NONE, 'the address does not have "/thanks"'),
        ({"title_contains": "Thanks"}, NONE, 'the title is "Cart", without "Thanks"'),
        ({"text_contains": "Paid"}, NONE, 'the page does not say "Paid"; nearest: button "Pay later"'),
        ({"exists": {"role": "button", "name": "Pay"}}, NONE, 'the page has no button "Pay"; nearest: button'),
        (
            {"exists": {"css": ".row", "within": {"role": "table", "nth": 2}}},
            NONE,
            '".row", within (table, nth 2)',
        ),
        ({"exists": {"name_in": ["Pay", "Zahlen"]}}, NONE, 'the page has no name in "Pay" or "Zahlen"'),
        ({"not_exists": {"label": "Amount"}}, ONE, 'the page still has 1 of label "Amount"'),
        ({"visible": {"label": "Amount"}}, ONE, 'label "Amount" is out of view'),
        ({"count": {"role": "row"}, "at_least": 3}, ONE, "the page has 1 of row; expected: at least 3"),
        ({"value_equals": "13", "of": {"label": "Amount"}}, ONE, 'the field holds "12", not "13"'),
        ({"enabled": {"label": "Amount"}}, ONE, 'label "Amount" is disabled'),
        ({"downloaded": "*.pdf"}, NONE, 'no file "*.pdf" was downloaded; downloaded: "list.csv"'),
        ({"response_status": "2xx", "of": "/pay"}, NONE, 'the answer is "POST https://shop.example/cart/pay: 502"'),
        ({"dialog_seen": "Sure?"}, NONE, 'no dialog said "Sure?"; said: nothing'),
        (
            {"all_of": [{"url_contains": "/a"}, {"text_contains": "b"}]},
            NONE,
            "not all of it holds: the address",
        ),
        ({"not_": {"url_contains": "/cart"}}, NONE, "it holds, but must not"),
        ({"custom": "paid"}, NONE, 'nothing that is installed judges "paid" (there is none): install'),
    ],
)
def test_it_says_what_was_expected_and_what_was_found(data: dict[str, object], seen: ProbeResult, message: str) -> None:
    said = told(data, seen)

    assert message in said
    assert said.endswith(f"; at {URL}")
    assert not set("{}") & set(said)


def test_a_value_that_stands_only_within_words_is_told_to_be_looked_for_as_whole_words() -> None:
    def said(near: str, expected: str = f"{EDGE}oven{EDGE}") -> str:
        details = {"expected": expected, "nearest": [near]}
        return unmet_message(PredicateResult(passed=False, reason="text_missing", details=details))

    assert "; nearest: oven-1; a parameter's value is looked for as whole words" in said("oven-1")
    assert "`substring: true`" in said("oven-1")
    assert "substring" not in said("mixer-1")
    assert "substring" not in said("oven-1", "ovens")


def test_a_verdict_of_the_user_s_own_is_told_with_what_it_gives() -> None:
    own = PredicateResult(passed=False, reason="too_dear", details={"price": 12, "most": [1, 2]})
    under_our_name = PredicateResult(passed=False, reason="url_differs", details={"why": "closed"})

    assert unmet_message(own) == 'too dear: price 12, most "1", "2"'
    assert unmet_message(under_our_name) == 'url differs: why "closed"'
