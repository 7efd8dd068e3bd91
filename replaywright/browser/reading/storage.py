"""Reading a page for a checkpoint, and restoring a checkpoint in another browser.

Cookies come from the browser, storage from a script in the current document: Playwright's own storage state opens a
page for every other origin that it has seen, and does not know those from before a worker attached again.
"""

import asyncio
import contextlib
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Any, cast

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Page, StorageState

from replaywright.browser.devtools.cdp import CdpFailed
from replaywright.browser.devtools.channel import Tab, script_for
from replaywright.browser.reading.snapshots import FRAMES_LIMIT
from replaywright.domain.common.urls import is_web, web_address
from replaywright.domain.page.outlines import Outline
from replaywright.domain.step.checkpoints import PageState
from replaywright.errors import ActionFailed, InputInvalid

TAKE_S = 3.0
"""Limit of reading one document's storage: the next step may be waiting."""
RESTORE_S = 60.0


@cache
def storage_script(result: str) -> str:
    """Return a script that reads what its origin has stored; `result` is an expression with `stored()` in it."""
    script = (resources.files("replaywright.browser.reading") / "storage.js").read_text(encoding="utf-8")
    return f'(() => {{\n"use strict";\n{script}\nreturn {result};\n}})()'


async def take(tab: Tab, typed: Sequence[str], *, tabs: int) -> tuple[PageState, Outline]:
    """Return the state of `tab` and its outline, read at one moment.

    Raises:
        CdpFailed: the document does not answer.
        PlaywrightError: cookies cannot be read.
    """
    (reply, shown), inner, cookies = await asyncio.gather(
        tab.call(tab.main, storage_script("Promise.all([stored(), replaywright.outline()])"), timeout_s=TAKE_S),
        _outlines_of_frames(tab),
        tab.page.context.cookies(),
    )
    state = PageState(
        url=tab.url,
        storage={"cookies": cookies, "origins": [reply["origin"]]},
        scroll=tuple(reply["scroll"]),
        tabs=tabs,
        left_out=tuple(reply["leftOut"]),
    )
    return state, _outline([*shown, *inner], typed)


async def outline(tab: Tab, typed: Sequence[str]) -> Outline:
    """Return the outline of `tab`, without values that contain one of `typed`.

    Raises:
        CdpFailed: the document does not answer.
    """
    shown, inner = await asyncio.gather(
        tab.call(tab.main, script_for("outline"), timeout_s=TAKE_S), _outlines_of_frames(tab)
    )
    return _outline([*shown, *inner], typed)


async def _outlines_of_frames(tab: Tab) -> list[Any]:
    """Return the outlines of its frames in order, without frames that do not answer."""
    answers = await tab.call_all(tab.worlds()[1 : 1 + FRAMES_LIMIT], script_for("outline"), timeout_s=TAKE_S)
    return [shown for answer in answers if not isinstance(answer, CdpFailed) for shown in answer]


def _outline(shown: Sequence[tuple[str, str, str | None]], typed: Sequence[str]) -> Outline:
    return Outline(
        elements=tuple(
            (role, name, "" if value and any(secret in value for secret in typed) else value)
            for role, name, value in shown
        )
    )


async def restore(tab: Tab, state: PageState) -> None:
    """Put cookies and storage back, open the page, and restore the scroll position.

    Raises:
        TimeoutError: it took longer than `RESTORE_S`.
        ActionFailed: it is no page that can be opened, or the site does not answer with one.
        PlaywrightError: the browser is gone, or refuses.
    """
    try:
        address = web_address(state.url, "the page of the checkpoint")
    except InputInvalid as exc:
        reason = "address_refused" if is_web(state.url) else "scheme_refused"
        raise ActionFailed(reason, str(exc), dispatched=False) from exc
    async with asyncio.timeout(RESTORE_S):
        await _open(tab.page, address.url, state)
    await tab.cdp.send("Page.enable")  # its answer comes after all events of the navigation


async def put(tab: Tab, state: PageState) -> None:
    """Put cookies and storage back, and open nothing.

    Raises:
        TimeoutError: it took longer than `RESTORE_S`.
        PlaywrightError: the browser is gone, or refuses.
    """
    async with asyncio.timeout(RESTORE_S):
        await _put(tab.page, state)


async def _put(page: Page, state: PageState) -> None:
    await page.context.set_storage_state(cast("StorageState", state.storage))


async def _open(page: Page, url: str, state: PageState) -> None:
    await _put(page, state)
    response = await page.goto(url, wait_until="domcontentloaded")
    if response is not None and response.status >= 400:
        raise ActionFailed(f"http_{response.status}", f"the site answered {response.status}", dispatched=True)
    if state.scroll != (0.0, 0.0):
        with contextlib.suppress(PlaywrightError):  # a page that never finishes loading is scrolled as it is
            await page.wait_for_load_state("load", timeout=5_000)
        await page.evaluate("([x, y]) => window.scrollTo(x, y)", list(state.scroll))
