"""Texts by which a page says what it is about, and what went wrong."""

from collections.abc import Sequence
from typing import Final

from replaywright.domain.page.snapshots import Snapshot

ABOUT: Final = ("alertdialog", "dialog", "alert", "heading")
"""Roles of elements that say what a page is about, the most telling first."""
_WRONG: Final = ("alertdialog", "alert", "dialog", "status")
"""Roles of elements that say what went wrong, the most telling first."""


def texts_of(page: Snapshot, roles: Sequence[str]) -> tuple[str, ...]:
    """Return the distinct texts of visible elements of these roles, those of the first role first."""
    told = [element for element in page.elements if element.visible and element.target.role in roles]
    told.sort(key=lambda element: roles.index(element.target.role))
    texts = (" ".join((element.target.name or element.target.text).split()) for element in told)
    return tuple(dict.fromkeys(text for text in texts if text))


def alerts_of(page: Snapshot) -> tuple[str, ...]:
    """Return the texts of the page's alerts."""
    return texts_of(page, ("alertdialog", "alert"))


def complaints_of(page: Snapshot, good: Snapshot | None) -> tuple[str, ...]:
    """Return the alerts and messages of a page on which a step failed, and its headings, as some sites use them.

    `good` is the page after the same step of a good run; what it says is left out. Without a good run all headings are
    left out: nothing tells which of them are usual.
    """
    if good is None:
        return texts_of(page, _WRONG)
    roles = (*_WRONG, "heading")
    usual = texts_of(good, roles)
    return tuple(text for text in texts_of(page, roles) if text not in usual)
