"""What a page shows, as far as it tells whether it is the same page again."""

from collections import Counter

from replaywright.domain.common.base import Record
from replaywright.domain.common.text import normalise

ALIKE = 0.6
"""The part of a page's named elements that a restored page has to show again."""


class Outline(Record):
    """The elements of a page and its frames that have a name or a value."""

    elements: tuple[tuple[str, str, str | None], ...] = ()
    """Role, name, and what it holds: None of what cannot be acted on."""


def unlike(before: Outline, after: Outline) -> str:
    """What shows that a page is not as it was; empty when it is.

    Fields have to hold what they held, and most of what had a name has to be there again.
    """
    told, shown = _fields(before), _fields(after)
    for (role, name), value in told.items():
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
