"""The services of docker-compose.yml without Docker: the same variables, commands, secrets, and health checks."""

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from redis.exceptions import NoPermissionError
from temporalio.testing import WorkflowEnvironment

from ops.check_compose import ROOT
from ops.expressions import SERIES
from replaywright.stack import Child, free_port, start_child
from replaywright.stack.redis import provide_redis, redis_answers
from replaywright.telemetry.catalogue import OTHER
from tests.composed import Composed, image_instruction
from tests.raw_redis import ask_redis

EXPECTED = {
    *("replaywright.runs", "replaywright.steps", "replaywright.step.duration", "replaywright.assertions"),
    *("replaywright.cache.lookups", "replaywright.model.calls", "replaywright.model.tokens", "replaywright.queue.wait"),
    *("replaywright.browsers", "replaywright.redis.duration", "replaywright.temporal.duration"),
}
"""What a run that learns, and one that replays, are counted in."""
OF_SCRAPING = {"le", "otel_scope_name", "otel_scope_version", "otel_scope_schema_url"}
WORKERS = ("worker-workflow", "worker-browser", "worker-model")


async def eventually(child: Child, holds: Callable[[], bool], timeout_s: float = 60) -> None:
    async def answer() -> bool:
        return await asyncio.to_thread(holds)

    await child.wait_until(answer, timeout_s)


async def ended(child: Child, number: int = signal.SIGTERM, timeout_s: float = 60) -> int | None:
    """Its exit status, once it has ended after this signal."""
    os.kill(child.pid, number)
    assert await child.ended_within(timeout_s), child.log_tail()
    return child.exit_status()


@pytest.fixture
async def composed(tmp_path: Path, temporal_env: WorkflowEnvironment, chromium_path: Path) -> AsyncIterator[Composed]:
    """Redis as the file starts it, the session's Temporal, and secrets as the script makes them."""
    (tmp_path / "ops").mkdir()
    shutil.copy(ROOT / "ops" / "secrets.sh", tmp_path / "ops")
    script = ["sh", str(tmp_path / "ops" / "secrets.sh")]
    await asyncio.to_thread(subprocess.run, script, check=True, capture_output=True, timeout=60)
    secrets, redis_port = tmp_path / "secrets", free_port()
    for file in secrets.glob("*_keys"):
        file.chmod(0o400)  # in a container, whoever else could read them is not there
    metrics = iter([free_port() for _ in WORKERS])
    redis_url = secrets / "redis_url"
    given = redis_url.read_text(encoding="utf-8").replace("redis-ledger:6379", f"127.0.0.1:{redis_port}")
    redis_url.chmod(0o600)
    redis_url.write_text(given, encoding="utf-8")
    policy = tmp_path / "policy.yaml"
    written = (ROOT / "ops" / "policy.yaml").read_text(encoding="utf-8")
    policy.write_text(written + '    - "127.0.0.0/8:*"\n', encoding="utf-8")  # where its sites are here
    composed = Composed(
        tmp_path,
        {
            "/etc/replaywright/policy.yaml": str(policy),
            "temporal:7233": temporal_env.client.service_client.config.target_host,
            "otel-collector:4318": f"127.0.0.1:{free_port()}",  # nobody is there: a worker works without it
            "0.0.0.0:9464": f"127.0.0.1:{next(metrics)}",
            "/run/secrets": str(secrets),
            "/run/site-secrets": str(secrets / "sites"),
            "./secrets": str(secrets),
            "/artifacts": str(tmp_path / "artifacts"),
            "/usr/bin/chromium": str(chromium_path),
        },
        {"REPLAYWRIGHT_SANDBOX": str(os.geteuid() != 0).lower(), "REPLAYWRIGHT_TENANT": f"t{redis_port}"},
    )
    _, *arguments = composed.words("redis-ledger", composed.services["redis-ledger"]["command"])
    place = ["--bind", "127.0.0.1", "--port", str(redis_port), "--dir", str(tmp_path)]
    redis = start_child("redis", [provide_redis().path, *place, *arguments], log=tmp_path / "redis.log")

    async def answers() -> bool:
        return await redis_answers(given.strip())

    await redis.wait_until(answers, 30)
    yield composed
    await redis.stop()


async def test_a_worker_serves_with_the_variables_of_the_compose_file_and_ends_in_order(composed: Composed) -> None:
    assert not composed.is_healthy("worker-browser")

    worker = composed.start_worker("worker-browser")
    try:
        await eventually(worker, lambda: composed.is_healthy("worker-browser"))
        address = composed.environment("worker-browser")["REPLAYWRIGHT_METRICS_ADDRESS"]
        async with httpx.AsyncClient(trust_env=False) as http:
            metrics = await http.get(f"http://{address}/metrics")
        status = await ended(worker)
    finally:
        await worker.stop()

    told = worker.log.read_text(encoding="utf-8")
    assert metrics.status_code == 200
    assert "target_info" in metrics.text
    assert status == 0, told
    assert {json.loads(line)["level"] for line in told.splitlines()} >= {"INFO"}
    for secret in ("redis_url", "signing_keys", "artifact_keys", "sites/PASSWORD"):
        assert (composed.folder / "secrets" / secret).read_text(encoding="utf-8").strip() not in told


