"""The text-only model that chooses which of a few skills a sentence means, and reads their values out of it."""

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field

from replaywright.domain.skill.skills import Skill
from replaywright.llm import prompts
from replaywright.llm.inquiry import Inquiry
from replaywright.llm.role import ModelRole
from replaywright.ports.models import ChosenSkill


class Value(BaseModel):
    """One value."""

    model_config = ConfigDict(extra="forbid")

    name: str
    value: str | list[str] = Field(description="Exactly as it stands in the sentence, without quotes around it.")


class ChoiceAnswer(BaseModel):
    """The skill that the sentence means, and the values that the sentence gives."""

    model_config = ConfigDict(extra="forbid")

    skill: str | None = Field(None, description="Name of one of the skills; null for none of them.")
    values: list[Value] = Field(default_factory=list)


class ModelSkillChooser(ModelRole):
    """A `SkillChooser` over any provider that pydantic-ai knows; see `ModelRole`."""

    ROLE = "chooser"

    async def choose(self, *, goal: str, offers: Sequence[Skill]) -> ChosenSkill:
        """Ask which skill it is; see `SkillChooser`."""
        answer, usage = await self.ask(Inquiry(ChoiceAnswer, (prompts.CHOOSER,), prompts.chooser_message(goal, offers)))
        given = {one.name: tuple(one.value) if isinstance(one.value, list) else one.value for one in answer.values}
        return ChosenSkill(
            skill=answer.skill or "",
            values={name: value for name, value in given.items() if value},
            usage=usage,
        )
