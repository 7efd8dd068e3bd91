"""What a keeper can say of requests inside TLS, alive and after its end: a real keeper, Chromium and TLS site."""

import asyncio
import contextlib
import itertools
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.async_api import Error, Page, Playwright, async_playwright

from replaywright.browser.devtools.endpoint import driver_url
from replaywright.domain.proof.carrying import NOTHING, Sought
from replaywright.domain.session.commit_gate import GateSeen
from replaywright.errors import ReplaywrightError
from replaywright.keeper.gate.commit_gate import LocalCommitGate
from replaywright.keeper.gate.dead_keepers import left_behind
from replaywright.keeper.host.client import KeeperHandle, launch_keeper, list_live, reap
from replaywright.keeper.host.identity import is_alive
from replaywright.keeper.protocol import KeeperOptions
from replaywright.ports.keepers import LeftBehind
from tests.adapters.gate_site import Authority, authority, serving
from tests.adapters.networks import LOOPBACK
from tests.waiting import until

HOLD_MS = 20_000
PAGE = b"""<!doctype html><title>Order</title><link rel=icon href=data:,>
<form id=form method=post action=/send><input name=who value=Ada></form>
<script>
const post = (path = '/send', more = {}) => void fetch(path, {method: 'POST', body: 'x', ...more}).then(
  r => { document.title += ' ' + r.status }, () => { document.title += ' failed' })
</script>"""
SERVICE = b"""oninstall = () => skipWaiting(); onactivate = e => e.waitUntil(clients.claim());
onmessage = e => e.waitUntil(fetch(e.data, {method: 'POST', body: 'x'}));"""
FILES = {b"/service.js": (b"text/javascript", SERVICE)}


