"""The Redis store as commands use it, and the steps of a trace."""

import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from cache.connection import Client, check_store, open_redis
from cache.skills import RedisSkills
from cache.steps import RedisStepStore
from replaywright.cli import output
from replaywright.cli.servers.connect import redis_url_of
from replaywright.cli.skills.skill_store import KnowledgeBase
from replaywright.domain.run.scope import Usage
from replaywright.domain.secrets.signing import Signer
from replaywright.domain.step.outcomes import Lookup, Status, StepOutcome
from replaywright.settings import Settings
from replaywright.stack import Stack, read_running
from replaywright.stack.keyring import signer_of
from replaywright.stack.starting import wait_for_start


@dataclass(frozen=True)
class StepRecord:
    """Record of a step in a trace."""

    sequence: int
    title: str
    status: Status
    lookup: Lookup
    usage: Usage
    seconds: float
    from_ledger: bool
    message: str
    outcome: StepOutcome
    override: str
    """Name of the override rule; empty for the task's own steps."""
    overruled: str
    """Change that a preference rule made to the model's pick."""
    line: dict[str, Any]
    """Stored form."""


@dataclass(frozen=True)
class OpenStore:
    """Open Redis store, as one tenant sees it. Its parts raise `StoreUnavailable`."""

    client: Client
    signer: Signer
    tenant: str

    @property
    def steps(self) -> RedisStepStore:
        """Ledger, trace and action cache."""
        return RedisStepStore(self.client, signer=self.signer)

    @property
    def knowledge(self) -> KnowledgeBase:
        """Skills."""
        return KnowledgeBase(RedisSkills(self.client, signer=self.signer), self.tenant)


@contextlib.asynccontextmanager
async def open_store(settings: Settings) -> AsyncIterator[OpenStore]:
    """Open the configured store, or that of the running stack, until the block ends.

    Raises:
        StoreUnavailable: no store is configured, and no stack runs here.
    """
    async with _opened(redis_url_of(settings), settings) as store:
        yield store


@contextlib.asynccontextmanager
async def open_or_start_store(settings: Settings, *, lasting: bool = False) -> AsyncIterator[OpenStore]:
    """Open the store; where there is none, start a stack for the time of the block.

    With `lasting`, warn of a Redis that drops data when its memory is full.
    """
    if settings.redis_url is None:
        wait_for_start(settings.home, output.print_progress)
    async with contextlib.AsyncExitStack() as exits:
        if settings.redis_url is not None or read_running(settings.home) is not None:
            redis_url = redis_url_of(settings)
        else:
            output.print_progress("no stack is running: starting one for this command")
            redis_url = (await exits.enter_async_context(Stack(settings))).running.redis_url
        store = await exits.enter_async_context(_opened(redis_url, settings))
        if lasting:
            for finding in (await check_store(store.client)).findings:
                if finding.forbids_commits:
                    output.warn(f"warning: {finding.message}: {finding.remedy}")
        yield store


@contextlib.asynccontextmanager
async def _opened(redis_url: str, settings: Settings) -> AsyncIterator[OpenStore]:
    signer = signer_of(settings)
    client = open_redis(redis_url, client_name="replaywright-cli")
    try:
        yield OpenStore(client, signer, settings.tenant)
    finally:
        await client.aclose()


def step_records(lines: Sequence[dict[str, Any]]) -> list[StepRecord]:
    """Return the steps of a trace in order; skip lines of other kinds and lines that cannot be read.

    A failed final verification follows the last step as a step of its own.
    """
    records: list[StepRecord] = []
    for line in lines:
        with contextlib.suppress(ValidationError, TypeError, ValueError):
            if line.get("kind") == "step":
                records.append(_record(line))
            elif line.get("kind") == "finish" and not line.get("verified", True):
                end = 1 + max((record.sequence for record in records), default=-1)
                payload = {"status": Status.UNMET, "reason": "verification_failed", "title": "final verification"}
                records.append(_record({**line, **payload, "sequence": end}))
    return records


def _record(line: dict[str, Any]) -> StepRecord:
    outcome = StepOutcome.model_validate(line)
    unfinished = outcome.status is not Status.DONE
    return StepRecord(
        sequence=int(line.get("sequence", 0)),
        title=str(line.get("title", "")),
        status=outcome.status,
        lookup=outcome.lookup,
        usage=Usage.model_validate(line.get("usage") or {}),
        seconds=outcome.costs.total_ms / 1000,
        from_ledger=outcome.from_ledger,
        message=(outcome.message or outcome.reason) if unfinished else "",
        outcome=outcome,
        override=str(line.get("override", "")),
        overruled=str(line.get("overruled", "")),
        line=line,
    )
