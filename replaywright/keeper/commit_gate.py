"""The commit gate as a worker's activities see it: the port `CommitGate`."""

import time
from collections.abc import Mapping
from typing import Final, Literal

from replaywright.domain.urls import bracketed
from replaywright.keeper.black_box import SWITCHED
from replaywright.keeper.client import KeeperClient
from replaywright.keeper.protocol import ConnectionRecord, GatePhase, Moment, OperationRecord
from replaywright.ports import GateSeen, HeldRequest

_HTTP_PORT: Final = 80

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

    async def arm(self, op_id: str, *, within_ms: int, hold_safe: bool, note: str = "") -> GateSeen:
        """Hold gated bytes from now on; see the port."""
        return _seen(await self._client.arm(op_id, self._epoch, within_ms, hold_safe=hold_safe, note=note))

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
        """What is not disarmed yet."""
        operation = (await self._client.status()).gate
        return None if operation is None else _seen(operation)

    async def recall(self, op_id: str, epoch: int) -> GateSeen | None:
        """What became of an operation; None when it was not armed here in that epoch."""
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
    )


def _held(record: ConnectionRecord) -> HeldRequest:
    if record.kind == "tunnel" or record.status == SWITCHED:
        return HeldRequest(method="", url=f"https://{bracketed(record.host)}:{record.port}")
    port = "" if record.port == _HTTP_PORT else f":{record.port}"
    return HeldRequest(method=record.method, url=f"http://{bracketed(record.host)}{port}{record.path}")


def _wall(moment: Moment | None) -> float | None:
    return None if moment is None else round(moment.wall_s, 6)
