"""What a keeper can say of an operation, alive and after its end: real keepers with a real Chromium."""

import asyncio
import contextlib
import itertools
import os
import signal
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.async_api import Error, Page, Playwright, async_playwright

from replaywright.browser.devtools.endpoint import driver_url
from replaywright.domain.session.commit_gate import GateSeen
from replaywright.domain.session.sessions import SessionRef
from replaywright.errors import ReplaywrightError
from replaywright.keeper.gate import departures
from replaywright.keeper.gate.departures import departures_path, read_lines
from replaywright.keeper.host.client import list_live, reap
from replaywright.keeper.host.identity import is_alive
from replaywright.keeper.host.local import LocalKeepers
from replaywright.keeper.protocol import KeeperOptions
from replaywright.ports.keepers import CommitGate, LeftBehind
from tests.adapters.gate_site import authority, serving
from tests.adapters.networks import LOOPBACK
from tests.waiting import until

HOLD_MS = 20_000
PAGE = b"""<!doctype html><title>Order</title><link rel=icon href=data:,>
<script>
const post = (body, path = '/send?token=1') => void fetch(path, {method: 'POST', body}).then(
  r => { document.title += ' ' + r.status }, () => { document.title += ' failed' })
const form = () => { const data = new FormData(); data.append('who', 'Ada'); return data }
</script>"""


@dataclass
class Site:
    """A site that answers a POST when it is told to; it keeps what arrived."""

    answers: asyncio.Event = field(default_factory=asyncio.Event)
    bodies: list[bytes] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            body = PAGE
            if head.startswith(b"POST"):
                size = next(
                    int(line.partition(b":")[2])
                    for line in head.lower().split(b"\r\n")
                    if line.startswith(b"content-length:")
                )
                self.bodies.append(await reader.readexactly(size))
                await self.answers.wait()
                body = b"ok"
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    site = Site()
    server = await asyncio.start_server(site.serve, "127.0.0.1", 0)
    site.port = server.sockets[0].getsockname()[1]
    yield site
    site.answers.set()
    server.close()


@pytest.fixture(scope="session")
async def playwright() -> AsyncIterator[Playwright]:
    async with async_playwright() as running:
        yield running


@dataclass
class Rig:
    """A session of this host, its page, and its gate."""

    keepers: LocalKeepers
    sessions: Path
    session: SessionRef
    gate: CommitGate
    page: Page
    epoch: int

    @property
    def file(self) -> Path:
        return departures_path(self.sessions, self.session.session_id)

    async def posted(self, script: str, *, once: bool = False) -> GateSeen:
        """Arm the gate, let the page send, and return what is held."""
        await self.gate.arm("op", within_ms=HOLD_MS, hold_safe=False, once=once)
        await self.page.evaluate(f"void setTimeout(() => {{ {script} }})")
        seen = await self.gate.wait_held("op", 5000)
        assert seen.held, "nothing came to the gate"
        return seen

    async def seen(self) -> GateSeen:
        seen = await self.gate.recall("op", self.epoch)
        assert seen is not None
        return seen

    async def left_behind(self, op_id: str = "op") -> LeftBehind:
        return await self.keepers.left_behind(self.session.session_id, op_id, 1)

    async def kill(self) -> LeftBehind:
        """Kill the keeper; what it has left behind."""
        [record] = list_live(self.sessions)
        os.kill(record.keeper.pid, signal.SIGKILL)
        await until(lambda: not is_alive(record.keeper))
        return await self.left_behind()


@contextlib.asynccontextmanager
async def launched(sessions: Path, chromium_path: Path) -> AsyncIterator[tuple[LocalKeepers, SessionRef]]:
    options = KeeperOptions(executable=str(chromium_path), no_sandbox=os.geteuid() == 0, lease_s=600)
    keepers = LocalKeepers(sessions, options, limit=1)
    yield keepers, await keepers.launch("s1", LOOPBACK)
    for record in list_live(sessions):
        os.kill(record.keeper.pid, signal.SIGKILL)
    await until(lambda: list_live(sessions) == [])
    reap(sessions)


@pytest.fixture(scope="module")
async def living(
    tmp_path_factory: pytest.TempPathFactory, chromium_path: Path
) -> AsyncIterator[Callable[[], tuple[LocalKeepers, SessionRef, int]]]:
    """A session of all tests that leave its keeper alive, and an epoch for each of them."""
    epochs = itertools.count(1)
    async with launched(tmp_path_factory.mktemp("living") / "sessions", chromium_path) as (keepers, session):
        yield lambda: (keepers, session, next(epochs))


