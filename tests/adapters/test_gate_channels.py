"""What the commit gate holds: every way in which a page can send something, with a real Chromium behind a real keeper.

Each channel is tried twice: what is cut never arrives, not even when the gate is open again, and what is permitted
arrives once. The site is the judge.
"""

import itertools
import os
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Browser, BrowserContext, Page, async_playwright

from replaywright.browser.devtools.endpoint import driver_url
from replaywright.browser.devtools.freeing import stop_loading
from replaywright.domain.session.commit_gate import GateSeen
from replaywright.keeper.host.client import KeeperClient, launch_keeper
from replaywright.keeper.protocol import KeeperOptions
from tests.adapters.gate_site import Authority, GateSite, authority, serving
from tests.adapters.networks import LOOPBACK
from tests.waiting import until

HOLD_MS = 20_000


@dataclass
class Rig:
    """One keeper with its browser, and a site for each scheme."""

    keeper: KeeperClient
    browser: Browser
    endpoint: str
    sites: dict[str, GateSite]
    numbers: "itertools.count[int]" = field(default_factory=itertools.count)

    @property
    def context(self) -> BrowserContext:
        return self.browser.contexts[0]

    async def armed(self, *, hold_safe: bool = False) -> str:
        op_id = f"op-{next(self.numbers)}"
        await self.keeper.arm(op_id, 1, HOLD_MS, hold_safe=hold_safe)
        return op_id

    async def held(self, op_id: str) -> GateSeen:
        record = await self.keeper.wait_held(op_id, 5000)
        assert record.held, "nothing came to the gate"
        return record


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
async def rig(chromium_path: Path, certificates: Authority) -> AsyncIterator[Rig]:
    options = KeeperOptions(
        network=LOOPBACK,
        session_id="gate",
        executable=str(chromium_path),
        epoch=1,
        lease_s=600,
        no_sandbox=os.geteuid() == 0,
        extra_arguments=(f"--ignore-certificate-errors-spki-list={certificates.fingerprint}",),
    )
    folder = Path(tempfile.mkdtemp())
    handle = await launch_keeper(folder / "sessions", options)
    async with AsyncExitStack() as exits:
        exits.callback(shutil.rmtree, folder, ignore_errors=True)
        keeper = await exits.enter_async_context(await handle.connect())
        exits.push_async_callback(keeper.wait_until_gone)
        exits.push_async_callback(keeper.close, 1)
        sites = {
            scheme: await exits.enter_async_context(serving(scheme, certificates))
            for scheme in ("http", "https", "https-h2")
        }
        driver = await exits.enter_async_context(async_playwright())
        attachment = await keeper.attach(1, "test")
        with driver_url(attachment.endpoint_url) as url:
            browser = await driver.chromium.connect_over_cdp(url)
        exits.push_async_callback(browser.close)
        yield Rig(keeper, browser, attachment.endpoint_url, sites)


@dataclass(frozen=True)
class Channel:
    """One way of sending: what is made ready before the gate is armed, and what sends."""

    send: str
    ready: str = ""
    arrives: tuple[str, ...] = ("/sent",)
    hold_safe: bool = False

    @property
    def later(self) -> str:
        """Sends once the call that asked for it has come back: a page that is about to be left may not answer."""
        return f"void setTimeout(() => {{ {self.send} }})"


