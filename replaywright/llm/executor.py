"""The executor model: instruction and page in, the id of one element out."""

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field
from pydantic_ai import Agent, ModelRetry, RunContext

from replaywright.llm import prompts
from replaywright.llm.client import ModelRole
from replaywright.ports.models import Choice


class Answer(BaseModel):
    """The element that the instruction means."""

    model_config = ConfigDict(extra="forbid")

    element_id: str | None = Field(description="Id of the one element that is meant, such as e12; null if none is.")


@dataclass(frozen=True)
class _Ids:
    known: frozenset[str]


class ModelExecutor(ModelRole):
    """A `TargetProposer` over any provider that pydantic-ai knows; see `ModelRole`."""

    def _prepare(self) -> None:
        self._agent = Agent(
            output_type=Answer,
            deps_type=_Ids,
            instructions=prompts.EXECUTOR,
            retries=1,
            name="executor",
        )
        self._agent.output_validator(_must_be_known)

    async def propose(self, *, instruction: str, action: str, page: str, ids: frozenset[str]) -> Choice:
        """Choose among `ids`; see `TargetProposer`."""
        message = prompts.executor_message(instruction=instruction, action=action, page=page)
        answer, usage = await self.ask(self._agent, message, _Ids(ids))
        return Choice(element_id=answer.element_id, usage=usage)


def _must_be_known(ctx: RunContext[_Ids], answer: Answer) -> Answer:
    if answer.element_id is not None and answer.element_id not in ctx.deps.known:
        raise ModelRetry(prompts.UNKNOWN_ID)
    return answer
