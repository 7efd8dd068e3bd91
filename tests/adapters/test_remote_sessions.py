"""Sessions in a Chromium that runs elsewhere have what those in a browser of the keeper's own have."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from activities.session.attachments import Attachments
from replaywright.browser.devtools.attach import ChromiumBrowsers
from replaywright.browser.session import ChromiumSession
from replaywright.domain.page.targets import Box
from replaywright.domain.session.browser_setup import BrowserSetup
from replaywright.errors import ActionFailed
from replaywright.keeper.host.client import KeeperClient, list_live, reap
from replaywright.keeper.host.local import LocalKeepers
from replaywright.keeper.protocol import KeeperOptions, RemoteBrowser
from tests.adapters.channel_site import ChannelSite, posted_files, serving
from tests.adapters.chromium import Chromium
from tests.adapters.networks import LOOPBACK
from tests.adapters.steps import button, holds, link, says, work
from tests.adapters.test_browser_setup import GERMAN, SEEN, Host, Server, facts, server
from tests.adapters.test_keeper_view import middle
from tests.adapters.test_lending import ask, joined, person
from tests.adapters.test_remote_browser import chromium, has_tabs
from tests.waiting import until

__all__ = ["chromium", "server"]

LIMIT = 2 * 1024 * 1024
BLUE = "document.body.style.background = 'rgb(0, 0, 255)'"


@pytest.fixture(scope="module")
def site() -> Iterator[ChannelSite]:
    with serving() as served:
        yield served


@pytest.fixture(scope="module")
def outgoing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("outgoing")
    (folder / "a.csv").write_text("a,b,c")
    (folder / "large.bin").write_bytes(os.urandom(9 * 1024 * 1024))
    return folder


@pytest.fixture(scope="module")
async def browsers(outgoing: Path) -> AsyncIterator[ChromiumBrowsers]:
    shared = ChromiumBrowsers(download_limit_bytes=LIMIT, upload_roots=lambda: (outgoing,))
    yield shared
    await shared.close()


@pytest.fixture
async def host(tmp_path: Path, chromium: Chromium, browsers: ChromiumBrowsers) -> AsyncIterator[Host]:
    sessions = tmp_path / "sessions"
    remote = RemoteBrowser(endpoint=chromium.address)
    keepers = LocalKeepers(sessions, KeeperOptions(executable="", network=LOOPBACK, remote=remote, lease_s=600))
    attachments = Attachments(keepers, browsers)
    yield Host(keepers, attachments)
    await attachments.drop_all()
    for record in list_live(sessions):
        with contextlib.suppress(ProcessLookupError):
            os.kill(record.keeper.pid, signal.SIGKILL)
    await until(lambda: list_live(sessions) == [])
    reap(sessions)
    await until(lambda: has_tabs(chromium, 0))


@contextlib.asynccontextmanager
async def keeper_of(host: Host, session_id: str) -> AsyncIterator[KeeperClient]:
    """The keeper of a session, as its worker speaks to it."""
    [record] = [each for each in list_live(host.keepers._sessions_dir) if each.session_id == session_id]
    async with await KeeperClient.connect(Path(record.socket_path)) as keeper:
        yield keeper


async def opened(host: Host, site: ChannelSite, page: str) -> ChromiumSession:
    _, session = await host.opened(None)
    await session.perform(work("goto", url=site.url(page)))
    return session


# ------------------------------------------------------------------------------------------------------ files


@pytest.mark.parametrize(
    ("name", "file", "content"),
    [("By link", "report.csv", b"a,b"), ("From a blob", "blob.txt", b"hello blob"), ("In a tab", "tab.csv", b"a,b")],
)
async def test_a_download_comes_to_the_workers_host_before_its_step_ends(
    host: Host, site: ChannelSite, name: str, file: str, content: bytes
) -> None:
    session = await opened(host, site, "channel_downloads.html")

    report = await session.perform(work("click", link(name)))

    [download] = report.downloads
    assert (download.file.name, download.file.state, download.path.read_bytes()) == (file, "saved", content)


async def test_of_a_download_that_is_too_large_nothing_stays_on_the_workers_host(host: Host, site: ChannelSite) -> None:
    session = await opened(host, site, "channel_downloads.html")

    report = await session.perform(work("click", link("Big")))
    await session.release(report.downloads)

    assert [download.file.state for download in report.downloads] == ["too_large"]
    [folder] = host.keepers._sessions_dir.glob("*/downloads")
    await until(lambda: list(folder.iterdir()) == [])


def upload(target: dict[str, Any], *files: str, **more: Any) -> Any:
    return work("upload", target, instruction="the file field", files=list(files), **more)


@pytest.mark.parametrize(
    ("target", "said"),
    [({"label": "Plain"}, "said a.csv 5"), ({"role": "button", "name": "Choose by script"}, "script a.csv 5")],
)
async def test_files_of_the_workers_host_reach_a_field_and_a_chooser(
    host: Host, site: ChannelSite, target: dict[str, str], said: str
) -> None:
    session = await opened(host, site, "channel_uploads.html")

    report = await session.perform(upload(target, "a.csv", expect=[says(said)]))

    assert holds(report)
    assert report.acted


async def test_a_large_file_arrives_as_it_is(host: Host, site: ChannelSite, outgoing: Path) -> None:
    session = await opened(host, site, "channel_uploads.html")
    site.bodies.clear()

    report = await session.perform(upload({"label": "At once"}, "large.bin", expect=[says("said sent 200")]))

    assert holds(report)
    assert [content for _, content in posted_files(site.bodies[0])] == [(outgoing / "large.bin").read_bytes()]


async def test_a_drop_of_files_is_refused_before_it_begins(host: Host, site: ChannelSite) -> None:
    session = await opened(host, site, "channel_uploads.html")

    with pytest.raises(ActionFailed, match="leave `drop` out") as refused:
        await session.perform(upload({"role": "group", "name": "Drop zone"}, "a.csv", drop=True))

    assert (refused.value.reason, refused.value.dispatched) == ("no_files_taken", False)


# ------------------------------------------------------------------------------------------- setup and gate


async def test_a_session_is_set_up_and_those_beside_it_are_not(host: Host, server: Server) -> None:
    _, ours = await host.opened(GERMAN)
    _, others = await host.opened(None)
    await ours.perform(work("goto", url=server.url("first")))
    await others.perform(work("goto", url=server.url("first")))

    assert await facts(ours) == SEEN
    assert (await facts(others))["language"] != "de-DE"


async def test_what_a_rehearsal_would_send_is_held_back(host: Host, server: Server) -> None:
    ref, session = await host.opened(None)
    await session.perform(work("goto", url=server.url("first")))
    await host.keepers.set_up(ref, BrowserSetup(sends=(), holds_back=True))

    await session.perform(work("click", button("Send")))

    assert server.got("/data") == []
    assert [each.reason for each in (await host.keepers.network(ref)).withheld] == [
        "the step that sent it was only rehearsed"
    ]


# ---------------------------------------------------------------------------------------------------- people


async def test_a_person_is_lent_the_pages_of_the_session_and_no_others(host: Host, server: Server) -> None:
    _, session = await host.opened(None)
    _, others = await host.opened(None)
    await session.perform(work("goto", url=server.url("first")))
    foreign = (await others.tabs.current.cdp.send("Target.getTargetInfo"))["targetInfo"]["targetId"]

    async with keeper_of(host, "s1") as keeper:
        lent = await keeper.lend(1, "first", 60)
        address = Path(lent.file).read_text().strip()
        port, token = address.removeprefix("http://127.0.0.1:").rstrip("/").split("/")
        status, where = await ask(address)
        frontend, _ = await ask(f"{address}devtools/inspector.html")
        refused = await joined(port, f"/{token}/devtools/page/{foreign}", f"http://127.0.0.1:{port}")
        await keeper.take_back(1, "first")

    assert (status, frontend) == (302, 200)
    assert (await session.tabs.current.cdp.send("Target.getTargetInfo"))["targetInfo"]["targetId"] in where
    assert b" 404 " in refused


@pytest.mark.long
async def test_a_person_clicks_in_the_live_page(host: Host, server: Server) -> None:
    _, session = await host.opened(None)
    await session.perform(work("goto", url=server.url("first")))
    page = session.tabs.current.page
    await page.evaluate(
        """() => {
          document.body.innerHTML = "<button style='position: fixed; inset: 0'>Send</button>";
          document.querySelector("button").onclick = () => fetch("/data", {method: "POST"});
        }"""
    )

    async with keeper_of(host, "s1") as keeper:
        lent = await keeper.lend(1, "first", 60)
        async with person(Path(lent.file).read_text().strip()) as theirs:
            canvas = theirs.locator(".screencast-canvas-container canvas")
            async with asyncio.timeout(30):
                while not server.got("/data"):
                    await canvas.click()
                    await asyncio.sleep(0.5)
        taken = await keeper.take_back(1, "first")

    assert any(one.startswith("POST ") and "/data" in one for one in taken.requests)


async def test_somebody_who_watches_sees_the_page_and_where_its_element_is(host: Host, server: Server) -> None:
    _, session = await host.opened(None)
    await session.perform(work("goto", url=server.url("first")))
    page = session.tabs.current.page
    await page.evaluate(BLUE)

    async with keeper_of(host, "s1") as keeper:
        number, colour = await middle(keeper, page, 0)
        while colour != "blue":
            number, colour = await middle(keeper, page, number)
        keeper.point(1, session.tabs.current.main.loader, Box(x=10, y=10, width=20, height=20))
        report = await keeper.view(number, 10_000)

    assert report.element is not None
