"""Verdicts on predicates: pure functions of observations.

A predicate holds, does not hold, or is undecided (no element or several match its query). An undecided predicate does
not pass, and neither does its negation.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, TypeAlias

from replaywright.domain.common import expressions
from replaywright.domain.common.text import contains, found_whole, normalise, shorten, unmarked
from replaywright.domain.page.observed import (
    SAFE_METHODS,
    AssertionContext,
    ElementProbe,
    ElementState,
    PredicateResult,
    ProbeResult,
)
from replaywright.domain.page.targets import ElementQuery
from replaywright.domain.predicate.predicates import (
    TEXT_LIMIT,
    AllOf,
    AnyOf,
    Checked,
    Count,
    Custom,
    DialogSeen,
    Downloaded,
    Enabled,
    Exists,
    Focused,
    Not,
    NotExists,
    Predicate,
    ResponseStatus,
    TextContains,
    TextEquals,
    TitleContains,
    UrlContains,
    UrlMatches,
    ValueEquals,
    Visible,
)

URL_LIMIT = 200
"""Characters of a URL or text in the details."""
_LISTED = 3
"""Items of a list in the details."""

CustomPredicate: TypeAlias = Callable[[AssertionContext, ProbeResult, Mapping[str, Any]], "PredicateResult | bool"]
"""A user's own pure condition: context, the elements that `of` names, arguments."""


def evaluate(
    predicate: Predicate, context: AssertionContext, custom: Mapping[str, CustomPredicate] | None = None
) -> PredicateResult:
    """Return the verdict on `predicate` in `context`; the content of a page never raises.

    `custom` has the functions for predicates of the kind `custom`, by name.
    """
    result = _evaluated(predicate, context, custom or {})
    details = {**result.details, "url": context.url[:URL_LIMIT]}
    return result.model_copy(update={"details": details, "required": predicate.is_required})


def _evaluated(
    predicate: Predicate, context: AssertionContext, custom: Mapping[str, CustomPredicate]
) -> PredicateResult:
    match predicate:
        case AllOf() | AnyOf() | Not():
            return _combined(predicate, context, custom)
        case UrlContains() | UrlMatches() | TitleContains():
            return _of_address(predicate, context)
        case Downloaded() | ResponseStatus() | DialogSeen():
            return _of_step(predicate, context)
        case Custom():
            return _custom(predicate, context, custom)
        case _:
            probe = predicate.probe
            return _of_page(predicate, ProbeResult() if probe is None else context.answer(probe))


def _combined(
    predicate: AllOf | AnyOf | Not, context: AssertionContext, custom: Mapping[str, CustomPredicate]
) -> PredicateResult:
    match predicate:
        case AllOf(all_of=parts):
            results = [_evaluated(part, context, custom) for part in parts]
            failed = [result for result in results if not result.passed]
            decided = not failed or any(result.decided for result in failed)
            return _verdict(not failed, "not_all", decided=decided, failed=[_brief(result) for result in failed])
        case AnyOf(any_of=parts):
            results = [_evaluated(part, context, custom) for part in parts]
            passed = any(result.passed for result in results)
            decided = passed or all(result.decided for result in results)
            return _verdict(passed, "none_holds", decided=decided, failed=[_brief(result) for result in results])
        case Not(not_=part):
            inner = _evaluated(part, context, custom)
            if not inner.decided:
                return _verdict(False, inner.reason, decided=False, **inner.details)
            return _verdict(not inner.passed, "holds_but_must_not", inner=_brief(inner))


def _of_address(predicate: UrlContains | UrlMatches | TitleContains, context: AssertionContext) -> PredicateResult:
    match predicate:
        case UrlContains(url_contains=text):
            return _verdict(found_whole(context.url, unmarked(text), text), "url_differs", expected=text)
        case UrlMatches(url_matches=pattern):
            return _url_matches(pattern, context.url)
        case TitleContains(title_contains=text):
            title = shorten(context.title, URL_LIMIT)
            return _verdict(contains(context.title, text), "title_differs", expected=text, actual=title)


def _url_matches(pattern: str, url: str) -> PredicateResult:
    try:
        return _verdict(expressions.found_in(pattern, url), "url_differs", expected=pattern)
    except expressions.Unusable as exc:
        shown = shorten(pattern, URL_LIMIT)
        return _verdict(False, "pattern_unusable", decided=False, expected=shown, error=shorten(str(exc), URL_LIMIT))


def _of_page(predicate: Predicate, seen: ProbeResult) -> PredicateResult:  # noqa: PLR0911 - one case a kind
    match predicate:
        case Exists(exists=query):
            return _verdict(seen.count > 0, "none_found", **_searched(query, seen))
        case NotExists(not_exists=query):
            return _verdict(seen.count == 0, "still_there", query=_shown(query), count=seen.count)
        case Visible(visible=query):
            why = "out_of_view" if seen.count else "none_found"
            return _verdict(seen.in_view > 0, why, in_view=seen.in_view, **_searched(query, seen))
        case Count(count=query):
            return _count(predicate, query, seen)
        case TextContains(text_contains=text):
            holds = seen.count > 0 or not text
            return _verdict(holds, "text_missing", expected=shorten(text, URL_LIMIT), nearest=seen.nearest)
        case TextEquals(text_equals=text, of=query):
            return _of_one(query, seen, lambda one: _text_equals(text, one.text))
        case ValueEquals(value_equals=text, of=query):
            return _of_one(query, seen, lambda one: _value_equals(text, one.value))
        case Checked(checked=query):
            return _of_one(query, seen, lambda one: _checked(query, one))
        case Enabled(enabled=query):
            return _of_one(query, seen, lambda one: _verdict(one.enabled, "disabled", query=_shown(query)))
        case Focused(focused=query):
            return _of_one(query, seen, lambda one: _verdict(one.focused, "not_focused", query=_shown(query)))
        case _:
            raise AssertionError(f"no condition on a page: {predicate!r}")


