"""What the words beside a value say about where it belongs."""

from replaywright.domain import goal_lists as lists
from replaywright.domain.words import FREE, Concept, Sort

_BY = frozenset({(Sort.DIRECTION, "by")})


def is_opposite(beside: frozenset[Concept], learned: frozenset[Concept]) -> bool:
    """Whether a value stands where to, when it is one of where from, or the other way round."""
    said, known = ({name for _, name in concepts} for concepts in (beside, learned))
    one, other = lists.OPPOSITE
    return any(
        known & mine and not known & theirs and said & theirs and not said & mine
        for mine, theirs in ((one, other), (other, one))
    )


def is_bounded(beside: frozenset[Concept], learned: frozenset[Concept]) -> bool:
    """Whether a number or a day is a bound ("up to 15", "until Monday") and none in the skill's sentences."""
    said = frozenset(concept for concept in beside if concept[0] is Sort.DIRECTION)
    return bool(said) and not said & (learned | FREE - _BY)


def is_elsewhere(beside: frozenset[Concept], learned: frozenset[Concept]) -> bool:
    """Whether nothing but where to or where from is said before a value, and no such thing in the skill's sentences."""
    is_bare = bool(beside) and all(sort is Sort.DIRECTION for sort, _ in beside)
    return is_bare and not beside <= FREE and not any(sort is Sort.DIRECTION for sort, _ in learned & beside)


def weight(concepts: frozenset[Concept]) -> float:
    """How much a word beside a value says about where it belongs."""
    weights = [1.5 if concept in FREE else 1.0 if concept[0] in {Sort.ACT, Sort.THING} else 3.0 for concept in concepts]
    return max(weights, default=0.0)
