"""What was recalled, in Redis: one list a tenant, in the order in which it happened."""

import json
import logging

from pydantic import ValidationError

from cache.connection import Client, translated
from cache.keys import recalls_key
from replaywright.domain.recall import Outcome, RecallRecord

_log = logging.getLogger("replaywright.recalls")

KEPT = 2_000
"""Lines of a tenant's list, the newest."""


class RedisRecalls:
    """The `Recalls` of `replaywright.ports`. A decision is a line, and what became of it another one."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def note(self, tenant: str, record: RecallRecord) -> None:
        """Keep one decision; see the port."""
        await self._push(tenant, record.model_dump_json(by_alias=True, exclude_defaults=True))

    async def note_outcome(self, tenant: str, run_id: str, outcome: Outcome) -> None:
        """Keep what became of it; see the port."""
        await self._push(tenant, json.dumps({"outcome": outcome, "of": run_id}))

    async def recent(self, tenant: str) -> list[RecallRecord]:
        """All that is kept; see the port."""
        with translated(self._client, "read"):
            lines: list[bytes] = await self._client.execute_command("LRANGE", recalls_key(tenant), 0, -1)
        found: dict[str, RecallRecord] = {}
        for number, line in enumerate(lines):
            try:
                data = json.loads(line)
                if "of" in data:
                    if data["of"] in found:
                        known = found[data["of"]].model_dump() | {"outcome": data["outcome"]}
                        found[data["of"]] = RecallRecord.model_validate(known)
                    continue
                record = RecallRecord.model_validate(data)
            except (ValueError, TypeError, KeyError, ValidationError) as exc:
                _log.warning("line %d of the recalls of tenant %r cannot be read: %s", number, tenant, exc)
                continue
            found[record.run_id or f"#{number}"] = record
        return list(found.values())

    async def _push(self, tenant: str, line: str) -> None:
        key = recalls_key(tenant)
        with translated(self._client, "write"):
            await self._client.execute_command("RPUSH", key, line)
            await self._client.execute_command("LTRIM", key, -KEPT, -1)
