"""Sentence patterns: where values stand in a sentence, and the sentence with their parameters' names instead."""

import re
from collections.abc import Mapping, Sequence

from replaywright.domain.lists import list_of
from replaywright.domain.words import folded

_MARKS = r"[\"'“”‘’„«»「」『』\s]*"
_BETWEEN = rf"{_MARKS}[,;，；、]?\s*(?:(?:and|und|et|y)\s|&|和|与|以及|及)?{_MARKS}"
"""What may stand between two texts of a list."""


def span_of(texts: Sequence[str], sentence: str) -> str:
    """The part of a sentence that lists just these texts, one after the other; empty if there is none."""
    if not texts or not all(text.strip() for text in texts):
        return ""
    listed = re.search(f"({_BETWEEN})".join(map(re.escape, texts)), sentence)
    return listed[0] if listed is not None and all(between.strip() for between in listed.groups()) else ""


def _words_of(value: str, sentence: str) -> str:
    """The words of a sentence that are a value: of a parameter of type list those that its texts stand in."""
    try:
        texts = list_of(value) if value.startswith('["') else ()
    except ValueError:
        return value
    return span_of(texts, sentence) or value


def places_of(sentence: str, values: Mapping[str, str]) -> dict[str, tuple[int, int]]:
    """Where the values stand in a sentence, the longest first; equal ones in the order of their names' mention.

    A value that does not stand there (but for letter case and width) has no place. Quotes around it belong to it.
    """
    plain = folded(sentence)
    taken: list[tuple[int, int]] = []
    found: dict[str, tuple[int, int]] = {}
    told = {name: _words_of(value, sentence) for name, value in values.items()}
    for name, value in sorted(told.items(), key=lambda item: -len(item[1])):
        wanted = folded(value)
        candidates = [
            (match.start(), match.end())
            for match in re.finditer(re.escape(wanted), plain)
            if wanted and _stands_alone(plain, match.start(), match.end())
        ]
        free = [place for place in candidates if all(place[1] <= start or end <= place[0] for start, end in taken)]
        quoted = [(start, end) for start, end in free if is_quoted(plain, start, end)]
        if free:
            place = (quoted or free)[0]
            taken.append(place)
            found[name] = place
    return found


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Whether no letter or digit of the same word goes on beside it; signs of scripts without spaces may."""
    before = text[start - 1] if start else " "
    after = text[end] if end < len(text) else " "
    left = before.isascii() and before.isalnum() and text[start].isascii() and text[start].isalnum()
    right = after.isascii() and after.isalnum() and text[end - 1].isascii() and text[end - 1].isalnum()
    return not (left or right)


_QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "'", "「": "」", "『": "』", "《": "》", "«": "»", "„": "“"}


def is_quoted(text: str, start: int, end: int) -> bool:
    """Whether quotes of one pair stand right around a place."""
    return 0 < start < end < len(text) and _QUOTES.get(text[start - 1]) == text[end]


def pattern_of(goal: str, values: Mapping[str, str]) -> str:
    """The sentence pattern of a goal: each value replaced by its parameter's name in double braces.

    Longest values first, and each once, where it stands as a word of its own; in quotes rather than without. Parameters
    of the same value take its occurrences in their own order; one whose value does not stand in the goal (or no more)
    has no place in the pattern. Secrets are no parameters, and `{{…}}` in the goal is left as it is.
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
