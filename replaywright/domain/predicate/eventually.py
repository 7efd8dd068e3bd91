"""How long predicates are given to come true.

What is expected of a page need not hold at once. Each predicate has a patience, which is spent only while the page is
at rest: while a document is loading, or a request that the step caused has no answer yet, the end is not known. Nothing
here waits or reads a clock; whoever waits tells the time.
"""

from collections.abc import Sequence

from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.predicate.predicates import OfPlace, Predicate, ResponseStatus

NAVIGATION_MS = 3_000
"""Patience for addresses, titles and answers of servers."""
FIRST_PAUSE_MS = 500
TRIES = 5
EXISTENCE_MS = sum(FIRST_PAUSE_MS * 2**pause for pause in range(TRIES - 1))
"""Patience for everything else: five looks with pauses of 500 ms, doubled each time, would end here. Nobody looks at
those times only: the page tells when it changes."""


def patience_ms(predicate: Predicate) -> int:
    """How long the predicate may take to come true, in milliseconds: as it says itself, else as its kind is given."""
    if predicate.within_ms is not None:
        return predicate.within_ms
    if isinstance(predicate, OfPlace | ResponseStatus):
        return NAVIGATION_MS
    return max((patience_ms(part) for part in predicate.parts), default=EXISTENCE_MS)


class Eventually:
    """When to give up on several predicates that are evaluated again and again; the last verdicts are what counts."""

    def __init__(self, predicates: Sequence[Predicate], now: float, *, patient: bool = False) -> None:
        """`now` in seconds; `patient` gives those that do not say `within_ms` themselves all the time there is."""
        self._patience = [
            float("inf") if patient and predicate.within_ms is None else patience_ms(predicate) / 1000
            for predicate in predicates
        ]
        self._spent = 0.0
        self._at = now

    def tick(self, now: float, *, resting: bool) -> None:
        """The time since the last call has passed; it counts if the page is `resting`."""
        if resting:
            self._spent += max(0.0, now - self._at)
        self._at = now

    def is_over(self, verdicts: Sequence[PredicateResult]) -> bool:
        """Whether waiting on can change nothing: a required one has had its time, or all that do not hold have."""
        waiting = [(verdict, left) for verdict, left in self._left(verdicts) if not verdict.passed]
        return any(verdict.required and left <= 0 for verdict, left in waiting) or all(left <= 0 for _, left in waiting)

    def left(self, verdicts: Sequence[PredicateResult]) -> float:
        """Seconds after which another look is due although nothing has happened, if the page rests until then."""
        return min((left for verdict, left in self._left(verdicts) if not verdict.passed and left > 0), default=0.0)

    def _left(self, verdicts: Sequence[PredicateResult]) -> list[tuple[PredicateResult, float]]:
        return [(verdict, patience - self._spent) for verdict, patience in zip(verdicts, self._patience, strict=False)]