@contextlib.asynccontextmanager
async def rigged(
    keepers: LocalKeepers, session: SessionRef, epoch: int, site: Site, playwright: Playwright
) -> AsyncIterator[Rig]:
    with driver_url(await keepers.attach(session, epoch)) as url:
        browser = await playwright.chromium.connect_over_cdp(url)
    page = await browser.contexts[0].new_page()
    await page.goto(site.url)
    gate = await keepers.gate(session, epoch)
    yield Rig(keepers, Path(session.directory).parent, session, gate, page, epoch)
    with contextlib.suppress(ReplaywrightError):
        await gate.disarm("op")
    with contextlib.suppress(Error):
        await page.close()
    with contextlib.suppress(Error):
        await browser.close()
    await gate.close()


@pytest.fixture
async def rig(tmp_path: Path, chromium_path: Path, site: Site, playwright: Playwright) -> AsyncIterator[Rig]:
    async with (
        launched(tmp_path / "sessions", chromium_path) as (keepers, session),
        rigged(keepers, session, 1, site, playwright) as own,
    ):
        yield own


@pytest.fixture
async def alive(
    living: Callable[[], tuple[LocalKeepers, SessionRef, int]], site: Site, playwright: Playwright
) -> AsyncIterator[Rig]:
    async with rigged(*living(), site, playwright) as shared:
        yield shared


# ---- alive ---------------------------------------------------------------------------------------------------------


async def test_a_request_that_left_is_in_flight_until_it_is_answered(alive: Rig, site: Site) -> None:
    held = await alive.posted("post('x')")
    await alive.gate.permit("op")
    await until(lambda: site.bodies)
    before = await alive.seen()
    site.answers.set()
    await alive.page.wait_for_function("document.title == 'Order 200'")
    after = await alive.seen()

    [first], [second] = before.sent, after.sent
    assert (held.sent, held.in_flight) == ((), False)
    assert (before.in_flight, after.in_flight) == (True, False)
    assert (first.method, first.url, first.status, first.answered_at) == ("POST", f"{site.url}send", 0, None)
    assert (second.status, second.sent_at) == (200, first.sent_at)
    assert second.answered_at is not None
    assert second.sent_at <= second.answered_at <= time.time()


async def test_a_request_whose_connection_was_closed_without_an_answer_stays_in_flight(alive: Rig, site: Site) -> None:
    await alive.posted("post('x')")
    await alive.gate.permit("op")
    await until(lambda: site.bodies)
    await alive.page.goto("about:blank")  # the browser gives it up

    async def has_ended() -> bool:
        return (await alive.seen()).sent[0].ended_at is not None

    await until(has_ended)
    seen = await alive.seen()

    assert (seen.in_flight, seen.sent[0].status) == (True, 0)


async def test_safe_requests_are_listed_and_are_not_in_flight(alive: Rig, site: Site) -> None:
    site.answers.set()
    await alive.gate.arm("op", within_ms=HOLD_MS, hold_safe=True)
    await alive.page.evaluate("void fetch('/list').then(r => { document.title = 'listed' })")
    await alive.gate.wait_held("op", 5000)
    await alive.gate.permit("op")
    await alive.page.wait_for_function("document.title == 'listed'")
    seen = await alive.seen()

    assert [(one.method, one.is_safe, one.status) for one in seen.sent] == [("GET", True, 200)]
    assert not seen.in_flight


@pytest.mark.parametrize("is_open", [True, False])
async def test_a_message_of_a_websocket_is_sent_and_needs_no_answer(alive: Rig, tmp_path: Path, is_open: bool) -> None:
    opening = (
        "window.w = new WebSocket('ws://127.0.0.1:%d'); new Promise((opened, failed) => "
        "{ w.onopen = () => opened(); w.onerror = failed; })"
    )
    async with serving("http", authority(tmp_path)) as other:
        if is_open:
            await alive.page.evaluate(opening % other.port)
            await alive.posted("w.send('buy')")
        else:
            await alive.posted(opening % other.port + ".then(() => w.send('buy'))")
        nothing_yet = (await alive.seen()).sent
        await alive.gate.permit("op")
        await until(lambda: other.arrived)
        seen = await alive.seen()

    assert nothing_yet == ()
    assert [(one.method, one.status, one.is_in_flight) for one in seen.sent] == [("", 101, False)]
    assert seen.bytes_up > 0


