"""The labeller model: a goal in words in, what it is about and which of its words are values out. Text only."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from replaywright.domain.plan.goal_runs import Labels
from replaywright.llm import prompts
from replaywright.llm.inquiry import Inquiry
from replaywright.llm.role import ModelRole
from replaywright.ports.models import Labelled


class LabelledParameter(BaseModel):
    """One value of the goal."""

    model_config = ConfigDict(extra="ignore")

    name: str
    type: str = "text"
    value: str | list[str]


class LabelAnswer(BaseModel):
    """Subject of a goal."""

    model_config = ConfigDict(extra="ignore")

    label: str
    name: str
    description: str = ""
    parameters: list[LabelledParameter] = Field(default_factory=list)
    patterns: list[str] = Field(default_factory=list)
    near_misses: list[str] = Field(default_factory=list)


class ModelLabeller(ModelRole):
    """A `Labeller` over any provider that pydantic-ai knows; see `ModelRole`."""

    SETTING = "REPLAYWRIGHT_LABELLER_MODEL"
    ROLE = "labeller"

    async def label(
        self, goal: str, check: Callable[[Mapping[str, Any]], Labels], *, languages: Sequence[str]
    ) -> Labelled:
        """Ask about one goal; see `Labeller`."""
        answer, usage = await self.ask(
            Inquiry(LabelAnswer, (prompts.LABELLER,), prompts.labeller_message(goal, languages))
        )
        return Labelled(labels=check(answer.model_dump()), usage=usage)
