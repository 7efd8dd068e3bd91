"""The local stack, on a real Temporal dev server and a real Redis-protocol server."""

import asyncio
import json
import os
import signal
import stat
import sys
import textwrap
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from temporalio.client import Client

from replaywright.errors import ChromiumMissing, StackFailed
from replaywright.keeper.host.identity import ProcessIdentity, is_alive
from replaywright.settings import Settings
from replaywright.stack import (
    RunningStack,
    Stack,
    announce_ready,
    find_chromium,
    free_port,
    read_running,
    start_child,
    start_worker,
    stop_worker,
)
from replaywright.stack.doctor import PartHealth, diagnose
from replaywright.stack.redis import redis_answers, socket_in
from replaywright.stack.state import RunningService, state_file, write_running
from replaywright.stack.temporal import DYNAMIC_CONFIG, temporal_answers
from tests.raw_redis import ask_redis
from tests.telemetry.collector import collecting
from tests.waiting import until


@pytest.fixture
def settings(tmp_path: Path, chromium_path: Path) -> Settings:
    return Settings(home=tmp_path / "home", chromium=chromium_path)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, chromium_path: Path) -> Settings:
    """Settings of the stack that all tests share which only look at one."""
    return Settings(home=tmp_path_factory.mktemp("served") / "home", chromium=chromium_path)


@pytest.fixture(scope="module")
async def stack(served: Settings) -> AsyncIterator[Stack]:
    """That stack."""
    async with Stack(served) as stack:
        yield stack


async def test_a_stack_serves_while_it_is_entered_and_nothing_is_left_after(settings: Settings) -> None:
    async with Stack(settings) as stack:
        running = read_running(settings.home)
        assert running is not None
        client = await Client.connect(stack.running.temporal_address)
        assert await client.service_client.check_health()
        assert await ask_redis(stack.running.redis_url, ("SET", "a", "b"), ("GET", "a")) == ["OK", "b"]
        assert {service.name for service in running.services} == {"Temporal", "Redis"}

    assert not any(is_alive(service.identity) for service in running.services)
    assert not state_file(settings.home).exists()
    assert not await redis_answers(stack.running.redis_url)


async def test_redis_listens_on_a_socket_that_only_its_user_can_reach(stack: Stack, served: Settings) -> None:
    socket = Path(stack.running.redis_url.removeprefix("unix://"))
    mode = stat.S_IMODE(socket.stat().st_mode)
    folders = [stat.S_IMODE(folder.stat().st_mode) for folder in (socket.parent, served.home)]
    port = await ask_redis(stack.running.redis_url, ("CONFIG", "GET", "port"))

    assert (mode, folders, port) == (0o700, [0o700, 0o700], [["port", "0"]])


async def test_a_home_with_a_long_path_has_its_socket_in_a_short_private_folder(settings: Settings) -> None:
    home = settings.home / ("long" * 30)
    async with Stack(settings.model_copy(update={"home": home})) as stack:
        socket = Path(stack.running.redis_url.removeprefix("unix://"))
        try:
            assert stat.S_IMODE(socket.parent.stat().st_mode) == 0o700
            assert await redis_answers(stack.running.redis_url)

            socket.parent.chmod(0o777)
            with pytest.raises(StackFailed, match="others may write to"):
                socket_in(home / "redis")
        finally:
            socket.parent.chmod(0o700)
    assert not socket.parent.exists()


async def test_a_stack_that_is_not_persistent_keeps_every_acknowledged_write_and_is_not_announced(
    settings: Settings,
) -> None:
    async with Stack(settings, persistent=False) as stack:
        policy, fsync = await ask_redis(
            stack.running.redis_url, ("CONFIG", "GET", "maxmemory-policy"), ("CONFIG", "GET", "appendfsync")
        )
        assert read_running(settings.home) is None

    assert policy == ["maxmemory-policy", "noeviction"]
    assert fsync == ["appendfsync", "always"]


async def test_the_dev_server_gets_its_settings_and_search_attributes(stack: Stack, served: Settings) -> None:
    client = await Client.connect(stack.running.temporal_address)
    found = [workflow async for workflow in client.list_workflows("BrowserStatus = 'done' AND BrowserHeals = 0")]
    running = read_running(served.home)
    assert running is not None
    temporal = next(service for service in running.services if service.name == "Temporal")
    command = Path(f"/proc/{temporal.identity.pid}/cmdline").read_text().split("\0")

    assert found == []
    assert all(setting in command for setting in DYNAMIC_CONFIG)