CHANNELS = {
    "form": Channel("document.getElementById('form').submit()", arrives=("/form",)),
    "popup": Channel("document.getElementById('popup').submit()", arrives=("/popup",)),
    "frame": Channel("document.getElementById('framed').submit()", arrives=("/framed",)),
    "redirect": Channel("document.getElementById('moved').submit()", arrives=("/moved", "/moved-here")),
    "download": Channel("document.getElementById('download').submit()", arrives=("/download",)),
    "fetch": Channel("void fetch('/sent', {method: 'POST', body: 'x'}).catch(() => 0)"),
    "keepalive": Channel("void fetch('/sent', {method: 'POST', body: 'x', keepalive: true}).catch(() => 0)"),
    "xhr": Channel("{ const x = new XMLHttpRequest(); x.open('PUT', '/sent'); x.open('POST', '/sent'); x.send('x'); }"),
    "beacon": Channel("navigator.sendBeacon('/sent', 'x')"),
    "worker": Channel("w.postMessage('/sent')", "window.w = new Worker('/worker.js')"),
    "shared worker": Channel(
        "w.port.postMessage('/sent')", "window.w = new SharedWorker('/shared.js'); w.port.start()"
    ),
    "service worker": Channel(
        "w.active.postMessage('/sent')",
        "navigator.serviceWorker.register('/service.js').then(() => navigator.serviceWorker.ready)"
        ".then(r => { window.w = r; })",
    ),
    "new websocket": Channel(
        "window.w = new WebSocket(location.origin.replace('http', 'ws')); w.onopen = () => w.send('buy');",
        arrives=("ws buy",),
    ),
    "open websocket": Channel(
        "w.send('buy')",
        "window.w = new WebSocket(location.origin.replace('http', 'ws'));"
        "new Promise((opened, failed) => { w.onopen = () => opened(); w.onerror = failed; })",
        arrives=("ws buy",),
    ),
    "picture": Channel("void (new Image().src = '/buy')", arrives=("GET /buy",), hold_safe=True),
}
OVER_HTTP2 = ("form", "frame", "fetch", "keepalive", "beacon")


async def opened(rig: Rig, site: GateSite, channel: Channel) -> Page:
    """A tab of its own: in the one before, what was permitted may only now be shown, which also holds up closing it."""
    page = await rig.context.new_page()
    await page.goto(site.url)
    if channel.ready:
        await page.evaluate(channel.ready)
    return page


SHORT = ("popup", "redirect", "fetch", "worker", "open websocket")
SHORT_OVER_TLS = ("form", "fetch")


def case(scheme: str, name: str) -> object:
    """Some channels are tried over plain HTTP and each kind of TLS; the others belong to the long form."""
    is_short = name in (SHORT if scheme == "http" else SHORT_OVER_TLS)
    return pytest.param(scheme, name, marks=() if is_short else pytest.mark.long)


@pytest.mark.parametrize(
    ("scheme", "name"),
    [
        *(case("http", name) for name in CHANNELS),
        *(case("https", name) for name in CHANNELS),
        *(case("https-h2", name) for name in OVER_HTTP2),
    ],
)
async def test_what_is_cut_never_arrives_and_what_is_permitted_arrives_once(rig: Rig, scheme: str, name: str) -> None:
    channel, site = CHANNELS[name], rig.sites[scheme]
    site.arrived.clear()
    page = await opened(rig, site, channel)
    op_id = await rig.armed(hold_safe=channel.hold_safe)
    await page.evaluate(channel.later)
    await rig.held(op_id)
    await stop_loading(rig.endpoint)
    cut = await rig.keeper.settle("cut", op_id, 1)
    await stop_loading(rig.endpoint)
    await rig.keeper.settle("disarm", op_id, 1)

    page = await opened(rig, site, channel)
    arrived_after_cut = list(site.arrived)
    op_id = await rig.armed(hold_safe=channel.hold_safe)
    await page.evaluate(channel.later)
    await rig.held(op_id)
    arrived_before_permit = list(site.arrived)
    await rig.keeper.settle("permit", op_id, 1)
    wanted = ["h2"] if scheme == "https-h2" else list(channel.arrives)
    await until(lambda: len(site.arrived) >= len(wanted))
    sent = await rig.keeper.settle("disarm", op_id, 1)

    if scheme != "http" and "websocket" not in name:  # the keeper knows what the tunnel has carried
        assert [urlsplit(one.url).path for one in sent.sent] == [path.removeprefix("GET ") for path in channel.arrives]
    assert (arrived_after_cut, cut.bytes_up) == ([], 0)
    assert arrived_before_permit == []
    assert site.arrived == wanted
    assert sent.bytes_up > 0
