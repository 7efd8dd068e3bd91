"""Faults of the connection and of the server, on servers of the tests' own."""

import asyncio
import contextlib
import os
import signal
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, Self

import pytest
from redis.exceptions import BusyLoadingError, ClusterDownError, MasterDownError, ReadOnlyError, RedisError

from cache.connection import Client, StoreReport, address_of, check_store, open_redis, ping, unavailable
from cache.steps import RedisStepStore
from replaywright.domain.skill.entries import ActionCacheEntry
from replaywright.domain.step.outcomes import Lookup, Status, StepOutcome
from replaywright.domain.task.actions import Action, Effect
from replaywright.errors import SettingsInvalid, StoreUnavailable
from replaywright.observing import observed_by
from replaywright.ports.ledger import Intent, Recording
from replaywright.settings import load_settings
from replaywright.stack.processes import free_port, start_child
from replaywright.stack.redis import RedisServer, provide_redis, start_redis
from tests.raw_redis import ask_redis
from tests.telemetry.told import Remembering
from worker import store_proof

STEP: dict[str, Any] = {"tenant": "acme", "lineage": "order-7", "fingerprint": "f" * 64}
PAGE: dict[str, Any] = {"tenant": "acme", "lineage": "order-7"}
SEND = "a" * 64


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[RedisServer]:
    """A server that a test may stop, freeze and misconfigure."""
    server = await start_redis(provide_redis().path, folder=tmp_path / "data", log=tmp_path / "redis.log")
    yield server
    await server.child.stop()


@contextlib.asynccontextmanager
async def connected(url: str, read_timeout_s: float = 1.0) -> AsyncIterator[Client]:
    client = open_redis(url, read_timeout_s=read_timeout_s)
    try:
        yield client
    finally:
        await client.aclose()


def recording() -> Recording:
    outcome = StepOutcome(
        status=Status.DONE,
        fingerprint=STEP["fingerprint"],
        content_key=SEND,
        lookup=Lookup(hit=True),
        effect=Effect.COMMIT,
    )
    entry = ActionCacheEntry(content_key=SEND, action_type=Action.CLICK, tag="button")
    fields = {"run_id": "run", "sequence": 1, "epoch": 1, "outcome": outcome, "entry": entry, "used_version": 1}
    return Recording.model_validate({**PAGE, **fields, "next_fingerprint": "e" * 64, "next_content_key": SEND})


async def test_a_stopped_server_is_reported_fast_and_used_again_when_it_is_back(tmp_path: Path) -> None:
    binary, log, port = provide_redis().path, tmp_path / "redis.log", free_port()
    server = await start_redis(binary, folder=tmp_path / "data", log=log, port=port)
    async with connected(server.url) as client:
        store = RedisStepStore(client)
        await store.intend(Intent(**STEP, epoch=1, attempt="a"))
        await server.child.stop()

        for call in (
            lambda: store.look_up(**STEP, run_id="run", content_key=SEND),
            lambda: store.record(recording()),
            lambda: store.trace(**PAGE),
        ):
            start = time.monotonic()
            with pytest.raises(
                StoreUnavailable, match=rf"Redis at 127\.0\.0\.1:{port}/0: .*; see whether it runs"
            ) as error:
                await call()
            assert time.monotonic() - start < 1
            assert error.value.__cause__ is not None

        again = await start_redis(binary, folder=tmp_path / "data", log=log, port=port)
        assert (await store.look_up(**STEP, run_id="run", content_key=SEND)).state == "INTENT"
        await store.record(recording())
        await again.child.stop()


async def test_round_trips_are_measured_by_what_they_are_for_and_those_that_fail_as_well(server: RedisServer) -> None:
    remembering = Remembering()

    async with connected(server.url) as client:
        store = RedisStepStore(client)
        with observed_by(remembering.metrics):
            await store.intend(Intent(**STEP, epoch=1, attempt="a"))
            await store.record(recording())
            await store.trace(**PAGE)
            await server.child.stop()
            with pytest.raises(StoreUnavailable):
                await store.look_up(**STEP, run_id="run", content_key="")

    told = {
        (dict(labels)["operation"], dict(labels)["result"])
        for name, labels in remembering.series
        if name == "replaywright.redis.duration"
    }
    assert told == {("intend", "ok"), ("record", "ok"), ("read", "ok"), ("read", "failed")}


