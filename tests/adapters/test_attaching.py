"""Attaching that is given up half way."""

import asyncio
import time
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest

from replaywright.browser.devtools.attach import ChromiumBrowsers
from tests.adapters.chromium import Chromium
from tests.waiting import until


def connected_to(endpoint: str) -> bool:
    port = urlsplit(endpoint).port
    return any(
        connection.raddr.port == port
        for process in [psutil.Process(), *psutil.Process().children()]
        for connection in process.net_connections("tcp")
        if connection.status == psutil.CONN_ESTABLISHED
    )


async def test_who_stops_waiting_leaves_nobody_connected_and_no_error_for_another_session(
    endpoint: str, chromium_path: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    browsers = ChromiumBrowsers()
    session = await browsers.attach(endpoint)  # the driver runs
    async with Chromium(chromium_path, tmp_path) as slow:
        attaching = asyncio.create_task(browsers.attach(slow))
        for _ in range(50):
            await asyncio.sleep(0)  # the driver is asked
        time.sleep(1)  # noqa: ASYNC251 - the worker is held up while its driver connects and says so
        attaching.cancel()
        await asyncio.wait([attaching])
        await until(lambda: not connected_to(slow))
    url = await session.tabs.current.page.evaluate("location.href")
    await session.detach()
    await browsers.close()

    assert attaching.cancelled()
    assert url == "about:blank"
    assert "event listener" not in caplog.text
