"""The doors of a running stack on its own machine, found by looking."""

import asyncio
import os
import secrets
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

import psutil
import pytest
from playwright.async_api import async_playwright
from temporalio.client import Client

from replaywright.stack import Child, RunningStack, read_running, start_child, temporal
from tests.adapters.other_user import NOBODY, ask_as_another_user, needs_other_user

READY_S = 90


@asynccontextmanager
async def running_up(home: Path, chromium: Path, *words: str, **variables: str) -> AsyncIterator[Child]:
    """`replaywright up`, until it says that it is ready."""
    environment = {
        "REPLAYWRIGHT_HOME": str(home),
        "REPLAYWRIGHT_CHROMIUM": str(chromium),
        "PYTHONUNBUFFERED": "1",
        **variables,
    }
    command = [sys.executable, "-P", "-m", "replaywright", "up", *words]
    up = start_child("up", command, log=home.parent / "up.log", environment=environment)

    async def is_ready() -> bool:
        return "ready:" in up.log.read_text()

    try:
        await up.wait_until(is_ready, READY_S)
        yield up
    finally:
        await up.stop(grace_s=60)


def processes_of(home: Path) -> dict[int, str]:
    """Pid → command line of all processes that have to do with this home: by its name, and their descendants."""
    found: dict[int, str] = {}
    for process in psutil.process_iter():
        try:
            words = process.cmdline()
            if any(str(home) in word for word in (*words, *process.environ().values(), process.cwd())):
                for each in (process, *process.children(recursive=True)):
                    found[each.pid] = " ".join(each.cmdline())
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    found.pop(os.getpid(), None)
    return found


def with_in_environment(value: str) -> set[int]:
    """All processes of the machine that have this in their environment."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if value.encode() in (folder / "environ").read_bytes():
                found.add(int(folder.name))
        except OSError:
            continue
    return found


async def test_secrets_of_ups_environment_are_in_no_process_that_does_not_need_them(
    tmp_path: Path, chromium_path: Path
) -> None:
    home = tmp_path / "home"
    site, provider, cloud = (secrets.token_hex(16) for _ in range(3))
    given = {"REPLAYWRIGHT_SECRET_X": site, "OPENAI_API_KEY": provider, "AWS_SECRET_ACCESS_KEY": cloud}
    roles = [word for role in ("workflow", "browser", "model") for word in ("--role", role)]
    async with running_up(home, chromium_path, *roles, REPLAYWRIGHT_MODEL="openai:gpt-5", **given) as up:
        deadline = time.monotonic() + READY_S
        while "--type=renderer" not in " ".join(processes_of(home).values()):
            assert time.monotonic() < deadline, "the spare browser does not come up"
            await asyncio.sleep(0.2)
        processes = processes_of(home)
        holders = {value: with_in_environment(value) for value in given.values()}
        cores = {pid: psutil.Process(pid).rlimit(psutil.RLIMIT_CORE)[0] for pid in processes if pid != up.pid}

    def called(words: str) -> set[int]:
        return {pid for pid, command in processes.items() if words in command}

    for part in ("start-dev", "-server ", "replaywright.keeper", "--type=renderer", "run-driver"):
        assert called(part), f"no process of {part} was looked at: {sorted(processes.values())}"
    assert holders[site] == {up.pid} | called("worker --role browser")
    assert holders[provider] == {up.pid} | called("worker --role model")
    assert holders[cloud] == {up.pid}
    assert {pid: limit for pid, limit in cores.items() if limit not in (0, 1)} == {}


H2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"
"""How a client of gRPC begins."""


def get(path: str, host: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()


def listening(pids: Collection[int]) -> dict[int, set[str]]:
    """Port → network namespaces, of each TCP port that one of these processes listens on."""
    found: dict[int, set[str]] = {}
    for pid in pids:
        folder = Path(f"/proc/{pid}")
        try:
            sockets = {str(file.readlink()) for file in (folder / "fd").iterdir()}
            network = str((folder / "ns" / "net").readlink())
            tables = [(network, folder), (str(Path("/proc/self/ns/net").readlink()), Path("/proc/self"))]
            for namespace, place in tables:
                for table in ("tcp", "tcp6"):
                    for line in (place / "net" / table).read_text().splitlines()[1:]:
                        fields = line.split()
                        if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:
                            found.setdefault(int(fields[1].rpartition(":")[2], 16), set()).add(namespace)
        except OSError:
            continue
    return found


def unix_sockets(pids: Collection[int]) -> set[str]:
    """Paths of the unix sockets that these processes listen on."""
    held = {str(file.readlink()) for pid in pids for file in Path(f"/proc/{pid}/fd").iterdir() if file.is_symlink()}
    lines = (line.split() for line in Path("/proc/net/unix").read_text().splitlines()[1:])
    return {fields[7] for fields in lines if len(fields) > 7 and f"socket:[{fields[6]}]" in held}


@dataclass
class Doors:
    """A stack with a worker that needs no browser, and what is open of it."""

    running: RunningStack
    pids: set[int]

    @property
    def reachable(self) -> set[int]:
        """TCP ports in the network of everybody on this machine."""
        here = str(Path("/proc/self/ns/net").readlink())
        return {port for port, networks in listening(self.pids).items() if here in networks}

    @property
    def grpc(self) -> int:
        return int(self.running.temporal_address.rpartition(":")[2])

    @property
    def ui(self) -> SplitResult:
        return urlsplit(self.running.temporal_ui_url or "")

    async def runs(self) -> int:
        client = await Client.connect(self.running.temporal_address)
        return (await client.count_workflows()).count


@pytest.fixture(scope="module")
async def doors(tmp_path_factory: pytest.TempPathFactory, chromium_path: Path) -> AsyncIterator[Doors]:
    home = tmp_path_factory.mktemp("doors") / "home"
    async with running_up(home, chromium_path, "--role", "workflow") as up:
        running = read_running(home)
        assert running is not None
        yield Doors(running, set(processes_of(home)) - {up.pid})


async def test_temporal_and_redis_open_two_ports_for_all_and_everything_else_elsewhere(doors: Doors) -> None:
    everywhere = listening(doors.pids)

    assert doors.reachable == {doors.grpc, doors.ui.port}
    assert len(everywhere) - len(doors.reachable) >= 5, "Temporal listens on more than that, in its own network"


@needs_other_user
async def test_another_user_gets_nothing_of_what_the_stack_listens_on(doors: Doors) -> None:
    before = await doors.runs()
    api = "/api/v1/namespaces"
    for port in sorted(doors.reachable):
        hosts = (f"127.0.0.1:{port}", "localhost", doors.ui.netloc)
        for data in (H2, b"PING\r\nINFO\r\n", *(get(api, host) for host in hosts)):
            try:
                answer = await ask_as_another_user(port, data)
            except subprocess.CalledProcessError as silent:
                if "TimeoutError" in silent.stderr:
                    continue
                raise
            assert answer == b"" or answer.startswith(b"HTTP/1.1 4"), (port, data, answer)
            assert b"namespaceInfo" not in answer
    sockets = unix_sockets(doors.pids)
    assert any(path.endswith("redis.sock") for path in sockets)
    for path in sockets:
        assert not await reaches(path), path

    assert await own(doors.grpc, H2), "gRPC answers this user"
    assert await doors.runs() == before


async def reaches(path: str) -> bool:
    """Whether another user can connect to this unix socket."""
    program = (
        f"import os, socket, sys; os.setgroups([]); os.setuid({NOBODY})\n"
        "try: socket.socket(socket.AF_UNIX).connect(sys.argv[1])\nexcept OSError: sys.exit(3)"
    )
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", program, path)
    status = await process.wait()
    assert status in (0, 3)
    return status == 0


async def own(port: int, data: bytes) -> bytes:
    """What this user is answered first."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    answer = await asyncio.wait_for(reader.read(100), 10)
    writer.close()
    return answer