async def test_a_tunnel_with_tls_is_in_flight_only_if_it_carried_anything_since_the_arming(
    alive: Rig, tmp_path: Path
) -> None:
    async with serving("https", authority(tmp_path)) as other:
        tunnels_through = f"fetch('{other.url}', {{mode: 'no-cors'}}).catch(() => 0)"
        await alive.page.evaluate(tunnels_through)
        await alive.gate.arm("quiet", within_ms=HOLD_MS, hold_safe=False)
        await alive.gate.permit("quiet")
        quiet = await alive.gate.disarm("quiet")
        socket = f"new WebSocket('{other.url.replace('https', 'wss')}')"
        await alive.posted(f"ended = new Promise((tell) => {{ {socket}.onclose = tell; }})")
        await alive.gate.permit("op")

        async def has_left() -> bool:
            return bool((await alive.seen()).sent)

        await until(has_left)
        await alive.page.evaluate("ended.then(() => 0)")  # the other end has sent bytes
        loud = await alive.seen()

    assert (quiet.sent, quiet.in_flight) == ((), False)
    assert {(one.method, one.url, one.status) for one in loud.sent} == {("", other.url.rstrip("/"), 0)}
    assert loud.in_flight


# ---- dead ----------------------------------------------------------------------------------------------------------


async def test_of_what_was_held_when_the_keeper_was_killed_it_is_certain_that_nothing_left(
    rig: Rig, site: Site
) -> None:
    await rig.posted("post('x')")
    alive = await rig.left_behind()
    left = await rig.kill()

    assert alive == LeftBehind()
    assert left.seen is not None
    assert (left.nothing_left, left.seen.is_closed, left.seen.in_flight) == (True, True, False)
    assert site.bodies == []


async def test_what_had_left_when_the_keeper_was_killed_is_in_flight(rig: Rig, site: Site) -> None:
    await rig.posted("post('x')")
    await rig.gate.permit("op")
    await until(lambda: site.bodies)
    left = await rig.kill()

    assert left.seen is not None
    assert (left.nothing_left, left.seen.in_flight) == (False, True)
    assert [(one.method, one.url, one.status) for one in left.seen.sent] == [("POST", f"{site.url}send", 0)]


async def test_what_was_answered_before_the_keeper_was_killed_is_known_to_be(rig: Rig, site: Site) -> None:
    site.answers.set()
    await rig.posted("post('x')")
    await rig.gate.permit("op")
    await rig.page.wait_for_function("document.title == 'Order 200'")
    left = await rig.kill()

    assert left.seen is not None
    assert (left.nothing_left, left.seen.in_flight) == (False, False)
    assert [(one.status, one.answered_at is not None) for one in left.seen.sent] == [(200, True)]


async def test_what_was_never_armed_in_a_session_is_told_from_what_is_not_known(rig: Rig) -> None:
    await rig.posted("post('x')")
    await rig.kill()
    never = await rig.left_behind("another")
    elsewhere = await rig.keepers.left_behind("another", "op", 1)

    assert (never.known, never.seen, never.nothing_left) == (True, None, True)
    assert elsewhere == LeftBehind()


async def test_a_gate_that_was_opened_again_says_only_what_it_held(rig: Rig, site: Site) -> None:
    site.answers.set()
    await rig.gate.arm("op", within_ms=HOLD_MS, hold_safe=False)
    await rig.gate.disarm("op")
    await rig.page.evaluate("post('x')")
    await rig.page.wait_for_function("document.title == 'Order 200'")
    before = rig.file.read_text().count("leaves")
    left = await rig.kill()

    assert before == 0
    assert left.seen is not None
    assert (left.seen.phase, left.nothing_left) == ("disarmed", False)


async def test_a_torn_last_line_is_of_bytes_that_stayed_and_any_other_makes_the_rest_unknown(rig: Rig) -> None:
    await rig.posted("post('x')")
    await rig.gate.permit("op")
    await until(lambda: "leaves" in rig.file.read_text())
    whole = await rig.kill()
    lines = rig.file.read_bytes().splitlines(keepends=True)
    found = []
    for at, line in enumerate(lines):
        if b'"leaves"' in line:
            rig.file.write_bytes(b"".join(lines[:at]) + line[:-1])
            found.append(await rig.left_behind())
            rig.file.write_bytes(b"".join(lines[:at]) + line[:-10] + b"\n")
            found.append(await rig.left_behind())
            found.append(await rig.left_behind("another"))

    assert not whole.nothing_left
    assert [left.nothing_left for left in found] == [True, False, False]
    assert found[1:] == [LeftBehind(), LeftBehind()]


async def test_of_another_hosts_keeper_nothing_is_certain(rig: Rig) -> None:
    await rig.posted("post('x')")
    await rig.kill()
    [begun, *lines] = read_lines(rig.file)
    elsewhere = begun.model_copy(update={"host": "elsewhere"})
    rig.file.write_text("".join(line.model_dump_json() + "\n" for line in (elsewhere, *lines)))

    assert await rig.left_behind() == LeftBehind()


# ---- the file ------------------------------------------------------------------------------------------------------


