"""What an older or a newer Replaywright has left in Redis: read where that is safe, else left alone and reported."""

import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from cache.connection import Client
from cache.keys import entry_key, ledger_key, overrides_key, trace_key
from cache.overrides import RedisOverrides
from cache.steps import RedisStepStore
from replaywright.domain.skill.entries import SCHEMA, ActionCacheEntry
from replaywright.domain.step.outcomes import Status, StepOutcome
from replaywright.domain.task.actions import Action
from replaywright.domain.trace.trace import VERSION, step_line
from replaywright.errors import Fenced
from replaywright.overrides import shipped_rules
from replaywright.ports.ledger import Intent

CONTENT = "a1" + "0" * 62
LINEAGE: dict[str, Any] = {"tenant": "acme", "lineage": "order-7"}
STEP: dict[str, Any] = {**LINEAGE, "fingerprint": "f" * 64}
ENTRY, LEDGER = entry_key("acme", CONTENT), ledger_key(**STEP)
TRACE, RULES = trace_key(**LINEAGE), overrides_key("acme")
NOVEL = {"novel": {"of": "another version"}}
"""A field that only the other version knows."""


async def entry(client: Client, version: int | None) -> None:
    learned = ActionCacheEntry(content_key=CONTENT, action_type=Action.CLICK, instruction="Send", tag="a", xpath="/a")
    told = learned.model_dump(mode="json", by_alias=True, exclude={"schema_version"}) | NOVEL
    told |= {} if version is None else {"schemaVersion": version}
    await client.execute_command(
        "HSET", ENTRY, "versions", "1", "last", "1", "1:status", "active", "1:run", "r0", "1:json", json.dumps(told)
    )


async def ledger(client: Client, version: int | None) -> None:
    layout = () if version is None else ("v", str(version))
    await client.execute_command("HSET", LEDGER, *layout, "state", "NOT_DONE", "epoch", "1", "novel", "field")


async def trace(client: Client, version: int | None) -> None:
    done = StepOutcome(status=Status.DONE, fingerprint=STEP["fingerprint"])
    line = step_line(done, sequence=3, title="fill", run_id="r0", epoch=1, given={}, more={})
    line |= {"at": 1.5, "id": "a1", **NOVEL} | ({} if version is None else {"v": version})
    await client.execute_command("RPUSH", TRACE, json.dumps(line))


async def rule(client: Client, version: int | None) -> None:
    """Rules have no version: one of another has other fields."""
    first = shipped_rules()[0]
    told = first.model_dump(mode="json", exclude_none=True, exclude_defaults=True) | ({} if version is None else NOVEL)
    await client.execute_command("HSET", RULES, first.name, json.dumps(told))


async def entry_seen(client: Client) -> str:
    store = RedisStepStore(client)
    known = await store.look_up(**STEP, run_id="r1", content_key=CONTENT)
    assert (known.entry is None) == (await store.versions(tenant="acme", content_key=CONTENT) == [])
    return "a miss" if known.entry is None else "used"


async def ledger_seen(client: Client) -> str:
    store = RedisStepStore(client)
    state = (await store.look_up(**STEP, run_id="r1", content_key="")).state
    if state != "DAMAGED":
        await store.intend(Intent(**STEP, epoch=5, attempt="a"))
        return "used"
    with pytest.raises(Fenced, match="of another version of Replaywright"):
        await store.intend(Intent(**STEP, epoch=5, attempt="a"))
    return "refused"


async def trace_seen(client: Client) -> str:
    [line] = await RedisStepStore(client).trace(**LINEAGE)
    assert (line["sequence"], line["status"], line["runId"], line["epoch"]) == (3, "done", "r0", 1)
    return "used"


async def rule_seen(client: Client) -> str:
    return "used" if await RedisOverrides(client).rules("acme") else "left out"


Writes = Callable[[Client, int | None], Awaitable[None]]
Sees = Callable[[Client], Awaitable[str]]
KINDS: dict[str, tuple[str, Writes, Sees]] = {
    "cache entry": (ENTRY, entry, entry_seen),
    "ledger record": (LEDGER, ledger, ledger_seen),
    "trace line": (TRACE, trace, trace_seen),
    "override rule": (RULES, rule, rule_seen),
}


@pytest.mark.parametrize(
    ("kind", "version", "expected"),
    [
        ("cache entry", SCHEMA, "used"),
        ("cache entry", SCHEMA - 1, "a miss"),
        ("cache entry", SCHEMA + 1, "a miss"),
        ("cache entry", None, "a miss"),
        ("ledger record", 1, "used"),
        ("ledger record", 0, "refused"),
        ("ledger record", 2, "refused"),
        ("ledger record", None, "refused"),
        ("trace line", VERSION, "used"),
        ("trace line", VERSION + 1, "used"),
        ("override rule", None, "used"),
        ("override rule", 2, "left out"),
    ],
)
async def test_what_another_version_wrote_is_used_or_left_as_it_is_and_reported(
    client: Client, caplog: pytest.LogCaptureFixture, kind: str, version: int | None, expected: str
) -> None:
    key, write, sees = KINDS[kind]
    await write(client, version)
    before = await client.execute_command("DUMP", key)

    seen = await sees(client)

    assert seen == expected
    warned = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert bool(warned) == (expected != "used")
    if expected != "used":
        assert await client.execute_command("DUMP", key) == before
