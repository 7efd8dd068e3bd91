"""Requests, answers and records of recall; the decisions are in `replaywright.domain.recall.recalling`."""

from typing import Literal, TypeAlias

from replaywright.domain.common.base import Record
from replaywright.domain.run.runs import Usage
from replaywright.domain.skill.fitting import PassedOver
from replaywright.domain.skill.skills import Recall, SkillContext

Outcome: TypeAlias = Literal["", "succeeded", "failed", "rejected"]


class RecallRequest(Record):
    """Input of `skill.recall`."""

    tenant: str
    goal: str
    """The sentence."""
    url: str
    """Start page of the run."""
    run_id: str = ""
    lineage: str = ""
    """Whose trace gets a line; empty for none."""
    secrets: tuple[str, ...] = ()
    """Names of those that the run may use."""
    context: SkillContext = SkillContext()
    passed_over: tuple[PassedOver, ...] = ()
    """Skills that the run has recalled before, and which did not fit its start page."""
    may_ask: bool = True
    """A model may be asked which skill it is."""


class RecallRecord(Record):
    """Decision on one goal, and what became of it. Holds no value of the goal."""

    run_id: str = ""
    at: float = 0.0
    """Unix time in seconds."""
    site: str = ""
    sentence: str = ""
    """The goal with its values masked."""
    decision: Literal["accept", "abstain"]
    reason: str = ""
    skill: str = ""
    """The accepted one, else the most similar one."""
    version: int = 0
    score: float = 0.0
    outcome: Outcome = ""
    """`failed`: the final verification of the run did not hold. `rejected`: a person said that it was the wrong one."""


class Recalled(Recall):
    """Output of `skill.recall`."""

    usage: Usage = Usage()
    """Usage of the model that chose, if one was asked."""
    stand_in: bool = False
