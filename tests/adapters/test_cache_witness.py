"""Whether a server has lost anything since: told by the server itself, and never taken for granted."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from cache.connection import open_redis
from cache.steps import RedisStepStore
from replaywright.domain.step.outcomes import Status, StepOutcome
from replaywright.ports.ledger import Intent, Recording
from replaywright.stack.processes import free_port
from replaywright.stack.redis import provide_redis, start_redis
from tests.raw_redis import ask_redis

SCOPE: dict[str, Any] = {"tenant": "acme", "lineage": "order-7"}


@asynccontextmanager
async def store_at(url: str) -> AsyncIterator[RedisStepStore]:
    client = open_redis(url)
    yield RedisStepStore(client)
    await client.aclose()


def recording(sequence: int = 3, *, witnessed: bool = True) -> Recording:
    outcome = StepOutcome(status=Status.DONE, fingerprint=f"{sequence:064x}")
    fields = {**SCOPE, "run_id": "r1", "sequence": sequence, "epoch": 1, "outcome": outcome, "witnessed": witnessed}
    return Recording.model_validate(fields)


async def test_a_server_that_has_lost_nothing_says_so_however_much_came_since(redis_url: str) -> None:
    async with store_at(redis_url) as store:
        witness = (await store.record(recording())).witness
        await store.record(recording(4))
        await store.intend(Intent(**SCOPE, fingerprint="f", epoch=2, attempt="a"))

        assert witness
        assert await store.is_whole(**SCOPE, witness=witness)


async def test_only_what_is_to_be_witnessed_is_and_nothing_is_no_witness(redis_url: str) -> None:
    async with store_at(redis_url) as store:
        assert (await store.record(recording(witnessed=False))).witness == ""
        assert not await store.is_whole(**SCOPE, witness="")


async def test_lines_of_a_trace_are_witnessed_too(redis_url: str) -> None:
    async with store_at(redis_url) as store:
        lines = [{"sequence": 0}, {"sequence": 1}]
        assert await store.append_lines(**SCOPE, lines=lines) == ""
        witness = await store.append_lines(**SCOPE, lines=lines, witnessed=True)
        whole = await store.is_whole(**SCOPE, witness=witness)
        await ask_redis(redis_url, ("FLUSHALL",))

        assert whole
        assert not await store.is_whole(**SCOPE, witness=witness)


async def test_a_server_that_was_emptied_is_not_whole_even_with_new_lines_in_it(redis_url: str) -> None:
    async with store_at(redis_url) as store:
        witness = (await store.record(recording())).witness
        await ask_redis(redis_url, ("FLUSHALL",))
        emptied = await store.is_whole(**SCOPE, witness=witness)
        await store.record(recording())

        assert not emptied
        assert not await store.is_whole(**SCOPE, witness=witness)


async def test_a_server_that_was_restarted_is_another_one_even_with_all_its_data(tmp_path: Path) -> None:
    async def started() -> Any:
        return await start_redis(provide_redis().path, folder=tmp_path / "data", log=tmp_path / "redis.log")

    server = await started()
    async with store_at(server.url) as store:
        witness = (await store.record(recording())).witness
    await server.child.stop()
    again = await started()
    async with store_at(again.url) as store:
        lines = await store.trace(**SCOPE)
        is_whole = await store.is_whole(**SCOPE, witness=witness)
    await again.child.stop()

    assert witness
    assert len(lines) == 1
    assert not is_whole


async def test_a_replica_that_took_over_is_another_one_and_so_is_who_followed(redis_url: str, tmp_path: Path) -> None:
    log, own_port = tmp_path / "redis.log", free_port()
    other = await start_redis(provide_redis().path, folder=tmp_path / "data", log=log, port=own_port)
    port, other_port = (url.rpartition(":")[2].partition("/")[0] for url in (redis_url, other.url))
    async with store_at(redis_url) as store, store_at(other.url) as successor:
        witness = (await store.record(recording())).witness
        await ask_redis(redis_url, ("CONFIG", "SET", "repl-diskless-sync-delay", "0"))
        await ask_redis(other.url, ("REPLICAOF", "127.0.0.1", port))
        await ask_redis(redis_url, ("SET", "there", "yes"), ("WAIT", "1", "2500"))
        assert await successor.trace(**SCOPE)
        following = await successor.is_whole(**SCOPE, witness=witness)
        await ask_redis(other.url, ("REPLICAOF", "NO", "ONE"))
        promoted = await successor.is_whole(**SCOPE, witness=witness)
        await ask_redis(redis_url, ("REPLICAOF", "127.0.0.1", other_port))
        await ask_redis(redis_url, ("REPLICAOF", "NO", "ONE"))
        back = await store.is_whole(**SCOPE, witness=witness)
    await other.child.stop()

    assert (following, promoted, back) == (False, False, False)
