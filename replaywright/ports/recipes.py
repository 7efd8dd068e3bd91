"""The store of requests, as activities use it."""

from typing import Protocol

from replaywright.domain.requests.recipes import Knowledge


class RecipeStore(Protocol):
    """Knowledge of the requests of each task. Raises `StoreUnavailable` when the store cannot be reached."""

    async def known(self, *, tenant: str, key: str) -> Knowledge:
        """Return what is known of a task's requests; what cannot be read, or was altered, counts as nothing."""

    async def keep(self, *, tenant: str, key: str, knowledge: Knowledge) -> None:
        """Replace what is known.

        Raises:
            ValueTooLarge: it is over its limit; nothing was written.
        """
