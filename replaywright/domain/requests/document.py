"""Responses read without a browser: a page or data, its text, and verdicts on conditions."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeAlias

from ada_url import URL

from replaywright.domain.common.text import contains, found_whole, normalise
from replaywright.domain.page.observed import AssertionContext, Probe, ProbeResult
from replaywright.domain.page.observed import Response as Answer
from replaywright.domain.page.targets import ElementQuery
from replaywright.domain.predicate import evaluation
from replaywright.domain.predicate.predicates import (
    AllOf,
    AnyOf,
    Count,
    Exists,
    Predicate,
    ResponseStatus,
    TextContains,
    TitleContains,
    UrlContains,
    UrlMatches,
)
from replaywright.domain.requests.exchanges import SiteResponse
from replaywright.domain.requests.markup import Markup, MarkupElement, line_of, parse, raw_text, text_of
from replaywright.domain.requests.naming import KNOWN, name_of, role_of

Kind: TypeAlias = Literal["html", "json", "other"]
Json: TypeAlias = "dict[str, Json] | list[Json] | str | bool | None"
JsonSteps: TypeAlias = tuple[str | int, ...]
"""Keys and positions that lead to a value in JSON."""
_ROLES_AS = {"image": "img", "directory": "list"}


class JsonNumber(str):
    """A number of JSON as it is written there."""

    __slots__ = ()


@dataclass(frozen=True)
class Document:
    """A response as it can be read: HTML, JSON, or neither."""

    kind: Kind
    url: str
    data: Json = field(default=None, repr=False)
    """Value of JSON; its numbers are `JsonNumber`."""
    markup: Markup = field(default=Markup(()), repr=False)

    @cached_property
    def title(self) -> str:
        """Title of the page; empty for data."""
        found = next((one for one in self.markup.tagged("title") if _is_in_head(one)), None)
        return " ".join(raw_text(found).split()) if found is not None else ""

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The visible text of a page in lines; texts and numbers of data, one each."""
        if self.kind == "json":
            return tuple(leaf for _, leaf in leaves(self.data) if isinstance(leaf, str))
        body = next(iter(self.markup.tagged("body")), None)
        return tuple(filter(None, text_of(body).split("\n"))) if body is not None else ()

    @cached_property
    def text(self) -> str:
        """The lines, normalised for comparison."""
        return normalise(" ".join(self.lines))

    @cached_property
    def base(self) -> str:
        """Address that relative ones start from."""
        given = next((one.get("href") for one in self.markup.tagged("base") if one.get("href")), "")
        return resolved(given, self.url) or self.url

    def address(self, href: str) -> str:
        """Return the absolute address of a reference in the document; empty for one that leads nowhere."""
        return resolved(href, self.base)

    def evaluate(self, predicate: Predicate, status: int = 200) -> bool | None:
        """Return the verdict on a predicate whose parameters are filled; None if a response cannot tell.

        False says that this response does not show it, not that the site has it not. Absence is therefore never shown.
        """
        match predicate:
            case AllOf(all_of=parts):
                return _conjunction(self.evaluate(part, status) for part in parts)
            case AnyOf(any_of=parts):
                verdict = _conjunction(_opposite(self.evaluate(part, status)) for part in parts)
                return _opposite(verdict)
            case ResponseStatus(of=None, method=None):
                return self._judged(predicate, status)
            case UrlContains() | UrlMatches() | TitleContains():
                return self._judged(predicate, status) if self.kind == "html" else None
            case TextContains(within=None, text_contains=text):
                return self._judged(predicate, status, self._holding(text))
            case Exists(exists=query, in_dom=None):
                found = self.matches(query)
                return None if found is None else self._judged(predicate, status, len(found))
            case Count(count=query):
                found = self.matches(query)
                low = predicate.equals if predicate.equals is not None else predicate.at_least
                return self._judged(predicate, status, len(found)) if found is not None and low else None
            case _:
                return None

    def _judged(self, predicate: Predicate, status: int, count: int = 0) -> bool:
        """Ask the page's own judge about a response that has `count` matches."""
        probes: tuple[tuple[Probe, ProbeResult], ...] = ()
        if predicate.probe is not None:
            probes = ((predicate.probe, ProbeResult(count=count)),)
        answer = Answer(method="GET", url=self.url, status=status, document=True)
        context = AssertionContext(url=self.url, title=self.title, probes=probes, responses=(answer,))
        return evaluation.evaluate(predicate, context).passed

    def _holding(self, text: str) -> int:
        if self.kind == "json":
            return sum(contains(line, text) for line in self.lines)
        return int(bool(self.text) and found_whole(self.text, normalise(text), text))

    def matches(self, query: ElementQuery) -> tuple[MarkupElement, ...] | None:
        """Return the visible elements that a query describes by selector, role, name and text; None if it says more."""
        more = query.model_dump(
            exclude_none=True, exclude={"css", "role", "name", "name_contains", "name_in", "text", "text_in"}
        )
        more.pop("substring", None)
        role = None if query.role is None else _ROLES_AS.get(query.role, query.role)
        if self.kind != "html" or more or " >>> " in (query.css or "") or (role is not None and role not in KNOWN):
            return None
        named = query.name is not None or query.name_contains or query.name_in
        elements = self.markup.elements if query.css is None else self.markup.select(query.css)
        shown = [one for one in elements if one.is_visible and (role is None or role_of(one) == role)]
        if named:
            shown = [one for one in shown if role_of(one) and _is_called(name_of(one, self.markup), query)]
        if query.text or query.text_in:
            wanted = (query.text,) if query.text else query.text_in or ()
            shown = self._saying(shown, wanted, innermost=role is None and query.css is None)
        heard = [one for one in shown if not _is_silent(one)]
        return tuple(heard or shown)

    def _saying(
        self, elements: list[MarkupElement], wanted: tuple[str, ...], *, innermost: bool
    ) -> list[MarkupElement]:
        # An element without the text holds none with it: what is inside is not looked at.
        without: set[int] = set()
        found: list[MarkupElement] = []
        for element in elements:
            if id(element.parent) in without or not any(contains(line_of(element), text) for text in wanted):
                without.add(id(element))
            else:
                found.append(element)
        outer = {id(one) for element in found for one in element.ancestors()} if innermost else set()
        return [element for element in found if id(element) not in outer]


