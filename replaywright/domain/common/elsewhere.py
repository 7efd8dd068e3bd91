"""Limits on the size, depth and content of files from outside.

Compressed files (gzip, zip) are read nowhere, so the size of a file is the size of its content.
"""

import json
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Final

MB: Final = 1024 * 1024
TASK_LIMIT: Final = 8 * MB
"""Bytes of a file that people write: tasks, skills, values, overrides, policies."""
RECORDING_LIMIT: Final = 64 * MB
"""Bytes of a recording, which may hold screenshots."""
ROWS_LIMIT: Final = 64 * MB
"""Bytes of a file of rows."""
MOST_ROWS: Final = 100_000
"""Rows of a file."""
TRACE_LIMIT: Final = 512 * MB
"""Bytes of an exported trace."""
DEPTH_LIMIT: Final = 100
"""Nested lists and mappings."""
NODES_LIMIT: Final = 500_000
"""Values of a YAML file; each repetition by an alias counts."""
NUMBER_LIMIT: Final = 100
"""Characters of a number: parsing time grows with their square."""
SHOWN: Final = 200
"""Characters of a file's content that an error shows."""


def too_large(limit: int) -> str:
    """Return the message for a file of more than `limit` bytes."""
    return f"it has more than {limit:,} bytes, and no more are read; take out what does not belong in it, or split it"


def json_value(text: str, *, repeats: bool = False, **hooks: Any) -> Any:
    """Parse JSON text like `json.loads` with these hooks.

    With `repeats` the last of two equal keys counts; otherwise they are an error.

    Raises:
        ValueError: the text is refused; a `json.JSONDecodeError` with the place if it is not JSON.
    """
    try:
        value = json.loads(text, **{"object_pairs_hook": None if repeats else _once, "parse_int": _whole} | hooks)
    except RecursionError:
        raise ValueError(_DEEP) from None
    require_shallow(value)
    return value


def require_shallow(value: Any) -> None:
    """Check that the value is not nested too deeply, in linear time.

    Raises:
        ValueError: it is nested too deeply.
    """
    level = [value]
    for _ in range(DEPTH_LIMIT + 1):
        level = [inner for each in level for inner in _within(each)]
        if not level:
            return
    raise ValueError(_DEEP)


def require_texts(value: Any, place: str = "") -> None:
    """Check that all texts of a shallow value can be stored and sent.

    Raises:
        ValueError: one holds NUL or half of a pair of surrogates; names its place.
    """
    match value:
        case str() if not value.isprintable():
            try:
                value.encode()
            except UnicodeEncodeError:
                raise ValueError(f"{_at(place)}half of a character (a lone surrogate); write the whole one") from None
            if "\x00" in value:
                raise ValueError(f"{_at(place)}a NUL character; take it out")
        case Mapping():
            for name, inner in value.items():
                require_texts(name, place)
                require_texts(inner, f"{place}.{str(name)[:SHOWN]}" if place else str(name)[:SHOWN])
        case list():
            for index, inner in enumerate(value):
                require_texts(inner, f"{place}[{index}]")


_DEEP: Final = f"nested too deeply: more than {DEPTH_LIMIT} lists and mappings within each other; write it flatter"


def _within(value: Any) -> Any:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list) else ()


def _at(place: str) -> str:
    return f"{place}: " if place else ""


def _whole(digits: str) -> int:
    if len(digits) > NUMBER_LIMIT:
        raise ValueError(f"a number of {len(digits)} digits; write one of at most {NUMBER_LIMIT}, or a text in quotes")
    return int(digits)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(name for name, following in pairwise(sorted(name for name, _ in pairs)) if name == following)
        raise ValueError(f"the key {twice[:SHOWN]!r} is here twice")
    return found
