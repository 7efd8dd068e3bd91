"""The browser in a person's hands: Chromium's own DevTools behind a port and a path that nobody can guess.

Unlike a worker's relay this one reads what it is asked: only the pages of the browser can be reached, not the browser
itself, so that nobody opens a context of their own past the proxy; only with the token in the path, and only by a
browser that was sent to this very address, so that no other page of the person's browser can use it.
"""

import asyncio
import hmac
import html
import json
import logging
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from replaywright.keeper.http1 import (
    Body,
    End,
    HttpError,
    RequestHead,
    RequestParser,
    ResponseHead,
    ResponseParser,
    values,
)
from replaywright.keeper.http1 import error_page as page_of

READ_BYTES = 64 * 1024
LIMIT_S = 10.0
"""For a request to come in, and for Chromium to answer it."""
MAX_ANSWER_BYTES = 32 * 1024 * 1024
"""Of one file of DevTools."""

_FRONTEND = re.compile(r"/devtools/[A-Za-z0-9_\-./]+")
_PAGE = re.compile(r"/devtools/page/[A-Za-z0-9]+")
_ANSWER_HEADERS = (
    b"Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\n"
    b"Connection: close\r\n"
)

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Tab:
    """A page that the browser has open."""

    target: str
    title: str
    url: str


class LentBrowser:
    """Serves DevTools for one browser on a free loopback port, under a random path, until it is closed."""

    def __init__(self, debugging_port: int) -> None:
        self._debugging_port = debugging_port
        self._token = secrets.token_urlsafe(32)
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Task[None]] = set()
        self.port = 0

    @property
    def address(self) -> str:
        """What a person opens in a browser on this host."""
        return f"http://127.0.0.1:{self.port}/{self._token}/"

    @property
    def is_open(self) -> bool:
        """Whether it is being served."""
        return self._server is not None and self._server.is_serving()

    async def start(self) -> None:
        """Listen on a free loopback port."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    def close(self) -> None:
        """Stop listening, and cut whoever is connected."""
        if self._server is not None:
            self._server.close()
        for task in self._serving:
            task.cancel()

    # ------------------------------------------------------------------------------------------ requests

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request on each connection: whatever followed on it would be read by Chromium alone."""
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            async with asyncio.timeout(LIMIT_S):
                head, rest = await _read_head(reader)
                path = self._admitted(head)
            if _PAGE.fullmatch(path) and head.wants_upgrade:
                await self._join(path, head, rest, reader, writer)
            else:
                writer.write(await self._answer(path, head))
                await writer.drain()
        except HttpError as exc:
            writer.write(page_of(exc.status, "Refused", str(exc)))
        except (OSError, TimeoutError, EOFError) as exc:
            _log.info("a request to the lent browser came to nothing: %r", exc)
        except asyncio.CancelledError:
            writer.transport.abort()  # taken back: nothing more passes
        finally:
            self._serving.discard(task)
            writer.close()

    def _admitted(self, head: RequestHead) -> str:
        """The path behind the token.

        Raises:
            HttpError: the request is none of a person who was given the address.
        """
        token, _, rest = head.target.removeprefix("/").partition("/")
        if not hmac.compare_digest(token.encode(), self._token.encode()):
            raise HttpError(404, "there is nothing here")
        own = {f"127.0.0.1:{self.port}", f"localhost:{self.port}"}
        if {value.decode("latin-1") for value in values(head.headers, b"host")} - own:
            raise HttpError(403, "the address is to be used as it was given")
        origins = {value.decode("latin-1") for value in values(head.headers, b"origin")}
        if origins - {f"http://{name}" for name in own}:
            raise HttpError(403, "another site's page asks for this")
        if head.method != "GET":
            raise HttpError(405, "only GET is answered")
        return f"/{rest}".partition("?")[0]

    async def _answer(self, path: str, head: RequestHead) -> bytes:
        if path == "/":
            return await self._index()
        if _FRONTEND.fullmatch(path) and ".." not in path and not path.startswith(("/devtools/page/", "/devtools/br")):
            query = head.target.partition("?")[2]
            status, kind, body = await self._fetched(path + (f"?{query}" if query else ""))
            return _response(status, kind, body)
        raise HttpError(404, "there is nothing here")

    async def _index(self) -> bytes:
        """DevTools of the only tab; where there are several, a list of them."""
        tabs = await self._tabs()
        if not tabs:
            raise HttpError(503, "the browser shows no page")
        links = [f"devtools/inspector.html?ws=127.0.0.1:{self.port}/{self._token}{tab.target}" for tab in tabs]
        if len(links) == 1:
            return (
                b"HTTP/1.1 302 Found\r\nLocation: "
                + links[0].encode()
                + b"\r\nContent-Length: 0\r\n%s\r\n" % (_ANSWER_HEADERS)
            )
        lines = [
            f'<li><a href="{html.escape(link)}" target="_blank">{html.escape(tab.title or tab.url)}</a> '
            f"{html.escape(tab.url)}"
            for link, tab in zip(links, tabs, strict=True)
        ]
        text = (
            '<!doctype html><meta charset="utf-8"><title>Tabs of the run</title><h1>Tabs of the run</h1>'
            f"<ul>{''.join(lines)}</ul>"
        )
        return _response(200, b"text/html; charset=utf-8", text.encode())

    async def _tabs(self) -> Sequence[_Tab]:
        """The pages that are open, the one that was last in front first."""
        _, _, body = await self._fetched("/json/list")
        return [
            _Tab(f"/devtools/page/{each['id']}", str(each.get("title", "")), str(each.get("url", "")))
            for each in json.loads(body)
            if each.get("type") == "page"
        ]

    # ------------------------------------------------------------------------------------------ Chromium

    async def _fetched(self, path: str) -> tuple[int, bytes, bytes]:
        """Status, content type and body of Chromium's answer."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._debugging_port)
        try:
            async with asyncio.timeout(LIMIT_S):
                writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{self._debugging_port}\r\n\r\n".encode("latin-1"))
                parser, head, body = ResponseParser("GET"), None, bytearray()
                while True:
                    event = parser.next_event()
                    match event:
                        case ResponseHead():
                            head = event
                        case Body():
                            body += event.data
                        case End():
                            break
                        case None:
                            data = await reader.read(READ_BYTES)
                            parser.receive(data) if data else parser.receive_eof()
                    if len(body) > MAX_ANSWER_BYTES:
                        raise HttpError(502, "the browser's answer is too long")
        finally:
            writer.close()
        assert head is not None
        kind = next(iter(values(head.headers, b"content-type")), b"application/octet-stream")
        return head.status, kind, bytes(body)

    async def _join(
        self, path: str, head: RequestHead, rest: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Connect a person's DevTools with a page. Chromium is not told of their origin, which was looked at here."""
        browser_reader, browser_writer = await asyncio.open_connection("127.0.0.1", self._debugging_port)
        try:
            kept = b"".join(
                name + b": " + value + b"\r\n"
                for name, value in head.headers
                if name.lower() not in (b"host", b"origin", b"cookie")
            )
            host = f"Host: 127.0.0.1:{self._debugging_port}\r\n".encode()
            browser_writer.write(b"GET " + path.encode() + b" HTTP/1.1\r\n" + host + kept + b"\r\n")
            answer = await asyncio.wait_for(browser_reader.readuntil(b"\r\n\r\n"), LIMIT_S)
            if not answer.startswith(b"HTTP/1.1 101 "):
                raise HttpError(502, "the page is not there any more")
            writer.write(answer)
            browser_writer.write(rest)
            ways = [
                asyncio.create_task(_pass_on(reader, browser_writer)),
                asyncio.create_task(_pass_on(browser_reader, writer)),
            ]
            try:
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for way in ways:
                    way.cancel()
                await asyncio.gather(*ways, return_exceptions=True)
        finally:
            browser_writer.transport.abort()


async def _read_head(reader: asyncio.StreamReader) -> tuple[RequestHead, bytes]:
    """The head of a request, and what came after it."""
    parser = RequestParser()
    while True:
        event = parser.next_event()
        if isinstance(event, RequestHead):
            return event, parser.take_rest()
        data = await reader.read(READ_BYTES)
        if not data:
            raise EOFError("the connection ended before the request did")
        parser.receive(data)


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(READ_BYTES):
        writer.write(data)
        await writer.drain()


def _response(status: int, kind: bytes, body: bytes) -> bytes:
    head = b"HTTP/1.1 %d OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n" % (status, kind, len(body))
    return head + _ANSWER_HEADERS + b"\r\n" + body
