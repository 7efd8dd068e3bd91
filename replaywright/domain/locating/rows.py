"""Comparison of rows of tables and lists by their texts, never by position."""

import re
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache

from rapidfuzz import fuzz

from replaywright.domain.common.text import normalise, tokens
from replaywright.domain.locating.wording import meaning_of, says_how_long_ago

SAME_ROW = 0.7
"""A row that holds a smaller share of the recorded row's words, and of its cells, is about something else."""
LIKE_CELL = 0.6
"""Cells spelt at least this alike, and not equal, name two things of one kind: "Invoice 12" and "Invoice 123"."""

_MOMENT = re.compile(
    r"\d{1,4}[-/.:]\d{1,2}|[%€$£¥]|前|昨天|今天"
    r"|\b(?:ago|today|yesterday|now|sec|seconds?|min|minutes?|h|hours?|days?|weeks?|months?|years?|vor|gestern|heute)\b"
    r"|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b",
    re.IGNORECASE,
)
"""Times and amounts: such a cell may change within the same row."""
_NUMBERED = re.compile(r"^(?:\d+[.):]|#\d+[.):]?)\s+(?=\S)|(?<=\S)\s+\(?#\d+\)?$")
"""The number of a row beside what it is called by: "4. Soup", "Soup #4". Not "Soup 4", which may be its name."""
_AROUND = re.compile(r"^[^\w+\-]+|[^\w+\-]+$")
_DECORATION = " :*›»→()[]{}"
"""Signs before and behind a text that are not part of what it says."""


def same_row(
    recorded: Iterable[str], seen: Iterable[str], own: frozenset[str] = frozenset(), near: Iterable[str] = ()
) -> bool:
    """Return True if the row is the recorded one; the words `own` of the elements themselves do not count.

    Cells may stand in another order, there may be more of them, and several may have become one, or one several. The
    first cell that was recorded and is no number or moment is what the row is called by: it must be there as a whole.
    No other cell may have become one in nearly the same words. A cell with all cells of the row, among others, is that
    row in a list of rows. Where no row is seen any more, what the row was called by must stand `near`. An element that
    was recorded outside of any row may stand in one now.
    """
    then, there = list(recorded), list(seen)
    left, right = _cells(_parted(then, there), own), _cells(_parted(there, then), own)
    if not left:
        return True
    if len(then) > 1 and len(there) > 1 and any(_joins_all(cell, then) for cell in there):
        return False
    called = next((cell for cell in left if not _MOMENT.search(cell) and not cell.isdigit()), left[0])
    if not right:
        return _is_in(called, [normalise(text).strip(_DECORATION) for text in near])
    missing = [cell for cell in left if not _is_in(cell, right)]
    if called in missing:
        return False
    words = _words(left)
    found = _words(cell for cell in left if cell not in missing) | (_words(missing) & _words(right))
    if max(len(found) / max(1, len(words)), 1 - len(missing) / len(left)) < SAME_ROW:
        return False
    added = [cell for cell in right if not _is_in(cell, left)]
    return not any(_names_another(before, now) for before in missing for now in added)


def _joins_all(cell: str, row: Sequence[str]) -> bool:
    """Return True if the cell is no cell of the row, but consists of all of them."""
    known, words = {_read(part) for part in row} - {()}, _read(cell)
    return words not in known and {tuple(part.split()) for part in _parts(words, known)} == known


def _parted(row: Sequence[str], other: Sequence[str]) -> list[str]:
    """Return the cells of `row`; one that joins several cells of `other` counts as these."""
    known = {_read(cell) for cell in other} - {()}
    return [part for cell in row for part in _parts(_read(cell), known) or (cell,)]


@lru_cache(maxsize=8192)
def _read(cell: str) -> tuple[str, ...]:
    """Return what is read of a cell, word by word; brackets and other signs around a word are not."""
    words = (_AROUND.sub("", word) for word in normalise(cell).split())
    return tuple(word for word in words if word)


def _parts(words: tuple[str, ...], known: AbstractSet[tuple[str, ...]]) -> list[str]:
    """Return the known cells that the words consist of, in their order; empty if they do not."""
    ways: list[list[str] | None] = [[]]
    """For each number of leading words the known cells that they consist of."""
    for end in range(1, len(words) + 1):
        last = (part for part in known if words[max(0, end - len(part)) : end] == part)
        before = ((ways[end - len(part)], part) for part in last)
        ways.append(next(([*way, " ".join(part)] for way, part in before if way is not None), None))
    return ways[-1] or []


def _is_in(cell: str, row: Iterable[str]) -> bool:
    """Return True if the row has the cell, literally, in words with the same meaning or beside the row's number."""
    meaning, known = meaning_of(cell)
    if any(cell == other or (known and meaning_of(other) == (meaning, True)) for other in row):
        return True
    return any(cell == without_number(other) for other in row)


def without_number(cell: str) -> str:
    """Return the cell without a number that only counts the row."""
    return _NUMBERED.sub("", cell)


def _cells(row: Iterable[str], own: frozenset[str]) -> list[str]:
    """Return the normalised, distinctive cells without decoration; truncated ones are more than a cell.

    Cells that say how long ago something was are left out.
    """
    cells = []
    for cell in row:
        text = normalise(cell).strip(_DECORATION)
        if text and not cell.endswith("…") and not says_how_long_ago(text) and tokens(text) - own:
            cells.append(text)
    return cells


def _words(cells: Iterable[str]) -> frozenset[str]:
    return frozenset().union(*(tokens(cell) for cell in cells))


def _names_another(before: str, now: str) -> bool:
    if _MOMENT.search(before) and _MOMENT.search(now):
        return False
    if before.isdigit() and now.isdigit():
        return True
    return bool(tokens(before) & tokens(now)) or fuzz.ratio(before, now) / 100 >= LIKE_CELL
