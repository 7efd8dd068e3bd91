"""Choices of a parameter as people name them."""

from collections.abc import Sequence

from replaywright.domain.common.sentences import sentence_of


def choice_of(text: str, choices: Sequence[str]) -> str | None:
    """Return the only choice that a text means: equal, or with its words side by side.

    Letter case, width and common punctuation are ignored. None if no choice or more than one matches.
    """
    words = _words(text)
    same = [choice for choice in choices if _words(choice) == words]
    if same or not words:
        return same[0] if len(same) == 1 else text if text in same else None
    named = [choice for choice in choices if _holds(_words(choice), words)]
    return named[0] if len(named) == 1 and sum(map(len, words)) > 1 else None


def is_whole(text: str, choices: Sequence[str]) -> bool:
    """Return True if the text is a whole choice, not only a word of one."""
    return any(_words(choice) == _words(text) for choice in choices)


def _words(text: str) -> tuple[str, ...]:
    return tuple(token.plain for token in sentence_of(text).tokens)


def _holds(words: tuple[str, ...], part: tuple[str, ...]) -> bool:
    return any(words[at : at + len(part)] == part for at in range(len(words) - len(part) + 1))