async def test_what_redis_held_is_there_at_the_next_start(settings: Settings) -> None:
    async with Stack(settings) as stack:
        await ask_redis(stack.running.redis_url, ("SET", "kept", "yes"))

    async with Stack(settings) as stack:
        assert await ask_redis(stack.running.redis_url, ("GET", "kept")) == ["yes"]


async def test_a_second_command_joins_the_stack_and_leaves_it_running(stack: Stack, served: Settings) -> None:
    async with Stack(served) as second:
        assert second.joined
        assert second.running.temporal_address == stack.running.temporal_address
        assert second.running.redis_url == stack.running.redis_url

    assert await temporal_answers(stack.running.temporal_address)
    assert await redis_answers(stack.running.redis_url)


async def test_two_commands_that_start_together_share_one_stack(settings: Settings) -> None:
    first, second = Stack(settings), Stack(settings)
    await asyncio.gather(first.__aenter__(), second.__aenter__())
    try:
        assert first.running.temporal_address == second.running.temporal_address
        assert first.joined != second.joined
    finally:
        for stack in (first, second):
            await stack.__aexit__(None, None, None)


async def test_configured_addresses_win(settings: Settings, redis_url: str) -> None:
    configured = settings.model_copy(
        update={
            "unsigned": True,
            "redis_url": redis_url,
            "temporal_address": "example.invalid:7233",
            "temporal_ui_url": "http://ui",
        }
    )

    async with Stack(configured) as stack:
        assert (stack.running.redis_url, stack.running.temporal_address) == (redis_url, "example.invalid:7233")
        assert stack.run_url("a/b c") == "http://ui/namespaces/default/workflows/a%2Fb%20c"
        assert read_running(settings.home) is None


async def test_the_state_of_a_dead_stack_is_ignored(settings: Settings, chromium_path: Path) -> None:
    settings.home.mkdir()
    me = ProcessIdentity(pid=os.getpid(), start_ticks=1)  # our pid, but another process's start
    write_running(
        settings.home,
        RunningStack(
            temporal_address="127.0.0.1:1",
            temporal_ui_url=None,
            redis_url="redis://127.0.0.1:1/0",
            chromium=chromium_path,
            chromium_version="1",
            services=(RunningService(name="Redis", identity=me),),
        ),
    )

    assert read_running(settings.home) is None
    async with Stack(settings) as stack:
        assert not stack.joined


async def test_home_and_state_file_are_readable_for_their_owner_only(stack: Stack, served: Settings) -> None:
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (served.home, state_file(served.home))]

    assert modes == [0o700, 0o600]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_a_killed_owner_leaves_no_orphan(settings: Settings, tmp_path: Path, number: signal.Signals) -> None:
    program = textwrap.dedent(
        f"""
        import asyncio
        from replaywright.settings import Settings
        from replaywright.stack import Stack

        async def main():
            async with Stack(Settings(home={str(settings.home)!r}, chromium={str(settings.chromium)!r})):
                await asyncio.Event().wait()

        asyncio.run(main())
        """
    )
    owner = start_child("owner", [sys.executable, "-c", program], log=tmp_path / "owner.log")
    await until(lambda: state_file(settings.home).exists(), timeout_s=60)
    running = read_running(settings.home)
    assert running is not None

    os.kill(owner.pid, number)

    await until(lambda: not any(is_alive(service.identity) for service in running.services))
    await owner.stop()
    assert read_running(settings.home) is None


async def test_a_server_that_cannot_start_fails_with_its_log_and_leaves_nothing(settings: Settings) -> None:
    damaged = settings.home / "redis" / "appendonlydir"
    damaged.mkdir(parents=True)
    (damaged / "appendonly.aof.manifest").write_text("this is no manifest\n")

    with pytest.raises(StackFailed, match="Redis ended with status"):
        await Stack(settings).__aenter__()

    assert read_running(settings.home) is None


async def test_a_child_that_ends_before_it_is_ready_is_told_with_its_last_words(tmp_path: Path) -> None:
    child = start_child("fake", [sys.executable, "-c", "print('no such luck'); exit(3)"], log=tmp_path / "log")

    async def never() -> bool:
        return False

    with pytest.raises(StackFailed, match="fake ended with status 3 before it was ready\nno such luck"):
        await child.wait_until(never, 20)


async def test_a_child_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    program = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
    )
    child = start_child("stubborn", [sys.executable, "-c", program], log=tmp_path / "log")
    await until(lambda: child.log_tail() == "up")

    await child.stop(grace_s=0.2)

    assert child.exit_status() == -signal.SIGKILL


