"""Roles whose model library is imported at their first question.

The import takes a third of a second of processor time, which a worker that only replays has no use for.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from replaywright.domain.plan.goal_runs import Labels
from replaywright.domain.proof.probing import SiteProbe
from replaywright.domain.run.model_requests import Revision
from replaywright.domain.run.scope import Usage
from replaywright.domain.skill.skills import Skill
from replaywright.domain.task.budgets import Price
from replaywright.domain.task.steps import Step
from replaywright.ports.models import CheckGoalPlan, Choice, ChosenSkill, Labelled, PlanQuestion, ProbeQuestion

if TYPE_CHECKING:
    from replaywright.llm.chooser import ModelSkillChooser
    from replaywright.llm.client import ModelRole
    from replaywright.llm.executor import ModelExecutor
    from replaywright.llm.labeller import ModelLabeller
    from replaywright.llm.planner import ModelPlanner
    from replaywright.llm.prober import ModelProber

_Role = TypeVar("_Role", bound="ModelRole")


class LateRole(ABC, Generic[_Role]):
    """A role that is made at its first question. Belongs to one event loop."""

    def __init__(
        self,
        model: str | None,
        *,
        base_url: str | None = None,
        timeout_s: float | None = None,
        price: Price | None = None,
    ) -> None:
        """Ask `model`; see `ModelRole`."""
        self._model, self._base_url, self._timeout_s, self._price = model, base_url, timeout_s, price
        self._made: _Role | None = None
        self._making = asyncio.Lock()

    @property
    def is_configured(self) -> bool:
        """True if a model is named; its provider's key is looked for at the first question."""
        return bool(self._model)

    @staticmethod
    @abstractmethod
    def _kind() -> type[_Role]:
        """Import the role."""

    async def _role(self) -> _Role:
        async with self._making:
            if self._made is None:
                kind = await asyncio.to_thread(self._kind)  # it would hold up the heartbeats of everything else here
                self._made = kind(self._model, base_url=self._base_url, timeout_s=self._timeout_s, price=self._price)
            return self._made

    async def close(self) -> None:
        """Close the connections to the provider."""
        if self._made is not None:
            await self._made.close()


class LateExecutor(LateRole["ModelExecutor"]):
    """A `TargetProposer`; see `ModelExecutor`."""

    @staticmethod
    def _kind() -> "type[ModelExecutor]":
        from replaywright.llm.executor import ModelExecutor  # noqa: PLC0415

        return ModelExecutor

    async def propose(self, *, instruction: str, action: str, page: str, ids: frozenset[str]) -> Choice:
        """Choose among `ids`."""
        return await (await self._role()).propose(instruction=instruction, action=action, page=page, ids=ids)


class LateSkillChooser(LateRole["ModelSkillChooser"]):
    """A `SkillChooser`; see `ModelSkillChooser`."""

    @staticmethod
    def _kind() -> "type[ModelSkillChooser]":
        from replaywright.llm.chooser import ModelSkillChooser  # noqa: PLC0415

        return ModelSkillChooser

    async def choose(self, *, goal: str, offers: Sequence[Skill]) -> ChosenSkill:
        """Ask which skill it is."""
        return await (await self._role()).choose(goal=goal, offers=offers)


class LateLabeller(LateRole["ModelLabeller"]):
    """A `Labeller`; see `ModelLabeller`."""

    @staticmethod
    def _kind() -> "type[ModelLabeller]":
        from replaywright.llm.labeller import ModelLabeller  # noqa: PLC0415

        return ModelLabeller

    async def label(
        self, goal: str, check: Callable[[Mapping[str, Any]], Labels], *, languages: Sequence[str]
    ) -> Labelled:
        """Ask about one goal."""
        return await (await self._role()).label(goal, check, languages=languages)


class LatePlanner(LateRole["ModelPlanner"]):
    """A `Planner`; see `ModelPlanner`."""

    @staticmethod
    def _kind() -> "type[ModelPlanner]":
        from replaywright.llm.planner import ModelPlanner  # noqa: PLC0415

        return ModelPlanner

    async def plan(self, question: PlanQuestion, check: CheckGoalPlan) -> Revision:
        """Ask for the next steps towards a goal."""
        return await (await self._role()).plan(question, check)

    async def revise(
        self, question: PlanQuestion, check: Callable[[Sequence[Mapping[str, Any]]], tuple[Step, ...]]
    ) -> Revision:
        """Ask for the rest of the plan."""
        return await (await self._role()).revise(question, check)


class LateProber(LateRole["ModelProber"]):
    """A `Prober`; see `ModelProber`."""

    @staticmethod
    def _kind() -> "type[ModelProber]":
        from replaywright.llm.prober import ModelProber  # noqa: PLC0415

        return ModelProber

    async def propose(
        self, question: ProbeQuestion, check: Callable[[str, Sequence[str]], SiteProbe]
    ) -> tuple[SiteProbe | None, str, Usage]:
        """Ask for a page that shows the effect."""
        return await (await self._role()).propose(question, check)
