"""Lead a browser to addresses made to be read in two ways, by the tool and by a page, and count what gets inside."""

import asyncio
import contextlib
import json
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.async_api import Error as PlaywrightError

from bench.leaks.matrix import STEP_MS, Rig, keeper, only
from bench.leaks.sites import own
from bench.leaks.urls import hostile
from replaywright.browser.devtools.attach import ChromiumBrowsers
from replaywright.domain.session.network_policy import NetworkPolicy
from replaywright.domain.task.steps import Goto
from replaywright.errors import ActionFailed
from replaywright.ports.browser import Work

_BY_THE_PAGE = """async urls => {
  const settled = [];
  for (const url of urls) {
    try { settled.push(fetch(url, {mode: 'no-cors'}).catch(() => 0)); } catch {}
    try { new Image().src = url; } catch {}
    try { navigator.sendBeacon(url, 'x'); } catch {}
    try { const f = document.createElement('iframe'); f.src = url; document.body.append(f); } catch {}
    try { const a = document.createElement('a'); a.href = url; a.download = ''; a.click(); } catch {}
  }
  await Promise.race([Promise.all(settled), new Promise(over => setTimeout(over, 8000))]);
}"""


@dataclass(frozen=True)
class Hostile:
    """What became of all addresses."""

    urls: int
    refused: int
    """By the tool, before the browser was told of them."""
    reached_by_tool: int
    reached_by_page: int
    asked: int
    """Connections that the proxy refused."""


@dataclass
class Inside:
    """A server on every address of this machine that counts what comes to it."""

    port: int = 0
    reached: int = 0


@asynccontextmanager
async def inside() -> AsyncIterator[Inside]:
    """Listen on all of loopback, IPv6 too where this machine has it."""
    server = Inside()

    async def count(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server.reached += 1
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\nConnection: close\r\n\r\ninside"
            )
            await writer.drain()
        writer.close()

    first = await asyncio.start_server(count, "0.0.0.0", 0)  # noqa: S104 - it is to be found everywhere
    server.port = first.sockets[0].getsockname()[1]
    servers = [first]
    with contextlib.suppress(OSError):  # a machine without IPv6
        servers.append(await asyncio.start_server(count, "::1", server.port))
    try:
        yield server
    finally:
        for each in servers:
            each.close()


async def measure_hostile(chromium: Path, *, allow_all: bool = False, every: int = 1) -> Hostile:
    """Try every address, or one in `every`, by a goto and by a page in five ways."""
    async with AsyncExitStack() as exits:
        server = await exits.enter_async_context(inside())
        served = await exits.enter_async_context(own((), ()))
        urls = hostile(served.port, server.port)[::every]
        home = f"127.0.0.1:{served.port}"
        everywhere = (
            "127.0.0.0/8:*",
            "0.0.0.0/8:*",
            "[::]/127:*",
            "localhost:*",
            "*.localhost:*=127.0.0.0/8,::1",
            "*:*",
        )
        network: NetworkPolicy = only(*(everywhere if allow_all else (home,)))
        rig = await exits.enter_async_context(keeper(chromium, network))
        refused = await _by_tool(rig, urls, exits)
        by_tool, server.reached = server.reached, 0
        await _by_page(rig, f"http://{home}/", urls)
        seen = await rig.keeper.network()
        return Hostile(
            len(urls), refused, by_tool, server.reached, sum(each.count for each in seen.refused) + seen.more
        )


async def _by_tool(rig: Rig, urls: Sequence[str], exits: AsyncExitStack) -> int:
    """Open every address as a step does; how many the tool itself refuses."""
    browsers = ChromiumBrowsers()
    await browsers.start()
    exits.push_async_callback(browsers.close)
    session = await browsers.attach(rig.endpoint)
    exits.push_async_callback(session.detach)
    reasons: Counter[str] = Counter()
    for url in urls:
        try:
            await session.perform(Work(step=Goto(action="goto", url=url), timeout_ms=STEP_MS))
        except ActionFailed as exc:
            reasons[exc.reason] += 1
    return reasons["address_refused"] + reasons["scheme_refused"]


async def _by_page(rig: Rig, home: str, urls: Sequence[str]) -> None:
    """Have a page ask for all of them at once, then lead it to each."""
    page = await rig.context.new_page()
    await page.goto(home)
    with contextlib.suppress(PlaywrightError, TimeoutError):  # one of the addresses has led the page away
        async with asyncio.timeout(STEP_MS * 2 / 1000):
            await page.evaluate(_BY_THE_PAGE, list(urls))
    for url in urls:
        with contextlib.suppress(PlaywrightError, TimeoutError):
            async with asyncio.timeout(STEP_MS / 1000):
                if not page.url.startswith(home):
                    await page.goto(home, wait_until="commit")
                # Not waited for: where it leads to, if it leads anywhere, is counted there.
                await page.evaluate(f"setTimeout(() => {{ location.href = {json.dumps(url)} }})")
                await page.evaluate("new Promise(over => setTimeout(over, 30))")
    with contextlib.suppress(PlaywrightError, TimeoutError):
        async with asyncio.timeout(STEP_MS / 1000):
            await page.close()
