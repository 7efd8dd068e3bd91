"""Checks of a model's choice: each value is in the sentence and has its type, and none is left over."""

from collections.abc import Mapping
from typing import TypeAlias

from pydantic import Field

from replaywright.domain.common.base import Record
from replaywright.domain.common.lists import list_value
from replaywright.domain.common.sentences import VALUES, Sentence
from replaywright.domain.recall.alignment import has_type, values_in
from replaywright.domain.recall.choices import choice_of
from replaywright.domain.recall.patterns import places_of
from replaywright.domain.skill.skills import Skill, patterns_of

Given: TypeAlias = str | tuple[str, ...]
"""A value from a model; a tuple for a list."""


class SkillChoice(Record):
    """A model's choice among the offered skills."""

    skill: str = ""
    """Name of the skill; empty for none."""
    values: dict[str, Given] = Field(default_factory=dict)


def checked_choice(sentence: Sentence, skill: Skill, given: Mapping[str, Given]) -> tuple[dict[str, str], str]:
    """Return the values of all parameters as in the sentence, or the code of a fault.

    Codes: `unknown_parameter`, `missing_parameter`, `invented_value` (not in the sentence as whole words),
    `other_type`, `left_over` (a quotation, address, number or code outside all values, or partly inside one).
    """
    parameters = skill.task.parameters
    texts = {
        (name, number): text
        for name, value in given.items()
        for number, text in enumerate(value if isinstance(value, tuple) else (value,))
    }
    if not given.keys() <= parameters.keys():
        return {}, "unknown_parameter"
    if any(one.default is None and not given.get(name) for name, one in parameters.items()):
        return {}, "missing_parameter"
    labelled = {f"{name} {number}": text for (name, number), text in texts.items()}
    places = places_of(sentence.text, labelled)
    if places.keys() != labelled.keys():
        return {}, "invented_value"
    values: dict[str, str] = {}
    for name, value in given.items():
        count = len(value) if isinstance(value, tuple) else 1
        texts_in = [sentence.text[slice(*places[f"{name} {number}"])] for number in range(count)]
        if (count > 1 or isinstance(value, tuple)) and parameters[name].type != "list":
            return {}, "other_type"
        values[name] = _typed(texts_in, skill, name)
        if not has_type(values[name], parameters[name]):
            return {}, "other_type"
    is_left = _is_left_over(sentence, tuple(places.values()), skill)
    return ({}, "left_over") if is_left else (values, "")


def _typed(texts: list[str], skill: Skill, name: str) -> str:
    parameter = skill.task.parameters[name]
    match parameter.type:
        case "list":
            return list_value(texts)
        case "choice":
            return choice_of(texts[0], parameter.choices) or texts[0]
        case _:
            return texts[0]


def _is_left_over(sentence: Sentence, places: tuple[tuple[int, int], ...], skill: Skill) -> bool:
    """Return True if a part with the form of a value is outside all values, or only partly inside one."""
    known = frozenset().union(*map(values_in, patterns_of(skill)))
    for token in sentence.tokens:
        is_touched = any(start < token.end and token.start < end for start, end in places)
        is_inside = any(start <= token.start and token.end <= end for start, end in places)
        if token.kind in VALUES and not is_inside and (is_touched or token.plain not in known):
            return True
    return False
