"""Search attributes of a run, by which Temporal's UI and `replaywright runs` find it.

Temporal stores them in clear text even with a codec, so they hold names, a host and counts, and no entered values. A
namespace must know an attribute before a run can have it: a run starts with those that its namespace knows, and changes
only these.
"""

import shlex
from collections.abc import Iterable, Mapping
from typing import Literal

from replaywright.domain.common.base import Record

NOTHING = "-"
"""Value of a Keyword without one: a run without a skill, a task without an address."""


class SearchAttribute(Record):
    """A search attribute."""

    name: str
    kind: Literal["Keyword", "Int"]
    """Its type in Temporal."""
    meaning: str
    """Its description in the documentation."""


SITE = SearchAttribute(
    name="BrowserSite", kind="Keyword", meaning="Host of the task's first address; `-` if it has none"
)
TASK = SearchAttribute(name="BrowserTaskName", kind="Keyword", meaning="Name of the task")
SKILL = SearchAttribute(
    name="BrowserSkill", kind="Keyword", meaning="Name of the skill that the run is one of; `-` if it is of none"
)
MODE = SearchAttribute(name="BrowserMode", kind="Keyword", meaning="`auto`, `learn` or `replay`")
STATUS = SearchAttribute(
    name="BrowserStatus",
    kind="Keyword",
    meaning="`running`, `waiting`, `paused`, `done`, `failed`, `blocked` or `cancelled`; a run that was terminated, or "
    "that timed out, keeps its last one",
)
HEALS = SearchAttribute(
    name="BrowserHeals",
    kind="Int",
    meaning="Elements that were found although they had changed; as of the last change of the status",
)
MODEL_CALLS = SearchAttribute(
    name="BrowserModelCalls", kind="Int", meaning="Requests to models; as of the last change of the status"
)
TENANT = SearchAttribute(name="BrowserTenant", kind="Keyword", meaning="The tenant whose run it is")

SEARCH_ATTRIBUTES: tuple[SearchAttribute, ...] = (SITE, TASK, SKILL, MODE, STATUS, HEALS, MODEL_CALLS, TENANT)
"""All attributes of runs."""


def kinds() -> dict[str, str]:
    """Return their types by name."""
    return {each.name: each.kind for each in SEARCH_ATTRIBUTES}


def lacking(known: Mapping[str, str]) -> tuple[SearchAttribute, ...]:
    """Return those that a namespace lacks or has with another type; `known` are its types by name."""
    return tuple(each for each in SEARCH_ATTRIBUTES if known.get(each.name) != each.kind)


def creating(attributes: Iterable[SearchAttribute], *, namespace: str, address: str = "") -> str:
    """Return the command that adds them to a namespace."""
    words = ["temporal", "operator", "search-attribute", "create", "--namespace", namespace]
    words += ["--address", address] if address else []
    for each in attributes:
        words += ["--name", each.name, "--type", each.kind]
    return shlex.join(words)


def missing_message(missing: Iterable[SearchAttribute], *, namespace: str, address: str = "") -> str:
    """Return the message that a namespace lacks them, with the remedy."""
    missing = tuple(missing)
    names = ", ".join(each.name for each in missing)
    create = creating(missing, namespace=namespace, address=address)
    return f"the namespace {namespace!r} does not know {names} (search attributes); make it know them by: {create}"
