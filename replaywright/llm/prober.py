"""The planner model, asked where the site shows that a step took effect: once, while the step is learned."""

from collections.abc import Callable, Sequence
from typing import Self

from pydantic import BaseModel, ConfigDict, Field
from pydantic_ai import Agent

from replaywright.domain.budgets import Price
from replaywright.domain.probing import SiteProbe
from replaywright.domain.runs import Usage
from replaywright.errors import ProbeRefused
from replaywright.llm import prompts
from replaywright.llm.client import ModelClient
from replaywright.ports import ProbeQuestion


class ProbeAnswer(BaseModel):
    """A page and what it shows, or why there is none."""

    model_config = ConfigDict(extra="forbid")

    url: str = ""
    shows: list[str] = Field(default_factory=list)
    gave_up: str | None = Field(None, description="Why no page shows it; then there are no texts.")


class ModelProber:
    """A `Prober` over any provider that pydantic-ai knows; see `ModelClient`."""

    def __init__(
        self,
        model: str | None,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout_s: float = 120.0,
        price: Price | None = None,
    ) -> None:
        """Ask `model` (`provider:name`); for the others see `ModelClient`."""
        self._client = ModelClient(
            model,
            setting="REPLAYWRIGHT_PLANNER_MODEL",
            base_url=base_url,
            api_key=api_key,
            timeout_s=timeout_s,
            price=price,
        )
        self._agent = Agent(output_type=ProbeAnswer, instructions=prompts.PROBER, retries=1, name="prober")

    async def propose(
        self, question: ProbeQuestion, check: Callable[[str, Sequence[str]], SiteProbe]
    ) -> tuple[SiteProbe | None, str, Usage]:
        """Ask for a page that shows the effect; see `Prober`."""
        answer, usage = await self._client.ask(self._agent, prompts.prober_message(question), None)
        if not answer.shows:
            return None, answer.gave_up or "no reason given", usage
        try:
            return check(answer.url, answer.shows), "", usage
        except ProbeRefused as exc:
            return None, f"the probe was refused: {exc}", usage

    async def close(self) -> None:
        """Close the connections to the provider."""
        await self._client.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
