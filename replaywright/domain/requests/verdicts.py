"""Signs of success in an answer in JSON: its truth values, its status words, and what it holds at all."""

import re
from collections.abc import Iterator
from typing import Final

from replaywright.domain.requests.document import Document, Json, JsonNumber, leaf_text
from replaywright.domain.step.fingerprints import digest

_WORD: Final = re.compile(r"[A-Za-z][A-Za-z_-]{0,19}")
_NOTHING: Final[tuple[Json, ...]] = (None, False, "", "0", "false", [], {})


def verdicts_of(document: Document) -> dict[str, str]:
    """Return what an answer says outside of its lists: digests of its truth values and lone words, by path."""
    return {
        path: verdict_of(leaf_text(value))
        for path, value in _values(document.data)
        if isinstance(value, bool)
        or (isinstance(value, str) and not isinstance(value, JsonNumber) and _WORD.fullmatch(value))
    }


def verdict_of(text: str) -> str:
    """Return what a verdict is kept as."""
    return digest(text)[:16]


def filled_in(document: Document) -> tuple[str, ...]:
    """Return the paths, outside of lists, that hold something: a fault stands where nothing stood before."""
    return tuple(path for path, value in _values(document.data) if value not in _NOTHING)


def _values(data: Json) -> Iterator[tuple[str, Json]]:
    left: list[tuple[str, Json]] = [("", data)]
    while left:
        path, value = left.pop()
        yield path, value
        if isinstance(value, dict):
            left.extend((f"{path}.{key}".lstrip("."), inner) for key, inner in value.items())
