"""Record of all that left the browser: a bounded ring of connections that a crash of the worker does not erase."""

import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from replaywright.domain.common.urls import bracketed
from replaywright.keeper import clock
from replaywright.keeper.gate.departures import AnswerLine, DepartureLog, EndLine

_HTTP_PORT, _HTTPS_PORT = 80, 443
SWITCHED = 101
"""Status of a connection that speaks another protocol from then on."""
CAPACITY = 4096
"""Connections remembered; a busy page makes some hundred. A full ring is about 3 MB."""


@dataclass(slots=True, eq=False)
class UpstreamConnection:
    """One upstream connection, or one request inside a tunnel, alive or closed. Times are monotonic seconds."""

    number: int
    """Counts from 1 in the order in which requests arrived."""
    kind: Literal["http", "tunnel", "inside"]
    """Plain HTTP with one request; a tunnel; a request inside one, whose bytes are counted as the tunnel's."""
    method: str
    host: str
    port: int
    path: str
    """Without its query, which may hold secrets; empty for a tunnel."""
    gated: bool
    """The commit gate holds its bytes: an unsafe method, a tunnel, an upgraded connection."""
    status: int | None = None
    """Status of the response; also set when the proxy itself answered. 101 of a tunnel that carries WebSocket messages
    without TLS."""
    refused: str | None = None
    """Reason why the proxy did not connect it, or stopped it."""
    bytes_up: int = 0
    """Handed to the network towards the site."""
    bytes_down: int = 0
    opened_s: float = field(default_factory=time.monotonic)
    wall_offset_s: float = field(default_factory=clock.wall_offset_s)
    held_s: float | None = None
    last_up_s: float | None = None
    closed_s: float | None = None
    answered_s: float | None = None
    """Time of the site's status: of a response, or of a tunnel that changed to WebSocket messages."""
    passed_for: object | None = None
    """The operation of the gate that has let some of it go while it holds what follows."""
    counted_for: object | None = None
    """The last operation of the gate for which bytes of it were counted."""
    is_handshake: bool = False
    """A tunnel begins with a request without TLS: Chromium opens WebSockets like that, and nothing else."""
    digest: bytes | None = None
    """Digest of the whole request, where requests are compared."""
    is_granted: bool = False
    """True: held and released for an operation that sends each request once."""

    @property
    def is_one_request(self) -> bool:
        """All of its bytes are one request; false for a tunnel, and after an upgrade."""
        return self.kind == "http" and self.status != SWITCHED

    @property
    def readable_method(self) -> str:
        """The method; empty for a tunnel, of which nothing can be read."""
        return "" if self.kind == "tunnel" else self.method

    @property
    def url(self) -> str:
        """Address without a query; of a tunnel only the host."""
        if self.kind == "tunnel":
            return f"https://{bracketed(self.host)}:{self.port}"
        scheme, usual = ("https", _HTTPS_PORT) if self.kind == "inside" else ("http", _HTTP_PORT)
        port = "" if self.port == usual else f":{self.port}"
        return f"{scheme}://{bracketed(self.host)}{port}{self.path}"

    @property
    def site_status(self) -> int:
        """The status that the site answered with; 0 for none, whatever the proxy said in its place."""
        return 0 if self.answered_s is None else self.status or 0

    @property
    def answered_at(self) -> float | None:
        """Time of the answer, in seconds since 1970."""
        return clock.wall_s(self.answered_s, self.wall_offset_s)


class BlackBox:
    """Counts bytes per connection; the oldest closed connections are forgotten first, the totals never."""

    def __init__(self, capacity: int = CAPACITY, departures: DepartureLog | None = None) -> None:
        """`departures` outlives this process; without it nothing does."""
        self._capacity = capacity
        self.departures = departures or DepartureLog()
        self._open: dict[int, UpstreamConnection] = {}
        self._closed: deque[UpstreamConnection] = deque()
        self._numbers = 0
        self._forgotten_until_s = float("-inf")
        self.bytes_up = 0
        self.bytes_down = 0

    def open(
        self, kind: Literal["http", "tunnel", "inside"], *, method: str, host: str, port: int, path: str, gated: bool
    ) -> UpstreamConnection:
        """Begin to record a connection."""
        self._numbers += 1
        connection = UpstreamConnection(self._numbers, kind, method, host, port, path, gated)
        self._open[connection.number] = connection
        return connection

    def count_up(self, connection: UpstreamConnection, size: int) -> None:
        """Note bytes that are about to be handed to the network; called before the write, never after."""
        connection.last_up_s = time.monotonic()
        connection.bytes_up += size
        self.bytes_up += size

    def count_down(self, connection: UpstreamConnection, size: int) -> None:
        """Note bytes that came from the site."""
        connection.bytes_down += size
        self.bytes_down += size

    def answer(self, connection: UpstreamConnection, status: int) -> None:
        """Note the status of the site's final answer, or 101 of a tunnel."""
        connection.status, connection.answered_s = status, time.monotonic()
        if connection.counted_for is not None:
            self.departures.write(AnswerLine(connection=connection.number, status=status))

    def close(self, connection: UpstreamConnection) -> None:
        """Note the end of a connection; once is enough, twice does no harm."""
        if self._open.pop(connection.number, None) is None:
            return
        connection.closed_s = time.monotonic()
        if connection.counted_for is not None and connection.answered_s is None:
            self.departures.write(EndLine(connection=connection.number))
        self._closed.append(connection)
        while len(self._closed) + len(self._open) > self._capacity and self._closed:
            self._forgotten_until_s = max(self._forgotten_until_s, self._closed.popleft().closed_s or 0.0)

    def since(self, monotonic_s: float) -> tuple[list[UpstreamConnection], bool]:
        """Return the connections opened, held or sending at or after an instant, and whether these are all of them."""
        found = [
            connection
            for connection in self._all()
            if max(connection.opened_s, connection.held_s or 0.0, connection.last_up_s or 0.0) >= monotonic_s
        ]
        found.sort(key=lambda connection: connection.number)
        return found, self._forgotten_until_s < monotonic_s

    def _all(self) -> Iterable[UpstreamConnection]:
        yield from self._closed
        yield from self._open.values()
