"""The ledger's state machine on the real server."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from cache.connection import Client
from cache.keys import ledger_key
from cache.steps import RedisStepStore
from replaywright.domain.step.outcomes import Status, StepOutcome
from replaywright.errors import Fenced
from replaywright.ports.ledger import Intent, Known, Recording

STEP: dict[str, Any] = {"tenant": "acme", "lineage": "order-7", "fingerprint": "f" * 64}
KEY = ledger_key(**STEP)
DAYS_90 = 90 * 24 * 3600


@pytest.fixture
def store(client: Client) -> RedisStepStore:
    return RedisStepStore(client)


def done(message: str = "sent", *, epoch: int, fingerprint: str = STEP["fingerprint"]) -> Recording:
    outcome = StepOutcome(status=Status.DONE, message=message, fingerprint=fingerprint)
    return Recording(run_id="run", lineage="order-7", tenant="acme", sequence=1, epoch=epoch, outcome=outcome)


async def known(store: RedisStepStore) -> Known:
    return await store.look_up(**STEP, run_id="run", content_key="")


async def field(client: Client, name: str) -> bytes | None:
    value: bytes | None = await client.execute_command("HGET", KEY, name)
    return value


EPOCHS = {"": 0, "INTENT": 1, "DISPATCHED": 1, "COMMITTED": 1, "RESOLVING": 2, "NOT_DONE": 2, "ESCALATED": 2}
EPOCHS["ABANDONED"] = 2


async def reach(store: RedisStepStore, state: str) -> int:
    """Bring the step there as the protocol does; returns the epoch."""
    if state:
        await store.intend(Intent(**STEP, epoch=1, attempt="first"))
    if state in {"DISPATCHED", "COMMITTED"}:
        await store.dispatch(**STEP, epoch=1, attempt="first")
    if state == "COMMITTED":
        await store.record(done(epoch=1))
    if EPOCHS[state] == 2:
        await store.fence(**STEP, epoch=2)
    if state == "ABANDONED":
        await store.settle(**STEP, epoch=2, state="ESCALATED", who="probe")
    if state in {"NOT_DONE", "ESCALATED", "ABANDONED"}:
        await store.settle(**STEP, epoch=2, state=state, who="probe")
    assert ((found := await known(store)).state, found.epoch) == (state, EPOCHS[state])
    return EPOCHS[state]


Operation = Callable[[RedisStepStore, int], Awaitable[object]]
OPERATIONS: dict[str, tuple[Operation, int, dict[str, str]]] = {
    # name: what is called with the stored epoch, the epoch's change, and where it leads from each state that allows it
    "intend at the same epoch": (
        lambda store, epoch: store.intend(Intent(**STEP, epoch=epoch, attempt="second")),
        0,
        {"COMMITTED": "COMMITTED"},
    ),
    "intend at the next epoch": (
        lambda store, epoch: store.intend(Intent(**STEP, epoch=epoch + 1, attempt="second")),
        1,
        {"": "INTENT", "NOT_DONE": "INTENT", "COMMITTED": "COMMITTED"},
    ),
    "dispatch by the first attempt": (
        lambda store, epoch: store.dispatch(**STEP, epoch=1, attempt="first"),
        0,
        {"INTENT": "DISPATCHED", "DISPATCHED": "DISPATCHED"},
    ),
    "dispatch by another attempt": (
        lambda store, epoch: store.dispatch(**STEP, epoch=epoch, attempt="second"),
        0,
        {},
    ),
    "dispatch at the next epoch": (
        lambda store, epoch: store.dispatch(**STEP, epoch=epoch + 1, attempt="first"),
        1,
        {},
    ),
    "record at the same epoch": (
        lambda store, epoch: store.record(done(epoch=epoch)),
        0,
        dict.fromkeys(("", "INTENT", "DISPATCHED", "COMMITTED", "RESOLVING", "ESCALATED"), "COMMITTED"),
    ),
    "record at the next epoch": (
        lambda store, epoch: store.record(done(epoch=epoch + 1)),
        1,
        dict.fromkeys(("", "NOT_DONE", "COMMITTED"), "COMMITTED"),
    ),
    "fence at the same epoch": (
        lambda store, epoch: store.fence(**STEP, epoch=epoch),
        0,
        dict.fromkeys(("", "RESOLVING", "NOT_DONE", "ESCALATED"), "RESOLVING") | {"COMMITTED": "COMMITTED"},
    ),
    "fence at the next epoch": (
        lambda store, epoch: store.fence(**STEP, epoch=epoch + 1),
        1,
        dict.fromkeys(EPOCHS, "RESOLVING") | {"COMMITTED": "COMMITTED"},
    ),
    "fence at an epoch before": (
        lambda store, epoch: store.fence(**STEP, epoch=epoch - 1),
        -1,
        {"COMMITTED": "COMMITTED"},
    ),
    "settle as done": (
        lambda store, epoch: store.settle(**STEP, epoch=epoch, state="COMMITTED", who="ana"),
        0,
        dict.fromkeys(("RESOLVING", "ESCALATED", "COMMITTED"), "COMMITTED"),
    ),
    "settle as not done": (
        lambda store, epoch: store.settle(**STEP, epoch=epoch, state="NOT_DONE", who="ana"),
        0,
        dict.fromkeys(("RESOLVING", "ESCALATED", "NOT_DONE"), "NOT_DONE"),
    ),
    "settle as undecided": (
        lambda store, epoch: store.settle(**STEP, epoch=epoch, state="ESCALATED", who="ana"),
        0,
        dict.fromkeys(("RESOLVING", "ESCALATED"), "ESCALATED"),
    ),
    "settle as abandoned": (
        lambda store, epoch: store.settle(**STEP, epoch=epoch, state="ABANDONED", who="ana"),
        0,
        dict.fromkeys(("ESCALATED", "ABANDONED"), "ABANDONED"),
    ),
    "settle at an epoch before": (
        lambda store, epoch: store.settle(**STEP, epoch=epoch - 1, state="NOT_DONE", who="ana"),
        -1,
        {},
    ),
}


@pytest.mark.parametrize("state", EPOCHS)
@pytest.mark.parametrize("name", OPERATIONS)
async def test_every_operation_in_every_state_leads_where_the_protocol_says(
    store: RedisStepStore, name: str, state: str
) -> None:
    operation, change, allowed = OPERATIONS[name]
    epoch = await reach(store, state)
    if epoch + change < 0:
        return

    if state in allowed:
        await operation(store, epoch)
    else:
        with pytest.raises(Fenced):
            await operation(store, epoch)

    after = await known(store)
    assert after.state == allowed.get(state, state)
    moved = state in allowed and state != "COMMITTED"
    assert after.epoch == (epoch + change if moved and not name.startswith("dispatch") else epoch)
    assert after.outcome is None or after.state == "COMMITTED"


@pytest.mark.parametrize("state", [state for state in EPOCHS if state])
async def test_a_success_reported_from_an_epoch_before_is_refused_and_kept(store: RedisStepStore, state: str) -> None:
    epoch = await reach(store, state)

    with pytest.raises(Fenced, match=f"epoch {epoch}"):
        await store.record(done("out of time", epoch=epoch - 1))

    after = await known(store)
    assert (after.state, after.epoch) == (state, epoch)
    assert after.late is not None
    assert after.late.message == "out of time"


async def test_an_intent_whose_reply_was_lost_is_granted_again(store: RedisStepStore) -> None:
    first = await store.intend(Intent(**STEP, epoch=1, attempt="a"))
    again = await store.intend(Intent(**STEP, epoch=1, attempt="a"))

    assert first == again == Known(state="INTENT", epoch=1)
    with pytest.raises(Fenced, match="another attempt's intent is open"):
        await store.intend(Intent(**STEP, epoch=1, attempt="b"))
    with pytest.raises(Fenced, match="another attempt's intent is open"):
        await store.intend(Intent(**STEP, epoch=2, attempt="a"))


async def test_an_intent_on_a_step_that_is_done_returns_its_outcome(store: RedisStepStore) -> None:
    await reach(store, "COMMITTED")

    found = await store.intend(Intent(**STEP, epoch=9, attempt="b"))

    assert found.state == "COMMITTED"
    assert found.outcome == done(epoch=1).outcome


async def test_of_many_attempts_at_once_one_gets_the_intent(store: RedisStepStore) -> None:
    attempts = [store.intend(Intent(**STEP, epoch=1, attempt=f"a{number}")) for number in range(20)]

    results = await asyncio.gather(*attempts, return_exceptions=True)

    assert sum(isinstance(result, Known) for result in results) == 1
    assert sum(isinstance(result, Fenced) for result in results) == 19


async def test_an_intent_that_has_become_too_old_is_not_dispatched(client: Client) -> None:
    store = RedisStepStore(client, dispatch_within_s=-1)
    await store.intend(Intent(**STEP, epoch=1, attempt="a"))

    with pytest.raises(Fenced, match="too old"):
        await store.dispatch(**STEP, epoch=1, attempt="a")

    assert (await known(store)).state == "INTENT"


async def test_a_permit_whose_reply_was_lost_is_granted_again_even_late(client: Client, store: RedisStepStore) -> None:
    await store.intend(Intent(**STEP, epoch=1, attempt="a"))
    await store.dispatch(**STEP, epoch=1, attempt="a")
    await client.execute_command("HSET", KEY, "dispatch_by", "1.0")

    await store.dispatch(**STEP, epoch=1, attempt="a")

    assert (await known(store)).state == "DISPATCHED"


async def test_a_fence_returns_the_record_as_it_was_also_when_repeated(store: RedisStepStore) -> None:
    await reach(store, "DISPATCHED")

    first = await store.fence(**STEP, epoch=2)
    again = await store.fence(**STEP, epoch=2)
    next_one = await store.fence(**STEP, epoch=3)

    assert first == again == Known(state="DISPATCHED", epoch=1)
    assert next_one == first  # the attempt in doubt is still the same


@pytest.mark.parametrize("held", [(), (0, 2), None])
async def test_an_intent_says_which_expectations_held_before_it(
    store: RedisStepStore, held: tuple[int, ...] | None
) -> None:
    await store.intend(Intent(**STEP, epoch=1, attempt="first", held=held))

    assert (await known(store)).held == held
    assert (await store.fence(**STEP, epoch=2)).held == held
    await store.settle(**STEP, epoch=2, state="ESCALATED", who="probe")
    assert await store.fence(**STEP, epoch=3) == Known(state="INTENT", epoch=1, held=held)


async def test_a_fence_before_anything_was_written_keeps_older_attempts_out(store: RedisStepStore) -> None:
    assert await store.fence(**STEP, epoch=2) == Known()
    assert await store.fence(**STEP, epoch=2) == Known()

    with pytest.raises(Fenced):
        await store.intend(Intent(**STEP, epoch=1, attempt="zombie"))


async def test_late_success_is_shown_to_the_resolver_and_settles_with_its_outcome(store: RedisStepStore) -> None:
    await reach(store, "RESOLVING")
    with pytest.raises(Fenced):
        await store.record(done("it went out", epoch=1))

    before = await store.fence(**STEP, epoch=2)
    await store.settle(**STEP, epoch=2, state="COMMITTED", who="late evidence")

    assert before.late is not None
    after = await known(store)
    assert after.outcome is not None
    assert after.outcome.message == "it went out"


async def test_late_success_after_the_verdict_forbids_the_next_dispatch_until_it_is_resolved(
    store: RedisStepStore, client: Client
) -> None:
    await reach(store, "NOT_DONE")
    with pytest.raises(Fenced):
        await store.record(done("it went out after all", epoch=1))

    with pytest.raises(Fenced, match="reported success since"):
        await store.intend(Intent(**STEP, epoch=3, attempt="next"))

    assert (await store.fence(**STEP, epoch=3)).late is not None
    await store.settle(**STEP, epoch=3, state="NOT_DONE", who="ana looked again")
    assert (await store.intend(Intent(**STEP, epoch=4, attempt="next"))).state == "INTENT"
    assert b"after all" in (await field(client, "overruled") or b"")


async def test_late_success_between_fence_and_verdict_is_not_overruled_by_it(store: RedisStepStore) -> None:
    await reach(store, "RESOLVING")
    with pytest.raises(Fenced):
        await store.record(done("during the settling time", epoch=1))

    await store.settle(**STEP, epoch=2, state="NOT_DONE", who="probe")

    with pytest.raises(Fenced, match="reported success since"):
        await store.intend(Intent(**STEP, epoch=3, attempt="next"))


async def test_committed_stays_with_its_first_outcome(store: RedisStepStore) -> None:
    await reach(store, "COMMITTED")

    await store.record(done("second", epoch=5))

    after = await known(store)
    assert after.epoch == 1
    assert after.outcome == done(epoch=1).outcome
    assert after.late is not None
    assert after.late.message == "second"


async def test_a_step_that_a_person_settled_takes_an_outcome_later(store: RedisStepStore, client: Client) -> None:
    await reach(store, "ESCALATED")
    await store.settle(**STEP, epoch=2, state="COMMITTED", who="ana: saw it in Sent")
    assert await known(store) == Known(state="COMMITTED", epoch=2)

    await store.record(done(epoch=2))

    assert (await known(store)).outcome == done(epoch=2).outcome
    assert (await field(client, "settled:2:COMMITTED") or b"").startswith(b"ana: saw it in Sent at 1")


async def test_a_verdict_needs_a_name_and_a_known_state(store: RedisStepStore) -> None:
    await reach(store, "RESOLVING")

    with pytest.raises(ValueError, match="needs a name"):
        await store.settle(**STEP, epoch=2, state="COMMITTED", who="")
    with pytest.raises(ValueError, match="'INTENT'"):
        await store.settle(**STEP, epoch=2, state="INTENT", who="ana")


@pytest.mark.parametrize("state", [state for state in EPOCHS if state])
async def test_finished_records_live_90_days_and_open_ones_for_ever(
    store: RedisStepStore, client: Client, state: str
) -> None:
    await reach(store, state)

    ttl = await client.execute_command("TTL", KEY)

    assert ttl in ({DAYS_90, DAYS_90 - 1} if state in {"COMMITTED", "ABANDONED"} else {-1})


async def test_an_abandoned_record_that_is_opened_again_lives_for_ever(store: RedisStepStore, client: Client) -> None:
    await reach(store, "ABANDONED")

    await store.fence(**STEP, epoch=3)

    assert await client.execute_command("TTL", KEY) == -1


@pytest.mark.parametrize(
    "write",
    [
        ("SET", KEY, "x"),
        ("RPUSH", KEY, "x"),
        ("HSET", KEY, "unknown", "field"),
        ("HSET", KEY, "v", "2", "state", "COMMITTED", "epoch", "1"),
        ("HSET", KEY, "v", "1", "state", "FINISHED", "epoch", "1"),
        ("HSET", KEY, "v", "1", "state", "NOT_DONE", "epoch", "nan"),
        ("HSET", KEY, "v", "1", "state", "NOT_DONE", "epoch", "-1"),
        ("HSET", KEY, "v", "1", "state", "NOT_DONE"),
        ("HSET", KEY, "v", b"\xff", "state", b"\xff", "epoch", b"\xff"),
    ],
)
async def test_a_damaged_record_is_reported_and_never_acted_on_nor_overwritten(
    store: RedisStepStore, client: Client, caplog: pytest.LogCaptureFixture, write: tuple[str, ...]
) -> None:
    await client.execute_command(*write)
    before = await client.execute_command("DUMP", KEY)

    assert (await known(store)).state == "DAMAGED"
    assert (await store.fence(**STEP, epoch=5)).state == "DAMAGED"
    with pytest.raises(Fenced, match="is damaged"):
        await store.intend(Intent(**STEP, epoch=5, attempt="a"))
    with pytest.raises(Fenced, match="is damaged"):
        await store.dispatch(**STEP, epoch=5, attempt="a")
    with pytest.raises(Fenced, match="is damaged"):
        await store.record(done(epoch=5))
    with pytest.raises(Fenced, match="is damaged"):
        await store.settle(**STEP, epoch=5, state="NOT_DONE", who="ana")

    assert await client.execute_command("DUMP", KEY) == before
    assert [record.name for record in caplog.records] == ["replaywright.cache"]
    assert KEY in caplog.text


@pytest.mark.parametrize("outcome", [b"{", b"null", b'{"status": "perhaps"}', b"\xff\xfe", b"[]"])
async def test_a_done_step_whose_outcome_is_damaged_counts_as_damaged(
    store: RedisStepStore, client: Client, outcome: bytes
) -> None:
    await reach(store, "COMMITTED")
    await client.execute_command("HSET", KEY, "outcome", outcome)

    assert (await known(store)).state == "DAMAGED"
    assert (await store.fence(**STEP, epoch=5)).state == "DAMAGED"
    with pytest.raises(Fenced, match="is damaged"):
        await store.intend(Intent(**STEP, epoch=5, attempt="a"))
