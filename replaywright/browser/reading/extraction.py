"""Values read from a page, as the types that the task declares."""

import re
from collections.abc import Mapping
from typing import Any

from replaywright.domain.common.text import normalise, shorten
from replaywright.domain.plan.loops import items_of
from replaywright.domain.task.steps import ITEMS_FIELD, Extract, ExtractField, ForEach
from replaywright.errors import ActionFailed

_NUMBER = re.compile(r"[-+−]?\d[\d\s.,'’\u00a0\u202f]*")
_YES = frozenset({"true", "yes", "on", "1", "checked", "ja", "✓", "✔", "enabled"})
_NO = frozenset({"false", "no", "off", "0", "", "unchecked", "nein", "✗", "✘", "disabled"})


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
    if field.take in ("table", "texts"):
        return value
    text = str(value).strip()
    converted: Any = None
    match field.type:
        case "string":
            return value if isinstance(value, str) else text
        case "integer" | "number":
            number = number_in(text)
            if number is not None and (field.type == "number" or number == int(number)):
                converted = int(number) if field.type == "integer" else number
        case "boolean":
            plain = normalise(text)
            converted = True if plain in _YES else False if plain in _NO else None
    if converted is None:
        message = f"field {name!r} is {shorten(text, 80)!r}; expected a value of type {field.type}"
        raise ActionFailed("extract_type", message, dispatched=False)
    return converted


def number_in(text: str) -> float | None:
    """Return the only number in `text`, with thousands separators and either decimal sign; else None.

    A single separator followed by three digits groups thousands (`1,234`), otherwise it is the decimal sign.
    """
    found = _NUMBER.findall(text)
    if len(found) != 1:
        return None
    digits = re.sub(r"[\s'’\u00a0\u202f]", "", found[0]).replace("−", "-").rstrip(".,")
    last = max(digits.rfind("."), digits.rfind(","))
    if last >= 0:
        sign = digits[last]
        other = "," if sign == "." else "."
        groups = digits.count(sign) > 1 or (other not in digits and re.fullmatch(r"[-+]?[1-9]\d{0,2}[.,]\d{3}", digits))
        whole, fraction = (digits, "") if groups else (digits[:last], digits[last + 1 :])
        digits = f"{whole.replace(',', '').replace('.', '')}.{fraction or '0'}"
    try:
        return float(digits)
    except ValueError:
        return None
