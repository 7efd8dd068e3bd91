"""Reading JSON that anybody may have written: values of another type than expected count as absent."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from replaywright.domain.common.elsewhere import json_value
from replaywright.errors import InputInvalid

TEXT_LIMIT = 10_000
"""Characters of one text of a recording that is looked at; of screenshots none is."""
_LOOKS_AT = 60
"""Characters of a wrong input that an error shows."""


def parse_json(text: str) -> Any:
    """Parse JSON.

    Raises:
        InputInvalid: not JSON, with line and column; or nested deeper than can be read.
    """
    try:
        return json_value(text, repeats=True)
    except json.JSONDecodeError as exc:
        raise InputInvalid(f"the recording, line {exc.lineno}, column {exc.colno}: not JSON: {exc.msg}") from exc
    except ValueError as exc:
        raise InputInvalid(f"the recording is not JSON that can be read: {exc}") from exc


def clean(text: str) -> str:
    """`text` as it can be stored and sent: without NUL, halves of surrogate pairs replaced.

    Raises:
        InputInvalid: it is longer than any text that a step has; to search it would take long.
    """
    if len(text) > TEXT_LIMIT:
        raise InputInvalid(
            f"the recording has the text {text[:_LOOKS_AT]!r}… of {len(text):,} characters, and may have "
            f"{TEXT_LIMIT:,}; record it with a shorter one, and give the long one as a parameter's value"
        )
    if text.isprintable():
        return text
    return text.replace("\x00", "").encode("utf-8", "replace").decode("utf-8")


def mapping(value: Any) -> Mapping[str, Any]:
    """`value` if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: Any) -> Sequence[Any]:
    """`value` if it is a JSON list, else an empty one."""
    return value if isinstance(value, list) else ()


def string(value: Any) -> str:
    """`value` if it is a text, cleaned, else an empty one."""
    return clean(value) if isinstance(value, str) else ""


def number(value: Any) -> float | None:
    """`value` if it is a number that can be reckoned with, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def scalar(value: Any) -> str:
    """Convert a text, number or truth value to text; anything else to an empty one."""
    match value:
        case str():
            return clean(value)
        case bool():
            return "true" if value else "false"
        case int() | float():
            return json.dumps(value) if number(value) is not None else ""
        case _:
            return ""


def found(value: Any) -> str:
    """Describe the value in few words, for an error."""
    match value:
        case dict():
            keys = ", ".join(repr(string(key))[:_LOOKS_AT] for key in list(value)[:6])
            return f"a JSON object with {keys or 'nothing in it'}"
        case list():
            return f"a JSON list of {len(value)}"
        case _:
            return f"the JSON value {json.dumps(value)[:_LOOKS_AT]}"
