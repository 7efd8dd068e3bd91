"""Roles of models: their questions as data, and the client that asks them, which is made at the first one.

The client's library takes a third of a second of processor time to import, which a worker that only replays has no use
for.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from pydantic import BaseModel

from replaywright.domain.run.scope import Usage
from replaywright.domain.task.budgets import Price

if TYPE_CHECKING:
    from replaywright.llm.client import ModelClient

Answer = TypeVar("Answer", bound=BaseModel)


def _accepted(_answer: Any, _is_last: bool) -> str:
    return ""


@dataclass(frozen=True)
class Inquiry(Generic[Answer]):
    """One question to a model."""

    answer: type[Answer]
    prompts: tuple[str, ...]
    """Instructions, for the system's part of the conversation."""
    message: str
    picture: bytes | None = None
    """PNG that follows the message."""
    is_loose: bool = False
    """No strict decoding of the answer's schema.

    Predicates and queries are objects of many forms. A provider's strict mode knows no such object: it is left with no
    fields at all, and a plan without `expect`, `when`, `verify` and `where`. What comes is checked here in any case.
    """
    correction: Callable[[Answer, bool], str] = _accepted
    """Returns what the model is told about an answer that cannot be used, empty for one that can; the second argument
    is True for the last answer, which has to be taken."""


class ModelRole:
    """One role of a model of any provider that pydantic-ai knows.

    The model is made at the first question: a worker without one starts, replays what is cached, and says what is
    missing when it has to ask. Belongs to one event loop.
    """

    SETTING: ClassVar[str] = "REPLAYWRIGHT_MODEL"
    """The variable that names the role's model, for messages."""
    ROLE: ClassVar[str] = "executor"
    """The role's name in metrics."""
    TIMEOUT_S: ClassVar[float] = 60.0

    def __init__(
        self,
        model: str | None,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout_s: float | None = None,
        price: Price | None = None,
    ) -> None:
        """Ask `model` (`provider:name`).

        Args:
            model: None or empty: every question raises `ModelMisconfigured`.
            base_url: Another server; it must speak Anthropic's dialect for `anthropic:…`, else OpenAI's.
            api_key: Key for `base_url`; None takes the provider's own variable, or none at all.
            timeout_s: Limit of one HTTP request, from connecting to the last byte; None: `TIMEOUT_S`.
            price: What it costs; None when that is not known.
        """
        self.name = model or ""
        self.base_url = base_url
        self.api_key = api_key
        self.timeout_s = self.TIMEOUT_S if timeout_s is None else timeout_s
        self.price = price
        self._client: ModelClient | None = None
        self._making = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def ask(self, inquiry: Inquiry[Answer]) -> tuple[Answer, Usage]:
        """Return the model's answer, and what it cost.

        Raises:
            ModelFailed: one of its kinds; only `ModelRateLimited` and `ModelUnavailable` are worth a retry.
        """
        async with self._making:
            if self._client is None:
                # In a thread: the import would hold up the heartbeats of everything else here.
                self._client = await asyncio.to_thread(self._new_client)
        return await self._client.ask(inquiry)

    def _new_client(self) -> "ModelClient":
        from replaywright.llm.client import ModelClient  # noqa: PLC0415 - see above

        return ModelClient(self)

    async def close(self) -> None:
        """Close the connections to the provider."""
        if self._client is not None:
            await self._client.close()
