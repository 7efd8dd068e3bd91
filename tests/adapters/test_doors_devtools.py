"""DevTools is spoken by the keeper alone: no port, no other user, and no client in another one's sessions."""

import asyncio
import contextlib
import json
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from playwright.async_api import Playwright

from replaywright.browser.devtools.attach import ChromiumBrowsers
from replaywright.browser.devtools.cdp import BrowserConnection, CdpFailed, CdpSession, EvaluationCounter, connected
from replaywright.browser.devtools.endpoint import reachable
from replaywright.keeper.host.client import KeeperHandle, launch_keeper
from replaywright.keeper.protocol import DEVTOOLS_NAME, SOCKET_NAME
from tests.adapters.other_user import NOBODY, needs_other_user
from tests.adapters.test_keeper import driving, first_page, options, playwright, processes_of, site
from tests.waiting import until

__all__ = ["playwright", "site"]

KNOCKS = f"""
import os, socket, sys
os.setgroups([])
os.setgid({NOBODY})
os.setuid({NOBODY})
for path in sys.argv[1:]:
    knocking = socket.socket(socket.AF_UNIX)
    knocking.settimeout(5)
    try:
        knocking.connect(path)
        knocking.sendall(b'{{"id":1,"op":"status"}}\\nGET / HTTP/1.1\\r\\n\\r\\n')
        print("answered" if knocking.recv(1) else "cut off")
    except PermissionError:
        print("no way in")
    except ConnectionError:
        print("cut off")
"""
ASKS = ("GET /json/version HTTP/1.1", "GET /json/list HTTP/1.1", "GET /devtools/browser/x HTTP/1.1")


def knocked(paths: list[Path]) -> list[str]:
    """What a process of the user `nobody` meets at these sockets."""
    command = [sys.executable, "-I", "-c", KNOCKS, *map(str, paths)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd="/")
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


async def told_at(port: int) -> bytes:
    """All that a listening port answers to who asks it for DevTools."""
    told = b""
    for line in ASKS:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"{line}\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode())
        with contextlib.suppress(TimeoutError, ConnectionError):
            told += await asyncio.wait_for(reader.read(65536), 5)
        writer.close()
    return told


def listening(handle: KeeperHandle) -> dict[int, str]:
    """The TCP ports of a keeper and of everything that descends from it."""
    return {
        connection.laddr.port: process.name()
        for process in processes_of(handle)
        for connection in process.net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN
    }


@contextlib.asynccontextmanager
async def kept(folder: Path, **changes: object) -> AsyncIterator[KeeperHandle]:
    handle = await launch_keeper(folder, options(**changes))
    yield handle
    async with await handle.connect() as keeper:
        await keeper.close(99)
        await keeper.wait_until_gone()


@contextlib.asynccontextmanager
async def client(handle: KeeperHandle, epoch: int) -> AsyncIterator[BrowserConnection]:
    async with await handle.connect() as keeper:
        connection = await connected((await keeper.attach(epoch)).endpoint_url)
    yield connection
    connection.close()


def browser_of(connection: BrowserConnection, heard: list[tuple[str, Any]] | None = None) -> CdpSession:
    return CdpSession(
        connection, "", lambda _, *event: None if heard is None else heard.append(event), EvaluationCounter()
    )


async def test_no_port_of_a_keeper_or_its_browser_speaks_devtools(sessions: Path, playwright: Playwright) -> None:
    async with kept(sessions) as handle, await handle.connect() as keeper, driving(playwright, keeper, 1):
        await keeper.lend(1, "first", 60)
        ports = listening(handle)
        told = {port: await told_at(port) for port in ports}

    assert len(ports) >= 2, "at least the proxy and the address that is lent listen"
    assert not [port for port, answer in told.items() if b"webSocketDebuggerUrl" in answer or b" 101 " in answer]
    assert not [port for port, answer in told.items() if b" 200 " in answer]


@needs_other_user
async def test_another_user_gets_into_neither_socket(open_folder: Path) -> None:
    async with kept(open_folder) as handle:
        sockets = [handle.directory / SOCKET_NAME, handle.directory / DEVTOOLS_NAME]
        found = sorted(path.name for path in handle.directory.iterdir() if stat.S_ISSOCK(path.stat().st_mode))
        modes = [stat.S_IMODE(path.stat().st_mode) for path in sockets]
        met = knocked(sockets)

        open_folder.chmod(0o755)
        handle.directory.chmod(0o755)
        for path in sockets:
            path.chmod(0o666)
        met_where_the_folder_is_open = knocked(sockets)

    assert found == sorted(path.name for path in sockets)
    assert modes == [0o600, 0o600]
    assert met == ["no way in"] * 2
    assert met_where_the_folder_is_open == ["cut off"] * 2


async def test_a_client_addresses_no_session_of_another_client(sessions: Path) -> None:
    async with kept(sessions) as handle, client(handle, 1) as ours, client(handle, 1) as others:
        theirs = browser_of(others)
        page = (await theirs.send("Target.getTargets"))["targetInfos"][0]["targetId"]
        session = (await theirs.send("Target.attachToTarget", {"targetId": page, "flatten": True}))["sessionId"]
        mine = CdpSession(ours, session, lambda *_: None, EvaluationCounter())

        with pytest.raises(CdpFailed, match="Session with given id not found"):
            await mine.send("Runtime.evaluate", {"expression": "location.href"})
        with pytest.raises(CdpFailed):
            await browser_of(ours).send("Target.detachFromTarget", {"sessionId": session})
        still = await CdpSession(others, session, lambda *_: None, EvaluationCounter()).send(
            "Runtime.evaluate", {"expression": "1"}
        )

    assert still["result"]["value"] == 1


