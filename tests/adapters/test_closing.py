"""A browser that hangs when it is closed is ended by force: nothing of it stays, and nobody waits for it for ever."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from activities.session.attachments import Attachments
from activities.session.sessions import SessionActivities
from replaywright.browser.devtools.attach import ChromiumBrowsers
from replaywright.browser.session import ChromiumSession
from replaywright.domain.session.sessions import CloseSession, OpenSession, SessionOpened
from replaywright.keeper.host.client import list_live
from replaywright.keeper.host.local import LocalKeepers
from replaywright.keeper.protocol import KeeperOptions
from replaywright.testing.keepers import ANYWHERE
from tests.adapters.test_keeper import is_running
from tests.unit.staged import run_activity
from tests.waiting import until

LIMIT_S = 60
"""For everything, also on a busy machine; a browser that hangs would stay for ever."""
ASKS = "addEventListener('beforeunload', event => { event.preventDefault(); event.returnValue = 'stay' })"


def frozen(_session: ChromiumSession, browser: list[psutil.Process]) -> None:
    for process in browser:
        process.suspend()


def looping(session: ChromiumSession, _browser: list[psutil.Process]) -> None:
    session.tabs.current.cdp.notify("Runtime.evaluate", {"expression": f"{ASKS}; for (;;);"})


def asking(session: ChromiumSession, _browser: list[psutil.Process]) -> None:
    session.tabs.current.cdp.notify("Runtime.evaluate", {"expression": f"{ASKS}; alert(1)", "userGesture": True})


@pytest.mark.parametrize(
    "hangs",
    [pytest.param(frozen, marks=pytest.mark.long), looping, pytest.param(asking, marks=pytest.mark.long)],
)
async def test_a_browser_that_does_not_answer_any_more_is_ended_when_its_run_gives_it_back(
    chromium_path: Path,
    tmp_path: Path,
    browsers: ChromiumBrowsers,
    hangs: Callable[[ChromiumSession, list[psutil.Process]], None],
) -> None:
    sessions = tmp_path / "sessions"
    options = KeeperOptions(executable=str(chromium_path), no_sandbox=os.geteuid() == 0)
    keepers = LocalKeepers(sessions, options, limit=1)
    attachments = Attachments(keepers, browsers)
    activities = SessionActivities(keepers, attachments, queue="mine", host_queue="host-mine")
    asked = OpenSession(run_id="r1", lineage="r1", tenant="acme", epoch=1, network=ANYWHERE)
    opened: SessionOpened = await run_activity(activities.open_session, asked)
    held = await attachments.hold(opened.session, 1)
    [record] = list_live(sessions)
    keeper = psutil.Process(record.keeper.pid)
    browser = keeper.children(recursive=True)
    assert isinstance(held.browser, ChromiumSession)

    hangs(held.browser, browser)
    async with asyncio.timeout(LIMIT_S):
        await run_activity(activities.close_session, CloseSession(session=opened.session))
        await until(lambda: not any(map(is_running, [keeper, *browser])), LIMIT_S)

    assert len(browser) > 2
    assert [entry for entry in sessions.iterdir() if entry.is_dir()] == []
