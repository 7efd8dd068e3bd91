"""The executor model: instruction and page in, the id of one element out."""

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field

from replaywright.domain.run.model_requests import FollowingStep
from replaywright.llm import prompts
from replaywright.llm.inquiry import Inquiry
from replaywright.llm.role import ModelRole
from replaywright.ports.models import Choice


class Answer(BaseModel):
    """The element that the instruction means."""

    model_config = ConfigDict(extra="forbid")

    element_id: str | None = Field(description="Id of the one element that is meant, such as e12; null if none is.")


class Following(BaseModel):
    """The element that a following instruction means."""

    model_config = ConfigDict(extra="forbid")

    number: int
    element_id: str | None


class Answers(Answer):
    """The elements that the instruction and the following ones mean."""

    following: list[Following] = Field(
        default=[], description="One for each line of <following>, by its number; null if no element is meant."
    )


class ModelExecutor(ModelRole):
    """A `TargetProposer` over any provider that pydantic-ai knows; see `ModelRole`."""

    async def propose(
        self, *, instruction: str, action: str, page: str, ids: frozenset[str], following: Sequence[FollowingStep] = ()
    ) -> Choice:
        """Choose among `ids`; see `TargetProposer`. Of following steps, an unknown id is none."""

        def correction(answer: Answer, _is_last: bool) -> str:
            return "" if answer.element_id is None or answer.element_id in ids else prompts.UNKNOWN_ID

        message = prompts.executor_message(instruction=instruction, action=action, page=page, following=following)
        form, instructions = (
            (Answers, (prompts.EXECUTOR, prompts.FOLLOWING)) if following else (Answer, (prompts.EXECUTOR,))
        )
        answer, usage = await self.ask(Inquiry(form, instructions, message, correction=correction))
        named = {each.number: each.element_id for each in answer.following} if isinstance(answer, Answers) else {}
        ahead = {step.sequence: found for step in following if (found := named.get(step.sequence + 1)) in ids}
        return Choice(element_id=answer.element_id, following=ahead, usage=usage)
