"""Locators of a Playwright script in Python as element queries. The script is read as a syntax tree and never run."""

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from replaywright.domain.page.targets import ElementQuery
from replaywright.imports.data import clean
from replaywright.imports.elements import ImportedElement, query_of, words_for
from replaywright.imports.xpaths import attribute_css, css_of_xpath, is_css, is_positional, role_of_css, tag_of


@dataclass(frozen=True)
class Locator:
    """Meaning of a chain of locator calls on one page."""

    page: int
    """Number of the page, in the order of their opening."""
    query: ElementQuery | None = None
    """None for the page or frame itself, and for what no query can say."""
    why: str = ""
    """The part that no query can express; empty if there is none."""
    said: str = ""
    """The chain's last part as it stands in the script."""
    in_frame: bool = False
    hints: str = ""

    def element(self) -> ImportedElement:
        """Return the element of the locator."""
        query = self.query if not self.why else None
        css = self.query.css if self.query is not None else None
        told = self.query
        called = "" if told is None else told.label or told.name or told.name_contains or told.placeholder or ""
        return ImportedElement(
            query=query,
            words=words_for(query, f"the element of {self.said}"),
            field=called,
            hints=f"{self.hints} {css or ''}".strip(),
            by_place=query is not None and query.css is not None and is_positional(query.css),
            is_list=told is not None and (told.role in {"combobox", "listbox"} or tag_of(css or "") == "select"),
            in_frame=self.in_frame,
            why=self.why or "no locator",
        )


@dataclass(frozen=True)
class Pattern:
    """A `re.compile(…)` of the script."""

    pattern: str
    flags: str = ""

    @property
    def literal(self) -> tuple[str, bool] | None:
        """Return the text to look for, and True if it must be the whole text; None for a real pattern."""
        body = self.pattern
        whole = body.startswith("^") and body.endswith("$") and not body.endswith("\\$")
        body = body[1:-1] if whole else body.removeprefix("^")
        if re.search(r"(?<!\\)[.*+?()\[\]{}|^$]|\\[A-Za-z0-9]", body):
            return None
        return re.sub(r"\\(.)", r"\1", body), whole


Value = str | Pattern | bool | int | None
"""A constant of the script, as far as locators take it."""

GETTERS: Final = frozenset(
    {"get_by_role", "get_by_label", "get_by_placeholder", "get_by_text", "get_by_test_id", "get_by_alt_text"}
    | {"get_by_title", "locator", "frame_locator", "filter", "nth", "first", "last", "content_frame", "frame"}
    | {"and_", "or_"}
)
"""Methods and attributes that lead from a page or locator to another locator."""
_STATES: Final = frozenset({"checked", "disabled", "expanded", "include_hidden", "level", "pressed", "selected"})


def found_by(origin: Locator, method: str, arguments: list[Value], named: Mapping[str, Value], said: str) -> Locator:
    """Return the locator that `method` leads to from `origin`; with `why` where a query cannot say it."""
    base = replace(origin, said=said)
    first = arguments[0] if arguments else None
    match method:
        case "frame_locator" | "frame" | "content_frame":
            return Locator(base.page, said=said, in_frame=True, hints=base.hints)
        case "nth" | "first" | "last":
            return _chosen(base, method, first)
        case "filter":
            return _filtered(base, named)
        case "and_" | "or_":
            return replace(base, why=base.why or f"{method} joins two locators")
        case "locator":
            return _by_selector(origin, base, first, named)
        case _:
            return _by_words(origin, base, method, first, named)


def by_selector(page: int, selector: str, said: str) -> Locator:
    """Return the locator of a selector that is given to the page itself, as in `page.click("#send")`."""
    return _by_selector(Locator(page), Locator(page, said=said), selector, {})


def _chosen(base: Locator, method: str, number: Value) -> Locator:
    """`first` may be the only one; of any other number the query would not know which is meant."""
    if method == "first" or (method == "nth" and number == 0 and number is not False):
        return base
    ordinal = "the last" if method == "last" else f"number {number}"
    return replace(base, why=base.why or f"it is {ordinal} of several, and a query has to match exactly one")


def _filtered(base: Locator, named: Mapping[str, Value]) -> Locator:
    text = _text(named.get("has_text"))
    others = sorted(named.keys() - {"has_text", "visible"})
    if others or base.query is None or base.query.text or text is None:
        reason = f"filter({', '.join(others)})" if others else "filter(has_text=…) beside another text"
        return replace(base, why=base.why or f"{reason} has no counterpart")
    query = query_of(**base.query.model_dump(exclude_none=True) | {"text": text[0]})
    return replace(base, query=query, why=base.why or ("" if query else "its text cannot stand in a query"))


