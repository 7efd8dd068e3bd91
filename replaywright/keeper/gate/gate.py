"""The commit gate: holds what could change the world until somebody who may decide has decided.

Gated are plain HTTP requests with unsafe methods (judged by the request line) and every byte in a tunnel, where
nothing more can be seen: that errs on the safe side. Where it is told of the requests inside (`expect`), it lists them
in the tunnel's place. The gate knows four situations:

    open         no operation: bytes pass
    armed        gated bytes are held; `permit` lets them go, `cut` throws them away
    cut          gated bytes are refused until `disarm`: Chromium repeats a cut request by itself
    lapsed       the lease ran out: gated bytes are refused until a greater epoch attaches

Nobody's death decides anything: the connection that armed may die, held bytes stay held until a permit or a cut
with a current epoch, or until `dispatch_by`. Both deadlines are checked again for every byte, so that a keeper which
was frozen lets nothing go when it wakes.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from replaywright.domain.proof.carrying import NOTHING, Sought
from replaywright.domain.session.commit_gate import GateSeen, HeldRequest, Phase, SentRequest
from replaywright.errors import KeeperRefused
from replaywright.keeper import clock
from replaywright.keeper.gate.black_box import BlackBox, UpstreamConnection
from replaywright.keeper.gate.departures import ArmLine, LeaveLine, MarkLine
from replaywright.keeper.protocol import ErrorCode

OPERATIONS_REMEMBERED = 512
SENT_REMEMBERED = 64
"""Connections listed for each operation."""
REPEATED = "equal to a request that was let go"
UNRECORDED = "unrecorded"
"""Reason of a cut: what was about to leave could not be recorded."""


class RequestReporter(Protocol):
    """Tells of the browser's requests, by `Gate.expect` and `Gate.lose_sight`, while an operation is current."""

    @property
    def awaited(self) -> int:
        """Unsafe requests since it last began to watch that are about to leave, or have no answer."""

    def watch(self, *, is_armed: bool) -> None:
        """Report requests while there is a current operation."""


