"""What is kept of a tenant: how much, how long, and what limits it."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Final

from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest

from replaywright.artifacts.retention import total
from replaywright.artifacts.store import ArtifactStore
from replaywright.cli.servers.connect import Backend, temporal_errors
from replaywright.cli.servers.site_sessions import declared
from replaywright.cli.servers.store import OpenStore
from replaywright.cli.servers.stored_sizes import StoredSizes, stored_sizes
from replaywright.dashboard.views import KeptRow
from replaywright.errors import ArtifactsUnavailable
from replaywright.settings import Settings
from replaywright.stack.retention import limits_of

_FORGET: Final = "replaywright admin forget"
_CLOSED: Final = "90 days after its end; without an end, until it is resumed or given up"
_STORED: Final[tuple[tuple[str, str, tuple[str, ...], str, str], ...]] = (
    ("recordings", "entry", ("entry", "entries"), "until they are forgotten", _FORGET),
    (
        "skills",
        "skill",
        ("skill", "skills", "skill-changes", "skill-statuses", "skill-history"),
        "until they are forgotten; the last 200 changes of each",
        _FORGET,
    ),
    ("statistics of skills", "skill-statistics", ("skill-statistics",), "with the skill", _FORGET),
    ("recalls", "recalls", ("recalls",), "the last 2000", "fixed"),
    ("override rules", "overrides", ("overrides",), "until they are removed", "replaywright admin overrides remove"),
    ("ledgers (steps)", "ledger", ("ledger", "acts"), _CLOSED, "fixed"),
    ("traces (runs)", "trace", ("trace",), "90 days", "fixed"),
    ("ids of runs", "first-start", ("first-start",), "90 days", "fixed"),
    ("rows of batches", "row-ends", ("row-ends",), "until Redis is emptied", "fixed"),
)
"""Kind, the key that is counted, the keys that are its size, how long it is kept, where that is set."""


async def kept_rows(here: Backend, store: OpenStore) -> Sequence[KeptRow]:
    """Return what is kept of the tenant, kind by kind; artifacts and histories are those of all tenants.

    Raises:
        StackFailed: Temporal does not answer.
        StoreUnavailable: Redis does not answer.
        ArtifactsUnavailable: the folder of the artifacts cannot be read.
        InputInvalid: the file of sessions cannot be used.
    """
    sizes, artifacts, histories = await asyncio.gather(
        stored_sizes(store.client, store.tenant), _artifacts(here.settings), _histories(here)
    )
    return (*_stored(sizes), artifacts, _sessions(here.settings), histories)


def _stored(sizes: StoredSizes) -> Iterator[KeptRow]:
    for kind, counted, parts, how_long, where in _STORED:
        yield KeptRow(
            kind=kind,
            count=sizes.counts[counted],
            size_bytes=sum(sizes.size_bytes[part] for part in parts),
            how_long=how_long,
            where=where,
            is_complete=sizes.is_complete,
        )


async def _artifacts(settings: Settings) -> KeptRow:
    folder, limits = ArtifactStore(settings.artifacts).folder, limits_of(settings)
    where = "REPLAYWRIGHT_ARTIFACTS_MAX_DAYS, _MAX_MB"
    how_long = f"{settings.artifacts_max_days:g} days since the last use, {settings.artifacts_max_mb} MB in all"
    if folder is None:
        return KeptRow("artifacts", None, None, "as its store's lifecycle rules say", settings.artifacts)
    try:
        count, size = await asyncio.to_thread(total, folder)
    except OSError as exc:
        raise ArtifactsUnavailable(f"the artifacts in {folder} cannot be looked through: {exc}") from exc
    kind = "artifacts (pictures, traces of the browser, sessions, downloads)"
    return KeptRow(kind, count, size, f"{how_long}, {limits.count} at most", where)


def _sessions(settings: Settings) -> KeptRow:
    count, where = len(declared(settings)), "replaywright admin sessions forget"
    return KeptRow("declared sessions", count, None, "until they are forgotten", where)


async def _histories(here: Backend) -> KeptRow:
    client = here.client
    with temporal_errors(here.settings):
        counted = await client.count_workflows("ExecutionStatus != 'Running'")
        described = await client.workflow_service.describe_namespace(
            DescribeNamespaceRequest(namespace=client.namespace)
        )
    days = described.config.workflow_execution_retention_ttl.ToTimedelta().days
    how_long = f"{days} days after its end" if days else "less than a day after its end"
    return KeptRow("histories of ended workflows", counted.count, None, how_long, "Temporal's namespace")
