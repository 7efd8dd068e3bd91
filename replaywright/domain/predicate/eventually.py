"""Patience of predicates: the time in which they may come true.

A predicate spends its patience only while the page is at rest: not while a document loads or a request of the step has
no response. This module neither waits nor reads a clock; its caller passes the time.
"""

from collections.abc import Sequence

from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.predicate.predicates import OfPlace, Predicate, ResponseStatus

NAVIGATION_MS = 3_000
"""Patience for addresses, titles and answers of servers."""
FIRST_PAUSE_MS = 500
TRIES = 5
EXISTENCE_MS = sum(FIRST_PAUSE_MS * 2**pause for pause in range(TRIES - 1))
"""Patience for everything else: the span of five looks with pauses of 500 ms, doubled each time. The page reports its
changes, so looks happen at other times, too."""


def patience_ms(predicate: Predicate) -> int:
    """Return the predicate's own patience in milliseconds, else that of its kind."""
    if predicate.within_ms is not None:
        return predicate.within_ms
    if isinstance(predicate, OfPlace | ResponseStatus):
        return NAVIGATION_MS
    return max((patience_ms(part) for part in predicate.parts), default=EXISTENCE_MS)


class Eventually:
    """Deadline of several predicates that are evaluated repeatedly; the last verdicts count."""

    def __init__(self, predicates: Sequence[Predicate], now: float, *, patient: bool = False) -> None:
        """Start at `now` in seconds; `patient` gives predicates without `within_ms` unlimited time."""
        self._patience = [
            float("inf") if patient and predicate.within_ms is None else patience_ms(predicate) / 1000
            for predicate in predicates
        ]
        self._spent = 0.0
        self._at = now

    def tick(self, now: float, *, resting: bool) -> None:
        """Advance to `now`; the time counts if the page is `resting`."""
        if resting:
            self._spent += max(0.0, now - self._at)
        self._at = now

    def is_over(self, verdicts: Sequence[PredicateResult]) -> bool:
        """Return True if a required predicate has used its time, or all unmet ones have."""
        waiting = [(verdict, left) for verdict, left in self._left(verdicts) if not verdict.passed]
        return any(verdict.required and left <= 0 for verdict, left in waiting) or all(left <= 0 for _, left in waiting)

    def left(self, verdicts: Sequence[PredicateResult]) -> float:
        """Return the seconds until the next look is due if the page rests until then."""
        return min((left for verdict, left in self._left(verdicts) if not verdict.passed and left > 0), default=0.0)

    def _left(self, verdicts: Sequence[PredicateResult]) -> list[tuple[PredicateResult, float]]:
        return [(verdict, patience - self._spent) for verdict, patience in zip(verdicts, self._patience, strict=False)]
