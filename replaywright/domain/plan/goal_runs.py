"""State and messages of a run that begins from a goal in words."""

from typing import Literal, TypeAlias

from pydantic import Field

from replaywright.domain.common.base import Record
from replaywright.domain.common.sentences import masked
from replaywright.domain.common.text import normalise
from replaywright.domain.common.urls import origin_of
from replaywright.domain.page.targets import Target
from replaywright.domain.predicate.predicates import Predicate
from replaywright.domain.session.sessions import OfRun, OnSession
from replaywright.domain.skill.fitting import RecalledFor
from replaywright.domain.skill.skills import SkillContext, SkillRef
from replaywright.domain.step.fingerprints import digest
from replaywright.domain.task.questions import UserAnswer
from replaywright.domain.task.steps import Step
from replaywright.domain.task.tasks import Task

ROUNDS = 12
"""Maximum planner rounds of one run."""
STEPS = 60
"""Maximum steps for a goal; a longer plan is endless."""
CLAIM_S = 900.0
"""Validity of a learning claim."""
LOOK_S = 2.0
"""Interval at which a run that waits for another checks for its skill."""
WAIT_S = 600.0
"""Longest wait for another run before a run learns by itself."""

How: TypeAlias = Literal["recalled", "learned", "relearned"]
"""recalled: the run was one of the skill; learned: it learned it; relearned: the skill failed and it learned a new
version."""


class SkillUse(SkillRef):
    """A run's skill and how the run used it."""

    how: How


class GoalParameter(Record):
    """A value that the labeller found in the goal."""

    name: str
    type: Literal["text", "email", "number", "date", "list"] = "text"
    value: str
    """The parameter's value; for a list the JSON of its texts."""
    said: str = ""
    """Words of the goal that list the texts."""

    @property
    def words(self) -> str:
        """Words of the goal that are this value."""
        return self.said or self.value


class Labels(Record):
    """The labeller's description of a goal, checked by code."""

    name: str = ""
    """Short, lower case with dashes; empty without labels, and then the run learns nothing."""
    label: str = ""
    description: str = ""
    parameters: tuple[GoalParameter, ...] = ()
    patterns: tuple[str, ...] = ()
    """Other sentences with the same meaning, with `{{parameter}}` for each value."""
    near_misses: tuple[str, ...] = ()
    """Similar sentences with another meaning."""
    refused: tuple[str, ...] = ()
    """Parts of the answer that code refused, with reasons."""


class GoalState(Record):
    """State of a run from a goal."""

    sentence: str = ""
    """The goal as given, with its values."""
    labels: Labels = Labels()
    learning: bool = False
    """True while the planner has yet to give the rest of the plan."""
    rounds: int = 0
    """Planner rounds so far."""
    verify: tuple[Predicate, ...] = ()
    """The planner's final verification, templates."""
    first: Target | None = None
    """First element that the run acted on."""
    claim: str = ""
    """Key of this run's learning claim; empty without one."""
    helped: bool = False
    """True if a person did a part of it."""
    failed: str = ""
    """Place and reason of the failure of the recalled skill; empty without one."""
    begins: RecalledFor | None = None
    """Recalled skill that has not been compared with its start page yet."""
    context: SkillContext = SkillContext()
    """Context seen on the planner's first page."""
    notes: tuple[str, ...] = ()
    """Decisions, for people."""


class Mended(Record):
    """State of a run of a named skill after a failed step."""

    failed: str = ""
    """Kind of change, step and reason of the first failure; empty without one."""
    helped: bool = False
    """True if a person did a part of it."""


NO_PLANNER = "NoPlanner"
"""Type of the failure of `label_goal` where no model plans: nothing can be learned."""


class LabelRequest(OfRun):
    """Input of `label_goal`."""

    goal: str
    secrets: tuple[str, ...] = ()


class ClaimRequest(Record):
    """Input of `claim_goal` and `release_goal`."""

    run_id: str
    tenant: str
    key: str


class LookRequest(OnSession):
    """Input of `look`: the session whose page is read."""

    about: str = ""
    """The goal with its values: elements listed for it are marked on a picture, if one is taken."""


class Looked(Record):
    """Digests, in the artifact store, of a page."""

    snapshot: str
    dom: str = ""
    """Empty when unavailable."""
    place: str = ""
    """Origin and path."""
    signed_in: bool | None = None
    """None if unknown."""
    picture: str = ""
    """Picture with numbered marks; empty if not wanted or not available."""
    picture_missing: str = ""
    """Reason for a missing picture."""


class PlannerRequest(OfRun):
    """Page, plan and failure that a planner is asked about."""

    task: Task
    """With the parameters; the goal of a run from a sentence is a template."""
    values: dict[str, str] = Field(default_factory=dict)
    plan: tuple[Step, ...] = ()
    """The steps that were done and that remain; lists are not written out."""
    commits: tuple[int, ...] = ()
    """Indexes of done steps that must not be repeated."""
    failed: str = ""
    """Reason for which the present step failed; empty if none did."""
    tried: tuple[str, ...] = ()
    """Repairs that were tried, oldest first."""
    answers: tuple[UserAnswer, ...] = ()
    """The user's answers to the planner's questions."""
    snapshot: str
    """Digest in the artifact store."""
    picture: str = ""
    """Digest of the snapshot's picture with numbered marks; empty without one."""
    picture_missing: str = ""
    """Reason for which a wanted picture is missing."""


class PlanRequest(PlannerRequest):
    """Input of `model.plan`: plan from the current page to the goal."""

    position: int = 0
    """Number of done steps, and the index of the present one."""
    dom: str = ""
    """Digest of the document before pruning; empty if unknown."""


class JudgeRequest(Record):
    """Input of `judge_recall`: the outcome of a recall."""

    run_id: str
    tenant: str
    outcome: Literal["succeeded", "failed", "refused", "rejected"]
    """`refused`: the skill was not begun. `rejected`: a person said that it is the wrong one."""
    reason: str = ""
    """Reason of a refusal; replaces `accepted` in the record."""


class LearnRequest(Record):
    """Input of `learn_skill`: save a verified run as a skill."""

    run_id: str
    tenant: str
    task: Task
    """The task as run: parameters, performed steps, final verification; templates."""
    values: dict[str, str] = Field(default_factory=dict)
    labels: Labels = Labels()
    sentence: str = ""
    first: Target | None = None
    replaces: SkillRef | None = None
    """Version that failed in this run."""
    owner: str = ""
    """Owner of the recordings of its steps until it has a name."""
    content_keys: tuple[str, ...] = ()
    """Their keys."""
    keeps_start: bool = False
    """True if the replaced version's first step was performed unchanged, so its precondition holds for the new one."""
    reason: str = ""
    context: SkillContext = SkillContext()


class Learned(Record):
    """Output of `learn_skill`."""

    skill: SkillUse | None = None
    refused: str = ""
    """Reason why the run is no skill."""


def claim_key(url: str, goal: str) -> str:
    """Digest the site and the goal without values: two runs must not learn the same twice."""
    return digest({"site": origin_of(url), "goal": normalise(masked(goal)).casefold()})
