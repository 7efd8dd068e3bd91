"""The search attributes of a run: by these Temporal's own UI, and `replaywright runs`, find runs.

Temporal gets them in clear text whatever codec there is, so none holds what a person entered: names, a host, counts.
A namespace has to know an attribute before a run can have it: whoever starts a run gives it those that the namespace
knows, and a run changes none but those that it was started with.
"""

import shlex
from collections.abc import Iterable, Mapping
from typing import Literal

from replaywright.domain.common.base import Record

NOTHING = "-"
"""Value of a Keyword that has none: a run without a skill, a task without an address."""


class SearchAttribute(Record):
    """One search attribute."""

    name: str
    kind: Literal["Keyword", "Int"]
    """Its type, as Temporal names it."""
    meaning: str
    """What it says, as the documentation has it."""


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
"""All that runs have."""


def kinds() -> dict[str, str]:
    """Their types by name."""
    return {each.name: each.kind for each in SEARCH_ATTRIBUTES}


def lacking(known: Mapping[str, str]) -> tuple[SearchAttribute, ...]:
    """Those that a namespace does not have under their type; `known` are the types of those that it has, by name."""
    return tuple(each for each in SEARCH_ATTRIBUTES if known.get(each.name) != each.kind)


def creating(attributes: Iterable[SearchAttribute], *, namespace: str, address: str = "") -> str:
    """The command that makes a namespace know these."""
    words = ["temporal", "operator", "search-attribute", "create", "--namespace", namespace]
    words += ["--address", address] if address else []
    for each in attributes:
        words += ["--name", each.name, "--type", each.kind]
    return shlex.join(words)


def said(missing: Iterable[SearchAttribute], *, namespace: str, address: str = "") -> str:
    """That a namespace does not know these, and what to do."""
    missing = tuple(missing)
    names = ", ".join(each.name for each in missing)
    create = creating(missing, namespace=namespace, address=address)
    return f"the namespace {namespace!r} does not know {names} (search attributes); make it know them by: {create}"