def fake_worker(tmp_path: Path, body: str) -> dict[str, str]:
    (tmp_path / "worker.py").write_text(textwrap.dedent(body))
    return {"PYTHONPATH": str(tmp_path)}


async def test_a_worker_is_started_when_it_has_written_its_ready_file(tmp_path: Path) -> None:
    environment = fake_worker(
        tmp_path,
        """
        import json, os, sys, time
        from pathlib import Path
        from replaywright.stack import announce_ready
        print(json.dumps(sys.argv[1:]), flush=True)
        announce_ready(Path(os.environ["REPLAYWRIGHT_READY_FILE"]), pid=os.getpid())
        time.sleep(60)
        """,
    )

    worker = await start_worker(environment, log=tmp_path / "worker.log", role="browser")

    assert json.loads(worker.log_tail()) == ["--role", "browser"]
    assert worker.exit_status() is None
    await stop_worker(worker)
    assert worker.exit_status() == -signal.SIGTERM


async def test_a_worker_that_fails_at_start_is_told(tmp_path: Path) -> None:
    environment = fake_worker(tmp_path, "raise SystemExit('no Temporal here')")

    with pytest.raises(StackFailed, match="no Temporal here"):
        await start_worker(environment, log=tmp_path / "worker.log")


def test_the_ready_file_appears_whole(tmp_path: Path) -> None:
    announce_ready(tmp_path / "ready.json", pid=7)

    assert json.loads((tmp_path / "ready.json").read_text()) == {"pid": 7}
    assert [path.name for path in tmp_path.iterdir()] == ["ready.json"]


def test_a_configured_chromium_that_does_not_start_is_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(ChromiumMissing, match="gone"):
        find_chromium(tmp_path / "gone")


@pytest.mark.parametrize("name", ["chrome-headless-shell", "linked"])
async def test_a_headless_shell_is_refused_and_doctor_says_why(tmp_path: Path, name: str) -> None:
    shell = tmp_path / "chrome-headless-shell"
    shell.write_text("#!/bin/sh\necho Chromium 156.0.1.2\n")
    shell.chmod(0o755)
    (tmp_path / "linked").symlink_to(shell)

    with pytest.raises(ChromiumMissing, match=r"is a headless shell, .*: name Chromium itself"):
        find_chromium(tmp_path / name)

    findings = await diagnose(Settings(home=tmp_path / "home", chromium=tmp_path / name))
    [found] = [each for each in findings if each.component == "Chromium"]
    assert found.health is PartHealth.FAILED
    assert "is a headless shell" in found.attempts[0]


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ("name: office\n", ""),
        ("name: office\nproxy: x\n", "proxy"),
        ("proxies: [{server: 'http://proxy.example:3128', user: us, password: PROXY}]\n", "'PROXY'"),
        ("certificates: [{hosts: [crm.example], certificate: CRM}]\n", "'CRM'"),
    ],
)
async def test_doctor_says_why_no_worker_starts_with_this_policy(tmp_path: Path, policy: str, said: str) -> None:
    (tmp_path / "policy.yaml").write_text(policy)

    findings = await diagnose(Settings(home=tmp_path / "home", policy=tmp_path / "policy.yaml"))

    [found] = [each for each in findings if each.component == "Policy"]
    assert found.health is (PartHealth.FAILED if said else PartHealth.OK)
    assert said in found.advice
    assert [each.component for each in findings].count("Sessions") == 0


async def test_doctor_says_why_no_worker_starts_with_these_sessions(tmp_path: Path) -> None:
    (tmp_path / "sessions.yaml").write_text("sessions: {crm: {}}\n")

    findings = await diagnose(Settings(home=tmp_path / "home", sessions=tmp_path / "sessions.yaml"))

    [found] = [each for each in findings if each.component == "Sessions"]
    assert found.health is PartHealth.FAILED
    assert "crm" in found.advice


