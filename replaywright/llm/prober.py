"""The planner model, asked where the site shows that a step took effect: once, while the step is learned."""

from collections.abc import Callable, Sequence

from pydantic import BaseModel, ConfigDict, Field

from replaywright.domain.proof.probing import SiteProbe
from replaywright.domain.run.scope import Usage
from replaywright.errors import ProbeRefused
from replaywright.llm import prompts
from replaywright.llm.inquiry import Inquiry
from replaywright.llm.role import ModelRole
from replaywright.ports.models import ProbeQuestion


class ProbeAnswer(BaseModel):
    """A page and what it shows, or why there is none."""

    model_config = ConfigDict(extra="forbid")

    url: str = ""
    shows: list[str] = Field(default_factory=list)
    gave_up: str | None = Field(None, description="Why no page shows it; then there are no texts.")


class ModelProber(ModelRole):
    """A `Prober` over any provider that pydantic-ai knows; see `ModelRole`."""

    SETTING = "REPLAYWRIGHT_PLANNER_MODEL"
    ROLE = "prober"
    TIMEOUT_S = 120.0

    async def propose(
        self, question: ProbeQuestion, check: Callable[[str, Sequence[str]], SiteProbe]
    ) -> tuple[SiteProbe | None, str, Usage]:
        """Ask for a page that shows the effect; see `Prober`."""
        answer, usage = await self.ask(Inquiry(ProbeAnswer, (prompts.PROBER,), prompts.prober_message(question)))
        if not answer.shows:
            return None, answer.gave_up or "no reason given", usage
        try:
            return check(answer.url, answer.shows), "", usage
        except ProbeRefused as exc:
            return None, f"the probe was refused: {exc}", usage
