"""Functions that a script brings with it, each only if it is used."""

import re
from collections.abc import Iterable, Mapping


def functions_of(source: str) -> Mapping[str, str]:
    """Return the functions of a source text by their names; each begins in the first column, with what stands above."""
    parts = re.split(r"\n{2,}(?=[^\s}])", source.strip("\n"))
    named = ((re.search(r"^(?:async )?(?:def|function) (\w+)", part, re.MULTILINE), part) for part in parts)
    return {match[1]: part for match, part in named if match is not None}


def with_others(catalogue: Mapping[str, str], used: Iterable[str]) -> list[str]:
    """List the used functions and those that they call, in the order of the catalogue."""
    wanted: set[str] = set()
    new = set(used)
    while new:
        wanted |= new
        new = {name for one in new for name in catalogue if _calls(catalogue[one], name)} - wanted
    return [name for name in catalogue if name in wanted]


def _calls(source: str, name: str) -> bool:
    return re.search(rf"(?<![.\w]){name}\(|\({name}\)", source) is not None
