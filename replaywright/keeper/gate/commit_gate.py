"""The commit gate as a worker's activities see it: the port `CommitGate`."""

import time
from collections.abc import Mapping
from typing import Final, Literal

from replaywright.keeper.host.client import KeeperClient
from replaywright.keeper.protocol import ConnectionRecord, GatePhase, Moment, OperationRecord, SentRecord
from replaywright.ports import GateSeen, HeldRequest, SentRequest

_PHASES: Final[Mapping[GatePhase, Literal["armed", "permitted", "cut", "disarmed"]]] = {
    GatePhase.ARMED: "armed",
    GatePhase.PERMITTED: "permitted",
    GatePhase.CUT: "cut",
    GatePhase.DISARMED: "disarmed",
}


class LocalCommitGate:
    """Speaks to one keeper of this host, over one connection, in the name of one epoch."""

    def __init__(self, client: KeeperClient, epoch: int) -> None:
        self._client = client
        self._epoch = epoch

    async def arm(self, op_id: str, *, within_ms: int, hold_safe: bool, note: str = "", once: bool = False) -> GateSeen:
        """Hold gated bytes from now on; see the port."""
        armed = await self._client.arm(op_id, self._epoch, within_ms, hold_safe=hold_safe, note=note, once=once)
        return _seen(armed)

    async def wait_held(self, op_id: str, timeout_ms: int) -> GateSeen:
        """Wait until something is held; see the port."""
        return _seen(await self._client.wait_held(op_id, timeout_ms))

    async def permit(self, op_id: str) -> GateSeen:
        """Let held bytes go."""
        return _seen(await self._client.permit(op_id, self._epoch))

    async def let_pass(self, op_id: str) -> GateSeen:
        """Let go what is held now; see the port."""
        return _seen(await self._client.let_pass(op_id, self._epoch))

    async def cut(self, op_id: str) -> GateSeen:
        """Throw held bytes away, and keep the gate closed."""
        return _seen(await self._client.cut(op_id, self._epoch))

    async def disarm(self, op_id: str) -> GateSeen:
        """Open the gate again."""
        return _seen(await self._client.disarm(op_id, self._epoch))

    async def pending(self) -> GateSeen | None:
        """Return the operation that is not disarmed yet."""
        operation = (await self._client.status()).gate
        return None if operation is None else _seen(operation)

    async def recall(self, op_id: str, epoch: int) -> GateSeen | None:
        """Return the record of an operation; None when it was not armed here in that epoch."""
        operations = (await self._client.black_box(op_id, limit=1)).operations
        return next((_seen(operation) for operation in operations if operation.epoch == epoch), None)

    async def close(self) -> None:
        """Leave the gate as it is."""
        await self._client.disconnect()


def _seen(record: OperationRecord) -> GateSeen:
    return GateSeen(
        op_id=record.op_id,
        epoch=record.epoch,
        phase=_PHASES[record.phase],
        is_closed=record.cut_at is not None,
        held=len(record.held),
        bytes_up=record.gated_bytes_up,
        refused=record.requests_refused,
        armed_for_s=time.monotonic() - record.armed_at.monotonic_s,
        held_at=_wall(record.first_held_at),
        permitted_at=_wall(record.permitted_at),
        waiting=tuple(_held(each) for each in record.held),
        note=record.note,
        sent=tuple(_sent(each) for each in record.sent),
        unlisted=record.unlisted,
        repeated=record.repeated,
        repeated_at=_wall(record.repeated_at),
        awaited=record.awaited,
    )


def _held(record: ConnectionRecord) -> HeldRequest:
    return HeldRequest(method=record.readable_method, url=record.url)


def _sent(record: SentRecord) -> SentRequest:
    connection = record.connection
    return SentRequest(
        method=connection.readable_method,
        url=connection.url,
        is_safe=not connection.gated,
        sent_at=record.sent_at.wall_s,
        status=0 if connection.answered_at is None else connection.status or 0,
        answered_at=_wall(connection.answered_at),
        ended_at=_wall(connection.closed_at),
    )


def _wall(moment: Moment | None) -> float | None:
    return None if moment is None else round(moment.wall_s, 6)
