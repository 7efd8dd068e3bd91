"""Results of the rows of batches in Redis: a hash for each thousand rows. Nothing expires."""

import logging
from collections.abc import Iterable, Sequence

from pydantic import ValidationError

from cache.connection import Client, translated
from cache.keys import row_ends_key
from replaywright.domain.batch.batches import RowEnd

_log = logging.getLogger("replaywright.batches")

PART_ROWS = 1_000
"""Rows of one hash."""


class RedisRowEnds:
    """The `RowEnds` of `replaywright.ports`."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def note(self, tenant: str, batch: str, ends: Sequence[RowEnd]) -> None:
        """Keep these results; see the port."""
        texts = {end.number: end.model_dump_json(by_alias=True, exclude_defaults=True) for end in ends}
        for part, numbers in _parts(texts).items():
            pairs = [text for number in numbers for text in (str(number), texts[number])]
            with translated(self._client, "write"):
                await self._client.execute_command("HSET", row_ends_key(tenant, batch, part), *pairs)

    async def ends(self, tenant: str, batch: str, numbers: Sequence[int]) -> dict[int, RowEnd]:
        """Return the known results; see the port."""
        found: dict[int, RowEnd] = {}
        for part, inner in _parts(numbers).items():
            with translated(self._client, "read"):
                values: list[bytes | None] = await self._client.execute_command(
                    "HMGET", row_ends_key(tenant, batch, part), *map(str, inner)
                )
            for number, value in zip(inner, values, strict=True):
                if value is not None and (end := _read(value, batch, number)) is not None:
                    found[number] = end
        return found


def _parts(numbers: Iterable[int]) -> dict[int, list[int]]:
    parts: dict[int, list[int]] = {}
    for number in numbers:
        parts.setdefault(number // PART_ROWS, []).append(number)
    return parts


def _read(value: bytes, batch: str, number: int) -> RowEnd | None:
    """Parse a result; an unreadable one is unknown, and the row's run is asked."""
    try:
        return RowEnd.model_validate_json(value)
    except ValidationError as exc:
        _log.warning("how row %d of batch %r ended cannot be read: %s", number, batch, exc)
        return None
