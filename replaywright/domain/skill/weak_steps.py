"""How often a step was done of late, and what follows: a warning, or a question to a person."""

from replaywright.domain.common.base import Record

PERFORMANCES_KEPT = 20
"""How many of a step's last performances count; one in each run, whatever was tried in it."""
WARN_BELOW = 0.95
ASK_BELOW = 0.80
ENOUGH = 5
"""So many have to be known first: with fewer, a single failure alone would stop the run (3 of 4 is below 80 %)."""
WEAK_STEP = "weak_step"
"""Reason of a step that was not begun, and warning of one that was done, because it failed too often of late."""


class StepRate(Record):
    """How a step went of late."""

    done: int
    of: int

    @property
    def warns(self) -> bool:
        """Whether the run should say so."""
        return self.of >= ENOUGH and self.done < WARN_BELOW * self.of

    @property
    def asks(self) -> bool:
        """Whether a person should say if it is to be tried."""
        return self.of >= ENOUGH and self.done < ASK_BELOW * self.of

    def __str__(self) -> str:
        return f"it was done in {self.done} of the last {self.of} runs"


def rate_of(recent: str) -> StepRate:
    """The rate of performances, `1` for each that was done and `0` for each that was not."""
    return StepRate(done=recent.count("1"), of=len(recent))
