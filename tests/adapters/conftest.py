"""One Chromium of each kind for all tests of the adapters: tests are kept apart by contexts, or by tabs."""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser

from bench.chromium import launched
from cache.connection import Client, open_redis
from cache.replies import pipelined
from replaywright.browser.devtools.attach import ChromiumBrowsers
from replaywright.browser.session import ChromiumSession
from replaywright.keeper.host.client import list_live, reap
from tests.adapters import browser_site
from tests.adapters.browser_site import Site
from tests.adapters.chromium import Chromium, leave_one_blank_tab
from tests.pages.harness import AgentPage, agent_page
from tests.waiting import until


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """A site for each module: what its pages store belongs to an origin of their own."""
    with browser_site.serving() as served:
        yield served


@pytest.fixture
async def client(redis_url: str) -> AsyncIterator[Client]:
    """A client of an empty Redis."""
    client = open_redis(redis_url)
    yield client
    await client.aclose()


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The pipelines that stores have sent so far."""
    pipelines: list[object] = []

    async def counted(client: Client, commands: list[Any]) -> list[Any]:
        pipelines.extend([commands] if commands else [])
        return await pipelined(client, commands)

    monkeypatch.setattr("cache.replies.pipelined", counted)
    return pipelines


@pytest.fixture
async def sessions(tmp_path: Path) -> AsyncIterator[Path]:
    """A directory for sessions whose keepers do not outlive the test."""
    directory = tmp_path / "sessions"
    yield directory
    for record in list_live(directory):
        os.kill(record.keeper.pid, signal.SIGKILL)
    await until(lambda: len(list_live(directory)) == 0)
    reap(directory)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter."""
    folder = Path(tempfile.mkdtemp(prefix="rw-open-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
async def chromium(chromium_path: Path, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Chromium]:
    """A Chromium with strict site isolation."""
    shared = Chromium(chromium_path, tmp_path_factory.mktemp("profile"))
    async with shared:
        yield shared


@pytest.fixture
async def endpoint(chromium: Chromium) -> str:
    """Its address, for sessions to attach to; what one test's page has brought down is there again for the next."""
    return await chromium.running()


@pytest.fixture(scope="session")
async def browsers() -> AsyncIterator[ChromiumBrowsers]:
    """The adapter under test."""
    shared = ChromiumBrowsers()
    yield shared
    await shared.close()


@pytest.fixture
async def session(endpoint: str, browsers: ChromiumBrowsers) -> AsyncIterator[ChromiumSession]:
    """A session on a blank tab."""
    attached = await browsers.attach(endpoint)
    yield attached
    await leave_one_blank_tab(endpoint, attached)


@pytest.fixture(scope="session")
async def browser(chromium_path: Path) -> AsyncIterator[Browser]:
    """A Chromium that Playwright has started; every test has contexts of its own in it."""
    async with launched(chromium_path) as browser:
        yield browser


@pytest.fixture(scope="module")
async def agent_of_module(browser: Browser) -> AsyncIterator[AgentPage]:
    """One page for all tests of a module: a context for each would take five times as long as what is done in it."""
    async with agent_page(browser) as agent:
        yield agent


@pytest.fixture
async def agent(agent_of_module: AgentPage) -> AgentPage:
    """A page with the page agent in it, which is blank."""
    await agent_of_module.leave()
    return agent_of_module


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own with room for 256 KiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)]
    try:
        mounted = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no `mount` here")
    if mounted.returncode:
        pytest.skip(f"a file system may not be mounted here: {mounted.stderr.strip()}")
    try:
        yield disk
    finally:
        subprocess.run(["umount", str(disk)], check=True)
