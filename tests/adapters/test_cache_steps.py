"""Action cache, trace and look-ups on the real server."""

import logging
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from cache.connection import Client
from cache.keys import entry_key, index_key, ledger_key, trace_key
from cache.steps import RedisStepStore
from replaywright.cli.local.dashboard_acts import picture_of_heal
from replaywright.domain.skill.entries import ActionCacheEntry
from replaywright.domain.step.outcomes import Lookup, Status, StepOutcome
from replaywright.domain.task.actions import Action
from replaywright.errors import ArtifactMissing, InputInvalid, ValueTooLarge
from replaywright.ports.ledger import Intent, Known, Recording

SEND = "a1" + "0" * 62
OPEN = "a2" + "0" * 62
STEP: dict[str, Any] = {"tenant": "acme", "lineage": "order-7", "fingerprint": "f" * 64}
PAGE = {"tenant": "acme", "lineage": "order-7"}
KEY = entry_key("acme", SEND)


@pytest.fixture
def store(client: Client) -> RedisStepStore:
    return RedisStepStore(client)


def entry(content_key: str = SEND, *, name: str = "Send", hold: bool = False) -> ActionCacheEntry:
    return ActionCacheEntry(
        content_key=content_key,
        action_type=Action.CLICK,
        instruction="the Send button",
        tag="button",
        role="button",
        name=name,
        xpath="/html[1]/body[1]/button[1]",
        hold=hold,
    )


def recording(
    learned: ActionCacheEntry | None = None,
    *,
    run: str = "run-1",
    used: int = 0,
    status: Status = Status.DONE,
    lookup: Lookup | None = None,
    **more: Any,
) -> Recording:
    outcome = StepOutcome(
        status=status, fingerprint=STEP["fingerprint"], content_key=SEND, lookup=lookup or Lookup(hit=True)
    )
    fields = {"epoch": 1, "sequence": 7, "title": "click the Send button", **more}
    return Recording.model_validate(
        {**PAGE, "run_id": run, "outcome": outcome, "entry": learned, "used_version": used, **fields}
    )


async def found(store: RedisStepStore, run: str = "run-1", content_key: str = SEND) -> ActionCacheEntry | None:
    return (await store.look_up(**STEP, run_id=run, content_key=content_key)).entry


async def learn(store: RedisStepStore, name: str = "Send", run: str = "run-1", content_key: str = SEND) -> None:
    """Record and promote one version."""
    await store.record(recording(entry(content_key, name=name), run=run))
    assert (await store.promote(tenant="acme", run_id=run, content_keys=[content_key]))[0] == 1


async def statuses(store: RedisStepStore) -> list[tuple[int, str]]:
    versions = await store.versions(tenant="acme", content_key=SEND)
    return [(version.version, version.status.value) for version in versions]


async def test_what_was_recorded_is_found(store: RedisStepStore) -> None:
    await store.record(recording(entry()))

    known = await store.look_up(**STEP, run_id="run-1", content_key=SEND)

    assert known.state == "COMMITTED"
    assert known.epoch == 1
    assert known.outcome == recording().outcome
    assert known.entry == entry().model_copy(update={"version": 1, "run_id": "run-1"})


async def test_only_done_steps_enter_the_ledger(store: RedisStepStore) -> None:
    for status in set(Status) - {Status.DONE}:
        await store.record(recording(status=status))

    assert (await store.look_up(**STEP, run_id="run-1", content_key="")).state == ""
    assert len(await store.trace(**PAGE)) == len(Status) - 1


async def test_recording_looks_up_the_next_step_in_the_same_round_trip(
    store: RedisStepStore, sent: list[object]
) -> None:
    await learn(store, content_key=OPEN)
    await found(store)  # loads the script
    sent.clear()
    known = await store.record(recording(next_fingerprint=STEP["fingerprint"], next_content_key=OPEN))

    assert len(sent) == 1
    assert known.state == "COMMITTED"
    assert known.entry is not None
    assert known.entry.content_key == OPEN