async def test_the_file_is_for_its_owner_only_and_holds_no_query_and_no_body(rig: Rig, site: Site) -> None:
    site.answers.set()
    await rig.posted("post('private')")
    await rig.gate.permit("op")
    await rig.page.wait_for_function("document.title == 'Order 200'")
    await rig.gate.disarm("op")
    text = rig.file.read_text()

    assert (rig.file.stat().st_mode & 0o777, rig.file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert [line.what for line in read_lines(rig.file)] == ["begun", "armed", "leaves", "answered", "disarmed"]
    assert "private" not in text
    assert "token" not in text


@pytest.mark.parametrize("is_over", [True, False])
async def test_a_file_outlives_its_session_unless_the_run_is_over(rig: Rig, is_over: bool) -> None:
    [record] = list_live(rig.sessions)
    await rig.gate.arm("op", within_ms=HOLD_MS, hold_safe=False)
    await rig.keepers.close(rig.session.model_copy(update={"epoch": 1}), is_over=is_over)
    await until(lambda: not is_alive(record.keeper))
    reap(rig.sessions)
    left = await rig.left_behind()

    assert list(rig.sessions.glob("s*")) == []
    assert (rig.file.exists(), left.nothing_left) == (not is_over, not is_over)


async def test_a_days_old_file_is_swept_once_its_keeper_has_ended(rig: Rig) -> None:
    two_days_ago = time.time() - 2 * departures.KEPT_S
    os.utime(rig.file, (two_days_ago, two_days_ago))
    reap(rig.sessions)
    of_a_living_one = rig.file.exists()
    await rig.kill()
    os.utime(rig.file)
    reap(rig.sessions)
    of_today = rig.file.exists()
    os.utime(rig.file, (two_days_ago, two_days_ago))
    reap(rig.sessions)

    assert (of_a_living_one, of_today, rig.file.exists()) == (True, True, False)


# ---- once ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", ["'x'", "form()", "'x'.repeat(3_000_000)"], ids=["text", "form data", "3 MB"])
async def test_a_request_that_equals_one_that_left_is_refused_and_the_first_gets_through(
    alive: Rig, site: Site, body: str
) -> None:
    await alive.posted(f"post({body}); post({body})", once=True)
    await alive.gate.permit("op")
    await alive.page.wait_for_function("document.title == 'Order 503'")
    site.answers.set()
    await alive.page.wait_for_function("document.title == 'Order 503 200'")
    seen = await alive.seen()

    assert len(site.bodies) == 1
    assert (len(seen.sent), seen.sent[0].status, seen.repeated) == (1, 200, 1)
    assert seen.repeated_at is not None


async def test_what_was_granted_once_is_refused_after_its_operation_too_and_may_be_granted_again(
    alive: Rig, site: Site
) -> None:
    site.answers.set()
    await alive.posted("post('x')", once=True)
    await alive.gate.permit("op")
    await alive.page.wait_for_function("document.title == 'Order 200'")
    await alive.page.evaluate("post('more')")
    await alive.page.wait_for_function("document.title == 'Order 200 200'")
    await alive.gate.disarm("op")
    await alive.page.evaluate("post('x')")
    await alive.page.wait_for_function("document.title == 'Order 200 200 503'")
    await alive.page.evaluate("post('more')")
    await alive.page.wait_for_function("document.title == 'Order 200 200 503 200'")
    await alive.gate.arm("again", within_ms=HOLD_MS, hold_safe=False, once=True)
    await alive.page.evaluate("post('x')")
    await alive.gate.wait_held("again", 5000)
    await alive.gate.permit("again")
    await alive.page.wait_for_function("document.title == 'Order 200 200 503 200 200'")
    await alive.gate.disarm("again")

    assert site.bodies == [b"x", b"more", b"more", b"x"]


async def test_requests_that_differ_all_pass_and_without_once_equal_ones_do_too(alive: Rig, site: Site) -> None:
    site.answers.set()
    await alive.posted("post('x'); post('y'); post('x', '/other'); post('x', '/send?token=2')", once=True)
    await alive.gate.permit("op")
    await alive.page.wait_for_function("document.title == 'Order 200 200 200 200'")
    differing = await alive.gate.disarm("op")
    await alive.gate.arm("again", within_ms=HOLD_MS, hold_safe=False)
    await alive.page.evaluate("post('z'); post('z')")
    await alive.gate.wait_held("again", 5000)
    await alive.gate.permit("again")
    await alive.page.wait_for_function("document.title == 'Order 200 200 200 200 200 200'")
    equal = await alive.gate.disarm("again")

    assert (differing.repeated, len(differing.sent)) == (0, 4)
    assert (equal.repeated, len(equal.sent)) == (0, 2)