def test_playwrights_own_newest_build_comes_before_path_and_one_that_does_not_start_is_passed_over(
    tmp_path: Path,
) -> None:
    builds = tmp_path / "ms-playwright"
    for revision, script in (
        ("900", "echo Chromium 90.0.1.2"),
        ("1000", "exit 127"),
        ("950", "echo Chromium 95.0.1.2"),
    ):
        program = builds / f"chromium-{revision}" / "chrome-linux" / "chrome"
        program.parent.mkdir(parents=True)
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
    on_path = tmp_path / "bin" / "chromium"
    on_path.parent.mkdir()
    on_path.write_text("#!/bin/sh\necho Chromium 80.0.1.2\n")
    on_path.chmod(0o755)
    environment = {"PLAYWRIGHT_BROWSERS_PATH": str(builds), "PATH": f"{on_path.parent}:/bin"}

    found = find_chromium(install=False, environment=environment)
    without_builds = find_chromium(
        install=False, environment={**environment, "PLAYWRIGHT_BROWSERS_PATH": str(tmp_path / "none")}
    )

    assert (found.version, found.path) == ("95.0.1.2", builds / "chromium-950/chrome-linux/chrome")
    assert "chromium-1000" in found.attempts[0]
    assert (without_builds.version, without_builds.path) == ("80.0.1.2", on_path)


async def test_doctor_finds_every_part_of_a_running_stack(stack: Stack, served: Settings) -> None:
    findings = {finding.component: finding for finding in await diagnose(served)}

    assert {name for name, finding in findings.items() if finding.health is PartHealth.FAILED} == set()
    assert findings["Temporal"].reachable
    assert findings["Redis"].reachable
    assert findings["Redis"].health is PartHealth.OK
    assert findings["Chromium"].version
    assert "REPLAYWRIGHT_MODEL" in findings["Model"].advice
    assert findings["Telemetry"].found == "off"


async def test_doctor_says_what_does_not_answer_and_what_to_do(settings: Settings) -> None:
    broken = settings.model_copy(
        update={
            "temporal_address": f"127.0.0.1:{free_port()}",
            "redis_url": f"redis://:hunter2@127.0.0.1:{free_port()}/0",
            "model": "openai:x",
            "model_base_url": f"http://127.0.0.1:{free_port()}/v1",
            "otlp_endpoint": f"http://us:hunter2@127.0.0.1:{free_port()}",
        }
    )

    findings = {finding.component: finding for finding in await diagnose(broken)}

    for name in ("Temporal", "Redis", "Model"):
        assert findings[name].health is PartHealth.FAILED
        assert findings[name].reachable is False
        assert findings[name].advice
    assert findings["Telemetry"].health is PartHealth.WARNING
    assert "OTEL_EXPORTER_OTLP_ENDPOINT" in findings["Telemetry"].advice
    assert "hunter2" not in repr(findings)


async def test_doctor_asks_the_collector_and_sends_it_nothing(settings: Settings) -> None:
    with collecting() as collector:
        watched = settings.model_copy(update={"otlp_endpoint": collector.url, "metrics_address": "127.0.0.1:9464"})
        findings = {finding.component: finding for finding in await diagnose(watched)}

    assert findings["Telemetry"].reachable
    assert findings["Telemetry"].health is PartHealth.OK
    assert findings["Telemetry"].found.endswith("/v1/traces, Prometheus at 127.0.0.1:9464")
    assert collector.spans == []


async def test_doctor_warns_of_a_disk_that_is_nearly_full(settings: Settings, small_disk: Path) -> None:
    findings = {each.component: each for each in await diagnose(settings.model_copy(update={"home": small_disk}))}

    assert (findings["Disk"].health, findings["Disk"].found) == (PartHealth.WARNING, "0.0 GiB free")
    assert str(small_disk) in findings["Disk"].advice


async def test_doctor_refuses_a_redis_that_evicts(settings: Settings, redis_url: str) -> None:
    await ask_redis(redis_url, ("CONFIG", "SET", "maxmemory-policy", "allkeys-lru"))
    try:
        findings = await diagnose(settings.model_copy(update={"redis_url": redis_url}))
    finally:
        await ask_redis(redis_url, ("CONFIG", "SET", "maxmemory-policy", "noeviction"))

    redis = next(finding for finding in findings if finding.component == "Redis")
    assert redis.health is PartHealth.FAILED
    assert "allkeys-lru" in redis.advice


async def test_doctor_warns_of_artifacts_that_other_hosts_do_not_find(settings: Settings, tmp_path: Path) -> None:
    elsewhere = settings.model_copy(update={"temporal_address": "temporal.invalid:7233", "temporal_tls": False})
    shared = elsewhere.model_copy(update={"artifacts_url": str(tmp_path)})

    told = [
        next(one for one in await diagnose(each) if one.component == "Artifacts")
        for each in (settings, elsewhere, shared)
    ]

    assert [one.health for one in told] == [PartHealth.OK, PartHealth.WARNING, PartHealth.OK]
    assert "REPLAYWRIGHT_ARTIFACTS_URL" in told[1].advice
