"""Readers: addresses in a document that yield the value which an extract step read on the page."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from replaywright.domain.common.base import Record
from replaywright.domain.common.text import css_attribute, normalise
from replaywright.domain.requests.document import Document, JsonSteps, inner_json, leaf_text, leaves
from replaywright.domain.requests.forms import selected_label
from replaywright.domain.requests.markup import MarkupElement, line_of, raw_text, text_of
from replaywright.domain.requests.places import JsonPath, ScriptJson, find, json_scripts, unique
from replaywright.domain.requests.tables import rows_of
from replaywright.domain.task.converting import converted
from replaywright.domain.task.steps import ExtractField

READERS_LIMIT = 60
_ELEMENTS_LIMIT = 12
_LOOKED_AT = 150
_TELLING = (
    "data-testid", "data-test-id", "data-test", "data-cy", "data-qa", "itemprop", "name", "data-field", "data-label",
    "property", "role", "aria-label",
)  # fmt: skip
"""Attributes by which pages name their parts."""
_LABEL_LIMIT = 80
_SHORT = 300
"""Characters of markup around a number or truth value."""


class Selected(Record):
    """The visible elements that a CSS selector matches."""

    kind: Literal["selected"] = "selected"
    css: str


class AtPath(Record):
    """The visible element to which tags and positions among those of one tag, from 1, lead from the body."""

    kind: Literal["path"] = "path"
    steps: tuple[tuple[str, int], ...]


class BesideLabel(Record):
    """The visible element behind the one with this text: `dt` and `dd`, cells of a row, a label and its output."""

    kind: Literal["beside"] = "beside"
    tag: str
    label: str


class TableAt(Record):
    """A table by its id or caption; without both, by its position among so many visible tables, from 0."""

    kind: Literal["table"] = "table"
    id: str = ""
    caption: str = ""
    index: int = 0
    of: int = 0


class JsonTexts(Record):
    """The leaves of a list in JSON, or those with one key in its mappings."""

    kind: Literal["json_texts"] = "json_texts"
    path: JsonSteps
    key: str = ""


Address: TypeAlias = Annotated[
    Selected | AtPath | BesideLabel | TableAt | JsonPath | ScriptJson | JsonTexts, Field(discriminator="kind")
]


class Reader(Record):
    """An address and the way of reading there."""

    at: Address
    field: ExtractField
    """`find` counts for nothing here."""


def readers_of(document: Document, field: ExtractField, value: Any) -> tuple[Reader, ...]:
    """Return readers that yield exactly `value` in this document, the most telling ones first.

    `value` is as the step gave it: converted to the field's type.
    """
    if value in ("", [], None) or (field.take == "count" and str(value) == "0"):
        return ()
    how = field.model_copy(update={"find": None})
    candidates = islice(unique(_candidates(document, how, value)), _LOOKED_AT)
    readers = (Reader(at=at, field=how) for at in candidates)
    return tuple(islice((reader for reader in readers if _same(read(document, reader), value)), READERS_LIMIT))


def _same(left: Any, right: Any) -> bool:
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


def read(document: Document, reader: Reader) -> Any:
    """Return the value at a reader's address, converted; None if it is absent, ambiguous or of another type."""
    raw = _read(document, reader.at, reader.field)
    return None if raw is None else converted(reader.field, raw)


def _read(document: Document, at: Address, field: ExtractField) -> Any:
    if isinstance(at, JsonPath | ScriptJson):
        return find(document, at)
    if isinstance(at, JsonTexts):
        return _json_texts(document, at)
    found = _elements(document, at)
    match field.take:
        case "count":
            return len(found)
        case "texts":
            return [line_of(one) for one in found]
        case _ if len(found) != 1:
            return None
        case "table":
            return rows_of(found[0]) if found[0].tag == "table" else None
        case _:
            return _taken(found[0], field)


def _taken(element: MarkupElement, field: ExtractField) -> str | None:
    is_secret = element.tag == "input" and element.get("type").strip().lower() == "password"
    match field.take:
        case "attribute":
            return None if is_secret else element.attributes.get(field.attribute or "")
        case "value":
            return None if is_secret else _value_of(element)
        case _:
            return text_of(element)


