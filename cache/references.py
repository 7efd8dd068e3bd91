"""References from the store to artifacts."""

import json
import re
from collections.abc import Iterable

from cache.connection import Client
from cache.keys import index_key
from cache.replies import names_in
from cache.steps import RedisStepStore

_DIGEST = re.compile(r"[0-9a-f]{64}")


async def referenced(client: Client, lineages: Iterable[tuple[str, str]]) -> frozenset[str]:
    """Return the digests in current cache entries of any tenant, and in the traces of `lineages`.

    Args:
        client: Redis.
        lineages: Tenant and lineage of the open runs.

    Raises:
        StoreUnavailable: Redis cannot be reached or does not answer in time.
    """
    store = RedisStepStore(client)
    found: set[str] = set()
    for tenant in await names_in(client, index_key("*")):
        found |= {info.entry.good_snapshot for info in await store.entries(tenant=tenant)}
    for tenant, lineage in lineages:
        for line in await store.trace(tenant=tenant, lineage=lineage):
            found.update(_DIGEST.findall(json.dumps(line)))
    return frozenset(found)
