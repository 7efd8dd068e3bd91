"""Deeds with consequences, by the words for them: what a goal does not ask for is not done, whatever a page says.

A model that plans reads the page, and a page may tell it to do things. So what a planned step says, and what the
element that was chosen for it says of itself, is compared with the goal, which no page has written. The words are
general knowledge about interfaces, folded as `wording.words_of` folds them; "submit", "confirm" or "OK" say nothing by
themselves. A word in disguise is read as a person reads it (`masks`).
"""

from collections.abc import Iterable, Mapping

from replaywright.domain.masks import unmasked
from replaywright.domain.templates import fill, parameters_in
from replaywright.domain.weighty_lists import IN_GOALS, ON_CONTROLS
from replaywright.domain.wording import words_of

_NAMING = 3
"""Words that a value has at most that may name a control."""
_PIECES = 12
"""Into so many pieces a word may be taken apart."""
_EXCEPTED = ("已发送", "已删除", "已分享")
"""Folders and states: what was done, not what is to be done."""


def _listed(text: str) -> frozenset[tuple[str, ...]]:
    return frozenset(words_of(phrase) for phrase in text.split(","))


_DONE = {deed: _listed(words) for deed, words in ON_CONTROLS.items()}
_ASKED = {deed: _DONE[deed] | _listed(words) for deed, words in IN_GOALS.items()}


def deeds_in(text: str) -> frozenset[str]:
    """The deeds that a control, or a step about it, speaks of."""
    for excepted in _EXCEPTED:
        text = text.replace(excepted, " ")
    return frozenset().union(*(_found(reading, _DONE) for reading in unmasked(text)))


def deeds_asked(goal: str, verbs: Iterable[str] = ()) -> frozenset[str]:
    """The deeds that a goal, or somebody who has only read the goal, asks for."""
    return frozenset().union(*(_found(text, _ASKED) for text in (goal, *verbs)))


def order_in(template: str, values: Mapping[str, str]) -> str:
    """A goal's own words: with its short values, such as the name of a button, and without what is only entered.

    A note with the text "remember to delete the old account" asks for a note.
    """
    known = {
        name: value if len(words_of(value := values.get(name, ""))) <= _NAMING else " "
        for name in parameters_in(template)
    }
    return fill(template, known)


def objection(said: Iterable[str], asked: frozenset[str]) -> str:
    """Why what these texts speak of must not be done for a goal that asks for `asked`; empty when nothing objects."""
    for text in said:
        if extra := deeds_in(text) - asked:
            return f"{text[:80]!r} is about {min(extra)}, which the goal does not ask for"
    return ""


def _found(text: str, known: dict[str, frozenset[tuple[str, ...]]]) -> frozenset[str]:
    words = words_of(text)
    longest = max(len(phrase) for phrases in known.values() for phrase in phrases)
    spans = {words[at : at + length] for length in range(1, 1 + longest) for at in range(len(words) - length + 1)}
    # A word with gaps in it, such as those that a browser makes of characters without a width, is a word still.
    spans |= {
        ("".join(words[at : at + length]),) for length in range(2, 1 + _PIECES) for at in range(len(words) - length + 1)
    }
    return frozenset(deed for deed, phrases in known.items() if phrases & spans)
