"""The browser in a person's hands: Chromium's DevTools through the keeper, for those who were given the address."""

import asyncio
import contextlib
import json
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Page, Playwright

from bench.chromium import launched
from replaywright.errors import Fenced
from replaywright.keeper.host.client import KeeperClient, launch_keeper
from tests.adapters.other_user import ask_as_another_user, needs_other_user
from tests.adapters.test_keeper import (
    CHROMIUM,
    Site,
    driving,
    first_page,
    options,
    playwright,
    site,
)
from tests.waiting import until

__all__ = ["playwright", "site"]


@contextlib.asynccontextmanager
async def kept(sessions: Path, playwright: Playwright, site: Site) -> AsyncIterator[KeeperClient]:
    """A keeper whose browser shows the site, and which no worker is attached to."""
    handle = await launch_keeper(sessions, options())
    async with await handle.connect() as keeper:
        async with driving(playwright, keeper, 1) as browser:
            await (await first_page(browser)).goto(site.url)
        yield keeper
        await keeper.close(9)


@contextlib.asynccontextmanager
async def person(address: str) -> AsyncIterator[Page]:
    """A person's own Chromium, with the address opened in it."""
    async with launched(Path(CHROMIUM)) as browser:
        page = await browser.new_page(viewport={"width": 1400, "height": 900})
        await page.goto(address)
        yield page


async def ask(address: str, headers: dict[str, str] | None = None) -> tuple[int, str]:
    """Status and text of what is answered there; redirects are not followed."""

    class Stays(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_: object) -> None:
            return None

    def got() -> tuple[int, str]:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), Stays)
        try:
            with opener.open(urllib.request.Request(address, headers=headers or {}), timeout=10) as reply:
                return reply.status, reply.read().decode(errors="replace")
        except urllib.error.HTTPError as refusal:
            return refusal.code, refusal.headers.get("Location") or ""

    return await asyncio.to_thread(got)


