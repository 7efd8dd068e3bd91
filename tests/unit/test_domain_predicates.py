"""Each predicate holding and not, with its reason; and the algebra of their combinations."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from replaywright.domain.predicates import (
    URL_LIMIT,
    AllOf,
    AnyOf,
    AssertionContext,
    ElementProbe,
    ElementState,
    Not,
    Predicate,
    Probe,
    ProbeResult,
    TextProbe,
    UrlContains,
    evaluate,
    fill_predicate,
    probes_of,
    text_matches,
)
from replaywright.domain.targets import ElementQuery
from replaywright.errors import InputInvalid

ADAPTER: TypeAdapter[Any] = TypeAdapter(Predicate)
URL = "https://mail.example/inbox?page=2"
SEND = ElementQuery(role="button", name="Send")


def parse(data: object) -> Any:
    return ADAPTER.validate_python(data)


def context(*answers: tuple[Probe, ProbeResult], url: str = URL) -> AssertionContext:
    return AssertionContext(url=url, title="Inbox", probes=answers)


def elements(query: ElementQuery, *values: str) -> tuple[Probe, ProbeResult]:
    states = tuple(ElementState(role="textbox", name="To", value=value) for value in values)
    return ElementProbe(query=query), ProbeResult(count=len(values), elements=states[:3])


FOUND = elements(SEND, "")
TEXT = (TextProbe(text="Message sent"), ProbeResult(count=1))


@pytest.mark.parametrize(
    ("data", "seen", "reason"),
    [
        ({"url_contains": "/inbox"}, context(), "holds"),
        ({"url_contains": "/sent"}, context(), "url_differs"),
        ({"url_matches": r"page=\d$"}, context(), "holds"),
        ({"url_matches": r"^/inbox"}, context(), "url_differs"),
        ({"exists": {"role": "button", "name": "Send"}}, context(FOUND), "holds"),
        ({"exists": {"role": "button", "name": "Send"}}, context(), "none_found"),
        ({"not_exists": {"role": "button", "name": "Send"}}, context(), "holds"),
        ({"not_exists": {"role": "button", "name": "Send"}}, context(FOUND), "still_there"),
        ({"text_contains": "Message sent"}, context(TEXT), "holds"),
        ({"text_contains": "Message sent", "within": {"role": "status"}}, context(TEXT), "text_missing"),
        ({"value_equals": "ada", "of": {"name": "To"}}, context(elements(ElementQuery(name="To"), "ada")), "holds"),
        (
            {"value_equals": "a\nb", "of": {"name": "To"}},
            context(elements(ElementQuery(name="To"), "a\r\nb")),
            "holds",
        ),
        (
            {"value_equals": "ada", "of": {"name": "To"}},
            context(elements(ElementQuery(name="To"), "bob")),
            "value_differs",
        ),
        (
            {"value_equals": "ada", "of": {"name": "To"}},
            context(elements(ElementQuery(name="To"), "ada", "ada")),
            "ambiguous",
        ),
        ({"value_equals": "ada", "of": {"name": "To"}}, context(), "none_found"),
        ({"all_of": [{"url_contains": "/inbox"}, {"url_contains": "page"}]}, context(), "holds"),
        ({"all_of": [{"url_contains": "/inbox"}, {"url_contains": "/sent"}]}, context(), "not_all"),
        ({"any_of": [{"url_contains": "/sent"}, {"url_contains": "/inbox"}]}, context(), "holds"),
        ({"any_of": [{"url_contains": "/sent"}]}, context(), "none_holds"),
        ({"not_": {"url_contains": "/sent"}}, context(), "holds"),
        ({"not_": {"url_contains": "/inbox"}}, context(), "holds_but_must_not"),
    ],
)
def test_a_predicate_says_whether_it_holds_and_why_not(data: object, seen: AssertionContext, reason: str) -> None:
    result = evaluate(parse(data), seen)

    assert result.reason == reason
    assert result.passed == (reason == "holds")
    assert result.details["url"] == URL


@pytest.mark.parametrize(
    "data",
    [
        "url",
        {},
        {"url_contain": "/inbox"},
        {"url_contains": 5},
        {"url_contains": "a", "exists": {"role": "button"}},
        {"url_matches": "("},
        {"exists": {"roel": "button"}},
        {"exists": {}},
        {"exists": {"name": ""}},
        {"not_exists": "button"},
        {"text_contains": None},
        {"value_equals": "x"},
        {"value_equals": "x", "of": {}},
        {"all_of": {"url_contains": "a"}},
        {"any_of": []},
        {"not_": []},
        {"not_": {"url_contain": "a"}},
    ],
)
def test_a_malformed_predicate_is_refused(data: object) -> None:
    with pytest.raises(ValidationError):
        parse(data)


def test_a_miss_says_what_was_nearest() -> None:
    nearest = (ElementProbe(query=SEND), ProbeResult(count=0, nearest=('button "Send message"',)))

    result = evaluate(parse({"exists": {"role": "button", "name": "Send"}}), context(nearest))

    assert result.details["nearest"] == ('button "Send message"',)
    assert result.details["query"] == {"role": "button", "name": "Send"}


def test_a_long_url_is_cut_in_the_details_but_not_in_the_check() -> None:
    result = evaluate(parse({"url_contains": "#end"}), context(url="https://x/" + "a" * 500 + "#end"))

    assert result.passed
    assert len(result.details["url"]) == URL_LIMIT


def test_an_answer_without_its_elements_is_no_crash() -> None:
    seen = (ElementProbe(query=ElementQuery(name="To")), ProbeResult(count=1))

    assert not evaluate(parse({"value_equals": "x", "of": {"name": "To"}}), context(seen)).passed


def test_the_page_is_asked_each_question_once() -> None:
    exists, text = {"exists": {"role": "button", "name": "Send"}}, {"text_contains": "Hello"}
    predicates = [parse({"all_of": [exists, {"not_": exists}, text]}), parse(exists), parse({"url_contains": "x"})]

    assert probes_of(predicates) == (ElementProbe(query=SEND), TextProbe(text="Hello"))


def test_parameters_are_filled_everywhere_and_taken_literally_in_patterns() -> None:
    data = {
        "all_of": [
            {"url_matches": "^https://{{host}}$"},
            {"any_of": [{"text_contains": "to {{host}}", "within": {"name": "{{host}}"}}]},
            {"not_": {"value_equals": "{{host}}", "of": {"label": "{{host}}"}}},
            {"not_exists": {"text": "{{secret:P}}"}},
        ]
    }

    filled = fill_predicate(parse(data), {"host": "a.b"})

    assert ADAPTER.dump_python(filled, exclude_none=True, mode="json") == {
        "all_of": [
            {"url_matches": r"^https://a\.b$"},
            {"any_of": [{"text_contains": "to a.b", "within": {"name": "a.b"}}]},
            {"not_": {"value_equals": "a.b", "of": {"label": "a.b"}}},
            {"not_exists": {"text": "{{secret:P}}"}},
        ]
    }


def test_a_query_of_which_nothing_is_left_is_refused_and_does_not_match_everything() -> None:
    with pytest.raises(InputInvalid, match="all empty"):
        fill_predicate(parse({"exists": {"name": "{{who}}"}}), {"who": ""})


def test_texts_compare_as_a_reader_sees_them() -> None:
    assert text_matches("it’s  here", "Look: IT'S\u00a0here")
    assert not text_matches("here it", "it here")


# ------------------------------------------------------------------------------------------------ algebra

LEAVES = st.sampled_from(["/inbox", "mail", "/sent", "nothing", ""]).map(lambda text: UrlContains(url_contains=text))
PREDICATES: st.SearchStrategy[Any] = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda parts: AllOf(all_of=tuple(parts))),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: AnyOf(any_of=tuple(parts))),
        inner.map(lambda part: Not(not_=part)),
    ),
    max_leaves=8,
)


def holds(predicate: Any) -> bool:
    return evaluate(predicate, context()).passed


@settings(deadline=None)
@given(a=PREDICATES, b=PREDICATES)
def test_combinations_are_boolean_algebra(a: Any, b: Any) -> None:
    assert holds(Not(not_=a)) != holds(a)
    assert holds(AllOf(all_of=(a, b))) == (holds(a) and holds(b)) == holds(AllOf(all_of=(b, a)))
    assert holds(AnyOf(any_of=(a, b))) == (holds(a) or holds(b)) == holds(AnyOf(any_of=(b, a)))
    assert holds(Not(not_=AllOf(all_of=(a, b)))) == holds(AnyOf(any_of=(Not(not_=a), Not(not_=b))))


@settings(deadline=None)
@given(predicate=PREDICATES)
def test_a_predicate_survives_its_json(predicate: Any) -> None:
    assert parse(ADAPTER.dump_python(predicate, mode="json", exclude_none=True)) == predicate
    assert ADAPTER.validate_json(ADAPTER.dump_json(predicate)) == predicate


@settings(deadline=None)
@given(predicate=PREDICATES)
def test_filling_without_parameters_changes_nothing(predicate: Any) -> None:
    assert fill_predicate(predicate, {}) == predicate
