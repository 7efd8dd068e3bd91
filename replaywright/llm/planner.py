"""The planner model: goal, what was done, what failed and the page in, the rest of the plan out."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from replaywright.domain.plan.goal_plans import GoalPlan
from replaywright.domain.run.model_requests import Revision
from replaywright.domain.task.steps import Step
from replaywright.errors import PlanRefused
from replaywright.llm import prompts
from replaywright.llm.inquiry import Inquiry
from replaywright.llm.role import ModelRole
from replaywright.ports.models import CheckGoalPlan, PlanQuestion

_QUESTION = "What only the user can say, and without which there is no plan; then there are no steps."


class PlannedAct(BaseModel):
    """An action with what it needs."""

    model_config = ConfigDict(extra="forbid")

    action: str | None = None
    instruction: str | None = Field(None, description="Which element, in plain words, such as: the Continue button.")
    url: str | None = Field(None, description="For goto.")
    value: str | None = Field(None, description="For fill, type, paste, select_option.")
    values: list[str] | str | None = Field(
        None, description="For select_option: several labels. For for_each: {{parameter}} of type list."
    )
    keys: str | None = Field(None, description="For press, such as Enter.")
    to: Literal["top", "bottom", "element"] | None = Field(None, description="For scroll.")
    tab: Literal["latest", "first"] | None = Field(None, description="For switch_tab.")
    effect: Literal["commit", "irreversible"] | None = Field(None, description="If it sends, pays, orders or deletes.")
    when: list[dict[str, Any]] | None = Field(None, description="What must hold before it; else it is skipped.")
    expect: list[dict[str, Any]] | None = Field(None, description="What must hold after the step.")


class PlannedTable(BaseModel):
    """A table, as the page calls it."""

    model_config = ConfigDict(extra="forbid")

    role: Literal["table", "grid", "treegrid"]
    name: str | None = None


class PlannedStep(PlannedAct):
    """One step: either `keep` alone, or an action with what it needs."""

    keep: int | None = Field(None, description="Number of a remaining step that is done as it is; nothing beside it.")
    item: str | None = Field(None, description="For for_each: what an item is called, such as invoice.")
    target: PlannedTable | None = Field(None, description="For for_each: the table.")
    elements: dict[str, Any] | None = Field(None, description='For for_each, such as {"role": "article"}.')
    where: dict[str, Any] | None = Field(None, description='For for_each over a table, such as {"Status": "open"}.')
    limit: int | None = Field(None, description="For for_each: how many items at most; 50 if it is not said.")
    on_more: Literal["fail", "stop"] | None = Field(None, description="For for_each with more items than limit.")
    on_failure: Literal["fail", "skip_item"] | None = Field(None, description="For for_each: when an item fails.")
    steps: list[PlannedAct] | None = Field(None, description="For for_each: what is done for each item.")


class PlanAnswer(BaseModel):
    """The rest of the plan, or why there is none."""

    model_config = ConfigDict(extra="forbid")

    steps: list[PlannedStep] = Field(default_factory=list)
    gave_up: str | None = Field(None, description="Why the goal cannot be reached from here; then there are no steps.")
    question: str | None = Field(None, description=_QUESTION)


class GoalAnswer(BaseModel):
    """Next steps for the goal, or why it cannot be reached."""

    model_config = ConfigDict(extra="forbid")

    steps: list[PlannedStep] = Field(default_factory=list)
    complete: bool = Field(False, description="Whether the goal is reached after these steps.")
    verify: list[dict[str, Any]] = Field(default_factory=list, description="With complete: what holds at the end.")
    gave_up: str | None = Field(None, description="Why the goal cannot be reached from here; then there are no steps.")
    question: str | None = Field(None, description=_QUESTION)


_Answer = TypeVar("_Answer", PlanAnswer, GoalAnswer)


class ModelPlanner(ModelRole):
    """A `Planner` over any provider that pydantic-ai knows; see `ModelRole`."""

    SETTING = "REPLAYWRIGHT_PLANNER_MODEL"
    ROLE = "planner"
    TIMEOUT_S = 120.0

    async def revise(
        self, question: PlanQuestion, check: Callable[[Sequence[Mapping[str, Any]]], tuple[Step, ...]]
    ) -> Revision:
        """Ask for the rest of the plan; see `Planner`."""

        def checked(steps: list[dict[str, Any]], _answer: PlanAnswer, _last: bool) -> GoalPlan:
            return GoalPlan(steps=check(steps), complete=True)

        return await self._revision(PlanAnswer, prompts.PLANNER, question, checked, complete=True)

    async def plan(self, question: PlanQuestion, check: CheckGoalPlan) -> Revision:
        """Ask how to reach the goal from the page; see `Planner`."""

        def checked(steps: list[dict[str, Any]], answer: GoalAnswer, last: bool) -> GoalPlan:
            return check(steps, answer.complete, answer.verify, last)

        return await self._revision(GoalAnswer, prompts.GOAL_PLANNER, question, checked, complete=False)

    async def _revision(
        self,
        kind: type[_Answer],
        prompt: str,
        question: PlanQuestion,
        check: Callable[[list[dict[str, Any]], _Answer, bool], GoalPlan],
        *,
        complete: bool,
    ) -> Revision:
        """Ask for a plan; one that passes no check is given up, with the mark `complete`.

        A plan that breaks a rule is sent back once; the second one is refused.
        """
        plan: GoalPlan | None = None
        refused = ""

        def correction(answer: _Answer, last: bool) -> str:
            nonlocal plan, refused
            if (answer.gave_up or answer.question) and not answer.steps:
                return ""
            try:
                plan = check([step.model_dump(exclude_none=True) for step in answer.steps], answer, last)
            except PlanRefused as exc:
                refused = str(exc) if last else ""
                return "" if last else prompts.refused_plan(str(exc))
            return ""

        message, told = prompts.planner_message(question), (prompt, *([prompts.PICTURE] if question.picture else []))
        inquiry = Inquiry(kind, told, message, question.picture, is_loose=True, correction=correction)
        answer, usage = await self.ask(inquiry)
        if answer.question and not answer.steps:
            return Revision(question=answer.question, complete=complete, usage=usage)
        if plan is None:
            why = f"the plan was refused: {refused}" if refused else answer.gave_up or "no reason given"
            return Revision(gave_up=why, complete=complete, usage=usage)
        return Revision(steps=plan.steps, complete=plan.complete, verify=plan.verify, usage=usage)
