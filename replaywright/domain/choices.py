"""Which of the choices of a parameter a text means, as people write them."""

import re
import unicodedata
from collections.abc import Sequence
from itertools import takewhile

_HAN = re.compile("[\u3400-\u9fff]")
_LEAST_HAN = 2
"""Signs of a word of its own in Chinese."""


def choice_of(text: str, choices: Sequence[str]) -> str | None:
    """The one choice that a text means: whatever the letter case, width and spaces, or by a word that only it has.

    None where no choice or more than one fits.
    """
    said = _plain(text)
    same = [choice for choice in choices if _plain(choice) == said]
    if same or not said:
        return same[0] if len(same) == 1 else text if text in same else None
    named = [choice for choice, words in zip(choices, _own_words(choices), strict=True) if said in words]
    return named[0] if len(named) == 1 else None


def is_whole(text: str, choices: Sequence[str]) -> bool:
    """Whether a text is a choice in full, and not only a word of one."""
    return any(_plain(choice) == _plain(text) for choice in choices)


def _plain(text: str) -> str:
    return "".join(unicodedata.normalize("NFKC", text).casefold().split())


def _own_words(choices: Sequence[str]) -> list[frozenset[str]]:
    """Of each choice the words that no other one has: "economy" of "Economy class", 储蓄 of 储蓄账户."""
    words = [_words(choice) for choice in choices]
    plain = [_plain(choice) for choice in choices]
    before = _common(plain) if len(plain) > 1 else 0
    after = _common([each[::-1] for each in plain]) if len(plain) > 1 else 0
    found = []
    for index, each in enumerate(words):
        others = frozenset[str]().union(*(other for at, other in enumerate(words) if at != index))
        rest = plain[index][before : len(plain[index]) - after] if after or before else ""
        is_own = len(rest) >= _LEAST_HAN and bool(_HAN.search(rest))
        found.append((each - others) | ({rest} if is_own else set()))
    return found


def _common(texts: Sequence[str]) -> int:
    """Signs that all texts begin with."""
    return sum(1 for _ in takewhile(lambda signs: len(set(signs)) == 1, zip(*texts, strict=False)))


def _words(choice: str) -> frozenset[str]:
    parts = re.findall(r"[^\W\d_]+", unicodedata.normalize("NFKC", choice).casefold())
    return frozenset(part for part in parts if len(parts) > 1 and len(part) > 2 and not _HAN.search(part))
