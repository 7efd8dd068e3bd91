"""The Redis store as commands use it: opened for one look, and its trace read as steps."""

import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from cache.connection import open_redis
from cache.steps import RedisStepStore
from replaywright.cli import output
from replaywright.cli.servers.connect import redis_url_of
from replaywright.domain.run.runs import Usage
from replaywright.domain.step.outcomes import Lookup, Status, StepOutcome
from replaywright.settings import Settings
from replaywright.stack import Stack, read_running
from replaywright.stack.keyring import signer_of
from replaywright.stack.starting import wait_for_start


@dataclass(frozen=True)
class StepRecord:
    """One line of a trace that is about a step."""

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
    """The override rule that it belongs to; empty for the task's own steps."""
    overruled: str
    """How a preference rule changed the model's pick."""
    line: dict[str, Any]
    """As it is stored."""


@contextlib.asynccontextmanager
async def some_redis(settings: Settings) -> AsyncIterator[str]:
    """The address of the configured Redis, of the running stack's, or of one that is started for the block."""
    if settings.redis_url is None:
        wait_for_start(settings.home, output.say_on_standard_error)
    if settings.redis_url is not None or read_running(settings.home) is not None:
        yield redis_url_of(settings)
        return
    output.print_line(
        "no stack is running: starting one for this command", style="dim", console=output.standard_error()
    )
    async with Stack(settings) as stack:
        yield stack.redis_url


@contextlib.asynccontextmanager
async def opened_store(redis_url: str, settings: Settings) -> AsyncIterator[RedisStepStore]:
    """The store at this address, until the block ends. Its methods raise `StoreUnavailable`."""
    signer = signer_of(settings)
    client = open_redis(redis_url, client_name="replaywright-cli")
    try:
        yield RedisStepStore(client, signer=signer)
    finally:
        await client.aclose()


def step_records(lines: Sequence[dict[str, Any]]) -> list[StepRecord]:
    """The steps of a trace in their order; lines of other kinds, and such that cannot be read, are left out.

    A final verification that failed stands behind the last step, as a step of its own.
    """
    records: list[StepRecord] = []
    for line in lines:
        with contextlib.suppress(ValidationError, TypeError, ValueError):
            if line.get("kind") == "step":
                records.append(_record(line))
            elif line.get("kind") == "finish" and not line.get("verified", True):
                end = 1 + max((record.sequence for record in records), default=-1)
                told = {"status": Status.UNMET, "reason": "verification_failed", "title": "final verification"}
                records.append(_record({**line, **told, "sequence": end}))
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
