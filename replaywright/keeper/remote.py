"""A browser context of a Chromium on another host, in the place of a Chromium of the keeper's own.

The context is made over the keeper's own connection, with the keeper's proxy as its only way out, and Chromium disposes
of it when that connection ends: as with a child process, no keeper means no browser. Workers get a DevTools endpoint on
loopback, which shows them this context as if it were a browser of its own (`replaywright.keeper.context_filter`).
"""

import asyncio
import contextlib
import itertools
import json
import logging
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from replaywright.errors import StackFailed
from replaywright.keeper.context_filter import ContextFilter, Refused
from replaywright.keeper.http1 import HttpError, RequestHead, RequestParser, values
from replaywright.keeper.websocket import WebSocket, accepted, fetched, open_websocket

CALL_S = 10.0
PROOF_S = 20.0
"""For a page to try to get round the proxy; on a machine out of breath it takes longer than anything else."""
ALIVE_EVERY_S = 5.0
"""How often the browser is asked whether it is there: a host without power closes no connection."""
BROWSER_PATH = "/devtools/browser/remote"
_PAGE_PATH = "/devtools/page/"
_READ_BYTES = 64 * 1024

_log = logging.getLogger(__name__)


class RemoteChromium:
    """What the keeper needs of a `ChromiumProcess`, of a browser that is elsewhere."""

    def __init__(self, endpoint: str, on_gone: Callable[[], None]) -> None:
        """`on_gone` is called once when the browser is not there any more."""
        self._endpoint = urlsplit(endpoint)
        self._on_gone = on_gone
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._control: WebSocket | None = None
        self._path = ""
        self._context = ""
        self._tabs: dict[str, Mapping[str, Any]] = {}
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.identity = None
        """It is no process of this host."""
        self.exit_code: int | None = None
        self.debugging_port = 0
        self.websocket_path = BROWSER_PATH

    @property
    def shown(self) -> str:
        """Its address without what may be secret."""
        return f"{self._endpoint.scheme}://{self._endpoint.hostname}:{self._endpoint.port or ''}".rstrip(":")

    async def connect(self) -> str:
        """Connect to the browser, and return the address of this host that it is reached from.

        Raises:
            StackFailed: no Chromium answers there.
        """
        try:
            async with asyncio.timeout(CALL_S):
                self._path = await self._browser_path()
                self._control = await open_websocket(self._endpoint, self._path)
        except (OSError, ValueError, KeyError, TimeoutError) as error:
            raise StackFailed(
                f"no Chromium answers at {self.shown}: {error!r}; check REPLAYWRIGHT_BROWSER_ENDPOINT"
            ) from error
        self._begin(self._listen(self._control))
        version = await self._call("Browser.getVersion")
        _log.info("connected to %s at %s", version.get("product"), self.shown)
        return self._control.local_address

    async def _browser_path(self) -> str:
        query = f"?{self._endpoint.query}" if self._endpoint.query else ""
        if self._endpoint.scheme in ("ws", "wss") and self._endpoint.path.strip("/"):
            return self._endpoint.path + query
        told = json.loads(await fetched(self._endpoint, f"/json/version{query}"))
        return urlsplit(str(told["webSocketDebuggerUrl"])).path + query

    async def open(self, proxy: str, *, width: int, height: int) -> None:
        """Make the context, with no way out but `proxy`, and an empty page in it; serve it on loopback.

        Raises:
            StackFailed: the browser refuses.
        """
        made = await self._call(
            "Target.createBrowserContext",
            {"disposeOnDetach": True, "proxyServer": proxy, "proxyBypassList": "<-loopback>"},
        )
        self._context = made["browserContextId"]
        await self._call("Target.setDiscoverTargets", {"discover": True})
        # A new window for the context: in the tab strip of another one it would be hidden, and its page throttled.
        window = {"width": width, "height": height, "newWindow": True}
        await self._call("Target.createTarget", {"url": "about:blank", "browserContextId": self._context, **window})
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.debugging_port = self._server.sockets[0].getsockname()[1]
        self._begin(self._stay_alive())

    async def knock(self, url: str) -> None:
        """Have the context ask for `url`, in a tab that is closed again when `url` came or not.

        Raises:
            StackFailed: the browser refuses.
        """
        await self._call("Target.createTarget", {"url": url, "browserContextId": self._context})

    async def refuse_datagrams(self, address: str, host: str) -> None:
        """See that a page's datagrams do not reach this host past the proxy: they would leave past the gate, too.

        Args:
            address: of this host, to listen at.
            host: what the browser's host calls it.

        Raises:
            StackFailed: one came, or the browser refuses.
        """
        loop = asyncio.get_running_loop()
        transport, heard = await loop.create_datagram_endpoint(_Datagrams, local_addr=(address, 0))
        try:
            port = transport.get_extra_info("sockname")[1]
            tab = next(iter(self._tabs))
            session = (await self._call("Target.attachToTarget", {"targetId": tab, "flatten": True}))["sessionId"]
            asked = {"expression": _ASKS_BY_UDP % f"stun:{host}:{port}", "awaitPromise": True}
            await self._call("Runtime.evaluate", asked, session, limit_s=PROOF_S)
            await self._call("Target.detachFromTarget", {"sessionId": session})
        finally:
            transport.close()
        if heard.any:
            raise StackFailed(
                f"pages of the browser at {self.shown} can send datagrams (WebRTC) past the proxy, so past the commit "
                "gate and the network policy: start it with --webrtc-ip-handling-policy=disable_non_proxied_udp"
            )

    async def quiet(self) -> None:
        """Close all tabs of the context but the first."""
        for tab in list(self._tabs)[1:]:
            await self._call("Target.closeTarget", {"targetId": tab})

    def reap(self) -> bool:
        """Whether it is gone."""
        return self.exit_code is not None

    async def kill(self) -> None:
        """Dispose of the context with all its pages."""
        if self._server is not None:
            self._server.close()
        if self._context and self.exit_code is None:
            with contextlib.suppress(StackFailed):  # then the end of the connection does it
                await self._call("Target.disposeBrowserContext", {"browserContextId": self._context})
        self.exit_code = 0 if self.exit_code is None else self.exit_code
        if self._control is not None:
            self._control.abort()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # ---- the keeper's own connection ----------------------------------------------------------------------------

    def _begin(self, work: Any) -> None:
        task: asyncio.Task[None] = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _call(
        self, method: str, params: Mapping[str, Any] | None = None, session: str = "", limit_s: float = CALL_S
    ) -> dict[str, Any]:
        assert self._control is not None
        number = next(self._numbers)
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        command = {"id": number, "method": method, "params": params or {}}
        if session:
            command["sessionId"] = session
        try:
            async with asyncio.timeout(limit_s):
                await self._control.send(json.dumps(command).encode())
                told = await answer
        except (OSError, TimeoutError) as error:
            raise StackFailed(f"the browser at {self.shown} does not answer {method}: {error!r}") from error
        finally:
            self._waiting.pop(number, None)
        if "error" in told:
            raise StackFailed(f"the browser at {self.shown} refuses {method}: {told['error'].get('message')}")
        result: dict[str, Any] = told.get("result", {})
        return result

    async def _listen(self, control: WebSocket) -> None:
        while (message := await control.receive()) is not None:
            told = json.loads(message)
            waiting = self._waiting.get(told.get("id", 0))
            if waiting is not None and not waiting.done():
                waiting.set_result(told)
            elif told.get("method") in ("Target.targetCreated", "Target.targetInfoChanged"):
                info = told["params"]["targetInfo"]
                if info.get("browserContextId") == self._context and info["type"] == "page":
                    self._tabs[info["targetId"]] = info
            elif told.get("method") == "Target.targetDestroyed":
                self._tabs.pop(told["params"]["targetId"], None)
        self._ended()

    async def _stay_alive(self) -> None:
        try:
            while True:
                await asyncio.sleep(ALIVE_EVERY_S)
                await self._call("Browser.getVersion")
        except StackFailed as error:
            _log.error("%s", error)
            self._ended()

    def _ended(self) -> None:
        if self.exit_code is None:
            self.exit_code = 1
            for waiting in self._waiting.values():
                if not waiting.done():
                    waiting.set_exception(ConnectionResetError("the browser closed the connection"))
            self._on_gone()

    # ---- what workers see ---------------------------------------------------------------------------------------

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request on each connection; relays of workers lead here."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            async with asyncio.timeout(CALL_S):
                head = await _head(reader)
            if head.wants_upgrade:
                await self._join(head, reader, writer)
            else:
                body = json.dumps(await self._answer(head)).encode()
                writer.write(_OK + b"Content-Length: %d\r\n\r\n" % len(body) + body)
                await writer.drain()
        except (HttpError, StackFailed) as error:
            status = error.status if isinstance(error, HttpError) else 502
            body = str(error).encode()
            writer.write(
                b"HTTP/1.1 %d No\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % (status, len(body)) + body
            )
        except (OSError, TimeoutError, EOFError):
            pass  # whoever asked is gone, or asks for nothing
        except asyncio.CancelledError:
            writer.transport.abort()
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _answer(self, head: RequestHead) -> object:
        """What Chromium's own endpoint would say, of this context's pages only."""
        path, _, query = head.target.partition("?")
        _, _, what, *rest = [*path.rstrip("/").split("/"), "", ""]
        tab = rest[0] if rest else ""
        host = next(iter(values(head.headers, b"host")), b"").decode("latin-1")
        match what:
            case "version":
                told = await self._call("Browser.getVersion")
                product = {"Browser": told["product"], "User-Agent": told["userAgent"]}
                return {**product, "webSocketDebuggerUrl": f"ws://{host}{BROWSER_PATH}"}
            case "list" | "":
                return [_listed(info, host) for info in self._tabs.values()]
            case "new":
                params = {"url": query or "about:blank", "browserContextId": self._context}
                made = await self._call("Target.createTarget", params)
                return {"id": made["targetId"], "type": "page"}
            case "activate" | "close" if tab in self._tabs:
                await self._call(f"Target.{what}Target", {"targetId": tab})
                return {}
            case _:
                raise HttpError(404, "there is nothing here")

    async def _join(self, head: RequestHead, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Connect a worker with the browser, or with one of its pages."""
        path = head.target.partition("?")[0]
        tab = path.removeprefix(_PAGE_PATH)
        if path not in (BROWSER_PATH, _PAGE_PATH + tab) or (path != BROWSER_PATH and tab not in self._tabs):
            raise HttpError(404, "there is no such page")
        query = f"?{self._endpoint.query}" if self._endpoint.query else ""
        try:
            there = await open_websocket(self._endpoint, self._path if path == BROWSER_PATH else path + query)
        except OSError as error:
            raise HttpError(502, f"the browser does not answer: {error}") from error
        key = next(iter(values(head.headers, b"sec-websocket-key")), b"")
        writer.write(accepted(key))
        here = WebSocket(reader, writer, is_client=False)
        looks = ContextFilter(self._context, is_browser=path == BROWSER_PATH, tabs=self._tabs)
        ways = [asyncio.create_task(_down(there, here, looks)), asyncio.create_task(_up(here, there, looks))]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            there.abort()


class _Datagrams(asyncio.DatagramProtocol):
    """Whether any came."""

    def __init__(self) -> None:
        self.any = False

    def datagram_received(self, _data: bytes, _address: object) -> None:
        self.any = True


_ASKS_BY_UDP = """(async () => {
  const peer = new RTCPeerConnection({iceServers: [{urls: '%s'}]});
  peer.createDataChannel('x');
  await peer.setLocalDescription(await peer.createOffer());
  await new Promise(done => {
    const look = () => { if (peer.iceGatheringState === 'complete') done(); };
    peer.onicegatheringstatechange = look;
    setTimeout(done, 3000);
    look();
  });
  peer.close();
})()"""

_OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"


async def _head(reader: asyncio.StreamReader) -> RequestHead:
    parser = RequestParser()
    while True:
        event = parser.next_event()
        if isinstance(event, RequestHead):
            return event
        data = await reader.read(_READ_BYTES)
        if not data:
            raise EOFError
        parser.receive(data)


def _listed(info: Mapping[str, Any], host: str) -> dict[str, str]:
    tab = str(info["targetId"])
    address = f"ws://{host}{_PAGE_PATH}{tab}"
    return {"id": tab, "type": "page", "title": info["title"], "url": info["url"], "webSocketDebuggerUrl": address}


async def _up(here: WebSocket, there: WebSocket, looks: ContextFilter) -> None:
    """From the worker to the browser."""
    while (message := await here.receive()) is not None:
        try:
            await there.send(looks.asked(message))
        except Refused as refused:
            await here.send(refused.answer)


async def _down(there: WebSocket, here: WebSocket, looks: ContextFilter) -> None:
    """From the browser to the worker."""
    while (message := await there.receive()) is not None:
        passed, replies = looks.told(message)
        for reply in replies:
            await there.send(reply)
        if passed is not None:
            await here.send(passed)
