"""Assertions of a Playwright script (`expect(…).to_…`, `wait_for_url`) as predicates."""

import re
from collections.abc import Callable, Mapping, Sequence
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
    "to_be_attached": lambda query: Exists(exists=query),
    "to_be_in_viewport": lambda query: Exists(exists=query),
    "to_be_hidden": lambda query: NotExists(not_exists=query),
    "to_be_checked": lambda query: Checked(checked=query),
    "to_be_enabled": lambda query: Enabled(enabled=query),
    "to_be_editable": lambda query: Enabled(enabled=query),
    "to_be_disabled": lambda query: Not(not_=Enabled(enabled=query)),
    "to_be_focused": lambda query: Focused(focused=query),
    "to_be_empty": lambda query: ValueEquals(value_equals="", of=query),
}


def predicate_of(
    subject: Locator, assertion: str, arguments: Sequence[Value], named: Mapping[str, Value]
) -> tuple[Predicate | None, str]:
    """Return the predicate that says the same, or None and why there is none."""
    negated = assertion.startswith("not_")
    positive = assertion.removeprefix("not_")
    first = arguments[0] if arguments else next((named[key] for key in ("value", "expected") if key in named), None)
    if subject.why:
        return None, f"its element is not described: {subject.why}"
    try:
        if subject.query is None:
            found, why = _of_page(positive, first)
        else:
            found, why = _of_element(subject.query, positive, first, named)
        if found is not None:
            found = _timed(_negated(found) if negated else found, named.get("timeout"))
    except ValidationError as exc:
        return None, exc.errors()[0]["msg"]
    return found, why


def _negated(predicate: Predicate) -> Predicate:
    match predicate:
        case Exists(exists=query):
            return NotExists(not_exists=query)
        case NotExists(not_exists=query):
            return Exists(exists=query)
        case Not(not_=inner):
            return inner
        case _:
            return Not(not_=predicate)


def _timed(predicate: Predicate, timeout: Value) -> Predicate:
    if isinstance(timeout, bool) or not isinstance(timeout, int):
        return predicate
    return predicate.model_copy(update={"within_ms": min(max(timeout, 0), 300_000)})


def _of_page(assertion: str, first: Value) -> tuple[Predicate | None, str]:
    match assertion, first:
        case "to_have_url", str() | Pattern():
            return address(first)
        case "to_have_title", str(title) if title:
            return TitleContains(title_contains=title), ""
        case "to_have_title", Pattern() if first.literal is not None:
            return TitleContains(title_contains=first.literal[0]), ""
        case _:
            return None, "no predicate on a page says it"


def address(wanted: str | Pattern) -> tuple[Predicate | None, str]:
    """Return the predicate for an expected address: a text, a glob or a pattern."""
    if isinstance(wanted, Pattern):
        flags = "(?i)" if re.search(r"\bI(?:GNORECASE)?\b", wanted.flags) else ""
        return UrlMatches(url_matches=flags + wanted.pattern), ""
    if "*" in wanted:
        parts = re.split(r"(\*\*/?|\*)", wanted)
        kinds = {"**": ".*", "**/": "(?:.*/)?", "*": "[^/]*"}
        return UrlMatches(url_matches="^" + "".join(kinds.get(part, re.escape(part)) for part in parts) + "$"), ""
    return (UrlContains(url_contains=wanted), "") if wanted else (None, "its address is empty")


def _of_element(
    query: ElementQuery, assertion: str, first: Value, named: Mapping[str, Value]
) -> tuple[Predicate | None, str]:
    if assertion == "to_be_checked" and named.get("checked") is False:
        return Not(not_=Checked(checked=query)), ""
    if assertion in _PLAIN:
        return _PLAIN[assertion](query), ""
    text = first.literal[0] if isinstance(first, Pattern) and first.literal is not None else first
    found: Predicate | None = None
    match assertion, text:
        case "to_contain_text", str(words):
            found = TextContains(text_contains=words, within=query)
        case "to_have_text", str(words) if isinstance(first, Pattern):
            found = TextContains(text_contains=words, within=query)
        case "to_have_text", str(words):
            found = TextEquals(text_equals=words, of=query)
        case "to_have_value", str(words) if not isinstance(first, Pattern):
            found = ValueEquals(value_equals=words, of=query)
        case "to_have_count", int(number) if not isinstance(number, bool):
            found = Count(count=query, equals=number)
        case "to_have_accessible_name", str(words):
            found = Exists(exists=query.model_copy(update={"name": words, "name_contains": None}))
        case _:
            pass
    return (
        found,
        "" if found is not None else "no predicate says it, or the script computes what is expected",
    )
