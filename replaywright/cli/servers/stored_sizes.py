"""How many records of each kind a tenant has in Redis, and how large they are."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote

from cache.connection import Client, translated
from cache.keys import VERSION
from cache.replies import SCANNED_AT_ONCE, text_of

_LIMIT_S: Final = 5.0
"""Time for one look through the keys; what is not seen by then is not counted."""
COUNTED: Final = 500_000
"""Keys that are counted at most."""
_SAMPLED: Final = 50
"""Keys of each kind whose size is asked for; the others are taken for as large on average."""


@dataclass(frozen=True)
class StoredSizes:
    """Records by the kind of their key, as `cache.keys` names them."""

    counts: Counter[str] = field(default_factory=Counter)
    size_bytes: Counter[str] = field(default_factory=Counter)
    """Estimated from samples."""
    is_complete: bool = True
    """False: there are more, or the time was up before all keys were seen."""


async def stored_sizes(client: Client, tenant: str, *, at_most: int = COUNTED) -> StoredSizes:
    """Count the keys of a tenant by kind, and estimate their sizes.

    Raises:
        StoreUnavailable: Redis cannot be reached.
    """
    sampled: defaultdict[str, list[bytes]] = defaultdict(list)
    counts: Counter[str] = Counter()
    is_complete = True
    name = quote(tenant, safe="")
    with translated(client):
        try:
            async with asyncio.timeout(_LIMIT_S):
                async for key in client.scan_iter(match=f"rw:{VERSION}:{{{name}[/}}]*", count=SCANNED_AT_ONCE):
                    if counts.total() >= at_most:
                        is_complete = False
                        break
                    kind = text_of(key).rpartition("}:")[2].partition(":")[0]
                    counts[kind] += 1
                    if len(sampled[kind]) < _SAMPLED:
                        sampled[kind].append(key)
        except TimeoutError:
            is_complete = False
        sizes = {kind: await _sizes(client, keys) for kind, keys in sampled.items()}
    totals = {kind: round(sum(found) / len(found) * counts[kind]) for kind, found in sizes.items() if found}
    return StoredSizes(counts, Counter(totals), is_complete)


async def _sizes(client: Client, keys: Sequence[bytes]) -> list[int]:
    answers = [await client.execute_command("MEMORY USAGE", key) for key in keys]
    return [int(size) for size in answers if size is not None]  # a key may be gone by now
