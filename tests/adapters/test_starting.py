"""Commands that start a stack at the same time, or after one that was killed, with real servers."""

import asyncio
import contextlib
import os
import signal
import sys
import textwrap
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from replaywright.errors import StackFailed
from replaywright.keeper.host.identity import ProcessIdentity, identify, is_alive
from replaywright.settings import Settings
from replaywright.stack import Child, Stack, read_running, start_child
from replaywright.stack.starting import is_starting, only_one_starts, only_servers, wait_for_start
from replaywright.stack.state import RunningService, RunningStack, prepare_home, read_stored, state_file, write_running
from tests.waiting import until


@pytest.fixture
def settings(tmp_path: Path, chromium_path: Path) -> Settings:
    prepare_home(tmp_path / "home")
    return Settings(home=tmp_path / "home", chromium=chromium_path)


def program(settings: Settings, body: str) -> list[str]:
    """Another command that works on the same home."""
    head = f"""
        import asyncio
        from pathlib import Path
        from replaywright.settings import Settings
        from replaywright.stack import Stack
        from replaywright.stack.starting import only_one_starts, only_servers
        home = Path({str(settings.home)!r})
        settings = Settings(home=home, chromium={str(settings.chromium)!r})
    """
    return [sys.executable, "-c", textwrap.dedent(head) + textwrap.dedent(body)]


@contextlib.asynccontextmanager
async def starter(settings: Settings, tmp_path: Path) -> AsyncIterator[Child]:
    """A command that is starting a stack and does not get on."""
    body = """
        async def main():
            async with only_one_starts(home):
                print("starting", flush=True)
                await asyncio.Event().wait()
        asyncio.run(main())
    """
    child = start_child("starter", program(settings, body), log=tmp_path / "starter.log")
    await until(lambda: child.log_tail() == "starting", timeout_s=60)
    yield child
    child.kill()
    await child.ended_within(5)


async def test_a_command_waits_for_another_that_is_starting_and_says_for_which(
    settings: Settings, tmp_path: Path
) -> None:
    said: list[str] = []
    assert not is_starting(settings.home)
    async with starter(settings, tmp_path) as first:
        waiting = asyncio.create_task(asyncio.to_thread(wait_for_start, settings.home, said.append))
        await until(lambda: said)
        assert is_starting(settings.home)
        assert not waiting.done()

        first.kill()

        await asyncio.wait_for(waiting, 5)
    assert said == [f"another command (process {first.pid}) is starting the stack: waiting for it"]


async def test_the_wait_for_another_command_has_an_end(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("replaywright.stack.starting.START_LIMIT_S", 0.3)
    async with starter(settings, tmp_path) as first:
        with pytest.raises(StackFailed, match=rf"process {first.pid}\) has been starting the stack .* end it"):
            async with only_one_starts(settings.home):
                pass


async def test_a_command_that_was_killed_while_it_started_servers_leaves_none_and_the_next_takes_over(
    settings: Settings, tmp_path: Path
) -> None:
    body = """
        import os, signal
        from replaywright.stack import services
        def killed(*_arguments):
            os.kill(os.getpid(), signal.SIGKILL)
        services.write_running = killed  # servers answer, and nobody knows of them yet
        async def main():
            async with Stack(settings):
                pass
        asyncio.run(main())
    """
    child = start_child("first", program(settings, body), log=tmp_path / "first.log")
    assert await child.ended_within(60)
    assert child.exit_status() == -signal.SIGKILL
    assert not state_file(settings.home).exists()

    async with Stack(settings) as second:
        assert not second.joined
        servers = {service.identity.pid for service in services_of(settings.home)}
        below = {child.pid for pid in servers for child in psutil.Process(pid).children(recursive=True)}
        assert servers <= processes_on(settings.home) <= servers | below


async def test_each_server_holds_the_lock_of_its_home(settings: Settings) -> None:
    async with Stack(settings):
        for service in services_of(settings.home):
            opened = [_opened(link) for link in Path(f"/proc/{service.identity.pid}/fd").iterdir()]
            assert str(settings.home / "servers.lock") in opened, service.name


async def test_no_second_stack_begins_before_the_servers_of_the_first_have_ended(
    settings: Settings, tmp_path: Path
) -> None:
    async with only_servers(settings.home) as lock:
        server = start_child("server", ["/bin/sleep", "600"], log=tmp_path / "server.log", holds=(lock,))
    said: list[str] = []
    begun = asyncio.create_task(_begun(settings.home, said))
    await until(lambda: said)
    assert not begun.done()

    await server.stop()

    await asyncio.wait_for(begun, 10)
    assert said == ["waiting for the servers of an earlier command to end"]


async def _begun(home: Path, said: list[str]) -> None:
    async with only_servers(home, said.append):
        pass


async def test_servers_that_nobody_owns_any_more_are_stopped_by_the_next_command(
    settings: Settings, tmp_path: Path
) -> None:
    gone = ProcessIdentity(pid=os.getpid(), start_ticks=1)
    async with only_servers(settings.home) as lock:
        server = start_child("server", ["/bin/sleep", "600"], log=tmp_path / "server.log", holds=(lock,))
    services = (RunningService(name="Temporal", identity=server.identity), RunningService(name="Redis", identity=gone))
    write_running(settings.home, described(settings, services, owner=gone))
    assert read_running(settings.home) is None

    async with only_servers(settings.home):
        assert not is_alive(server.identity)
    await server.stop()


async def test_servers_whose_owner_lives_are_left_to_it_and_the_wait_has_an_end(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("replaywright.stack.starting.END_LIMIT_S", 0.3)
    async with only_servers(settings.home) as lock:
        server = start_child("server", ["/bin/sleep", "600"], log=tmp_path / "server.log", holds=(lock,))
    services = (RunningService(name="Temporal", identity=server.identity),)
    write_running(settings.home, described(settings, services, owner=identify(os.getpid())))

    with pytest.raises(StackFailed, match="servers of an earlier command still run"):
        async with only_servers(settings.home):
            pass

    assert is_alive(server.identity)
    await server.stop()


async def test_a_stack_whose_owner_was_killed_is_not_joined_while_its_servers_end(settings: Settings) -> None:
    me = identify(os.getpid())
    assert me is not None
    services = (RunningService(name="Temporal", identity=me),)
    write_running(settings.home, described(settings, services, owner=me))
    assert read_running(settings.home) is not None

    write_running(settings.home, described(settings, services, owner=me.model_copy(update={"start_ticks": 1})))

    assert read_running(settings.home) is None


def described(settings: Settings, services: tuple[RunningService, ...], owner: ProcessIdentity | None) -> RunningStack:
    return RunningStack(
        temporal_address="127.0.0.1:1",
        temporal_ui_url=None,
        redis_url="redis://127.0.0.1:2/0",
        chromium=settings.chromium or Path(),
        chromium_version="1",
        owner=owner,
        services=services,
    )


def services_of(home: Path) -> tuple[RunningService, ...]:
    stored = read_stored(home)
    assert stored is not None
    return stored.services


def processes_on(home: Path) -> set[int]:
    """Every process but this one that has a file of the home open."""
    found = set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal() and int(folder.name) != os.getpid():
            with contextlib.suppress(OSError):
                if any(_opened(link).startswith(str(home)) for link in (folder / "fd").iterdir()):
                    found.add(int(folder.name))
    return found


def _opened(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:
        return ""
