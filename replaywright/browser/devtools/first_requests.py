"""Requests of a new tab that leave before it can be spoken to, as Playwright's driver tells of them."""

import asyncio
import time
from itertools import count
from urllib.parse import urldefrag

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Request

from replaywright.browser.devtools.exchanges import BROKEN, BY_WORKER, KINDS, WITH_BODIES, Exchanges, Heard
from replaywright.domain.requests.exchanges import SAFE_METHODS


class FirstRequests:
    """Adds such requests to the exchanges of an attachment."""

    def __init__(self, exchanges: Exchanges) -> None:
        self._exchanges = exchanges
        self._numbers = count()
        self._tasks: set[asyncio.Task[None]] = set()

    def add(self, request: Request) -> None:
        """Keep a request; with its response as soon as that comes."""
        step, kind = self._exchanges.step, request.resource_type
        is_followed = request.redirected_from is not None  # its chain is one exchange
        if step is None or kind not in KINDS or is_followed or not request.url.startswith("http"):
            return
        url, is_main = urldefrag(request.url).url, request.is_navigation_request() and _is_top(request)
        heard = Heard(step, kind, request.method.upper(), url, time.time(), is_main, is_first=True)
        heard.reading += 1
        self._exchanges.add(f"first {next(self._numbers)}", heard)
        task = asyncio.create_task(self._follow(heard, request))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _follow(self, heard: Heard, request: Request) -> None:
        try:
            await _read(heard, request)
        except PlaywrightError:  # its tab is gone, or has led on already
            heard.give_text(None)
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
        heard.received = 1  # a body that cannot be read is not taken for an empty one
        heard.give_text(await response.body())
