"""Steps and recorded targets as templates: today's values put in, and taken out again when something is recorded."""

from collections.abc import Callable, Mapping
from typing import Any

from replaywright.domain.predicates import fill_predicate, fill_query
from replaywright.domain.targets import Target
from replaywright.domain.tasks import Extract, ExtractField, SelectOption, Step
from replaywright.domain.templates import fill, generalise, parameters_in


def filled_step(step: Step, values: Mapping[str, str]) -> Step:
    """The step with its parameters' values; the text that fill and type enter is left a template (see `ports.Work`).

    Raises:
        InputInvalid: a parameter has no value, or nothing is left of a query because its parameters are all empty.
    """
    changes: dict[str, Any] = {"expect": tuple(fill_predicate(predicate, values) for predicate in step.expect)}
    for name in ("url", "keys", "url_contains", "title_contains"):
        if isinstance(text := getattr(step, name, None), str):
            changes[name] = fill(text, values)
    if (target := getattr(step, "target", None)) is not None:
        changes["target"] = fill_query(target, values)
    match step:
        case SelectOption(value=value):
            changes["value"] = fill(value, values)
        case Extract(fields=fields):
            changes["fields"] = {key: _filled_field(field, values) for key, field in fields.items()}
        case _:
            pass
    return step.model_copy(update=changes)


def filled_target(target: Target, values: Mapping[str, str]) -> Target:
    """A recorded target with today's values; its hash is only kept when no value is part of the element."""

    def today(text: str) -> str:
        return fill(text, values) if parameters_in(text) <= values.keys() else text

    own = (target.name, *target.attributes.values())
    now = changed_target(target, today)
    return now.model_copy(update={"element_hash": ""}) if any("{{" in text for text in own) else now


def general_target(target: Target, values: Mapping[str, str], names: frozenset[str]) -> Target:
    """A target as it is recorded: the values of the parameters `names` become their names again.

    Of a row that a parameter names, only the cells with the parameter are kept: the others are of today's row.
    """
    if not names:
        return target
    general = changed_target(target, lambda text: generalise(text, values, names))
    naming = tuple(cell for cell in general.row if parameters_in(cell))
    return general.model_copy(update={"row": naming}) if naming else general


def changed_target(target: Target, change: Callable[[str], str]) -> Target:
    """The target with `change` applied to every text that may hold a value."""
    return target.model_copy(
        update={
            "name": change(target.name),
            "text": change(target.text),
            "label": change(target.label),
            "attributes": {key: change(value) for key, value in target.attributes.items()},
            "neighbours": tuple(change(text) for text in target.neighbours),
            "container": change(target.container),
            "row": tuple(change(text) for text in target.row),
            "css": change(target.css),
        }
    )


def _filled_field(field: ExtractField, values: Mapping[str, str]) -> ExtractField:
    if field.find is None:
        return field
    return field.model_copy(update={"find": fill_query(field.find, values)})