async def test_the_ledger_lets_nobody_in_without_the_password_but_answers_the_health_check(composed: Composed) -> None:
    url = (composed.folder / "secrets" / "redis_url").read_text(encoding="utf-8").strip()
    stranger = "redis://" + url.partition("@")[2].removesuffix("/0")

    assert await ask_redis(stranger, ("PING",)) == ["PONG"]
    for command in (("GET", "a"), ("CONFIG", "GET", "dir"), ("INFO",), ("ACL", "WHOAMI")):
        with pytest.raises(NoPermissionError):
            await ask_redis(stranger, command)
    with pytest.raises(NoPermissionError):
        await ask_redis(url, ("FLUSHALL",))
    assert await ask_redis(url, ("CONFIG", "GET", "appendfsync")) == [["appendfsync", "always"]]


@pytest.mark.long
async def test_a_setting_that_is_wrong_ends_the_worker_with_2_and_says_which(composed: Composed) -> None:
    (composed.folder / "secrets" / "redis_url").unlink()

    worker = composed.start_worker("worker-model")
    assert await worker.ended_within(60)

    assert worker.exit_status() == 2
    assert "REPLAYWRIGHT_REDIS_URL_FILE" in worker.log.read_text(encoding="utf-8")


def test_the_image_and_the_compose_file_check_the_same_health() -> None:
    composed = Composed(Path(), {}, {})

    checks = [composed.services[name]["healthcheck"]["test"] for name in WORKERS]

    assert checks == [["CMD", *image_instruction("HEALTHCHECK")]] * len(WORKERS)


@pytest.mark.long
async def test_a_run_through_a_worker_for_each_role_is_learned_and_then_replayed(composed: Composed) -> None:
    site_port, model_port = free_port(), free_port()
    more = {
        "REPLAYWRIGHT_MODEL": "openai:stand-in",
        "REPLAYWRIGHT_MODEL_BASE_URL": f"http://127.0.0.1:{model_port}/v1",
        "REPLAYWRIGHT_METRICS_ADDRESS": "127.0.0.1:0",
        "REPLAYWRIGHT_SECRET_PASSWORD_DOMAINS": f"127.0.0.1:{site_port}",
        "NO_PROXY": "127.0.0.1",
    }
    started: list[Child] = []
    try:
        for name, module, port in (("demo-site", "webmail", site_port), ("demo-model", "standin", model_port)):
            arguments = [word.replace("8025", str(port)).replace("8026", str(port)) for word in command(composed, name)]
            arguments = [str(composed.folder / "webmail") if word == "/tmp/webmail" else word for word in arguments]
            program = [sys.executable, "-P", "-m", f"demo.{module}"]
            started.append(composed.start(name, program, arguments))
        started += [composed.start_worker(name, **more) for name in WORKERS]
        for worker, name in zip(started[2:], WORKERS, strict=True):
            await eventually(worker, lambda name=name: composed.is_healthy(name))  # type: ignore[misc]  # mypy: lambda default

        results = [await run_once(composed, site_port, number) for number in (1, 2)]
        told = [await metrics_of(worker) for worker in started[2:]]
        statuses = [await ended(worker) for worker in started[2:]]
    finally:
        for child in started:
            await child.stop()

    assert [result["status"] for result in results] == ["done", "done"], results
    assert results[0]["totals"]["usage"]["calls"] > 0
    assert results[1]["totals"]["usage"]["calls"] == 0
    assert statuses == [0, 0, 0]
    emitted = {line for text in told for line in text.splitlines() if line.startswith("replaywright_")}
    assert [line for line in emitted if is_unknown(line)] == []
    names = {line.partition("{")[0].partition(" ")[0] for line in emitted}
    assert {SERIES[name].name for name in names} >= EXPECTED


def command(composed: Composed, service: str) -> list[str]:
    words: list[str] = composed.services[service]["command"]
    return words


async def metrics_of(worker: Child) -> str:
    """What this worker tells Prometheus."""
    address = re.search(r"http://127\.0\.0\.1:\d+/metrics", worker.log.read_text(encoding="utf-8"))
    assert address is not None
    async with httpx.AsyncClient(trust_env=False) as http:
        return (await http.get(address[0])).text


def is_unknown(line: str) -> bool:
    """Whether a series is not in the catalogue, from which alerts and dashboard take their names."""
    match = re.fullmatch(r"(\w+)(?:\{(.*)\})? \S+", line)
    assert match is not None, line
    name = match[1].removesuffix("_created")
    if name not in SERIES:
        return match[1] == name or not any(known.startswith(name) for known in SERIES)
    labels = {label.name: label for label in SERIES[name].labels}
    for label, value in re.findall(r'(\w+)="([^"]*)"', match[2] or ""):
        if label in OF_SCRAPING:
            continue
        if label not in labels or (labels[label].is_closed and value not in (*labels[label].values, OTHER)):
            return True
    return False


async def run_once(composed: Composed, site_port: int, number: int) -> dict[str, Any]:
    """What the command line in the service `cli` says of a run."""
    parameters = {
        "base_url": f"http://127.0.0.1:{site_port}",
        "to": "ada@example.com",
        "subject": f"Number {number}",
        "body": "Hello",
    }
    words = [word for name, value in parameters.items() for word in ("--param", f"{name}={value}")]
    task = str(ROOT / "demo" / "send_mail.yaml")
    program = [sys.executable, "-P", "-m", "replaywright"]
    began = time.monotonic()
    cli = composed.start("cli", program, ["run", task, "--json", *words])
    assert await cli.ended_within(120), f"after {time.monotonic() - began:.0f} s: {cli.log_tail()}"
    written = cli.log.read_text(encoding="utf-8").splitlines()
    result: dict[str, Any] = json.loads(next(line for line in written if line.startswith("{")))
    return result
