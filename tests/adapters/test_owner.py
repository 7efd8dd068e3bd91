"""Sessions end with the stack that they belong to, with real keepers and Chromium."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from replaywright.errors import KeeperUnavailable
from replaywright.keeper.host.client import is_live, launch_keeper, make_directory, start_keeper
from replaywright.keeper.host.identity import ProcessIdentity, identify, is_alive
from replaywright.keeper.host.owner import end_sessions
from replaywright.settings import Settings
from replaywright.stack import Stack
from replaywright.stack.workers import owner_in
from tests.adapters.test_keeper import is_running, options, processes_of
from tests.waiting import until


@pytest.fixture
def owner() -> Iterator[ProcessIdentity]:
    """Another process that owns a stack."""
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as process:
        identity = identify(process.pid)
        assert identity is not None
        yield identity
        process.kill()


async def test_a_session_whose_owner_is_killed_ends_within_seconds_and_leaves_no_process_and_no_file(
    sessions: Path, owner: ProcessIdentity
) -> None:
    handle = await launch_keeper(sessions, options(owner=owner))
    processes = processes_of(handle)

    os.kill(owner.pid, signal.SIGKILL)

    await until(lambda: not any(map(is_running, processes)), timeout_s=5)
    assert not handle.directory.exists()


async def test_a_session_without_an_owner_outlives_whoever_has_started_it(
    sessions: Path, owner: ProcessIdentity
) -> None:
    of_owner = await launch_keeper(sessions, options(owner=owner))
    of_nobody = await launch_keeper(sessions, options())

    os.kill(owner.pid, signal.SIGKILL)

    await until(lambda: not is_alive(of_owner.record.keeper), timeout_s=5)
    assert is_live(of_nobody.record)


async def test_an_owner_that_ends_in_order_ends_its_own_sessions_and_no_others(
    sessions: Path, owner: ProcessIdentity
) -> None:
    mine = [await launch_keeper(sessions, options(owner=owner)) for _ in range(2)]
    other = await launch_keeper(sessions, options())
    processes = [process for handle in mine for process in processes_of(handle)]

    await asyncio.to_thread(end_sessions, sessions, owner)

    assert not any(map(is_running, processes))
    assert not any(handle.directory.exists() for handle in mine)
    assert is_live(other.record)


async def test_a_stack_ends_the_sessions_of_its_workers_before_its_servers(tmp_path: Path, chromium_path: Path) -> None:
    settings = Settings(home=tmp_path / "home", chromium=chromium_path)
    async with Stack(settings) as stack:
        handle = await launch_keeper(settings.home / "sessions", options(owner=owner_in(stack.environment())))
        processes = processes_of(handle)

    assert not any(map(is_running, processes))
    assert not handle.directory.exists()


async def test_a_keeper_that_does_not_hear_is_killed_with_its_browser(sessions: Path, owner: ProcessIdentity) -> None:
    handle = await launch_keeper(sessions, options(owner=owner))
    processes = processes_of(handle)
    os.kill(handle.record.keeper.pid, signal.SIGSTOP)

    await asyncio.to_thread(end_sessions, sessions, owner, 0.5)

    await until(lambda: not any(map(is_running, processes)), timeout_s=5)
    assert not handle.directory.exists()


async def test_a_session_that_is_still_starting_is_ended_too(
    sessions: Path, owner: ProcessIdentity, tmp_path: Path
) -> None:
    slow = tmp_path / "slow-browser"
    slow.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/started\nexec sleep 600\n")
    slow.chmod(0o755)
    directory = make_directory(sessions, "starting")
    starting = asyncio.create_task(start_keeper(directory, options(owner=owner, executable=str(slow))))
    await until(lambda: (tmp_path / "started").exists() and (tmp_path / "started").read_text())
    log = tmp_path / "keeper.log"
    log.hardlink_to(directory / "keeper.log")  # the folder goes with the session

    await asyncio.to_thread(end_sessions, sessions, owner)

    [how] = await asyncio.gather(starting, return_exceptions=True)
    assert isinstance(how, KeeperUnavailable)
    assert "INFO ending" in log.read_text(), "it ended by itself, and was not killed"
    assert identify(int((tmp_path / "started").read_text())) is None
    assert not directory.exists()
