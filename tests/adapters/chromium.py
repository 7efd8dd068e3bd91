"""A Chromium that is started by hand and attached to, as sessions are."""

import asyncio
from pathlib import Path
from urllib.parse import urlsplit

from bench.chromium import give_one_new_tab
from replaywright.browser.devtools.cdp import CdpFailed
from replaywright.browser.session import ChromiumSession
from replaywright.errors import SessionLost
from replaywright.keeper.chromium.chromium import DISABLED_FEATURES, QUIET
from replaywright.keeper.chromium.profile import delete_profile

_EMPTIED_S = 1.0


class Chromium:
    """A Chromium of its own, with strict site isolation: a frame of another site is another process."""

    def __init__(self, path: Path, profile: Path, *more: str) -> None:
        """`more`: arguments of Chromium."""
        self.path, self.profile, self._more = path, profile, more

    async def __aenter__(self) -> str:
        arguments = ["--headless=new", "--no-sandbox", "--remote-debugging-port=0", f"--user-data-dir={self.profile}"]
        arguments += [f"--disable-features={','.join(DISABLED_FEATURES)}", "--disable-gpu", "--site-per-process"]
        arguments += [*QUIET, *self._more, "about:blank"]
        self.process = await asyncio.create_subprocess_exec(
            str(self.path), *arguments, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
        )
        assert self.process.stderr is not None
        async with asyncio.timeout(60):
            while b"DevTools listening on" not in (line := await self.process.stderr.readline()):
                assert line, "Chromium ended"
        self._rest = asyncio.create_task(self.process.stderr.read())
        self.address = f"http://127.0.0.1:{urlsplit(line.split()[-1].decode()).port}"
        return self.address

    async def running(self) -> str:
        """Its address; a browser that has ended is started anew."""
        return self.address if self.process.returncode is None else await self.__aenter__()

    async def __aexit__(self, *_: object) -> None:
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()
        await self._rest
        delete_profile(self.profile)


async def leave_one_blank_tab(endpoint: str, session: ChromiumSession) -> None:
    """End a test's session, and leave the next test one blank tab: this one, emptied, where that is possible.

    A tab of its own for each test takes 0.3 s of processor time: a process, and a tab in Chromium's window.
    """
    is_empty = await _is_emptied(session)
    await session.detach()
    if not is_empty:
        await give_one_new_tab(endpoint)


async def _is_emptied(session: ChromiumSession) -> bool:
    """Bring the only tab to an empty page without a history or a storage of its own; False if it cannot be."""
    tabs = list(session.tabs.attached)
    if len(tabs) != 1 or tabs[0].crashed:
        return False
    [tab] = tabs
    try:
        storage = {"expression": "sessionStorage.clear(); name = ''"}
        await tab.cdp.send("Runtime.evaluate", storage, timeout_s=_EMPTIED_S)
        is_left = await session.leave(int(_EMPTIED_S * 1000))
        await tab.cdp.send("Page.resetNavigationHistory", {}, timeout_s=_EMPTIED_S)
    except (CdpFailed, SessionLost):
        return False
    return is_left
