"""What was recalled, in Redis: one list a tenant, in the order in which it happened."""

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
"""Lines of a tenant's list, the newest."""
TAIL = 64
"""Lines of its end that are looked at for what is new."""


class _Became(Record):
    """What became of a recall: a line of its own."""

    of: str
    outcome: Outcome


class RedisRecalls:
    """The `Recalls` of `replaywright.ports`. A decision is a line, and what became of it another one."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._known: tuple[str, list[bytes]] = "", []
        """The tenant that was asked for last, and its lines then."""

    async def note(self, tenant: str, record: RecallRecord) -> None:
        """Keep one decision; see the port."""
        await self._push(tenant, record.model_dump_json(by_alias=True, exclude_defaults=True))

    async def note_outcome(self, tenant: str, run_id: str, outcome: Outcome) -> None:
        """Keep what became of it; see the port."""
        await self._push(tenant, json.dumps({"outcome": outcome, "of": run_id}))

    async def recent(self, tenant: str) -> list[RecallRecord]:
        """All that is kept; see the port."""
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
        """Every line of the list: those that were read before are not asked for again."""
        key = recalls_key(tenant)
        of, known = self._known
        with translated(self._client, "read"):
            lines: list[bytes] = await self._client.execute_command("LRANGE", key, -TAIL, -1)
            if len(lines) == TAIL:  # else that is all of it
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
    """What stands in the `end` of a list behind the lines that are `known`; None where they do not meet."""
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
