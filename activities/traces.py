"""Lines of the trace that nothing fails for."""

import logging
from collections.abc import Mapping
from typing import Any

from replaywright.errors import StoreUnavailable, ValueTooLarge
from replaywright.ports.ledger import StepStore

_log = logging.getLogger("replaywright.traces")


async def traced(store: StepStore | None, *, tenant: str, lineage: str, line: Mapping[str, Any]) -> None:
    """Add a line to the trace; what it tells of is not lost because the store does not take it."""
    if store is None:
        return
    try:
        await store.append_trace(tenant=tenant, lineage=lineage, line=dict(line))
    except (StoreUnavailable, ValueTooLarge) as exc:
        _log.warning(
            "a line on step %s of %s (%s) is not in the trace: %s", line["sequence"], lineage, line["kind"], exc
        )
