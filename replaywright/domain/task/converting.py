"""Conversion of what was read on a page to the types that an extract step declares."""

import re
from math import isfinite
from typing import Any

from replaywright.domain.common.text import normalise
from replaywright.domain.task.steps import ExtractField

_NUMBER = re.compile(r"[-+−]?\d[\d\s.,'’\u00a0\u202f]*")
_YES = frozenset({"true", "yes", "on", "1", "checked", "ja", "✓", "✔", "enabled"})
_NO = frozenset({"false", "no", "off", "0", "", "unchecked", "nein", "✗", "✘", "disabled"})


def converted(field: ExtractField, value: Any) -> Any:
    """Return what was read as the type of its field; None if it is of another type."""
    if field.take in ("table", "texts"):
        return value
    text = str(value).strip()
    match field.type:
        case "string":
            return value if isinstance(value, str) else text
        case "integer" | "number":
            number = number_in(text)
            if number is None or (field.type == "integer" and number != int(number)):
                return None
            return int(number) if field.type == "integer" else number
        case "boolean":
            plain = normalise(text)
            return True if plain in _YES else False if plain in _NO else None


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
        number = float(digits)
    except ValueError:
        return None
    return number if isfinite(number) else None
