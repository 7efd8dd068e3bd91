"""Freeing the pages of a browser without Playwright, which cannot attach while a dialog is open or a page loads."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from replaywright.browser.devtools.cdp import CdpFailed, CdpSession, EvaluationCounter, connected

_log = logging.getLogger("replaywright.browser")

STOP_S = 2.0
"""Limit of each phase of stopping: connecting, listing the pages, stopping all of them."""
DISMISS_S = 5.0
"""Limit of connecting, and of each command, when dialogs are dismissed."""


@asynccontextmanager
async def _pages(endpoint: str, limit_s: float) -> AsyncIterator[tuple[CdpSession, list[str]]]:
    """Connect to the browser at `endpoint`; yield its CDP session and the ids of its pages."""
    async with asyncio.timeout(limit_s):
        connection = await connected(endpoint)
    try:
        browser = CdpSession(connection, "", lambda *_: None, EvaluationCounter())
        targets = (await browser.send("Target.getTargets", timeout_s=limit_s))["targetInfos"]
        yield browser, [target["targetId"] for target in targets if target["type"] == "page"]
    finally:
        connection.close()


async def stop_loading(endpoint: str) -> bool:
    """Stop all loads of the pages at this DevTools endpoint; return whether every page confirmed it.

    A page that is stopped before its request has left keeps its document and all field values. Chromium itself
    answers, not the page.
    """
    try:
        async with _pages(endpoint, STOP_S) as (browser, pages):
            return all(await asyncio.gather(*(_stop(browser, page) for page in pages)))
    except (OSError, TimeoutError, CdpFailed) as exc:
        _log.warning("loading pages could not be stopped: %r", exc)
        return False


async def _stop(browser: CdpSession, page: str) -> bool:
    try:
        async with asyncio.timeout(STOP_S):
            session = await browser.attached(page, lambda *_: None, EvaluationCounter())
            await session.send("Page.stopLoading")
    except (CdpFailed, TimeoutError) as exc:
        _log.warning("page %s could not be stopped: %r", page, exc)
        return False
    return True


async def dismiss_dialogs(endpoint: str) -> bool:
    """Dismiss the open dialogs of a browser without clients; return whether it has a page.

    The worker of these dialogs was lost: a person could answer them, but no client, as a new client waits for the page,
    and the page for the dialog. Chromium dismisses the dialogs of a tab when another tab is brought to the front, only
    while no client is attached.
    """
    try:
        async with _pages(endpoint, DISMISS_S) as (browser, pages):
            if not pages:
                return False
            for page in pages:
                await browser.send("Target.activateTarget", {"targetId": page}, timeout_s=DISMISS_S)
            made = await browser.send("Target.createTarget", {"url": "about:blank"}, timeout_s=DISMISS_S)
            for page in (made["targetId"], pages[0]):
                await browser.send("Target.activateTarget", {"targetId": page}, timeout_s=DISMISS_S)
            await browser.send("Target.closeTarget", {"targetId": made["targetId"]}, timeout_s=DISMISS_S)
            return True
    except (OSError, TimeoutError, CdpFailed) as exc:
        _log.warning("open dialogs could not be dismissed: %r", exc)
        return False
