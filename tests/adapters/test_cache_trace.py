"""The chain of a trace on the real server: whoever writes, whatever gets lost on the way."""

import asyncio
import hashlib
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cache.connection import Client, open_redis
from cache.keys import trace_key
from cache.scripts import APPEND
from cache.steps import RedisStepStore
from replaywright.domain.step.outcomes import Status, StepOutcome
from replaywright.domain.trace.audit import audit
from replaywright.domain.trace.trace import chained, content_digest, origin
from replaywright.domain.trace.trace_file import written
from replaywright.ports.ledger import Recording

PAGE = {"tenant": "acme", "lineage": "order-7"}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@pytest.fixture
def store(client: Client) -> RedisStepStore:
    return RedisStepStore(client)


async def stored(store: RedisStepStore) -> list[dict[str, Any]]:
    return [json.loads(text) for text in await store.stored_trace(**PAGE)]


def is_chained(lines: list[dict[str, Any]]) -> bool:
    """Whether each line is what `chained` makes of it after the one before."""
    prev = origin(**PAGE)
    for position, line in enumerate(lines):
        if line != chained(line, prev=prev, position=position, at=line["at"]):
            return False
        prev = line["chain"]["hash"]
    return True


async def test_the_servers_sha256_is_that_of_the_standard(client: Client) -> None:
    source = APPEND.source.partition("-- KEYS: a trace")[0] + "return sha256(ARGV[1])"
    for length in (0, 1, 55, 56, 63, 64, 119, 120, 1000):
        text = bytes(range(256)) * 4
        found = await client.execute_command("EVAL", source, 0, text[:length])
        assert found.decode() == hashlib.sha256(text[:length]).hexdigest()


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.dictionaries(st.text(), JSON))
async def test_what_is_read_has_the_digest_that_was_written(
    client: Client, store: RedisStepStore, content: dict[str, Any]
) -> None:
    await client.execute_command("DEL", trace_key(**PAGE))
    for _ in range(2):
        await store.append_trace(**PAGE, line={**content, "kind": "note"})

    lines = await stored(store)

    assert [line["chain"]["digest"] for line in lines] == [content_digest(line) for line in lines]
    assert is_chained(lines)


async def test_two_writers_make_one_chain(redis_url: str, store: RedisStepStore) -> None:
    other = open_redis(redis_url)
    writers = [store, RedisStepStore(other)]

    async def write(writer: RedisStepStore, who: int) -> None:
        for number in range(40):
            await writer.append_trace(**PAGE, line={"kind": "note", "who": who, "number": number})

    await asyncio.gather(*(write(writer, who) for who, writer in enumerate(writers)))

    lines = await stored(store)
    await other.aclose()
    assert is_chained(lines)
    assert sorted((line["who"], line["number"]) for line in lines) == [(w, n) for w in range(2) for n in range(40)]


async def test_a_line_that_is_sent_again_after_a_lost_reply_stands_once(client: Client, store: RedisStepStore) -> None:
    await store.append_trace(**PAGE, line={"kind": "first"})
    text = json.dumps({"id": "again", "kind": "second"})
    command = ("EVALSHA", APPEND.digest, 1, trace_key(**PAGE), '"id": "again"', text)
    digest = content_digest(json.loads(text))
    for _ in range(2):
        await client.execute_command(*command, digest, origin(**PAGE))
        await store.append_trace(**PAGE, line={"kind": "between"})

    lines = await stored(store)

    assert [line["kind"] for line in lines] == ["first", "second", "between", "between"]
    assert is_chained(lines)


async def test_after_a_line_of_an_earlier_version_the_chain_begins_anew(client: Client, store: RedisStepStore) -> None:
    await client.execute_command("RPUSH", trace_key(**PAGE), '{"at":1.5,"id":"a","kind":"step"}', "{")

    for _ in range(2):
        await store.append_trace(**PAGE, line={"kind": "note"})

    third, fourth = (json.loads(text)["chain"] for text in (await store.stored_trace(**PAGE))[2:])
    assert (third["position"], third["prev"]) == (2, "")
    assert (fourth["position"], fourth["prev"]) == (3, third["hash"])


@pytest.mark.parametrize(
    ("commands", "line", "what"),
    [
        ([("LSET", 2, b'{"at":1,"kind":"note"}')], 4, "altered: its link"),
        ([("LSET", 2, b"{")], 4, "damaged"),
        ([("LREM", 2)], 4, "missing: 1 line before it"),
        ([("LSET", 1, 3), ("LSET", 3, 1)], 3, "out of order"),
        ([("RPUSH", 1)], 7, "inserted"),
        ([("LSET", 1, 2)], 3, "missing: 1 line before it"),
    ],
    ids=["replaced", "damaged", "removed", "exchanged", "repeated", "overwritten"],
)
async def test_what_is_done_to_the_list_shows_in_the_export(
    client: Client, store: RedisStepStore, commands: list[tuple[Any, ...]], line: int, what: str
) -> None:
    for number in range(5):
        await store.append_trace(**PAGE, line={"kind": "note", "number": number})
    before, key = await store.stored_trace(**PAGE), trace_key(**PAGE)

    for name, *places in commands:
        match name, places:
            case "LSET", [at, given]:
                text = given if isinstance(given, bytes) else before[given]
                await client.execute_command("LSET", key, at, text)
            case "LREM", [at]:
                await client.execute_command("LREM", key, 1, before[at])
            case "RPUSH", [at]:
                await client.execute_command("RPUSH", key, before[at])

    text, _ = written(await store.stored_trace(**PAGE), (), run="order-7", **PAGE, written_by="test")
    found = audit(text).findings[0]
    assert found.line == line
    assert what in found.what


async def test_the_chain_costs_a_step_no_round_trip(store: RedisStepStore, sent: list[object]) -> None:
    outcome = StepOutcome(status=Status.DONE, fingerprint="f" * 64)
    recording = Recording(run_id="r", tenant="acme", lineage="order-7", sequence=0, epoch=1, outcome=outcome)
    await store.record(recording)  # loads the scripts
    sent.clear()
    await store.record(recording)

    assert len(sent) == 1
    assert is_chained(await stored(store))
