"""Forms of a document: their addresses, their fields' values and choices as they are when the page is loaded."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from urllib.parse import unquote

from ada_url import URL

from replaywright.domain.common.base import Record
from replaywright.domain.common.text import normalise
from replaywright.domain.requests.document import Document
from replaywright.domain.requests.markup import MarkupElement, line_of, raw_text, words
from replaywright.domain.requests.naming import label_of

_PRESSED = words("submit image button reset")
_TICKED = words("checkbox radio")
_CONTROLS = ("input", "select", "textarea", "button")


class FormAddress(Record):
    """The description of a form by which it is found again."""

    action: str
    """Path of the address that it is sent to, decoded; `*` may stand for each segment with a digit; empty for any."""
    method: str
    """In upper case."""
    names: tuple[str, ...]
    """Names of its fields, sorted, each once; without its buttons."""


@dataclass(frozen=True)
class Form:
    """A form of a document."""

    address: FormAddress
    action: str
    """Absolute address that it is sent to."""
    pairs: tuple[tuple[str, str], ...] = field(repr=False)
    """Names and values that a browser would send for it untouched, in order; without the buttons."""
    choices: tuple[tuple[str, str, str], ...] = field(repr=False)
    """Name, visible label and value of the options, boxes and radio buttons that may be chosen in it."""

    @property
    def addresses(self) -> tuple[FormAddress, ...]:
        """The address that it has in common with forms for other items, its own, and one by its fields alone."""
        actions = (path_like(self.action), self.address.action, "")
        return tuple(self.address.model_copy(update={"action": action}) for action in dict.fromkeys(actions))

    def values_labelled(self, name: str, label: str) -> set[str]:
        """Return the values of the choices of a field with this label: one if it says which."""
        return self._labelled.get((name, normalise(label)), set())

    @cached_property
    def _labelled(self) -> dict[tuple[str, str], set[str]]:
        found: dict[tuple[str, str], set[str]] = {}
        for name, label, value in self.choices:
            found.setdefault((name, normalise(label)), set()).add(value)
        return found


def forms_of(document: Document) -> tuple[Form, ...]:
    """Return the forms of a document in order."""
    markup = document.markup
    controls: dict[int, list[MarkupElement]] = {}
    for control in (one for one in markup.elements if one.tag in _CONTROLS):
        owner = markup.by_id(control.get("form")) if "form" in control.attributes else _around(control)
        controls.setdefault(id(owner), []).append(control)
    return tuple(_form(document, form, controls.get(id(form), [])) for form in markup.tagged("form"))


def _around(control: MarkupElement) -> MarkupElement | None:
    return next((one for one in control.ancestors() if one.tag == "form"), None)


def _form(document: Document, form: MarkupElement, controls: list[MarkupElement]) -> Form:
    fields = [one for one in controls if one.get("name") and not _is_button(one)]
    action = document.address(form.get("action")) if form.get("action").strip() else document.url
    method = form.get("method").strip().upper()
    address = FormAddress(
        action=unquote(path_of(action)),
        method=method if method in ("POST", "DIALOG") else "GET",
        names=tuple(sorted({one.get("name") for one in fields})),
    )
    pairs = tuple((one.get("name"), value) for one in fields if not _is_disabled(one) for value in _values(one))
    return Form(address, action, pairs, tuple(choice for one in fields for choice in _choices(document, one)))


def path_of(url: str) -> str:
    """Return the path of an absolute address; empty for none."""
    try:
        return URL(url).pathname
    except ValueError:
        return ""


def path_like(url: str) -> str:
    """Return the decoded path of an address with `*` for each segment that has a digit."""
    return starred_path(unquote(path_of(url)))


def starred_path(path: str) -> str:
    """Return a path with `*` for each segment that has a digit; templates stay as they are."""
    return "/".join("*" if re.search(r"\d", part) and "{{" not in part else part for part in path.split("/"))


def _type(control: MarkupElement) -> str:
    return control.get("type").strip().lower()


def _is_button(control: MarkupElement) -> bool:
    return control.tag == "button" or (control.tag == "input" and _type(control) in _PRESSED)


def _is_disabled(control: MarkupElement) -> bool:
    around = control.ancestors()
    return "disabled" in control.attributes or any(
        one.tag == "fieldset" and "disabled" in one.attributes for one in around
    )


def _values(control: MarkupElement) -> Iterator[str]:
    """Yield the values that an untouched field sends."""
    match control.tag:
        case "select":
            yield from (value_of(option) for option in _chosen(control))
        case "textarea":
            yield raw_text(control)
        case _ if _type(control) in _TICKED:
            if "checked" in control.attributes:
                yield control.attributes.get("value", "on")
        case _ if _type(control) != "file":
            yield control.get("value")


def _chosen(select: MarkupElement) -> list[MarkupElement]:
    """Return the options that are chosen when the page is loaded."""
    options = list(select.inside("option"))
    chosen = [one for one in options if "selected" in one.attributes]
    if "multiple" in select.attributes:
        return [one for one in chosen if not _is_off(one)]
    if not chosen and select.get("size").strip() in ("", "0", "1"):
        chosen = [one for one in options if not _is_off(one)][:1]
    return [one for one in chosen[-1:] if not _is_off(one)]


def _is_off(option: MarkupElement) -> bool:
    group = option.parent
    in_group = group is not None and group.tag == "optgroup" and "disabled" in group.attributes
    return "disabled" in option.attributes or in_group


def value_of(option: MarkupElement) -> str:
    """Return the value that an option sends."""
    return option.attributes.get("value", " ".join(raw_text(option).split()))


def option_label(option: MarkupElement) -> str:
    """Return the label of an option as a person reads it."""
    return option.get("label").strip() or " ".join(raw_text(option).split())


def selected_label(select: MarkupElement) -> str:
    """Return the labels of the options that are chosen when the page is loaded."""
    return ", ".join(map(option_label, _chosen(select)))


def _choices(document: Document, control: MarkupElement) -> Iterator[tuple[str, str, str]]:
    name = control.get("name")
    if control.tag == "select":
        yield from ((name, option_label(one), value_of(one)) for one in control.inside("option") if not _is_off(one))
    elif control.tag == "input" and _type(control) in _TICKED:
        label = label_of(control, document.markup) or _text_after(control) or control.get("aria-label")
        yield name, label, control.attributes.get("value", "on")


def _text_after(control: MarkupElement) -> str:
    """Return the words behind a box or radio button that has no label."""
    siblings = control.parent.children if control.parent is not None else []
    at = next((index for index, one in enumerate(siblings) if one is control), len(siblings))
    after = next((one for one in siblings[at + 1 :] if not isinstance(one, str) or one.strip()), "")
    return " ".join(after.split()) if isinstance(after, str) else line_of(after) if after.tag == "span" else ""
