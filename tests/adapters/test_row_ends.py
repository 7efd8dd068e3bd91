"""How rows ended is kept for each batch of each tenant, by the fake as by Redis."""

from collections.abc import AsyncIterator

import pytest

from cache.connection import open_redis
from cache.keys import row_ends_key
from cache.row_ends import RedisRowEnds
from replaywright.domain.batch.batches import RowEnd
from replaywright.errors import StoreUnavailable
from replaywright.ports.stores import RowEnds
from replaywright.testing.batches import FakeRowEnds


@pytest.fixture(params=["fake", "redis"])
async def ends(request: pytest.FixtureRequest, redis_url: str) -> AsyncIterator[RowEnds]:
    if request.param == "fake":
        yield FakeRowEnds()
        return
    client = open_redis(redis_url)
    yield RedisRowEnds(client)
    await client.aclose()


def end(number: int, **fields: object) -> RowEnd:
    return RowEnd.model_validate({"number": number, "status": "done", "run_id": f"r{number}", **fields})


async def test_what_was_noted_is_found_by_its_number(ends: RowEnds) -> None:
    kept = [end(1), end(999), end(1_000, status="failed", reason="x"), end(25_000)]

    await ends.note("acme", "b", kept)
    found = await ends.ends("acme", "b", [1, 2, 999, 1_000, 25_000])

    assert found == {each.number: each for each in kept}


async def test_a_row_that_was_tried_again_has_its_last_end(ends: RowEnds) -> None:
    await ends.note("acme", "b", [end(7, status="failed")])
    await ends.note("acme", "b", [end(7, run_id="r7~2")])

    assert (await ends.ends("acme", "b", [7]))[7].run_id == "r7~2"


async def test_batches_and_tenants_do_not_meet(ends: RowEnds) -> None:
    await ends.note("acme", "b", [end(1)])

    assert await ends.ends("acme", "b/x", [1]) == {}
    assert await ends.ends("beta", "b", [1]) == {}


async def test_what_cannot_be_read_counts_as_unknown(redis_url: str) -> None:
    client = open_redis(redis_url)
    await client.execute_command("HSET", row_ends_key("acme", "b", 0), "1", "{}", "2", "junk")

    assert await RedisRowEnds(client).ends("acme", "b", [1, 2]) == {}
    await client.aclose()


async def test_a_store_that_is_away_is_said_to_be() -> None:
    client = open_redis("redis://127.0.0.1:1")

    with pytest.raises(StoreUnavailable):
        await RedisRowEnds(client).note("acme", "b", [end(1)])
    await client.aclose()