def read_document(response: SiteResponse) -> Document:
    """Read a response; whatever its body holds, it is read as far as it can be."""
    body, media = response.body.lstrip("\ufeff \t\r\n"), response.media_type
    if media.endswith("json") or body[:1] in ("{", "["):
        try:
            return Document("json", response.url, data=parse_json(body))
        except ValueError:
            if media.endswith("json"):
                return Document("other", response.url)
    if "html" in media or (not media and body.startswith("<")):
        markup = parse(response.body)
        return Document("html" if markup.elements else "other", response.url, markup=markup)
    return Document("other", response.url)


def parse_json(text: str) -> Json:
    """Parse JSON and keep its numbers as they are written.

    Raises:
        ValueError: it is none, or nests without end.
    """
    try:
        data: Json = json.loads(text, parse_int=JsonNumber, parse_float=JsonNumber, parse_constant=JsonNumber)
    except RecursionError:
        raise ValueError("JSON that nests without end") from None
    return data


def leaves(data: Json) -> Iterable[tuple[JsonSteps, str | bool]]:
    """Yield the texts, numbers and truth values of JSON with their places, in order."""
    left: list[tuple[JsonSteps, Json]] = [((), data)]
    while left:
        path, value = left.pop()
        if isinstance(value, dict):
            left.extend(((*path, key), inner) for key, inner in reversed(value.items()))
        elif isinstance(value, list):
            left.extend(((*path, index), inner) for index, inner in reversed(list(enumerate(value))))
        elif value is not None:
            yield path, value


def inner_json(data: Json, path: JsonSteps) -> Json:
    """Return the value at a path of JSON; None if there is none."""
    at = data
    for key in path:
        match at:
            case dict() if isinstance(key, str) and key in at:
                at = at[key]
            case list() if isinstance(key, int) and 0 <= key < len(at):
                at = at[key]
            case _:
                return None
    return at


def leaf_text(leaf: str | bool) -> str:
    """Return a leaf as JSON writes it, a text without quotes."""
    return leaf if isinstance(leaf, str) else "true" if leaf else "false"


def resolved(href: str, base: str) -> str:
    """Return the absolute http or https address of `href`; empty for one that leads nowhere."""
    try:
        url = URL(href.strip(), base) if base else URL(href.strip())
    except ValueError:
        return ""
    return url.href if url.protocol in ("http:", "https:") else ""


def _conjunction(verdicts: Iterable[bool | None]) -> bool | None:
    told = list(verdicts)
    return False if False in told else None if None in told else True


def _opposite(verdict: bool | None) -> bool | None:
    return None if verdict is None else not verdict


def _is_in_head(title: MarkupElement) -> bool:
    return all(one.tag != "svg" for one in title.ancestors())


def _is_silent(element: MarkupElement) -> bool:
    return any(one.get("aria-hidden").lower() == "true" for one in (element, *element.ancestors()))


def _is_called(name: str, query: ElementQuery) -> bool:
    same: Callable[[str], bool] = lambda wanted: normalise(name) == normalise(wanted)  # noqa: E731
    return (
        (query.name is None or same(query.name))
        and (not query.name_contains or contains(name, query.name_contains))
        and (not query.name_in or any(map(same, query.name_in)))
    )
