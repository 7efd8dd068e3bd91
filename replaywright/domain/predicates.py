"""Conditions on a page, as data, and their evaluation as pure functions over what was observed.

In a task file a predicate is a mapping with one key: `{url_contains: /inbox}`, `{exists: {role: button, name: Send}}`.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, TypeAlias

from pydantic import Discriminator, Field, Tag, field_validator, model_validator

from replaywright.domain.base import Authored, Record
from replaywright.domain.targets import ElementQuery
from replaywright.domain.templates import fill
from replaywright.domain.text import normalise, shorten
from replaywright.errors import InputInvalid

URL_LIMIT = 200
"""Characters of a URL that go into details."""


class TextProbe(Record):
    """Ask the page whether visible text contains something."""

    text: str
    within: ElementQuery | None = None
    """Only inside elements that match; None means the whole page, frames included."""


class ElementProbe(Record):
    """Ask the page which elements match a query."""

    query: ElementQuery


Probe: TypeAlias = TextProbe | ElementProbe


class ElementState(Record):
    """What was seen of one matching element."""

    role: str = ""
    name: str = ""
    text: str = ""
    value: str = ""
    """Empty for password fields, always."""
    visible: bool = True
    focused: bool = False
    """Whether the keys go to it: it has the focus, or is the active descendant of what has."""


class ProbeResult(Record):
    """What the page answered to one probe, over all its frames."""

    count: int = 0
    """Visible matches."""
    elements: tuple[ElementState, ...] = ()
    """The first three visible matches in document order."""
    nearest: tuple[str, ...] = ()
    """With no match: the three most alike, such as `button "Send message"`."""


class AssertionContext(Record):
    """What a predicate is evaluated over."""

    url: str
    title: str = ""
    probes: tuple[tuple[Probe, ProbeResult], ...] = ()

    def answer(self, probe: Probe) -> ProbeResult:
        """The page's answer to `probe`; an empty one when it was not asked."""
        return next((result for asked, result in self.probes if asked == probe), ProbeResult())


class PredicateResult(Record):
    """The verdict on one predicate."""

    passed: bool
    reason: str
    """`holds`, or a code for why not: `url_differs`, `none_found`, `still_there`, `text_missing`, `value_differs`, …"""
    details: dict[str, Any] = Field(default_factory=dict)


class UrlContains(Authored):
    url_contains: str


class UrlMatches(Authored):
    url_matches: str
    """A regular expression, searched for anywhere in the URL."""

    @field_validator("url_matches")
    @classmethod
    def _compiles(cls, pattern: str) -> str:
        try:
            re.compile(pattern)
        except re.error as exc:
            raise ValueError(f"not a regular expression ({exc})") from exc
        return pattern


class Exists(Authored):
    exists: ElementQuery


class NotExists(Authored):
    not_exists: ElementQuery


class TextContains(Authored):
    text_contains: str
    within: ElementQuery | None = None


class ValueEquals(Authored):
    value_equals: str
    of: ElementQuery
    """Exactly one element must match."""


class Focused(Authored):
    focused: ElementQuery
    """Exactly one element must match."""


class AllOf(Authored):
    all_of: tuple["Predicate", ...]


class AnyOf(Authored):
    any_of: tuple["Predicate", ...]

    @model_validator(mode="after")
    def _not_empty(self) -> "AnyOf":
        if not self.any_of:
            raise ValueError("any_of needs at least one predicate: an empty one can never hold")
        return self


class Not(Authored):
    not_: "Predicate"


KINDS: dict[str, type[Authored]] = {
    "url_contains": UrlContains,
    "url_matches": UrlMatches,
    "exists": Exists,
    "not_exists": NotExists,
    "text_contains": TextContains,
    "value_equals": ValueEquals,
    "focused": Focused,
    "all_of": AllOf,
    "any_of": AnyOf,
    "not_": Not,
}
"""By the key that says which it is."""


def _kind(value: Any) -> str | None:
    if isinstance(value, Mapping):
        return next((key for key in value if key in KINDS), None)
    return next((kind for kind, model in KINDS.items() if isinstance(value, model)), None)


Predicate: TypeAlias = Annotated[
    Annotated[UrlContains, Tag("url_contains")]
    | Annotated[UrlMatches, Tag("url_matches")]
    | Annotated[Exists, Tag("exists")]
    | Annotated[NotExists, Tag("not_exists")]
    | Annotated[TextContains, Tag("text_contains")]
    | Annotated[ValueEquals, Tag("value_equals")]
    | Annotated[Focused, Tag("focused")]
    | Annotated[AllOf, Tag("all_of")]
    | Annotated[AnyOf, Tag("any_of")]
    | Annotated[Not, Tag("not_")],
    Discriminator(
        _kind,
        custom_error_type="predicate_unknown",
        custom_error_message="expected a mapping with one of the keys " + ", ".join(KINDS),
    ),
]
for _model in (AllOf, AnyOf, Not):
    _model.model_rebuild()


def fill_query(query: ElementQuery, values: Mapping[str, str]) -> ElementQuery:
    """The query with its parameters' values.

    Raises:
        InputInvalid: nothing is left of it: every parameter in it is empty.
    """
    filled = {key: fill(value, values) for key, value in query.model_dump(exclude_none=True).items()}
    if not any(filled.values()):
        raise InputInvalid(f"nothing is left of {query.model_dump(exclude_none=True)}: its parameters are all empty")
    return ElementQuery(**filled)