async def joined(port: str, path: str, origin: str = "") -> bytes:
    """The first line of the answer to whoever wants a WebSocket there."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(port))
    lines = [f"GET {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", "Connection: Upgrade", "Upgrade: websocket"]
    lines += ["Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="]
    lines += [f"Origin: {origin}"] if origin else []
    writer.write("\r\n".join([*lines, "", ""]).encode())
    line = await reader.readline()
    writer.close()
    with contextlib.suppress(ConnectionError):  # it was cut
        await writer.wait_closed()
    return line


@pytest.mark.long
async def test_a_person_clicks_in_the_live_page_and_what_left_is_known(
    sessions: Path, playwright: Playwright, site: Site
) -> None:
    async with kept(sessions, playwright, site) as keeper:
        lent = await keeper.lend(1, "first", 60)
        mode = Path(lent.file).stat().st_mode & 0o777
        async with person(Path(lent.file).read_text().strip()) as page:
            canvas = page.locator(".screencast-canvas-container canvas")
            await canvas.wait_for()
            box = await canvas.bounding_box()
            assert box is not None
            # Where the button is, in shares of the screencast; before its first picture is there, nothing happens.
            async with asyncio.timeout(20):
                while not site.posts:
                    await page.mouse.click(box["x"] + box["width"] * 0.166, box["y"] + box["height"] * 0.024)
                    await asyncio.sleep(0.5)
        taken = await keeper.take_back(1, "first")
        again = await keeper.take_back(1, "first")
        other = await keeper.take_back(1, "second")

    assert mode == 0o600
    assert not Path(lent.file).exists()
    assert "/form" in site.posts
    assert taken.lent
    assert any(one.startswith("POST ") and "/form" in one for one in taken.requests)
    assert again == taken
    assert not other.lent


async def test_only_the_address_that_was_given_leads_to_the_browser_and_only_to_its_pages(
    sessions: Path, playwright: Playwright, site: Site
) -> None:
    async with kept(sessions, playwright, site) as keeper:
        lent = await keeper.lend(1, "first", 60)
        address = Path(lent.file).read_text().strip()
        port, token = address.removeprefix("http://127.0.0.1:").rstrip("/").split("/")
        status, where = await ask(address)
        page = where.partition("?ws=")[2].partition("/")[2]

        refused = [
            await ask(f"http://127.0.0.1:{port}/"),
            await ask(f"http://127.0.0.1:{port}/json/list"),
            await ask(f"{address}json/list"),
            await ask(f"{address}json/version"),
            await ask(f"{address}json/new?about:blank"),
            await ask(f"{address}devtools/../json/list"),
            await ask(address, {"Host": "evil.example"}),
            await ask(address, {"Origin": "http://evil.example"}),
        ]
        own = await joined(port, f"/{page}", f"http://127.0.0.1:{port}")
        foreign = await joined(port, f"/{page}", "http://evil.example")
        whole = await joined(port, f"/{token}/devtools/browser/anything")
        unnamed = await joined(port, page.removeprefix(token))
        frontend, _ = await ask(f"{address}devtools/inspector.html")

    assert (status, frontend) == (302, 200)
    assert [code for code, _ in refused] == [404, 404, 404, 404, 404, 404, 403, 403]
    assert b" 101 " in own
    assert (b" 403 " in foreign, b" 404 " in whole, b" 404 " in unnamed) == (True, True, True)


@needs_other_user
async def test_another_user_who_has_the_address_is_refused(sessions: Path, playwright: Playwright, site: Site) -> None:
    async with kept(sessions, playwright, site) as keeper:
        lent = await keeper.lend(1, "first", 60)
        address = urlsplit(Path(lent.file).read_text().strip())
        assert address.port is not None
        asked = f"GET {address.path} HTTP/1.1\r\nHost: {address.netloc}\r\nConnection: close\r\n\r\n".encode()
        other = await ask_as_another_user(address.port, asked)
        own, _ = await ask(address.geturl())

    assert other.startswith(b"HTTP/1.1 403 ")
    assert own == 302


async def test_the_address_ends_with_its_time_with_a_greater_epoch_and_with_the_session(
    sessions: Path, playwright: Playwright, site: Site
) -> None:
    async def gone(address: str) -> bool:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", urlsplit(address).port)
        except OSError:
            return True
        writer.close()
        await writer.wait_closed()
        return False

    async with kept(sessions, playwright, site) as keeper:
        lent = await keeper.lend(1, "first", 0.2)
        first = Path(lent.file).read_text().strip()
        await until(lambda: gone(first))
        over = await keeper.take_back(1, "first")

        lent = await keeper.lend(1, "second", 60)
        second = Path(lent.file).read_text().strip()
        status = await keeper.status()
        await keeper.fence(2)
        await until(lambda: gone(second))
        taken = await keeper.take_back(2, "second")
        with pytest.raises(Fenced):
            await keeper.lend(1, "third", 60)

    assert over.lent
    assert first != second
    assert status.lease.left_s > 50
    assert taken.lent


@pytest.mark.long
async def test_who_has_the_address_gets_no_context_of_their_own_past_the_proxy(
    sessions: Path, playwright: Playwright, site: Site
) -> None:
    async with kept(sessions, playwright, site) as keeper:
        lent = await keeper.lend(1, "first", 60)
        address = Path(lent.file).read_text().strip()
        _, where = await ask(address)
        socket = "ws://" + where.partition("?ws=")[2]
        asked = {"id": 1, "method": "Target.createBrowserContext", "params": {"proxyServer": "direct://"}}
        async with person(address) as page:
            told = await page.evaluate(
                """([socket, asked]) => new Promise((done) => {
                    const one = new WebSocket(socket)
                    one.onopen = () => one.send(asked)
                    one.onmessage = (event) => { if (JSON.parse(event.data).id === 1) done(event.data) }
                })""",
                [socket, json.dumps(asked)],
            )

    assert "error" in json.loads(told)