async def test_every_method_of_a_run_is_one_round_trip(store: RedisStepStore, sent: list[object]) -> None:
    other = {**STEP, "fingerprint": "e" * 64}
    calls: list[Callable[[], Awaitable[object]]] = [
        lambda: store.look_up(**STEP, run_id="run-1", content_key=SEND),
        lambda: store.record(recording(entry(), used=1, next_fingerprint="d" * 64, next_content_key=OPEN)),
        lambda: store.intend(Intent(**other, epoch=1, attempt="a")),
        lambda: store.dispatch(**other, epoch=1, attempt="a"),
        lambda: store.fence(**other, epoch=2),
        lambda: store.settle(**other, epoch=2, state="NOT_DONE", who="probe"),
        lambda: store.append_trace(**PAGE, line={"kind": "note"}),
        lambda: store.trace(**PAGE),
        lambda: store.promote(tenant="acme", run_id="run-1", content_keys=[SEND, OPEN]),
        lambda: store.versions(tenant="acme", content_key=SEND),
        lambda: store.invalidate(tenant="acme", content_key=SEND, reason="wrong"),
    ]
    for call in calls:  # the scripts are loaded by this first round
        await call()
    await store.settle(**other, epoch=2, state="NOT_DONE", who="probe")
    other["fingerprint"] = "c" * 64

    for number, call in enumerate(calls, len(sent) + 1):
        await call()
        assert len(sent) == number


async def test_lost_scripts_are_loaded_again(client: Client, store: RedisStepStore) -> None:
    await store.record(recording(entry()))
    await client.execute_command("SCRIPT FLUSH")

    await store.record(recording(entry(name="Send now"), used=1))

    assert (await statuses(store)) == [(1, "candidate"), (2, "candidate")]
    assert [version.hits for version in await store.versions(tenant="acme", content_key=SEND)] == [1, 0]
    assert len(await store.trace(**PAGE)) == 2


# -------------------------------------------------------------------------------------- two-phase commit


async def test_a_healed_version_takes_over_only_when_it_is_promoted(store: RedisStepStore) -> None:
    await learn(store)
    await store.record(recording(entry(name="Send now"), run="run-2"))
    assert (await found(store, "run-2") or entry()).name == "Send"

    result = await store.promote(tenant="acme", run_id="run-2", content_keys=[SEND])

    assert result == (1, 0)
    assert (await found(store, "run-3") or entry()).name == "Send now"
    assert await statuses(store) == [(1, "retired"), (2, "active")]


@pytest.mark.parametrize(
    ("kept", "shown"),
    [((6, 7), ("run-1 at 6", "run-2 at 6")), ((7,), ("run-1 at 7", "run-2 at 7"))],
    ids=["before the step", "after it, where a run has none of before"],
)
async def test_a_heal_is_shown_with_the_pages_of_one_moment(
    store: RedisStepStore, kept: tuple[int, ...], shown: tuple[str, str]
) -> None:
    for run, name in (("run-1", "Send"), ("run-2", "Send now")):
        learned = entry(name=name, hold=run == "run-2").model_copy(update={"run_id": run, "step_index": 7})
        await store.record(recording(learned, run=run).model_copy(update={"lineage": run}))
        for sequence in (6, 7) if run == "run-1" else kept:
            line = {"kind": "picture", "runId": run, "sequence": sequence, "digest": f"{run} at {sequence}"}
            await store.append_trace(tenant="acme", lineage=run, line=line)
        if run == "run-1":
            await store.promote(tenant="acme", run_id=run, content_keys=[SEND])

    recorded, found_ = [await picture_of_heal(store, "acme", SEND, of) for of in ("recorded", "found")]

    assert (recorded, found_) == shown
    with pytest.raises(ArtifactMissing):
        await picture_of_heal(store, "other", SEND, "found")


async def test_promoting_again_gives_the_same_answer(store: RedisStepStore) -> None:
    await store.record(recording(entry()))
    await store.record(recording(entry(OPEN, name="Open", hold=True)))

    first = await store.promote(tenant="acme", run_id="run-1", content_keys=[SEND, OPEN, SEND, "unknown"])
    again = await store.promote(tenant="acme", run_id="run-1", content_keys=[SEND, OPEN, SEND, "unknown"])

    assert first == again == (1, 1)


async def test_promoting_nothing_asks_nothing(store: RedisStepStore, sent: list[object]) -> None:
    assert await store.promote(tenant="acme", run_id="run-1", content_keys=[]) == (0, 0)
    assert len(sent) == 0


