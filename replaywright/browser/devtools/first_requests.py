"""Requests that no session hears, as Playwright's driver tells of them: the first of a new tab, those of workers."""

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import Coroutine
from itertools import count
from typing import Any
from urllib.parse import urldefrag

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Request

from replaywright.browser.devtools.exchanges import BROKEN, BY_WORKER, KINDS, UNREADABLE, WITH_BODIES, Exchanges, Heard
from replaywright.domain.page.observed import SAFE_METHODS


class FirstRequests:
    """Adds such requests to the exchanges of an attachment."""

    def __init__(self, exchanges: Exchanges) -> None:
        self._exchanges = exchanges
        self._numbers = count()
        self._tasks: set[asyncio.Task[None]] = set()
        self._doubtful: dict[Request, int] = {}
        """Requests of attached tabs that no session has told of so far, with their steps."""
        self._told: Counter[tuple[str, str]] = Counter()
        """Those that a session has told of, by method and address."""

    def note(self, request: Request, *, is_new_tab: bool) -> None:
        """Keep a request of a new tab; of another tab only if it turns out that no session hears it."""
        step = self._exchanges.step
        is_followed = request.redirected_from is not None  # its chain is one exchange
        if step is None or request.resource_type not in KINDS or is_followed or not request.url.startswith("http"):
            return
        if is_new_tab:
            self._add(step, request)
        elif not self._is_told(request):
            self._doubtful[request] = step
            self._begin(self._doubt(request))

    def _is_told(self, request: Request) -> bool:
        key = (request.method.upper(), urldefrag(request.url).url)
        is_told = self._told[key] < self._exchanges.count(*key)
        self._told[key] += is_told
        return is_told

    async def _doubt(self, request: Request) -> None:
        """Decide when it is answered: by then a session that hears it has told of it."""
        with contextlib.suppress(PlaywrightError):
            await request.response()
        self._decide(request)

    def _decide(self, request: Request) -> None:
        step = self._doubtful.pop(request, None)
        if step is not None and not self._is_told(request):
            self._add(step, request)

    def catch_up(self) -> None:
        """Decide on all that are in doubt."""
        for request in tuple(self._doubtful):
            self._decide(request)

    def _add(self, step: int, request: Request) -> None:
        url, is_main = urldefrag(request.url).url, request.is_navigation_request() and _is_top(request)
        heard = Heard(step, request.resource_type, request.method.upper(), url, time.time(), is_main, is_first=True)
        heard.reading += 1
        self._exchanges.add(f"first {next(self._numbers)}", heard)
        self._begin(self._follow(heard, request))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _follow(self, heard: Heard, request: Request) -> None:
        try:
            await _read(heard, request)
        except PlaywrightError:  # its tab is gone, or has led on already
            heard.fail(UNREADABLE)
            heard.is_over = True
        finally:
            heard.reading -= 1
            self._exchanges.pulse.beat()

    def close(self) -> None:
        """Wait for no more responses."""
        for task in self._tasks:
            task.cancel()


def _is_top(request: Request) -> bool:
    try:
        return request.frame.parent_frame is None
    except PlaywrightError:  # the tab is not there yet: only its own document is asked for before
        return True


async def _read(heard: Heard, request: Request) -> None:
    heard.add_headers(await request.all_headers())
    if request.post_data_buffer is not None or heard.method not in SAFE_METHODS:
        heard.give_body(request.post_data_buffer)
    response, last = await request.response(), request
    while last.redirected_to is not None:
        last = last.redirected_to
        response = await last.response()
    heard.sent_at = request.timing["startTime"] / 1000 or heard.sent_at
    if response is None:
        heard.fail(BROKEN + (last.failure or ""))
    elif heard.kind in WITH_BODIES:
        heard.answer(response.status, response.url, await response.all_headers())
        if response.from_service_worker:
            heard.fail(BY_WORKER)
        heard.give_text(await response.body())
