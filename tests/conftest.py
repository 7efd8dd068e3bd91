"""Fixtures on the real parts, found as the local stack finds them; one Temporal and one Redis server for all tests."""

import asyncio
import gc
import os
import tempfile
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
import pytest_timeout  # type: ignore[import-untyped]
from hypothesis import settings
from temporalio.testing import WorkflowEnvironment

from replaywright.home import default_home
from replaywright.settings import load_settings
from replaywright.stack.chromium import find_chromium
from replaywright.stack.processes import free_port
from replaywright.stack.redis import provide_redis, start_redis
from replaywright.stack.temporal import dev_server_arguments, provide_temporal
from replaywright.testing.grants import allow_loopback
from tests.cluster import cluster_of_three
from tests.raw_redis import ask_redis

settings.register_profile("any-machine", deadline=None)
settings.load_profile("any-machine")


_LONG_S = 3_600
"""Tests that are marked `long` may take longer than the others."""
_ENDING_S = 30
"""What the server is given to end."""


def pytest_configure() -> None:
    """Collect no garbage while tests are collected: nothing of what is imported ever is any."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Collect what tests leave, without going through all that was imported each time."""
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("long") is not None:
            item.add_marker(pytest.mark.timeout(_LONG_S))


@pytest.hookimpl(trylast=True)
def pytest_exception_interact(node: pytest.Item | pytest.Collector) -> None:
    """Time what comes after a failure, too: pytest-timeout stops its timer there, for a debugger.

    What is torn down may hang, and so may the test that is run again.
    """
    if isinstance(node, pytest.Item):
        settings = pytest_timeout._get_item_settings(node)
        if settings.timeout:
            node.config.pluginmanager.hook.pytest_timeout_set_timer(item=node, settings=settings)


@pytest.fixture(scope="session", autouse=True)
def _own_state() -> Iterator[None]:
    """What Replaywright keeps on this machine, keys and a stack that runs, is neither read nor changed."""
    with (
        tempfile.TemporaryDirectory(prefix="rw-state-", ignore_cleanup_errors=True) as folder,
        pytest.MonkeyPatch.context() as environment,
    ):
        environment.setenv("XDG_STATE_HOME", folder)
        environment.setenv("REPLAYWRIGHT_LISTEN_MS", "300")  # for presses that send nothing more, as most do
        allow_loopback(Path(default_home({"XDG_STATE_HOME": folder})))
        yield


@pytest.fixture(scope="session")
async def temporal_binary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Temporal CLI."""
    return (await provide_temporal(tmp_path_factory.mktemp("temporal"))).path


@pytest.fixture(scope="session")
async def temporal_env(temporal_binary: Path) -> AsyncIterator[WorkflowEnvironment]:
    """A dev server with the settings and search attributes of the local stack."""
    environment = await WorkflowEnvironment.start_local(
        dev_server_existing_path=str(temporal_binary),
        dev_server_startup_timeout=timedelta(seconds=60),
        dev_server_extra_args=dev_server_arguments(),
        dev_server_log_level="error",
    )
    yield environment
    # One that takes long to end holds up nobody.
    await asyncio.wait({asyncio.create_task(environment.shutdown())}, timeout=_ENDING_S)


@pytest.fixture(scope="session")
async def redis_server_url(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """A server as the ledger needs it; `redis_url` is the same one, empty."""
    folder = tmp_path_factory.mktemp("redis")
    server = await start_redis(provide_redis().path, folder=folder / "data", log=folder / "redis.log", port=free_port())
    yield server.url
    await server.child.stop()


@pytest.fixture
async def redis_url(redis_server_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A real server without a key in it. Commands that are given its address take what tests put there as it is."""
    monkeypatch.setenv("REPLAYWRIGHT_UNSIGNED", "true")
    await ask_redis(redis_server_url, ("FLUSHALL",), ("SCRIPT", "FLUSH"))
    return redis_server_url


@pytest.fixture(scope="session")
async def cluster_nodes() -> AsyncIterator[tuple[int, ...]]:
    """The ports of a Redis Cluster's three nodes; `cluster_url` is the same one, empty."""
    async with cluster_of_three() as ports:
        yield ports


@pytest.fixture
async def cluster_url(cluster_nodes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> str:
    """A real cluster without a key in it, by the address of one of its nodes."""
    monkeypatch.setenv("REPLAYWRIGHT_UNSIGNED", "true")
    for port in cluster_nodes:
        await ask_redis(f"redis://127.0.0.1:{port}/0", ("FLUSHALL",), ("SCRIPT", "FLUSH"))
    return f"redis+cluster://127.0.0.1:{cluster_nodes[0]}"


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    """Where pictures of what people see are kept: in the folder that `REPLAYWRIGHT_INTERNAL_PICTURES` names, if any."""
    folder = Path(os.environ.get("REPLAYWRIGHT_INTERNAL_PICTURES", tmp_path))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def chromium_path() -> Path:
    """A browser that starts."""
    return find_chromium(load_settings().chromium).path
