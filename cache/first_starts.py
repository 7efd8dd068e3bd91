"""First execution of each run id in Redis: an id is used once, even where Temporal would accept it again."""

from cache.connection import Client, translated
from cache.keys import first_start_key

KEPT_S = 90 * 86_400
"""Seconds that an id is remembered, like its ledger."""


class RedisFirstStarts:
    """The `FirstStarts` of `replaywright.ports`."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def first(self, tenant: str, run_id: str, execution: str) -> str:
        """Note the execution unless there is one; see the port."""
        key = first_start_key(tenant, run_id)
        with translated(self._client, "write"):
            await self._client.execute_command("SET", key, execution, "NX", "EX", KEPT_S)
        with translated(self._client, "read"):
            known: bytes | None = await self._client.execute_command("GET", key)
        return execution if known is None else known.decode("ascii", "replace")
