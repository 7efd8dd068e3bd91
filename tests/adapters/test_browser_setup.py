"""The setup of a run's browser: what pages see of it in every tab, and what servers get of it."""

import asyncio
import base64
import contextlib
import os
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from temporalio.testing import ActivityEnvironment

from activities.policing import Policing
from activities.session.attachments import Attachments
from activities.session.sessions import SessionActivities
from replaywright.browser.devtools.attach import ChromiumBrowsers
from replaywright.browser.session import ChromiumSession
from replaywright.domain.session.browser_setup import BrowserSetup
from replaywright.domain.session.host_patterns import host_rule
from replaywright.domain.session.sessions import OpenSession, RecoverSession, SessionRef
from replaywright.errors import ActionFailed
from replaywright.keeper.host.client import list_live, reap
from replaywright.keeper.host.local import LocalKeepers
from replaywright.keeper.protocol import KeeperOptions
from replaywright.testing.grants import ON_LOOPBACK
from tests.adapters.networks import LOOPBACK
from tests.adapters.steps import PREDICATE, button, holds, says, work
from tests.waiting import until

GERMAN = BrowserSetup(
    width=1024,
    height=600,
    locale="de-DE",
    time_zone="Asia/Tokyo",
    color_scheme="dark",
    user_agent="Mozilla/5.0 (Test) Special/1.0",
)
FACTS = """JSON.stringify({
  size: [innerWidth, innerHeight],
  language: navigator.language,
  languages: navigator.languages,
  number: (1234.5).toLocaleString(),
  zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
  dark: matchMedia('(prefers-color-scheme: dark)').matches,
  agent: navigator.userAgent,
})"""
SEEN = {
    "size": [1024, 600],
    "language": "de-DE",
    "number": "1.234,5",
    "zone": "Asia/Tokyo",
    "dark": True,
    "agent": "Mozilla/5.0 (Test) Special/1.0",
}


IN_WORKER = """() => new Promise(done => {
  const told = '[navigator.language, navigator.userAgent, (1234.5).toLocaleString(), '
    + 'Intl.DateTimeFormat().resolvedOptions().timeZone]';
  const worker = new Worker(URL.createObjectURL(new Blob([`postMessage(${told})`])));
  worker.onmessage = event => done(event.data);
})"""


@dataclass
class Server:
    """A site that remembers the headers of each request, and wants a password below /private."""

    port: int = 0
    other_port: int = 0
    requests: list[tuple[int, str, dict[str, str]]] = field(default_factory=list)

    def url(self, path: str = "") -> str:
        return f"http://127.0.0.1:{self.port}/{path}"

    @property
    def origin(self) -> str:
        return self.url().rstrip("/")

    def got(self, path: str, port: int | None = None) -> list[dict[str, str]]:
        """Headers of the requests for this path."""
        return [headers for at, seen, headers in self.requests if seen == path and at == (port or self.port)]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        port = writer.get_extra_info("sockname")[1]
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while True:
                lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
                path = lines[0].split(" ")[1]
                pairs = (line.partition(": ") for line in lines[1:] if line)
                headers = {name.lower(): value for name, _, value in pairs}
                self.requests.append((port, path, headers))
                status, more, body = self._answered(path, headers)
                head = f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n{more}\r\n"
                writer.write(head.encode() + body.encode())
                await writer.drain()
        writer.close()

    def _answered(self, path: str, headers: dict[str, str]) -> tuple[str, str, str]:
        other = f"http://127.0.0.1:{self.other_port}"
        if path.startswith("/private") and headers.get("authorization") != credentials("ada", "s3cret"):
            return "401 Unauthorized", 'WWW-Authenticate: Basic realm="x"\r\n', "<h1>Sign in</h1>"
        if path == "/away":
            return "302 Found", f"Location: {other}/landed\r\n", ""
        if path == "/agent.js":
            return "200 OK", "Content-Type: text/javascript\r\n", ""
        page = (
            f"<title>Page</title><h1>Page {path}</h1><script>const early = {FACTS}</script>"
            f"<button onclick=\"window.open('/popup')\">Open</button><img src='{other}/picture'>"
            f"<button onclick=\"fetch('/data', {{method: 'POST'}})\">Send</button>"
        )
        return "200 OK", "", page


