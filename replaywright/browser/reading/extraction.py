"""Values read from a page, as the types that the task declares."""

from collections.abc import Mapping
from typing import Any

from replaywright.domain.common.text import shorten
from replaywright.domain.plan.loops import items_of
from replaywright.domain.task.converting import converted
from replaywright.domain.task.steps import ITEMS_FIELD, Extract, ExtractField, ForEach
from replaywright.errors import ActionFailed


def read(step: Extract | ForEach, reply: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the values that the step has read: its fields, or the items of a list.

    Raises:
        ActionFailed: a value is missing or of another type, or a list has other items than it may have.
    """
    values = typed(step.fields, reply)
    return {ITEMS_FIELD: list(items_of(step, values))} if isinstance(step, ForEach) else values


def field_specs(fields: Mapping[str, ExtractField]) -> dict[str, Any]:
    """Return the page agent's part of the fields; their types are checked here."""
    return {
        name: field.model_dump(by_alias=True, exclude_none=True, exclude={"type"}) for name, field in fields.items()
    }


def typed(fields: Mapping[str, ExtractField], reply: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the page's answer, converted field by field.

    Raises:
        ActionFailed: `extract_missing` when the page has no such value, `extract_type` when it is of another type.
    """
    values: dict[str, Any] = {}
    for name, field in fields.items():
        value = (reply or {}).get(name)
        if value is None:
            message = f"the page has no value for field {name!r} ({_wanted(field)})"
            raise ActionFailed("extract_missing", message, dispatched=False)
        values[name] = _converted(name, field, value)
    return values


def _wanted(field: ExtractField) -> str:
    where = "" if field.find is None else f" of {field.find.model_dump(exclude_none=True)}"
    return f"{field.take}{f' {field.attribute!r}' if field.attribute else ''}{where}"


def _converted(name: str, field: ExtractField, value: Any) -> Any:
    typed_value = converted(field, value)
    if typed_value is None:
        shown = shorten(str(value).strip(), 80)
        message = f"field {name!r} is {shown!r}; expected a value of type {field.type}"
        raise ActionFailed("extract_type", message, dispatched=False)
    return typed_value
