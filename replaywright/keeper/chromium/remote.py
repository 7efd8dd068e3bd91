"""A browser context of a Chromium on another host, in the place of a Chromium of the keeper's own.

The context is made over the keeper's own connection, with the keeper's proxy as its only way out, and Chromium disposes
of it when that connection ends: as with a child process, no keeper means no browser. Clients share the connection, and
are shown this context as if it were a browser of its own (`replaywright.keeper.chromium.context_limits`).
"""

import asyncio
import contextlib
import json
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from replaywright.errors import StackFailed
from replaywright.keeper.chromium.context_limits import ContextLimits
from replaywright.keeper.chromium.multiplexer import Multiplexer
from replaywright.keeper.chromium.pipe import Sender
from replaywright.keeper.chromium.profile import DOWNLOADS_NAME, UPLOADS_NAME
from replaywright.keeper.chromium.remote_downloads import RemoteDownloads
from replaywright.keeper.chromium.websocket import WebSocket, fetched, open_websocket

CALL_S = 10.0
PROOF_S = 20.0
"""Time for a page to try to get round the proxy; the longest wait on a loaded machine."""
ALIVE_EVERY_S = 5.0
"""Interval of the browser's health checks: a host without power closes no connection."""

_log = logging.getLogger(__name__)


class DevToolsSocket:
    """The keeper's connection with a browser elsewhere, in the place of a `DevToolsPipe`."""

    def __init__(self, socket: WebSocket, on_message: Callable[[bytes], None], on_lost: Callable[[], None]) -> None:
        self._socket = socket
        self._reading = asyncio.create_task(self._read(on_message, on_lost))

    def send(self, message: bytes, _sender: Sender | None = None) -> None:
        """Send a message; a connection that is closed swallows it."""
        self._socket.write(message)

    async def drain(self) -> None:
        """Wait until the browser has taken all messages."""
        await self._socket.drain()

    def close(self) -> None:
        """Close the connection, which disposes of the context."""
        self._socket.abort()
        self._reading.cancel()

    async def _read(self, on_message: Callable[[bytes], None], on_lost: Callable[[], None]) -> None:
        while (message := await self._socket.receive()) is not None:
            on_message(message)
        on_lost()


class RemoteChromium:
    """A browser elsewhere, with the interface of `ChromiumProcess`."""

    def __init__(self, endpoint: str, on_gone: Callable[[], None], directory: Path) -> None:
        """Have `on_gone` called once when the browser is not there any more; files go by the session's directory."""
        self._endpoint = urlsplit(endpoint)
        self._on_gone = on_gone
        self._tabs: dict[str, Mapping[str, Any]] = {}
        self._limits = ContextLimits(directory / UPLOADS_NAME, self._cancel_download, tabs=self._tabs)
        self.devtools = Multiplexer(self._limits)
        self._downloads = RemoteDownloads(self.devtools, directory / DOWNLOADS_NAME)
        self._living: asyncio.Task[None] | None = None
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
                socket = await open_websocket(self._endpoint, await self._browser_path())
        except (OSError, ValueError, KeyError, TimeoutError) as error:
            raise StackFailed(
                f"no Chromium answers at {self.shown}: {error!r}; check REPLAYWRIGHT_BROWSER_ENDPOINT"
            ) from error
        self.devtools.speak_over(DevToolsSocket(socket, self.devtools.receive, self._end))
        self.devtools.subscribe("", self._on_event)
        version = await self.devtools.call("Browser.getVersion")
        _log.info("connected to %s at %s", version.get("product"), self.shown)
        return socket.local_address

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
        way_out = {"disposeOnDetach": True, "proxyServer": proxy, "proxyBypassList": "<-loopback>"}
        made = await self.devtools.call("Target.createBrowserContext", way_out)
        self._limits.context = made["browserContextId"]
        await self.devtools.call("Target.setDiscoverTargets", {"discover": True})
        await self._downloads.start(self._limits.context)
        # A new window for the context: in the tab strip of another one it would be hidden, and its page throttled.
        await self._create_tab("about:blank", width=width, height=height, newWindow=True)
        self._living = asyncio.create_task(self._stay_alive())

    async def knock(self, url: str) -> None:
        """Have the context ask for `url`, in a tab that is closed again when `url` came or not.

        Raises:
            StackFailed: the browser refuses.
        """
        await self._create_tab(url)

    async def _create_tab(self, url: str, **window: object) -> None:
        where = {"url": url, "browserContextId": self._limits.context}
        await self.devtools.call("Target.createTarget", {**where, **window})

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
            whole = {"targetId": next(iter(self._tabs)), "flatten": True}
            session = str((await self.devtools.call("Target.attachToTarget", whole))["sessionId"])
            request = {"expression": _ASKS_BY_UDP % f"stun:{host}:{port}", "awaitPromise": True}
            await self.devtools.call("Runtime.evaluate", request, session, limit_s=PROOF_S)
            await self.devtools.call("Target.detachFromTarget", {"sessionId": session})
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
            await self.devtools.call("Target.closeTarget", {"targetId": tab})

    def reap(self) -> bool:
        """Return whether it is gone."""
        return self.exit_code is not None

    async def kill(self) -> None:
        """Dispose of the context with all its pages."""
        self._downloads.close()
        if self._limits.context and self.exit_code is None:
            with contextlib.suppress(StackFailed):  # then the end of the connection does it
                disposed = {"browserContextId": self._limits.context}
                await self.devtools.call("Target.disposeBrowserContext", disposed)
        self.exit_code = 0 if self.exit_code is None else self.exit_code
        self.devtools.close()
        if self._living is not None:
            self._living.cancel()
            await asyncio.gather(self._living, return_exceptions=True)

    # ---- events -------------------------------------------------------------------------------------------------

    def _on_event(self, _session: str, event: Mapping[str, Any]) -> None:
        params = event["params"]
        match event["method"]:
            case "Target.targetCreated" | "Target.targetInfoChanged" if params["targetInfo"]["type"] == "page":
                self._tabs[params["targetInfo"]["targetId"]] = params["targetInfo"]
            case "Target.targetDestroyed":
                self._tabs.pop(params["targetId"], None)
            case "Browser.downloadWillBegin" | "Browser.downloadProgress":
                self._downloads.on_event(event)

    def _cancel_download(self, number: str) -> None:
        self._downloads.cancel(number)

    async def _stay_alive(self) -> None:
        try:
            while True:
                await asyncio.sleep(ALIVE_EVERY_S)
                await self.devtools.call("Browser.getVersion")
        except StackFailed as error:
            _log.error("the browser at %s: %s", self.shown, error)
            self._end()

    def _end(self) -> None:
        if self.exit_code is None:
            self.exit_code = 1
            self.devtools.lose()
            self._on_gone()


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
