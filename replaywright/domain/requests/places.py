"""Places in a document where a value comes from, as addresses that are found again in another document of its kind."""

from collections.abc import Callable, Container, Iterable, Iterator
from itertools import islice
from typing import Annotated, Literal, TypeAlias, TypeVar

from pydantic import Field

from replaywright.domain.common.base import Record
from replaywright.domain.common.text import css_attribute, normalise
from replaywright.domain.requests.document import Document, Json, JsonSteps, inner_json, leaf_text, leaves, parse_json
from replaywright.domain.requests.forms import Form, FormAddress, forms_of, path_like, starred_path
from replaywright.domain.requests.markup import MarkupElement, line_of, raw_text

PLAIN_LENGTH = 4
"""Characters that a value has at least to be looked for outside of forms: shorter ones stand anywhere by chance."""
PLACES_LIMIT = 40
_LOOKED_AT = 100
_ROWS = ("tr", "li", "article")
_LEAVES_LIMIT = 2_000
"""Leaves of items that values name; more say nothing."""
_PARTS_LIMIT = 40
"""Elements of a row that are looked at."""
_LABEL_LIMIT = 80
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


class JsonItem(Record):
    """A leaf of the only item of a list in JSON that has another leaf with a text."""

    kind: Literal["json_item"] = "json_item"
    path: JsonSteps
    """Path of the list."""
    leaf: JsonSteps
    """Path of the leaf in the item."""
    key: JsonSteps
    """Path of the other leaf in it."""
    row: str
    """Text of that; it may be a template."""


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


class RowLink(Record):
    """The absolute address of the only visible link with a text in a row, item or article that has another text."""

    kind: Literal["row_link"] = "row_link"
    text: str
    row: str
    """All that a part of the row says, such as a cell; it may be a template."""
    part: str
    """Which part that is: another column may say the same in another item's row."""
    path_like: str = ""
    """As of `LinkAddress`; empty for any, where items have words for numbers."""


class FormTarget(Record):
    """The absolute address that a form is sent to."""

    kind: Literal["form_target"] = "form_target"
    form: FormAddress


Place: TypeAlias = Annotated[
    FormField
    | FormOption
    | FormTarget
    | MetaContent
    | DataAttribute
    | JsonPath
    | JsonItem
    | ScriptJson
    | LinkAddress
    | RowLink,
    Field(discriminator="kind"),
]


def with_labels(place: Place, change: Callable[[str], str]) -> Place:
    """Return the place with its labels and the segments of its paths changed; those with digits stay `*`."""

    def segments(path: str, *, starred: bool) -> str:
        changed = "/".join(map(change, path.split("/")))
        return starred_path(changed) if starred else changed

    match place:
        case FormField() | FormOption() | FormTarget():
            path = place.form.action
            form = place.form.model_copy(update={"action": segments(path, starred="*" in path)})
            labels = {"label": change(place.label)} if isinstance(place, FormOption) else {}
            return place.model_copy(update={"form": form, **labels})
        case JsonItem():
            return place.model_copy(update={"row": change(place.row)})
        case LinkAddress() | RowLink():
            labels = {"row": change(place.row)} if isinstance(place, RowLink) else {}
            path = segments(place.path_like, starred=True)
            return place.model_copy(update={"text": change(place.text), "path_like": path, **labels})
        case _:
            return place


def find(document: Document, place: Place) -> str | None:
    """Return the value at a place of the document; None if it is absent, or there are several that differ."""
    of_form = isinstance(place, FormField | FormOption | FormTarget)
    return _one(_values(document, place, forms_of(document) if of_form else ()))


def _one(found: Iterable[str]) -> str | None:
    values = set(found)
    return values.pop() if len(values) == 1 else None


def _values(document: Document, place: Place, forms: Iterable[Form]) -> Iterator[str]:  # noqa: C901 - one case a place
    match place:
        case FormField(form=address, name=name):
            for form in (one for one in forms if address in one.addresses):
                yield from (value for of, value in form.pairs if of == name)
        case FormOption(form=address, name=name, label=label):
            for form in (one for one in forms if address in one.addresses):
                yield from form.values_labelled(name, label)
        case FormTarget(form=address):
            yield from (form.action for form in forms if address in form.addresses)
        case MetaContent(name=name):
            yield from (one.get("content") for one in document.markup.tagged("meta") if name in _meta_names(one))
        case DataAttribute(selector=selector, name=name):
            found = document.markup.select(selector)
            yield from (one.attributes[name] for one in found if name in one.attributes)
        case JsonPath(path=path):
            yield from _at(document.data, path)
        case JsonItem(path=path, leaf=leaf, key=key, row=row):
            items = (item for item in _items(document.data, path) if row in _at(item, key))
            yield from (value for item in items for value in _at(item, leaf))
        case ScriptJson(id=id_, path=path):
            yield from (leaf for of, data in json_scripts(document) if of == id_ for leaf in _at(data, path))
        case LinkAddress(text=text, path_like=path):
            wanted = (normalise(text), path)
            links = _links(document)
            yield from (url for _, said, url in links if (normalise(said), path_like(url)) == wanted)
        case RowLink(text=text, row=row, part=part, path_like=path):
            named = (one for one in _links(document) if normalise(one[1]) == normalise(text))
            links = [one for one in named if path in ("", path_like(one[2]))]
            yield from (url for link, _, url in links if normalise(_row_parts(link).get(part, "")) == normalise(row))


