"""Stopping what pages load, without Playwright: it cannot attach while a navigation waits for its answer.

A page that is stopped before its request has left stays as it is, with all that was entered into it. Chromium itself
answers, not the page.
"""

import asyncio
import logging

from replaywright.browser.devtools.cdp import CdpFailed, CdpSession, EvaluationCounter
from replaywright.browser.devtools.connection import connected

_log = logging.getLogger("replaywright.browser")

TIMEOUT_S = 2.0
"""Limit of each phase: connecting, listing the tabs, stopping all of them."""


async def stop_loading(endpoint: str) -> bool:
    """Stop what all tabs at this DevTools endpoint are loading; whether every tab has confirmed it."""
    try:
        async with asyncio.timeout(TIMEOUT_S):
            connection = await connected(endpoint)
    except (OSError, TimeoutError) as exc:
        _log.warning("what the tabs load cannot be stopped: %r", exc)
        return False
    browser = CdpSession(connection, "", lambda *_: None, EvaluationCounter())
    try:
        targets = (await browser.send("Target.getTargets", timeout_s=TIMEOUT_S))["targetInfos"]
        tabs = [target["targetId"] for target in targets if target["type"] == "page"]
        return all(await asyncio.gather(*(_stop(browser, tab) for tab in tabs)))
    except CdpFailed as exc:
        _log.warning("the tabs that load something cannot be listed: %s", exc)
        return False
    finally:
        connection.close()


async def _stop(browser: CdpSession, tab: str) -> bool:
    try:
        async with asyncio.timeout(TIMEOUT_S):
            page = await browser.attached(tab, lambda *_: None, EvaluationCounter())
            await page.send("Page.stopLoading")
    except (CdpFailed, TimeoutError) as exc:
        _log.warning("tab %s could not be stopped: %r", tab, exc)
        return False
    return True
