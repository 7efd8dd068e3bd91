"""A session keeper with a real Chromium, seen from workers that come and go."""

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest
from playwright.async_api import Browser, Error, Page, Playwright, async_playwright

from replaywright.browser.devtools.endpoint import driver_url
from replaywright.domain.session.network_policy import NetworkPolicy
from replaywright.errors import Fenced, KeeperRefused, KeeperUnavailable, NoPlace
from replaywright.keeper.chromium.chromium import command_line
from replaywright.keeper.host import places
from replaywright.keeper.host.client import (
    KeeperClient,
    KeeperHandle,
    count_starting,
    launch_keeper,
    list_live,
    log_tail,
    make_directory,
    read_record,
    reap,
    start_keeper,
)
from replaywright.keeper.host.identity import identify, is_alive
from replaywright.keeper.host.local import LocalKeepers
from replaywright.keeper.protocol import OPTIONS_NAME, AttachReport, KeeperOptions, SessionState
from replaywright.settings import load_settings
from replaywright.stack.chromium import find_chromium
from tests.adapters.networks import LOOPBACK
from tests.waiting import until

CHROMIUM = str(find_chromium(load_settings().chromium, install=False).path)
ROOT = Path(__file__).parent.parent.parent

PAGE = b"""<!doctype html><title>Order</title><link rel=icon href=data:,>
<form method=post action=/form><input name=who id=who><button id=send>Send</button></form>
<button id=fetch onclick="fetch('/fetch', {method: 'POST', body: 'x'})
  .then(r => r.text().then(t => { document.title = r.status + ' ' + t }), e => { document.title = 'failed' })">Fetch
</button>"""


@dataclass
class Site:
    """The judge: it knows what really arrived."""

    posts: list[str] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            method, path, _ = head.split(" ", 2)
            body = b"<title>Sent</title>thanks" if method == "POST" else PAGE
            if method == "POST":
                self.posts.append(path)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()


def options(**changes: object) -> KeeperOptions:
    defaults = KeeperOptions(
        network=LOOPBACK, session_id=uuid.uuid4().hex, executable=CHROMIUM, no_sandbox=os.geteuid() == 0
    )
    return defaults.model_copy(update=changes)


def run_unattended(arguments: list[str], process_group: int | None = None) -> subprocess.Popen[bytes]:
    return subprocess.Popen(arguments, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, process_group=process_group)


def processes_of(handle: KeeperHandle) -> list[psutil.Process]:
    """The keeper and all of Chromium."""
    keeper = psutil.Process(handle.record.keeper.pid)
    return [keeper, *keeper.children(recursive=True)]


