"""What the words, values and marks of a task sentence are."""

import unicodedata
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import TypeAlias

from replaywright.domain import goal_lists as lists
from replaywright.domain import script_lists


class Kind(StrEnum):
    """What a token is."""

    WORD = "word"
    MARK = "mark"
    """Punctuation."""
    SLOT = "slot"
    """`{{parameter}}` of a pattern."""
    FIXED = "fixed"
    """A value whose place is known already."""
    QUOTED = "quoted"
    EMAIL = "email"
    URL = "url"
    DATE = "date"
    MONTH = "month"
    TIME = "time"
    PHONE = "phone"
    NUMBER = "number"
    CODE = "code"
    """Letters and digits together, or a file's name."""


VALUES = frozenset(Kind) - {Kind.WORD, Kind.MARK, Kind.SLOT}


class Sort(StrEnum):
    """What a concept is."""

    ACT = "act"
    THING = "thing"
    ATTRIBUTE = "attribute"
    DIRECTION = "direction"
    QUALIFIER = "qualifier"
    UNKNOWN = "unknown"
    """A word that is on no list; its concept is the word itself."""


Concept: TypeAlias = tuple[Sort, str]

FREE = frozenset((Sort.DIRECTION, word) for word in lists.FREE.split())
"""Directions that say nothing by themselves."""


@dataclass(frozen=True)
class Token:
    """A word or phrase, a value or a mark."""

    kind: Kind
    text: str
    """As it stands in the sentence; of a quotation what is between the quotes; of a slot its parameter's name."""
    start: int
    end: int
    concepts: tuple[Concept, ...] = ()
    """What a word may mean, likeliest first; empty for one that says nothing by itself."""
    is_negation: bool = False
    is_join: bool = False
    is_measure: bool = False
    is_plural: bool = False
    """Of a word whose single form is listed."""
    is_participle: bool = False
    """An act that is done or to be done: "closed"."""
    is_soft: bool = False
    """It may say nothing, whatever else it may mean: "please", "ask for" (请)."""
    is_chat: bool = False
    """It is said around a task: "when you get a minute"."""

    @property
    def is_filler(self) -> bool:
        """Whether it says nothing by itself."""
        return self.kind is Kind.WORD and not self.concepts and not self.is_measure

    @property
    def is_free(self) -> bool:
        """Whether it is a direction that may stand anywhere."""
        return bool(self.concepts) and self.concepts[0] in FREE

    @cached_property
    def word(self) -> str:
        """In small letters and simplified signs."""
        return plain(self.text)


def is_act(token: Token) -> bool:
    """Whether a word may say that something is done."""
    return any(sort is Sort.ACT for sort, _ in token.concepts)


def is_thing(token: Token) -> bool:
    """Whether a word may name what something is done to."""
    return any(sort is Sort.THING for sort, _ in token.concepts)


_SIMPLIFIED = str.maketrans(script_lists.TRADITIONAL.strip(), script_lists.SIMPLIFIED.strip())


@lru_cache(maxsize=65536)
def plain(text: str) -> str:
    """As the lists write it: `folded`, and traditional signs as simplified ones; positions stay."""
    return folded(text).translate(_SIMPLIFIED)


def folded(text: str) -> str:
    """`text` in small letters and half width, character by character: positions stay."""
    return "".join(map(_folded_character, text))


@lru_cache(maxsize=4096)
def _folded_character(character: str) -> str:
    small = unicodedata.normalize("NFKC", character).lower()
    if len(small) != 1 or character == "，":  # which parts numbers, and is in none
        return character
    return {"’": "'", "＇": "'", "`": "'", "‑": "-", "–": "-"}.get(small, small)
