"""Roles of models, whose client is made at their first question.

The client's library takes a third of a second of processor time to import, which a worker that only replays has no use
for.
"""

import asyncio
from typing import TYPE_CHECKING, ClassVar, Self

from replaywright.domain.run.scope import Usage
from replaywright.domain.task.budgets import Price
from replaywright.llm.inquiry import Answer, Inquiry, ModelAccess

if TYPE_CHECKING:
    from replaywright.llm.client import ModelClient


class ModelRole:
    """One role of a model of any provider that pydantic-ai knows.

    The model is made at the first question: a worker without one starts, replays what is cached, and says what is
    missing when it has to ask. Belongs to one event loop.
    """

    SETTING: ClassVar[str] = "REPLAYWRIGHT_MODEL"
    ROLE: ClassVar[str] = "executor"
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
        """Ask `model`; None or empty: every question raises `ModelMisconfigured`. See `ModelAccess` for the rest."""
        limit_s = self.TIMEOUT_S if timeout_s is None else timeout_s
        self._access = ModelAccess(model or "", self.ROLE, self.SETTING, base_url, api_key, limit_s, price)
        self._client: ModelClient | None = None
        self._making = asyncio.Lock()

    @property
    def is_configured(self) -> bool:
        """True if a model is named; its provider's key is looked for at the first question."""
        return bool(self._access.model)

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

        return ModelClient(self._access)

    async def close(self) -> None:
        """Close the connections to the provider."""
        if self._client is not None:
            await self._client.close()
