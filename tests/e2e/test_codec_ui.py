"""Temporal's own UI in a real browser: clear text for those who have a codec server, and for nobody else."""

import base64
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from playwright.async_api import Browser

from bench.chromium import launched
from replaywright.domain.secrets.signing import written_key
from replaywright.sealing.codec import ENCODING
from replaywright.settings import Settings, load_settings
from replaywright.stack.keyring import new_key
from replaywright.stack.processes import Child, free_port, start_child
from replaywright.stack.services import run_address
from replaywright.stack.temporal import DevServer, TemporalServer
from replaywright.stack.temporal_client import connect_client

pytestmark = pytest.mark.long

SEALED = base64.b64encode(ENCODING).decode()
CANARY = "clear text for those who may read it"


@pytest.fixture(scope="module")
def codec_port() -> int:
    return free_port()


@pytest.fixture(scope="module")
async def temporal(
    temporal_binary: Path, tmp_path_factory: pytest.TempPathFactory, codec_port: int
) -> AsyncIterator[TemporalServer]:
    log = tmp_path_factory.mktemp("ui") / "temporal.log"
    endpoint = f"http://127.0.0.1:{codec_port}"
    server = await DevServer(temporal_binary, log=log, codec_endpoint=endpoint, ui_port=free_port()).start()
    yield server
    await server.child.stop()


@pytest.fixture(scope="module")
def sealing(temporal: TemporalServer) -> Settings:
    keys = written_key(new_key("k1"))
    return load_settings(temporal_address=temporal.address, temporal_ui_url=temporal.ui_url, codec_keys=keys)


@pytest.fixture(scope="module")
async def browser(chromium_path: Path) -> AsyncIterator[Browser]:
    async with launched(chromium_path) as browser:
        yield browser


async def codec_server(settings: Settings, port: int, log: Path) -> Child:
    ui = settings.temporal_ui_url or ""
    variables = {"REPLAYWRIGHT_CODEC_KEYS": str(settings.codec_keys or ""), "REPLAYWRIGHT_TEMPORAL_UI_URL": ui}
    command = [sys.executable, "-m", "replaywright", "admin", "codec-server", "--port", str(port)]
    child = start_child("codec server", command, log=log, environment={**os.environ, **variables})

    async def serves() -> bool:
        try:
            async with httpx.AsyncClient() as client:
                return (await client.post(f"http://127.0.0.1:{port}/decode", json={})).status_code == 200
        except httpx.TransportError:
            return False

    await child.wait_until(serves, 60)
    return child


async def text_of_run(browser: Browser, settings: Settings, run: str, picture: Path | None = None) -> str:
    """What the UI shows of a run's input, once it has asked for it."""
    page = await browser.new_page(viewport={"width": 1280, "height": 900})
    try:
        await page.goto(run_address(settings.temporal_ui_url or "", "default", run))
        shown = page.get_by_text(CANARY).or_(page.get_by_text(SEALED)).filter(visible=True)
        await shown.first.wait_for(timeout=30_000)
        return await page.locator("body").inner_text()
    finally:
        if picture is not None:
            await page.screenshot(path=str(picture))
        await page.close()


async def test_the_ui_shows_clear_text_with_the_codec_server_and_not_without(
    sealing: Settings, codec_port: int, browser: Browser, tmp_path: Path, pictures: Path
) -> None:
    client = await connect_client(sealing)
    run = "codec/ui"
    await client.start_workflow("Unserved", {"said": CANARY}, id=run, task_queue="nobody", static_summary=CANARY)
    history = await client.get_workflow_handle(run).fetch_history()
    stored = b"".join(event.SerializeToString() for event in history.events)

    without = await text_of_run(browser, sealing, "codec/ui", pictures / "codec-without.png")
    server = await codec_server(sealing, codec_port, tmp_path / "codec.log")
    with_it = await text_of_run(browser, sealing, "codec/ui", pictures / "codec-with.png")
    await server.stop()

    assert CANARY.encode() not in stored
    assert CANARY not in without
    assert CANARY in with_it
    assert CANARY not in (tmp_path / "codec.log").read_text()