async def test_a_forged_host_and_a_missing_token_get_nothing_of_the_ui(doors: Doors) -> None:
    assert doors.ui.port is not None
    for host, status in (("127.0.0.1", b"421"), ("localhost:8233", b"421"), ("evil.example", b"421")):
        assert (await own(doors.ui.port, get("/api/v1/namespaces", host))).startswith(b"HTTP/1.1 " + status)
    assert (await own(doors.ui.port, get("/api/v1/namespaces", doors.ui.netloc))).startswith(b"HTTP/1.1 401")
    of_grpc = await own(doors.grpc, get("/api/v1/namespaces", "localhost"))
    assert not of_grpc.startswith(b"HTTP/1"), "browsers take nothing else from a port like this"


START = '{"workflowType": {"name": "BrowserTask"}, "taskQueue": {"name": "replaywright"}, "requestId": "r"}'
TRIES = """async ([addresses, start]) => {
    const told = [];
    for (const address of addresses)
        for (const mode of ["cors", "no-cors"])
            for (const [method, body] of [["GET", undefined], ["POST", start]])
                try {
                    const answer = await fetch(address, {mode, method, body, credentials: "include"});
                    told.push(await answer.text());
                } catch { told.push(""); }
    return told;
}"""


async def test_a_page_of_another_origin_reads_and_starts_nothing_though_its_user_has_entered_the_ui(
    doors: Doors, chromium_path: Path
) -> None:
    before = await doors.runs()
    path = "/api/v1/namespaces/default/workflows/from-a-page"
    hosts = [doors.ui.netloc, *(f"127.0.0.1:{port}" for port in sorted(doors.reachable))]
    other = await asyncio.start_server(page_of_another_origin, "127.0.0.1", 0)
    async with async_playwright() as playwright, other:
        browser = await playwright.chromium.launch(
            executable_path=str(chromium_path), chromium_sandbox=os.geteuid() != 0
        )
        context = await browser.new_context()
        ui = await context.new_page()
        await ui.goto(doors.ui.geturl())
        await ui.get_by_text("Workflows").first.wait_for()
        inside = await ui.evaluate("async () => (await fetch('/api/v1/namespaces')).text()")
        page = await context.new_page()
        for origin in ("127.0.0.1", "localhost", f"x.{doors.ui.hostname}"):
            await page.goto(f"http://{origin}:{other.sockets[0].getsockname()[1]}/")
            told = await page.evaluate(TRIES, [[f"http://{host}{path}" for host in hosts], START])
            assert set(told) == {""}
        await browser.close()

    assert "namespaceInfo" in inside
    assert await doors.runs() == before


async def page_of_another_origin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi")
    await writer.drain()
    writer.close()


async def test_where_no_namespaces_are_allowed_there_is_no_ui_and_the_http_api_answers_nobody(
    temporal_binary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(temporal, "why_not_apart", lambda: "not allowed here")
    server = await temporal.DevServer(temporal_binary, log=tmp_path / "temporal.log").start()
    try:
        answers = [
            await own(port, get("/api/v1/namespaces", "127.0.0.1")) for port in sorted(listening({server.child.pid}))
        ]
    finally:
        await server.child.stop()

    assert server.ui_url is None
    assert any(b" 403 " in answer for answer in answers), "the HTTP API is one of the ports that were asked"
    assert not any(b"namespaceInfo" in answer for answer in answers)