class RequestRefused(KeeperRefused):
    """The keeper answers a request with an error, whose code is `code`."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class _Sent:
    connection: UpstreamConnection
    sent_s: float

    def report(self) -> SentRequest:
        """Return what is known of it now."""
        connection = self.connection
        return SentRequest(
            method=connection.readable_method,
            url=connection.url,
            is_safe=not connection.gated,
            sent_at=self.sent_s + connection.wall_offset_s,
            status=connection.site_status,
            answered_at=connection.answered_at,
            ended_at=clock.wall_s(connection.closed_s, connection.wall_offset_s),
        )


@dataclass(slots=True, eq=False)
class Operation:
    """One arming. Times are monotonic seconds."""

    op_id: str
    epoch: int
    dispatch_by_s: float
    """On the lease clock."""
    hold_safe: bool
    note: str = ""
    phase: Phase = "armed"
    reason: str = ""
    armed_s: float = field(default_factory=time.monotonic)
    wall_offset_s: float = field(default_factory=clock.wall_offset_s)
    first_held_s: float | None = None
    permitted_s: float | None = None
    was_cut: bool = False
    gated_bytes_up: int = 0
    requests_refused: int = 0
    sent: list[_Sent] = field(default_factory=list)
    unlisted: int = 0
    once: bool = False
    released: set[bytes] = field(default_factory=set)
    """Digests of the requests that were let go, with `once`."""
    repeated: int = 0
    repeated_s: float | None = None
    expected: list[UpstreamConnection] = field(default_factory=list)
    """Requests inside TLS that are about to leave."""
    known_hosts: set[tuple[str, int]] = field(default_factory=set)
    """Hosts and ports of those that left: tunnels there carry nothing that is not known."""
    unsent: Sought = NOTHING
    """What was entered and not sent before."""
    carriers: dict[str, bool] = field(default_factory=dict)
    """By method and address of requests that may change something: whether one of them carried some of that."""
    unseen_s: float | None = None
    """Time since which a tunnel may carry unknown requests."""

    def begins_with(self, connection: UpstreamConnection) -> bool:
        """Return whether the next bytes of this connection are its first ones for this operation."""
        return connection.counted_for is not self and (connection.gated or self.hold_safe)

    def expect(self, connection: UpstreamConnection) -> None:
        """Note a request inside TLS that is about to leave; of safe ones the first to each host."""
        known = self.known_hosts | {(one.host, one.port) for one in self.expected}
        if connection.gated or (connection.host, connection.port) not in known:
            self.expected.append(connection)
        if len(self.expected) > SENT_REMEMBERED:
            self.unlisted += self.expected.pop(0).gated

    def weigh(self, request: Mapping[str, Any], url: str) -> None:
        """Note whether a request of the DevTools protocol carries what was entered."""
        kind = f"{request['method'].upper()} {url}"
        if self.unsent and (kind in self.carriers or len(self.carriers) < SENT_REMEMBERED):
            self.carriers[kind] = self.carriers.get(kind, False) or not self.unsent.lacks(request)

    def inside(self, connection: UpstreamConnection) -> list[UpstreamConnection]:
        """Return the requests inside a tunnel that are about to leave."""
        if connection.kind != "tunnel":
            return []
        there = (connection.host, connection.port)
        return [one for one in self.expected if (one.host, one.port) == there and one.closed_s is None]

    def departing(self, connection: UpstreamConnection) -> list[UpstreamConnection]:
        """Return what leaves first with the next bytes of a connection: itself, and requests inside."""
        return [*([connection] if self.begins_with(connection) else ()), *self.inside(connection)]

    def is_transparent(self, connection: UpstreamConnection) -> bool:
        """Return whether a connection is a tunnel whose requests are all known."""
        if connection.kind != "tunnel" or (connection.host, connection.port) not in self.known_hosts:
            return False
        return self.unseen_s is None or (connection.last_up_s or 0.0) < self.unseen_s

    def count_first(self, connection: UpstreamConnection, size: int) -> None:
        """Count the first bytes of a connection. Of too many connections, one on which least depends is dropped."""
        now_s = time.monotonic()
        connection.counted_for = self
        if connection.kind == "inside":
            self.expected.remove(connection)
            self.known_hosts.add((connection.host, connection.port))
        self.gated_bytes_up += size
        self.sent.append(_Sent(connection, now_s))
        if len(self.sent) > SENT_REMEMBERED:
            least = min(self.sent, key=self._weight)
            self.sent.remove(least)
            self.unlisted += self._weight(least) == 2

    def _weight(self, sent: _Sent) -> int:
        """Return how much depends on it: 0 for safe requests, 1 for those with an answer, 2 for the others."""
        if not sent.connection.gated or self.is_transparent(sent.connection):
            return 0
        return 1 if sent.connection.answered_s is not None else 2

    def is_repeat(self, connection: UpstreamConnection) -> bool:
        """Return whether an equal request was let go on another connection; if not, note this one."""
        digest = connection.digest
        if not self.once or digest is None:
            return False
        if digest not in self.released:
            self.released.add(digest)
            return False
        self.repeated += 1
        self.repeated_s = self.repeated_s or time.monotonic()
        return True


@dataclass(slots=True, eq=False)
class _Held:
    connection: UpstreamConnection
    refused: asyncio.Future[str | None]
    """None when it may pass, else why not."""


class Gate:
    """Decides for every piece of upstream traffic whether it passes, waits, or is refused."""

    def __init__(self, black_box: BlackBox, *, lease_lapsed: Callable[[], bool] = lambda: False) -> None:
        """Make an open gate.

        Args:
            black_box: where bytes are counted, before they are written.
            lease_lapsed: asked for every byte.
        """
        self._black_box = black_box
        self._lease_lapsed = lease_lapsed
        self._current: Operation | None = None
        self._operations: OrderedDict[tuple[str, int], Operation] = OrderedDict()
        self._held: list[_Held] = []
        self._waiting: set[asyncio.Future[None]] = set()
        self._reporter: RequestReporter | None = None
        self._granted: set[bytes] = set()
        """Digests of requests that were granted once, for the life of the session."""

    # ---- what the proxy asks ------------------------------------------------------------------------------------

    async def admit(self, connection: UpstreamConnection, size: int, *, is_gone: bool = False) -> bool:
        """Return whether these bytes may be written now; counts them if so.

        Waits while they are held. The caller writes at once, without another `await` in between. `size` 0 asks
        before there is anything to write, so that a held request is not even connected. `is_gone` says that the
        browser has given the connection up already: then nothing is held for it.
        """
        released_by: object | None = None
        counted: Operation | None = None
        while True:
            phase, operation = self._judge(connection), self._current
            if phase == "cut":
                self.refuse(connection)
                return False
            if phase == "permitted" or (operation is not None and released_by is operation):
                if size and self._is_granted_before(connection):
                    connection.refused = REPEATED
                    return False
                if size and operation is not None and (departing := operation.departing(connection)):
                    if operation.begins_with(connection):
                        if operation.is_repeat(connection):
                            connection.refused = REPEATED
                            return False
                        counted = operation
                        if connection.is_granted and connection.digest is not None:
                            self._granted.add(connection.digest)
                    await self._record_departures(operation, departing, size)
                    continue  # it may have been cut meanwhile
                self._let_go(connection, size, counted)
                return True
            refused = "given up by the browser" if is_gone else await self._hold(connection)
            if refused is not None:
                self.refuse(connection, refused)
                return False
            released_by = connection.passed_for

    def listen(self, reporter: RequestReporter) -> None:
        """Have requests inside TLS reported by `reporter` from now on."""
        self._reporter = reporter

    def expect(self, connection: UpstreamConnection) -> None:
        """Take note of a request inside TLS before its first byte comes to the gate."""
        if self._current is not None:
            self._current.expect(connection)
            self._wake_waiters()

    def weigh(self, request: Mapping[str, Any], url: str) -> None:
        """Take note of what a request carries that may change something."""
        if self._current is not None:
            self._current.weigh(request, url)

    def note_page_closed(self) -> None:
        """Take note that a page was closed: its last requests are not reported."""
        if self._current is not None and self._current.unseen_s is None:
            self._current.unseen_s = time.monotonic()
            self._black_box.departures.write(MarkLine(what="unseen"))

    def compares(self, connection: UpstreamConnection) -> bool:
        """Return whether this request has to be read as a whole, to refuse an equal one."""
        is_once = bool(self._granted) or (self._current is not None and self._current.once)
        return connection.gated and connection.is_one_request and is_once

    def _is_granted_before(self, connection: UpstreamConnection) -> bool:
        """Return whether an equal request had its only grant, and no current operation may grant another one."""
        is_once = self._current is not None and self._current.once
        return connection.digest in self._granted and not (connection.is_granted or is_once)

    def refuses_tunnels(self) -> bool:
        """Return whether a new tunnel is refused outright: after a cut, and without a lease."""
        self.check_deadlines()
        return self._lease_lapsed() or (self._current is not None and self._current.phase == "cut")

    def forget(self, connection: UpstreamConnection) -> None:
        """Note that the browser gave this connection up: its held bytes will not be sent."""
        for held in [held for held in self._held if held.connection is connection]:
            self._held.remove(held)
            if not held.refused.done():
                held.refused.set_result("given up by the browser")
        self._wake_waiters()

    def _judge(self, connection: UpstreamConnection) -> Phase:
        """Return `permitted` to pass bytes, `armed` to hold them, `cut` to refuse them."""
        self.check_deadlines()
        operation = self._current
        if not connection.gated and not (operation is not None and operation.hold_safe):
            return "permitted"
        if connection.gated and self._lease_lapsed():
            return "cut"
        if operation is None:
            return "permitted"
        has_passed = connection.passed_for is operation and connection.is_one_request
        return "permitted" if has_passed and operation.phase == "armed" else operation.phase

    async def _record_departures(self, operation: Operation, departing: list[UpstreamConnection], size: int) -> None:
        """Record connections that are about to send their first bytes for an operation; cut where that is not possible.

        It is on the disk before they are let go where anything depends on it: if they may change something, or are the
        first of all.
        """
        is_first, is_recorded = not operation.gated_bytes_up, True
        departures = self._black_box.departures
        for connection in departing:
            own_size = 0 if connection.kind == "inside" else size
            operation.count_first(connection, own_size)
            line = _leaves(connection, own_size)
            is_recorded = departures.write(line) and is_recorded
        if is_recorded and (is_first or any(connection.gated for connection in departing)):
            is_recorded = await departures.synced()
        if not is_recorded and operation.phase != "disarmed":
            self._cut(operation, UNRECORDED)

    def _let_go(self, connection: UpstreamConnection, size: int, counted: Operation | None) -> None:
        """Count bytes that the caller writes now, unless they were `counted` for the operation before."""
        operation = self._current
        if operation is not None and connection.counted_for is operation and counted is not operation:
            operation.gated_bytes_up += size
        if size:
            self._black_box.count_up(connection, size)

    def refuse(self, connection: UpstreamConnection, reason: str = "the commit gate is closed") -> None:
        """Note that a connection was turned away."""
        if connection.refused is None:
            connection.refused = reason
        if self._current is not None:
            self._current.requests_refused += 1

    async def _hold(self, connection: UpstreamConnection) -> str | None:
        operation = self._current
        assert operation is not None
        held = _Held(connection, asyncio.get_running_loop().create_future())
        now_s = time.monotonic()
        connection.held_s = connection.held_s or now_s
        self._held.append(held)
        if operation.first_held_s is None:
            operation.first_held_s = now_s
        self._wake_waiters()
        try:
            return await held.refused
        finally:
            if held in self._held:
                self._held.remove(held)
                self._wake_waiters()

    # ---- what the control socket asks ---------------------------------------------------------------------------

    def arm(
        self,
        op_id: str,
        epoch: int,
        dispatch_by_ms: int,
        *,
        hold_safe: bool = False,
        note: str = "",
        once: bool = False,
        unsent: Sought = NOTHING,
    ) -> GateSeen:
        """Hold gated bytes from now on.

        With `once`, a request over plain HTTP is refused that is equal, in method, address and body, to one that was
        let go for this operation. Inside a tunnel requests cannot be told apart: there all of them pass.
        """
        self.check_deadlines()
        if self._lease_lapsed():
            raise RequestRefused(ErrorCode.FENCED, "the lease has lapsed: attach with a greater epoch before arming")
        current = self._current
        if current is not None and (current.op_id, current.epoch) == (op_id, epoch) and (current.phase == "armed"):
            return self._report(current)
        if current is not None:
            raise RequestRefused(
                ErrorCode.REFUSED,
                f"operation {current.op_id!r} of epoch {current.epoch} is {current.phase}: settle and disarm it first",
            )
        earlier = self._operations.get((op_id, epoch))
        if earlier is not None and (earlier.permitted_s is not None or earlier.was_cut):
            raise RequestRefused(
                ErrorCode.REFUSED, f"operation {op_id!r} was armed in epoch {epoch} before: one attempt, one arming"
            )
        operation = Operation(
            op_id=op_id,
            epoch=epoch,
            dispatch_by_s=clock.lease_now_s() + dispatch_by_ms / 1000,
            hold_safe=hold_safe,
            note=note,
            once=once,
            unsent=unsent,
        )
        if not self._black_box.departures.write(ArmLine(op_id=op_id, epoch=epoch, hold_safe=hold_safe, note=note)):
            raise RequestRefused(ErrorCode.REFUSED, "what leaves can neither be recorded nor be left unrecorded")
        self._operations[op_id, epoch] = operation
        self._operations.move_to_end((op_id, epoch))
        while len(self._operations) > OPERATIONS_REMEMBERED:
            self._operations.popitem(last=False)
        self._set_current(operation)
        return self._report(operation)

    async def wait_held(self, op_id: str, timeout_s: float) -> GateSeen:
        """Return when something is held for this operation, when it is no longer armed, or when the time is up."""
        operation = self._newest(op_id)
        try:
            async with asyncio.timeout(timeout_s):
                while operation.phase == "armed" and not self._held:
                    change = asyncio.get_running_loop().create_future()
                    self._waiting.add(change)
                    try:
                        await change
                    finally:
                        self._waiting.discard(change)
        except TimeoutError:
            pass
        return self._report(operation)

    def permit(self, op_id: str) -> GateSeen:
        """Let held bytes go, in the order in which they came."""
        operation = self._not_cut(op_id)
        if operation.phase == "armed":
            operation.phase = "permitted"
            operation.permitted_s = time.monotonic()
            self._release(passes=True)
        return self._report(operation)

    def let_pass(self, op_id: str) -> GateSeen:
        """Let go what is held now, in its order, and go on holding what follows.

        Of plain HTTP that is the rest of the request as well, of a tunnel only the bytes that are held.
        """
        operation = self._not_cut(op_id)
        if operation.phase == "armed":
            operation.permitted_s = operation.permitted_s or time.monotonic()
            for held in self._held:
                held.connection.passed_for = operation
            self._release(passes=True)
        return self._report(operation)

    def cut(self, op_id: str, reason: str = "asked") -> GateSeen:
        """Throw held bytes away; the gate stays closed. After a permit it stops what has not left yet."""
        operation = self._armed_or_after(op_id)
        if operation.phase != "cut":
            self._cut(operation, reason)
        return self._report(operation)

    def disarm(self, op_id: str) -> GateSeen:
        """Open the gate again. Refused while bytes are held; an operation that is disarmed already is fine."""
        operation = self._newest(op_id)
        if operation.phase == "disarmed":
            return self._report(operation)
        self.check_deadlines()
        if self._held and operation.phase == "armed":
            raise RequestRefused(ErrorCode.REFUSED, f"bytes are held for operation {op_id!r}: permit or cut them first")
        if not self._black_box.departures.write(MarkLine(what="disarmed")):
            raise RequestRefused(ErrorCode.REFUSED, f"the end of operation {op_id!r} cannot be recorded")
        operation.phase = "disarmed"
        self._set_current(None)
        return self._report(operation)

    def operations(self, op_id: str | None = None) -> list[GateSeen]:
        """Return what is remembered of one operation in all its epochs, or of all, oldest first."""
        return [self._report(o) for o in self._operations.values() if op_id is None or o.op_id == op_id]

    @property
    def current(self) -> GateSeen | None:
        """The operation that is not disarmed yet."""
        self.check_deadlines()
        return None if self._current is None else self._report(self._current)

    # ---- deadlines ----------------------------------------------------------------------------------------------

    @property
    def next_deadline_s(self) -> float | None:
        """Next time at which `check_deadlines` has something to do, on the lease clock."""
        armed = self._current is not None and self._current.phase == "armed"
        return self._current.dispatch_by_s if armed and self._current is not None else None

    def check_deadlines(self) -> None:
        """Cut an armed operation whose time is up, or whose lease has lapsed."""
        operation = self._current
        if operation is None or operation.phase != "armed":
            return
        if clock.lease_now_s() >= operation.dispatch_by_s:
            self._cut(operation, "late")
        elif self._lease_lapsed():
            self._cut(operation, "lease_lapsed")

    def close(self) -> None:
        """Refuse what is held; the keeper ends."""
        self._release(passes=False)

    # ---- inside -------------------------------------------------------------------------------------------------

    def _set_current(self, operation: Operation | None) -> None:
        self._current = operation
        if self._reporter is not None:
            self._reporter.watch(is_armed=operation is not None)
        self._wake_waiters()

    def _newest(self, op_id: str) -> Operation:
        for operation in reversed(self._operations.values()):
            if operation.op_id == op_id:
                return operation
        raise RequestRefused(ErrorCode.REFUSED, f"operation {op_id!r} was never armed here")

    def _armed_or_after(self, op_id: str) -> Operation:
        operation = self._newest(op_id)
        if operation is not self._current:
            raise RequestRefused(ErrorCode.REFUSED, f"operation {op_id!r} is {operation.phase}")
        self.check_deadlines()
        return operation

    def _not_cut(self, op_id: str) -> Operation:
        operation = self._armed_or_after(op_id)
        if operation.phase == "cut":
            raise RequestRefused(ErrorCode.REFUSED, f"operation {op_id!r} was cut ({operation.reason})")
        return operation

    def _cut(self, operation: Operation, reason: str) -> None:
        operation.phase = "cut"
        operation.reason = reason
        operation.was_cut = True
        self._black_box.departures.write(MarkLine(what="cut"))
        self._release(passes=False)

    def _release(self, *, passes: bool) -> None:
        held, self._held = self._held, []
        for one in held:
            one.connection.is_granted |= passes and self._current is not None and self._current.once
            if not one.refused.done():
                one.refused.set_result(None if passes else "the commit gate is closed")
        self._wake_waiters()

    def _wake_waiters(self) -> None:
        for change in self._waiting:
            if not change.done():
                change.set_result(None)

    def _report(self, operation: Operation) -> GateSeen:
        offset_s = operation.wall_offset_s
        waiting = self._waiting_for(operation) if operation is self._current else ()
        return GateSeen(
            op_id=operation.op_id,
            epoch=operation.epoch,
            phase=operation.phase,
            reason=operation.reason,
            is_closed=operation.was_cut,
            held=len(waiting),
            bytes_up=operation.gated_bytes_up,
            refused=operation.requests_refused,
            armed_for_s=time.monotonic() - operation.armed_s,
            held_at=clock.wall_s(operation.first_held_s, offset_s),
            permitted_at=clock.wall_s(operation.permitted_s, offset_s),
            waiting=waiting,
            note=operation.note,
            sent=tuple(sent.report() for sent in operation.sent if not operation.is_transparent(sent.connection)),
            unlisted=operation.unlisted,
            repeated=operation.repeated,
            repeated_at=clock.wall_s(operation.repeated_s, offset_s),
            aside=tuple(kind for kind, carries in operation.carriers.items() if not carries),
            awaited=None if self._reporter is None else self._reporter.awaited,
        )

    def _waiting_for(self, operation: Operation) -> tuple[HeldRequest, ...]:
        """Return the held connections; in place of a tunnel the requests inside, where they are known."""
        waiting = [one for held in self._held for one in operation.inside(held.connection) or [held.connection]]
        return tuple(HeldRequest(one.readable_method, one.url) for one in dict.fromkeys(waiting))


def _leaves(connection: UpstreamConnection, size: int) -> LeaveLine:
    """Return the line of a connection that is about to send its first bytes for an operation."""
    return LeaveLine(
        connection=connection.number,
        method=connection.readable_method,
        url=connection.url,
        is_safe=not connection.gated,
        size=size,
        status=connection.site_status,
        answered_at=connection.answered_at,
    )
