"""Open the page of every channel in a real Chromium behind a real keeper, and see which reach the forbidden site."""

import asyncio
import contextlib
import os
import shutil
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.async_api import BrowserContext, Page, async_playwright
from playwright.async_api import Error as PlaywrightError

from bench.leaks.channels import Channel
from bench.leaks.sites import forbidden, own
from replaywright.browser.devtools.endpoint import driver_url
from replaywright.domain.policy.host_rules import host_rules
from replaywright.domain.session.network_policy import NetworkPolicy
from replaywright.domain.task.policy import Hosts
from replaywright.keeper.host.client import KeeperClient, launch_keeper
from replaywright.keeper.protocol import KeeperOptions

TABS = 6
"""Pages that are open at the same time."""
STEP_MS = 8_000


@dataclass(frozen=True)
class Seen:
    """What became of one channel."""

    asked: int
    """Connections that the proxy was asked for, and refused."""
    reached: int
    """Connections and datagrams that came to the forbidden site."""


@dataclass(frozen=True)
class Rig:
    """One keeper with its browser."""

    keeper: KeeperClient
    context: BrowserContext
    endpoint: str


def only(*hosts: str) -> NetworkPolicy:
    """The policy that allows these hosts."""
    return NetworkPolicy(rules=(host_rules("leaks", Hosts(allow=hosts), is_operators=True),))


@asynccontextmanager
async def keeper(chromium: Path, network: NetworkPolicy, *arguments: str) -> AsyncIterator[Rig]:
    """A keeper with this policy, and an attachment to its browser."""
    folder = Path(tempfile.mkdtemp(prefix="leaks-"))
    options = KeeperOptions(
        session_id=uuid.uuid4().hex[:12],
        executable=str(chromium),
        network=network,
        epoch=1,
        lease_s=900,
        no_sandbox=os.geteuid() == 0,
        extra_arguments=("--short-reporting-delay", *arguments),
    )
    async with AsyncExitStack() as exits:
        exits.callback(shutil.rmtree, folder, ignore_errors=True)
        client = await exits.enter_async_context(await (await launch_keeper(folder / "sessions", options)).connect())
        exits.push_async_callback(client.wait_until_gone)
        exits.push_async_callback(client.close, 1)
        driver = await exits.enter_async_context(async_playwright())
        endpoint = (await client.attach(1, "leaks")).endpoint_url
        with driver_url(endpoint) as url:
            browser = await driver.chromium.connect_over_cdp(url)
        exits.push_async_callback(browser.close)
        yield Rig(client, browser.contexts[0], endpoint)


async def measure(
    chromium: Path, channels: Sequence[Channel], *, allow_all: bool = False, host: str = "127.0.0.1", patience_s: float
) -> dict[str, Seen]:
    """Try every channel once.

    Args:
        chromium: the browser.
        channels: what to try.
        allow_all: whether the policy allows the forbidden site: shows which channels would get there.
        host: what pages call the forbidden site; it is always this machine.
        patience_s: how long a channel is waited for that asks for nothing.
    """
    async with AsyncExitStack() as exits:
        site = await exits.enter_async_context(forbidden(len(channels)))
        addresses = [f"http://{host}:{port}" for port in site.ports]
        served = await exits.enter_async_context(own(channels, addresses))
        everything = (f"{host}:*", "127.0.0.0/8:*")
        network = only(*(everything if allow_all else (f"127.0.0.1:{served.port}",)))
        rig = await exits.enter_async_context(keeper(chromium, network))
        asked: dict[int, int] = {}
        watching = asyncio.create_task(_watch(rig.keeper, asked))
        exits.callback(watching.cancel)
        turns = asyncio.Semaphore(TABS)

        async def one(number: int) -> None:
            port = site.ports[number]
            async with turns:
                await _try(
                    rig.context,
                    channels[number],
                    served.url(number),
                    is_over=lambda: bool(asked.get(port) or site.reached[port]),
                    patience_s=patience_s,
                )

        await asyncio.gather(*(one(number) for number in range(len(channels))))
        await asyncio.sleep(patience_s)  # what comes late counts too
        seen = await rig.keeper.network()
        asked = {each.port: each.count for each in seen.refused}
        return {
            channel.name: Seen(asked.get(port, 0), site.reached[port])
            for channel, port in zip(channels, site.ports, strict=True)
        }


async def _watch(client: KeeperClient, asked: dict[int, int]) -> None:
    while True:
        asked.update({each.port: each.count for each in (await client.network()).refused})
        await asyncio.sleep(0.1)


async def _try(
    context: BrowserContext, channel: Channel, url: str, *, is_over: Callable[[], bool], patience_s: float
) -> None:
    """Do what the channel wants, and wait until it has asked for the forbidden site or had its time."""
    page = await context.new_page()
    with contextlib.suppress(PlaywrightError, TimeoutError):  # it was led away, or refused: that is what is tried
        async with asyncio.timeout(STEP_MS / 1000):
            await _act(page, channel, url)
    deadline = time.monotonic() + patience_s
    while not is_over() and time.monotonic() < deadline:  # noqa: ASYNC110 - what is counted elsewhere sets no event
        await asyncio.sleep(0.05)
    with contextlib.suppress(PlaywrightError, TimeoutError):  # a page that hangs goes with its browser
        async with asyncio.timeout(STEP_MS / 1000):
            await page.close()


async def _act(page: Page, channel: Channel, url: str) -> None:
    await page.goto(url, wait_until="commit", timeout=STEP_MS)
    if channel.click:
        await page.click("#go", timeout=STEP_MS)
    if channel.leave:
        await page.wait_for_load_state("load", timeout=STEP_MS)
        await page.goto(url.partition("/c/")[0] + "/other", wait_until="commit", timeout=STEP_MS)
