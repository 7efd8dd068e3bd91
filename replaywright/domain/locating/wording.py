"""Meaning of wordings on controls: "Log in", "Sign in" and "Anmelden" are the same to a reader.

Words are compared without accents, signs and counters, and then by what they mean, as far as the list of common words
on controls goes. The list is general knowledge about interfaces, not about any site; what is not in it is compared
letter by letter. A word that turns the meaning ("not", "all", "as draft") is never passed over.
"""

import re
import unicodedata
from enum import IntEnum
from functools import lru_cache

from rapidfuzz import fuzz

from replaywright.domain.common.text import normalise
from replaywright.domain.locating.wording_lists import ACTIONS, ARTICLES, FILLING, MEANINGS, ONLY_ALONE, TURNING

SAME_SPELLING = 0.86
"""Words spelt at least this alike are one word: plural and singular, a typing error, "e-mail" and "email"."""

LEAST_LEFT = 1 / 3
"""Minimum share of the shorter wording in the longer one: "Title" is not "Title for want of a label"."""

_LATIN = str.maketrans(
    {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i", "ŋ": "n", "ħ": "h"}
    | {"ƀ": "b", "ƃ": "b", "ƈ": "c", "ɖ": "d", "ƒ": "f", "ɠ": "g", "ƙ": "k", "ɱ": "m", "ɲ": "n", "ƥ": "p", "ʂ": "s"}
    | {"ŧ": "t", "ʋ": "v", "ƶ": "z"}
)
"""Latin letters that Unicode does not take apart into a base and a mark (after CLDR's Latin-ASCII transform)."""
_COUNTER = re.compile(r"[(\[]\s*\d[\d.,+]*\s*[)\]]\s*$")
_WORDS = re.compile(r"[\u3040-\u9fff\uac00-\ud7af]|[^\W_]+")
_CJK = re.compile(r"[\u3040-\u9fff\uac00-\ud7af]")

_ELAPSED = re.compile(
    r"^(?:\S+ ){1,3}ago$|^(?:just )?now$|^(?:vor|il y a|hace) (?:\d+|ein\w*|un[ea]?) \S+$|\d\s*\S{1,3}前$|^刚刚$"
)
"""How long ago something was, in the languages of the word lists."""

_ADDITIONS = ("un", "dis", "de")


class Wording(IntEnum):
    """Agreement of two wordings; higher is better."""

    OPPOSED = 0
    """One says the opposite of the other, or they are known to mean different things."""
    OTHER = 1
    """Nothing says that they mean the same."""
    LONGER = 2
    """All words of one are in the other, and those that came with it turn nothing."""
    ALIKE = 3
    """They mean the same, or are spelt nearly the same."""
    SAME = 4
    """Equal but for case, accents, signs, a counter and articles."""


@lru_cache(maxsize=32768)
def words_of(text: str) -> tuple[str, ...]:
    """Return the words in order, folded to plain letters, without a final counter; CJK by character."""
    plain = _COUNTER.sub("", normalise(text))
    if not plain.isascii():
        plain = "".join(c for c in unicodedata.normalize("NFKD", plain) if not unicodedata.combining(c))
        plain = plain.translate(_LATIN)
    return tuple(_WORDS.findall(plain.replace("'", "")))


def says_how_long_ago(text: str) -> bool:
    """Return True for "3 minutes ago" and its kind: such a text is another one at every visit."""
    return _ELAPSED.search(normalise(text)) is not None


def _meanings() -> dict[tuple[str, ...], str]:
    known: dict[tuple[str, ...], str] = {}
    for line in MEANINGS.strip().splitlines():
        meaning, _, wordings = line.partition(":")
        for wording in wordings.split(","):
            if wording.strip():
                known.setdefault(words_of(wording), meaning)
    return known


_KNOWN = _meanings()
_LONGEST = max(map(len, _KNOWN))


@lru_cache(maxsize=32768)
def meaning_of(text: str) -> tuple[tuple[str, ...], bool]:
    """Return the meanings phrase by phrase without filler words, and whether all are known."""
    words = words_of(text)
    found: list[str] = []
    complete = True
    at = 0
    while at < len(words):
        for length in range(min(_LONGEST, len(words) - at), 0, -1):
            meaning = _KNOWN.get(words[at : at + length])
            if length == 1 < len(words) and words[at] in ONLY_ALONE:
                meaning = None
            if meaning is not None:
                found.append(meaning)
                at += length
                break
        else:
            if words[at] not in FILLING:
                found.append(words[at])
                complete = False
            at += 1
    return tuple(found), complete


@lru_cache(maxsize=32768)
def compare(recorded: str, seen: str) -> Wording:
    """Return the agreement of two wordings. Numbers count: "Page 2" is not "Page 3". Of signs alone, "+" is not "-"."""
    left, right = words_of(recorded), words_of(seen)
    if not left or not right:
        then, now = normalise(recorded), normalise(seen)
        are_signs = bool(then and now) and not (left or right)
        return Wording.SAME if then == now else Wording.OPPOSED if are_signs else Wording.OTHER
    if _bare(left) == _bare(right) or "".join(left) == "".join(right):
        return Wording.SAME
    (means, known), (meant, also_known) = meaning_of(recorded), meaning_of(seen)
    a, b = frozenset(means), frozenset(meant)
    if a == b and means:
        return Wording.ALIKE
    if _is_turned(frozenset(left), frozenset(right)):
        return Wording.OPPOSED
    if _numbers(left) != _numbers(right):
        return Wording.OTHER
    if _spelt_alike(left, right):
        return Wording.ALIKE
    if a and b and (a < b or b < a):
        is_longer = not (a ^ b) & ACTIONS and min(len(a), len(b)) >= LEAST_LEFT * max(len(a), len(b))
        return Wording.LONGER if is_longer else Wording.OTHER
    return Wording.OPPOSED if known and also_known and not a & b else Wording.OTHER


def _bare(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words without articles before others: "Plan A" keeps its A."""
    return (*(word for word in words[:-1] if word not in ARTICLES), *words[-1:])


def _is_turned(left: frozenset[str], right: frozenset[str]) -> bool:
    """Return True if only one wording has a negation, "all" or the like: "Send" and "Cancel send"."""
    if (left ^ right) & TURNING:
        return True
    pairs = [(a, b) for a in left - right for b in right - left if min(len(a), len(b)) > 2]
    return any(a == prefix + b or b == prefix + a for a, b in pairs for prefix in _ADDITIONS)


def _numbers(words: tuple[str, ...]) -> frozenset[str]:
    return frozenset(word for word in words if any(c.isdigit() for c in word))


def _spelt_alike(left: tuple[str, ...], right: tuple[str, ...]) -> bool:
    if len(left) != len(right) or any(_CJK.match(word) for word in (*left, *right)):
        return False
    return all(
        x == y or (len(x) > 3 and fuzz.ratio(x, y) / 100 >= SAME_SPELLING) for x, y in zip(left, right, strict=True)
    )