async def test_a_frozen_server_is_reported_in_time_and_its_late_answer_is_not_taken_for_another(
    server: RedisServer,
) -> None:
    async with connected(server.url, read_timeout_s=0.2) as client:
        store = RedisStepStore(client)
        await store.intend(Intent(**STEP, epoch=1, attempt="a"))
        os.kill(server.child.pid, signal.SIGSTOP)
        try:
            start = time.monotonic()
            with pytest.raises(StoreUnavailable, match="does not answer in time"):
                await store.look_up(**STEP, run_id="run", content_key="")
            assert time.monotonic() - start < 1
        finally:
            os.kill(server.child.pid, signal.SIGCONT)

        assert await store.trace(**PAGE) == []
        assert (await store.look_up(**STEP, run_id="run", content_key="")).state == "INTENT"


async def test_nothing_is_written_twice_when_a_reply_is_lost(server: RedisServer) -> None:
    async with LosingReplies(server.url) as between, connected(between.url) as client:
        store = RedisStepStore(client)
        await store.record(recording())
        await store.promote(tenant="acme", run_id="run", content_keys=[SEND])
        for call in (
            lambda: store.record(recording()),
            lambda: store.append_trace(**PAGE, line={"kind": "note"}),
            lambda: store.intend(Intent(**{**STEP, "fingerprint": "e" * 64}, epoch=1, attempt="a")),
            lambda: store.dispatch(**{**STEP, "fingerprint": "e" * 64}, epoch=1, attempt="a"),
        ):
            between.lose = 1
            await call()
            assert between.lose == 0

        [promoted, candidate] = await store.versions(tenant="acme", content_key=SEND)
        assert (promoted.hits, candidate.hits) == (1, 0)
        assert [line["kind"] for line in await store.trace(**PAGE)] == ["step", "step", "note"]


class LosingReplies:
    """A connection to the server that breaks after a request was passed on and before its reply is."""

    def __init__(self, url: str) -> None:
        self._target = url.removeprefix("unix://")
        self.lose = 0
        """Replies still to be lost."""
        self.url = ""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._pass_on, "127.0.0.1", 0)
        self.url = f"redis://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/0"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        behind, ahead = await asyncio.open_unix_connection(self._target)

        async def forth() -> None:
            while data := await reader.read(65536):
                ahead.write(data)
            ahead.close()

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(forth())
            while data := await behind.read(65536):
                if self.lose:
                    self.lose -= 1
                    break
                writer.write(data)
            writer.close()
            ahead.close()


async def test_a_full_server_refuses_writes_and_still_answers(server: RedisServer) -> None:
    async with connected(server.url) as client:
        store = RedisStepStore(client)
        await store.intend(Intent(**STEP, epoch=1, attempt="a"))
        await ask_redis(server.url, ("CONFIG", "SET", "maxmemory", "1"))

        with pytest.raises(StoreUnavailable, match="raise `maxmemory`"):
            await store.intend(Intent(**{**STEP, "fingerprint": "e" * 64}, epoch=1, attempt="a"))
        with pytest.raises(StoreUnavailable, match="raise `maxmemory`"):
            await store.record(recording())

        assert (await store.look_up(**STEP, run_id="run", content_key=SEND)).state == "INTENT"


async def test_a_replica_refuses_writes(server: RedisServer) -> None:
    async with connected(server.url) as client:
        await ask_redis(server.url, ("REPLICAOF", "127.0.0.1", "1"))

        with pytest.raises(StoreUnavailable, match="address of the primary"):
            await RedisStepStore(client).intend(Intent(**STEP, epoch=1, attempt="a"))

        assert codes(await check_store(client)) == {"write_failed"}


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (BusyLoadingError("Redis is loading the dataset in memory"), "this passes by itself"),
        (MasterDownError("Link with MASTER is down"), "wait for the fail-over"),
        (ClusterDownError("The cluster is down"), "wait for the fail-over"),
        (ReadOnlyError("You can't write against a read only replica."), "give the address of the primary"),
    ],
)
def test_a_server_that_is_not_the_one_to_write_to_now_is_told_with_what_to_do(error: RedisError, remedy: str) -> None:
    assert remedy in str(unavailable("redis.example:6379/0", error))


async def test_a_wrong_password_and_missing_rights_are_told_without_the_password(server: RedisServer) -> None:
    await ask_redis(server.url, ("ACL", "SETUSER", "guest", "on", ">hunter2", "~nothing", "+ping"))
    for credentials in ("guest:hunter2", "guest:hunter3"):
        async with connected(server.url.replace("://", f"://{credentials}@")) as client:
            with pytest.raises(StoreUnavailable, match="check user, password") as error:
                await RedisStepStore(client).trace(**PAGE)

            assert "hunter" not in str(error.value)
            [finding] = (await check_store(client)).findings
            assert finding.level == "error"


