"""References from the store to artifacts."""

import json
import re
from collections.abc import Iterable
from urllib.parse import unquote

from cache.connection import Client, translated
from cache.keys import index_key
from cache.steps import RedisStepStore

_DIGEST = re.compile(r"[0-9a-f]{64}")
_SCANNED_AT_ONCE = 1_000


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
    for tenant in await _tenants(client):
        found |= {info.entry.good_snapshot for info in await store.entries(tenant=tenant)}
    for tenant, lineage in lineages:
        for line in await store.trace(tenant=tenant, lineage=lineage):
            found.update(_DIGEST.findall(json.dumps(line)))
    return frozenset(found)


async def _tenants(client: Client) -> list[str]:
    before, after = index_key("*").split("%2A")
    tenants = set()
    with translated(client):
        async for key in client.scan_iter(match=f"{before}*{after}", count=_SCANNED_AT_ONCE):
            name = key.decode() if isinstance(key, bytes) else key
            tenant = name.removeprefix(before).removesuffix(after)
            if "/" not in tenant:  # else it is a key of a tenant's lineage
                tenants.add(unquote(tenant))
    return sorted(tenants)
