"""DevTools for workers: a unix socket in the session's directory, with a path of its own for each attachment.

An attachment can be taken away: its clients are cut at once, and what they sent and Chromium has not been given yet is
dropped.
"""

import asyncio
import logging
import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from replaywright.errors import StackFailed
from replaywright.keeper.chromium.websocket import WebSocket, asks_for_websocket
from replaywright.keeper.host.peers import is_own

MAX_RELAYS = 8
"""Attachments of one epoch that stay open; the oldest without a connection makes room."""
_HEAD_S = 10.0
_log = logging.getLogger(__name__)


class DevTools(Protocol):
    """A browser that clients can be connected with."""

    async def serve(self, client: WebSocket) -> None:
        """Pass on messages between a client and the browser until either is gone.

        Raises:
            StackFailed: the browser does not answer.
        """


@dataclass(eq=False)
class _Relay:
    """One attachment and its clients."""

    epoch: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    clients: dict[asyncio.Task[None], WebSocket] = field(default_factory=dict)

    def close(self) -> None:
        """Cut every client at once."""
        for task, client in self.clients.items():
            client.abort()
            task.cancel()

    async def serve(self, client: WebSocket, devtools: DevTools) -> None:
        """Connect a client with the browser until it leaves or is cut."""
        task = asyncio.current_task()
        assert task is not None
        self.clients[task] = client
        try:
            await devtools.serve(client)
        finally:
            del self.clients[task]
            client.abort()


class RelaySocket:
    """The socket, and the attachments that may be spoken to."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._relays: dict[str, _Relay] = {}
        self._server: asyncio.Server | None = None
        self._devtools: DevTools | None = None

    @property
    def connections(self) -> int:
        """The number of clients of all attachments."""
        return sum(len(relay.clients) for relay in self._relays.values())

    async def start(self, devtools: DevTools) -> None:
        """Listen, in the working directory: a socket's address has room for 107 bytes, and a relative one fits."""
        self._devtools = devtools
        self._server = await asyncio.start_unix_server(self._serve, self._path.name)
        os.chmod(self._path.name, 0o600)  # noqa: PTH101 - relative on purpose

    def attach(self, epoch: int) -> str | None:
        """Open an attachment and return its endpoint; None when all are in use."""
        if len(self._relays) >= MAX_RELAYS:
            idle = [relay for relay in self._relays.values() if not relay.clients]
            if not idle:
                return None
            del self._relays[idle[0].token]
        relay = _Relay(epoch)
        self._relays[relay.token] = relay
        return f"ws+unix://127.0.0.1{quote(str(self._path))}:/{relay.token}"

    def cut_before(self, epoch: int) -> None:
        """Take away the attachments of lower epochs."""
        for relay in [relay for relay in self._relays.values() if relay.epoch < epoch]:
            del self._relays[relay.token]
            relay.close()

    def close(self) -> None:
        """Stop listening and cut everybody."""
        if self._server is not None:
            self._server.close()
        for relay in self._relays.values():
            relay.close()
        self._relays.clear()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert self._devtools is not None
        client = WebSocket(reader, writer)
        try:
            if not is_own(writer):
                _log.warning("refused a DevTools client of another user")
                return
            async with asyncio.timeout(_HEAD_S):
                request = await client.read_request()
            relay = self._relays.get(request.path.removeprefix("/"))
            if relay is None or not asks_for_websocket(request):
                client.refuse(404, "there is no such attachment, or it is over")
                return
            client.accept(request)
            await relay.serve(client, self._devtools)
        except (OSError, TimeoutError, StackFailed) as error:
            _log.info("DevTools client failed: %r", error)
        except asyncio.CancelledError:
            writer.transport.abort()
        finally:
            writer.close()
