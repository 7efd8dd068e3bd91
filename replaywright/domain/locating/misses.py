"""Messages for elements that were not found: what was looked for, what comes nearest, and why that was not taken."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from rapidfuzz import fuzz

from replaywright.domain.common.text import contains, normalise
from replaywright.domain.locating.evidence import likelihoods, objections
from replaywright.domain.locating.matching import comparable
from replaywright.domain.page.query_words import quoted, words_of_query
from replaywright.domain.page.snapshots import Snapshot
from replaywright.domain.page.targets import ElementQuery, Target
from replaywright.domain.step.outcomes import Lookup

Sought: TypeAlias = Target | ElementQuery

_NEAREST: Final = 3
_ALIKE: Final = 60
"""Least likeness of a name, of 100, with which an element is told as near."""
_MISSED: Final = Lookup()
_TABLES: Final = frozenset({"table", "grid", "treegrid"})
"""Roles of what people call a table."""


def missed_message(sought: Sought | None, words: str, page: Snapshot | None, lookup: Lookup = _MISSED) -> str:
    """Return the message for a miss, on one line.

    Args:
        sought: The recorded element, or the one that the task declares; None if nothing is known of it.
        words: The step's own words for it.
        page: As it was when the element was missed; None if it could not be read.
        lookup: How it was missed: how many elements are as the task declares, and how many of these nobody can see.
    """
    looked = f"looked for {_sought_words(sought)}" if sought is not None else "nothing is recorded of this element"
    if lookup.hidden:
        looked += f"; the page has {lookup.hidden} that nobody can see: a step before may show it (a hover, a menu)"
    if several := lookup.reason == "ambiguous" and isinstance(sought, ElementQuery):
        number = f"{lookup.candidates} elements" if lookup.candidates > 1 else "elements of several frames"
        looked += f"; {number} are so: say more of the one that is meant (name, within, frame, nth)"
    if page is None:
        return f"{looked}; the page could not be read"
    seen = [candidate.target for candidate in comparable(page.elements, needs_input=True)]
    if not seen:
        return f"{looked}; the page shows nothing that can be used: it is empty, or has not loaded yet"
    near = _near_recorded(sought, seen) if isinstance(sought, Target) else _near_words(sought, words, seen)
    if several and not near:
        return looked
    least = f"nearest of {len(seen)}: " if near else f"none of the {len(seen)} controls of the page is like it"
    there = _of_role(sought, seen, near) or _tables(sought, page)
    return f"{looked}; {least}{', '.join(near)}{there}"


def _of_role(sought: Sought | None, seen: Sequence[Target], near: Sequence[str]) -> str:
    """Return the page's first elements of the role, where none that is near has it; empty if there are none.

    What stands in a group that is called as what was looked for ("Notes", with a text area in it) comes first.
    """
    if sought is None or not sought.role or any(words.startswith(f"{sought.role} ") for words in near):
        return ""
    there = [target for target in seen if target.role == sought.role]
    within = [target for target in there if sought.name and _is_in(target, sought.name)]
    told = [f"{_words(target)} in {target.container}" for target in within] or [_words(target) for target in there]
    return f"; there is {', '.join(told[:_NEAREST])}" if told else ""


def _is_in(seen: Target, name: str) -> bool:
    """Return whether an element stands in what has this name."""
    return normalise(seen.container.partition(" ")[2].strip('"')) == normalise(name)


def _tables(sought: Sought | None, page: Snapshot) -> str:
    """Return the page's first tables where one was looked for, with the roles that they have."""
    if sought is None or sought.role not in _TABLES:
        return ""
    around = (element.target.container.partition(" ") for element in page.elements)
    called = dict.fromkeys((role, name.strip('"')) for role, _, name in around if role in _TABLES)
    there = [f"{role} {quoted(name)}" if name else role for role, name in called]
    return f"; there is {', '.join(there[:_NEAREST])}" if there else ""


def _near_recorded(recorded: Target, seen: Sequence[Target]) -> list[str]:
    """Return the likeliest elements with their likelihoods, then those of a like name that certainly are others."""
    likely, _ = likelihoods(recorded, seen)
    told = [f"{_words(one.seen)} (likelihood {one.share:.2f})" for one in likely if one.share >= 0.005]
    certain = {id(target): why for target, why in objections(recorded, seen)}
    others = _by_name((recorded.name or recorded.label or recorded.text,), [t for t in seen if id(t) in certain])
    return [*told, *(f"{_words(target)} ({certain[id(target)]})" for target in others)][:_NEAREST]


def _near_words(query: ElementQuery | None, words: str, seen: Sequence[Target]) -> list[str]:
    """Return the elements whose names are most like those that the task declares, or like the step's words."""
    names: tuple[str, ...] = (words,)
    if query is not None:
        given = (query.name, query.name_contains, query.label, query.placeholder, query.text)
        names = (*filter(None, given), *(query.name_in or ()))
    inside = _by_name(names, _in_row(query, seen))
    near = [*inside, *(one for one in _by_name(names, seen) if not any(one is other for other in inside))][:_NEAREST]
    called = Counter(map(_words, near))
    return [_words(one) + (_place(one) if called[_words(one)] > 1 else "") + _difference(query, one) for one in near]


def _in_row(query: ElementQuery | None, seen: Sequence[Target]) -> list[Target]:
    """Return the elements of the row whose text the task declares."""
    words = query.within.text if query is not None and query.within is not None else None
    return [target for target in seen if words and any(contains(cell, words) for cell in target.row)]


def _place(seen: Target) -> str:
    """Return what tells an element from others of its name."""
    words = [text for text in seen.row if normalise(text) != normalise(_name_of(seen))]
    return f" beside {quoted(words[0])}" if words else f" in {seen.container}" if seen.container else ""


def _difference(query: ElementQuery | None, seen: Target) -> str:
    return f" (no {query.role})" if query and query.role and query.role != seen.role else ""


def _by_name(names: Iterable[str], seen: Sequence[Target]) -> list[Target]:
    """Return the elements that are called somewhat like one of the names, the likest first."""
    wanted = [normalise(name) for name in names if name]

    def likeness(target: Target) -> float:
        called = normalise(_name_of(target))
        return max((fuzz.WRatio(name, called) for name in wanted), default=0.0) if called else 0.0

    rated = sorted(((likeness(target), place) for place, target in enumerate(seen)), key=lambda one: (-one[0], one[1]))
    return [seen[place] for score, place in rated if score >= _ALIKE]


def _sought_words(sought: Sought) -> str:
    if isinstance(sought, Target):
        return _words(sought)
    return words_of_query(sought)


def _words(target: Target) -> str:
    name = _name_of(target)
    return f"{target.role or target.tag}" + (f" {quoted(name)}" if name else " without a name")


def _name_of(target: Target) -> str:
    return target.name or target.label or target.text or target.attributes.get("placeholder", "")
