"""Connecting to browsers that run already."""

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path

from playwright._impl import transport
from playwright._impl._driver import get_driver_env
from playwright.async_api import Browser, Playwright, async_playwright
from playwright.async_api import Error as PlaywrightError

from replaywright.browser.devtools.cdp import BrowserConnection, CdpFailed, connected
from replaywright.browser.devtools.downloads import DOWNLOAD_LIMIT_BYTES
from replaywright.browser.devtools.endpoint import driver_url, shown
from replaywright.browser.devtools.freeing import dismiss_dialogs, stop_loading
from replaywright.browser.recording.watching import WatchedBrowser
from replaywright.browser.session import ChromiumSession
from replaywright.children import for_browser
from replaywright.domain.predicate.evaluation import CustomPredicate
from replaywright.errors import SessionLost
from replaywright.ports.browser import OnFound
from replaywright.temporary import temporary_folder

HELD_UP_S = 3.0
"""A browser that has not answered a new client by then may be held up by a dialog."""
CONNECT_TIMEOUT_S = 20.0
"""Chromium answers a new client for a page only when a navigation that is under way there has been answered."""


_driver_folder: ContextVar[str] = ContextVar("driver_folder", default="")
"""Folder for temporary files of the driver that is being started: a killed worker's driver leaves them there.
Empty for drivers that this process starts for something else."""


def _driver_environment() -> dict[str, str]:
    given = get_driver_env()
    kept = {name: value for name, value in given.items() if name.startswith(("PW_", "PLAYWRIGHT_"))}
    folder = _driver_folder.get()
    return for_browser(given) | kept | ({"TMPDIR": folder} if folder else {})


# Playwright starts its driver with a copy of this process's environment, secrets among it, and has no option for that.
setattr(transport, "get_driver_env", _driver_environment)  # noqa: B010 - the module declares no such thing to export


