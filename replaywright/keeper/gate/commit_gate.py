"""The commit gate as a worker's activities see it: the port `CommitGate`."""

from replaywright.domain.page.targets import Box
from replaywright.domain.proof.carrying import NOTHING, Sought
from replaywright.domain.session.commit_gate import GateSeen
from replaywright.keeper.host.client import KeeperClient


class LocalCommitGate:
    """Speaks to one keeper of this host, over one connection, in the name of one epoch."""

    def __init__(self, client: KeeperClient, epoch: int) -> None:
        self._client = client
        self._epoch = epoch

    async def arm(
        self,
        op_id: str,
        *,
        within_ms: int,
        hold_safe: bool,
        note: str = "",
        once: bool = False,
        unsent: Sought = NOTHING,
    ) -> GateSeen:
        """Hold gated bytes from now on; see the port."""
        return await self._client.arm(
            op_id, self._epoch, within_ms, hold_safe=hold_safe, note=note, once=once, unsent=unsent
        )

    async def wait_held(self, op_id: str, timeout_ms: int) -> GateSeen:
        """Wait until something is held; see the port."""
        return await self._client.wait_held(op_id, timeout_ms)

    async def permit(self, op_id: str) -> GateSeen:
        """Let held bytes go."""
        return await self._client.settle("permit", op_id, self._epoch)

    async def let_pass(self, op_id: str) -> GateSeen:
        """Let go what is held now; see the port."""
        return await self._client.settle("let_pass", op_id, self._epoch)

    async def cut(self, op_id: str) -> GateSeen:
        """Throw held bytes away, and keep the gate closed."""
        return await self._client.settle("cut", op_id, self._epoch)

    async def disarm(self, op_id: str) -> GateSeen:
        """Open the gate again."""
        return await self._client.settle("disarm", op_id, self._epoch)

    async def pending(self) -> GateSeen | None:
        """Return the operation that is not disarmed yet."""
        return (await self._client.status()).gate

    async def recall(self, op_id: str, epoch: int) -> GateSeen | None:
        """Return the record of an operation; None when it was not armed here in that epoch."""
        operations = (await self._client.black_box(op_id)).operations
        return next((operation for operation in operations if operation.epoch == epoch), None)

    def point(self, document: str, box: Box) -> None:
        """Say where the element of the step under way is; see the port."""
        self._client.point(self._epoch, document, box)

    async def close(self) -> None:
        """Leave the gate as it is."""
        await self._client.disconnect()