def credentials(username: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode()


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    served = Server()
    ends = [await asyncio.start_server(served.serve, "127.0.0.1", 0) for _ in range(2)]
    served.port, served.other_port = (end.sockets[0].getsockname()[1] for end in ends)
    yield served
    for end in ends:
        end.close()


@dataclass
class Host:
    """The keepers of a host and a worker's attachments to them."""

    keepers: LocalKeepers
    attachments: Attachments
    numbers: int = 0

    async def opened(self, setup: BrowserSetup | None) -> tuple[SessionRef, ChromiumSession]:
        """A new session with this setup, as `session.open` makes it."""
        self.numbers += 1
        ref = (await self.keepers.launch(f"s{self.numbers}", LOOPBACK)).model_copy(update={"epoch": 1})
        if setup is not None:
            await self.keepers.set_up(ref, setup)
        held = await self.attachments.hold(ref, 1)
        assert isinstance(held.browser, ChromiumSession)
        return ref, held.browser


@pytest.fixture
async def host(tmp_path: Path, chromium_path: Path, browsers: ChromiumBrowsers) -> AsyncIterator[Host]:
    sessions = tmp_path / "sessions"
    options = KeeperOptions(executable=str(chromium_path), network=LOOPBACK, no_sandbox=os.geteuid() == 0, lease_s=600)
    keepers = LocalKeepers(sessions, options)
    attachments = Attachments(keepers, browsers)
    yield Host(keepers, attachments)
    await attachments.drop_all()
    for record in list_live(sessions):
        os.kill(record.keeper.pid, signal.SIGKILL)
    await until(lambda: list_live(sessions) == [])
    reap(sessions)


async def facts(session: ChromiumSession, what: str = "early") -> dict[str, Any]:
    """What the page in the current tab sees; `early`: what its first script saw."""
    page = session.tabs.current.page
    seen: dict[str, Any] = await page.evaluate(f"JSON.parse({what})")
    assert seen.pop("languages")[0] == seen["language"]
    return seen


async def test_every_tab_is_set_up_before_its_first_script(host: Host, server: Server) -> None:
    _, session = await host.opened(GERMAN)

    await session.perform(work("goto", url=server.url("first")))
    first = await facts(session)
    popup = await session.perform(work("click", button("Open"), expect=[says("Page /popup")]))
    second = await facts(session)
    await session.perform(work("close_tab"))
    await session.perform(work("goto", url=f"http://localhost:{server.port}/elsewhere"))
    third = await facts(session)

    assert holds(popup)
    assert [first, second, third] == [SEEN] * 3
    sent = server.got("/popup")[0]
    assert sent["accept-language"].startswith("de-DE")
    assert sent["user-agent"] == GERMAN.user_agent


async def test_frames_of_other_sites_and_workers_are_set_up_too(host: Host, server: Server) -> None:
    _, session = await host.opened(GERMAN)
    await session.perform(work("goto", url=server.url("first")))
    page = session.tabs.current.page
    frame = f"<iframe src='http://localhost:{server.port}/frame'></iframe>"

    told = await page.evaluate(IN_WORKER)
    await page.evaluate(f'document.body.insertAdjacentHTML("beforeend", "{frame}")')
    await session.check([PREDICATE.validate_python(says("Page /frame"))], 5_000)
    inside: dict[str, Any] = await page.frames[1].evaluate("JSON.parse(early)")

    assert told == ["de-DE", GERMAN.user_agent, "1.234,5", "Asia/Tokyo"]
    assert all(inside[name] == SEEN[name] for name in SEEN if name != "size")


async def test_a_popup_keeps_language_and_time_zone_when_its_opener_is_closed(host: Host, server: Server) -> None:
    _, session = await host.opened(GERMAN)
    await session.perform(work("goto", url=server.url("first")))
    await session.perform(work("click", button("Open"), expect=[says("Page /popup")]))
    popup = session.tabs.current
    opener = next(tab for tab in session.tabs.open_tabs if tab is not popup)

    await opener.page.close()
    await session.perform(work("goto", url=server.url("later")))

    assert await facts(session) == SEEN


async def test_a_click_reaches_what_lies_beyond_the_window(host: Host, server: Server) -> None:
    _, session = await host.opened(BrowserSetup(width=1900, height=1400))
    await session.perform(work("goto", url=server.url("first")))
    await session.tabs.current.page.evaluate(
        "document.querySelectorAll('button')[1].style.cssText = 'position: fixed; right: 5px; bottom: 5px'"
    )

    await session.perform(work("click", button("Send"), expect=[{"response_status": 200}]))

    assert len(server.got("/data")) == 1


async def test_another_worker_finds_the_same_setup(host: Host, server: Server) -> None:
    ref, _ = await host.opened(GERMAN)

    adopted = (await host.attachments.hold(ref.model_copy(update={"epoch": 2}), 2)).browser
    assert isinstance(adopted, ChromiumSession)
    await adopted.perform(work("goto", url=server.url("first")))

    assert await facts(adopted) == SEEN


async def test_a_browser_that_replaces_a_killed_one_is_set_up_the_same(host: Host, server: Server) -> None:
    setup = GERMAN.model_copy(update={"origin": server.origin, "headers": {"X-Key": "k3y"}})
    granted = tuple(host_rule(each, "test") for each in ON_LOOPBACK)
    policing = Policing(granted=lambda: granted)
    activities = SessionActivities(
        host.keepers, host.attachments, queue="mine", host_queue="host-mine", policing=policing
    )
    run = ActivityEnvironment().run
    asked = OpenSession(run_id="r1", lineage="r1", tenant="acme", network=LOOPBACK, setup=setup)
    lost = (await run(activities.open_session, asked)).session
    [record] = list_live(Path(lost.directory).parent)
    assert record.chromium is not None
    os.kill(record.chromium.pid, signal.SIGKILL)
    again = RecoverSession(run_id="r1", tenant="acme", lost=lost, epoch=2, network=LOOPBACK, setup=setup)

    opened = await run(activities.recover_session, again)
    rebuilt = (await host.attachments.hold(opened.session, 2)).browser
    assert isinstance(rebuilt, ChromiumSession)
    await rebuilt.perform(work("goto", url=server.url("first")))

    assert (opened.adopted, opened.session.session_id != lost.session_id) == (False, True)
    assert await facts(rebuilt) == SEEN
    assert server.got("/first")[0]["x-key"] == "k3y"


async def test_a_checkpoint_is_restored_in_a_browser_whose_requests_are_paused(host: Host, server: Server) -> None:
    _, first = await host.opened(None)
    await first.perform(work("goto", url=server.url("kept")))
    await first.tabs.current.page.evaluate("localStorage.setItem('draft', 'hello')")
    state, _ = await first.state()
    setup = BrowserSetup(origin=server.origin, headers={"X-Key": "k3y"}, username="ada", password="s3cret")
    _, second = await host.opened(setup)

    await second.restore(state)

    assert await second.tabs.current.page.evaluate("localStorage.getItem('draft')") == "hello"
    assert server.got("/kept")[-1]["x-key"] == "k3y"


async def test_headers_go_to_the_tasks_origin_and_to_no_other(host: Host, server: Server) -> None:
    setup = BrowserSetup(origin=server.origin, headers={"X-Key": "k3y", "accept": "text/x-own"})
    _, session = await host.opened(setup)

    await session.perform(work("goto", url=server.url("first")))
    await session.perform(work("click", button("Send"), expect=[{"response_status": 200}]))
    await session.perform(work("click", button("Open"), expect=[says("Page /popup")]))
    await session.perform(work("goto", url=server.url("away")))

    own = [server.got(path)[0] for path in ("/first", "/data", "/popup", "/away")]
    assert [(each.get("x-key"), each["accept"]) for each in own] == [("k3y", "text/x-own")] * 4
    others = [server.got(path, server.other_port)[0] for path in ("/picture", "/landed")]
    assert ["x-key" in each or each["accept"] == "text/x-own" for each in others] == [False, False]


async def test_headers_go_to_the_tasks_origin_while_every_request_is_paused(host: Host, server: Server) -> None:
    ref, session = await host.opened(BrowserSetup(origin=server.origin, headers={"X-Key": "k3y"}))
    await session.perform(work("goto", url=server.url("first")))
    gate = await host.keepers.gate(ref, 1)
    await gate.arm("op", within_ms=20_000, hold_safe=False)

    other = f"http://127.0.0.1:{server.other_port}/else"
    await session.tabs.current.page.evaluate(f"Promise.all(['/own', '{other}'].map(url => fetch(url).catch(() => 0)))")

    assert server.got("/own")[0]["x-key"] == "k3y"
    assert "x-key" not in server.got("/else", server.other_port)[0]
    await gate.disarm("op")
    await gate.close()


async def test_an_armed_gate_still_holds_what_carries_headers(host: Host, server: Server) -> None:
    ref, session = await host.opened(BrowserSetup(origin=server.origin, headers={"X-Key": "k3y"}))
    await session.perform(work("goto", url=server.url("first")))
    gate = await host.keepers.gate(ref, 1)
    await gate.arm("op", within_ms=20_000, hold_safe=False)

    await session.tabs.current.page.evaluate("void fetch('/data', {method: 'POST'})")
    held = await gate.wait_held("op", 5_000)
    before = server.got("/data")
    await gate.permit("op")
    await until(lambda: server.got("/data"))

    assert (bool(held.held), before) == (True, [])
    assert server.got("/data")[0]["x-key"] == "k3y"
    await gate.disarm("op")
    await gate.close()


@pytest.mark.parametrize("is_armed", [False, pytest.param(True, marks=pytest.mark.long)])
async def test_a_canary_s_browser_does_not_send_what_came_of_an_input_and_no_recording_knows(
    host: Host, server: Server, is_armed: bool
) -> None:
    ref, session = await host.opened(BrowserSetup(sends=("POST /login",)))
    await session.perform(work("goto", url=server.url("first")))
    gate = await host.keepers.gate(ref, 1)
    if is_armed:
        await gate.arm("op", within_ms=20_000, hold_safe=False)
        await gate.permit("op")
    page = session.tabs.current.page
    sends = "path => fetch(path, {method: 'POST'}).then(answer => answer.status, () => 0)"
    by_itself = await page.evaluate(f"({sends})('/heartbeat')")
    await session.perform(work("click", button("Send")))

    after = [await page.evaluate(f"({sends})('{path}')") for path in ("/drafts/7", "/login", "/heartbeat")]
    beacon = await page.evaluate("navigator.sendBeacon('/beacon') && fetch('/after').then(answer => answer.status)")

    assert (by_itself, after, beacon) == (200, [0, 200, 200], 200)
    assert [server.got(path) for path in ("/data", "/drafts/7", "/beacon")] == [[], [], []]
    withheld = (await host.keepers.network(ref)).withheld
    assert [each.rule for each in withheld] == ["canary: POST /data", "canary: POST /drafts/*", "canary: POST /beacon"]
    await gate.close()


async def test_while_a_step_is_rehearsed_nothing_leaves_that_may_store_something_and_the_page_stays(
    host: Host, server: Server
) -> None:
    ref, session = await host.opened(BrowserSetup(locale="de-DE"))
    await session.perform(work("goto", url=server.url("first")))
    page = session.tabs.current.page
    await page.evaluate("fetch('/heartbeat', {method: 'POST'})")

    await host.keepers.set_up(ref, BrowserSetup(locale="de-DE", holds_back=True))
    await session.perform(work("click", button("Send")))
    await page.evaluate(
        """() => {
            navigator.sendBeacon("/beacon");
            document.body.insertAdjacentHTML("beforeend", "<form method=post action=/form></form>");
            document.forms[document.forms.length - 1].submit();
        }"""
    )
    seen = await page.evaluate(
        """async () => {
            await new Promise((resolve) => setTimeout(resolve, 300));
            location.href = "/elsewhere";
            const later = fetch("/heartbeat", {method: "POST"}).then((answer) => answer.status, () => 0);
            return [await later, await fetch("/read").then((answer) => answer.status), navigator.language];
        }"""
    )

    assert seen == [0, 200, "de-DE"]
    assert session.url == server.url("first")
    paths = ("/data", "/beacon", "/form", "/elsewhere", "/heartbeat", "/read")
    assert [len(server.got(path)) for path in paths] == [0, 0, 0, 0, 1, 1]


@pytest.mark.parametrize("password", ["s3cret", "wrong"])
async def test_a_challenge_of_the_tasks_origin_is_answered_once(host: Host, server: Server, password: str) -> None:
    _, session = await host.opened(BrowserSetup(origin=server.origin, username="ada", password=password))

    refused = contextlib.nullcontext() if password == "s3cret" else pytest.raises(ActionFailed, match="401")
    with refused:
        await session.perform(work("goto", url=server.url("private")))

    sent = [headers.get("authorization") for headers in server.got("/private")]
    assert sent == [None, credentials("ada", password)]


async def test_a_challenge_of_another_origin_gets_no_answer(host: Host, server: Server) -> None:
    _, session = await host.opened(BrowserSetup(origin=server.origin, username="ada", password="s3cret"))

    with pytest.raises(ActionFailed, match="AUTH"):
        await session.perform(work("goto", url=f"http://127.0.0.1:{server.other_port}/private"))

    assert [h.get("authorization") for h in server.got("/private", server.other_port)] == [None]
