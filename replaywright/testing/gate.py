"""A commit gate in memory: holds what a scripted page sends until it is permitted or cut."""

import asyncio
from dataclasses import dataclass, field, replace

from replaywright.domain.page.targets import Box
from replaywright.domain.proof.carrying import NOTHING, Sought
from replaywright.domain.session.commit_gate import GateSeen, SentRequest
from replaywright.errors import Fenced, KeeperRefused


@dataclass
class FakeGate:
    """The gate of one session, for all epochs."""

    operations: dict[tuple[str, int], GateSeen] = field(default_factory=dict)
    """Operations by name and epoch."""
    epoch: int = 0
    """Lower ones are refused."""
    loads_stopped: int = 0
    """Number of times that pages stopped loading."""
    current: GateSeen | None = None
    passed: int = 0
    """Number of releases of held requests."""
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    refuses_repeats: bool = False
    """The current operation was armed with `once`."""

    async def passes(self, size: int = 1, url: str = "http://site.example/", status: int = 200) -> bool:
        """Return True if a request of the page left, once that is decided; `status` 0: it gets no answer."""
        async with self.changed:
            if self.current is None:
                return True
            seen = self.current
            if seen.phase == "armed":
                await self.tell(held=1, held_at=1.0)
                passed = self.passed
                await self.changed.wait_for(lambda: self._is_decided or self.passed > passed)
                seen = self.current
            if seen.phase == "cut":
                await self.tell(refused=seen.refused + 1)
                return False
            if self.refuses_repeats and any(one.url == url for one in seen.sent):
                await self.tell(repeated=seen.repeated + 1, repeated_at=seen.repeated_at or 3.0)
                return False
            sent = SentRequest("POST", url, sent_at=3.0, status=status, answered_at=4.0 if status else None)
            await self.tell(bytes_up=seen.bytes_up + size, sent=(*seen.sent, sent))
            return True

    @property
    def _is_decided(self) -> bool:
        return self.current is not None and self.current.phase != "armed"

    async def tell(self, **changes: object) -> GateSeen:
        """Change the current operation; called with `changed` held."""
        assert self.current is not None
        self.current = replace(self.current, **changes)  # type: ignore[arg-type]  # names and types are those of the class
        self.operations[self.current.op_id, self.current.epoch] = self.current
        self.changed.notify_all()
        return self.current


class FakeCommitGate:
    """A `CommitGate` of one epoch on a `FakeGate`."""

    def __init__(self, gate: FakeGate, epoch: int) -> None:
        self._gate = gate
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
        """Hold what is sent from now on."""
        del within_ms, hold_safe, unsent
        self._must_own()
        if self._gate.current is not None:
            raise KeeperRefused(f"operation {self._gate.current.op_id!r} is {self._gate.current.phase}")
        async with self._gate.changed:
            self._gate.refuses_repeats = once
            self._gate.current = GateSeen(op_id, self._epoch, "armed", armed_for_s=60.0, note=note)
            return await self._gate.tell()

    async def wait_held(self, op_id: str, timeout_ms: int) -> GateSeen:
        """Wait until something is held or all is decided; with a time-out of 0 not at all."""

        def is_news() -> bool:
            seen = self._newest(op_id)
            return seen.phase != "armed" or seen.held > 0

        async with self._gate.changed:
            if timeout_ms:
                await self._gate.changed.wait_for(is_news)
            return self._newest(op_id)

    async def permit(self, op_id: str) -> GateSeen:
        """Let what is held go."""
        return await self._decide(op_id, phase="permitted", permitted_at=2.0)

    async def let_pass(self, op_id: str) -> GateSeen:
        """Let what is held go, and hold what follows."""
        self._gate.passed += 1
        return await self._decide(op_id, permitted_at=2.0)

    async def cut(self, op_id: str) -> GateSeen:
        """Throw what is held away."""
        return await self._decide(op_id, phase="cut", is_closed=True)

    async def disarm(self, op_id: str) -> GateSeen:
        """Open the gate again."""
        if self._newest(op_id).held and self._newest(op_id).phase == "armed":
            raise KeeperRefused(f"bytes are held for operation {op_id!r}")
        seen = await self._decide(op_id, phase="disarmed")
        self._gate.current = None
        return seen

    async def pending(self) -> GateSeen | None:
        """Return the operation that is still armed."""
        return self._gate.current

    async def recall(self, op_id: str, epoch: int) -> GateSeen | None:
        """Return the state of an operation."""
        return self._gate.operations.get((op_id, epoch))

    def point(self, document: str, box: Box) -> None:
        """Nobody watches."""

    async def close(self) -> None:
        """Nothing to leave."""

    async def _decide(self, op_id: str, **changes: object) -> GateSeen:
        self._must_own()
        if self._gate.current is None or self._gate.current.op_id != op_id:
            raise KeeperRefused(f"operation {op_id!r} is not armed")
        async with self._gate.changed:
            return await self._gate.tell(held=0, **changes)

    def _newest(self, op_id: str) -> GateSeen:
        return next(seen for (name, _), seen in reversed(self._gate.operations.items()) if name == op_id)

    def _must_own(self) -> None:
        if self._epoch < self._gate.epoch:
            raise Fenced(f"the gate belongs to epoch {self._gate.epoch}; mine is {self._epoch}")
        self._gate.epoch = self._epoch
