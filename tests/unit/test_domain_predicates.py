"""Each predicate holding and not, with its reason; and the algebra of their combinations."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from replaywright.domain.common.text import EDGE, contains
from replaywright.domain.page.observed import (
    AssertionContext,
    ElementProbe,
    ElementState,
    PredicateResult,
    Probe,
    ProbeResult,
    Response,
    TextProbe,
)
from replaywright.domain.page.targets import ElementQuery
from replaywright.domain.predicate.evaluation import URL_LIMIT, CustomPredicate, evaluate, failing
from replaywright.domain.predicate.predicates import (
    AllOf,
    AnyOf,
    Not,
    Predicate,
    UrlContains,
    fill_predicate,
    fill_query,
    meaning_of,
    named_parameters,
    probes_of,
)
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


def one(query: ElementQuery, **state: Any) -> tuple[Probe, ProbeResult]:
    return ElementProbe(query=query), ProbeResult(count=1, elements=(ElementState(**state),))


def answered(*statuses: int, method: str = "POST", path: str = "/save") -> AssertionContext:
    url = f"https://mail.example{path}"
    return AssertionContext(url=URL, responses=tuple(Response(method=method, url=url, status=s) for s in statuses))


FOUND = elements(SEND, "")
NEWS, AGREE = ElementQuery(role="status"), ElementQuery(label="I agree")
SEEN = (ElementProbe(query=SEND, view=True), ProbeResult(count=1, in_view=1))
HIDDEN = (ElementProbe(query=SEND, view=True), ProbeResult(count=1))
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
        ({"text_contains": "{{cc}}"}, context(), "text_missing"),
        ({"title_contains": "inbox"}, context(), "holds"),
        ({"title_contains": "Sent"}, context(), "title_differs"),
        ({"visible": {"role": "button", "name": "Send"}}, context(SEEN), "holds"),
        ({"visible": {"role": "button", "name": "Send"}}, context(HIDDEN), "out_of_view"),
        ({"visible": {"role": "button", "name": "Send"}}, context(), "none_found"),
        ({"count": {"name": "To"}, "equals": 2}, context(elements(ElementQuery(name="To"), "a", "b")), "holds"),
        ({"count": {"name": "To"}, "at_least": 3}, context(elements(ElementQuery(name="To"), "a")), "count_differs"),
        (
            {"count": {"name": "To"}, "at_least": 1, "at_most": 2},
            context(elements(ElementQuery(name="To"))),
            "count_differs",
        ),
        ({"count": {"name": "To"}, "at_most": 0}, context(), "holds"),
        ({"text_equals": "3  new", "of": {"role": "status"}}, context(one(NEWS, text="3 NEW")), "holds"),
        ({"text_equals": "3 new", "of": {"role": "status"}}, context(one(NEWS, text="13 new")), "text_differs"),
        ({"text_equals": "", "of": {"role": "status"}}, context(), "none_found"),
        ({"checked": {"label": "I agree"}}, context(one(AGREE, checked=True)), "holds"),
        ({"checked": {"label": "I agree"}}, context(one(AGREE, checked=False)), "not_checked"),
        ({"checked": {"label": "I agree"}}, context(one(AGREE)), "not_checkable"),
        ({"checked": {"label": "I agree"}}, context(), "none_found"),
        ({"enabled": {"role": "button", "name": "Send"}}, context(one(SEND)), "holds"),
        ({"enabled": {"role": "button", "name": "Send"}}, context(one(SEND, enabled=False)), "disabled"),
        ({"focused": {"role": "button", "name": "Send"}}, context(one(SEND, focused=True)), "holds"),
        ({"focused": {"role": "button", "name": "Send"}}, context(one(SEND)), "not_focused"),
        ({"downloaded": "bill-*.pdf"}, AssertionContext(url=URL, downloads=("a", "bill-7.pdf")), "holds"),
        ({"downloaded": "bill-[7].pdf"}, AssertionContext(url=URL, downloads=("bill-7.pdf",)), "not_downloaded"),
        ({"downloaded": "bill.pdf"}, context(), "not_downloaded"),
        ({"response_status": 200}, answered(200), "holds"),
        ({"response_status": "2xx"}, answered(200, 204), "holds"),
        ({"response_status": "2xx"}, answered(200, 500), "status_differs"),
        ({"response_status": "2xx"}, answered(200, method="GET"), "no_response"),
        ({"response_status": "2xx", "of": "/save"}, answered(204, method="GET"), "holds"),
        ({"response_status": "2xx", "of": "/other"}, answered(200), "no_response"),
        ({"response_status": 409, "method": "post"}, answered(409), "holds"),
        ({"response_status": "2xx"}, context(), "no_response"),
        ({"dialog_seen": "delete?"}, AssertionContext(url=URL, dialogs=("confirm: Delete? (dismissed)",)), "holds"),
        ({"dialog_seen": "Delete?"}, context(), "no_dialog"),
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
        {"title_contains": ""},
        {"visible": "button"},
        {"count": {"role": "row"}},
        {"count": {"role": "row"}, "equals": 1, "at_least": 1},
        {"count": {"role": "row"}, "at_least": 3, "at_most": 2},
        {"count": {"role": "row"}, "equals": -1},
        {"text_equals": "x"},
        {"text_equals": "x" * 2001, "of": {"role": "status"}},
        {"checked": {}},
        {"enabled": True},
        {"focused": None},
        {"downloaded": ""},
        {"response_status": 99},
        {"response_status": "2x"},
        {"response_status": True},
        {"response_status": 200, "method": "GET /x"},
        {"dialog_seen": ""},
        {"custom": "no name"},
        {"custom": "x", "args": {}},
        {"url_contains": "a", "within_ms": -1},
        {"url_contains": "a", "required": "maybe"},
        {"not_": {"url_contains": "a", "required": False}},
        {"all_of": [{"url_contains": "a", "within_ms": 5}]},
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
            {"any_of": [{"text_contains": f"to {EDGE}a.b{EDGE}", "within": {"name": "a.b"}}]},
            {"not_": {"value_equals": "a.b", "of": {"label": "a.b"}}},
            {"not_exists": {"text": "{{secret:P}}"}},
        ]
    }


def test_a_query_of_which_nothing_is_left_is_refused_and_does_not_match_everything() -> None:
    with pytest.raises(InputInvalid, match="all empty"):
        fill_predicate(parse({"exists": {"name": "{{who}}"}}), {"who": ""})


def test_texts_compare_as_a_reader_sees_them() -> None:
    assert contains("Look: IT'S\u00a0here", "it’s  here")
    assert not contains("it here", "here it")


@pytest.mark.parametrize(
    ("template", "text", "holds"),
    [
        ("order {{n}}", "order 12 was placed", True),
        ("order {{n}}", "order 123 was placed", False),
        ("{{n}} orders", "12 orders", True),
        ("{{n}} orders", "412 orders", False),
        ("{{n}}", "order 312, order 12", True),
        ("Order{{n}}", "my preorder12", True),
        ("no {{n}}.", "no 12.", True),
        ("{{name}}", "joann@x.example", False),
        ("{{name}}", "ann@x.example", True),
        ("{{name}}", "ann_b", False),
        ("Received {{name}}", "Received ann-b", False),
        ("{{name}}", "jo-ann", False),
        ("{{name}}", "jo\u2011ann", False),
        ("{{name}}", "jo\u2013ann", True),
        ("{{name}}", "ann - b", True),
        ("{{name}}", "to ann-, b", True),
        ("{{n}}", "12.50", False),
        ("{{n}}", "1,12", False),
        ("{{n}}", "12. Ann", True),
        ("{{n}}", "12,Ann", True),
        ("{{word}}", "这是一封测试邮件", True),
        ("第{{n}}号", "第12号", True),
        ("order 1", "order 123", True),
    ],
)
def test_values_of_parameters_are_found_as_whole_words(template: str, text: str, holds: bool) -> None:
    values = {"n": "12", "name": "ann", "word": "测试邮件"}
    said = AssertionContext(url=f"https://x.example/{text}", title=text, dialogs=(text,))

    for kind in ("title_contains", "dialog_seen", "url_contains"):
        filled = fill_predicate(parse({kind: template}), values)
        if kind != "url_contains" or template in ("{{n}}", "{{name}}"):
            assert evaluate(filled, said).passed is holds, kind


def test_values_are_found_inside_of_words_where_the_author_says_so() -> None:
    said = AssertionContext(url=URL, title="order 123")
    filled = fill_predicate(parse({"title_contains": "order {{n}}", "substring": True}), {"n": "12"})

    assert evaluate(filled, said).passed


def test_a_query_s_own_text_is_whole_words_where_the_author_says_so() -> None:
    filled = fill_query(ElementQuery(role="row", text="Customer 4", substring=False), {})

    assert [contains(text, filled.text or "") for text in ("4 Customer 4 Bern", "Customer 40")] == [True, False]


def test_a_message_shows_a_value_as_it_was_given() -> None:
    result = evaluate(fill_predicate(parse({"title_contains": "order {{n}}"}), {"n": "12"}), context())

    assert result.details["expected"] == "order 12"


def test_a_text_of_which_nothing_is_left_is_in_every_page_and_not_asked_for() -> None:
    filled = fill_predicate(parse({"text_contains": "{{cc}}"}), {"cc": ""})

    assert probes_of([filled]) == ()
    assert evaluate(filled, context()).passed


def test_what_is_not_required_is_told_with_its_verdict() -> None:
    result = evaluate(parse({"url_contains": "/sent", "required": False}), context())

    assert (result.passed, result.required, result.fails) == (False, False, False)
    assert failing([result]) is None
    assert failing([result, evaluate(parse({"url_contains": "/sent"}), context())]) is not None


def test_how_long_a_predicate_is_waited_for_is_no_part_of_its_meaning() -> None:
    plain, patient = parse({"url_contains": "a"}), parse({"url_contains": "a", "within_ms": 9000, "required": True})

    assert meaning_of(plain) == meaning_of(patient) == {"url_contains": "a"}
    assert meaning_of(parse({"url_contains": "a", "required": False})) != meaning_of(plain)


def test_parameters_are_found_at_any_depth() -> None:
    nested = parse({"any_of": [{"not_": {"text_contains": "to {{to}}", "within": {"name": "{{where}}"}}}]})

    assert named_parameters(nested) == {"to", "where"}
    assert named_parameters(parse({"text_contains": "Sent {{secret:X}}"})) == frozenset()


# ----------------------------------------------------------------------------------------- of the user's own


def is_long(seen: AssertionContext, found: ProbeResult, arguments: Mapping[str, Any]) -> bool:
    return bool(len(seen.title) + found.count > arguments["at_least"])


def own_verdict(_seen: AssertionContext, _found: ProbeResult, _arguments: Mapping[str, Any]) -> PredicateResult:
    return PredicateResult(passed=False, reason="own_reason", details={"n": 1})


CUSTOM: dict[str, CustomPredicate] = {"is_long": is_long, "own": own_verdict}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ({"custom": "is_long", "arguments": {"at_least": 5}, "of": {"role": "button", "name": "Send"}}, "holds"),
        ({"custom": "is_long", "arguments": {"at_least": 50}}, "custom_differs"),
        ({"custom": "is_long"}, "custom_failed"),
        ({"custom": "own"}, "own_reason"),
        ({"custom": "unheard_of"}, "custom_unknown"),
    ],
)
def test_a_custom_predicate_is_a_function_over_what_was_observed(data: object, reason: str) -> None:
    assert evaluate(parse(data), context(FOUND), CUSTOM).reason == reason


def test_a_custom_predicate_that_fails_says_how_and_what_is_installed() -> None:
    failed = evaluate(parse({"custom": "is_long"}), context(), CUSTOM)
    unknown = evaluate(parse({"custom": "is_lon"}), context(), CUSTOM)

    assert failed.details["error"] == "KeyError: 'at_least'"
    assert unknown.details["installed"] == "is_long, own"


# ------------------------------------------------------------------------------------------------ algebra


@pytest.mark.parametrize("seen", [context(), context(elements(ElementQuery(name="To"), "a", "b"))])
@pytest.mark.parametrize(
    "data",
    [
        {"value_equals": "a", "of": {"name": "To"}},
        {"text_equals": "a", "of": {"name": "To"}},
        {"checked": {"name": "To"}},
        {"enabled": {"name": "To"}},
        {"focused": {"name": "To"}},
        {"all_of": [{"url_contains": "/inbox"}, {"checked": {"name": "To"}}]},
        {"any_of": [{"url_contains": "/sent"}, {"checked": {"name": "To"}}]},
        {"custom": "unheard_of"},
    ],
)
def test_the_opposite_of_what_cannot_be_told_does_not_hold_either(data: object, seen: AssertionContext) -> None:
    told, opposite = evaluate(parse(data), seen), evaluate(parse({"not_": data}), seen)

    assert (told.passed, told.decided) == (opposite.passed, opposite.decided) == (False, False)


def test_what_is_decided_by_the_other_part_is_decided() -> None:
    unknown, false, true = {"checked": {"name": "To"}}, {"url_contains": "/sent"}, {"url_contains": "/inbox"}

    assert evaluate(parse({"not_": {"all_of": [unknown, false]}}), context()).passed
    assert evaluate(parse({"any_of": [unknown, true]}), context()).passed


LEAVES = st.sampled_from(["/inbox", "mail", "/sent", "nothing", "page"]).map(
    lambda text: UrlContains(url_contains=text)
)
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
    return bool(evaluate(predicate, context()).passed)


@given(a=PREDICATES, b=PREDICATES)
def test_combinations_are_boolean_algebra(a: Any, b: Any) -> None:
    assert holds(Not(not_=a)) != holds(a)
    assert holds(AllOf(all_of=(a, b))) == (holds(a) and holds(b)) == holds(AllOf(all_of=(b, a)))
    assert holds(AnyOf(any_of=(a, b))) == (holds(a) or holds(b)) == holds(AnyOf(any_of=(b, a)))
    assert holds(Not(not_=AllOf(all_of=(a, b)))) == holds(AnyOf(any_of=(Not(not_=a), Not(not_=b))))


@given(predicate=PREDICATES)
def test_a_predicate_survives_its_json(predicate: Any) -> None:
    assert parse(ADAPTER.dump_python(predicate, mode="json", exclude_none=True)) == predicate
    assert ADAPTER.validate_json(ADAPTER.dump_json(predicate)) == predicate


@given(predicate=PREDICATES)
def test_filling_without_parameters_changes_nothing(predicate: Any) -> None:
    assert fill_predicate(predicate, {}) == predicate
