"""Locators of a Playwright script in Python as element queries. The script is read as a syntax tree and never run."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from replaywright.domain.common.text import css_attribute
from replaywright.domain.page.targets import ElementQuery
from replaywright.imports.data import clean
from replaywright.imports.elements import ImportedElement, query_of, words_for
from replaywright.imports.xpaths import is_css, is_positional, tag_of

PROPERTIES: Final = frozenset({"first", "last", "content_frame"})
"""Attributes that lead from a locator to another one; all others are methods."""
_GETTERS: Final = frozenset({"locator", "frame_locator", "filter", "nth", "and_", "or_"})
_POSITIONS: Final = {"first": 1, "last": -1}
_NO_CSS: Final = re.compile(r"/|\.\.|[\w:-]+=")
"""Beginnings of the selectors that are XPath or name another engine."""


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
    """The chain as it stands in the script."""
    in_frame: bool = False
    """It is in a frame that `frame` does not name."""
    frame: tuple[str, ...] = ()
    """Selectors of the frames around it."""
    hints: str = ""

    def element(self) -> ImportedElement:
        """Return the element of the locator."""
        told, query = self.query, self.query if not self.why else None
        if query is not None and self.frame and not self.in_frame:
            query = query.model_copy(update={"frame": self.frame})
        css = (told and told.css) or ""
        called = "" if told is None else told.label or told.name or told.name_contains or told.placeholder or ""
        return ImportedElement(
            query=query,
            words=words_for(query, f"the element of {self.said}"),
            field=called,
            hints=f"{self.hints} {css}".strip(),
            by_place=query is not None and bool(css) and is_positional(css),
            is_list=told is not None and (told.role in {"combobox", "listbox"} or tag_of(css) == "select"),
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


def found_by(origin: Locator, method: str, first: Value, named: Mapping[str, Value], said: str) -> Locator | None:
    """Return the locator that `method` leads to, with `why` where a query cannot say it; None for other methods."""
    base = replace(origin, said=said)
    match method:
        case "frame_locator" | "content_frame":
            css = first if method == "frame_locator" else origin.query and origin.query.css
            is_named = isinstance(css, str) and is_css(css) and not _NO_CSS.match(css)
            frame = (*origin.frame, str(css)) if is_named else ()
            return Locator(origin.page, said=said, in_frame=origin.in_frame or not is_named, frame=frame)
        case "first" | "last" | "nth" if origin.query is not None and (nth := _POSITIONS.get(method) or _nth(first)):
            return base if origin.why else replace(base, query=origin.query.model_copy(update={"nth": nth}))
        case _ if method not in PROPERTIES | _GETTERS and not method.startswith("get_by_"):
            return None
    if isinstance(first, str):
        base = replace(base, hints=f"{base.hints} {first[:400]}" if method == "locator" else base.hints)
    fields = _fields(method, first, named)
    if method == "filter" and origin.query is not None and (origin.query.text or origin.query.nth):
        fields = None
    if origin.why or fields is None:
        written = ", ".join(sorted(named.keys() | ({str(first)} if isinstance(first, int) else set())))
        return replace(base, why=origin.why or f"{method}({written}) is nothing that a query says")
    if method == "filter":
        fields = {**(origin.query.model_dump(exclude_none=True) if origin.query is not None else {}), **fields}
    query = query_of(**fields)
    if query is None:
        return replace(base, why="its text cannot stand in a query")
    if method != "filter" and origin.query is not None:
        query = query.model_copy(update={"within": origin.query})
    return replace(base, query=query)


def _nth(index: Value) -> int:
    """Return the position of a query for an index that counts from 0; 0 if there is none."""
    is_index = isinstance(index, int) and not isinstance(index, bool) and index >= -1
    return (index + 1 or -1) if isinstance(index, int) and is_index else 0


def _fields(  # noqa: PLR0911 - one case for each method
    method: str, first: Value, named: Mapping[str, Value]
) -> dict[str, object] | None:
    """Return the fields of the query that the method adds; None if a query has none for it."""
    text = _text(named.get("has_text") if method == "filter" else first)
    if text is None:
        return None
    words, whole = text
    exact = whole or named.get("exact") is True
    match method:
        case "get_by_role" if "name" not in named:
            return {"role": words}
        case "get_by_role" if (name := _text(named["name"])) is not None:
            return {"role": words, "name" if exact or name[1] else "name_contains": name[0]}
        case "get_by_label" | "get_by_placeholder" | "get_by_test_id" | "get_by_text":
            return {method.removeprefix("get_by_"): words}
        case "get_by_alt_text":
            return {"role": "img", "name" if exact else "name_contains": words}
        case "get_by_title":
            css = css_attribute("title", words)
            return {"css": css if exact else css[:-1].replace("=", "*=", 1) + " i]"}
        case "locator" if is_css(words) and not _NO_CSS.match(words) and not named.keys() - {"has_text"}:
            held = _text(named["has_text"]) if "has_text" in named else ("", False)
            return None if held is None else {"css": words, "text": held[0]}
        case "filter" if not named.keys() - {"has_text", "visible"}:
            return {"text": words}
        case _:
            return None


def _text(value: Value) -> tuple[str, bool] | None:
    """Return the text to look for, and True if it must be the whole text."""
    if isinstance(value, Pattern):
        return value.literal
    return (clean(value), False) if isinstance(value, str) and value.strip() else None
