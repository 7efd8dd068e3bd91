"""The two digests of a step: its identity within a lineage, and what it means anywhere."""

import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote, urlsplit

from replaywright.domain.common.canonical import EXACT, canonical
from replaywright.domain.common.templates import LONG, fill_canonical, parameters_in, texts_of
from replaywright.domain.common.text import is_word_edge, normalise
from replaywright.domain.common.urls import origin_of
from replaywright.domain.predicate.predicates import meaning_of
from replaywright.domain.task.steps import Goto, Step, arguments_of, placed

VERSION = 1
"""Part of every digest: a change of the algorithm must not meet old keys."""


def digest(value: Any) -> str:
    """SHA-256 over the RFC 8785 canonical JSON of `value`, hexadecimal.

    Total over what pages hold: numbers that JSON cannot carry exactly (an order number of twenty digits) and halves of
    surrogate pairs enter as texts of their own kind instead of raising.
    """
    try:
        told = canonical(value)
    except ValueError:
        told = canonical(_carried(value))
    return hashlib.sha256(told).hexdigest()


def _carried(value: Any) -> Any:
    match value:
        case str():
            return value.encode("utf-8", "backslashreplace").decode()
        case bool() | None:
            return value
        case int() if abs(value) > EXACT:
            return {"int": str(value)}
        case float() if not math.isfinite(value):
            return {"float": str(value)}
        case Mapping():
            return {_carried(str(key)): _carried(inner) for key, inner in value.items()}
        case list() | tuple():
            return [_carried(inner) for inner in value]
        case _:
            return value


