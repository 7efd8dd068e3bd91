"""Pages that take their renderer down, or would take everything else with them: bounded, and never mistaken."""

import asyncio
import contextlib
from pathlib import Path

import pytest

from activities.session.attachments import Attachments
from activities.session.sessions import SessionActivities
from replaywright.browser.devtools.attach import ChromiumBrowsers
from replaywright.browser.session import ChromiumSession
from replaywright.domain.session.sessions import RecoverSession, SessionOpened, SessionRef
from replaywright.errors import ActionFailed, SessionLost
from replaywright.testing.keepers import ANYWHERE, FakeKeepers
from tests.adapters.browser_site import Site
from tests.adapters.chromium import Chromium
from tests.adapters.gate_site import authority
from tests.adapters.steps import button, holds, opened, says, work
from tests.unit.staged import SESSION, run_activity

SMALL_HEAP = "--js-flags=--max-old-space-size=48"
HUNGRY = "const all = []; for (;;) all.push(new Array(100000).fill(Math.random()))"


class KeepersOf(FakeKeepers):
    """Keepers of one real browser."""

    def __init__(self, endpoint: str) -> None:
        super().__init__()
        self._endpoint = endpoint
        self.epochs[SESSION.session_id] = 0

    async def attach(self, session: SessionRef, epoch: int) -> str:
        await super().attach(session, epoch)
        return self._endpoint


async def recovered(endpoint: str, browsers: ChromiumBrowsers) -> SessionOpened:
    keepers = KeepersOf(endpoint)
    attachments = Attachments(keepers, browsers)
    activities = SessionActivities(keepers, attachments, queue="mine", host_queue="host-mine")
    lost = RecoverSession(run_id="r1", tenant="acme", lost=SESSION, epoch=2, network=ANYWHERE)
    found: SessionOpened = await run_activity(activities.recover_session, lost)
    await attachments.drop_all()
    return found


@pytest.mark.long
async def test_a_browser_whose_page_crashed_is_not_taken_for_one_that_shows_where_the_run_was(
    browsers: ChromiumBrowsers, site: Site, chromium_path: Path, tmp_path: Path
) -> None:
    async with Chromium(chromium_path, tmp_path) as endpoint:
        session = await browsers.attach(endpoint)
        await opened(session, site, "browser_basic.html")
        alive = await recovered(endpoint, browsers)
        session.tabs.current.cdp.notify("Page.crash")
        with pytest.raises(SessionLost, match="crashed"):
            await session.perform(work("wait_for", expect=[says("never")]))
        await session.detach()

        found = await recovered(endpoint, browsers)

        again = await browsers.attach(endpoint)
        await opened(again, site, "browser_basic.html")
        report = await again.perform(work("click", button("Count"), expect=[says("count 1")]))
        await again.detach()

    assert (alive.adopted, alive.url) == (True, site.url("browser_basic.html"))
    assert found.adopted is False
    assert holds(report)


@pytest.mark.long
async def test_a_page_that_runs_out_of_memory_is_a_lost_session(
    browsers: ChromiumBrowsers, site: Site, chromium_path: Path, tmp_path: Path
) -> None:
    async with Chromium(chromium_path, tmp_path, SMALL_HEAP) as endpoint:
        session = await browsers.attach(endpoint)
        await opened(session, site, "browser_basic.html")
        session.tabs.current.cdp.notify("Runtime.evaluate", {"expression": HUNGRY})

        with pytest.raises(SessionLost, match="crashed"):
            await session.perform(work("wait_for", expect=[says("never")], timeout_ms=60_000))

        await session.detach()
        found = await recovered(endpoint, browsers)

    assert found.adopted is False


@pytest.mark.long
async def test_a_click_that_opens_fifty_tabs_ends_and_the_run_can_go_on(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "browser_basic.html")
    flood = "document.querySelector('button').onclick = () => { for (let n = 0; n < 50; n++) open('about:blank') }"
    await session.tabs.current.page.evaluate(flood)

    with contextlib.suppress(ActionFailed):  # of its budget
        await session.perform(work("click", button("Count"), timeout_ms=3_000))
    await session.perform(work("goto", url=site.url("browser_second.html"), timeout_ms=30_000))
    report = await session.perform(work("goto", url=site.url("browser_second.html"), timeout_ms=30_000))

    assert report.title == "Second"


@pytest.mark.long
async def test_a_page_that_floods_its_console_is_worked_all_the_same(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "browser_basic.html")
    await session.tabs.current.page.evaluate(
        "() => { const text = 'x'.repeat(1000); let n = 0;"
        "  (function more() { for (let i = 0; i < 500; i++) console.log(n++, text);"
        "    if (n < 50000) setTimeout(more) })() }"
    )

    report = await session.perform(work("click", button("Count"), expect=[says("count 1")], timeout_ms=60_000))
    seen = await session.capture(lambda text: text)

    assert holds(report)
    assert len("\n".join(seen.console)) < 1_000_000


LOGIN = b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=x\r\nContent-Length: 5\r\n\r\nlogin"


async def test_a_page_that_asks_for_a_password_of_its_own_is_not_opened(session: ChromiumSession) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(LOGIN)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"

    with pytest.raises(ActionFailed, match="ERR_INVALID_AUTH_CREDENTIALS") as failed:
        await session.perform(work("goto", url=url))

    server.close()
    assert failed.value.reason == "navigation_failed"


async def test_a_certificate_that_nobody_vouches_for_is_not_accepted(session: ChromiumSession, tmp_path: Path) -> None:
    context = authority(tmp_path).context("http/1.1")
    server = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", 0, ssl=context)
    url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/"

    with pytest.raises(ActionFailed, match="ERR_CERT_AUTHORITY_INVALID") as failed:
        await session.perform(work("goto", url=url))

    server.close()
    assert failed.value.reason == "navigation_failed"