async def test_candidates_of_other_runs_are_not_promoted(store: RedisStepStore) -> None:
    await store.record(recording(entry(), run="run-1"))
    await store.record(recording(entry(name="Send now"), run="run-2"))

    await store.promote(tenant="acme", run_id="run-2", content_keys=[SEND])

    assert await statuses(store) == [(1, "candidate"), (2, "active")]


async def test_of_several_candidates_of_a_run_the_newest_is_used_and_promoted(store: RedisStepStore) -> None:
    await store.record(recording(entry(name="first")))
    await store.record(recording(entry(name="second")))
    assert (await found(store) or entry()).name == "second"

    await store.promote(tenant="acme", run_id="run-1", content_keys=[SEND])

    assert await statuses(store) == [(1, "retired"), (2, "active")]


async def test_ten_versions_are_kept_and_the_active_one_always(store: RedisStepStore, client: Client) -> None:
    await learn(store)
    for number in range(2, 15):
        await store.record(recording(entry(name=f"Send {number}"), run=f"run-{number}"))

    kept = await statuses(store)

    assert kept == [(1, "active"), *((number, "candidate") for number in range(6, 15))]
    fields = await client.execute_command("HKEYS", KEY)
    assert {int(field.split(b":")[0]) for field in fields if b":" in field} == {1, *range(6, 15)}


# -------------------------------------------------------------------------------------------- statistics


async def test_statistics_count_on_the_version_that_was_used(store: RedisStepStore) -> None:
    await learn(store)
    for status, lookup in [
        (Status.DONE, Lookup(hit=True)),
        (Status.DONE, Lookup(hit=True)),
        (Status.DONE, Lookup(hit=True, healed=True)),
        (Status.MISSED, Lookup(reason="not_found")),
        (Status.UNMET, Lookup(hit=True)),
        (Status.REFUSED, Lookup()),
        (Status.DONE, Lookup(hit=True, from_model=True)),
    ]:
        await store.record(recording(used=1, status=status, lookup=lookup))

    used = await found(store)

    assert used is not None
    assert (used.hits, used.heals, used.misses) == (3, 1, 1)


async def test_the_last_word_of_each_run_on_a_step_is_kept_for_twenty_runs(store: RedisStepStore) -> None:
    await learn(store)
    tried = [
        ("run-1", Status.MISSED, Lookup(reason="not_found")),
        ("run-2", Status.UNMET, Lookup(hit=True)),
        ("run-2", Status.DONE, Lookup(hit=True)),
        ("run-3", Status.MISSED, Lookup(reason="not_found")),
        ("run-3", Status.DONE, Lookup(hit=True, from_model=True)),
        ("run-4", Status.REFUSED, Lookup()),
    ]
    for run, status, lookup in tried:
        await store.record(recording(run=run, owner="run-1", used=1, status=status, lookup=lookup))
    first = await found(store)
    for number in range(20):
        await store.record(recording(run=f"later-{number}", owner="run-1", used=1))
    last = await found(store)

    assert first is not None
    assert first.recent == "011"
    assert last is not None
    assert last.recent == "1" * 20


async def test_the_last_success_is_on_the_servers_clock(store: RedisStepStore, client: Client) -> None:
    await learn(store)
    await store.record(recording(used=1, status=Status.MISSED, lookup=Lookup()))
    assert (await found(store) or entry()).last_success == 0
    seconds, _ = await client.execute_command("TIME")

    await store.record(recording(used=1))

    assert int(seconds) <= (await found(store) or entry()).last_success <= int(seconds) + 5


async def test_statistics_of_a_version_that_is_gone_are_not_counted(store: RedisStepStore, client: Client) -> None:
    await learn(store)

    await store.record(recording(used=9))

    assert await client.execute_command("HEXISTS", KEY, "9:hits") == 0


# ------------------------------------------------------------------------------------- listing, retiring


async def test_entries_lists_the_current_version_of_each(store: RedisStepStore) -> None:
    await learn(store)
    await store.record(recording(entry(name="Send now"), run="run-2"))
    await store.record(recording(entry(OPEN, name="Open")))

    listed = await store.entries(tenant="acme")

    assert [(info.content_key, info.entry.name, info.versions) for info in listed] == [
        (SEND, "Send", 2),
        (OPEN, "Open", 1),
    ]
    assert await store.entries(tenant="other") == []


