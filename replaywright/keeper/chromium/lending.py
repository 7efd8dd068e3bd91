"""The browser in a person's hands: Chromium's own DevTools behind a port and a path that nobody can guess.

Only the pages of the browser can be reached, not the browser itself, so that nobody opens a context of their own past
the proxy; only by processes of the keeper's user, with the token in the path, and only by a browser that was sent to
this very address, so that no other page of the person's browser can use it.
"""

import asyncio
import hmac
import html
import logging
import re
import secrets

from replaywright.errors import StackFailed
from replaywright.keeper.chromium.front_end import FrontEnd
from replaywright.keeper.chromium.multiplexer import Multiplexer
from replaywright.keeper.chromium.websocket import Head, WebSocket, accepted, read_head, refused
from replaywright.keeper.host.tcp_users import own_user, user_at

LIMIT_S = 10.0
"""For a request to come in, and for Chromium to answer it."""

_FRONT_END = "/devtools/"
_ROOT = 0
"""May do what any user may; an `sshd` that forwards a port may run as root."""
_PAGE = re.compile(r"/devtools/page/([A-Za-z0-9]+)")
_ANSWER_HEADERS = (
    b"Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\n"
    b"Connection: close\r\n"
)

_log = logging.getLogger(__name__)


class _Refused(Exception):
    """A request that is answered with this status."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class LentBrowser:
    """Serves DevTools for one browser on a free loopback port, under a random path, until it is closed."""

    def __init__(self, devtools: Multiplexer) -> None:
        self._devtools = devtools
        self._files = FrontEnd(devtools)
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
        self._files.close()

    # ------------------------------------------------------------------------------------------ requests

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request on each connection: whatever followed on it would be read by Chromium alone."""
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            async with asyncio.timeout(LIMIT_S):
                head = await read_head(reader)
                path = self._admitted(head, writer)
            page = _PAGE.fullmatch(path)
            if page is not None and head.key:
                await self._join(page[1], head, reader, writer)
            else:
                writer.write(await self._answer(path))
                await writer.drain()
        except _Refused as exc:
            writer.write(refused(exc.status, str(exc)))
        except (OSError, TimeoutError, StackFailed) as exc:
            _log.info("a request to the lent browser came to nothing: %r", exc)
        except asyncio.CancelledError:
            writer.transport.abort()  # taken back: nothing more passes
        finally:
            self._serving.discard(task)
            writer.close()

    def _admitted(self, head: Head, writer: asyncio.StreamWriter) -> str:
        """The path behind the token.

        Raises:
            _Refused: the request is none of a person who was given the address.
        """
        token, _, rest = head.target.removeprefix("/").partition("/")
        if not hmac.compare_digest(token.encode(), self._token.encode()):
            raise _Refused(404, "there is nothing here")
        own = {f"127.0.0.1:{self.port}", f"localhost:{self.port}"}
        if set(head.values("host")) - own:
            raise _Refused(403, "the address is to be used as it was given")
        if set(head.values("origin")) - {f"http://{name}" for name in own}:
            raise _Refused(403, "another site's page asks for this")
        ends = writer.get_extra_info("peername"), writer.get_extra_info("sockname")
        if own_user() is not None and user_at(*ends) not in (own_user(), _ROOT):
            raise _Refused(403, "another user of this host asks for this")
        if head.method != "GET":
            raise _Refused(405, "only GET is answered")
        return f"/{rest}".partition("?")[0]

    async def _answer(self, path: str) -> bytes:
        if path == "/":
            return await self._index()
        if path.startswith(_FRONT_END):
            async with asyncio.timeout(LIMIT_S):
                found = await self._files.file(path.removeprefix(_FRONT_END))
            if found is not None:
                return _response(200, *found)
        raise _Refused(404, "there is nothing here")

    async def _index(self) -> bytes:
        """DevTools of the only tab; where there are several, a list of them."""
        tabs = await self._devtools.pages()
        if not tabs:
            raise _Refused(503, "the browser shows no page")
        page = f"devtools/inspector.html?ws=127.0.0.1:{self.port}/{self._token}/devtools/page/"
        links = [f"{page}{tab['targetId']}" for tab in tabs]
        if len(links) == 1:
            return (
                b"HTTP/1.1 302 Found\r\nLocation: "
                + links[0].encode()
                + b"\r\nContent-Length: 0\r\n%s\r\n" % (_ANSWER_HEADERS)
            )
        lines = [
            f'<li><a href="{html.escape(link)}" target="_blank">{html.escape(tab["title"] or tab["url"])}</a> '
            f"{html.escape(tab['url'])}"
            for link, tab in zip(links, tabs, strict=True)
        ]
        text = (
            '<!doctype html><meta charset="utf-8"><title>Tabs of the run</title><h1>Tabs of the run</h1>'
            f"<ul>{''.join(lines)}</ul>"
        )
        return _response(200, b"text/html; charset=utf-8", text.encode())

    async def _join(self, tab: str, head: Head, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Connect a person's DevTools with a page."""
        if tab not in {page["targetId"] for page in await self._devtools.pages()}:
            raise _Refused(404, "the page is not there any more")
        writer.write(accepted(head.key))
        await self._devtools.serve(WebSocket(reader, writer, is_client=False), tab)


def _response(status: int, kind: bytes, body: bytes) -> bytes:
    head = b"HTTP/1.1 %d OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n" % (status, kind, len(body))
    return head + _ANSWER_HEADERS + b"\r\n" + body