def _filled(value: Any, values: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return fill_canonical(value, values)
    if isinstance(value, Mapping):
        return {key: _filled(inner, values) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_filled(inner, values) for inner in value]
    return value


def fingerprint(step: Step, values: Mapping[str, str], previous: str, previous_outcome: str) -> str:
    """Return the step's idempotency key within its lineage.

    Parameter values are in; secrets only by name; effect and time-outs are out. `previous` is the fingerprint of
    the step before ("" for the first), `previous_outcome` the digest of its outcome. Of a `for_each` it is what the
    items are: what is done with each are steps of their own.
    """
    target = getattr(step, "target", None)
    when = [_filled(meaning_of(predicate), values) for predicate in step.when]
    return digest(
        {
            **({"when": when} if when else {}),
            "v": VERSION,
            "action": step.action,
            "instruction": _filled(step.instruction, values),
            "target": None if target is None else _filled(target.model_dump(exclude_none=True), values),
            "arguments": _filled(arguments_of(step), values),
            "expectation": [_filled(meaning_of(predicate), values) for predicate in step.expect],
            "previous": previous,
            "previousOutcome": previous_outcome,
        }
    )


def acts_of(plan: Sequence[Step], values: Mapping[str, str]) -> tuple[str, ...]:
    """Return the act of each step: the key under which a lineage knows that it did the same before, in any place.

    The action, the target as written, the arguments with the parameters' values, and which occurrence of these in the
    plan it is. Unlike a fingerprint it does not depend on the steps before.
    """
    seen: Counter[str] = Counter()
    acts = []
    for step in plan:
        target = getattr(step, "target", None)
        said = {
            "v": VERSION,
            "action": step.action,
            "instruction": normalise(step.instruction),
            "target": None if target is None else target.model_dump(exclude_none=True),
            "arguments": _filled(arguments_of(step), values),
        }
        act = digest(said)
        seen[act] += 1
        acts.append(digest([act, seen[act]]))
    return tuple(acts)


def begun_anew(mark: str, restart: str) -> str:
    """The fingerprint of a step that a person wants performed anew; `restart` names the run in which. "" for none."""
    return digest([mark, restart]) if restart else mark


ENTERED = frozenset({"value", "values", "files", "dialog_text"})
"""Arguments that are data: with other ones a step still means the same."""

_BETWEEN_WORDS = re.compile(r"[\s+_-]+")
"""Characters that paths have in place of spaces."""
_VOLATILE = re.compile(r"\d+|[0-9a-f]{8,}|[0-9a-f]{8}-[0-9a-f-]{27}|[A-Za-z0-9_-]*\d[A-Za-z0-9_-]*\d[A-Za-z0-9_-]{6,}")


def site_scope(url: str, values: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return origin and path template of `url`: query, fragment, user and password go.

    Parameters' `values` in the path become `{name}`, as `/wiki/Main_Page` becomes `/wiki/{title}`; other ids `{id}`.
    """
    try:
        parts = urlsplit(url)
    except ValueError:  # brackets without an address in them
        return url.partition("?")[0].partition("#")[0]
    known = sorted(((_spaced(value), name) for name, value in values.items()), key=lambda one: (-len(one[0]), one[1]))
    path = "/".join(_templated(segment, known) for segment in parts.path.split("/"))
    host = parts.netloc.rpartition("@")[2].lower()
    return f"{parts.scheme}://{host}{path.rstrip('/') or '/'}"


def _spaced(text: str) -> str:
    """Return words as they are compared in a path, where sites write spaces in several ways."""
    return " ".join(_BETWEEN_WORDS.split(normalise(unquote(text)))).strip()


def _templated(segment: str, known: Sequence[tuple[str, str]]) -> str:
    """Return a segment of a path without values: those `known`, longest first, by name, and what is no word."""
    text = _spaced(segment)
    for value, name in known:
        if value and text == value:
            return f"{{{name}}}"
        at = text.find(value) if len(value) >= LONG else -1
        if at >= 0 and is_word_edge(text, at) and is_word_edge(text, at + len(value)):
            return f"{text[:at]}{{{name}}}{text[at + len(value) :]}"
    return "{id}" if _VOLATILE.fullmatch(segment) else segment


def content_key(
    tenant: str,
    url: str,
    step: Step,
    owner: str = "",
    device: str = "desktop",
    *,
    values: Mapping[str, str] = MappingProxyType({}),
    occurrence: int = 1,
) -> str:
    """Return the key of a step's recording: its meaning on this page, whatever the `values`, model or position.

    What a step leads to belongs to its `owner`, the task: another one that signs in with the same words ends up
    elsewhere. Of several equal steps of a task each has a key of its own, by its `occurrence`; see `numbered`.
    """
    return _meaning_at(tenant, site_scope(url, values), step, owner, device, occurrence=occurrence)


def element_key(tenant: str, url: str, step: Step, device: str = "desktop", *, occurrence: int = 1) -> str:
    """Return the key of the recording of the step's element alone, which all tasks on this origin share."""
    return _meaning_at(tenant, origin_of(url), step, "", device, occurrence=occurrence)


def numbered(steps: Iterable[Step], begins_at: str = "") -> Iterator[tuple[str, Step, int]]:
    """Yield each step with its place in the file and its occurrence, including the steps of lists.

    The occurrence counts the steps of the same meaning under the same address as written, that of the `goto` before,
    else `begins_at`: "Add another" twice may mean two buttons. A step of a list has one for all items.
    """
    address, seen = begins_at, Counter[str]()
    for place, step in placed(steps):
        if isinstance(step, Goto):
            address = step.url
        meaning = _meaning_at("", address, step, "", "")
        seen[meaning] += 1
        yield place, step, seen[meaning]


def _meaning_at(tenant: str, site: str, step: Step, owner: str, device: str, *, occurrence: int = 1) -> str:
    """Return the digest of a step's meaning at one place.

    What is typed is no part of it; what else the action is done with is: Tab and Enter are not the same press.
    """
    target = getattr(step, "target", None)
    return digest(
        {
            "v": VERSION,
            "tenant": tenant,
            "site": site,
            **({"owner": owner} if owner else {}),
            **({"occurrence": occurrence} if occurrence > 1 else {}),
            "action": step.action,
            "instruction": normalise(step.instruction),
            "arguments": {key: value for key, value in arguments_of(step).items() if key not in ENTERED},
            "target": None if target is None else target.model_dump(exclude_none=True),
            "device": device,
        }
    )


def naming_parameters(step: Step) -> frozenset[str]:
    """Return the parameters that name the element: in the instruction and the declared target."""
    target = getattr(step, "target", None)
    declared = () if target is None else texts_of(target.model_dump(exclude_none=True))
    return frozenset().union(parameters_in(step.instruction), *(parameters_in(text) for text in declared))


def entered_parameters(step: Step) -> frozenset[str]:
    """Return the parameters that are only entered: their values name no element."""
    entered = arguments_of(step)
    given = (text for key in ENTERED & entered.keys() for text in texts_of(entered[key]))
    return frozenset().union(*(parameters_in(text) for text in given)) - naming_parameters(step)


def instruction_parameters(step: Step) -> frozenset[str]:
    """Return the parameters in the step's own texts: only these may occur in its recorded target."""
    return frozenset().union(
        *(parameters_in(text) for text in texts_of(step.model_dump(mode="json", exclude={"reconcile", "steps"})))
    )