def _value_of(element: MarkupElement) -> str | None:
    match element.tag:
        case "input":
            return element.get("value")
        case "textarea":
            return raw_text(element)
        case "select":
            return selected_label(element)
        case _:
            return element.get("aria-valuetext") or element.attributes.get("aria-valuenow")


def _elements(document: Document, at: Selected | AtPath | BesideLabel | TableAt) -> list[MarkupElement]:
    match at:
        case Selected(css=css):
            return [one for one in document.markup.select(css) if one.is_visible]
        case AtPath(steps=steps):
            return [one for one in _along(document, steps) if one.is_visible]
        case BesideLabel(tag=tag, label=label):
            return [one for one in document.markup.tagged(tag) if one.is_visible and _label(one) == label]
        case TableAt(id=id_, caption=caption, index=index, of=of):
            tables = [one for one in document.markup.tagged("table") if one.is_visible]
            if id_ or caption:
                return [one for one in tables if (one.get("id") if id_ else _caption(one)) == (id_ or caption)]
            return tables[index : index + 1] if len(tables) == of else []


def _json_texts(document: Document, at: JsonTexts) -> list[str] | None:
    items = inner_json(document.data, at.path)
    if not isinstance(items, list) or not items:
        return None
    values = [item.get(at.key) if isinstance(item, dict) and at.key else item for item in items]
    return [leaf_text(one) for one in values if isinstance(one, str | bool)] if _are_leaves(values) else None


def _are_leaves(values: Iterable[Any]) -> bool:
    return all(isinstance(value, str | bool) for value in values)


# ---------------------------------------------------------------------------------------------------- candidates


def _candidates(document: Document, field: ExtractField, value: Any) -> Iterator[Address]:
    match field.take:
        case "table":
            yield from _tables(document)
        case "count":
            yield from map(_selected, _counted(document, int(value)))
        case "texts":
            first = (one for one in _sized(document, str(value[0])) if line_of(one) == value[0])
            several = unique(map(_selected, _each(islice(first, _ELEMENTS_LIMIT), _kinds)))
            yield from (at for at in several if len(_elements(document, at)) == len(value))
            yield from _json_lists(document, value)
        case _:
            holding = (one for one in _holders(document, field, value) if _same(_converted(one, field), value))
            meant = list(islice(holding, _ELEMENTS_LIMIT))
            yield from map(_selected, _each(meant, _names))
            yield from (BesideLabel(tag=one.tag, label=label) for one in meant if (label := _label(one)))
            yield from map(_selected, _each(meant, _kinds))
            yield from (AtPath(steps=path) for one in meant if (path := _path(one)))
            if field.take == "text":
                yield from _json_leaves(document, field, value)


def _each(elements: Iterable[MarkupElement], selectors: Callable[[MarkupElement], Iterator[str]]) -> Iterator[str]:
    for element in elements:
        yield from selectors(element)


def _selected(css: str) -> Selected:
    return Selected(css=css)


def _converted(element: MarkupElement, field: ExtractField) -> Any:
    raw = _taken(element, field)
    return None if raw is None else converted(field, raw)


def _holders(document: Document, field: ExtractField, value: Any) -> list[MarkupElement]:
    """Return the elements that may hold the value."""
    if field.take == "text":
        return _sized(document, value if isinstance(value, str) else "")
    return [one for one in document.markup.elements if one.is_visible]


def _sized(document: Document, text: str) -> list[MarkupElement]:
    """Return the visible elements that are small enough to hold just this text, in order."""
    sizes: dict[int, int] = {}
    for element in reversed(document.markup.elements):
        sizes[id(element)] = sum(len(one) if isinstance(one, str) else sizes[id(one)] for one in element.children)
    limit = 3 * len(text) + _SHORT
    small = (one for one in document.markup.elements if one.is_visible and one.tag != "html")
    return [one for one in small if len(text) <= sizes[id(one)] + _SHORT and 0 < sizes[id(one)] <= limit]