def _of_one(
    query: ElementQuery, seen: ProbeResult, judge: Callable[[ElementState], PredicateResult]
) -> PredicateResult:
    """Return the verdict on the one matching element; undecided unless exactly one matches."""
    if seen.count == 1 and seen.elements:
        return judge(seen.elements[0])
    return _verdict(False, "ambiguous" if seen.count else "none_found", decided=False, **_searched(query, seen))


def _count(predicate: Count, query: ElementQuery, seen: ProbeResult) -> PredicateResult:
    low = predicate.equals if predicate.equals is not None else predicate.at_least
    high = predicate.equals if predicate.equals is not None else predicate.at_most
    holds = (low is None or seen.count >= low) and (high is None or seen.count <= high)
    wanted = {"equals": predicate.equals, "at_least": predicate.at_least, "at_most": predicate.at_most}
    expected = {name: number for name, number in wanted.items() if number is not None}
    return _verdict(holds, "count_differs", expected=expected, **_searched(query, seen))


def _checked(query: ElementQuery, one: ElementState) -> PredicateResult:
    if one.checked is None:
        return _verdict(False, "not_checkable", decided=False, query=_shown(query), role=one.role)
    return _verdict(one.checked, "not_checked", query=_shown(query))


def _text_equals(text: str, actual: str) -> PredicateResult:
    same = normalise(actual) == normalise(text)[:TEXT_LIMIT]
    return _verdict(same, "text_differs", expected=shorten(text, URL_LIMIT), actual=shorten(actual, URL_LIMIT))


def _value_equals(text: str, actual: str) -> PredicateResult:
    same = _lines(actual) == _lines(text)
    return _verdict(same, "value_differs", expected=shorten(text, URL_LIMIT), actual=shorten(actual, URL_LIMIT))


def _lines(value: str) -> str:
    return value.replace("\r\n", "\n")


# ------------------------------------------------------------------------------------------ the step


def _of_step(predicate: Downloaded | ResponseStatus | DialogSeen, context: AssertionContext) -> PredicateResult:
    match predicate:
        case Downloaded(downloaded=pattern):
            wanted = re.sub(r"[\[?]", lambda special: f"[{special[0]}]", pattern)  # only the star is special
            holds = any(fnmatchcase(name, wanted) for name in context.downloads)
            return _verdict(holds, "not_downloaded", expected=pattern, actual=list(context.downloads[:_LISTED]))
        case DialogSeen(dialog_seen=text):
            holds = any(contains(dialog, text) for dialog in context.dialogs)
            return _verdict(holds, "no_dialog", expected=text, actual=list(context.dialogs[:_LISTED]))
        case ResponseStatus():
            return _response_status(predicate, context)


def _response_status(predicate: ResponseStatus, context: AssertionContext) -> PredicateResult:
    named = predicate.of is not None or predicate.method is not None
    asked = [
        response
        for response in context.responses
        if (predicate.of is None or predicate.of in response.url)
        and (predicate.method is None or predicate.method == response.method)
        and (named or response.document or response.method not in SAFE_METHODS)
    ]
    wanted = re.compile(predicate.response_status.replace("x", r"\d"))
    others = [response for response in asked if not wanted.fullmatch(str(response.status))]
    shown = [f"{response.method} {response.url}: {response.status}" for response in (others or asked)[:_LISTED]]
    why = "status_differs" if asked else "no_response"
    return _verdict(bool(asked) and not others, why, expected=predicate.response_status, actual=shown)


# ------------------------------------------------------------------------------------------------- user functions


def _custom(predicate: Custom, context: AssertionContext, custom: Mapping[str, CustomPredicate]) -> PredicateResult:
    judge = custom.get(predicate.custom)
    if judge is None:
        known = ", ".join(sorted(custom)) or "none"
        remedy = "install the distribution that offers it on the worker, in the group replaywright.predicates"
        return _verdict(False, "custom_unknown", decided=False, custom=predicate.custom, installed=known, remedy=remedy)
    seen = ProbeResult() if predicate.of is None else context.answer(ElementProbe(query=predicate.of))
    try:
        verdict = judge(context, seen, predicate.arguments)
    except Exception as exc:  # noqa: BLE001 - user code: its failure is its verdict
        error = shorten(f"{type(exc).__name__}: {exc}", URL_LIMIT)
        return _verdict(False, "custom_failed", decided=False, custom=predicate.custom, error=error)
    if isinstance(verdict, PredicateResult):
        return verdict
    return _verdict(verdict is True, "custom_differs", custom=predicate.custom)


# ----------------------------------------------------------------------------------------------------- verdicts


def _verdict(passed: bool, why_not: str, *, decided: bool = True, **details: Any) -> PredicateResult:
    shown = {name: unmarked(value) if isinstance(value, str) else value for name, value in details.items()}
    return PredicateResult(passed=passed, reason="holds" if passed else why_not, details=shown, decided=decided)


def _searched(query: ElementQuery, seen: ProbeResult) -> dict[str, Any]:
    return {"query": _shown(query), "count": seen.count, "nearest": seen.nearest}


def _shown(query: ElementQuery) -> dict[str, str]:
    shown: dict[str, str] = json.loads(unmarked(query.model_dump_json(exclude_none=True)))
    return shown


def _brief(result: PredicateResult) -> dict[str, Any]:
    return {"passed": result.passed, "reason": result.reason, **result.details}


def failing(results: Sequence[PredicateResult]) -> PredicateResult | None:
    """Return the first verdict that fails a step or task; None if all pass."""
    return next((result for result in results if result.fails), None)
