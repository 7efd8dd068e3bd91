"""Access to the browser for a person: Chromium's own DevTools behind a port and a path that nobody can guess.

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

from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from replaywright.errors import StackFailed
from replaywright.keeper.chromium.front_end import FrontEnd
from replaywright.keeper.chromium.multiplexer import Multiplexer
from replaywright.keeper.chromium.websocket import WebSocket, asks_for_websocket
from replaywright.keeper.host.tcp_users import own_user, user_at

LIMIT_S = 10.0
"""Time limit for a request to come in, and for Chromium to answer it."""

_FRONT_END = "/devtools/"
_ROOT = 0
"""Root may do everything anyway; an `sshd` that forwards a port may run as root."""
_PAGE = re.compile(r"/devtools/page/([A-Za-z0-9]+)")
_ANSWER_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Connection": "close",
}

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
        """Address that a person opens in a browser on this host."""
        return f"http://127.0.0.1:{self.port}/{self._token}/"

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
        """Answer one request: whatever followed on the connection would be read by Chromium alone."""
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        client = WebSocket(reader, writer)
        try:
            async with asyncio.timeout(LIMIT_S):
                request = await client.read_request()
            try:
                path = self._admitted(request, writer)
                page = _PAGE.fullmatch(path)
                if page is not None and asks_for_websocket(request):
                    await self._join(page[1], request, client)
                else:
                    client.answer(await self._answer(path))
            except _Refused as exc:
                client.refuse(exc.status, str(exc))
            await writer.drain()
        except (OSError, TimeoutError, StackFailed) as exc:
            _log.info("request to the lent browser failed: %r", exc)
        except asyncio.CancelledError:
            writer.transport.abort()  # taken back: nothing more passes
        finally:
            self._serving.discard(task)
            writer.close()

    def _admitted(self, request: Request, writer: asyncio.StreamWriter) -> str:
        """Return the path behind the token.

        Raises:
            _Refused: the request is none of a person who was given the address.
        """
        token, _, rest = request.path.removeprefix("/").partition("/")
        if not hmac.compare_digest(token.encode(), self._token.encode()):
            raise _Refused(404, "there is nothing here")
        own = {f"127.0.0.1:{self.port}", f"localhost:{self.port}"}
        if set(request.headers.get_all("Host")) - own:
            raise _Refused(403, "the address is to be used as it was given")
        if set(request.headers.get_all("Origin")) - {f"http://{name}" for name in own}:
            raise _Refused(403, "another site's page asks for this")
        ends = writer.get_extra_info("peername"), writer.get_extra_info("sockname")
        if own_user() is not None and user_at(*ends) not in (own_user(), _ROOT):
            raise _Refused(403, "another user of this host asks for this")
        if request.method != "GET":
            raise _Refused(405, "only GET is answered")
        return f"/{rest}".partition("?")[0]

    async def _answer(self, path: str) -> Response:
        if path == "/":
            return await self._index()
        if path.startswith(_FRONT_END):
            async with asyncio.timeout(LIMIT_S):
                found = await self._files.file(path.removeprefix(_FRONT_END))
            if found is not None:
                return _response(*found)
        raise _Refused(404, "there is nothing here")

    async def _index(self) -> Response:
        """Redirect to the DevTools of the only tab; where there are several, list them."""
        tabs = await self._devtools.pages()
        if not tabs:
            raise _Refused(503, "the browser shows no page")
        page = f"devtools/inspector.html?ws=127.0.0.1:{self.port}/{self._token}/devtools/page/"
        links = [f"{page}{tab['targetId']}" for tab in tabs]
        if len(links) == 1:
            return Response(302, "Found", Headers({**_ANSWER_HEADERS, "Location": links[0], "Content-Length": "0"}))
        lines = [
            f'<li><a href="{html.escape(link)}" target="_blank">{html.escape(tab["title"] or tab["url"])}</a> '
            f"{html.escape(tab['url'])}"
            for link, tab in zip(links, tabs, strict=True)
        ]
        text = (
            '<!doctype html><meta charset="utf-8"><title>Tabs of the run</title><h1>Tabs of the run</h1>'
            f"<ul>{''.join(lines)}</ul>"
        )
        return _response("text/html; charset=utf-8", text.encode())

    async def _join(self, tab: str, request: Request, client: WebSocket) -> None:
        """Connect a person's DevTools with a page."""
        if tab not in {page["targetId"] for page in await self._devtools.pages()}:
            raise _Refused(404, "the page is not there any more")
        client.accept(request)
        await self._devtools.serve(client, tab)


def _response(kind: str, body: bytes) -> Response:
    headers = Headers({**_ANSWER_HEADERS, "Content-Type": kind, "Content-Length": str(len(body))})
    return Response(200, "OK", headers, body)
