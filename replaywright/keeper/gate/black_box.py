"""Record of all that left the browser: a bounded ring of connections that a crash of the worker does not erase."""

import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from replaywright.keeper import clock
from replaywright.keeper.gate.departures import AnswerLine, DepartureLog, EndLine
from replaywright.keeper.protocol import ConnectionRecord

SWITCHED = 101
"""Status of a connection that speaks another protocol from then on."""
CAPACITY = 4096
"""Connections remembered; a busy page makes some hundred. A full ring is about 3 MB."""


@dataclass(slots=True, eq=False)
class UpstreamConnection:
    """One upstream connection while it lives and after it. Times are monotonic seconds."""

    number: int
    kind: Literal["http", "tunnel", "inside"]
    method: str
    host: str
    port: int
    path: str
    gated: bool
    address: str | None = None
    status: int | None = None
    refused: str | None = None
    bytes_up: int = 0
    bytes_down: int = 0
    opened_s: float = field(default_factory=time.monotonic)
    wall_offset_s: float = field(default_factory=clock.wall_offset_s)
    held_s: float | None = None
    first_up_s: float | None = None
    last_up_s: float | None = None
    first_down_s: float | None = None
    last_down_s: float | None = None
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
    """It was held and released for an operation that sends each request once."""

    @property
    def is_one_request(self) -> bool:
        """All of its bytes are one request; false for a tunnel, and after an upgrade."""
        return self.kind == "http" and self.status != SWITCHED

    def record(self) -> ConnectionRecord:
        """Return what is known of it now."""
        offset_s = self.wall_offset_s
        opened_at = clock.at(self.opened_s, offset_s)
        assert opened_at is not None
        return ConnectionRecord(
            number=self.number,
            kind=self.kind,
            method=self.method,
            host=self.host,
            port=self.port,
            path=self.path,
            address=self.address,
            status=self.status,
            gated=self.gated,
            held_at=clock.at(self.held_s, offset_s),
            refused=self.refused,
            bytes_up=self.bytes_up,
            bytes_down=self.bytes_down,
            opened_at=opened_at,
            first_up_at=clock.at(self.first_up_s, offset_s),
            last_up_at=clock.at(self.last_up_s, offset_s),
            first_down_at=clock.at(self.first_down_s, offset_s),
            last_down_at=clock.at(self.last_down_s, offset_s),
            answered_at=clock.at(self.answered_s, offset_s),
            closed_at=clock.at(self.closed_s, offset_s),
        )


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

    @property
    def open_connections(self) -> int:
        """Number of connections that are open now."""
        return len(self._open)

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
        if connection.first_up_s is None:
            connection.first_up_s = connection.last_up_s
        connection.bytes_up += size
        self.bytes_up += size

    def count_down(self, connection: UpstreamConnection, size: int) -> None:
        """Note bytes that came from the site."""
        connection.last_down_s = time.monotonic()
        if connection.first_down_s is None:
            connection.first_down_s = connection.last_down_s
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
