"""A browser context of a Chromium on another host, in the place of a Chromium of the keeper's own.

The context is made over the keeper's own connection, with the keeper's proxy as its only way out, and Chromium disposes
of it when that connection ends: as with a child process, no keeper means no browser. Workers get a connection each,
which shows them this context as if it were a browser of its own (`replaywright.keeper.chromium.context_filter`).
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
from replaywright.keeper.chromium.context_filter import ContextFilter, Refused
from replaywright.keeper.chromium.websocket import WebSocket, fetched, open_websocket

CALL_S = 10.0
PROOF_S = 20.0
"""Time for a page to try to get round the proxy; the longest wait on a loaded machine."""
ALIVE_EVERY_S = 5.0
"""Interval of the browser's health checks: a host without power closes no connection."""

_log = logging.getLogger(__name__)


class RemoteChromium:
    """A browser elsewhere, with the interface of `ChromiumProcess`."""

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
        self._tasks: set[asyncio.Task[None]] = set()
        self.identity = None
        """Never set: it is no process of this host."""
        self.exit_code: int | None = None

    @property
    def shown(self) -> str:
        """Address of the browser without the parts that may be secret."""
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
        reply = json.loads(await fetched(self._endpoint, f"/json/version{query}"))
        return urlsplit(str(reply["webSocketDebuggerUrl"])).path + query

    async def open(self, proxy: str, *, width: int, height: int) -> None:
        """Make the context, with no way out but `proxy`, and an empty page in it.

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
        self._begin(self._stay_alive())

    async def knock(self, url: str) -> None:
        """Have the context ask for `url`, in a tab that is closed again when `url` came or not.

        Raises:
            StackFailed: the browser refuses.
        """
        await self._call("Target.createTarget", {"url": url, "browserContextId": self._context})

    async def refuse_datagrams(self, address: str, host: str) -> None:
        """Check that a page's datagrams do not reach this host past the proxy: they would leave past the gate, too.

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
            request = {"expression": _ASKS_BY_UDP % f"stun:{host}:{port}", "awaitPromise": True}
            await self._call("Runtime.evaluate", request, session, limit_s=PROOF_S)
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
        """Return whether it is gone."""
        return self.exit_code is not None

    async def kill(self) -> None:
        """Dispose of the context with all its pages."""
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
                reply = await answer
        except (OSError, TimeoutError) as error:
            raise StackFailed(f"the browser at {self.shown} does not answer {method}: {error!r}") from error
        finally:
            self._waiting.pop(number, None)
        if "error" in reply:
            raise StackFailed(f"the browser at {self.shown} refuses {method}: {reply['error'].get('message')}")
        result: dict[str, Any] = reply.get("result", {})
        return result

    async def _listen(self, control: WebSocket) -> None:
        while (message := await control.receive()) is not None:
            reply = json.loads(message)
            waiting = self._waiting.get(reply.get("id", 0))
            if waiting is not None and not waiting.done():
                waiting.set_result(reply)
            elif reply.get("method") in ("Target.targetCreated", "Target.targetInfoChanged"):
                info = reply["params"]["targetInfo"]
                if info.get("browserContextId") == self._context and info["type"] == "page":
                    self._tabs[info["targetId"]] = info
            elif reply.get("method") == "Target.targetDestroyed":
                self._tabs.pop(reply["params"]["targetId"], None)
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

    async def serve(self, client: WebSocket) -> None:
        """Connect a worker with the browser, of which it sees this context only.

        Raises:
            StackFailed: the browser does not answer.
        """
        try:
            there = await open_websocket(self._endpoint, self._path)
        except OSError as error:
            raise StackFailed(f"the browser at {self.shown} does not answer: {error}") from error
        context_filter = ContextFilter(self._context, tabs=self._tabs)
        ways = [
            asyncio.create_task(_down(there, client, context_filter)),
            asyncio.create_task(_up(client, there, context_filter)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            there.abort()
            await asyncio.gather(*ways, return_exceptions=True)


class _Datagrams(asyncio.DatagramProtocol):
    """Receiver that notes whether any datagram came."""

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


async def _up(here: WebSocket, there: WebSocket, context_filter: ContextFilter) -> None:
    """Carry messages from the worker to the browser."""
    while (message := await here.receive()) is not None:
        try:
            await there.send(context_filter.filter_command(message))
        except Refused as refused:
            await here.send(refused.answer)


async def _down(there: WebSocket, here: WebSocket, context_filter: ContextFilter) -> None:
    """Carry messages from the browser to the worker."""
    while (message := await there.receive()) is not None:
        passed, commands = context_filter.filter_message(message)
        for command in commands:
            await there.send(command)
        if passed is not None:
            await here.send(passed)
