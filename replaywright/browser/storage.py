"""Taking a checkpoint of a browser, and putting one back into another.

Cookies come from the browser, storage from a script in the current document: Playwright's own storage state opens a
page for every other origin that it has seen, and knows none of those that it saw before a worker attached anew.
"""

import asyncio
import contextlib
from functools import cache
from importlib import resources
from typing import cast

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Page, StorageState

from replaywright.browser.channel import Tab
from replaywright.browser.wire import WireFailed
from replaywright.domain.checkpoints import PageState
from replaywright.domain.urls import is_web, web_address
from replaywright.errors import ActionFailed, InputInvalid

TAKE_S = 3.0
"""For what one document has stored; the next step may be waiting."""
RESTORE_S = 60.0


@cache
def _source() -> str:
    script = (resources.files("replaywright.browser") / "storage.js").read_text(encoding="utf-8")
    return f'(() => {{\n"use strict";\n{script}\nreturn stored();\n}})()'


async def take(tab: Tab, *, tabs: int, earlier: PageState | None) -> PageState:
    """The state of `tab`; what `earlier` knows of other origins is taken over.

    Raises:
        WireFailed: the document does not answer.
        PlaywrightError: cookies cannot be read.
    """
    cookies = asyncio.create_task(tab.page.context.cookies())
    try:
        told = await tab.call(tab.main, _source(), timeout_s=TAKE_S)
    except WireFailed:
        cookies.cancel()
        raise
    mine = told["origin"]
    others = [] if earlier is None else earlier.storage.get("origins", [])
    origins = [origin for origin in others if origin["origin"] != mine["origin"]]
    if mine["localStorage"] or mine["indexedDB"]:
        origins.append(mine)
    return PageState(
        url=tab.url,
        storage={"cookies": await cookies, "origins": origins},
        scroll=tuple(told["scroll"]),
        tabs=tabs,
        left_out=tuple(told["leftOut"]),
    )


async def restore(page: Page, state: PageState) -> None:
    """Put cookies and storage back, open the page, and scroll to where it was.

    Raises:
        ActionFailed: it is no page that can be opened, or the site does not answer with one.
        PlaywrightError: the browser is gone, or refuses.
    """
    try:
        address = web_address(state.url, "the page of the checkpoint")
    except InputInvalid as exc:
        reason = "address_refused" if is_web(state.url) else "scheme_refused"
        raise ActionFailed(reason, str(exc), dispatched=False) from exc
    await page.context.set_storage_state(cast("StorageState", state.storage))
    response = await page.goto(address.url, wait_until="domcontentloaded")
    if response is not None and response.status >= 400:
        raise ActionFailed(f"http_{response.status}", f"the site answered {response.status}", dispatched=True)
    if state.scroll != (0.0, 0.0):
        with contextlib.suppress(PlaywrightError):  # a page that never ends to load is scrolled as far as it is
            await page.wait_for_load_state("load", timeout=5_000)
        await page.evaluate("([x, y]) => window.scrollTo(x, y)", list(state.scroll))
