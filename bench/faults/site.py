"""The webmail behind a proxy that breaks one exchange of a run: the site tells when, whoever uses it."""

import asyncio
import contextlib
from dataclasses import dataclass
from http import HTTPStatus
from types import TracebackType
from typing import Final, Literal, Self

import httpx

_TIMEOUT_S: Final = 30.0
_HOLD_S: Final = 60.0
"""Longest wait of an exchange that is held for its client's end."""
_OF_THE_CONNECTION: Final = frozenset(
    {"connection", "keep-alive", "transfer-encoding", "content-length", "content-encoding", "host", "accept-encoding"}
)


@dataclass(frozen=True)
class Fault:
    """One fault, at one exchange."""

    name: str
    at: Literal["composing", "sending"]
    """The exchange: the page of the form, or the form that sends the mail."""
    accepts: bool
    """The site gets the request."""
    answers: Literal["as it is", "held", "never", "502", "503"]
    kills: bool
    """Whoever does the run is killed then."""


FAULTS: Final = (
    Fault("killed before sending", "composing", accepts=True, answers="as it is", kills=True),
    Fault("killed while sending", "sending", accepts=True, answers="held", kills=True),
    Fault("killed after sending", "sending", accepts=True, answers="as it is", kills=True),
    Fault("answer lost", "sending", accepts=True, answers="never", kills=False),
    Fault("accepted, answered with 502", "sending", accepts=True, answers="502", kills=False),
    Fault("accepted, never answered", "sending", accepts=True, answers="held", kills=False),
    Fault("refused with 503", "sending", accepts=False, answers="503", kills=False),
)


@dataclass(frozen=True)
class _Request:
    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    body: bytes


class FaultySite:
    """A proxy before a site; from `plan` on, the next exchange of that kind is broken, once."""

    def __init__(self, upstream: str) -> None:
        self._planned: Fault | None = None
        self._upstream = upstream
        self._serving: set[asyncio.Task[None]] = set()
        self.fired = asyncio.Event()
        """The planned fault has happened; of a kill, its moment has come."""
        self._over = asyncio.Event()

    async def __aenter__(self) -> Self:
        """Listen on a free port of the loopback interface."""
        self._server = await asyncio.start_server(self._accepted, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End all connections."""
        self._server.close()
        for serving in self._serving:
            serving.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    def plan(self, fault: Fault) -> None:
        """Break the next exchange of its kind."""
        self._planned, self.fired, self._over = fault, asyncio.Event(), asyncio.Event()

    def release(self) -> None:
        """End the exchange that is held, without an answer."""
        self._over.set()

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            await self._exchanged(await _read(reader), writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client is gone, or the proxy ends: either way this exchange is over
        finally:
            self._serving.discard(task)
            writer.close()

    async def _exchanged(self, request: _Request, writer: asyncio.StreamWriter) -> None:
        fault = self._planned
        if fault is None or not _is_at(fault, request):
            await _answer(writer, await self._passed(request))
            return
        self._planned = None
        answer = await self._passed(request) if fault.accepts else None
        match fault.answers:
            case "as it is" if answer is not None:
                await _answer(writer, answer)
            case "502" | "503":
                page = b"<!doctype html><title>Error</title><h1>Service unavailable</h1>"
                headers = {"content-type": "text/html"}
                await _answer(writer, httpx.Response(int(fault.answers), headers=headers, content=page))
        self.fired.set()
        if fault.answers == "held":
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._over.wait(), _HOLD_S)

    async def _passed(self, request: _Request) -> httpx.Response:
        """Return the site's answer to a request."""
        client = httpx.AsyncClient(base_url=self._upstream, trust_env=False, timeout=_TIMEOUT_S)
        async with client:  # one for each request: it would keep cookies
            headers = list(request.headers)
            return await client.request(request.method, request.path, headers=headers, content=request.body)


async def _read(reader: asyncio.StreamReader) -> _Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.removesuffix("\r\n\r\n").split("\r\n")
    method, path, _ = first.split(" ", 2)
    given = [(name.lower(), value.strip()) for name, _, value in (line.partition(":") for line in lines)]
    body = await reader.readexactly(int(dict(given).get("content-length", "0")))
    return _Request(method, path, tuple((n, v) for n, v in given if n not in _OF_THE_CONNECTION), body)


def _is_at(fault: Fault, request: _Request) -> bool:
    """Tell if this is the exchange that the fault breaks."""
    method = "GET" if fault.at == "composing" else "POST"
    return request.method == method and request.path.partition("?")[0] == "/compose"


async def _answer(writer: asyncio.StreamWriter, answer: httpx.Response) -> None:
    lines = [f"HTTP/1.1 {answer.status_code} {HTTPStatus(answer.status_code).phrase}"]
    lines += [f"{name}: {value}" for name, value in answer.headers.multi_items() if name not in _OF_THE_CONNECTION]
    lines += [f"content-length: {len(answer.content)}", "connection: close", "", ""]
    writer.write("\r\n".join(lines).encode("latin-1") + answer.content)
    await writer.drain()
