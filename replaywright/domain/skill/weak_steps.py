"""Weak steps: recent success rates, and the warning or question that follows from them."""

from replaywright.domain.common.base import Record

PERFORMANCES_KEPT = 20
"""Last performances of a step that count, one for each run."""
WARN_BELOW = 0.95
ASK_BELOW = 0.80
ENOUGH = 5
"""Minimum number of performances: with fewer, a single failure would stop the run (3 of 4 is below 80 %)."""
WEAK_STEP = "weak_step"
"""Reason of a step that was not begun, and warning of one that was done, because it failed too often of late."""


class StepRate(Record):
    """Recent success rate of a step."""

    done: int
    of: int

    @property
    def warns(self) -> bool:
        """True if the run should warn."""
        return self.of >= ENOUGH and self.done < WARN_BELOW * self.of

    @property
    def asks(self) -> bool:
        """True if a person should decide before it is tried."""
        return self.of >= ENOUGH and self.done < ASK_BELOW * self.of

    def __str__(self) -> str:
        return f"it was done in {self.done} of the last {self.of} runs"


def rate_of(recent: str) -> StepRate:
    """Return the rate of performances: `1` for done, `0` for not done."""
    return StepRate(done=recent.count("1"), of=len(recent))
