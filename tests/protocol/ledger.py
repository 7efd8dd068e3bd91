"""The ledger's scripts (cache/scripts/*.lua): each answers with a verdict and the record after it."""

from tests.protocol.guards import Guards
from tests.protocol.model import Record


class Ledger:
    """The scripts, each by its name."""

    def __init__(self, guards: Guards) -> None:
        self._epochs = guards.ledger_epoch
        self._fences = guards.ledger_fence
        self._carries = guards.attempt_is_carried
        self._carries_dispatch = guards.dispatch_is_carried

    def intend(self, record: Record, epoch: int) -> tuple[str, Record]:
        """intend.lua; the attempt's name is its epoch's."""
        if record.state == "COMMITTED":
            return "done", record
        if record.state == "INTENT" and record.epoch == epoch:
            return "granted", record
        if record.state not in ("", "NOT_DONE"):
            return "refused", record
        if record.late or (self._epochs and epoch <= record.epoch):
            return "refused", record
        return "granted", Record("INTENT", epoch)

    def dispatch(self, record: Record, epoch: int) -> tuple[str, Record]:
        """dispatch.lua."""
        if record.state in ("INTENT", "DISPATCHED") and (record.epoch == epoch or not self._epochs):
            return "granted", record._replace(state="DISPATCHED")
        return "refused", record

    def record(self, record: Record, epoch: int) -> tuple[str, Record]:
        """record.lua, of a success."""
        if record.state == "COMMITTED":
            return "recorded", record
        owned = (
            not self._epochs
            or record.state == ""
            or (record.state == "NOT_DONE" and epoch > record.epoch)
            or (record.state != "NOT_DONE" and epoch == record.epoch)
        )
        return ("recorded", Record("COMMITTED", epoch)) if owned else ("refused", record._replace(late=True))

    def fence(self, record: Record, epoch: int) -> tuple[str, Record]:
        """fence.lua."""
        if record.state == "COMMITTED":
            return "done", record
        if not self._fences:
            return "granted", record
        held = record.epoch == epoch and record.state in ("INTENT", "DISPATCHED")
        if self._epochs and (epoch < record.epoch or held):
            return "refused", record
        before = record.epoch if record.state in ("INTENT", "DISPATCHED") else 0
        sent = record.state == "DISPATCHED"
        if record.state in ("RESOLVING", "ESCALATED") and self._carries:
            before, sent = record.before, record.sent and self._carries_dispatch
        return "granted", Record("RESOLVING", epoch, record.late, before, sent)

    def settle(self, record: Record, epoch: int, state: str) -> tuple[str, Record]:
        """settle.lua; a success that is reported later than the fence stays, and forbids the next intent."""
        if not self._fences:
            return "settled", record._replace(state=state)
        if (self._epochs and record.epoch != epoch) or record.state not in ("RESOLVING", "ESCALATED", state):
            return "refused", record
        if state == "ESCALATED":
            return "settled", record._replace(state=state)
        return "settled", record._replace(state=state, before=0, sent=False)
