"""A run that begins from a goal in words: what it decides on the way, and what crosses to its activities."""

from typing import Literal, TypeAlias

from pydantic import Field

from replaywright.domain.common.base import Record
from replaywright.domain.common.sentences import masked
from replaywright.domain.common.text import normalise
from replaywright.domain.common.urls import origin_of
from replaywright.domain.page.targets import Target
from replaywright.domain.predicate.predicates import Predicate
from replaywright.domain.session.sessions import SessionRef
from replaywright.domain.skill.fitting import RecalledFor
from replaywright.domain.skill.skills import SkillContext, SkillRef
from replaywright.domain.step.fingerprints import digest
from replaywright.domain.task.questions import UserAnswer
from replaywright.domain.task.steps import Step
from replaywright.domain.task.tasks import Task

ROUNDS = 12
"""How often the planner is asked for the next part of the plan of one run."""
STEPS = 60
"""Steps that a goal may take; a plan that wants more is endless."""
CLAIM_S = 900.0
"""How long a run may learn before another one begins to learn the same."""
LOOK_S = 2.0
"""How often a run that waits for another looks whether that one has learned."""
WAIT_S = 600.0
"""How long a run waits for another at most before it learns by itself."""

How: TypeAlias = Literal["recalled", "learned", "relearned"]
"""The run was one of the skill; it learned it; it was one of it, failed, and learned a new version."""


class SkillUse(SkillRef):
    """The skill of a run, and what the run had to do with it."""

    how: How


class GoalParameter(Record):
    """One value that the labeller found in the goal."""

    name: str
    type: Literal["text", "email", "number", "date", "list"] = "text"
    value: str
    """As a parameter's value is; of a list the JSON of its texts."""
    said: str = ""
    """Of a list: the words of the goal in which its texts stand."""

    @property
    def words(self) -> str:
        """The words of the goal that are this value."""
        return self.said or self.value


class Labels(Record):
    """What a goal is about, in the labeller's words; checked by code."""

    name: str = ""
    """Short, lower case with dashes; empty when there are no labels, and then nothing is learned from the run."""
    label: str = ""
    description: str = ""
    parameters: tuple[GoalParameter, ...] = ()
    patterns: tuple[str, ...] = ()
    """Other sentences that mean the same, with `{{parameter}}` for each value."""
    near_misses: tuple[str, ...] = ()
    """Sentences that sound like it and do not mean it."""
    refused: tuple[str, ...] = ()
    """What the labeller said and code did not accept, and why."""


class GoalState(Record):
    """How a run from a goal goes on, once that is decided."""

    sentence: str = ""
    """The goal as it was given, values in it."""
    labels: Labels = Labels()
    learning: bool = False
    """The planner has yet to say the rest of the plan."""
    rounds: int = 0
    """How often it was asked."""
    verify: tuple[Predicate, ...] = ()
    """What it says must hold at the end, templates."""
    first: Target | None = None
    """The first element that the run acted on."""
    claim: str = ""
    """Key of what this run learns; empty if it does not, or the claim is another run's."""
    helped: bool = False
    """A person did a part of it."""
    failed: str = ""
    """Where and why the recalled skill failed; empty as long as it did not."""
    begins: RecalledFor | None = None
    """Of a recalled skill that has yet to be held against its start page."""
    context: SkillContext = SkillContext()
    """What the planner's first page told of the circumstances."""
    notes: tuple[str, ...] = ()
    """What was decided, for people."""


class Mended(Record):
    """What a run of a skill by its name knows of a step that failed, and of who did the rest."""

    failed: str = ""
    """Kind of change, step and reason of the first; empty as long as none did."""
    helped: bool = False
    """A person did a part of it."""


class LabelRequest(Record):
    """Input of `label_goal`."""

    run_id: str
    lineage: str
    tenant: str
    goal: str
    secrets: tuple[str, ...] = ()


class ClaimRequest(Record):
    """Input of `claim_goal` and `release_goal`."""

    run_id: str
    tenant: str
    key: str


class LookRequest(Record):
    """Input of `look`: which session's page to read."""

    session: SessionRef
    epoch: int
    about: str = ""
    """The goal with its values: elements that are listed for it are marked on a picture, where one is taken."""


class Looked(Record):
    """A page that was read: digests in the artifact store."""

    snapshot: str
    dom: str = ""
    """Empty when it could not be had."""
    place: str = ""
    """Origin and path."""
    signed_in: bool | None = None
    """Whether the site takes the browser for signed in; None when that cannot be told."""
    picture: str = ""
    """With numbered marks; empty where none is wanted or could be had."""
    picture_missing: str = ""
    """Why one that was wanted is not there."""


class PlanRequest(Record):
    """Input of `plan_goal`: how to reach the goal from the page as it is."""

    run_id: str
    lineage: str
    tenant: str
    task: Task
    """With the parameters; its goal is a template."""
    values: dict[str, str] = Field(default_factory=dict)
    plan: tuple[Step, ...] = ()
    """Steps done, and those that remain where one failed."""
    position: int = 0
    """How many of them are done."""
    commits: tuple[int, ...] = ()
    """Indexes of the steps done that must not be done again."""
    failed: str = ""
    """Why the step at `position` failed; empty where none did."""
    tried: tuple[str, ...] = ()
    answers: tuple[UserAnswer, ...] = ()
    """What the user has said to the planner's questions."""
    snapshot: str
    """Digest in the artifact store."""
    dom: str = ""
    """Digest of the document as it was before it was pruned; empty when it is not known."""
    picture: str = ""
    """Digest of the snapshot's picture with numbered marks; empty when there is none."""
    picture_missing: str = ""
    """Why one that was wanted is not there."""


class JudgeRequest(Record):
    """Input of `judge_recall`: what became of the recall that a run began with."""

    run_id: str
    tenant: str
    outcome: Literal["succeeded", "failed", "refused", "rejected"]
    """`refused`: the skill was not begun. `rejected`: a person said that it is not the one that was meant."""
    reason: str = ""
    """Why it was refused; takes the place of `accepted` in the recall's record."""


class LearnRequest(Record):
    """Input of `learn_skill`: write down what a verified run did."""

    run_id: str
    tenant: str
    task: Task
    """As it is run: parameters, steps that were really done, final verification; templates."""
    values: dict[str, str] = Field(default_factory=dict)
    labels: Labels = Labels()
    sentence: str = ""
    first: Target | None = None
    replaces: SkillRef | None = None
    """The version that had failed in this run."""
    keeps_start: bool = False
    """The replaced version's first step was done as it is: what it begins with holds for the new one."""
    reason: str = ""
    context: SkillContext = SkillContext()


class Learned(Record):
    """What came of writing down a run."""

    skill: SkillUse | None = None
    refused: str = ""
    """Why it is no skill."""


def claim_key(url: str, goal: str) -> str:
    """Digest the site and the goal without its values: two runs must not learn the same twice."""
    return digest({"site": origin_of(url), "goal": normalise(masked(goal)).casefold()})