@dataclass
class Site:
    """A site over TLS that answers a POST to /send when it is told to, and every other one at once."""

    answers: asyncio.Event = field(default_factory=asyncio.Event)
    arrived: list[str] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}/"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while True:
                await self._exchange(reader, writer)
        writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        method, target, rest = (await reader.readuntil(b"\r\n\r\n")).split(b" ", 2)
        lengths = [line for line in rest.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        await reader.readexactly(int(lengths[0].partition(b":")[2]) if lengths else 0)
        if method == b"POST":
            self.arrived.append(target.decode())
            if target == b"/send":
                await self.answers.wait()
        kind, body = FILES.get(target, (b"text/html", PAGE))
        status = b"500 Broken" if target == b"/broken" else b"200 OK"
        head = b"HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n" % (status, kind, len(body))
        writer.write(head + body)
        await writer.drain()


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
async def site(certificates: Authority) -> AsyncIterator[Site]:
    site = Site()
    server = await asyncio.start_server(site.serve, "127.0.0.1", 0, ssl=certificates.context("http/1.1"))
    site.port = server.sockets[0].getsockname()[1]
    yield site
    site.answers.set()
    server.close()


@dataclass
class Rig:
    """A keeper, the page of its browser, and its gate as a worker speaks to it."""

    handle: KeeperHandle
    gate: LocalCommitGate
    page: Page
    epoch: int

    async def sent(self, script: str, *, permits: bool = True, unsent: Sought = NOTHING) -> GateSeen:
        """Arm the gate, let the page send, and let that go; what is told of the gate then."""
        await self.gate.arm("op", within_ms=HOLD_MS, hold_safe=False, unsent=unsent)
        await self.page.evaluate(f"void setTimeout(() => {{ {script} }})")
        held = await self.gate.wait_held("op", 5000)
        assert held.held, "nothing came to the gate"
        if permits:
            await self.gate.permit("op")
        return held

    async def seen(self) -> GateSeen:
        seen = await self.gate.recall("op", self.epoch)
        assert seen is not None
        return seen

    async def until_seen(self, condition: Callable[[GateSeen], bool]) -> GateSeen:
        async def holds() -> bool:
            return condition(await self.seen())

        await until(holds)
        return await self.seen()

    async def kill(self) -> LeftBehind:
        """Kill the keeper; what it has left behind."""
        record = self.handle.record
        os.kill(record.keeper.pid, signal.SIGKILL)
        await until(lambda: not is_alive(record.keeper))
        sessions = self.handle.directory.parent
        return await asyncio.to_thread(left_behind, sessions, record.session_id, "op", self.epoch)


@pytest.fixture(scope="module")
async def driver() -> AsyncIterator[Playwright]:
    async with async_playwright() as running:
        yield running


Keepers = Callable[[], Awaitable[tuple[KeeperHandle, int]]]


@pytest.fixture(scope="module")
async def keepers(
    tmp_path_factory: pytest.TempPathFactory, chromium_path: Path, certificates: Authority
) -> AsyncIterator[Keepers]:
    """A keeper for all tests, and another one after each that was killed; each test has an epoch of its own."""
    sessions, epochs = tmp_path_factory.mktemp("told") / "sessions", itertools.count(10, 10)
    options = KeeperOptions(
        network=LOOPBACK,
        session_id="tls",
        executable=str(chromium_path),
        lease_s=600,
        no_sandbox=os.geteuid() == 0,
        extra_arguments=(f"--ignore-certificate-errors-spki-list={certificates.fingerprint}",),
    )
    living: list[KeeperHandle] = []

    async def one() -> tuple[KeeperHandle, int]:
        epoch = next(epochs)
        if not living or not is_alive(living[-1].record.keeper):
            reap(sessions)
            living.append(await launch_keeper(sessions, options.model_copy(update={"session_id": f"tls-{epoch}"})))
        return living[-1], epoch

    yield one
    for record in list_live(sessions):
        os.kill(record.keeper.pid, signal.SIGKILL)
    await until(lambda: list_live(sessions) == [])
    reap(sessions)


@pytest.fixture
async def rig(keepers: Keepers, site: Site, driver: Playwright) -> AsyncIterator[Rig]:
    handle, epoch = await keepers()
    async with await handle.connect() as keeper:
        with driver_url((await keeper.attach(epoch, "test")).endpoint_url) as url:
            browser = await driver.chromium.connect_over_cdp(url)
    page = await browser.contexts[0].new_page()
    await page.goto(site.url)
    rig = Rig(handle, LocalCommitGate(await handle.connect(), epoch), page, epoch)
    yield rig
    with contextlib.suppress(ReplaywrightError):
        await rig.gate.disarm("op")
    with contextlib.suppress(Error):
        await browser.close()
    await rig.gate.close()


def told(seen: GateSeen) -> list[tuple[str, str, int, bool]]:
    return [(one.method, one.url, one.status, one.is_in_flight) for one in seen.sent if not one.is_safe]


WORKER = "navigator.serviceWorker.register('/service.js').then(() => navigator.serviceWorker.ready).then(r => {w = r})"
SENDS = {
    "fetch": ("post()", ""),
    "form": ("document.getElementById('form').submit()", ""),
    "beacon": ("navigator.sendBeacon('/send', 'x')", ""),
    "service worker": ("w.active.postMessage('/send')", WORKER),
    "left by a beacon": (
        "addEventListener('pagehide', () => navigator.sendBeacon('/send', 'x')); location.href = '/next'",
        "",
    ),
    "left by a fetch": (
        "addEventListener('pagehide', () => post('/send', {keepalive: true})); location.href = '/next'",
        "",
    ),
}


@pytest.mark.parametrize("name", SENDS)
async def test_a_request_inside_tls_is_in_flight_until_it_is_answered(rig: Rig, site: Site, name: str) -> None:
    script, ready = SENDS[name]
    if ready:
        await rig.page.evaluate(ready)
    await rig.sent(script)
    await until(lambda: site.arrived)
    before = await rig.seen()
    site.answers.set()
    after = await rig.until_seen(lambda seen: not seen.in_flight)

    assert told(before) == [("POST", f"{site.url}send", 0, True)]
    assert told(after) == [("POST", f"{site.url}send", 200, False)]


LEFT = "addEventListener('pagehide', () => {{ {} }}); location.href = '/next'"


@pytest.mark.parametrize(
    ("script", "aside"),
    [
        ("navigator.sendBeacon('/count', 'left'); navigator.sendBeacon('/send', 'for=Ada+Lovelace')", ["count"]),
        ("navigator.sendBeacon('/count', 'left'); navigator.sendBeacon('/count', 'Ada Lovelace')", []),
        ("post('/count', {keepalive: true})", ["count"]),
    ],
    ids=["one of two", "the same address", "a fetch"],
)
async def test_what_carries_nothing_of_what_was_entered_is_told_from_what_does_as_a_page_is_left(
    rig: Rig, site: Site, script: str, aside: list[str]
) -> None:
    site.answers.set()
    await rig.sent(LEFT.format(script), unsent=Sought.of(["Ada Lovelace"]))

    seen = await rig.until_seen(lambda seen: len(told(seen)) == script.count("/") and not seen.in_flight)

    assert seen.aside == tuple(f"POST {site.url}{path}" for path in aside)


async def test_what_another_worker_is_told_is_what_the_lost_one_would_have_been(rig: Rig, site: Site) -> None:
    await rig.sent("post()")
    await until(lambda: site.arrived)
    await rig.gate.close()
    site.answers.set()
    rig.gate = LocalCommitGate(await rig.handle.connect(), rig.epoch + 1)
    seen = await rig.until_seen(lambda seen: not seen.in_flight)

    [one] = seen.sent
    assert (one.method, one.url, one.status) == ("POST", f"{site.url}send", 200)
    assert one.answered_at is not None
    assert one.sent_at <= one.answered_at


async def test_one_request_without_an_answer_is_in_flight_beside_others_that_have_one(rig: Rig, site: Site) -> None:
    await rig.sent("post('/draft'); post('/broken'); fetch('/list'); post()")
    seen = await rig.until_seen(lambda seen: sum(one.status > 0 for one in seen.sent if not one.is_safe) == 2)

    assert sorted(told(seen)) == [
        ("POST", f"{site.url}broken", 500, False),
        ("POST", f"{site.url}draft", 200, False),
        ("POST", f"{site.url}send", 0, True),
    ]


async def test_what_only_reads_is_not_in_flight_although_bytes_have_left(rig: Rig) -> None:
    await rig.sent("void fetch('/list').then(() => { document.title = 'listed' })")
    await rig.page.wait_for_function("document.title == 'listed'")
    seen = await rig.seen()

    assert (seen.bytes_up > 0, told(seen), seen.in_flight) == (True, [], False)


async def test_a_request_of_a_service_worker_is_held_and_told_and_does_not_leave_when_it_is_cut(
    rig: Rig, site: Site
) -> None:
    script, ready = SENDS["service worker"]
    await rig.page.evaluate(ready)
    held = await rig.sent(script, permits=False)
    cut = await rig.gate.cut("op")

    assert [(one.method, one.url) for one in held.waiting] == [("POST", f"{site.url}send")]
    assert (cut.nothing_left, cut.sent, site.arrived) == (True, (), [])


async def test_after_a_page_was_closed_its_tunnels_may_carry_what_is_not_told(rig: Rig, site: Site) -> None:
    other = await rig.page.context.new_page()
    await other.goto(site.url)
    await other.evaluate("addEventListener('pagehide', () => navigator.sendBeacon('/send', 'x'))")
    await rig.sent("post('/draft')")
    before = await rig.until_seen(lambda seen: bool(told(seen)) and not seen.in_flight)
    await other.close(run_before_unload=True)
    await until(lambda: "/send" in site.arrived)
    untold = ("", site.url.rstrip("/"), 0, True)
    after = await rig.until_seen(lambda seen: untold in told(seen))

    assert told(before) == [("POST", f"{site.url}draft", 200, False)]
    assert (untold in told(after), after.in_flight) == (True, True)


async def test_a_message_of_a_websocket_inside_tls_is_in_flight_and_no_answer_is_awaited(
    rig: Rig, certificates: Authority
) -> None:
    async with serving("https", certificates) as other:
        opening = (
            f"w = new WebSocket('wss://127.0.0.1:{other.port}'); new Promise(opened => {{ w.onopen = () => opened() }})"
        )
        await rig.page.evaluate(opening)
        await rig.sent("w.send('buy')")
        await until(lambda: other.arrived)
        seen = await rig.seen()

    assert told(seen) == [("", other.url.rstrip("/"), 0, True)]
    assert not seen.awaits_answer


@pytest.mark.parametrize("is_answered", [True, False])
async def test_a_dead_keeper_has_written_what_left_inside_tls_and_whether_it_was_answered(
    rig: Rig, site: Site, is_answered: bool
) -> None:
    await rig.sent("post('/draft'); post()")
    await until(lambda: len(site.arrived) == 2)
    if is_answered:
        site.answers.set()
        await rig.until_seen(lambda seen: not seen.in_flight)
    else:
        await rig.until_seen(lambda seen: any(one.status for one in seen.sent))
    left = await rig.kill()

    status = 200 if is_answered else 0
    assert left.seen is not None
    assert (left.nothing_left, left.seen.in_flight) == (False, not is_answered)
    assert sorted(told(left.seen)) == [
        ("POST", f"{site.url}draft", 200, False),
        ("POST", f"{site.url}send", status, not is_answered),
    ]


async def test_what_pages_send_as_they_are_left_is_awaited_until_it_is_answered(rig: Rig, site: Site) -> None:
    await rig.page.evaluate("addEventListener('pagehide', () => navigator.sendBeacon('/send', 'x'))")
    await rig.gate.arm("op", within_ms=HOLD_MS, hold_safe=False)
    await rig.gate.permit("op")
    await rig.page.goto("about:blank")
    before = await rig.until_seen(lambda seen: bool(seen.sent))
    site.answers.set()
    await rig.until_seen(lambda seen: not seen.awaits_answer)

    assert (told(before), before.awaits_answer) == ([("POST", f"{site.url}send", 0, True)], True)