async def test_versions_takes_a_unique_beginning_of_the_key(store: RedisStepStore) -> None:
    await learn(store)
    await learn(store, content_key=OPEN)

    assert [version.content_key for version in await store.versions(tenant="acme", content_key="a1")] == [SEND]
    assert await store.versions(tenant="acme", content_key="b") == []
    assert await store.versions(tenant="acme", content_key="b" * 64) == []
    with pytest.raises(InputInvalid, match="2 entries begin with 'a'"):
        await store.versions(tenant="acme", content_key="a")


async def test_invalidated_entries_are_learned_again(store: RedisStepStore, client: Client) -> None:
    await learn(store)
    await learn(store, content_key=OPEN)

    assert await store.invalidate(tenant="acme", content_key="a1", reason="wrong button") == 1

    assert await found(store) is None
    assert await found(store, content_key=OPEN) is not None
    assert await client.execute_command("HGET", KEY, "1:reason") == b"wrong button"
    await learn(store, name="Send now", run="run-2")
    assert (await found(store) or entry()).name == "Send now"
    assert await statuses(store) == [(1, "retired"), (2, "active")]


async def test_invalidating_by_a_common_beginning_retires_all(store: RedisStepStore) -> None:
    await learn(store)
    await learn(store, content_key=OPEN)

    assert await store.invalidate(tenant="acme", content_key="a", reason="site changed") == 2
    assert await store.invalidate(tenant="acme", content_key="b", reason="site changed") == 0
    with pytest.raises(InputInvalid):
        await store.invalidate(tenant="acme", content_key="", reason="everything")


async def test_one_tenant_sees_nothing_of_another(store: RedisStepStore) -> None:
    await learn(store)
    theirs = {**STEP, "tenant": "other"}

    assert await store.look_up(**theirs, run_id="run-1", content_key=SEND) == Known()
    assert await store.trace(tenant="other", lineage="order-7") == []
    assert await store.invalidate(tenant="other", content_key=SEND, reason="x") == 0
    assert await found(store) is not None


# ------------------------------------------------------------------------------------------------- trace


async def test_a_trace_line_says_what_was_done_when(store: RedisStepStore, client: Client) -> None:
    await store.append_trace(**PAGE, line={"kind": "begin", "at": 1, "id": "forged", "text": "übermäßig \ud83d"})
    await store.record(recording(trace={"model": "stand-in", "epoch": 99}))

    first, second = await store.trace(**PAGE)

    seconds, _ = await client.execute_command("TIME")
    assert int(seconds) - 5 <= first["at"] <= second["at"] <= int(seconds) + 1
    assert (first["kind"], first["text"]) == ("begin", "übermäßig \ud83d")
    assert first["id"] not in {"forged", second["id"]}
    del second["at"], second["id"]
    assert second == {
        "kind": "step",
        "model": "stand-in",
        "runId": "run-1",
        "sequence": 7,
        "epoch": 1,
        "title": "click the Send button",
        "status": "done",
        "fingerprint": STEP["fingerprint"],
        "contentKey": SEND,
        "lookup": {"hit": True},
    }
    assert 0 < await client.execute_command("TTL", trace_key(**PAGE)) <= 90 * 24 * 3600


# ---------------------------------------------------------------------------------------- damage, limits


