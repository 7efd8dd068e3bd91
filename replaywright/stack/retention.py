"""Retention of artifacts: the store is kept within its limits, except for what is still referred to."""

import asyncio
import logging
import time
from collections.abc import Iterable
from pathlib import Path

from temporalio.client import Client as TemporalClient
from temporalio.client import WorkflowQueryFailedError
from temporalio.service import RPCError

from activities.batch.batches import read_index
from cache.connection import Client
from cache.references import referenced
from replaywright.artifacts.retention import DAY_S, Pruned, RetentionLimits, prune
from replaywright.artifacts.store import ArtifactStore
from replaywright.domain.batch.batches import ROWS, ROWS_AGAIN
from replaywright.domain.site_session.leases import Leases
from replaywright.errors import ArtifactMissing, ArtifactsUnavailable, InputInvalid, ReplaywrightError, StackFailed
from replaywright.settings import Settings
from replaywright.stack.keyring import artifact_keys_of

_log = logging.getLogger("replaywright.retention")

EVERY_S = 6 * 3600.0
"""Interval of the rounds of all workers of one store together."""
_COUNT = 200_000
"""Number of artifacts that are kept; above it, the longest unused are deleted."""
_STAMP = ".looked-through"
_BATCHES = 'WorkflowType = "BrowserBatch" AND ExecutionStatus = "Running"'
_SESSIONS = 'WorkflowType = "SiteSession" AND ExecutionStatus = "Running"'
_RUNNING = 'WorkflowType = "BrowserTask" AND ExecutionStatus = "Running"'


def limits_of(settings: Settings) -> RetentionLimits:
    """Return the limits of the artifact store."""
    return RetentionLimits(
        age_s=settings.artifacts_max_days * DAY_S,
        size_bytes=settings.artifacts_max_mb * 1024 * 1024,
        count=_COUNT,
    )


async def enforce(settings: Settings, client: TemporalClient, redis: Client, *, dry_run: bool = False) -> Pruned:
    """Delete what is over a limit, and neither named by a cache entry nor in the trace of a run that is under way.

    The rows of batches that are under way stay, too, and what is kept of site sessions.

    Raises:
        InputInvalid: the store is not on local files.
        StackFailed: Temporal does not say which runs are under way. Nothing was deleted.
        StoreUnavailable: Redis does not say what is referred to. Nothing was deleted.
        ArtifactsUnavailable: the store's folder cannot be read or changed.
    """
    folder = ArtifactStore(settings.artifacts).folder
    if folder is None:
        raise InputInvalid(
            f"the artifacts are at {settings.artifacts}, not on local files: set a lifecycle rule there instead"
        )
    try:
        lineages = await _under_way(client, settings.tenant)
        indexes = await _rows_under_way(client)
        sessions = await _of_sessions(client)
    except (RPCError, WorkflowQueryFailedError) as exc:
        raise StackFailed(f"Temporal does not say what runs and sessions need: {exc}") from exc
    keep = await referenced(redis, lineages) | await _rows_kept(settings, indexes) | sessions
    return await _pruned(folder, settings, keep, dry_run=dry_run)


async def _pruned(folder: Path, settings: Settings, keep: frozenset[str], *, dry_run: bool) -> Pruned:
    try:
        return await prune(folder, limits_of(settings), keep=keep, now=time.time(), dry_run=dry_run)
    except OSError as exc:
        raise ArtifactsUnavailable(f"the artifacts in {folder} cannot be looked through: {exc}") from exc


async def _under_way(client: TemporalClient, tenant: str) -> list[tuple[str, str]]:
    """Return tenant and lineage of every run that has not ended."""
    found = []
    async for run in client.list_workflows(_RUNNING):
        owner = await run.memo_value("tenant", default=tenant)
        lineage = await run.memo_value("lineage", default=run.id)
        found.append((str(owner), str(lineage) or run.id))
    return found


async def _rows_under_way(client: TemporalClient) -> list[str]:
    """Return the digests of the row indexes of every batch that has not ended."""
    found = []
    async for batch in client.list_workflows(_BATCHES):
        found += [str(await batch.memo_value(name, default="")) for name in (ROWS, ROWS_AGAIN)]
    return [digest for digest in found if digest]


async def _of_sessions(client: TemporalClient) -> frozenset[str]:
    """Return the digests of what is kept of site sessions: cookies and storage, and passkeys."""
    found: set[str] = set()
    async for session in client.list_workflows(_SESSIONS):
        handle = client.get_workflow_handle(session.id)
        leases: Leases = await handle.query("standing", result_type=Leases)
        found |= {kept.digest for kept in (leases.kept, leases.passkeys) if kept is not None}
    return frozenset(found)


async def _rows_kept(settings: Settings, indexes: Iterable[str]) -> frozenset[str]:
    """Return the digests of these indexes and of their rows."""
    store, kept = ArtifactStore(settings.artifacts, artifact_keys_of(settings)), set(indexes)
    for digest in tuple(kept):
        try:
            kept |= {chunk.digest for chunk in (await read_index(store, digest)).chunks}
        except ArtifactMissing as exc:
            _log.warning("rows of a running batch are missing: %s", exc)
    return frozenset(kept)


async def keep_within_limits(settings: Settings, client: TemporalClient, redis: Client) -> None:
    """Enforce the limits periodically, for ever; a failed round is repeated at the next time.

    Begins at once, unless this or another worker of the same store did so lately: many short runs must not each look
    through a large store.
    """
    folder = ArtifactStore(settings.artifacts).folder
    if folder is None:
        return
    while True:
        if (wait_s := await asyncio.to_thread(_due_in_s, folder)) > 0:
            await asyncio.sleep(wait_s)
            continue
        try:
            done = await enforce(settings, client, redis)
        except ReplaywrightError as exc:
            _log.warning("cannot enforce artifact limits now: %s", exc)
        else:
            if done.count:
                _log.info("deleted %d artifacts, %d bytes; %d are left", done.count, done.size_bytes, done.left_count)


def _due_in_s(folder: Path) -> float:
    """Return the seconds until the next round; 0 when it is due, which is noted as done then."""
    stamp = folder / _STAMP
    try:
        left = stamp.stat().st_mtime + EVERY_S - time.time()
    except FileNotFoundError:
        left = 0.0
    if 0 < left <= EVERY_S:
        return left
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        stamp.touch(mode=0o600)
    except OSError as exc:
        _log.warning("cannot enforce artifact limits: %s", exc)
        return EVERY_S
    return 0.0
