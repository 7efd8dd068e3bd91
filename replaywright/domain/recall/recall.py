"""Requests, answers and records of recall; `replaywright.domain.recall.recalling` decides."""

from typing import Literal, TypeAlias

from replaywright.domain.common.base import Record
from replaywright.domain.run.scope import Usage
from replaywright.domain.skill.fitting import PassedOver
from replaywright.domain.skill.skills import Recall, SkillContext

Outcome: TypeAlias = Literal["", "succeeded", "failed", "rejected"]


class RecallRequest(Record):
    """Input of `skill.recall`."""

    tenant: str
    goal: str
    url: str
    """Start page of the run."""
    run_id: str = ""
    lineage: str = ""
    """Lineage whose trace gets a line; empty for none."""
    secrets: tuple[str, ...] = ()
    """Names of the secrets that the run may use."""
    context: SkillContext = SkillContext()
    passed_over: tuple[PassedOver, ...] = ()
    """Skills that the run recalled before and that did not fit its start page."""
    may_ask: bool = True
    """True if a model may be asked."""


class RecallRecord(Record):
    """Decision on a goal and its outcome, without values of the goal."""

    run_id: str = ""
    at: float = 0.0
    """Unix time in seconds."""
    site: str = ""
    sentence: str = ""
    """The goal with its values masked."""
    decision: Literal["accept", "abstain"]
    reason: str = ""
    skill: str = ""
    """The accepted skill, else the most similar one."""
    version: int = 0
    score: float = 0.0
    outcome: Outcome = ""
    """`failed`: the run's final verification failed. `rejected`: a person said that it was the wrong one."""


class Recalled(Recall):
    """Output of `skill.recall`."""

    usage: Usage = Usage()
    """Usage of the choosing model, if one was asked."""
