"""Attaching: given up half way, and after another worker, with what it knew and in the tab that it left."""

import asyncio
import signal
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest
from websockets.asyncio.server import ServerConnection, serve
from websockets.http11 import Request, Response

from replaywright.browser.devtools.attach import ChromiumBrowsers
from tests.adapters.browser_site import Site
from tests.adapters.chromium import Chromium, leave_one_blank_tab
from tests.adapters.steps import button, link, opened, work
from tests.waiting import until

BUYING = "<title>Shop</title><button onclick=\"w.send('buy')\">Buy</button>"
OPENED = """new Promise(done => {
  window.w = new WebSocket(`ws://${location.host}/live?token=x`);
  w.onopen = () => done();
})"""


def shown(connection: ServerConnection, request: Request) -> Response | None:
    """The page, where no WebSocket is asked for."""
    if "Upgrade" in request.headers:
        return None
    response = connection.respond(200, BUYING)
    response.headers["Content-Type"] = "text/html"
    return response


async def swallow(connection: ServerConnection) -> None:
    """Take messages until the end."""
    async for _ in connection:
        pass


def connected_to(endpoint: str) -> bool:
    port = urlsplit(endpoint).port
    return any(
        connection.raddr.port == port
        for process in [psutil.Process(), *psutil.Process().children()]
        for connection in process.net_connections("tcp")
        if connection.status == psutil.CONN_ESTABLISHED
    )


async def test_who_stops_waiting_leaves_nobody_connected_and_no_error_for_another_session(
    endpoint: str, chromium_path: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    browsers = ChromiumBrowsers()
    session = await browsers.attach(endpoint)  # the driver runs
    async with Chromium(chromium_path, tmp_path) as slow:
        attaching = asyncio.create_task(browsers.attach(slow))
        for _ in range(50):
            await asyncio.sleep(0)  # the driver is asked
        time.sleep(1)  # noqa: ASYNC251 - the worker is held up while its driver connects and says so
        attaching.cancel()
        await asyncio.wait([attaching])
        await until(lambda: not connected_to(slow))
    url = await session.tabs.current.page.evaluate("location.href")
    await session.detach()
    await browsers.close()

    assert attaching.cancelled()
    assert url == "about:blank"
    assert "event listener" not in caplog.text


async def test_who_attaches_later_knows_where_messages_of_an_open_websocket_go(tmp_path: Path, endpoint: str) -> None:
    browsers, directory = ChromiumBrowsers(), str(tmp_path)
    async with serve(swallow, "127.0.0.1", 0, process_request=shown) as server:
        address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        first = await browsers.attach(endpoint, directory)
        await first.perform(work("goto", url=f"http://{address}/"))
        await first.tabs.current.page.evaluate(OPENED)
        await first.detach()

        second = await browsers.attach(endpoint, directory)
        known = second.open_sockets
        report = await second.perform(work("click", button("Buy"), effect="commit"))
        await second.tabs.current.page.evaluate("w.close()")
        await until(lambda: not second.open_sockets)
        third = await browsers.attach(endpoint, directory)
        left = third.open_sockets
        await third.detach()
        await leave_one_blank_tab(endpoint, second)
    await browsers.close()

    assert known == (f"ws://{address}/live",)
    assert [request.url for request in report.evidence.requests] == [f"ws://{address}/live"]
    assert left == ()


_KILLED = """
import asyncio, sys
from replaywright.browser.devtools.attach import ChromiumBrowsers
from tests.adapters.steps import PREDICATE, work

async def main(endpoint, directory, url, asked):
    session = await ChromiumBrowsers().attach(endpoint, directory)
    await session.perform(work("goto", url=url))
    never = PREDICATE.validate_python({"text_contains": "never", "within_ms": 60_000})
    asking = asyncio.create_task(session.ask_site([work("goto", url=asked)], [never]))
    while not any(tab.url == asked and tab.main.loaded for tab in session.tabs.attached):
        await asyncio.sleep(0.01)
    print("asking", flush=True)
    await asking

asyncio.run(main(*sys.argv[1:]))
"""


async def test_who_attaches_after_a_worker_that_was_killed_while_asking_acts_in_the_page_of_the_run(
    site: Site, chromium_path: Path, tmp_path: Path
) -> None:
    browsers, asked = ChromiumBrowsers(), site.url("browser_second.html")
    async with Chromium(chromium_path, tmp_path) as endpoint:
        command = (sys.executable, "-c", _KILLED, endpoint, str(tmp_path), site.url("browser_basic.html"), asked)
        killed = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        assert killed.stdout is not None
        async with asyncio.timeout(30):
            assert await killed.stdout.readline() == b"asking\n"
        killed.send_signal(signal.SIGKILL)
        await killed.wait()

        session = await browsers.attach(endpoint, str(tmp_path))
        report = await session.perform(work("click", button("Count")))
        tabs = [page.url for page in session.tabs.current.page.context.pages]
        await session.detach()
    await browsers.close()

    assert report.title == "Basic"
    assert tabs == [site.url("browser_basic.html")]


async def in_another(browsers: ChromiumBrowsers, endpoint: str, directory: Path) -> str:
    """Attach once more, and tell the address of the page that steps act in."""
    session = await browsers.attach(endpoint, str(directory))
    url = session.url
    await session.detach()
    return url


async def test_who_attaches_later_goes_on_in_the_tab_that_the_last_step_led_to(
    site: Site, chromium_path: Path, tmp_path: Path
) -> None:
    browsers, first, second = ChromiumBrowsers(), site.url("browser_basic.html"), site.url("browser_second.html")
    async with Chromium(chromium_path, tmp_path) as endpoint:
        session = await browsers.attach(endpoint, str(tmp_path))
        await opened(session, site, "browser_basic.html")
        await session.perform(work("click", link("New tab"), expect=[{"url_contains": "second"}]))
        in_popup = await in_another(browsers, endpoint, tmp_path)
        await session.perform(work("switch_tab", url_contains="browser_basic"))
        in_opener = await in_another(browsers, endpoint, tmp_path)
        await session.detach()
    await browsers.close()

    assert (in_popup, in_opener) == (second, first)


async def test_a_step_that_was_lost_is_done_again_in_the_tab_that_it_began_in(
    site: Site, chromium_path: Path, tmp_path: Path
) -> None:
    browsers = ChromiumBrowsers()
    async with Chromium(chromium_path, tmp_path) as endpoint:
        session = await browsers.attach(endpoint, str(tmp_path))
        await opened(session, site, "browser_basic.html")
        never = {"text_contains": "never"}
        lost = asyncio.create_task(session.perform(work("click", link("New tab"), expect=[never], timeout_ms=30_000)))
        await until(lambda: "second" in session.url)
        lost.cancel()
        await asyncio.wait([lost])
        again = await in_another(browsers, endpoint, tmp_path)
        await session.detach()
    await browsers.close()

    assert again == site.url("browser_basic.html")
