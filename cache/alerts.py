"""What was found in Redis and not acted on: said once, and counted where every command can see it."""

import logging
from enum import StrEnum

from cache.connection import Client, translated
from cache.keys import alerts_key
from replaywright.errors import StoreUnavailable

_log = logging.getLogger("replaywright.integrity")

REMEMBERED = 10_000
"""Records that are remembered as reported."""


class Alerts:
    """Reports each refused record once, as an error, and adds it to the tenant's counters with the next `flush`."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._reported: set[tuple[str, str, str]] = set()
        self._pending: list[tuple[str, str, str]] = []

    def report(self, tenant: str, kind: str, name: str, fault: StrEnum) -> str:
        """Say that the record of this name is not used; returns the sentence."""
        said = f"{kind} {name!r} is refused: {fault.value}"
        told = (tenant, name, fault.name)
        if told not in self._reported:
            if len(self._reported) >= REMEMBERED:
                self._reported.clear()
            self._reported.add(told)
            self._pending.append((tenant, kind, said))
            _log.error("INTEGRITY: tenant %r: %s", tenant, said)
        return said

    async def flush(self) -> None:
        """Count what was reported since; a server that cannot be reached takes nothing away from the report."""
        pending, self._pending = self._pending, []
        if not pending:
            return
        try:
            with translated(self._client, "write"):
                pipe = self._client.pipeline(transaction=False)
                for tenant, kind, said in pending:
                    key = alerts_key(tenant)
                    pipe.execute_command("HINCRBY", key, kind, 1)
                    pipe.execute_command("HSET", key, "last", said)
                await pipe.execute(raise_on_error=False)
        except StoreUnavailable as exc:
            _log.error("refused records could not be counted: %s", exc)


async def counted(client: Client, tenant: str) -> dict[str, str]:
    """How many records of each kind were refused, and `last`, the sentence about the last of them.

    Raises:
        StoreUnavailable: Redis does not answer.
    """
    with translated(client, "read"):
        found: dict[bytes, bytes] = await client.execute_command("HGETALL", alerts_key(tenant))
    return {name.decode("utf-8", "replace"): value.decode("utf-8", "replace") for name, value in sorted(found.items())}
