"""Places in a document where a value comes from, as addresses that are found again in another document of its kind."""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Annotated, Literal, TypeAlias, TypeVar

from pydantic import Field

from replaywright.domain.common.base import Record
from replaywright.domain.common.text import css_attribute, normalise
from replaywright.domain.requests.document import Document, Json, JsonSteps, inner_json, leaf_text, leaves, parse_json
from replaywright.domain.requests.forms import Form, FormAddress, forms_of, path_of
from replaywright.domain.requests.markup import MarkupElement, line_of, raw_text

PLAIN_LENGTH = 4
"""Characters that a value has at least to be looked for outside of forms: shorter ones stand anywhere by chance."""
PLACES_LIMIT = 40
_LOOKED_AT = 100
_Item = TypeVar("_Item")


class FormField(Record):
    """The value of a field in a form."""

    kind: Literal["form_field"] = "form_field"
    form: FormAddress
    name: str


class FormOption(Record):
    """The value of the choice with a visible label in a field of a form."""

    kind: Literal["option"] = "option"
    form: FormAddress
    name: str
    label: str
    """It may be a template: it is filled before it is looked up."""


class MetaContent(Record):
    """The content of a `<meta>` by its `name` or `property`."""

    kind: Literal["meta"] = "meta"
    name: str


class DataAttribute(Record):
    """A `data-*` attribute of an element with an id, or of the page's root or body."""

    kind: Literal["attribute"] = "attribute"
    selector: str
    name: str


class JsonPath(Record):
    """A leaf of JSON."""

    kind: Literal["json"] = "json"
    path: JsonSteps


class ScriptJson(Record):
    """A leaf of the JSON in a `<script>` with an id."""

    kind: Literal["script_json"] = "script_json"
    id: str
    path: JsonSteps


class LinkAddress(Record):
    """The absolute address of the only visible link with a text."""

    kind: Literal["link"] = "link"
    text: str
    path_like: str
    """Path of the address, `*` for each segment with a digit."""


Place: TypeAlias = Annotated[
    FormField | FormOption | MetaContent | DataAttribute | JsonPath | ScriptJson | LinkAddress,
    Field(discriminator="kind"),
]


def find(document: Document, place: Place) -> str | None:
    """Return the value at a place of the document; None if it is absent, or there are several that differ."""
    of_form = isinstance(place, FormField | FormOption)
    return _one(_values(document, place, forms_of(document) if of_form else ()))


def _one(found: Iterable[str]) -> str | None:
    values = set(found)
    return values.pop() if len(values) == 1 else None


def _values(document: Document, place: Place, forms: Iterable[Form]) -> Iterator[str]:
    match place:
        case FormField(form=address, name=name):
            for form in (one for one in forms if one.address == address):
                yield from (value for of, value in form.pairs if of == name)
        case FormOption(form=address, name=name, label=label):
            for form in (one for one in forms if one.address == address):
                yield from form.values_labelled(name, label)
        case MetaContent(name=name):
            yield from (one.get("content") for one in document.markup.tagged("meta") if name in _meta_names(one))
        case DataAttribute(selector=selector, name=name):
            found = document.markup.select(selector)
            yield from (one.attributes[name] for one in found if name in one.attributes)
        case JsonPath(path=path):
            yield from _at(document.data, path)
        case ScriptJson(id=id_, path=path):
            yield from (leaf for of, data in json_scripts(document) if of == id_ for leaf in _at(data, path))
        case LinkAddress(text=text, path_like=path):
            yield from (url for said, url in _links(document) if (said, path_like(url)) == (normalise(text), path))


def places_of(document: Document, value: str) -> tuple[Place, ...]:
    """Return the places whose value is exactly `value`, those of forms first; each is found in this document.

    Numbers and truth values of JSON count as JSON writes them. Outside of forms the value needs `PLAIN_LENGTH`
    characters.
    """
    if not value:
        return ()
    forms = forms_of(document)
    candidates = islice(unique(_candidates(document, value, forms)), _LOOKED_AT)
    found = (place for place in candidates if _one(_values(document, place, forms)) == value)
    return tuple(islice(found, PLACES_LIMIT))


def unique(items: Iterable[_Item]) -> Iterator[_Item]:
    """Yield each item once, as soon as it comes."""
    seen: set[_Item] = set()
    for item in items:
        if item not in seen:
            seen.add(item)
            yield item


def _candidates(document: Document, value: str, forms: Iterable[Form]) -> Iterator[Place]:
    for form in forms:
        yield from (FormField(form=form.address, name=name) for name, of in form.pairs if of == value)
        yield from (
            FormOption(form=form.address, name=name, label=label)
            for name, label, of in form.choices
            if of == value and label
        )
    if len(value) < PLAIN_LENGTH:
        return
    for meta in document.markup.tagged("meta"):
        if meta.get("content") == value:
            yield from (MetaContent(name=name) for name in _meta_names(meta))
    for element in document.markup.elements:
        named = [name for name, of in element.attributes.items() if of == value and name.startswith("data-")]
        if named and (selector := _selector(element)):
            yield from (DataAttribute(selector=selector, name=name) for name in named)
    yield from (JsonPath(path=path) for path in _paths(document.data, value))
    for id_, data in json_scripts(document):
        yield from (ScriptJson(id=id_, path=path) for path in _paths(data, value))
    for text, url in _links(document):
        if text and url == value:
            yield LinkAddress(text=text, path_like=path_like(url))


def _meta_names(meta: MarkupElement) -> list[str]:
    return [name for name in (meta.get("name"), meta.get("property")) if name]


def _selector(element: MarkupElement) -> str:
    if element.tag in ("html", "body"):
        return element.tag
    return css_attribute("id", element.get("id")) if element.get("id") else ""


def json_scripts(document: Document) -> Iterator[tuple[str, Json]]:
    """Yield ids and values of the scripts that are JSON."""
    for script in document.markup.tagged("script"):
        if script.get("id") and script.get("type").strip().lower().endswith("json"):
            try:
                yield script.get("id"), parse_json(raw_text(script))
            except ValueError:
                continue


def _paths(data: Json, value: str) -> Iterator[JsonSteps]:
    return (path for path, leaf in leaves(data) if leaf_text(leaf) == value)


def _at(data: Json, path: JsonSteps) -> Iterator[str]:
    """Yield the leaf at the path, if there is one."""
    leaf = inner_json(data, path)
    if isinstance(leaf, str | bool):
        yield leaf_text(leaf)


def _links(document: Document) -> list[tuple[str, str]]:
    """List texts, normalised, and addresses of the visible links."""
    links = (one for one in document.markup.tagged("a") if one.is_visible and "href" in one.attributes)
    return [(normalise(line_of(one)), url) for one in links if (url := document.address(one.get("href")))]


def path_like(url: str) -> str:
    """Return the path of an address with `*` for each segment that has a digit."""
    return "/".join("*" if re.search(r"\d", part) else part for part in path_of(url).split("/"))
