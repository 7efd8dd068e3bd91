"""A Chromium that is started by hand and attached to, as sessions are."""

import asyncio
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from replaywright.keeper.chromium.chromium import DISABLED_FEATURES, QUIET
from replaywright.keeper.chromium.profile import delete_profile


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


async def leave_one_blank_tab(endpoint: str) -> None:
    """Close all tabs that a test has left, and give the next one a tab of its own."""
    async with httpx.AsyncClient() as http:
        await http.put(f"{endpoint}/json/new?about:blank")
        tabs = [tab for tab in (await http.get(f"{endpoint}/json/list")).json() if tab["type"] == "page"]
        for tab in tabs[1:]:
            await http.get(f"{endpoint}/json/close/{tab['id']}")
