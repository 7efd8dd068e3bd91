"""Chromium as sessions start it asks for nothing that no page asked for: whatever leaves it goes through the proxy."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from playwright.async_api import Page, async_playwright

from replaywright.domain.session.network_policy import RefusedHost
from replaywright.keeper.chromium.chromium import command_line
from replaywright.keeper.chromium.profile import prepare_profile
from replaywright.keeper.protocol import KeeperOptions
from tests.adapters.test_keeper_proxy import Rig, Site, rig

SIGN_IN = b"""<!doctype html><html lang=de><title>Anmelden</title><link rel=icon href=data:,><link rel=manifest href=/m>
<h1>Willkommen</h1><p>Dieser Text ist in einer anderen Sprache, damit er sich zum Uebersetzen anbietet.</p>
<form method=post action=/in><input name=user type=email autocomplete=username><input name=card autocomplete=cc-number>
<input name=password type=password autocomplete=current-password><textarea name=note spellcheck=true lang=en></textarea>
<button>Anmelden</button></form><a href=/setup.exe download>Programm</a><video src=/none.mp4></video>"""
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\n\r\n%s"


@asynccontextmanager
async def page_of_a_session(it: Rig, executable: Path, folder: Path) -> AsyncIterator[Page]:
    """A page in a Chromium with the keeper's flags and profile, and no way out but the proxy of `it`."""
    profile = folder / "profile"
    profile.mkdir()
    prepare_profile(profile, folder / "downloads")
    options = KeeperOptions(executable=str(executable), no_sandbox=os.geteuid() == 0)
    flags = command_line(options, profile=profile, proxy_port=it.port)
    kept = [flag for flag in flags[1:] if not flag.startswith("--remote-debugging")]
    async with async_playwright() as playwright:
        context = await playwright.chromium.launch_persistent_context(
            profile, executable_path=executable, args=[*kept, "--remote-debugging-pipe"], ignore_default_args=True
        )
        try:
            yield context.pages[0]
        finally:
            await context.close()


async def test_a_sign_in_a_download_and_forms_ask_for_no_host_but_the_pages_own(
    chromium_path: Path, tmp_path: Path
) -> None:
    refused: tuple[RefusedHost, ...] = ()
    async with (
        rig(Site(answer=ANSWER % (len(SIGN_IN), SIGN_IN))) as it,
        asyncio.timeout(90),
        page_of_a_session(it, chromium_path, tmp_path) as page,
    ):
        for host in ("localhost", "127.0.0.1", "localhost"):  # what is asked after one sign-in is seen in the next
            await page.goto(f"http://{host}:{it.site.port}/")
            await page.fill("[name=user]", "ada@shop.example")
            await page.locator("[name=password]").press_sequentially("hunter2hunter2")
            await page.locator("[name=note]").press_sequentially("a note with a mispeling ")
            await page.click("button")
            await page.wait_for_url("**/in")
            async with page.expect_download() as downloading:
                await page.click("a")
            await (await downloading.value).path()
        refused = it.guard.seen(float("-inf")).refused
        asked = {(each.host, each.port) for each in it.connections()}

    assert [(each.host, each.port) for each in refused] == []
    assert asked == {("localhost", it.site.port), ("127.0.0.1", it.site.port)}
