"""What a step is expected to lead to, derived from what it led to while it was learned.

The page before and after the step are compared: another address, something that appeared, else the pressed element
that vanished. Values of parameters in it become parameters again. What is likely to be otherwise the next time is not
taken: what differs between two readings of the page after the step, what has digits that are no parameter's (times,
counters, numbers of orders), the rows of tables; and nothing that held before the step anyway.

A changed address is required from then on. What appeared or vanished is what `replaywright.domain.proof.proof` takes as
evidence beside others, since a redesign may word it otherwise; see `loosened` for what becomes of it then.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from replaywright.domain.common.base import Record
from replaywright.domain.common.templates import fill, generalise, secrets_in
from replaywright.domain.common.text import normalise
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
"""Patience for what appeared or vanished: it is no more than evidence."""
_LONGEST: Final = 80
"""Characters of a text that is taken; a longer one is content, not a message."""
_TELLING: Final = {
    role: rank
    for rank, roles in enumerate(
        (("alert", "status"), ("heading", "dialog", "alertdialog"), ("button", "link", "tab", "menuitem", "textbox"))
    )
    for role in roles
}
"""Roles of elements that say where one is or what has happened, the most telling first."""
_TIMES: Final = frozenset({"timer", "progressbar", "meter", "marquee", "log"})


class Seen(Record):
    """A page before a step, and twice after it."""

    before: Snapshot | None = None
    """None where the step shows on its own element what it did."""
    after: Snapshot
    again: Snapshot | None = None
    """A moment later; what differs from `after` is volatile."""


def derived_from(step: Step, seen: Seen, target: Target | None, values: Mapping[str, str]) -> tuple[Predicate, ...]:
    """What may be expected of `step` from now on, as templates over the parameters of `values`; possibly nothing."""
    if isinstance(step, Fill | Type | SelectOption):
        found = _value_of(step, seen.after, target, values)
    elif seen.before is None or seen.again is None:
        found = ()
    else:
        found = (*_address(seen.before, seen.again, values), *_message(seen.before, seen, values, target))
    return tuple(predicate for predicate in found if not secrets_in(str(meaning_of(predicate))))


def todays(derived: Iterable[Predicate], values: Mapping[str, str]) -> tuple[Predicate, ...]:
    """The derived predicates with today's values; without those of parameters that this run does not have."""
    usable = (predicate for predicate in derived if named_parameters(predicate) <= values.keys())
    return tuple(fill_predicate(predicate, values) for predicate in usable)


def loosened(
    derived: Sequence[Predicate], results: Sequence[PredicateResult], values: Mapping[str, str]
) -> tuple[Predicate, ...]:
    """`derived` without what did not hold although the step was done; `results` are the verdicts on `todays`."""
    usable = [predicate for predicate in derived if named_parameters(predicate) <= values.keys()]
    failed = [
        predicate for predicate, result in zip(usable, results, strict=True) if not (result.passed or result.required)
    ]
    return tuple(predicate for predicate in derived if predicate not in failed)


def _value_of(
    step: Fill | Type | SelectOption, page: Snapshot, target: Target | None, values: Mapping[str, str]
) -> tuple[Predicate, ...]:
    """That the field holds what was entered, if the field can be named and shows it."""
    value = step.value
    query = None if target is None or target.frame else _query_for(target)
    if value is None or query is None or target is None or target.attributes.get("type") == "password":
        return ()
    named = [element for element in page.elements if element.visible and _answers(element, query)]
    if len(named) != 1 or secrets_in(value) or named[0].value != fill(value, values):
        return ()  # pages that write what is entered in a form of their own do so with some values only
    # That the field took the value was waited for already; here it is only looked whether it still has it.
    return (ValueEquals(value_equals=value, of=query, required=False, within_ms=0),)


def _address(before: Snapshot, after: Snapshot, values: Mapping[str, str]) -> tuple[Predicate, ...]:
    """That the path is the new one, up to its first part that differs from run to run."""
    was, now = (site_scope(page.url) for page in (before, after))
    if was == now:
        return ()
    origin, _, path = now.partition("://")[2].partition("/")
    general = generalise(f"/{path}", values, values)
    stable = general.partition("{id}")[0]
    if normalise(was.partition("://")[2].partition("/")[0]) != normalise(origin):
        stable = f"{origin}{stable}"
    if len(stable) < 2 or stable in before.url:
        return ()
    return (UrlContains(url_contains=stable),)


def _message(before: Snapshot, seen: Seen, values: Mapping[str, str], target: Target | None) -> tuple[Predicate, ...]:
    """The most telling element that appeared and stays; else that the pressed one is gone."""
    assert seen.again is not None
    stays = {_identity(element) for element in seen.again.elements if element.visible}
    known = {_identity(element) for element in before.elements if element.visible}
    appeared = [
        element
        for element in diff(before, seen.after).appeared
        if _identity(element) in stays - known and not element.group and not element.target.frame
    ]
    told = sorted(
        (predicate for element in appeared if (predicate := _shows(element, values)) is not None),
        key=lambda ranked: ranked[0],
    )
    if told:
        return (told[0][1],)
    if target is None or target.frame or not (target.role and target.name):
        return ()
    gone = (target.role, normalise(target.name))
    name = generalise(target.name, values, values)
    if gone in known and gone not in stays and not re.search(r"\d", name):
        query = ElementQuery(role=target.role, name=name)
        return (NotExists(not_exists=query, required=False, within_ms=SOFT_MS),)
    return ()


def _shows(element: Element, values: Mapping[str, str]) -> tuple[int, Predicate] | None:
    """That the element is there, with its rank (0 for the most telling); None if its text may be another next time."""
    target = element.target
    text = target.name or target.text
    general = generalise(text.strip(), values, values)
    if not general or len(text) > _LONGEST or re.search(r"\d", re.sub(r"\{\{.*?\}\}", "", general)):
        return None
    if target.role in _TIMES or target.tag == "time":
        return None
    if target.name and target.role in _TELLING:
        query = ElementQuery(role=target.role, name=general)
        return _TELLING[target.role], Exists(exists=query, required=False, within_ms=SOFT_MS)
    if element.actionable:
        return None
    return len(_TELLING), TextContains(text_contains=general, required=False, within_ms=SOFT_MS)


def _query_for(target: Target) -> ElementQuery | None:
    if target.role and target.name and not re.search(r"\d", target.name):
        return ElementQuery(role=target.role, name=target.name)
    return None


def _answers(element: Element, query: ElementQuery) -> bool:
    return _identity(element) == (query.role, normalise(query.name or ""))


def _identity(element: Element) -> tuple[str, str]:
    return element.target.role, normalise(element.target.name or element.target.text)