def _text(value: Value) -> tuple[str, bool] | None:
    """Return the text to look for, and True if it must be the whole text."""
    if isinstance(value, Pattern):
        return value.literal
    return (clean(value), False) if isinstance(value, str) and value.strip() else None


def _inside(origin: Locator, base: Locator, query: ElementQuery | None, why: str = "") -> Locator:
    """`query` inside what `origin` means."""
    reason = origin.why or why or ("" if query is not None else "its text cannot stand in a query")
    if query is not None and origin.query is not None:
        query = query.model_copy(update={"within": origin.query})
    return replace(base, query=query or origin.query, why=reason)


def _by_words(origin: Locator, base: Locator, method: str, first: Value, named: Mapping[str, Value]) -> Locator:
    exact = named.get("exact") is True
    text = _text(first if first is not None else next(iter(named.values()), None))
    if text is None:
        return _inside(origin, base, None, f"{method} is given no plain text")
    words, whole = text
    exact = exact or whole
    if method == "get_by_role":
        return _by_role(origin, base, words, named)
    fields: dict[str, str] = {}
    match method:
        case "get_by_label" | "get_by_placeholder" | "get_by_test_id" | "get_by_text":
            fields = {method.removeprefix("get_by_"): words}
        case "get_by_alt_text":
            fields = {"role": "img", "name" if exact else "name_contains": words}
        case "get_by_title":
            css = attribute_css("title", words)
            fields = {"css": css if exact else css[:-1].replace("=", "*=", 1) + " i]"}
        case _:
            return _inside(origin, base, None, f"{method} is no locator that is known")
    return _inside(origin, base, query_of(**fields))


def _by_role(origin: Locator, base: Locator, role: str, named: Mapping[str, Value]) -> Locator:
    fields: dict[str, str] = {"role": role}
    if "name" in named:
        text = _text(named["name"])
        if text is None:
            return _inside(origin, base, query_of(role=role), "its name is no plain text")
        fields["name" if named.get("exact") is True or text[1] else "name_contains"] = text[0]
    states = sorted(named.keys() & _STATES - {"include_hidden"})
    found = _inside(origin, base, query_of(**fields))
    return replace(found, hints=f"{found.hints} {' '.join(states)}".strip())


def _by_selector(origin: Locator, base: Locator, first: Value, named: Mapping[str, Value]) -> Locator:
    if not isinstance(first, str) or not first.strip():
        return _inside(origin, base, None, "locator is given no plain selector")
    located = origin
    for part in re.split(r"\s*>>\s*", clean(first).strip()):
        query, why = _selected(part)
        located = _inside(located, base, query, why)
    located = replace(located, hints=f"{base.hints} {first[:400]}".strip())
    others = {name: value for name, value in named.items() if name in {"has_text", "has", "has_not", "has_not_text"}}
    return _filtered(located, others) if others else located


def _selected(selector: str) -> tuple[ElementQuery | None, str]:
    """Return the query of one selector, or why there is none."""
    engine, equals, body = selector.partition("=")
    if selector.startswith(("//", "..", "xpath=")):
        css = css_of_xpath(selector)
        return (query_of(css=css), "") if css else (None, "its XPath is none that can be said as CSS")
    if equals and engine in {"text", "id", "data-testid", "data-test", "data-test-id"}:
        plain = body.strip("\"'")
        if engine == "text":
            return query_of(text=plain), ""
        return (query_of(css=attribute_css("id", plain)) if engine == "id" else query_of(test_id=plain)), ""
    if match := re.fullmatch(r"role=([a-z]+)(?:\[name=([\"'])(.*)\2([is]?)\])?", selector):
        key = "name" if match[4] == "s" else "name_contains"
        return query_of(**{"role": match[1], key: match[3]}), ""
    if match := re.fullmatch(r"(.*?):has-text\(([\"'])(.*)\2\)", selector):
        css = match[1].strip()
        if not css or is_css(css):
            return query_of(css=css, text=match[3], role="" if not css else role_of_css(css)), ""
    if re.fullmatch(r"(?:css|internal:[a-z-]+|_react|_vue|nth|visible)=.*", selector) and engine != "css":
        return None, f"selectors of {engine!r} are Playwright's own"
    css = body if engine == "css" else selector
    return (query_of(css=css), "") if is_css(css) else (None, "it is no CSS that every browser knows")


def said(node: ast.AST) -> str:
    """Return a part of the script as written, in one line."""
    return " ".join(clean(ast.unparse(node)).split())