def is_running(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    site = Site()
    server = await asyncio.start_server(site.serve, "127.0.0.1", 0)
    site.port = server.sockets[0].getsockname()[1]
    yield site
    server.close()


@pytest.fixture(scope="session")
async def playwright() -> AsyncIterator[Playwright]:
    async with async_playwright() as running:
        yield running


async def connected(playwright: Playwright, attachment: AttachReport) -> Browser:
    with driver_url(attachment.endpoint_url) as url:
        return await playwright.chromium.connect_over_cdp(url, timeout=10_000)


@contextlib.asynccontextmanager
async def driving(playwright: Playwright, keeper: KeeperClient, epoch: int) -> AsyncIterator[Browser]:
    attachment = await keeper.attach(epoch, "test")
    browser = await connected(playwright, attachment)
    try:
        yield browser
    finally:
        await browser.close()


async def first_page(browser: Browser) -> Page:
    return browser.contexts[0].pages[0]


# ---- life ----------------------------------------------------------------------------------------------------------

DOOMED_WORKER = """
import asyncio, sys
from pathlib import Path
from playwright.async_api import async_playwright
from replaywright.browser.devtools.endpoint import driver_url
from replaywright.keeper.host.client import launch_keeper
from replaywright.keeper.protocol import KeeperOptions

async def main():
    handle = await launch_keeper(Path(sys.argv[1]), KeeperOptions.model_validate_json(sys.argv[2]))
    async with async_playwright() as playwright, await handle.connect() as keeper:
        attachment = await keeper.attach(1, "doomed")
        with driver_url(attachment.endpoint_url) as url:
            browser = await playwright.chromium.connect_over_cdp(url)
        page = browser.contexts[0].pages[0]
        await page.goto(sys.argv[3])
        await page.fill("#who", "Ada")
        print("filled", flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_a_session_survives_the_kill_of_its_worker_and_another_finds_page_and_form_values(
    sessions: Path, site: Site, playwright: Playwright
) -> None:
    arguments = [sys.executable, "-c", DOOMED_WORKER, str(sessions), options().model_dump_json(), site.url]
    worker = await asyncio.create_subprocess_exec(
        *arguments,
        stdout=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert worker.stdout is not None
    assert await asyncio.wait_for(worker.stdout.readline(), 30) == b"filled\n"
    os.killpg(worker.pid, signal.SIGKILL)
    await worker.wait()

    (record,) = list_live(sessions)
    async with await KeeperClient.connect(record.socket_path) as keeper, driving(playwright, keeper, 2) as browser:
        page = await first_page(browser)
        found = page.url, await page.input_value("#who")

    assert found == (site.url, "Ada")


async def test_a_keeper_says_who_it_is_and_has_no_child_but_chromium(sessions: Path) -> None:
    handle = await launch_keeper(sessions, options(epoch=4))
    async with await handle.connect() as keeper:
        status = await keeper.status()

    assert status.keeper == identify(status.keeper.pid)
    assert status.chromium is not None
    assert is_alive(status.chromium)
    assert (status.epoch, status.state, status.chromium_alive) == (4, SessionState.READY, True)
    assert os.getpgid(status.chromium.pid) == status.chromium.pid
    assert psutil.Process(status.keeper.pid).ppid() != os.getpid()
    assert len(list_live(sessions)) == 1
    assert (handle.directory.stat().st_mode & 0o777, handle.socket_path.stat().st_mode & 0o777) == (0o700, 0o600)


async def test_a_disk_that_holds_up_a_start_does_not_hold_up_the_worker(sessions: Path) -> None:
    wanted = options()
    directory = make_directory(sessions, wanted.session_id)
    slow = directory / OPTIONS_NAME
    os.mkfifo(slow)  # who opens it to write waits until somebody reads
    rescue = threading.Timer(10, slow.read_text)  # of a worker that waits where nothing else can run
    rescue.start()

    starting = asyncio.create_task(start_keeper(directory, wanted))
    await asyncio.sleep(0)
    is_held_up = not rescue.is_alive()
    rescue.cancel()

    assert not is_held_up
    aside = slow.rename(sessions / "aside")
    slow.write_text(wanted.model_dump_json(), "utf-8")
    reader = os.open(aside, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert (await starting).record.session_id == wanted.session_id
    finally:
        os.close(reader)


async def test_a_keeper_on_this_host_says_how_old_and_how_large_its_browser_is(sessions: Path) -> None:
    keepers = LocalKeepers(sessions, options(), limit=1)
    session = await keepers.launch("s1", LOOPBACK)

    first = await keepers.wear(session)
    later = await keepers.wear(session)

    assert first.session_id == "s1"
    assert 0 < first.age_s < later.age_s
    assert 50 < first.memory_mb < 1_500
    with pytest.raises(NoPlace):
        await keepers.launch("s2", LOOPBACK)


async def test_a_browser_is_not_started_before_its_turn(sessions: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "cores", lambda: 1)
    monkeypatch.setattr(places, "TURN_S", 0)
    keepers = LocalKeepers(sessions, options(), limit=3)

    async with places.Places(sessions, None).turn():
        with pytest.raises(NoPlace, match="is starting other browsers"):
            await keepers.launch("s1", LOOPBACK)
        begun = len(list_live(sessions)) + count_starting(sessions)
    await keepers.launch("s1", LOOPBACK)

    assert begun == 0
    assert len(list_live(sessions)) == 1


async def test_sessions_share_no_profile(sessions: Path) -> None:
    handles = [await launch_keeper(sessions, options()) for _ in range(2)]
    profiles = [Path(handle.record.profile) for handle in handles]
    used = [argument for handle in handles for argument in arguments_of(handle) if "--user-data-dir=" in argument]

    assert profiles[0] != profiles[1]
    assert used == [f"--user-data-dir={profile}" for profile in profiles]
    assert [profile.stat().st_mode & 0o777 for profile in profiles] == [0o700, 0o700]


def arguments_of(handle: KeeperHandle) -> list[str]:
    assert handle.record.chromium is not None
    return psutil.Process(handle.record.chromium.pid).cmdline()


async def test_close_leaves_no_process_and_no_file(sessions: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:  # a short path: Chromium makes a socket below it
        handle = await launch_keeper(sessions, options(), environment={**os.environ, "TMPDIR": folder})
        processes = processes_of(handle)
        async with await handle.connect() as keeper:
            await keeper.close(0)
            await keeper.wait_until_gone()
        await until(lambda: not any(map(is_running, processes)))
        left = list(Path(folder).glob("org.chromium*"))

    assert len(processes) > 3
    assert list(sessions.iterdir()) == []
    assert left == []


async def test_a_folder_for_temporary_files_with_too_long_a_path_for_a_socket_is_none_for_chromium(
    sessions: Path, tmp_path: Path
) -> None:
    folder = tmp_path / ("long" * 20)
    folder.mkdir()

    handle = await launch_keeper(sessions, options(), environment={**os.environ, "TMPDIR": str(folder)})
    async with await handle.connect() as keeper:
        await keeper.close(0)
        await keeper.wait_until_gone()

    assert list(folder.iterdir()) == []


async def test_a_terminated_keeper_ends_its_browser_and_deletes_the_profile(sessions: Path) -> None:
    handle = await launch_keeper(sessions, options())
    processes = processes_of(handle)

    os.kill(handle.record.keeper.pid, signal.SIGTERM)
    await until(lambda: not any(map(is_running, processes)))

    assert not Path(handle.record.profile).exists()
    record = read_record(handle.directory)
    assert record is not None
    assert record.state is SessionState.ENDED


async def test_a_killed_keeper_takes_chromium_with_it_and_the_next_worker_cleans_up(
    sessions: Path, site: Site, playwright: Playwright
) -> None:
    handle = await launch_keeper(sessions, options())
    alive = await launch_keeper(sessions, options())
    async with await handle.connect() as keeper:
        attachment = await keeper.attach(1)
        browser = await connected(playwright, attachment)
        await (await first_page(browser)).goto(site.url)
        processes = processes_of(handle)
        os.kill(handle.record.keeper.pid, signal.SIGKILL)
        with pytest.raises(KeeperUnavailable):
            await keeper.status()
    await until(lambda: not any(map(is_running, processes)))

    reaped = reap(sessions)

    assert reaped == [handle.record.session_id]
    assert list(sessions.iterdir()) == [alive.directory]
    assert len(list_live(sessions)) == 1


async def test_the_reaper_kills_a_browser_that_outlived_its_keeper(sessions: Path, tmp_path: Path) -> None:
    handle = await launch_keeper(sessions, options())
    os.kill(handle.record.keeper.pid, signal.SIGKILL)
    await until(lambda: not is_alive(handle.record.chromium))
    profile = Path(handle.record.profile)
    # Another keeper's death signal did not reach its browser: the same profile, without a parent that would end it.
    arguments = command_line(options(), profile=profile, proxy_port=9)
    arguments.remove("--remote-debugging-pipe")  # the end of its pipe would end it
    orphan = run_unattended(arguments, process_group=0)
    processes = [psutil.Process(orphan.pid)]
    await until(lambda: len(processes[0].children(recursive=True)) > 2)
    processes += processes[0].children(recursive=True)
    unrelated = run_unattended([sys.executable, "-c", "input()", f"--user-data-dir={profile}-2"])

    reaped = await asyncio.to_thread(reap, sessions)
    orphan.communicate()

    assert reaped == [handle.record.session_id]
    assert unrelated.poll() is None
    unrelated.communicate(b"\n")
    await until(lambda: not any(map(is_running, processes)))
    assert not handle.directory.exists()


async def test_a_reused_pid_is_not_taken_for_ours(sessions: Path) -> None:
    handle = await launch_keeper(sessions, options())
    mine = identify(os.getpid())
    assert mine is not None
    os.kill(handle.record.keeper.pid, signal.SIGKILL)
    await until(lambda: not is_alive(handle.record.keeper))
    other = mine.model_copy(update={"start_ticks": mine.start_ticks - 1})
    forged = handle.record.model_copy(update={"keeper": other, "chromium": other})
    (handle.directory / "session.json").write_text(forged.model_dump_json())

    reaped = reap(sessions)

    assert reaped == [handle.record.session_id]


async def test_other_hosts_sessions_and_starts_in_progress_are_left_alone(sessions: Path) -> None:
    handle = await launch_keeper(sessions, options())
    os.kill(handle.record.keeper.pid, signal.SIGKILL)
    await until(lambda: not is_alive(handle.record.keeper))
    forged = handle.record.model_copy(update={"host": "elsewhere"})
    (handle.directory / "session.json").write_text(forged.model_dump_json())
    (sessions / "starting").mkdir()

    assert reap(sessions) == []
    assert len(list_live(sessions)) == 0


async def test_nobody_renews_and_the_browser_is_ended_and_its_profile_deleted(sessions: Path) -> None:
    handle = await launch_keeper(sessions, options(lease_s=0.2, orphan_ttl_s=0.6))
    processes = processes_of(handle)

    await until(lambda: not any(map(is_running, processes)))

    assert not Path(handle.record.profile).exists()
    assert "lease expired without renewal" in log_tail(handle.directory)
    assert reap(sessions) == [handle.record.session_id]


async def test_a_lapsed_lease_refuses_its_holder_until_a_greater_epoch_adopts(sessions: Path) -> None:
    handle = await launch_keeper(sessions, options(lease_s=0.1))
    async with await handle.connect() as keeper:

        async def has_lapsed() -> bool:
            return (await keeper.status()).lease.lapsed

        await until(has_lapsed)

        with pytest.raises(Fenced):
            await keeper.renew(0, 30)
        with pytest.raises(Fenced):
            await keeper.attach(0)
        with pytest.raises(Fenced):
            await keeper.arm("op", 0, 1000)
        await keeper.attach(1, lease_s=30)
        lease = await keeper.renew(1, 30)

    assert (lease.lapsed, lease.holder_epoch) == (False, 1)


async def test_a_dead_browser_is_told_and_the_black_box_stays_readable(
    sessions: Path, site: Site, playwright: Playwright
) -> None:
    handle = await launch_keeper(sessions, options())
    assert handle.record.chromium is not None
    async with await handle.connect() as keeper:
        await keeper.arm("before", 1, 20_000, hold_safe=True)
        await keeper.settle("permit", "before", 1)
        async with driving(playwright, keeper, 1) as browser:
            await (await first_page(browser)).goto(site.url)
            os.kill(handle.record.chromium.pid, signal.SIGKILL)

        async def is_dead() -> bool:
            return not (await keeper.status()).chromium_alive

        await until(is_dead)
        status = await keeper.status()
        [remembered] = (await keeper.black_box("before")).operations
        await keeper.settle("disarm", "before", 1)

        assert status.state is SessionState.BROWSER_DEAD
        assert site.url in {one.url for one in remembered.sent}
        with pytest.raises(KeeperRefused, match="browser_dead"):
            await keeper.attach(1)
        with pytest.raises(KeeperRefused, match="browser_dead"):
            await keeper.arm("op", 1, 1000)


async def test_a_browser_that_does_not_start_is_an_error_with_the_log(sessions: Path) -> None:
    with pytest.raises(KeeperUnavailable, match="no-such-browser"):
        await launch_keeper(sessions, options(executable="/no-such-browser"))
    with pytest.raises(KeeperUnavailable, match="with code 1"):
        await launch_keeper(sessions, options(executable=shutil.which("false")))

    assert list(sessions.iterdir()) == []


async def test_a_browser_that_calls_itself_a_headless_shell_is_refused(sessions: Path, tmp_path: Path) -> None:
    """As a script that starts one does; real ones answer like this."""
    shell = tmp_path / "browser"
    answer = b'{"id":%d,"result":{"product":"HeadlessChrome/156.0.8078.108"}}\0'
    shell.write_text(
        f"#!{sys.executable}\nimport json, os\nasked = os.read(3, 65536).split(b'\\0')[0]\n"
        f"os.write(4, {answer!r} % json.loads(asked)['id'])\nos.read(3, 1)\n"
    )
    shell.chmod(0o700)

    with pytest.raises(KeeperUnavailable, match=r"starts a headless shell, .*: name Chromium itself"):
        await launch_keeper(sessions, options(executable=str(shell)))


async def test_a_browser_that_does_not_answer_in_time_is_ended(sessions: Path, tmp_path: Path) -> None:
    mute = tmp_path / "mute"
    mute.write_text("#!/bin/sh\nexec sleep 1000\n")
    mute.chmod(0o700)

    with pytest.raises(KeeperUnavailable, match="did not answer over its debugging pipe"):
        await launch_keeper(sessions, options(executable=str(mute), browser_timeout_s=0.3))
    with pytest.raises(KeeperUnavailable, match="proxy listens"):
        await launch_keeper(sessions, options(executable=str(mute)), timeout_s=4)

    assert list(sessions.iterdir()) == []


async def test_a_deep_session_directory_does_not_overflow_the_socket_address(tmp_path: Path) -> None:
    sessions = tmp_path / ("d" * 120)
    handle = await launch_keeper(sessions, options())
    async with await handle.connect() as keeper:
        assert (await keeper.status()).chromium_alive
        await keeper.close(0)
        await keeper.wait_until_gone()


# ---- epochs --------------------------------------------------------------------------------------------------------


async def test_a_fence_cuts_the_old_cdp_connection_and_refuses_the_old_epoch(
    sessions: Path, site: Site, playwright: Playwright
) -> None:
    handle = await launch_keeper(sessions, options())
    async with await handle.connect() as keeper, await handle.connect() as successor:
        async with driving(playwright, keeper, 1) as zombie:
            page = await first_page(zombie)
            await page.goto(site.url)
            gone = asyncio.Event()
            zombie.once("disconnected", lambda _: gone.set())

            await successor.fence(2)
            await asyncio.wait_for(gone.wait(), 5)

            with pytest.raises(Error):
                await page.click("#send", timeout=1000)
        for refused in (keeper.attach(1), keeper.arm("op", 1, 1000), keeper.renew(1, 30), keeper.close(1)):
            with pytest.raises(Fenced):
                await refused
        async with driving(playwright, successor, 2) as browser:
            assert (await first_page(browser)).url == site.url
    assert site.posts == []


async def test_a_newer_attachment_closes_the_older_one_and_an_equal_one_does_not(
    sessions: Path, playwright: Playwright
) -> None:
    handle = await launch_keeper(sessions, options())
    async with (
        await handle.connect() as keeper,
        driving(playwright, keeper, 1) as old,
        driving(playwright, keeper, 1) as equal,
    ):
        assert (old.is_connected(), equal.is_connected()) == (True, True)
        async with driving(playwright, keeper, 2) as new:
            await until(lambda: not old.is_connected() and not equal.is_connected())
            assert new.is_connected()
            assert (await keeper.status()).open_relays == 1


async def test_a_request_of_another_version_or_without_sense_is_refused(
    sessions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle = await launch_keeper(sessions, options())
    monkeypatch.chdir(handle.directory)
    reader, writer = await asyncio.open_unix_connection("control.sock")
    answers = []
    for line in (b'{"version":99,"id":1,"op":"status"}\n', b'{"id":2,"op":"dance"}\n', b"[]\n"):
        writer.write(line)
        answers.append(await reader.readline())
    writer.close()
    await writer.wait_closed()

    assert [b'"invalid"' in answer for answer in answers] == [True, True, True]
    assert b"version 2, not 99" in answers[0]


# ---- network -------------------------------------------------------------------------------------------------------


async def test_the_proxy_is_the_only_way_out_even_to_loopback(
    sessions: Path, site: Site, playwright: Playwright
) -> None:
    handle = await launch_keeper(sessions, options())
    async with await handle.connect() as keeper, driving(playwright, keeper, 1) as browser:
        page = await first_page(browser)
        await keeper.arm("op", 1, 20_000, hold_safe=True)
        await keeper.settle("permit", "op", 1)
        await page.goto(f"http://localhost:{site.port}/start?token=1")
        await page.evaluate("new Promise(done => { new WebSocket('ws://' + location.host).onclose = () => done(1) })")
        told = {(one.method, one.url) for one in (await keeper.settle("disarm", "op", 1)).sent}
        refused = (await keeper.network()).refused
        connections = psutil.Process(handle.record.keeper.pid).children(recursive=True)
        remote = {
            (address.raddr.ip, address.raddr.port)
            for process in connections
            for address in process.net_connections("inet")
            if address.status == psutil.CONN_ESTABLISHED
        }

    assert ("GET", f"http://localhost:{site.port}/start") in told
    assert ("", f"https://localhost:{site.port}") in told
    assert ("127.0.0.1", site.port) not in remote
    assert {urlsplit(url).hostname for _, url in told} == {"localhost"}, "something talked in the background"
    assert refused == (), "something talked in the background"


@pytest.mark.parametrize("button", ["#send", pytest.param("#fetch", marks=pytest.mark.long)])
async def test_a_held_post_survives_its_worker_and_a_permit_sends_exactly_one(
    sessions: Path, site: Site, playwright: Playwright, button: str
) -> None:
    handle = await launch_keeper(sessions, options())
    async with await handle.connect() as doomed, driving(playwright, doomed, 1) as browser:
        page = await first_page(browser)
        await page.goto(site.url)
        await doomed.arm("op", 1, 20_000)
        await page.click(button, no_wait_after=True)
        held = await doomed.wait_held("op", 5000)
        assert [one.method for one in held.waiting] == ["POST"]
    assert site.posts == []

    async with await handle.connect() as keeper:
        await keeper.fence(2)
        box = await keeper.black_box("op")
        with pytest.raises(Fenced):
            await keeper.settle("permit", "op", 1)
        sent_before = list(site.posts)
        permitted = await keeper.settle("permit", "op", 2)
        await until(lambda: site.posts)
        async with driving(playwright, keeper, 2) as browser:
            page = await first_page(browser)
            await page.wait_for_function("document.title.includes('Sent') || document.title.startsWith('200')")
            record = await keeper.settle("disarm", "op", 2)
            await page.goto(site.url)

    assert box.operations[0].bytes_up == 0
    assert box.operations[0].phase == "armed"
    assert sent_before == []
    assert permitted.phase == "permitted"
    assert record.bytes_up > 0
    assert len(site.posts) == 1


@pytest.mark.parametrize("button", ["#fetch", pytest.param("#send", marks=pytest.mark.long)])
async def test_a_cut_post_is_never_sent_not_even_after_the_gate_is_open_again(
    sessions: Path, site: Site, playwright: Playwright, button: str
) -> None:
    handle = await launch_keeper(sessions, options())
    async with await handle.connect() as keeper, driving(playwright, keeper, 1) as browser:
        page = await first_page(browser)
        await page.goto(site.url)
        await keeper.arm("op", 1, 20_000)
        await page.click(button, no_wait_after=True)
        await keeper.wait_held("op", 5000)
        await keeper.settle("cut", "op", 1)
        if button == "#fetch":
            await page.wait_for_function("document.title.startsWith('503')")
        else:  # a navigation that was not let go leaves the page as it is
            assert await page.is_visible(button)
        await keeper.settle("disarm", "op", 1)
        await page.goto(site.url)
        await page.wait_for_load_state("load")
        record = (await keeper.black_box("op")).operations[0]

        assert site.posts == []
        assert (record.bytes_up, record.reason) == (0, "asked")
        await page.click(button)
        await until(lambda: site.posts)

    assert len(site.posts) == 1


async def test_what_is_held_when_the_stack_is_killed_is_never_sent(
    sessions: Path, site: Site, playwright: Playwright
) -> None:
    with run_unattended(["/bin/sleep", "600"]) as owner:
        handle = await launch_keeper(sessions, options(owner=identify(owner.pid)))
        async with await handle.connect() as keeper, driving(playwright, keeper, 1) as browser:
            page = await first_page(browser)
            await page.goto(site.url)
            await keeper.arm("op", 1, 60_000)
            await page.click("#send", no_wait_after=True)
            assert (await keeper.wait_held("op", 5000)).held

            owner.kill()

            await keeper.wait_until_gone()

    await until(lambda: not is_alive(handle.record.keeper))
    assert site.posts == []
    assert not handle.directory.exists()


async def test_dispatch_by_passes_while_nobody_is_there_and_nothing_is_sent(
    sessions: Path, site: Site, playwright: Playwright
) -> None:
    handle = await launch_keeper(sessions, options())
    async with await handle.connect() as keeper, driving(playwright, keeper, 1) as browser:
        page = await first_page(browser)
        await page.goto(site.url)
        await keeper.arm("op", 1, 400)
        await page.click("#send", no_wait_after=True)
    async with await handle.connect() as keeper:

        async def is_decided() -> bool:
            return (await keeper.black_box("op")).operations[0].phase != "armed"

        await until(is_decided)
        record = (await keeper.black_box("op")).operations[0]
        with pytest.raises(KeeperRefused, match="late"):
            await keeper.settle("permit", "op", 2)

    assert record.bytes_up == 0
    assert site.posts == []


async def test_a_spare_browser_reaches_nothing_and_lets_nobody_attach_before_it_is_taken(
    sessions: Path, playwright: Playwright, site: Site
) -> None:
    handle = await launch_keeper(sessions, options(is_spare=True, network=NetworkPolicy()))
    async with await handle.connect() as keeper:
        with pytest.raises(KeeperRefused, match="take it first"):
            await keeper.attach(1)
        before = await keeper.network()
        await keeper.take(0, LOOPBACK, 30)
        with pytest.raises(KeeperRefused, match="no spare any more"):
            await keeper.take(0, LOOPBACK, 30)
        with pytest.raises(KeeperRefused, match="no spare any more"):
            await keeper.close(0, only_spare=True)
        async with driving(playwright, keeper, 1) as browser:
            page = await first_page(browser)
            await page.goto(site.url)
            url = page.url
        after = await keeper.network()
        lease = (await keeper.status()).lease

    assert before.policy == NetworkPolicy()
    assert url.startswith(site.url)
    assert (after.policy, after.refused) == (LOOPBACK, ())
    assert lease.ends_in_s > 60  # as any session that its worker leaves
    assert [record.is_spare for record in list_live(sessions)] == [False]


async def test_a_spare_browser_whose_worker_is_gone_ends_with_its_lease_and_leaves_nothing(sessions: Path) -> None:
    handle = await launch_keeper(sessions, options(is_spare=True, lease_s=0.5))
    processes = processes_of(handle)

    await until(lambda: not any(map(is_running, processes)))

    assert list(sessions.iterdir()) == []


@contextlib.asynccontextmanager
async def keepers_with_a_spare(sessions: Path, *, limit: int) -> AsyncIterator[LocalKeepers]:
    keepers = LocalKeepers(sessions, options(), limit=limit, spares=1)
    keeping = asyncio.create_task(keepers.spares.keep())
    try:
        yield keepers
    finally:
        keeping.cancel()
        await keepers.spares.close()


async def test_a_session_takes_the_spare_browser_and_the_worker_starts_the_next_and_ends_it_when_it_leaves(
    sessions: Path,
) -> None:
    async with keepers_with_a_spare(sessions, limit=3) as keepers:
        await until(lambda: keepers.spares.ready, 60)
        [spare] = keepers.spares.ready

        taken = await keepers.launch("one", LOOPBACK)
        started = await keepers.launch("two", LOOPBACK)
        policy = (await keepers.network(taken)).policy
        await until(lambda: keepers.spares.ready, 60)
        [following] = keepers.spares.ready

    assert taken.session_id == spare
    assert policy == LOOPBACK
    assert started.session_id == "two"
    assert following not in ("two", spare)
    assert {record.session_id for record in list_live(sessions)} == {"two", spare}


async def test_a_spare_browser_makes_room_for_a_session_of_another_worker(sessions: Path) -> None:
    other = LocalKeepers(sessions, options(), limit=1)
    async with keepers_with_a_spare(sessions, limit=1) as keepers:
        await until(lambda: keepers.spares.ready, 60)

        opened = await other.launch("other", LOOPBACK)
        with pytest.raises(NoPlace):
            await keepers.launch("mine", LOOPBACK)

    assert [record.session_id for record in list_live(sessions)] == [opened.session_id]
