"""A Chromium that runs already, with a context for each session: gate, policy, and what dies with what."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.async_api import Browser, Error, Playwright, async_playwright

from replaywright.errors import KeeperRefused, KeeperUnavailable
from replaywright.keeper.host.client import KeeperHandle, launch_keeper, list_live, read_record
from replaywright.keeper.protocol import KeeperOptions, RemoteBrowser, SessionState
from replaywright.testing.keepers import ANYWHERE
from tests.adapters.chromium import Chromium
from tests.adapters.test_keeper import CHROMIUM, Site, connected, options
from tests.waiting import until

FLAGS = ("--webrtc-ip-handling-policy=disable_non_proxied_udp", "--disable-quic")


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    site = Site()
    server = await asyncio.start_server(site.serve, "127.0.0.1", 0)
    site.port = server.sockets[0].getsockname()[1]
    yield site
    server.close()


@pytest.fixture(scope="module")
async def chromium(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Chromium]:
    browser = Chromium(Path(CHROMIUM), tmp_path_factory.mktemp("remote") / "profile", *FLAGS)
    async with browser:
        yield browser


@pytest.fixture
async def sessions(chromium: Chromium, tmp_path: Path) -> AsyncIterator[Path]:
    """A directory for sessions that do not outlive the test, neither here nor in the browser."""
    directory = tmp_path / "sessions"
    yield directory
    for record in list_live(directory):
        with contextlib.suppress(ProcessLookupError):
            os.kill(record.keeper.pid, signal.SIGKILL)
    await until(lambda: has_tabs(chromium, 0))


@pytest.fixture(scope="module")
async def driver() -> AsyncIterator[Playwright]:
    async with async_playwright() as driver:
        yield driver


def wanted(chromium: Chromium, **changes: object) -> KeeperOptions:
    return options(executable="", remote=RemoteBrowser(endpoint=chromium.address), **changes)


async def has_tabs(chromium: Chromium, count: int) -> bool:
    """Whether so many are open beside the one that the browser started with."""
    async with httpx.AsyncClient() as http:
        found = (await http.get(f"{chromium.address}/json/list")).json()
    return len([tab for tab in found if tab["type"] == "page"]) == count + 1


async def attached(handle: KeeperHandle, driver: Playwright, epoch: int) -> Browser:
    async with await handle.connect() as keeper:
        return await connected(driver, await keeper.attach(epoch))


async def test_a_click_is_held_at_the_gate_and_is_sent_once_though_its_worker_changes(
    chromium: Chromium, sessions: Path, driver: Playwright, site: Site
) -> None:
    handle = await launch_keeper(sessions, wanted(chromium))
    lost = await attached(handle, driver, 1)
    page = lost.contexts[0].pages[0]
    await page.goto(site.url)
    await page.fill("#who", "Ada")
    async with await handle.connect() as keeper:
        await keeper.arm("op", 1, 60_000)
        await page.click("#fetch")
        held = await keeper.wait_held("op", 10_000)
        assert [urlsplit(one.url).path for one in held.waiting] == ["/fetch"]
        assert site.posts == []

        adopted = await attached(handle, driver, 2)
        page = adopted.contexts[0].pages[0]

        assert (page.url, await page.input_value("#who")) == (site.url, "Ada")
        assert not lost.is_connected()
        assert (await keeper.settle("permit", "op", 2)).phase == "permitted"
        await page.wait_for_function("document.title.startsWith('200')")
        assert site.posts == ["/fetch"]
    await adopted.close()


async def test_sessions_in_one_browser_see_neither_each_others_pages_nor_cookies(
    chromium: Chromium, sessions: Path, driver: Playwright, site: Site
) -> None:
    ours, others = [await launch_keeper(sessions, wanted(chromium)) for _ in range(2)]
    here, there = [await attached(handle, driver, 1) for handle in (ours, others)]
    await here.contexts[0].add_cookies([{"name": "who", "value": "us", "url": site.url}])
    async with here.contexts[0].expect_page() as opening:
        await here.contexts[0].pages[0].evaluate("url => { window.open(url) }", site.url)
    popup = await opening.value
    await popup.wait_for_load_state()

    assert [len(browser.contexts[0].pages) for browser in (here, there)] == [2, 1]
    assert [len(await browser.contexts[0].cookies()) for browser in (here, there)] == [1, 0]
    assert await popup.title() == "Order"
    await here.close()
    await there.close()


async def test_a_worker_makes_no_context_that_goes_round_the_proxy(
    chromium: Chromium, sessions: Path, driver: Playwright
) -> None:
    handle = await launch_keeper(sessions, wanted(chromium))
    browser = await attached(handle, driver, 1)

    with pytest.raises(Error, match="not for one session"):
        await browser.new_context()

    await browser.close()


async def test_the_network_policy_holds(chromium: Chromium, sessions: Path, driver: Playwright, site: Site) -> None:
    handle = await launch_keeper(sessions, wanted(chromium, network=ANYWHERE))
    browser = await attached(handle, driver, 1)

    answer = await browser.contexts[0].pages[0].goto(site.url)

    assert answer is not None
    assert answer.status == 403
    async with await handle.connect() as keeper:
        assert [refused.port for refused in (await keeper.network()).refused] == [site.port]
    await browser.close()


async def test_without_its_keeper_nothing_of_a_session_is_left(chromium: Chromium, sessions: Path) -> None:
    handle = await launch_keeper(sessions, wanted(chromium))
    assert await has_tabs(chromium, 1)

    os.kill(handle.record.keeper.pid, signal.SIGKILL)

    await until(lambda: has_tabs(chromium, 0))


async def test_a_session_that_is_closed_leaves_the_browser_to_the_others(chromium: Chromium, sessions: Path) -> None:
    ours, others = [await launch_keeper(sessions, wanted(chromium)) for _ in range(2)]

    async with await ours.connect() as keeper:
        await keeper.close(1)
        await keeper.wait_until_gone()

    await until(lambda: has_tabs(chromium, 1))
    async with await others.connect() as keeper:
        assert (await keeper.status()).chromium_alive


async def test_a_browser_that_dies_is_told_and_its_session_is_not_attached_to(tmp_path: Path, sessions: Path) -> None:
    mortal = Chromium(Path(CHROMIUM), tmp_path / "mortal", *FLAGS)
    async with mortal:
        handle = await launch_keeper(sessions, wanted(mortal))

    def is_told() -> bool:
        record = read_record(handle.directory)
        return record is not None and record.state is SessionState.BROWSER_DEAD

    await until(is_told)
    async with await handle.connect() as keeper:
        assert not (await keeper.status()).chromium_alive
        with pytest.raises(KeeperRefused, match="no browser to attach to"):
            await keeper.attach(2)


async def test_a_browser_that_does_not_come_to_the_proxy_is_not_used(chromium: Chromium, sessions: Path) -> None:
    nowhere = RemoteBrowser(endpoint=chromium.address, proxy_host="192.0.2.1")

    with pytest.raises(KeeperUnavailable, match="no commit gate and no network policy"):
        await launch_keeper(sessions, options(executable="", remote=nowhere))


async def test_a_browser_whose_pages_send_datagrams_past_the_proxy_is_not_used(tmp_path: Path, sessions: Path) -> None:
    open_browser = Chromium(Path(CHROMIUM), tmp_path / "open")
    async with open_browser:
        with pytest.raises(KeeperUnavailable, match="disable_non_proxied_udp"):
            await launch_keeper(sessions, wanted(open_browser))


async def test_an_endpoint_where_no_browser_is_is_named_without_its_token(sessions: Path) -> None:
    remote = RemoteBrowser(endpoint="ws://127.0.0.1:1/devtools/browser/x?token=hidden")

    with pytest.raises(KeeperUnavailable, match=r"no Chromium answers at ws://127\.0\.0\.1:1") as told:
        await launch_keeper(sessions, options(executable="", remote=remote))

    assert "hidden" not in str(told.value)
