"""A store that is slow, cut off in between, or back at an earlier state: late or refused, never wrong."""

import asyncio
from typing import Any

import pytest

from cache.connection import open_redis
from cache.keys import ledger_key
from cache.steps import RedisStepStore
from replaywright.errors import Fenced, StoreUnavailable
from replaywright.ports.ledger import Intent
from tests.adapters.between import Between
from tests.raw_redis import ask_redis

STEP: dict[str, Any] = {"tenant": "acme", "lineage": "order-7", "fingerprint": "f" * 64}
SLOW_S = 0.25
"""Each way: half a second for an answer."""


def port_of(url: str) -> int:
    return int(url.rpartition(":")[2].partition("/")[0])


async def test_a_store_that_takes_half_a_second_is_slower_and_as_right(redis_url: str) -> None:
    async with Between(port_of(redis_url), delay_s=SLOW_S) as between:
        client = open_redis(f"redis://127.0.0.1:{between.port}/0")
        store = RedisStepStore(client)
        intents = [store.intend(Intent(**STEP, epoch=1, attempt=name)) for name in ("a", "b")]

        answers = await asyncio.gather(*intents, return_exceptions=True)
        await store.dispatch(**STEP, epoch=1, attempt="a" if not isinstance(answers[0], Exception) else "b")

        await client.aclose()
    assert [isinstance(answer, Fenced) for answer in answers].count(True) == 1


async def test_a_store_that_is_cut_off_in_between_is_told_and_used_again(redis_url: str) -> None:
    async with Between(port_of(redis_url)) as between:
        client = open_redis(f"redis://127.0.0.1:{between.port}/0")
        store = RedisStepStore(client)
        await store.intend(Intent(**STEP, epoch=1, attempt="a"))
        between.cut()
        with pytest.raises(StoreUnavailable, match="see whether it runs"):
            await store.dispatch(**STEP, epoch=1, attempt="a")
        between.mend()

        await store.dispatch(**STEP, epoch=1, attempt="a")
        known = await store.look_up(**STEP, run_id="", content_key="")

        await client.aclose()
    assert known.state == "DISPATCHED"


async def test_a_store_that_fell_back_lets_no_older_attempt_go(redis_url: str) -> None:
    client = open_redis(redis_url)
    store = RedisStepStore(client)
    await store.intend(Intent(**STEP, epoch=1, attempt="a"))
    key = ledger_key(**STEP)
    before = await client.execute_command("DUMP", key)
    await store.fence(**STEP, epoch=2)
    await store.settle(**STEP, epoch=2, state="NOT_DONE", who="black box")
    await client.execute_command("RESTORE", key, 0, before, "REPLACE")

    fenced = await store.fence(**STEP, epoch=4)  # what the workflow counts does not fall back

    assert (fenced.state, fenced.epoch) == ("INTENT", 1)
    with pytest.raises(Fenced):
        await store.dispatch(**STEP, epoch=1, attempt="a")
    with pytest.raises(Fenced):
        await store.intend(Intent(**STEP, epoch=3, attempt="b"))
    await client.aclose()


async def test_without_its_record_nothing_is_dispatched(redis_url: str) -> None:
    client = open_redis(redis_url)
    store = RedisStepStore(client)
    await store.intend(Intent(**STEP, epoch=1, attempt="a"))
    await ask_redis(redis_url, ("FLUSHALL",))

    with pytest.raises(Fenced, match="no record"):
        await store.dispatch(**STEP, epoch=1, attempt="a")
    await client.aclose()
