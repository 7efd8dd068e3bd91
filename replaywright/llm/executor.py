"""The executor model: instruction and page in, the id of one element out."""

from pydantic import BaseModel, ConfigDict, Field

from replaywright.llm import prompts
from replaywright.llm.inquiry import Inquiry
from replaywright.llm.role import ModelRole
from replaywright.ports.models import Choice


class Answer(BaseModel):
    """The element that the instruction means."""

    model_config = ConfigDict(extra="forbid")

    element_id: str | None = Field(description="Id of the one element that is meant, such as e12; null if none is.")


class ModelExecutor(ModelRole):
    """A `TargetProposer` over any provider that pydantic-ai knows; see `ModelRole`."""

    async def propose(self, *, instruction: str, action: str, page: str, ids: frozenset[str]) -> Choice:
        """Choose among `ids`; see `TargetProposer`."""

        def correction(answer: Answer, _is_last: bool) -> str:
            return "" if answer.element_id is None or answer.element_id in ids else prompts.UNKNOWN_ID

        message = prompts.executor_message(instruction=instruction, action=action, page=page)
        answer, usage = await self.ask(Inquiry(Answer, (prompts.EXECUTOR,), message, correction=correction))
        return Choice(element_id=answer.element_id, usage=usage)