def fill_predicate(predicate: Predicate, values: Mapping[str, str]) -> Predicate:  # noqa: PLR0911 - one case a kind
    """The predicate with its parameters' values. Secrets stay references: what is checked is never a secret."""
    match predicate:
        case UrlContains(url_contains=text):
            return UrlContains(url_contains=fill(text, values))
        case UrlMatches(url_matches=pattern):
            return UrlMatches(url_matches=fill(pattern, {name: re.escape(value) for name, value in values.items()}))
        case Exists(exists=query):
            return Exists(exists=fill_query(query, values))
        case NotExists(not_exists=query):
            return NotExists(not_exists=fill_query(query, values))
        case TextContains(text_contains=text, within=within):
            return TextContains(
                text_contains=fill(text, values), within=None if within is None else fill_query(within, values)
            )
        case ValueEquals(value_equals=text, of=query):
            return ValueEquals(value_equals=fill(text, values), of=fill_query(query, values))
        case Focused(focused=query):
            return Focused(focused=fill_query(query, values))
        case AllOf(all_of=parts):
            return AllOf(all_of=tuple(fill_predicate(part, values) for part in parts))
        case AnyOf(any_of=parts):
            return AnyOf(any_of=tuple(fill_predicate(part, values) for part in parts))
        case Not(not_=part):
            return Not(not_=fill_predicate(part, values))


def probes_of(predicates: Iterable[Predicate]) -> tuple[Probe, ...]:
    """What the page must be asked so that `predicates` can be evaluated; each probe once, in order."""
    found: dict[str, Probe] = {}

    def collect(predicate: Predicate) -> None:
        match predicate:
            case Exists(exists=query) | NotExists(not_exists=query) | ValueEquals(of=query) | Focused(focused=query):
                probe: Probe = ElementProbe(query=query)
                found.setdefault(repr(probe), probe)
            case TextContains(text_contains=text, within=within):
                probe = TextProbe(text=text, within=within)
                found.setdefault(repr(probe), probe)
            case AllOf(all_of=parts) | AnyOf(any_of=parts):
                for part in parts:
                    collect(part)
            case Not(not_=part):
                collect(part)
            case UrlContains() | UrlMatches():
                pass

    for predicate in predicates:
        collect(predicate)
    return tuple(found.values())


def evaluate(predicate: Predicate, context: AssertionContext) -> PredicateResult:  # noqa: PLR0911 - one case a kind
    """The verdict on `predicate` over `context`; never raises for what a page contains."""
    url = context.url[:URL_LIMIT]
    match predicate:
        case UrlContains(url_contains=text):
            return _verdict(text in context.url, "url_differs", expected=text, url=url)
        case UrlMatches(url_matches=pattern):
            return _verdict(re.search(pattern, context.url) is not None, "url_differs", expected=pattern, url=url)
        case Exists(exists=query):
            seen = context.answer(ElementProbe(query=query))
            return _verdict(
                seen.count > 0, "none_found", query=_shown(query), count=seen.count, nearest=seen.nearest, url=url
            )
        case NotExists(not_exists=query):
            seen = context.answer(ElementProbe(query=query))
            return _verdict(seen.count == 0, "still_there", query=_shown(query), count=seen.count, url=url)
        case TextContains(text_contains=text, within=within):
            seen = context.answer(TextProbe(text=text, within=within))
            return _verdict(seen.count > 0, "text_missing", expected=shorten(text, 200), nearest=seen.nearest, url=url)
        case ValueEquals(value_equals=text, of=query):
            seen = context.answer(ElementProbe(query=query))
            return _of_one(query, seen, url) or _value_equals(text, seen.elements[0].value, url)
        case Focused(focused=query):
            seen = context.answer(ElementProbe(query=query))
            elsewhere = _verdict(
                bool(seen.elements) and seen.elements[0].focused, "not_focused", query=_shown(query), url=url
            )
            return _of_one(query, seen, url) or elsewhere
        case AllOf(all_of=parts):
            results = [evaluate(part, context) for part in parts]
            failed = [result for result in results if not result.passed]
            return _verdict(not failed, "not_all", failed=[_brief(result) for result in failed], url=url)
        case AnyOf(any_of=parts):
            results = [evaluate(part, context) for part in parts]
            return _verdict(any(r.passed for r in results), "none_holds", failed=[_brief(r) for r in results], url=url)
        case Not(not_=part):
            inner = evaluate(part, context)
            return _verdict(not inner.passed, "holds_but_must_not", inner=_brief(inner), url=url)


def _of_one(query: ElementQuery, seen: ProbeResult, url: str) -> PredicateResult | None:
    """The verdict when not exactly one element matches; else None."""
    if seen.count == 0:
        return _verdict(False, "none_found", query=_shown(query), count=0, nearest=seen.nearest, url=url)
    if seen.count > 1 or not seen.elements:
        return _verdict(False, "ambiguous", query=_shown(query), count=seen.count, url=url)
    return None


def _value_equals(text: str, actual: str, url: str) -> PredicateResult:
    same = _lines(actual) == _lines(text)
    return _verdict(same, "value_differs", expected=shorten(text, 200), actual=shorten(actual, 200), url=url)


def _lines(value: str) -> str:
    return value.replace("\r\n", "\n")


def _verdict(passed: bool, why_not: str, **details: Any) -> PredicateResult:
    return PredicateResult(passed=passed, reason="holds" if passed else why_not, details=details)


def _shown(query: ElementQuery) -> dict[str, str]:
    shown: dict[str, str] = query.model_dump(exclude_none=True)
    return shown


def _brief(result: PredicateResult) -> dict[str, Any]:
    return {"passed": result.passed, "reason": result.reason, **result.details}


def text_matches(needle: str, haystack: str) -> bool:
    """How every text probe compares: contained after normalisation."""
    return normalise(needle) in normalise(haystack)
