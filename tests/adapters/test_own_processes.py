"""Ports of our own processes, found by looking at a machine that is real."""

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from replaywright.keeper.host import own_processes
from replaywright.keeper.host.identity import identify
from replaywright.keeper.host.own_processes import ENTRIES, OwnPorts, enter_process, entered
from replaywright.reaching import is_of_this_machine
from tests.adapters.networks import network
from tests.adapters.test_keeper_guard import connect, get
from tests.adapters.test_keeper_proxy import Site, rig

NOBODY = 65534
SERVES = """
import socket, subprocess, sys
if sys.argv[1] == "child":
    subprocess.run([sys.executable, "-c", sys.argv[2], "self", ""])
else:
    family = socket.AF_INET6 if sys.argv[2] == "::" else socket.AF_INET
    with socket.create_server((sys.argv[2] or "127.0.0.1", 0), family=family) as server:
        print(server.getsockname()[1], flush=True)
        sys.stdin.read()
"""


@contextmanager
def serving(how: str = "self", address: str = "") -> Iterator[tuple[int, int]]:
    """A process that listens, or whose child does; its pid and the port."""
    command = [sys.executable, "-c", SERVES, how, SERVES if how == "child" else address]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield process.pid, int(process.stdout.readline())
        finally:
            assert process.stdin is not None
            process.stdin.close()


def enter(home: Path, pid: int, port: int | None = None) -> Path:
    identity = identify(pid)
    assert identity is not None
    return enter_process(home, identity, port)


@pytest.mark.parametrize(("how", "address"), [("self", ""), ("self", "0.0.0.0"), ("self", "::"), ("child", "")])
def test_a_port_of_a_process_of_the_home_or_of_its_child_is_our_own(tmp_path: Path, how: str, address: str) -> None:
    with serving(how, address) as (pid, port):
        assert not OwnPorts(tmp_path).has(port)

        enter(tmp_path, pid)
        assert OwnPorts(tmp_path).has(port)


def test_a_service_that_starts_later_is_our_own_at_once(tmp_path: Path) -> None:
    ports = OwnPorts(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert ports.has(port)  # the process that asks is one of ours

    assert not ports.has(port)
    with socket.create_server(("127.0.0.1", port)):
        assert ports.has(port)


def test_an_entry_with_a_port_is_about_that_port_alone(tmp_path: Path) -> None:
    with serving() as (pid, port):
        enter(tmp_path, pid, port + 1)
        assert not OwnPorts(tmp_path).has(port)

        enter(tmp_path, pid, port)
        assert OwnPorts(tmp_path).has(port)


def test_entries_of_dead_processes_go_and_one_of_this_process_ends_with_its_block(tmp_path: Path) -> None:
    folder = tmp_path / ENTRIES
    with serving() as (pid, _):
        dead = enter(tmp_path, pid)

    with entered(tmp_path):
        assert not dead.exists()
        assert [path.name.split("-")[0] for path in folder.iterdir()] == [str(os.getpid())]
    assert not list(folder.iterdir())


def test_of_a_process_that_nobody_may_look_into_every_port_of_its_user_is_our_own(open_folder: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    with serving() as (pid, port):
        assert not _asked_as_nobody(open_folder, port)

        enter(open_folder, pid)
        assert _asked_as_nobody(open_folder, port)


def test_kernel_and_tables_tell_the_same() -> None:
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("::1", 0), family=socket.AF_INET6) as two:
        for server in (one, two):
            port = server.getsockname()[1]
            found = own_processes._listeners(port)
            assert found
            assert found == own_processes._in_tables(port)


@pytest.mark.parametrize(
    ("address", "is_here"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("0.0.0.0", True),
        ("::", True),
        ("::ffff:127.0.0.1", True),
        ("93.184.216.34", False),
        ("::ffff:93.184.216.34", False),
        ("2606:2800:220:1::1", False),
    ],
)
def test_addresses_of_this_machine_are_told_from_others(address: str, is_here: bool) -> None:
    assert is_of_this_machine(address) is is_here


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "[::1]", "0.0.0.0", "[::]", "[::ffff:127.0.0.1]", "127.9.9.9", "evil.example"]
)
async def test_a_wide_policy_opens_no_port_of_our_own_by_any_form_of_the_address(tmp_path: Path, host: str) -> None:
    wide = network("127.0.0.0/8:*", "[::]/0:*", "0.0.0.0/0:*", "*:*", "localhost:*", "evil.example:*=127.0.0.0/8")
    site = Site()

    async def resolve(asked: str, _port: int) -> list[str]:
        return ["127.0.0.1"] if asked in ("localhost", "evil.example") else [asked]

    async with rig(site, policy=wide, resolver=resolve, own_ports=OwnPorts(tmp_path)) as it:
        answers = [await it.ask(ask(host, site.port)) for ask in (get, connect)]

    assert all(b"own-service" in answer or b"the rule addresses:" in answer for answer in answers), answers
    assert site.got == []


async def test_a_site_of_somebody_else_on_this_machine_is_reached(tmp_path: Path) -> None:
    async with rig(policy=network("127.0.0.0/8:*"), own_ports=OwnPorts(tmp_path)) as it:
        with serving() as (_, port):
            reader, writer = await it.connect()
            writer.write(connect("127.0.0.1", port))
            answer = await asyncio.wait_for(reader.readline(), 5)
            writer.close()

    assert answer.startswith(b"HTTP/1.1 200 ")


def _asked_as_nobody(home: Path, port: int) -> bool:
    """The answer of a process of another user, who may read the home."""
    for folder in (home / ENTRIES, home):
        folder.mkdir(exist_ok=True)
        folder.chmod(0o755)
    child = os.fork()
    if not child:
        try:
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            os._exit(int(OwnPorts(home).has(port)))
        finally:  # whatever happens, the child runs none of pytest
            os._exit(2)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, 1), "the other user could not look"
    return code == 1
