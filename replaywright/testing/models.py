"""Models that answer from a script and keep what they were asked."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from replaywright.domain.plan.goal_plans import GoalPlan
from replaywright.domain.plan.goal_runs import Labels
from replaywright.domain.proof.probing import SiteProbe
from replaywright.domain.run.model_requests import FollowingStep, Revision
from replaywright.domain.run.scope import Usage
from replaywright.domain.task.steps import Step
from replaywright.errors import (
    PlanRefused,
    ProbeRefused,
    ReplaywrightError,
)
from replaywright.ports.models import CheckGoalPlan, Choice, Labelled, PlanQuestion, ProbeQuestion


@dataclass(frozen=True)
class ModelCall:
    """One question to the model."""

    instruction: str
    action: str
    page: str
    ids: frozenset[str]
    following: tuple[FollowingStep, ...] = ()


class FakeProposer:
    """A `TargetProposer` by script: an element id, None, or an error to raise for each question; then `otherwise`.

    `ahead` has the elements that it names for following steps, by instruction.
    """

    def __init__(
        self,
        script: Iterable[str | ReplaywrightError | None] = (),
        otherwise: Callable[[ModelCall], str | None] = lambda _asked: None,
        ahead: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.asked: list[ModelCall] = []
        self._script = list(script)
        self._otherwise = otherwise
        self._ahead = ahead

    async def propose(
        self, *, instruction: str, action: str, page: str, ids: frozenset[str], following: Sequence[FollowingStep] = ()
    ) -> Choice:
        """Return the next answer of the script."""
        asked = ModelCall(instruction, action, page, ids, tuple(following))
        self.asked.append(asked)
        answer = self._script.pop(0) if self._script else self._otherwise(asked)
        if isinstance(answer, ReplaywrightError):
            raise answer
        ahead = {each.sequence: self._ahead[each.instruction] for each in following if each.instruction in self._ahead}
        return Choice(
            element_id=answer, following=ahead, usage=Usage(calls=1, input_tokens=100, output_tokens=5, model="fake")
        )


class FakeLabeller:
    """A `Labeller` by script: what the model wrote, or an error to raise, for each goal."""

    def __init__(self, script: Iterable[Mapping[str, Any] | ReplaywrightError]) -> None:
        self.asked: list[str] = []
        self.languages: tuple[str, ...] = ()
        self._script = list(script)

    async def label(
        self, goal: str, check: Callable[[Mapping[str, Any]], Labels], *, languages: Sequence[str]
    ) -> Labelled:
        """Return the next answer of the script."""
        self.asked.append(goal)
        self.languages = tuple(languages)
        answer = self._script.pop(0)
        if isinstance(answer, ReplaywrightError):
            raise answer
        return Labelled(labels=check(answer), usage=Usage(calls=1, input_tokens=50, output_tokens=20, model="fake"))


class FakePlanner:
    """A `Planner` by script: the items of a plan, why it gives up, or an error to raise, for each question.

    The plan of a goal is a mapping with `steps`, `complete` and `verify`.
    """

    is_configured = True

    def __init__(
        self, script: Iterable[Sequence[Mapping[str, Any]] | Mapping[str, Any] | str | ReplaywrightError]
    ) -> None:
        self.asked: list[PlanQuestion] = []
        self._script = list(script)

    async def plan(self, question: PlanQuestion, check: CheckGoalPlan) -> Revision:
        """Return the next answer of the script; a plan that is refused is not made again."""

        def checked(answer: Any) -> GoalPlan:
            return check(answer.get("steps", ()), answer.get("complete", False), answer.get("verify", ()), True)

        return self._revision(question, checked, complete=False)

    async def revise(
        self, question: PlanQuestion, check: Callable[[Sequence[Mapping[str, Any]]], tuple[Step, ...]]
    ) -> Revision:
        """Return the next answer of the script; a plan that is refused is not made again."""
        return self._revision(question, lambda answer: GoalPlan(steps=check(answer), complete=True), complete=True)

    def _revision(self, question: PlanQuestion, check: Callable[[Any], GoalPlan], *, complete: bool) -> Revision:
        self.asked.append(question)
        answer = self._script.pop(0)
        usage = Usage(calls=1, input_tokens=200, output_tokens=20, model="fake")
        if isinstance(answer, ReplaywrightError):
            raise answer
        if isinstance(answer, str):
            return Revision(gave_up=answer, complete=complete, usage=usage)
        try:
            plan = check(answer)
        except PlanRefused as exc:
            return Revision(gave_up=f"the plan was refused: {exc}", complete=complete, usage=usage)
        return Revision(steps=plan.steps, complete=plan.complete, verify=plan.verify, usage=usage)


class FakeProber:
    """A `Prober` by script: an address and texts, why there is none, or an error to raise, for each question."""

    def __init__(self, script: Iterable[tuple[str, Sequence[str]] | str | ReplaywrightError]) -> None:
        self.asked: list[ProbeQuestion] = []
        self._script = list(script)

    async def propose(
        self, question: ProbeQuestion, check: Callable[[str, Sequence[str]], SiteProbe]
    ) -> tuple[SiteProbe | None, str, Usage]:
        """Return the next answer of the script."""
        self.asked.append(question)
        answer = self._script.pop(0)
        usage = Usage(calls=1, input_tokens=150, output_tokens=10, model="fake")
        if isinstance(answer, ReplaywrightError):
            raise answer
        if isinstance(answer, str):
            return None, answer, usage
        try:
            return check(*answer), "", usage
        except ProbeRefused as exc:
            return None, str(exc), usage
