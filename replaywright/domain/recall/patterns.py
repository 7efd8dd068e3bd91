"""Sentence patterns: places of values in a sentence, and the sentence with parameter names instead."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache

from replaywright.domain.common.lists import list_of
from replaywright.domain.common.sentences import QUOTES, SLOT, stands_alone

_BETWEEN = r"(\W*(?:[^\W\d_]{1,5}\W*)?)"
"""Text between two texts of a list: punctuation, and a word as short as "and"."""


def span_of(texts: Sequence[str], sentence: str) -> str:
    """Return the part of a sentence that lists exactly these texts; empty without one."""
    if not texts or not all(text.strip() for text in texts):
        return ""
    listed = re.search(_BETWEEN.join(map(re.escape, texts)), sentence)
    return listed[0] if listed is not None and all(between.strip() for between in listed.groups()) else ""


def _words_of(value: str, sentence: str) -> str:
    """Return the words of a sentence that are a value; for a list value, the words that list it."""
    try:
        texts = list_of(value) if value.startswith('["') else ()
    except ValueError:
        return value
    return span_of(texts, sentence) or value


def places_of(sentence: str, values: Mapping[str, str]) -> dict[str, tuple[int, int]]:
    """Find the values in a sentence, longest first; equal ones in order of their names.

    Letter case and width are ignored. A value that is not in the sentence has no place; quoted occurrences are
    preferred.
    """
    plain = _folded(sentence)
    taken: list[tuple[int, int]] = []
    found: dict[str, tuple[int, int]] = {}
    words = {name: _words_of(value, sentence) for name, value in values.items()}
    for name, value in sorted(words.items(), key=lambda item: -len(item[1])):
        wanted = _folded(value)
        candidates = [
            (match.start(), match.end())
            for match in re.finditer(re.escape(wanted), plain)
            if wanted.strip() and stands_alone(sentence, match.start(), match.end())
        ]
        free = [place for place in candidates if all(place[1] <= start or end <= place[0] for start, end in taken)]
        quoted = [(start, end) for start, end in free if _is_quoted(plain, start, end)]
        if free:
            place = (quoted or free)[0]
            taken.append(place)
            found[name] = place
    return found


def _is_quoted(text: str, start: int, end: int) -> bool:
    """Return True if quotes surround the place."""
    return 0 < start < end < len(text) and text[start - 1] in QUOTES and text[end] in QUOTES


def pattern_of(goal: str, values: Mapping[str, str]) -> str:
    """Replace each value in a goal by its parameter in double braces.

    Longest values first, each once and as whole words, quoted occurrences before others. Parameters with the same value
    take its occurrences in order; one without an occurrence is not in the pattern. `{{…}}` in the goal stays.
    """
    closed = [(match.start(), match.end()) for match in re.finditer(r"\{\{[^{}]*\}\}", goal)]
    places = {
        name: place
        for name, place in places_of(goal, values).items()
        if all(place[1] <= start or end <= place[0] for start, end in closed)
    }
    text = goal
    for name, (start, end) in sorted(places.items(), key=lambda item: -item[1][0]):
        text = text[:start] + "{{" + name + "}}" + text[end:]
    return text


def filled(pattern: str, values: Mapping[str, str]) -> str:
    """Fill the slots of a pattern that have values."""
    return SLOT.sub(lambda slot: values.get(slot["name"], slot[0]), pattern)


def _folded(text: str) -> str:
    """Fold letter case and width by character, so that positions stay."""
    return "".join(map(_folded_character, text))


@lru_cache(maxsize=4096)
def _folded_character(character: str) -> str:
    small = unicodedata.normalize("NFKC", character).lower()
    return {"’": "'", "‑": "-", "–": "-"}.get(small, small) if len(small) == 1 else character
