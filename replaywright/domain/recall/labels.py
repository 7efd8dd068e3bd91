"""Checks of a labeller's answer: only values from the goal are accepted, and no secret."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, cast

from replaywright.domain.common.lists import list_value
from replaywright.domain.common.text import shorten
from replaywright.domain.plan.goal_runs import GoalParameter, Labels
from replaywright.domain.recall.alignment import has_type
from replaywright.domain.recall.patterns import span_of
from replaywright.domain.recall.phrases import Phrases
from replaywright.domain.task.tasks import Parameter

PARAMETERS_LIMIT = 20
REFUSED_LIMIT = 20
_TEXT_LIMIT = 200
_TYPES = ("text", "email", "number", "date")


def checked_labels(
    answer: Mapping[str, Any], goal: str, *, secrets: Sequence[str], is_secret: Callable[[str], bool]
) -> Labels:
    """Return the labels without values that are not literally in `goal`, secret, or useless.

    Args:
        answer: The labeller's answer.
        goal: The goal in its prompt.
        secrets: Names that are no parameters.
        is_secret: Returns True for a text with a secret's value.
    """
    refused: list[str] = []
    found: dict[str, GoalParameter] = {}
    for item in answer.get("parameters", ()):
        name, given = re.sub(r"\W+", "_", str(item.get("name", ""))).strip("_"), item.get("value", "")
        texts = tuple(map(str, given)) if isinstance(given, list | tuple) else ()
        value = span_of(texts, goal) if texts else str(given)
        why = _refusal(name, value, goal, known=(*found, *secrets), is_secret=is_secret)
        if why:
            refused.append(f"{name or 'a parameter without a name'}: {why}")
        elif texts:
            found[name] = GoalParameter(name=name, type="list", value=list_value(texts), said=value)
        else:
            found[name] = GoalParameter(name=name, type=_type(str(item.get("type", "")), value), value=value)
    types = {name: Parameter(type=one.type) for name, one in found.items()}
    phrases = Phrases(goal, types, {name: one.words for name, one in found.items()}, is_secret)
    patterns = phrases.patterns(answer.get("patterns", ()))
    near_misses = phrases.near_misses(answer.get("near_misses", ()), patterns)
    return Labels(
        name=_slug(str(answer.get("name", "")) or str(answer.get("label", ""))),
        label=shorten(str(answer.get("label", "")), _TEXT_LIMIT),
        description=shorten(str(answer.get("description", "")), _TEXT_LIMIT),
        parameters=tuple(found.values()),
        patterns=patterns,
        near_misses=near_misses,
        refused=tuple((refused + phrases.refused)[:REFUSED_LIMIT]),
    )


def _refusal(name: str, value: str, goal: str, *, known: Sequence[str], is_secret: Callable[[str], bool]) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        return "is no parameter name"
    if name in known or len(known) >= PARAMETERS_LIMIT:
        return "is there already" if name in known else f"more than {PARAMETERS_LIMIT} are too many"
    if value.strip() == goal.strip():
        return "its value is the whole goal"
    if is_secret(value) or "{{" in value:
        return "secrets are no parameters"
    return "" if value.strip() and value in goal else "its value does not stand in the goal"


def _type(claimed: str, value: str) -> Literal["text", "email", "number", "date"]:
    """Return the claimed type if the value has it."""
    if claimed not in _TYPES:
        return "text"
    kind = cast("Literal['text', 'email', 'number', 'date']", claimed)
    return kind if has_type(value, Parameter(type=kind)) else "text"


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.casefold()).strip("-")[:50].strip("-") or "task"
