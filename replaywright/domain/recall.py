"""What is asked of recall, what it answers, and what is kept of it; deciding is `replaywright.domain.recalling`."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Literal, TypeAlias

from replaywright.domain.base import Record
from replaywright.domain.fitting import PassedOver
from replaywright.domain.goals import tokens_of
from replaywright.domain.runs import Usage
from replaywright.domain.skills import Recall, SkillContext
from replaywright.domain.urls import origin_of, without_usual_port
from replaywright.domain.words import VALUES, Kind

LEAST_SCORE = 0.2
LEAST_SCORE_BOUNDS = (0.15, 0.7)
"""Between these the least score moves with what became of earlier recalls."""
RECORDS_COUNTED = 200
"""Recalls of a skill that its least score is learned from, the newest."""

Outcome: TypeAlias = Literal["", "succeeded", "failed", "rejected"]


class RecallRequest(Record):
    """Input of `skill.recall`."""

    tenant: str
    goal: str
    """The sentence."""
    url: str
    """Where the run would start."""
    run_id: str = ""
    lineage: str = ""
    """Whose trace gets a line; empty for none."""
    secrets: tuple[str, ...] = ()
    """Names of those that the run may use."""
    context: SkillContext = SkillContext()
    passed_over: tuple[PassedOver, ...] = ()
    """Skills that the run has recalled before, and which did not fit its start page."""
    may_ask: bool = True
    """Whether a model may be asked for the values."""


class RecallRecord(Record):
    """What was decided on one goal, and what became of it. Holds no value of the goal."""

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
    """Of the model that was asked for the values, if one was."""
    stand_in: bool = False


@lru_cache(maxsize=1024)
def site_of(url: str) -> str:
    """The site that skills and recalls are kept under: a URL's origin as browsers write it; empty for what is none."""
    return without_usual_port(origin_of(url))


def masked(goal: str) -> str:
    """A sentence without its values: what stands in quotes, addresses, numbers and dates become their type's name."""
    text = goal
    for token in reversed(tokens_of(goal)):
        if token.kind in VALUES or token.kind is Kind.SLOT:
            text = f"{text[: token.start]}<{token.kind}>{text[token.end :]}"
    return text


def least_score(records: Iterable[RecallRecord], skill: str) -> float:
    """The similarity below which a skill is not accepted, learned from what became of its earlier recalls.

    One that turned out wrong raises it above its own score, one that went well near the limit lowers it a little;
    within bounds, so that neither a run of luck nor one bad day decides for good.
    """
    lowest, highest = LEAST_SCORE_BOUNDS
    least = LEAST_SCORE
    counted = [record for record in records if record.skill == skill and record.decision == "accept"]
    for record in sorted(counted, key=lambda record: record.at)[-RECORDS_COUNTED:]:
        if record.outcome in ("failed", "rejected"):
            least = min(highest, max(least, record.score) + 0.02)
        elif record.outcome == "succeeded":
            least = max(lowest, least - 0.01)
    return least
