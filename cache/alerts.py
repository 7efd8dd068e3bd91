"""Alerts about refused records in Redis: logged once, and counted for every command."""

import logging
from enum import StrEnum

from cache.connection import Client, translated
from cache.keys import alerts_key
from replaywright.errors import StoreUnavailable

_log = logging.getLogger("replaywright.integrity")

REMEMBERED = 10_000
"""Reported records that are remembered."""


class Alerts:
    """Reports each refused record once, as an error, and adds it to the tenant's counters with the next `flush`."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._reported: set[tuple[str, str, str]] = set()
        self._pending: list[tuple[str, str, str]] = []

    def report(self, tenant: str, kind: str, name: str, fault: StrEnum) -> str:
        """Log that the record is not used, once; return the sentence."""
        sentence = f"{kind} {name!r} is refused: {fault.value}"
        record = (tenant, name, fault.name)
        if record not in self._reported:
            if len(self._reported) >= REMEMBERED:
                self._reported.clear()
            self._reported.add(record)
            self._pending.append((tenant, kind, sentence))
            _log.error("INTEGRITY: tenant %r: %s", tenant, sentence)
        return sentence

    async def flush(self) -> None:
        """Add the new reports to the counters; a failure of Redis is only logged."""
        pending, self._pending = self._pending, []
        if not pending:
            return
        try:
            with translated(self._client, "write"):
                pipe = self._client.pipeline(transaction=False)
                for tenant, kind, sentence in pending:
                    key = alerts_key(tenant)
                    pipe.execute_command("HINCRBY", key, kind, 1)
                    pipe.execute_command("HSET", key, "last", sentence)
                await pipe.execute(raise_on_error=False)
        except StoreUnavailable as exc:
            _log.error("refused records could not be counted: %s", exc)


async def counted(client: Client, tenant: str) -> dict[str, str]:
    """Return the number of refused records by kind, and `last`, the sentence about the last one.

    Raises:
        StoreUnavailable: Redis does not answer.
    """
    with translated(client, "read"):
        found: dict[bytes, bytes] = await client.execute_command("HGETALL", alerts_key(tenant))
    return {name.decode("utf-8", "replace"): value.decode("utf-8", "replace") for name, value in sorted(found.items())}
