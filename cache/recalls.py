"""Recalls in Redis: one list for each tenant, in chronological order."""

import json
import logging
from collections.abc import Sequence
from functools import lru_cache

from cache.connection import Client, translated
from cache.keys import recalls_key
from replaywright.domain.common.base import Record
from replaywright.domain.recall.recall import Outcome, RecallRecord

_log = logging.getLogger("replaywright.recalls")

KEPT = 2_000
"""Newest lines of a tenant's list."""
TAIL = 64
"""Lines at its end that are searched for new ones."""


class _Became(Record):
    """Outcome of a recall, a line of its own."""

    of: str
    outcome: Outcome


class RedisRecalls:
    """The `Recalls` of `replaywright.ports`: decisions and outcomes are separate lines."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._known: tuple[str, list[bytes]] = "", []
        """The last tenant and its lines."""

    async def note(self, tenant: str, record: RecallRecord) -> None:
        """Keep one decision; see the port."""
        await self._push(tenant, record.model_dump_json(by_alias=True, exclude_defaults=True))

    async def note_outcome(self, tenant: str, run_id: str, outcome: Outcome) -> None:
        """Keep an outcome; see the port."""
        await self._push(tenant, json.dumps({"outcome": outcome, "of": run_id}))

    async def recent(self, tenant: str) -> list[RecallRecord]:
        """Return all kept recalls; see the port."""
        found: dict[str, tuple[bytes, Outcome]] = {}
        for number, line in enumerate(await self._lines(tenant)):
            try:
                read = _read(line)
            except (ValueError, TypeError) as exc:
                _log.warning("line %d of the recalls of tenant %r cannot be read: %s", number, tenant, exc)
                continue
            if isinstance(read, RecallRecord):
                found[read.run_id or f"#{number}"] = line, read.outcome
            elif read.of in found:
                found[read.of] = found[read.of][0], read.outcome
        return [_with_outcome(line, outcome) for line, outcome in found.values()]

    async def _lines(self, tenant: str) -> list[bytes]:
        """Return all lines; those read before are not fetched again."""
        key = recalls_key(tenant)
        of, known = self._known
        with translated(self._client, "read"):
            lines: list[bytes] = await self._client.execute_command("LRANGE", key, -TAIL, -1)
            if len(lines) == TAIL:  # fewer are the whole list
                added = _added(known, lines) if of == tenant else None
                if added is None:
                    lines = await self._client.execute_command("LRANGE", key, 0, -1)
                else:
                    lines = [*known, *added][-KEPT:]
        self._known = tenant, lines
        return lines

    async def _push(self, tenant: str, line: str) -> None:
        key = recalls_key(tenant)
        with translated(self._client, "write"):
            await self._client.execute_command("RPUSH", key, line)
            await self._client.execute_command("LTRIM", key, -KEPT, -1)


def _added(known: Sequence[bytes], end: Sequence[bytes]) -> Sequence[bytes] | None:
    """Return the lines of `end` after the `known` ones; None without overlap."""
    for count in range(len(end), 0, -1):
        if [*known[-count:]] == [*end[:count]]:
            return end[count:]
    return None


@lru_cache(maxsize=2 * KEPT)
def _read(line: bytes) -> RecallRecord | _Became:
    """Raises ValueError or TypeError for what is neither."""
    data = json.loads(line)
    return _Became.model_validate(data) if "of" in data else RecallRecord.model_validate(data)


@lru_cache(maxsize=2 * KEPT)
def _with_outcome(line: bytes, outcome: Outcome) -> RecallRecord:
    return RecallRecord.model_validate({**json.loads(line), "outcome": outcome})
