"""The interface of a repair."""

from abc import ABC, abstractmethod
from enum import Enum
from typing import ClassVar

from temporalio import workflow

from workflows.parts import Parts
from workflows.step.attempts import Attempt

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.step.outcomes import StepOutcome


class Scope(Enum):
    """When a repair is considered."""

    ATTEMPT = "after every attempt"
    STEP = "while the step is not done, each at most so often"
    PLAN = "when nothing has repaired the step"


class Next(Enum):
    """Continuation after a repair that has no outcome of its own."""

    RETRY = "the step is performed again, and the repairs are considered from the first"
    RESTART = "the step begins again, as if nothing had been tried"
    REPLACED = "other steps have taken the place of this one"


class Repair(ABC):
    """One thing that a run does about the outcome of an attempt."""

    kind: ClassVar[str]
    """Name, as it shows in activity ids and in the trace."""
    when: ClassVar[str]
    """Condition, for the reference."""
    scope: ClassVar[Scope]
    rounds: ClassVar[int] = 1
    """Attempts to which a repair of the scope `STEP` may lead, until the step begins again."""
    same_try: ClassVar[bool] = False
    """True: the next attempt does not look for override rules that were due before."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.context = parts.context

    @abstractmethod
    def applies(self, attempt: Attempt, outcome: StepOutcome) -> bool:
        """Return whether the repair may be made; without side effects."""

    @abstractmethod
    async def mend(self, attempt: Attempt, outcome: StepOutcome) -> StepOutcome | Next:
        """Make the repair; return what to do next, or the step's outcome, with which the next repair is considered.

        Raises:
            TaskFailed: the run ends here.
        """
