"""Going on after a run that did not end well."""

from pydantic import Field

from replaywright.domain.common.base import Record
from replaywright.domain.session.sessions import OfRun
from replaywright.domain.step.outcomes import StepOutcome
from replaywright.domain.task.steps import Step


class Resume(Record):
    """Going on after a run that did not end well, in its lineage."""

    of: str
    """The run that it goes on after."""
    who: str = ""
    """Person who decided what follows."""
    answered: int = 0
    """Steps that the ledger answered when this was planned; that it answers fewer is a loss, and nothing is done."""
    restarts: dict[int, str] = Field(default_factory=dict)
    """Steps, by index, that are performed although they were done, with the run in which that was asked for."""
    redo: tuple[str, ...] = ()
    """Fingerprints of what was done under another chain of steps and may be done again."""
    keep: tuple[str, ...] = ()
    """Fingerprints of what was done under another chain of steps and counts as done."""


OPEN_STATES = frozenset({"INTENT", "DISPATCHED", "RESOLVING", "ESCALATED", "ABANDONED"})
"""States in the ledger of a commit step that may or may not have taken effect."""


class AnsweredStep(Record):
    """One step that was done, as the ledger has it."""

    fingerprint: str
    outcome: StepOutcome


class ResumeRequest(OfRun):
    """Input of `run.resume`: answer from the ledger what was done."""

    task: str
    plan: tuple[Step, ...]
    """The plan as written; the items of its lists are in the ledger."""
    values: dict[str, str] = Field(default_factory=dict)
    resume: Resume


class Resumption(Record):
    """State of a plan's steps in the ledger."""

    answered: tuple[AnsweredStep, ...] = ()
    """The steps from the first on that were done."""
    fingerprint: str = ""
    """Fingerprint of the first step that was not; empty when all were done."""
    state: str = ""
    """State of that step in the ledger; see `replaywright.ports.ledger.Known`."""
    epoch: int = 1
    """Higher than any of the lineage."""

    @property
    def is_doubtful(self) -> bool:
        """True while nobody knows if the first step that is not answered took effect."""
        return self.state in OPEN_STATES
