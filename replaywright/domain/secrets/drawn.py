"""Secrets in texts that were read from a picture, with the mistakes of such readings.

What looks alike counts as the same (`0` and `O`; `1`, `l` and `I`), in either case, and only letters and digits count.
A value is found in one line, in parts of several (broken in two, or drawn in groups), and in part: half of a password
is a loss, and a line that is hidden by chance a nuisance.
"""

import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import ceil

from rapidfuzz import fuzz

LIKENESS, SHORT_LIKENESS = 74.0, 88.0
"""Least likeness, per cent, of a value and a piece of text; the latter below `LONG` letters, which resemble much."""
LONG = 8
PART = 0.38
"""Share of a value's letters in a row that shows it: well below what can be completed."""
WORN_PART, WORN_LIKENESS = 0.55, 82.0
"""The same of a part that is not read rightly."""
LEAST = 4
"""Letters of a part at least: shorter ones are in every text. Shorter values are found as whole words only."""
EDGE = 3
"""Letters of a line, if it has so many, that a place must have to be on it."""
SURE = 0.6
"""Least certainty of a reading; what was read with less may be anything."""
_ALIKE = str.maketrans({"0": "o", "1": "i", "!": "i", "|": "i", "l": "i", "5": "s", "$": "s", "8": "b", "6": "b"})
_ALIKE |= str.maketrans({"2": "z", "9": "g", "q": "g"})
_TOGETHER = (("rn", "m"), ("vv", "w"), ("ci", "d"))


@dataclass(frozen=True)
class DrawnLine:
    """One line of a picture: what was read, how surely (0 to 1), and the corners of its place."""

    text: str
    certainty: float
    corners: tuple[tuple[float, float], ...]

    @property
    def left(self) -> float:
        """Its left edge."""
        return min(x for x, _ in self.corners)

    @property
    def middle(self) -> float:
        """The height of its middle."""
        return sum(y for _, y in self.corners) / len(self.corners)

    @property
    def height(self) -> float:
        """Its extent from top to bottom."""
        return max(y for _, y in self.corners) - min(y for _, y in self.corners)


def folded(text: str) -> str:
    """Return the letters and digits of a text, with one letter for all that look like it."""
    plain = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", text)).casefold().translate(_ALIKE)
    letters = "".join(one for one in plain if one.isalnum())
    for two, one in _TOGETHER:
        letters = letters.replace(two, one)
    return letters


def showing(lines: Sequence[DrawnLine], values: Iterable[str]) -> frozenset[int]:
    """Return the indexes of the lines that show one of the values or a part of it, or that cannot be read surely."""
    texts = [folded(line.text) for line in lines]
    found = {at for at, line in enumerate(lines) if line.certainty < SURE}
    orders = [_Joined.of(texts, order) for order in _orders(lines)]
    for value in set(values):
        sought = folded(value)
        if len(sought) < LEAST:
            found.update(at for at, line in enumerate(lines) if _has_word(line.text, value))
            continue
        found.update(at for at, text in enumerate(texts) if _has_part(text, sought))
        for joined in orders:
            found.update(joined.showing(sought))
    return frozenset(found)


def _orders(lines: Sequence[DrawnLine]) -> Iterator[list[int]]:
    """Yield orders in which lines continue each other: across the picture, and down its columns."""
    rows: list[list[int]] = []
    for at in sorted(range(len(lines)), key=lambda one: lines[one].middle):
        last = lines[rows[-1][0]] if rows else None
        if last is not None and lines[at].middle - last.middle < last.height / 2:
            rows[-1].append(at)
        else:
            rows.append([at])
    yield [at for row in rows for at in sorted(row, key=lambda one: lines[one].left)]
    columns: list[list[int]] = []
    for at in sorted(range(len(lines)), key=lambda one: lines[one].middle):
        line = lines[at]
        above = (column for column in columns if abs(lines[column[-1]].left - line.left) < line.height * 2)
        column = next(above, None)
        if column is None:
            columns.append([at])
        else:
            column.append(at)
    yield [at for column in columns for at in column]


@dataclass(frozen=True)
class _Joined:
    """Lines one after the other, as one text."""

    text: str
    order: tuple[int, ...]
    ends: tuple[int, ...]

    @classmethod
    def of(cls, texts: Sequence[str], order: Sequence[int]) -> "_Joined":
        told = [at for at in order if texts[at]]
        return cls("".join(texts[at] for at in told), tuple(told), tuple(accumulate(len(texts[at]) for at in told)))

    def showing(self, sought: str) -> Iterator[int]:
        """Yield the indexes of the lines with the places that resemble `sought`."""
        likeness = LIKENESS if len(sought) >= LONG else SHORT_LIKENESS
        text = self.text
        while len(text) >= len(sought):
            place = fuzz.partial_ratio_alignment(sought, text, score_cutoff=likeness)
            if place is None or place.dest_end <= place.dest_start:
                return
            yield from self._within(place.dest_start, place.dest_end)
            text = f"{text[: place.dest_start]}{' ' * (place.dest_end - place.dest_start)}{text[place.dest_end :]}"

    def _within(self, start: int, end: int) -> Iterator[int]:
        """Yield the indexes of the lines of a place, without those of which it only has an edge."""
        at = bisect_right(self.ends, start)
        while at < len(self.ends) and (begin := self.ends[at - 1] if at else 0) < end:
            if min(end, self.ends[at]) - max(start, begin) >= min(EDGE, self.ends[at] - begin):
                yield self.order[at]
            at += 1


def _has_part(text: str, sought: str) -> bool:
    size = max(LEAST, ceil(PART * len(sought)))
    if any(sought[at : at + size] in text for at in range(len(sought) - size + 1)):
        return True
    worn = ceil(WORN_PART * len(sought))
    if worn < LONG or len(text) < worn:
        return False
    starts = range(0, len(sought) - worn + 1, 2)
    return any(fuzz.partial_ratio(sought[at : at + worn], text) >= WORN_LIKENESS for at in starts)


def _has_word(text: str, value: str) -> bool:
    """Tell if a value that is too short for anything else is there as a word."""
    sought = "".join(value.casefold().split())
    if not folded(value):
        return bool(sought) and sought in "".join(text.casefold().split())
    return any(folded(word) == folded(value) for word in text.split())
