"""Answers of the queries `plan` and `trace`, and the details of a failed run's error."""

from datetime import datetime
from typing import ClassVar, Literal, TypeAlias

from pydantic import Field

from replaywright.domain.common.base import Record
from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.run.runs import StepLine
from replaywright.domain.run.standing import OwnStatus
from replaywright.domain.task.actions import Effect

STEPS_TOLD = 500
"""Steps that the query `plan` answers at most: those around the current one."""
LINES_TOLD = 100
"""Lines that the query `trace` answers at most: the last."""

StepState: TypeAlias = Literal["done", "left_out", "current", "waiting", "failed", "stopped", "planned"]
"""`stopped`: the run was ended by a person while it was at this step."""


class StepInPlan(Record):
    """One step of the plan."""

    sequence: int = Field(ge=0)
    """Index in the plan as it is written out, with the steps of every item of a list."""
    title: str
    """Step text for people; templates as written, never a value."""
    state: StepState
    """Status."""
    fingerprint: str = ""
    """Empty before the step has begun: it depends on what the steps before came to. So it is for steps that an earlier
    execution of the run has done."""
    how: str = ""
    """Short description of how its element was found."""


class PlanView(Record):
    """Answer of the query `plan`."""

    is_published: ClassVar[bool] = True

    total: int
    """Steps of the plan."""
    position: int
    """Index of the current one; `total` when all are done."""
    revised_from: tuple[int, ...] = ()
    """Index of the first step of each revision of the plan."""
    steps: tuple[StepInPlan, ...] = ()
    """Steps in order, at most the 500 around the current one."""


class TraceLine(StepLine):
    """One attempt that has ended, or something else that the run did."""

    number: int = 0
    """From 1, over all lines of this execution."""
    at: datetime | None = None
    """Time of its end."""
    fingerprint: str = ""
    """Fingerprint of the step."""
    reason: str = ""
    """Code of why the step ended as it did; empty where there is nothing to say."""
    effect: Effect | None = None
    """Effect as judged."""
    url: str = ""
    """Address of the page then, redacted."""
    tried: tuple[str, ...] = ()
    """Outcomes of the attempts before, oldest first."""
    predicates: tuple[PredicateResult, ...] = ()
    """Those that did not hold."""
    milliseconds: float = 0.0
    """Duration of the worker's own work on the step."""


class RunTrace(Record):
    """Answer of the query `trace`. The whole trace is in the store: `replaywright admin trace export`."""

    is_published: ClassVar[bool] = True

    run_id: str
    """The workflow id."""
    lineage: str
    """The run that all of this goes back to: a run that goes on after another belongs to its lineage."""
    status: OwnStatus = "running"
    """Status."""
    lines: tuple[TraceLine, ...] = ()
    """The last 100 at most, oldest first."""
    dropped: int = 0
    """Lines before these that are not told here."""


class RunFailure(Record):
    """The second detail of the error that a failed or blocked run ends with; the first is its `RunResult`."""

    is_published: ClassVar[bool] = True

    step: int | None = None
    """Number of the step, from 1; None when it failed at no step, such as in the final verification."""
    title: str = ""
    """Step text, templates as written."""
    fingerprint: str = ""
    """Fingerprint of the step; its first twelve characters are in the activity's id."""
    reason: str
    """A code for why it failed."""
    message: str = ""
    """The same in words."""
    rule: str = ""
    """The rule of the policy that is behind it."""
    url: str = ""
    """Address of the page, redacted."""
    tried: tuple[str, ...] = ()
    """Outcomes of the attempts before the last, oldest first."""
    unmet: tuple[PredicateResult, ...] = ()
    """Predicates that do not hold."""
    evidence: dict[str, str] = Field(default_factory=dict)
    """Digests in the artifact store, by kind: `replaywright admin artifacts RUN` reads them."""
    commands: tuple[str, ...] = ()
    """Commands that show more, and that go on."""
