"""Expectations of a step, derived from its consequences while it was learned.

The pages before and after the step are compared: a new address, an element that appeared, else the pressed element that
vanished. Values of parameters become templates. Volatile parts are ignored: differences between two readings after the
step, digits that belong to no parameter (times, counters, order numbers), rows of tables; so is everything that held
before.

A new address is required from then on. Elements that appeared or vanished are additional evidence for
`replaywright.domain.proof.proof`, since a redesign may change their wording; `loosened` drops them then.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Final

from replaywright.domain.common.base import Record
from replaywright.domain.common.templates import fill, generalise, secrets_in
from replaywright.domain.common.text import EDGE, contains, normalise
from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.page.snapshot_diff import diff
from replaywright.domain.page.snapshots import Element, Snapshot
from replaywright.domain.page.targets import ElementQuery, Target
from replaywright.domain.predicate.predicates import (
    Exists,
    NotExists,
    Predicate,
    TextContains,
    UrlContains,
    ValueEquals,
    fill_predicate,
    meaning_of,
    named_parameters,
)
from replaywright.domain.step.fingerprints import site_scope
from replaywright.domain.task.steps import Fill, SelectOption, Step, Type

SOFT_MS: Final = 2_000
"""Patience for elements that appeared or vanished: they are additional evidence only."""
_LONGEST: Final = 80
"""Characters of a text that is used; a longer one is content, not a message."""
_TELLING: Final = {
    role: rank
    for rank, roles in enumerate(
        (("alert", "status"), ("heading", "dialog", "alertdialog"), ("button", "link", "tab", "menuitem", "textbox"))
    )
    for role in roles
}
"""Roles of elements that show the place or a result, most significant first."""
_TIMES: Final = frozenset({"timer", "progressbar", "meter", "marquee", "log"})


class Seen(Record):
    """A page before a step, and twice after it."""

    before: Snapshot | None = None
    """None for a step whose own element shows the result."""
    after: Snapshot
    again: Snapshot | None = None
    """A moment later; differences from `after` are volatile."""


def derived_from(step: Step, seen: Seen, target: Target | None, values: Mapping[str, str]) -> tuple[Predicate, ...]:
    """Return the expectations of `step` as templates over the parameters of `values`; possibly none."""
    if isinstance(step, Fill | Type | SelectOption):
        found = _value_of(step, seen.after, target, values)
    elif seen.before is None or seen.again is None:
        found = ()
    else:
        found = (*_address(seen.before, seen.again, values, target), *_message(seen.before, seen, values, target))
    return tuple(predicate for predicate in found if not secrets_in(str(meaning_of(predicate))))


def filled_expectations(derived: Iterable[Predicate], values: Mapping[str, str]) -> tuple[Predicate, ...]:
    """Fill the derived predicates with `values`; those with other parameters are left out."""
    usable = (predicate for predicate in derived if named_parameters(predicate) <= values.keys())
    return tuple(fill_predicate(predicate, values) for predicate in usable)


def loosened(
    derived: Sequence[Predicate], results: Sequence[PredicateResult], values: Mapping[str, str]
) -> tuple[Predicate, ...]:
    """Drop predicates that failed although the step was done.

    `results` are the verdicts on those that `filled_expectations` makes of them; none where nothing was expected of an
    element that stands where the recorded one stood.
    """
    if not results:
        return tuple(derived)
    usable = [predicate for predicate in derived if named_parameters(predicate) <= values.keys()]
    failed = [
        predicate for predicate, result in zip(usable, results, strict=True) if not (result.passed or result.required)
    ]
    return tuple(predicate for predicate in derived if predicate not in failed)


def _value_of(
    step: Fill | Type | SelectOption, page: Snapshot, target: Target | None, values: Mapping[str, str]
) -> tuple[Predicate, ...]:
    """Expect the entered value, if the field can be named and shows it."""
    value = step.value
    query = None if target is None or target.frame else _query_for(target)
    if value is None or query is None or target is None or target.attributes.get("type") == "password":
        return ()
    named = [element for element in page.elements if element.visible and _answers(element, query)]
    if len(named) != 1 or secrets_in(value) or named[0].value != fill(value, values):
        return ()  # a page that reformats input may do so with some values only
    # The step has waited for the value already; this only checks that it is still there.
    return (ValueEquals(value_equals=value, of=query, required=False, within_ms=0),)


def _address(
    before: Snapshot, after: Snapshot, values: Mapping[str, str], target: Target | None
) -> tuple[Predicate, ...]:
    """Expect the new path, up to its first part that differs between runs, or between links of the same name."""
    was, now = (site_scope(page.url) for page in (before, after))
    if was == now:
        return ()
    origin, _, path = now.partition("://")[2].partition("/")
    general = generalise(f"/{path}", values, values)
    stable = general.partition("{id}")[0]
    shared = _shared_path(before, target)
    if shared and stable.startswith(shared):
        stable = shared
    if normalise(was.partition("://")[2].partition("/")[0]) != normalise(origin):
        stable = f"{origin}{stable}"
    if len(stable) < 2 or stable in before.url:
        return ()
    return (UrlContains(url_contains=stable),)


def _shared_path(page: Snapshot, target: Target | None) -> str:
    """Return the path that links of the name of `target` have in common where they lead to different pages, else "".

    One row's "Delete" leads to `/delete/NQ==`, the next one's to `/delete/MzI=`.
    """
    if target is None or target.role != "link":
        return ""
    links = (other.target for other in page.elements if other.target.role == "link")
    paths = {link.attributes.get("href", "") for link in links if link.name == target.name} - {""}
    parts = zip(*(path.split("/") for path in paths), strict=False)
    shared = [same[0] for same in takewhile(lambda each: len(set(each)) == 1, parts)]
    return "/".join([*shared, ""]) if len(paths) > 1 else ""


def _message(before: Snapshot, seen: Seen, values: Mapping[str, str], target: Target | None) -> tuple[Predicate, ...]:
    """Expect the most significant element that appeared and stays, else that the pressed one is gone."""
    assert seen.again is not None
    stays = {_identity(element) for element in seen.again.elements if element.visible}
    known = {_identity(element) for element in before.elements if element.visible}
    appeared = [
        element
        for element in diff(before, seen.after).appeared
        if _identity(element) in stays - known and not element.group and not element.target.frame
    ]
    ranked = sorted(
        (predicate for element in appeared if (predicate := _shows(element, values)) is not None),
        key=lambda pair: pair[0],
    )
    if ranked:
        return (ranked[0][1],)
    if target is None or target.frame or not (target.role and target.name):
        return ()
    gone = (target.role, normalise(target.name))
    name = generalise(target.name, values, values)
    if gone in known and gone not in stays and not re.search(r"\d", name):
        query = ElementQuery(role=target.role, name=name)
        return (NotExists(not_exists=query, required=False, within_ms=SOFT_MS),)
    return ()


def _shows(element: Element, values: Mapping[str, str]) -> tuple[int, Predicate] | None:
    """Return a predicate for the element with its rank (0 is best); None if its text may change."""
    target = element.target
    text = target.name or target.text
    general = generalise(text.strip(), values, values)
    if not general or len(text) > _LONGEST or re.search(r"\d", re.sub(r"\{\{.*?\}\}", "", general)):
        return None
    if target.role in _TIMES or target.tag == "time" or _is_part_of_a_value(text, values):
        return None
    if target.name and target.role in _TELLING:
        query = ElementQuery(role=target.role, name=general)
        return _TELLING[target.role], Exists(exists=query, required=False, within_ms=SOFT_MS)
    if element.actionable:
        return None
    return len(_TELLING), TextContains(text_contains=general, required=False, within_ms=SOFT_MS)


def _is_part_of_a_value(text: str, values: Mapping[str, str]) -> bool:
    """Return True for words out of a longer value, such as a heading of an entered text: the next value has others."""
    words = f"{EDGE}{text.strip()}{EDGE}"
    return any(normalise(text) != normalise(value) and contains(value, words) for value in values.values())


def _query_for(target: Target) -> ElementQuery | None:
    if target.role and target.name and not re.search(r"\d", target.name):
        return ElementQuery(role=target.role, name=target.name)
    return None


def _answers(element: Element, query: ElementQuery) -> bool:
    return _identity(element) == (query.role, normalise(query.name or ""))


def _identity(element: Element) -> tuple[str, str]:
    return element.target.role, normalise(element.target.name or element.target.text)
