"""What an activity asks a model."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from pydantic import Field

from replaywright.domain.common.base import Record
from replaywright.domain.plan.goal_plans import GoalPlan
from replaywright.domain.plan.goal_runs import Labels, PlannerRequest
from replaywright.domain.proof.probing import SiteProbe
from replaywright.domain.recall.choosing import SkillChoice
from replaywright.domain.run.model_requests import FollowingStep, Revision
from replaywright.domain.run.scope import Usage
from replaywright.domain.skill.skills import Skill
from replaywright.domain.task.questions import UserAnswer
from replaywright.domain.task.steps import Step

# Every question to a model raises one of the kinds of `ModelFailed`; only `ModelRateLimited` and `ModelUnavailable` are
# worth a retry.


class Choice(Record):
    """Answer of the executor model."""

    element_id: str | None = None
    following: dict[int, str] = Field(default_factory=dict)
    """Elements of following steps that stand on the same page, by their places in the plan."""
    usage: Usage = Usage()


class TargetProposer(Protocol):
    """The executor model: instruction and page in, element id or None out."""

    async def propose(
        self, *, instruction: str, action: str, page: str, ids: frozenset[str], following: Sequence[FollowingStep] = ()
    ) -> Choice:
        """Choose among `ids`, for the step and in the same call for those that follow."""


class PlanQuestion(Record):
    """Question to the planner model. Titles are templates: no values, no secrets."""

    goal: str
    parameters: dict[str, str] = Field(default_factory=dict)
    """Values by name."""
    secrets: tuple[str, ...] = ()
    """Names."""
    done: tuple[str, ...] = ()
    """Titles of the steps that were done."""
    failed: str = ""
    """The step that failed, and why; empty where none did."""
    tried: tuple[str, ...] = ()
    answers: tuple[UserAnswer, ...] = ()
    """The user's answers to earlier questions of the model."""
    remaining: dict[int, str] = Field(default_factory=dict)
    """Titles by number, counted from 1; the failed step is the first."""
    page: str
    picture: bytes | None = Field(None, repr=False)
    """PNG of the page with numbered marks, for a model that takes pictures."""

    @classmethod
    def of(
        cls, request: PlannerRequest, position: int, *, goal: str, page: str, picture: bytes | None
    ) -> "PlanQuestion":
        """Ask about the page; the step at `position` is the one that failed, or the next one."""
        remaining = dict(enumerate((step.title for step in request.plan[position:]), position + 1))
        failing = remaining.get(position + 1, "")
        return cls(
            goal=goal,
            parameters=request.values,
            secrets=request.task.secrets,
            done=tuple(step.title for step in request.plan[:position]),
            failed=f"{position + 1}: {failing}\n{request.failed}" if request.failed else "",
            tried=request.tried,
            answers=request.answers,
            remaining=remaining,
            page=page,
            picture=picture,
        )


class ChosenSkill(SkillChoice):
    """Answer of the text-only model: the skill that a sentence means, and its values."""

    usage: Usage = Usage()


class SkillChooser(Protocol):
    """The text-only model: a sentence and a few skills in, one of them with its values or none out."""

    async def choose(self, *, goal: str, offers: Sequence[Skill]) -> ChosenSkill:
        """Ask which of the offered skills the sentence means, if any; each has only a few of its phrases.

        Whether the values stand in the sentence, and have their types, is for the caller to check.
        """


CheckGoalPlan = Callable[[Sequence[Mapping[str, Any]], bool, Sequence[Mapping[str, Any]], bool], GoalPlan]
"""Makes a plan of steps, of whether it is complete, and of what is verified; the last argument says that the planner
will not be asked again. Raises `PlanRefused`."""


class Planner(Protocol):
    """The planner model: goal, what was done and what failed in, the rest of the plan out."""

    @property
    def is_configured(self) -> bool:
        """True if a model is named: without one every question fails."""

    async def plan(self, question: PlanQuestion, check: CheckGoalPlan) -> Revision:
        """Plan how to reach a goal from the page: all of it, or the part that can be seen from here.

        `check` is as for `revise`.
        """

    async def revise(
        self, question: PlanQuestion, check: Callable[[Sequence[Mapping[str, Any]]], tuple[Step, ...]]
    ) -> Revision:
        """A plan that passed `check`, or why there is none.

        `check` makes steps of what the model wrote, or raises `PlanRefused`: the model is told so once, then it has
        given up.
        """


class ProbeQuestion(Record):
    """Question to the planner model on a commit step that was done. The title is a template."""

    goal: str
    step: str
    parameters: dict[str, str] = Field(default_factory=dict)
    """Values by name."""
    url: str
    """Address of the page that the step led to."""
    links: tuple[str, ...] = ()
    """Targets of its links, with their texts."""
    page: str


class Prober(Protocol):
    """The planner model, asked where the site shows that a step took effect."""

    async def propose(
        self, question: ProbeQuestion, check: Callable[[str, Sequence[str]], SiteProbe]
    ) -> tuple[SiteProbe | None, str, Usage]:
        """A probe that passed `check`, else why there is none; and what that cost.

        `check` makes a probe of an address and texts, or raises `ProbeRefused`; the model is not asked again.
        """


class Labelled(Record):
    """Answer of the labeller."""

    labels: Labels
    usage: Usage = Usage()


class Labeller(Protocol):
    """The labeller model: a goal in, what it is about and which of its words are values out."""

    async def label(
        self, goal: str, check: Callable[[Mapping[str, Any]], Labels], *, languages: Sequence[str]
    ) -> Labelled:
        """Ask for the labels, with phrases in the languages and that of the goal; `check` makes them of the answer."""