@pytest.mark.parametrize(
    "write",
    [
        ("SET", KEY, "x"),
        ("RPUSH", KEY, "x"),
        ("HSET", KEY, "1:json", "{"),
        ("HSET", KEY, "1:json", b"\xff\xfe"),
        ("HSET", KEY, "1:json", "null"),
        ("HSET", KEY, "1:json", entry(OPEN).model_dump_json(by_alias=True)),
        ("HSET", KEY, "1:json", entry().model_copy(update={"schema_version": 2}).model_dump_json(by_alias=True)),
        ("HSET", KEY, "1:json", entry().model_copy(update={"schema_version": 0}).model_dump_json(by_alias=True)),
        ("HSET", KEY, "1:json", entry().model_dump_json(by_alias=True, exclude={"schema_version"})),
        ("HSET", KEY, "1:hits", "many"),
        ("HSET", KEY, "1:status", "active", "1:success", b"\xff"),
        ("HSET", KEY, "versions", "none"),
    ],
)
async def test_a_damaged_entry_is_a_miss_reported_once_and_learned_again(
    store: RedisStepStore, client: Client, caplog: pytest.LogCaptureFixture, write: tuple[str, ...]
) -> None:
    await learn(store)
    if write[0] != "HSET":
        await client.execute_command("DEL", KEY)
    await client.execute_command(*write)

    assert await found(store) is None
    assert await found(store) is None
    assert await store.entries(tenant="acme") == []
    assert await store.versions(tenant="acme", content_key=SEND) == []
    await store.record(recording(used=1, lookup=Lookup(hit=True), status=Status.UNMET))
    await learn(store, name="Send now", run="run-2")

    assert (await found(store) or entry()).name == "Send now"
    assert [(record.name, record.levelno) for record in caplog.records] == [("replaywright.cache", logging.WARNING)]
    assert KEY in caplog.text


async def test_a_damaged_active_version_does_not_hide_the_runs_own_candidate(
    store: RedisStepStore, client: Client
) -> None:
    await learn(store)
    await store.record(recording(entry(name="Send now"), run="run-2"))
    await client.execute_command("HSET", KEY, "1:json", "{")

    assert (await found(store, "run-2") or entry()).name == "Send now"


async def test_a_damaged_entry_can_be_invalidated(store: RedisStepStore, client: Client) -> None:
    await learn(store)
    await client.execute_command("SET", KEY, "x")

    assert await store.invalidate(tenant="acme", content_key="a1", reason="damaged") == 1

    assert await client.execute_command("EXISTS", KEY) == 0


async def test_damaged_trace_and_index_are_reported_and_left_alone(
    store: RedisStepStore, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    await client.execute_command("SET", trace_key(**PAGE), "x")
    await client.execute_command("SET", index_key("acme"), "x")

    await store.record(recording(entry()))
    await store.append_trace(**PAGE, line={"kind": "note"})

    assert await store.trace(**PAGE) == []
    assert await store.entries(tenant="acme") == []
    assert await found(store) is not None
    assert await client.execute_command("GET", trace_key(**PAGE)) == b"x"
    assert len(caplog.records) == 2


async def test_damaged_trace_lines_are_left_out(
    store: RedisStepStore, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    await client.execute_command("RPUSH", trace_key(**PAGE), "{", "[]", b"\xff")
    await store.append_trace(**PAGE, line={"kind": "note"})

    assert [line["kind"] for line in await store.trace(**PAGE)] == ["note"]
    assert trace_key(**PAGE) in caplog.text


async def test_values_over_their_limit_are_refused_before_anything_is_written(
    store: RedisStepStore, client: Client, sent: list[object]
) -> None:
    large = recording().outcome.model_copy(update={"extracted": {"text": "x" * 8192}})
    with pytest.raises(ValueTooLarge, match=r"outcome has \d+ bytes, the limit is 8192"):
        await store.record(recording().model_copy(update={"outcome": large}))
    with pytest.raises(ValueTooLarge, match="cache entry of 'the Send button'"):
        await store.record(recording(entry(name="ü" * 33_000)))
    with pytest.raises(ValueTooLarge, match="line of the trace"):
        await store.append_trace(**PAGE, line={"text": "x" * 65_536})

    assert await client.execute_command("DBSIZE") == 0
    assert len(sent) == 0


async def test_a_done_step_without_a_fingerprint_is_refused(store: RedisStepStore) -> None:
    nameless = recording().outcome.model_copy(update={"fingerprint": ""})

    with pytest.raises(ValueError, match="without a fingerprint"):
        await store.record(recording().model_copy(update={"outcome": nameless}))


async def test_names_with_braces_and_colons_work(store: RedisStepStore, client: Client) -> None:
    names: dict[str, Any] = {"tenant": "a}{b:c", "lineage": "ü/}:ledger:x", "fingerprint": "}"}
    await store.intend(Intent(**names, epoch=1, attempt="a"))

    assert (await store.look_up(**names, run_id="r", content_key="")).state == "INTENT"
    assert await client.execute_command("EXISTS", ledger_key(**names)) == 1
