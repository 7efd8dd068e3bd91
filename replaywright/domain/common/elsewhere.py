"""Files and texts from elsewhere: how large, how deep and how long what stands in them may be, for all that read them.

Nothing that is packed (gzip, zip) is read anywhere: what a file may become is what it is.
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
"""Rows of such a file."""
TRACE_LIMIT: Final = 512 * MB
"""Bytes of an exported trace."""
DEPTH_LIMIT: Final = 100
"""Lists and mappings within each other."""
NODES_LIMIT: Final = 500_000
"""Values of a YAML file, those that an alias repeats counted each time."""
NUMBER_LIMIT: Final = 100
"""Characters of a number: reading longer ones takes time that grows with their square."""
SHOWN: Final = 200
"""Characters of what a file says that an error shows."""


def too_large(limit: int) -> str:
    """What is said of a file of more than `limit` bytes."""
    return f"it has more than {limit:,} bytes, and no more are read; take out what does not belong in it, or split it"


def json_value(text: str, *, repeats: bool = False, **hooks: Any) -> Any:
    """The data in a text of JSON, as `json.loads` reads it with these hooks.

    `repeats` takes the last of what an object says twice, which is an error otherwise.

    Raises:
        ValueError: what is wrong with it; a `json.JSONDecodeError`, with the place, where it is no JSON.
    """
    try:
        value = json.loads(text, **{"object_pairs_hook": None if repeats else _once, "parse_int": _whole} | hooks)
    except RecursionError:
        raise ValueError(_DEEP) from None
    require_shallow(value)
    return value


def require_shallow(value: Any) -> None:
    """See that nothing is deeper in it than is read; in time linear to what is in it.

    Raises:
        ValueError: it is.
    """
    level = [value]
    for _ in range(DEPTH_LIMIT + 1):
        level = [inner for each in level for inner in _within(each)]
        if not level:
            return
    raise ValueError(_DEEP)


def require_texts(value: Any, place: str = "") -> None:
    """See that texts in it, which is not too deep, can be stored and sent.

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
