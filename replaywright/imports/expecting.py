"""Assertions of a Playwright script (`expect(…).to_…`) as predicates."""

import re
from collections.abc import Callable, Mapping
from typing import Final

from pydantic import ValidationError

from replaywright.domain.page.targets import ElementQuery
from replaywright.domain.predicate.predicates import (
    Checked,
    Count,
    Enabled,
    Exists,
    Focused,
    Not,
    NotExists,
    Predicate,
    TextContains,
    TextEquals,
    TitleContains,
    UrlContains,
    UrlMatches,
    ValueEquals,
)
from replaywright.imports.locators import Locator, Pattern, Value

_PLAIN: Final[Mapping[str, Callable[[ElementQuery], Predicate]]] = {
    "to_be_visible": lambda query: Exists(exists=query),
    "to_be_in_viewport": lambda query: Exists(exists=query),
    "to_be_attached": lambda query: Exists(exists=query, in_dom=True),
    "to_be_hidden": lambda query: NotExists(not_exists=query),
    "to_be_checked": lambda query: Checked(checked=query),
    "to_be_enabled": lambda query: Enabled(enabled=query),
    "to_be_disabled": lambda query: Not(not_=Enabled(enabled=query)),
    "to_be_focused": lambda query: Focused(focused=query),
    "to_be_empty": lambda query: ValueEquals(value_equals="", of=query),
}


def predicate_of(
    subject: Locator, assertion: str, first: Value, named: Mapping[str, Value]
) -> tuple[Predicate | None, str]:
    """Return the predicate that says the same, or None and why there is none."""
    positive = assertion.removeprefix("not_")
    if subject.why:
        return None, f"its element is not described: {subject.why}"
    try:
        query = subject.query
        found = _of_page(positive, first) if query is None else _of_element(query, positive, first)
        if found is None:
            return None, "no predicate says it, or the script computes what is expected"
        if positive != assertion:
            found = _negated(found)
        return _timed(found, named.get("timeout")), ""
    except ValidationError as exc:
        return None, exc.errors()[0]["msg"]


def _negated(predicate: Predicate) -> Predicate:
    match predicate:
        case Exists(exists=query, in_dom=in_dom):
            return NotExists(not_exists=query, in_dom=in_dom)
        case NotExists(not_exists=query, in_dom=in_dom):
            return Exists(exists=query, in_dom=in_dom)
        case Not(not_=inner):
            return inner
        case _:
            return Not(not_=predicate)


def _timed(predicate: Predicate, timeout: Value) -> Predicate:
    if isinstance(timeout, bool) or not isinstance(timeout, int):
        return predicate
    return predicate.model_copy(update={"within_ms": min(max(timeout, 0), 300_000)})


def _of_page(assertion: str, first: Value) -> Predicate | None:
    match assertion, first:
        case "to_have_url", Pattern(pattern=pattern, flags=flags):
            ignoring = "(?i)" if re.search(r"\bI(?:GNORECASE)?\b", flags) else ""
            return UrlMatches(url_matches=ignoring + pattern)
        case "to_have_url", str(address) if address and "*" not in address:
            return UrlContains(url_contains=address)
        case "to_have_title", str(title) if title:
            return TitleContains(title_contains=title)
        case "to_have_title", Pattern(literal=(title, _)):
            return TitleContains(title_contains=title)
        case _:
            return None


def _of_element(query: ElementQuery, assertion: str, first: Value) -> Predicate | None:
    match assertion, first:
        case _ if assertion in _PLAIN:
            return _PLAIN[assertion](query)
        case "to_contain_text", str(words) | Pattern(literal=(words, _)):
            return TextContains(text_contains=words, within=query)
        case "to_have_text", Pattern(literal=(words, _)):
            return TextContains(text_contains=words, within=query)
        case "to_have_text", str(words):
            return TextEquals(text_equals=words, of=query)
        case "to_have_value", str(words):
            return ValueEquals(value_equals=words, of=query)
        case "to_have_count", int(number) if not isinstance(number, bool):
            return Count(count=query, equals=number)
        case _:
            return None
