"""What an answer in JSON says of its success: truth values, status words, and the faults that it reports."""

import re
from collections.abc import Iterator
from typing import Final

from replaywright.domain.requests.document import Document, Json, JsonNumber, leaf_text
from replaywright.domain.step.fingerprints import digest

_WORD: Final = re.compile(r"[A-Za-z][A-Za-z_-]{0,19}")
_FAULTS: Final = ("err", "fault", "fail", "problem", "violation", "exception", "reject", "denied", "invalid", "refus")
"""Beginnings of words in the names of keys."""
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


def faults_of(document: Document) -> tuple[str, ...]:
    """Return the paths of the keys that are named like faults and hold something."""
    return tuple(path for path, value in _values(document.data) if value not in _NOTHING and _names_fault(path))


def _values(data: Json) -> Iterator[tuple[str, Json]]:
    left: list[tuple[str, Json]] = [("", data)]
    while left:
        path, value = left.pop()
        yield path, value
        if isinstance(value, dict):
            left.extend((f"{path}.{key}".lstrip("."), inner) for key, inner in value.items())


def _names_fault(path: str) -> bool:
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+", path.rpartition(".")[2])
    return any(word.lower().startswith(_FAULTS) for word in words)
