"""Steps and recorded targets as templates: today's values put in, and taken out again when something is recorded."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from replaywright.domain.common.lists import list_parameter
from replaywright.domain.common.templates import fill, fill_wanted, generalise, lone_parameter, parameters_in
from replaywright.domain.common.text import normalise
from replaywright.domain.locating.identity import TEST_IDS
from replaywright.domain.locating.rows import without_number
from replaywright.domain.page.targets import ElementQuery, Target
from replaywright.domain.predicate.predicates import fill_predicate, fill_query
from replaywright.domain.task.steps import CellTest, Extract, ExtractField, ForEach, Step
from replaywright.errors import InputInvalid

_TELLING = ("placeholder", "href", "title", "alt", "name", "value", "data-testid", "data-test", "data-test-id")
"""Attributes that are compared when an element is found again, so that a parameter in one of them is enough."""

_OWN = frozenset({"id", "name", "value", "href", "action", *TEST_IDS})
"""Attributes that elements of one kind, told apart by a parameter, have each for itself."""


def filled_step(step: Step, values: Mapping[str, str]) -> Step:
    """Fill the parameters of the step, except the values that fill, type and paste enter (see `ports.browser.Work`).

    Raises:
        InputInvalid: a parameter has no value, or nothing is left of a query because its parameters are all empty.
    """
    changes: dict[str, Any] = {
        "expect": tuple(fill_predicate(predicate, values) for predicate in step.expect),
        "when": tuple(fill_predicate(predicate, values) for predicate in step.when),
    }
    for name in ("instruction", "target", *step.templates):
        match getattr(step, name, None):
            case str(text):
                changes[name] = fill(text, values)
            case tuple() as texts:
                changes[name] = tuple(fill(text, values) for text in texts)
            case ElementQuery() as query:
                changes[name] = fill_query(query, values)
    match step:
        case Extract(fields=fields):
            changes["fields"] = {key: _filled_field(field, values) for key, field in fields.items()}
        case ForEach():
            changes |= _filled_items(step, values)
        case _:
            pass
    return step.model_copy(update=changes)


def filled_target(target: Target, values: Mapping[str, str]) -> Target:
    """Fill a recorded target; its hash is kept only if no value is part of the element."""

    def today(text: str) -> str:
        return fill(text, values) if parameters_in(text) <= values.keys() else text

    own = (target.name, *target.attributes.values())
    now = changed_target(target, today)
    if "{{" in target.name:  # what was called so, or nearly so, was counted of another value
        now = now.model_copy(update={"namesakes": 0, "alike": ()})
    elif target.namesakes == 1 and any("{{" in cell for cell in target.row):  # the only row was that of another value
        now = now.model_copy(update={"namesakes": 0})
    return now.model_copy(update={"element_hash": ""}) if any("{{" in text for text in own) else now


def general_target(
    target: Target,
    values: Mapping[str, str],
    names: frozenset[str],
    naming: frozenset[str] = frozenset(),
    entered: frozenset[str] = frozenset(),
) -> Target:
    """Replace the values of the parameters `names` in a target by their names.

    Not so those of the parameters `entered`, which the step only puts into the element: a field that is called "email"
    is called so whatever is entered. Where such a value is what the element holds, it is left out.

    Those of the parameters `naming`, which say which element is meant, do so however short they are. Of a row that a
    parameter names, only the cells with the parameter are kept, without the row's number: the rest is of today's row.
    An identifier without a parameter is that of today's element ("cancel", where the button of another value is
    "agree"), and goes.
    """
    if not names | naming:
        return target
    general = changed_target(target, lambda text: generalise(text, values, names - entered, naming))
    if entered:
        called = {target.name, target.label}
        near = (
            generalise(text, values, names - entered if text in called else names, naming) for text in target.neighbours
        )
        general = general.model_copy(update={"neighbours": tuple(near)})
        general = _without_content(general, target, lambda text: generalise(text, values, entered) != text)
    named = tuple(without_number(cell) for cell in general.row if parameters_in(cell))
    general = general.model_copy(update={"row": named}) if named else general
    if not any(parameters_in(text) & naming for text in (general.name, general.label, *general.row)):
        return general
    own = {key for key, text in general.attributes.items() if key in _OWN and not parameters_in(text)}
    if not own:
        return general
    shared = {key: text for key, text in general.attributes.items() if key not in own}
    return general.model_copy(update={"attributes": shared, "element_hash": ""})


def _without_content(general: Target, target: Target, holds: Callable[[str], bool]) -> Target:
    """Drop from `general` the parts of `target` with an entered value; `holds` recognises such texts."""
    changes: dict[str, Any] = {}
    if holds(target.text):
        # An element that is called by what it holds is not called so with another value.
        is_named_by_content = holds(target.name) and normalise(target.name) in normalise(target.text)
        changes |= {"text": "", "element_hash": ""} | ({"name": ""} if is_named_by_content else {})
    if holds(target.attributes.get("value", "")):
        attributes = {key: text for key, text in general.attributes.items() if key != "value"}
        changes |= {"attributes": attributes, "element_hash": ""}
    return general.model_copy(update=changes)


def unseen_parameters(general: Target, naming: frozenset[str]) -> frozenset[str]:
    """Return the parameters that identify the element although its recording does not show them.

    With another value another element is meant ("the {{nth}} field"), and this recording does not say which.
    """
    attributes = (general.attributes.get(key, "") for key in _TELLING)
    told = (general.name, general.label, *general.row, *attributes)
    return naming - frozenset().union(*(parameters_in(text) for text in told))


def changed_target(target: Target, change: Callable[[str], str]) -> Target:
    """Apply `change` to every text of the target that may hold a value."""
    return target.model_copy(
        update={
            "name": change(target.name),
            "text": change(target.text),
            "label": change(target.label),
            "attributes": {key: change(value) for key, value in target.attributes.items()},
            "neighbours": tuple(change(text) for text in target.neighbours),
            "alike": tuple(change(text) for text in target.alike),
            "container": change(target.container),
            "row": tuple(change(text) for text in target.row),
            "css": change(target.css),
        }
    )


def _filled_items(step: ForEach, values: Mapping[str, str]) -> dict[str, Any]:
    changes: dict[str, Any] = {"where": {column: _filled_test(test, values) for column, test in step.where.items()}}
    if step.elements is not None:
        changes["elements"] = fill_query(step.elements, values)
    match step.values:
        case str() as template:
            name = lone_parameter(template) or ""
            if name not in values:
                raise InputInvalid(f"parameter {name!r} has no value; pass it with --param {name}=…")
            changes["values"] = list_parameter(values[name])
        case tuple() as texts:
            changes["values"] = tuple(fill(text, values) for text in texts)
    return changes


def _filled_test(test: CellTest, values: Mapping[str, str]) -> CellTest:
    given = {name: re.escape(value) for name, value in values.items()} if test.matches is not None else values
    told = test.model_dump(exclude_none=True)
    filled = {
        key: (fill_wanted if key == "contains" else fill)(one, given)
        if isinstance(one, str)
        else tuple(fill(each, given) for each in one)
        for key, one in told.items()
    }
    return test.model_copy(update=filled)


def _filled_field(field: ExtractField, values: Mapping[str, str]) -> ExtractField:
    if field.find is None:
        return field
    return field.model_copy(update={"find": fill_query(field.find, values)})
