"""What is asked of the worker's policy before a run begins."""

from pydantic import Field

from replaywright.domain.common.base import Record
from replaywright.domain.policy.effective import Caps, Used
from replaywright.domain.secrets.starts import StartMark
from replaywright.domain.task.steps import Step
from replaywright.domain.task.tasks import Task


class CheckPolicy(Record):
    """Input of `policy.check`: may this run begin, or go on?"""

    run_id: str
    lineage: str
    tenant: str
    task: Task
    values: dict[str, str] = Field(default_factory=dict)
    plan: tuple[Step, ...] = ()
    """What is to be done from now on, as written; empty where a planner has yet to say."""
    used: Used = Used()


class Granted(Record):
    """It may; this is what it has to keep to beside what is decided at every step."""

    caps: Caps = Caps()
    start: StartMark = ""
    """How the run was started: with a MAC, without one, or nobody looked."""
    fault: str = ""
    """Why its start is not signed."""
    admitted: str = ""
    """Proof of a signed start for the executions that continue this one as new."""
