"""Requests of tasks: sketches of runs and the recipe on which they agree, one signed text for each task."""

import logging

from pydantic import ValidationError

from cache.connection import translated
from cache.keys import recipe_key
from cache.replies import SignedRecords
from replaywright.domain.common.base import first_fault
from replaywright.domain.requests.recipes import SCHEMA, Knowledge
from replaywright.domain.secrets.signing import Signed, text_digest
from replaywright.errors import ValueTooLarge

_log = logging.getLogger("replaywright.requests")

LIMIT = 1024 * 1024
"""Bytes of what is known of one task."""


class RedisRecipes(SignedRecords):
    """The `RecipeStore` of `replaywright.ports`; a line feed separates each text from its signature."""

    async def known(self, *, tenant: str, key: str) -> Knowledge:
        """Return what is known; see the port."""
        name = recipe_key(tenant, key)
        with translated(self._client, "read"):
            stored: bytes | None = await self._client.execute_command("GET", name)
        if stored is None:
            return Knowledge()
        text, _, signature = stored.rpartition(b"\n")
        fault = self._signer.fault(_signed(tenant, key, text), signature.decode("utf-8", "replace"))
        if fault is not None:
            self._alerts.report(tenant, "recipe", name, fault)
            await self._alerts.flush()
            return Knowledge()
        try:
            return Knowledge.model_validate_json(text)
        except ValidationError as error:
            _log.warning("what is known of %s cannot be read, and is learned anew: %s", name, first_fault(error))
            return Knowledge()

    async def keep(self, *, tenant: str, key: str, knowledge: Knowledge) -> None:
        """Replace what is known; see the port."""
        text = knowledge.model_dump_json()
        if (size := len(text.encode())) > LIMIT:
            raise ValueTooLarge(f"the requests of a task take {size} bytes; at most {LIMIT} are kept")
        signature = self._signer.sign(_signed(tenant, key, text))
        with translated(self._client, "write"):
            await self._client.execute_command("SET", recipe_key(tenant, key), f"{text}\n{signature}")


def _signed(tenant: str, key: str, text: str | bytes) -> Signed:
    return Signed(tenant, "recipe", recipe_key(tenant, key), SCHEMA, {"json": text_digest(text)})
