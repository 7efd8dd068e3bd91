"""The text-only model that reads the values of a skill's parameters out of a sentence."""

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, Field
from pydantic_ai import Agent

from replaywright.domain.tasks import Parameter
from replaywright.llm import prompts
from replaywright.llm.client import STAND_IN, Role
from replaywright.ports import ReadValues


class Value(BaseModel):
    """One value."""

    model_config = ConfigDict(extra="forbid")

    name: str
    value: str = Field(description="Exactly as it stands in the sentence, without quotes around it.")


class ValuesAnswer(BaseModel):
    """The values that the sentence gives."""

    model_config = ConfigDict(extra="forbid")

    values: list[Value] = Field(default_factory=list)


class ModelParameterReader(Role):
    """A `ParameterReader` over any provider that pydantic-ai knows; see `ModelClient`."""

    ROLE = "reader"

    def _prepare(self) -> None:
        self._agent = Agent(output_type=ValuesAnswer, instructions=prompts.READER, retries=1, name="reader")

    async def read(self, *, goal: str, pattern: str, parameters: Mapping[str, Parameter]) -> ReadValues:
        """Ask for the values; see `ParameterReader`."""
        message = prompts.reader_message(goal=goal, pattern=pattern, parameters=parameters)
        answer, usage = await self._client.ask(self._agent, message, None)
        return ReadValues(
            values={one.name: one.value for one in answer.values if one.value},
            usage=usage,
            stand_in=usage.model == STAND_IN,
        )
