"""Sentence patterns: where values stand in a sentence, and the sentence with their parameters' names instead."""

import re
from collections.abc import Mapping

from replaywright.domain.words import folded


def places_of(sentence: str, values: Mapping[str, str]) -> dict[str, tuple[int, int]]:
    """Where the values stand in a sentence, the longest first; equal ones in the order of their names' mention.

    A value that does not stand there (but for letter case and width) has no place. Quotes around it belong to it.
    """
    plain = folded(sentence)
    taken: list[tuple[int, int]] = []
    found: dict[str, tuple[int, int]] = {}
    for name, value in sorted(values.items(), key=lambda item: -len(item[1])):
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
