"""Messages of the policy check before a run begins."""

from pydantic import Field

from replaywright.domain.common.base import Record
from replaywright.domain.policy.effective import Caps, Used
from replaywright.domain.secrets.starts import StartMark
from replaywright.domain.session.sessions import OfRun
from replaywright.domain.task.steps import Step
from replaywright.domain.task.tasks import Task


class CheckPolicy(OfRun):
    """Input of `policy.check`, which lets a run begin or continue."""

    task: Task
    values: dict[str, str] = Field(default_factory=dict)
    plan: tuple[Step, ...] = ()
    """Remaining steps as written; empty while there is no plan."""
    used: Used = Used()


class Granted(Record):
    """Output of `policy.check`: the run may begin within these limits."""

    caps: Caps = Caps()
    start: StartMark = ""
    """Kind of start: with a MAC, without one, or unchecked."""
    fault: str = ""
    """Reason for an unsigned start."""
    admitted: str = ""
    """Proof of a signed start for executions that continue this one as new."""