@pytest.mark.parametrize(
    "url", ["", "localhost:6379", "http://hunter2@host", "redis://u:hunter2/x@host:6379/0", "redis://h:hunter2"]
)
def test_an_address_that_cannot_be_read_is_told_without_what_may_be_a_password(url: str) -> None:
    with pytest.raises(SettingsInvalid, match="address of Redis") as error:
        open_redis(url)

    assert "hunter2" not in str(error.value)


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("redis://user:secret@redis.example:6380/3", "redis.example:6380/3"),
        ("rediss://redis.example", "redis.example:6379/0"),
        ("unix:///run/redis.sock?db=2", "unix:///run/redis.sock"),
        ("redis+cluster://user:secret@10.0.0.1:7000", "cluster 10.0.0.1:7000"),
        ("rediss+cluster://10.0.0.1:7000", "cluster 10.0.0.1:7000"),
    ],
)
async def test_addresses_are_shown_without_credentials(url: str, address: str) -> None:
    async with connected(url) as client:
        assert address_of(client) == address


async def test_a_unix_socket_works(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:  # a socket's path has 107 bytes at most: `tmp_path` may be too long
        await work_over(Path(folder) / "socket", tmp_path)


async def work_over(path: Path, folder: Path) -> None:
    command = [str(provide_redis().path), "--port", "0", "--unixsocket", str(path), "--dir", str(folder)]
    child = start_child("Redis", command, log=folder / "redis.log")
    async with connected(f"unix://{path}") as client:
        await child.wait_until(answers(client), 10)

        await RedisStepStore(client).append_trace(**PAGE, line={"kind": "note"})

        assert len(await RedisStepStore(client).trace(**PAGE)) == 1
    await child.stop()


def answers(client: Client) -> Callable[[], Awaitable[bool]]:
    async def ready() -> bool:
        return not codes(await check_store(client)) & {"unreachable", "write_failed"}

    return ready


# ------------------------------------------------------------------------------------------ start check


def codes(report: StoreReport) -> set[str]:
    return {finding.code for finding in report.findings}


async def test_the_start_check_finds_nothing_wrong_with_a_server_made_for_a_ledger(server: RedisServer) -> None:
    async with connected(server.url) as client:
        report = await check_store(client)

        assert await client.execute_command("DBSIZE") == 0
    assert codes(report) == set()
    assert report.version[0].isdigit()


@pytest.mark.parametrize(
    ("configuration", "code", "level", "forbids_commits"),
    [
        (("maxmemory-policy", "allkeys-lru"), "evicts", "error", True),
        (("maxmemory-policy", "allkeys-random"), "evicts", "error", True),
        (("maxmemory-policy", "volatile-lru"), "evicts_finished", "warning", False),
        (("appendfsync", "everysec"), "lazy_persistence", "warning", False),
        (("appendonly", "no"), "not_persistent", "warning", False),
        (("maxmemory", "1"), "write_failed", "error", False),
    ],
)
async def test_the_start_check_says_what_is_wrong_and_what_to_do(
    server: RedisServer, configuration: tuple[str, str], code: str, level: str, forbids_commits: bool
) -> None:
    await ask_redis(server.url, ("CONFIG", "SET", *configuration))
    async with connected(server.url) as client:
        report = await check_store(client)

    [finding] = report.findings
    assert finding.code == code
    assert finding.message
    assert finding.remedy
    assert (finding.level, finding.forbids_commits) == (level, forbids_commits)


async def test_a_server_that_hides_its_configuration_can_be_checked(server: RedisServer) -> None:
    await ask_redis(server.url, ("ACL", "SETUSER", "hosted", "on", ">pw", "~*", "+@all", "-config"))
    async with connected(server.url.replace("://", "://hosted:pw@")) as client:
        report = await check_store(client)

    assert codes(report) == set()


async def test_the_start_check_reports_that_nothing_answers() -> None:
    port = free_port()
    async with connected(f"redis://127.0.0.1:{port}/0") as client:
        report = await check_store(client)

    [finding] = report.findings
    assert finding.code == "unreachable"
    assert f"127.0.0.1:{port}" in finding.message
    assert finding.level == "error"


async def test_leases_are_renewed_by_a_store_that_is_late_and_not_by_one_that_is_away(server: RedisServer) -> None:
    async with contextlib.AsyncExitStack() as exits:
        for_steps = open_redis(server.url)
        exits.push_async_callback(for_steps.aclose)
        proof = store_proof(load_settings(redis_url=server.url), exits)

        await ask_redis(server.url, ("CLIENT", "PAUSE", "2000", "ALL"))
        late = await asyncio.gather(ping(for_steps), proof(), return_exceptions=True)
        await server.child.stop()
        with pytest.raises(StoreUnavailable):
            await proof()

    assert [type(each) for each in late] == [StoreUnavailable, type(None)]
