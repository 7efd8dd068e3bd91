"""The commit gate: holds what could change the world until somebody who may decide has decided.

Gated are plain HTTP requests with unsafe methods (judged by the request line) and every byte in a tunnel, where
nothing more can be seen: that errs on the safe side. The gate knows four situations:

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
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from replaywright.errors import KeeperRefused
from replaywright.keeper import clock
from replaywright.keeper.black_box import BlackBox, Connection
from replaywright.keeper.protocol import ConnectionRecord, ErrorCode, GatePhase, OperationRecord

OPERATIONS_REMEMBERED = 512

Dispatcher = Callable[[OperationRecord, ConnectionRecord], Awaitable[bool | None]]
"""Asked at the first held byte of an operation: True permits, False cuts, None leaves it to whoever armed."""


class RequestRefused(KeeperRefused):
    """The keeper answers a request with an error, whose code is `code`."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(slots=True, eq=False)
class Operation:
    """One arming. Times are monotonic seconds."""

    op_id: str
    epoch: int
    dispatch_by_s: float
    """On the lease clock."""
    hold_safe: bool
    dispatch_by_monotonic_s: float
    note: str = ""
    phase: GatePhase = GatePhase.ARMED
    reason: str = ""
    armed_s: float = field(default_factory=time.monotonic)
    wall_offset_s: float = field(default_factory=clock.wall_offset_s)
    first_held_s: float | None = None
    permitted_s: float | None = None
    cut_s: float | None = None
    disarmed_s: float | None = None
    first_gated_up_s: float | None = None
    gated_bytes_up: int = 0
    safe_requests: int = 0
    requests_refused: int = 0


@dataclass(slots=True, eq=False)
class _Held:
    connection: Connection
    refused: asyncio.Future[str | None]
    """None when it may pass, else why not."""