class ChromiumBrowsers:
    """Implements `Browsers`. One Playwright driver for all sessions of the process, started with the first."""

    def __init__(
        self,
        *,
        connect_timeout_s: float = CONNECT_TIMEOUT_S,
        download_limit_bytes: int = DOWNLOAD_LIMIT_BYTES,
        upload_roots: Callable[[], Sequence[Path]] = tuple,
        custom: Mapping[str, CustomPredicate] | None = None,
    ) -> None:
        """Take `custom`: the conditions that predicates of the kind `custom` may name; `upload_roots` is asked anew."""
        self._connect_timeout_s = connect_timeout_s
        self._download_limit_bytes = download_limit_bytes
        self._upload_roots = upload_roots
        self._custom = custom
        self._driver: Playwright | None = None
        self._exits = contextlib.ExitStack()
        self._starting = asyncio.Lock()
        self._leaving: set[asyncio.Task[None]] = set()

    async def attach(self, endpoint: str, directory: str = "", on_found: OnFound | None = None) -> ChromiumSession:
        """Return a session on the Chromium at this DevTools endpoint, on its current page.

        An open dialog of a lost worker is dismissed first: no client can attach while it is open.

        Raises:
            SessionLost: nothing answers there.
        """
        async with contextlib.AsyncExitStack() as undo:
            browser, connection, freed = await self._reached(endpoint, undo)
            session = ChromiumSession(
                browser,
                browser.contexts[0],
                connection,
                directory=directory,
                download_limit_bytes=self._download_limit_bytes,
                upload_roots=self._upload_roots,
                custom=self._custom,
                on_found=on_found,
            )
            if freed:
                session.environment.dialogs.note(
                    "a page that a dialog or a load held up was freed when the browser was taken over"
                )
            try:
                await session.open()
            except (PlaywrightError, SessionLost, CdpFailed) as exc:
                raise SessionLost(f"the browser at {shown(endpoint)!r} shows no page that answers") from exc
            undo.pop_all()
        return session

    async def watch(self, endpoint: str) -> WatchedBrowser:
        """Return the Chromium at this DevTools endpoint as one in which a person works.

        Raises:
            SessionLost: nothing answers there.
        """
        async with contextlib.AsyncExitStack() as undo:
            browser, connection, _ = await self._reached(endpoint, undo)
            watched = WatchedBrowser(browser, browser.contexts[0], connection)
            try:
                await watched.attach()
            except (PlaywrightError, CdpFailed) as exc:
                raise SessionLost(f"the browser at {shown(endpoint)!r} shows no page that answers") from exc
            undo.pop_all()
        return watched

    async def _reached(self, endpoint: str, undo: contextlib.AsyncExitStack) -> tuple[Browser, BrowserConnection, bool]:
        """Return both connections to the browser, and whether dialogs were dismissed; `undo` closes them."""
        browser, freed = await self._freed(endpoint)
        undo.push_async_callback(_disconnect, browser)
        try:
            async with asyncio.timeout(self._connect_timeout_s):
                connection = await connected(endpoint)
        except (OSError, TimeoutError) as exc:
            raise SessionLost(f"no browser answers at {shown(endpoint)!r}") from exc
        undo.callback(connection.close)
        return browser, connection, freed

    async def _freed(self, endpoint: str) -> tuple[Browser, bool]:
        """Return the browser, and whether dialogs were dismissed: a page may open another as soon as one is gone."""
        limit_s, freed = min(HELD_UP_S, self._connect_timeout_s), False
        left_s = limit_s + self._connect_timeout_s
        while True:
            try:
                return await self._connected(endpoint, min(limit_s, left_s)), freed
            except (PlaywrightError, TimeoutError) as exc:
                left_s -= limit_s
                if left_s <= 0:
                    raise SessionLost(f"no browser answers at {shown(endpoint)!r}") from exc
                freed = await dismiss_dialogs(endpoint) or freed
                limit_s *= 2

    async def _connected(self, endpoint: str, timeout_s: float) -> Browser:
        driver = await self._started()
        try:
            return await self._over_cdp(driver, endpoint, timeout_s)
        except PlaywrightError as exc:
            if "has been closed" not in exc.message:
                raise
        # The driver's process has ended, and all its sessions with it: a new one serves later sessions.
        async with self._starting:
            if self._driver is driver:
                self._driver = None
        return await self._over_cdp(await self._started(), endpoint, timeout_s)

    async def _over_cdp(self, driver: Playwright, endpoint: str, timeout_s: float) -> Browser:
        """Return the browser at `endpoint`; a caller that stops waiting leaves no connection behind.

        The connection attempt itself is never cancelled: a cancelled call to Playwright may have connected already, and
        when that unknown browser ends, Playwright raises the error in the next call of any session of this driver.
        """
        # The driver closes the connection at its own limit: no client may be attached while a page is freed.
        connecting = asyncio.create_task(_connect(driver, endpoint, timeout_s))
        try:
            async with asyncio.timeout(timeout_s + 1.0):
                return await asyncio.shield(connecting)
        except (TimeoutError, asyncio.CancelledError):
            leaving = asyncio.create_task(_leave(connecting))
            self._leaving.add(leaving)
            leaving.add_done_callback(self._leaving.discard)
            raise

    async def stop_loading(self, endpoint: str) -> bool:
        """Stop what the pages at this endpoint load; see the port."""
        return await stop_loading(endpoint)

    async def start(self) -> None:
        """Start the driver now rather than with the first session, which would wait for it."""
        await self._started()

    async def _started(self) -> Playwright:
        async with self._starting:
            if self._driver is None:
                self._exits.close()
                folder = self._exits.enter_context(temporary_folder("replaywright-driver-"))
                before = _driver_folder.set(str(folder))
                try:
                    self._driver = await async_playwright().start()
                finally:
                    _driver_folder.reset(before)
            return self._driver

    async def close(self) -> None:
        """Stop the driver; sessions that are still attached end, their browsers go on."""
        async with self._starting:
            if self._driver is not None:
                await self._driver.stop()
                self._driver = None
            self._exits.close()


async def _connect(driver: Playwright, endpoint: str, timeout_s: float) -> Browser:
    with driver_url(endpoint) as url:
        return await driver.chromium.connect_over_cdp(url, timeout=timeout_s * 1000)


async def _leave(connecting: asyncio.Task[Browser]) -> None:
    try:
        browser = await connecting
    except PlaywrightError:
        return
    await _disconnect(browser)


async def _disconnect(browser: Browser) -> None:
    try:
        async with asyncio.timeout(5):
            await browser.close()
    except (PlaywrightError, TimeoutError):
        return
