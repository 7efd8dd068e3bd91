"""The watch on the store: commit steps only while it is fit for them, and told once a minute what is wrong."""

import logging
import time
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cache.connection import Client, open_redis
from cache.steps import RedisStepStore
from cache.watch import StoreWatch
from replaywright.errors import StoreUnavailable
from replaywright.ports.ledger import Intent
from replaywright.stack.processes import free_port
from replaywright.stack.redis import RedisServer, provide_redis, start_redis
from tests.raw_redis import ask_redis

STEP: dict[str, Any] = {"tenant": "acme", "lineage": "order-7", "fingerprint": "f" * 64}


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[RedisServer]:
    server = await start_redis(provide_redis().path, folder=tmp_path / "data", log=tmp_path / "redis.log")
    yield server
    await server.child.stop()


@pytest.fixture
async def client(server: RedisServer) -> AsyncIterator[Client]:
    client = open_redis(server.url)
    yield client
    await client.aclose()


async def test_with_a_store_that_evicts_no_intent_is_written_until_it_is_mended(
    server: RedisServer, client: Client
) -> None:
    watch = StoreWatch(client)
    store = RedisStepStore(client, watch=watch)
    await ask_redis(server.url, ("CONFIG", "SET", "maxmemory-policy", "allkeys-lru"))
    await watch.look()

    with pytest.raises(StoreUnavailable, match=r"allkeys-lru.*set `maxmemory-policy noeviction`"):
        await store.intend(Intent(**STEP, epoch=1, attempt="a"))
    nothing = await store.look_up(**STEP, run_id="run", content_key="")
    await ask_redis(server.url, ("CONFIG", "SET", "maxmemory-policy", "noeviction"))
    await watch.look()

    assert nothing.state == ""
    assert (await store.intend(Intent(**STEP, epoch=1, attempt="a"))).state == "INTENT"


async def test_a_server_that_goes_away_does_not_make_an_evicting_one_fit(server: RedisServer, client: Client) -> None:
    watch = StoreWatch(client)
    await ask_redis(server.url, ("CONFIG", "SET", "maxmemory-policy", "allkeys-lru"))
    await watch.look()
    await server.child.stop()

    report = await watch.look()

    assert [finding.code for finding in report.findings] == ["unreachable"]
    assert "allkeys-lru" in watch.refusal


async def test_a_server_that_is_down_when_a_worker_starts_is_told_once_a_minute_and_when_it_is_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = free_port()
    client = open_redis(f"redis://127.0.0.1:{port}/0")
    watch = StoreWatch(client)
    now = time.monotonic()
    with caplog.at_level(logging.INFO, "replaywright.cache"):
        for seconds in (0, 15, 30, 45, 61):
            monkeypatch.setattr("cache.watch.time", SimpleNamespace(monotonic=lambda later=now + seconds: later))
            await watch.look()
        told = [record.getMessage() for record in caplog.records]
        server = await start_redis(
            provide_redis().path, folder=tmp_path / "data", log=tmp_path / "redis.log", port=port
        )
        await watch.look()
    await client.aclose()
    await server.child.stop()

    assert len(told) == 2
    assert f"127.0.0.1:{port}" in told[0]
    assert "see whether it runs" in told[0]
    assert caplog.records[-1].getMessage().endswith("is as it should be again")