class Gate:
    """Decides for every piece of upstream traffic whether it passes, waits, or is refused."""

    def __init__(
        self,
        black_box: BlackBox,
        *,
        lease_lapsed: Callable[[], bool] = lambda: False,
        dispatcher: Dispatcher | None = None,
    ) -> None:
        """Make an open gate.

        Args:
            black_box: where bytes are counted, before they are written.
            lease_lapsed: asked for every byte.
            dispatcher: the seam for the DISPATCH record in the ledger; a failure in it cuts.
        """
        self._black_box = black_box
        self._lease_lapsed = lease_lapsed
        self._dispatcher = dispatcher
        self._current: Operation | None = None
        self._operations: OrderedDict[tuple[str, int], Operation] = OrderedDict()
        self._held: list[_Held] = []
        self._waiting: set[asyncio.Future[None]] = set()
        self._asking: asyncio.Task[None] | None = None

    # ---- what the proxy asks ------------------------------------------------------------------------------------

    async def admit(self, connection: Connection, size: int, *, is_gone: bool = False) -> bool:
        """Return whether these bytes may be written now; counts them if so.

        Waits while they are held. The caller writes at once, without another `await` in between. `size` 0 asks
        before there is anything to write, so that a held request is not even connected. `is_gone` says that the
        browser has given the connection up already: then nothing is held for it.
        """
        while True:
            match self._judge(connection):
                case GatePhase.PERMITTED:
                    self._let_go(connection, size)
                    return True
                case GatePhase.CUT:
                    self.refuse(connection)
                    return False
            refused = "given up by the browser" if is_gone else await self._hold(connection)
            if refused is not None:
                self.refuse(connection, refused)
                return False
            if connection.passed_for is not None and self._judge(connection) is not GatePhase.CUT:
                self._let_go(connection, size)
                return True

    def refuses_tunnels(self) -> bool:
        """Whether a new tunnel is refused outright: after a cut, and without a lease."""
        self.check_deadlines()
        return self._lease_lapsed() or (self._current is not None and self._current.phase is GatePhase.CUT)

    def forget(self, connection: Connection) -> None:
        """The browser gave this connection up: what is held of it will not be sent."""
        for held in [held for held in self._held if held.connection is connection]:
            self._held.remove(held)
            if not held.refused.done():
                held.refused.set_result("given up by the browser")
        self._tell()

    def _judge(self, connection: Connection) -> GatePhase:
        """PERMITTED: pass, ARMED: hold, CUT: refuse."""
        self.check_deadlines()
        operation = self._current
        if not connection.gated and not (operation is not None and operation.hold_safe):
            return GatePhase.PERMITTED
        if connection.gated and self._lease_lapsed():
            return GatePhase.CUT
        if operation is None:
            return GatePhase.PERMITTED
        has_passed = connection.passed_for is operation and connection.is_one_request
        return GatePhase.PERMITTED if has_passed and operation.phase is GatePhase.ARMED else operation.phase

    def _let_go(self, connection: Connection, size: int) -> None:
        operation = self._current
        if operation is not None and size:
            if connection.gated or operation.hold_safe:
                operation.gated_bytes_up += size
                if operation.first_gated_up_s is None:
                    operation.first_gated_up_s = time.monotonic()
            elif connection.bytes_up == 0:
                operation.safe_requests += 1
        if size:
            self._black_box.count_up(connection, size)

    def refuse(self, connection: Connection, reason: str = "the commit gate is closed") -> None:
        """Note that a connection was turned away."""
        if connection.refused is None:
            connection.refused = reason
        if self._current is not None:
            self._current.requests_refused += 1

    async def _hold(self, connection: Connection) -> str | None:
        operation = self._current
        assert operation is not None
        held = _Held(connection, asyncio.get_running_loop().create_future())
        now_s = time.monotonic()
        connection.held_s = connection.held_s or now_s
        self._held.append(held)
        if operation.first_held_s is None:
            operation.first_held_s = now_s
            if self._dispatcher is not None:
                self._asking = asyncio.create_task(self._ask(self._dispatcher, operation, connection))
        self._tell()
        try:
            return await held.refused
        finally:
            if held in self._held:
                self._held.remove(held)
                self._tell()

    async def _ask(self, dispatcher: Dispatcher, operation: Operation, connection: Connection) -> None:
        try:
            verdict = await dispatcher(self._record(operation), connection.record())
        except Exception:  # noqa: BLE001  whatever went wrong in there: no answer, no dispatch
            verdict, reason = False, "dispatcher_failed"
        else:
            reason = "refused_by_dispatcher"
        self.check_deadlines()
        if self._current is not operation or operation.phase is not GatePhase.ARMED or verdict is None:
            return
        if verdict:
            self._permit(operation)
        else:
            self._cut(operation, reason)

    # ---- what the control socket asks ---------------------------------------------------------------------------

    def arm(
        self, op_id: str, epoch: int, dispatch_by_ms: int, *, hold_safe: bool = False, note: str = ""
    ) -> OperationRecord:
        """Hold gated bytes from now on."""
        self.check_deadlines()
        if self._lease_lapsed():
            raise RequestRefused(ErrorCode.FENCED, "the lease has lapsed: attach with a greater epoch before arming")
        current = self._current
        if (
            current is not None
            and (current.op_id, current.epoch) == (op_id, epoch)
            and (current.phase is GatePhase.ARMED)
        ):
            return self._record(current)
        if current is not None:
            raise RequestRefused(
                ErrorCode.REFUSED,
                f"operation {current.op_id!r} of epoch {current.epoch} is {current.phase}: settle and disarm it first",
            )
        earlier = self._operations.get((op_id, epoch))
        if earlier is not None and (earlier.permitted_s is not None or earlier.cut_s is not None):
            raise RequestRefused(
                ErrorCode.REFUSED, f"operation {op_id!r} was armed in epoch {epoch} before: one attempt, one arming"
            )
        operation = Operation(
            op_id=op_id,
            epoch=epoch,
            dispatch_by_s=clock.lease_now_s() + dispatch_by_ms / 1000,
            dispatch_by_monotonic_s=time.monotonic() + dispatch_by_ms / 1000,
            hold_safe=hold_safe,
            note=note,
        )
        self._operations[op_id, epoch] = operation
        self._operations.move_to_end((op_id, epoch))
        while len(self._operations) > OPERATIONS_REMEMBERED:
            self._operations.popitem(last=False)
        self._current = operation
        self._tell()
        return self._record(operation)

    async def wait_held(self, op_id: str, timeout_s: float) -> OperationRecord:
        """Return when something is held for this operation, when it is no longer armed, or when the time is up."""
        operation = self._newest(op_id)
        try:
            async with asyncio.timeout(timeout_s):
                while operation.phase is GatePhase.ARMED and not self._held:
                    change = asyncio.get_running_loop().create_future()
                    self._waiting.add(change)
                    try:
                        await change
                    finally:
                        self._waiting.discard(change)
        except TimeoutError:
            pass
        return self._record(operation)

    def permit(self, op_id: str) -> OperationRecord:
        """Let held bytes go, in the order in which they came."""
        operation = self._armed_or_after(op_id)
        match operation.phase:
            case GatePhase.ARMED:
                self._permit(operation)
            case GatePhase.CUT:
                raise RequestRefused(ErrorCode.REFUSED, f"operation {op_id!r} was cut ({operation.reason})")
        return self._record(operation)

    def let_pass(self, op_id: str) -> OperationRecord:
        """Let go what is held now, in its order, and go on holding what follows.

        Of plain HTTP that is the rest of the request as well, of a tunnel only the bytes that are held.
        """
        operation = self._armed_or_after(op_id)
        match operation.phase:
            case GatePhase.ARMED:
                operation.permitted_s = operation.permitted_s or time.monotonic()
                for held in self._held:
                    held.connection.passed_for = operation
                self._release(passes=True)
            case GatePhase.CUT:
                raise RequestRefused(ErrorCode.REFUSED, f"operation {op_id!r} was cut ({operation.reason})")
        return self._record(operation)

    def cut(self, op_id: str, reason: str = "asked") -> OperationRecord:
        """Throw held bytes away; the gate stays closed. After a permit it stops what has not left yet."""
        operation = self._armed_or_after(op_id)
        if operation.phase is not GatePhase.CUT:
            self._cut(operation, reason)
        return self._record(operation)

    def disarm(self, op_id: str) -> OperationRecord:
        """Open the gate again. Refused while bytes are held; an operation that is disarmed already is fine."""
        operation = self._newest(op_id)
        if operation.phase is GatePhase.DISARMED:
            return self._record(operation)
        self.check_deadlines()
        if self._held and operation.phase is GatePhase.ARMED:
            raise RequestRefused(ErrorCode.REFUSED, f"bytes are held for operation {op_id!r}: permit or cut them first")
        operation.phase = GatePhase.DISARMED
        operation.disarmed_s = time.monotonic()
        self._current = None
        self._tell()
        return self._record(operation)

    def operations(self, op_id: str | None = None) -> list[OperationRecord]:
        """Return what is remembered of one operation, or of all, oldest first."""
        return [self._record(o) for o in self._operations.values() if op_id is None or o.op_id == op_id]

    @property
    def current(self) -> OperationRecord | None:
        """The operation that is not disarmed yet."""
        self.check_deadlines()
        return None if self._current is None else self._record(self._current)

    # ---- deadlines ----------------------------------------------------------------------------------------------

    @property
    def next_deadline_s(self) -> float | None:
        """When `check_deadlines` has something to do, on the lease clock."""
        armed = self._current is not None and self._current.phase is GatePhase.ARMED
        return self._current.dispatch_by_s if armed and self._current is not None else None

    def check_deadlines(self) -> None:
        """Cut an armed operation whose time is up, or whose lease has lapsed."""
        operation = self._current
        if operation is None or operation.phase is not GatePhase.ARMED:
            return
        if clock.lease_now_s() >= operation.dispatch_by_s:
            self._cut(operation, "late")
        elif self._lease_lapsed():
            self._cut(operation, "lease_lapsed")

    def close(self) -> None:
        """Refuse what is held and stop asking; the keeper ends."""
        if self._asking is not None:
            self._asking.cancel()
        self._release(passes=False)

    # ---- inside -------------------------------------------------------------------------------------------------

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

    def _permit(self, operation: Operation) -> None:
        operation.phase = GatePhase.PERMITTED
        operation.permitted_s = time.monotonic()
        self._release(passes=True)

    def _cut(self, operation: Operation, reason: str) -> None:
        operation.phase = GatePhase.CUT
        operation.reason = reason
        operation.cut_s = time.monotonic()
        self._release(passes=False)

    def _release(self, *, passes: bool) -> None:
        held, self._held = self._held, []
        for one in held:
            if not one.refused.done():
                one.refused.set_result(None if passes else "the commit gate is closed")
        self._tell()

    def _tell(self) -> None:
        for change in self._waiting:
            if not change.done():
                change.set_result(None)

    def _record(self, operation: Operation) -> OperationRecord:
        offset_s = operation.wall_offset_s
        armed_at = clock.at(operation.armed_s, offset_s)
        assert armed_at is not None
        return OperationRecord(
            op_id=operation.op_id,
            epoch=operation.epoch,
            phase=operation.phase,
            reason=operation.reason,
            armed_at=armed_at,
            dispatch_by_monotonic_s=operation.dispatch_by_monotonic_s,
            first_held_at=clock.at(operation.first_held_s, offset_s),
            permitted_at=clock.at(operation.permitted_s, offset_s),
            cut_at=clock.at(operation.cut_s, offset_s),
            disarmed_at=clock.at(operation.disarmed_s, offset_s),
            first_gated_up_at=clock.at(operation.first_gated_up_s, offset_s),
            gated_bytes_up=operation.gated_bytes_up,
            safe_requests=operation.safe_requests,
            requests_refused=operation.requests_refused,
            held=tuple(held.connection.record() for held in self._held) if operation is self._current else (),
            note=operation.note,
        )