async def test_a_client_hears_nothing_of_the_sessions_of_another_and_leaves_nothing_behind(sessions: Path) -> None:
    heard: list[tuple[str, Any]] = []
    async with kept(sessions) as handle, client(handle, 1) as stays:
        staying = browser_of(stays, heard)
        async with client(handle, 1) as goes:
            going = browser_of(goes)
            await going.send("Target.setDiscoverTargets", {"discover": True})
            await going.send(
                "Target.setAutoAttach", {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}
            )
            context = (await going.send("Target.createBrowserContext", {"disposeOnDetach": True}))["browserContextId"]
            await going.send("Target.createTarget", {"url": "about:blank", "browserContextId": context})
            before = (await staying.send("Target.getBrowserContexts"))["browserContextIds"]

        async def is_gone() -> bool:
            return context not in (await staying.send("Target.getBrowserContexts"))["browserContextIds"]

        await until(is_gone)
        opened = await staying.send("Target.createTarget", {"url": "about:blank"})
        page = await staying.attached(opened["targetId"], lambda *_: None, EvaluationCounter())
        runs = await page.send("Runtime.evaluate", {"expression": "1 + 1"}, timeout_s=5)

    assert context in before
    assert runs["result"]["value"] == 2, "a page that nobody stops runs"
    assert {method for method, _ in heard} <= {"Target.attachedToTarget", "closed"}


async def test_a_client_that_reads_nothing_holds_up_no_other(sessions: Path) -> None:
    long = {"expression": "'x'.repeat(8000000)"}
    async with kept(sessions) as handle, client(handle, 1) as reads:
        reading = browser_of(reads)
        page = (await reading.send("Target.getTargets"))["targetInfos"][0]["targetId"]
        async with client(handle, 1) as sleeps:
            asleep = await browser_of(sleeps).attached(page, lambda *_: None, EvaluationCounter())
            transport = sleeps._transport
            assert transport is not None
            transport.pause_reading()
            waiting = [asleep.post("Runtime.evaluate", long) for _ in range(4)]
            awake = await reading.attached(page, lambda *_: None, EvaluationCounter())
            told = await awake.send("Runtime.evaluate", long, timeout_s=15)
            transport.resume_reading()
            late = await asyncio.gather(*waiting)

    assert len(told["result"]["value"]) == 8_000_000
    assert [len(one["result"]["value"]) for one in late] == [8_000_000] * 4


async def test_a_fence_cuts_the_old_client_and_its_endpoint_lets_nobody_in(sessions: Path) -> None:
    async with kept(sessions) as handle:
        async with await handle.connect() as keeper:
            old = (await keeper.attach(1)).endpoint_url
            connection = await connected(old)
            browser = browser_of(connection)
            await browser.send("Browser.getVersion")

            await keeper.fence(2)
            with pytest.raises(CdpFailed) as late:
                await browser.send("Browser.getVersion")
            with pytest.raises(OSError, match="404"):
                await connected(old)
            new = (await keeper.attach(2)).endpoint_url
        version = await browser_of(await connected(new)).send("Browser.getVersion")

    assert late.value.closed
    assert "Chrome" in version["product"]


async def test_without_its_token_the_socket_serves_nobody(sessions: Path) -> None:
    async with kept(sessions) as handle, await handle.connect() as keeper:
        endpoint = (await keeper.attach(1)).endpoint_url
        answers = []
        for resource in ("/", "/json/version", "/json/list", "/devtools/browser/x"):
            with reachable(endpoint) as (path, _):
                reader, writer = await asyncio.open_unix_connection(path)
            writer.write(
                f"GET {resource} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode()
            )
            answers.append((await reader.readline()).split(b" ")[1])
            writer.close()

    assert answers == [b"404"] * 4


@pytest.mark.parametrize("name", ["a blank, a:colon, a%20percent and Ä", "l" * 120])
async def test_a_worker_attaches_whatever_the_path_of_the_session_is(tmp_path: Path, name: str) -> None:
    browsers = ChromiumBrowsers()
    async with kept(tmp_path / name) as handle:
        async with await handle.connect() as keeper:
            session = await browsers.attach((await keeper.attach(1)).endpoint_url)
        url = session.tabs.current.url
        await session.detach()
    await browsers.close()

    assert url == "about:blank"


async def test_the_files_of_devtools_come_from_a_page_that_no_client_sees(
    sessions: Path, playwright: Playwright
) -> None:
    heard: list[tuple[str, Any]] = []
    async with kept(sessions) as handle, client(handle, 1) as connection:
        watching = browser_of(connection, heard)
        await watching.send("Target.setDiscoverTargets", {"discover": True})
        await watching.send(
            "Target.setAutoAttach", {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}
        )
        async with await handle.connect() as keeper, driving(playwright, keeper, 1) as browser:
            before = (await watching.send("Target.getTargets"))["targetInfos"]
            lent = await keeper.lend(1, "first", 60)
            port, token = Path(lent.file).read_text().strip().removeprefix("http://127.0.0.1:").rstrip("/").split("/")
            reader, writer = await asyncio.open_connection("127.0.0.1", int(port))
            writer.write(f"GET /{token}/devtools/inspector.html HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
            answer = await reader.read()
            writer.close()
            after = (await watching.send("Target.getTargets"))["targetInfos"]
            pages = [page.url for context in browser.contexts for page in context.pages]
            page = await first_page(browser)
            reached = await page.evaluate(
                "fetch('devtools://devtools/bundled/inspector.html').then(() => 'reached', () => 'refused')"
            )

    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"<title>DevTools</title>" in answer
    assert [info["targetId"] for info in after] == [info["targetId"] for info in before]
    assert pages == ["about:blank"]
    assert "devtools://" not in json.dumps(heard)
    assert reached == "refused"
