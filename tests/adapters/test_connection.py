"""The connection of our own to Chromium, and the sessions on it."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import uvloop
from websockets.asyncio.server import ServerConnection, serve
from websockets.http11 import Request, Response

from bench.chaos.relay import Relay
from replaywright.browser.devtools.cdp import CdpFailed, CdpSession, EvaluationCounter, connected
from replaywright.browser.devtools.channel import Frame
from replaywright.browser.session import ChromiumSession
from tests.adapters.browser_site import Site
from tests.adapters.chromium import Chromium
from tests.adapters.steps import opened

NEVER = {"expression": "new Promise(() => {})", "awaitPromise": True}


class Heard:
    """A listener that remembers."""

    def __init__(self) -> None:
        self.methods: list[str] = []
        self.told = asyncio.Event()

    def __call__(self, _wire: CdpSession, method: str, _params: Mapping[str, Any]) -> None:
        self.methods.append(method)
        self.told.set()


def is_shown(frame: Frame, url: str) -> bool:
    return frame.url == url and bool(frame.context) and frame.loaded


@pytest.fixture
async def wire(session: ChromiumSession) -> CdpSession:
    return session.tabs.current.cdp


async def test_commands_arrive_in_the_order_in_which_they_were_posted(wire: CdpSession) -> None:
    await wire.send("Runtime.evaluate", {"expression": "var order = []"})

    posted = [wire.post("Runtime.evaluate", {"expression": f"order.push({number})"}) for number in range(50)]
    told = await wire.send("Runtime.evaluate", {"expression": "order", "returnByValue": True})

    assert told["result"]["value"] == list(range(50))
    assert [(await answer)["result"]["value"] for answer in posted] == list(range(1, 51))


async def test_an_answer_of_many_megabytes_comes_whole(wire: CdpSession) -> None:
    long = {"expression": "'x'.repeat(20e6)", "returnByValue": True}

    told = await wire.send("Runtime.evaluate", long)

    assert len(told["result"]["value"]) == 20_000_000


async def test_an_error_says_nothing_that_was_typed(wire: CdpSession) -> None:
    with pytest.raises(CdpFailed, match="hunter2"):
        await wire.send("Input.dispatchKeyEvent", {"type": "hunter2"})

    with pytest.raises(CdpFailed) as failed:
        await wire.send("Input.dispatchKeyEvent", {"type": "hunter2"}, secret=True)

    assert "hunter2" not in f"{failed.value} {failed.value.__cause__} {failed.value.__context__}"
    assert not failed.value.closed


async def test_a_page_that_is_closed_ends_what_waits_for_it(session: ChromiumSession) -> None:
    number = await session.tabs.new_window()
    await session.tabs.until(lambda: any(tab.main.id == number for tab in session.tabs.attached), 10)
    tab = next(tab for tab in session.tabs.attached if tab.main.id == number)
    waiting = [tab.cdp.post("Runtime.evaluate", NEVER) for _ in range(3)]

    await session.tabs.cdp.send("Target.closeTarget", {"targetId": number})
    failed = await asyncio.gather(*waiting, return_exceptions=True)
    await session.tabs.pulse.until(lambda: tab.closed, 10)
    afterwards = await asyncio.gather(tab.cdp.post("Page.enable"), return_exceptions=True)

    assert all(isinstance(error, CdpFailed) for error in failed)
    assert [error.closed for error in afterwards if isinstance(error, CdpFailed)] == [True]
    assert tab.closed


async def test_a_browser_that_is_gone_ends_all_that_waits_for_it(endpoint: str) -> None:
    async with Relay("127.0.0.1", int(endpoint.rpartition(":")[2])) as relay:
        connection = await connected(f"http://127.0.0.1:{relay.port}")
        heard = Heard()
        browser = CdpSession(connection, "", heard, EvaluationCounter())
        made = await browser.send("Target.createTarget", {"url": "about:blank"})
        page = await browser.attached(made["targetId"], heard, EvaluationCounter())
        waiting = [page.post("Runtime.evaluate", NEVER) for _ in range(3)]

    failed = await asyncio.gather(*waiting, return_exceptions=True)
    with pytest.raises(CdpFailed) as late:
        await browser.send("Browser.getVersion")

    assert [error.closed for error in failed if isinstance(error, CdpFailed)] == [True] * 3
    assert late.value.closed
    assert not connection.is_open
    assert heard.methods.count("closed") == 2


async def test_a_frame_that_goes_to_another_process_and_comes_back_stays_the_same_frame(
    session: ChromiumSession, site: Site
) -> None:
    await opened(session, site, "browser_basic.html")
    tab = session.tabs.current
    own = tab.url
    other = own.replace("127.0.0.1", "other.localhost")
    await tab.call(tab.main, "void document.body.append(document.createElement('iframe'))", timeout_s=5)
    await session.tabs.until(lambda: any(frame.context for frame in tab.children(tab.main)), 10)
    [frame] = tab.children(tab.main)
    processes = []
    for url in (own, other, own):
        await tab.call(tab.main, f"void (document.querySelector('iframe').src = {url!r})", timeout_s=5)
        assert await session.tabs.until(partial(is_shown, frame, url), 10)
        assert await session.tabs.until(lambda: not tab.frames_load, 10), (
            "that it has loaded is heard in either process"
        )
        processes.append(frame.cdp is tab.cdp)

    assert processes == [True, False, True]
    assert tab.children(tab.main) == [frame]
    assert await tab.call(frame, "location.href", timeout_s=5) == own


async def test_a_tab_that_crashes_is_known_to_at_once(chromium_path: Path, tmp_path: Path) -> None:
    async with Chromium(chromium_path, tmp_path) as endpoint:
        connection = await connected(endpoint)
        heard = Heard()
        browser = CdpSession(connection, "", heard, EvaluationCounter())
        made = await browser.send("Target.createTarget", {"url": "about:blank"})
        page = await browser.attached(made["targetId"], heard, EvaluationCounter())
        waiting = page.post("Runtime.evaluate", NEVER)

        page.notify("Page.crash")
        with pytest.raises(CdpFailed) as failed:
            await waiting
        connection.close()

    assert "Inspector.targetCrashed" in heard.methods
    assert failed.value.message == "the page crashed"


@pytest.fixture
async def stand_in() -> AsyncIterator[str]:
    """A stand-in for a browser: it says one thing in many pieces, and hangs up."""

    def version(connection: ServerConnection, request: Request) -> Response | None:
        if request.path != "/json/version":
            return None
        return connection.respond(200, f'{{"webSocketDebuggerUrl": "ws://{request.headers["Host"]}/devtools"}}')

    async def speak(connection: ServerConnection) -> None:
        await connection.recv()
        await connection.send(iter(['{"method": "Page.', 'frameNavigated", "par', 'ams": {}}']))

    async with serve(speak, "127.0.0.1", 0, process_request=version) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def test_a_message_in_pieces_is_one_and_what_waits_ends_when_the_browser_hangs_up(stand_in: str) -> None:
    connection = await connected(stand_in)
    heard = Heard()
    wire = CdpSession(connection, "", heard, EvaluationCounter())

    with pytest.raises(CdpFailed) as failed:
        await wire.send("Browser.getVersion")

    assert heard.methods == ["Page.frameNavigated", "closed"]
    assert failed.value.closed
    connection.close()


async def test_nobody_to_connect_to_is_an_error(stand_in: str) -> None:
    with pytest.raises(OSError, match="no browser answers"):
        await connected(f"{stand_in}/nowhere")


def test_it_speaks_on_the_event_loop_of_workers(chromium_path: Path, tmp_path: Path) -> None:
    async def asked() -> tuple[str, list[str]]:
        async with Chromium(chromium_path, tmp_path) as endpoint:
            connection = await connected(endpoint)
            heard = Heard()
            told = await CdpSession(connection, "", heard, EvaluationCounter()).send("Browser.getVersion")
            connection.close()
            return told["product"], heard.methods

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        product, heard = runner.run(asked())

    assert (product.partition("/")[0], heard) == ("Chrome", ["closed"])