def _names(element: MarkupElement) -> Iterator[str]:
    """Yield selectors by what names the element itself."""
    if id_ := element.get("id"):
        yield css_attribute("id", id_)
    if element.tag == "body":
        yield "body"
    for name in _TELLING:
        if value := element.get(name):
            yield element.tag + css_attribute(name, value)


def _kinds(element: MarkupElement) -> Iterator[str]:
    """Yield selectors by tag and class, also inside what has an id or class around it."""
    own = [element.tag, *(f"{element.tag}{_of_class(name)}" for name in element.get("class").split()[:4])]
    yield from own[1:]
    around = list(islice(element.ancestors(), 4))
    for one in around:
        if one.get("id"):
            yield from (f"{css_attribute('id', one.get('id'))} {css}" for css in own)
        yield from (f"{one.tag}{_of_class(name)} > {own[0]}" for name in one.get("class").split()[:2])
    yield from (f"{one.tag} > {css}" for one in around[:1] for css in own)
    yield own[0]


def _of_class(name: str) -> str:
    return css_attribute("class", name).replace("=", "~=", 1)


def _path(element: MarkupElement) -> tuple[tuple[str, int], ...]:
    """Return the steps from the body to the element; none outside of it."""
    steps: list[tuple[str, int]] = []
    for one in (element, *element.ancestors()):
        if one.tag == "body" or one.parent is None:
            break
        position, sibling = 1, one.before
        while sibling is not None:
            position += sibling.tag == one.tag
            sibling = sibling.before
        steps.append((one.tag, position))
    return tuple(reversed(steps))


def _along(document: Document, steps: tuple[tuple[str, int], ...]) -> list[MarkupElement]:
    """Return the element to which the steps lead, if there is one."""
    at = list(document.markup.tagged("body")[:1])
    for tag, position in steps:
        same = [inner for one in at for inner in one.elements if inner.tag == tag]
        at = same[position - 1 : position] if position > 0 else []
    return at


def _label(element: MarkupElement) -> str:
    """Return the short text of the element before this one, normalised; empty without one."""
    text = line_of(element.before) if element.before is not None else ""
    return normalise(text) if len(text) <= _LABEL_LIMIT else ""


def _caption(table: MarkupElement) -> str:
    return next((normalise(line_of(one)) for one in table.elements if one.tag == "caption"), "")


def _tables(document: Document) -> Iterator[TableAt]:
    tables = [one for one in document.markup.tagged("table") if one.is_visible]
    for table in tables[:_ELEMENTS_LIMIT]:
        if table.get("id"):
            yield TableAt(id=table.get("id"))
        if caption := _caption(table):
            yield TableAt(caption=caption)
    yield from (TableAt(index=index, of=len(tables)) for index in range(len(tables[:_ELEMENTS_LIMIT])))


def _counted(document: Document, count: int) -> list[str]:
    """Return selectors of kinds of which there are so many visible elements."""
    shown = [one for one in document.markup.elements if one.is_visible and one.tag not in ("html", "body")]
    kinds = Counter(css for one in shown for css in dict.fromkeys(_kinds(one)))
    return [css for css, number in kinds.items() if number == count]


def _json_leaves(document: Document, field: ExtractField, value: Any) -> Iterator[JsonPath | ScriptJson]:
    def is_meant(leaf: str | bool) -> bool:
        return _same(converted(field, leaf_text(leaf)), value)

    yield from (JsonPath(path=path) for path, leaf in leaves(document.data) if is_meant(leaf))
    for id_, data in json_scripts(document):
        yield from (ScriptJson(id=id_, path=path) for path, leaf in leaves(data) if is_meant(leaf))


def _json_lists(document: Document, value: list[str]) -> Iterator[JsonTexts]:
    for path, leaf in leaves(document.data):
        if leaf_text(leaf) == value[0]:
            if path[-1:] == (0,):
                yield JsonTexts(path=path[:-1])
            elif path[-2:-1] == (0,):
                yield JsonTexts(path=path[:-2], key=str(path[-1]))
