"""Outlines of pages, for recognising a restored page."""

from collections import Counter

from replaywright.domain.common.base import Record
from replaywright.domain.common.text import normalise

ALIKE = 0.6
"""Share of a page's named elements that a restored page must show."""


class Outline(Record):
    """Elements of a page and its frames with a name or a value."""

    elements: tuple[tuple[str, str, str | None], ...] = ()
    """Role, name and value; None as value of an element that is not actionable."""


def unlike(before: Outline, after: Outline) -> str:
    """Return the difference of a restored page; empty if it is alike.

    Fields must have the same values, and most named elements must be there.
    """
    held, shown = _fields(before), _fields(after)
    for (role, name), value in held.items():
        if value and shown.get((role, name)) != value:
            return f"{role} {name!r} does not hold what it held"
    named, seen = _named(before), _named(after)
    if named and (found := (named & seen).total()) < ALIKE * named.total():
        return f"{found} of {named.total()} elements are there again"
    return ""


def _fields(outline: Outline) -> dict[tuple[str, str], str]:
    fields = [(role, name, value) for role, name, value in outline.elements if value is not None]
    keys = Counter((role, name) for role, name, _ in fields)
    return {(role, name): value for role, name, value in fields if keys[role, name] == 1}


def _named(outline: Outline) -> Counter[tuple[str, str]]:
    return Counter((role, normalise(name)) for role, name, _ in outline.elements if name)