def places_of(document: Document, value: str) -> tuple[Place, ...]:
    """Return the places whose value is exactly `value`, those of forms first; each is found in this document.

    Numbers and truth values of JSON count as JSON writes them. Outside of forms the value needs `PLAIN_LENGTH`
    characters.
    """
    forms = forms_of(document)
    candidates = islice(unique(_candidates(document, value, forms)), _LOOKED_AT)
    found = (place for place in candidates if _one(_values(document, place, forms)) == value)
    return tuple(islice(found, PLACES_LIMIT))


def values_in(document: Document) -> frozenset[str]:
    """Return all values that a place of the document may have, and more: what is not among them stands nowhere."""
    forms = forms_of(document)
    return frozenset(
        (
            *(value for element in document.markup.elements for value in element.attributes.values()),
            *(value for form in forms for _, value in form.pairs),
            *(value for form in forms for _, _, value in form.choices),
            *(form.action for form in forms),
            *(url for _, _, url in _links(document)),
            *(leaf_text(leaf) for _, leaf in leaves(document.data)),
            *(leaf_text(leaf) for _, data in json_scripts(document) for _, leaf in leaves(data)),
        )
    )


def keyed(document: Document, key: str, value: str) -> tuple[JsonPath, ...]:
    """Return the places of JSON, not in lists, that have this key and exactly this value, however short it is."""
    paths = (path for path in _paths(document.data, value) if path[-1:] == (key,))
    return tuple(JsonPath(path=path) for path in paths if not any(isinstance(step, int) for step in path))


def items_named(document: Document, texts: Container[str]) -> dict[str, list[JsonItem]]:
    """Return, by their values, the leaves of those items of lists in JSON of which another leaf is one of `texts`."""
    found: dict[str, list[JsonItem]] = {}
    for path, text in leaves(document.data):
        at = next((index for index, step in enumerate(path) if isinstance(step, int)), -1)
        key = path[at + 1 :]
        if at < 0 or text not in texts or any(isinstance(step, int) for step in key):
            continue
        for leaf, value in leaves(inner_json(document.data, path[: at + 1])):
            place = JsonItem(path=path[:at], leaf=leaf, key=key, row=leaf_text(text))
            if leaf != key and not any(isinstance(step, int) for step in leaf):
                found.setdefault(leaf_text(value), []).append(place)
        if sum(map(len, found.values())) > _LEAVES_LIMIT:
            return {}
    return found


def unique(items: Iterable[_Item]) -> Iterator[_Item]:
    """Yield each item once, as soon as it comes."""
    seen: set[_Item] = set()
    for item in items:
        if item not in seen:
            seen.add(item)
            yield item


def _candidates(document: Document, value: str, forms: Iterable[Form]) -> Iterator[Place]:
    for form in forms:
        yield from _of_form(form, value)
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
    if "://" in value:
        yield from _leading_to(document, value)


def _of_form(form: Form, value: str) -> Iterator[Place]:
    for address in form.addresses:
        yield from (FormField(form=address, name=name) for name, of in form.pairs if of == value)
        yield from (
            FormOption(form=address, name=name, label=label)
            for name, label, of in form.choices
            if of == value and label
        )
        if value and form.action == value:
            yield FormTarget(form=address)


def _leading_to(document: Document, value: str) -> Iterator[Place]:
    for link, text, url in _links(document):
        if url == value:
            if text:
                yield LinkAddress(text=text, path_like=path_like(url))
            for part, row in _row_parts(link).items():
                yield RowLink(text=text, row=row, part=part, path_like=path_like(url))
                yield RowLink(text=text, row=row, part=part)


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


def _items(data: Json, path: JsonSteps) -> list[Json]:
    found = inner_json(data, path)
    return found if isinstance(found, list) else []


def _links(document: Document) -> list[tuple[MarkupElement, str, str]]:
    """List the visible links with their texts and addresses."""
    links = (one for one in document.markup.tagged("a") if one.is_visible and "href" in one.attributes)
    return [(one, line_of(one), url.partition("#")[0]) for one in links if (url := document.address(one.get("href")))]


def _row_parts(link: MarkupElement) -> dict[str, str]:
    """Return what each of the other parts says of the row, item or article around a link, by its place in it."""
    row = next((one for one in link.ancestors() if one.tag in _ROWS), None)
    if row is None:
        return {}
    around = {id(link), *map(id, link.ancestors())}
    parts = islice((one for one in row.inside() if one.is_visible and id(one) not in around), _PARTS_LIMIT)
    return {_within(one, row): text for one in parts if 0 < len(text := line_of(one)) <= _LABEL_LIMIT}


def _within(part: MarkupElement, row: MarkupElement) -> str:
    """Return the tags and numbers that lead from a row to a part of it."""
    steps: list[str] = []
    for one in (part, *part.ancestors()):
        if one is row:
            break
        number, before = 1, one.before
        while before is not None:
            number, before = number + 1, before.before
        steps.append(f"{one.tag} {number}")
    return " > ".join(reversed(steps))
