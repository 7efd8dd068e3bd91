"""The keeper (replaywright/keeper/): its gate, its black box, and the file that survives it."""

from tests.protocol.checker import Step
from tests.protocol.guards import Guards
from tests.protocol.ledger import Ledger
from tests.protocol.model import Keeper, State, World, spent
from tests.protocol.moves import ARMED, Steps, after_write, moved, seen_by, with_gate_cut, with_keeper
from tests.protocol.page import Page


class Keeping:
    """What a keeper does by itself."""

    def __init__(self, guards: Guards, world: World, ledger: Ledger, page: Page) -> None:
        self.guards = guards
        self._world = world
        self._ledger = ledger
        self._after_cut = page.after_cut

    def steps(self, state: State, slot: int, keeper: Keeper) -> Steps:
        """All that may be next."""
        for stage in ("browser", "held"):
            if (stage, slot) in state.requests:
                yield from self._bytes(state, slot, keeper, stage)
        if ("leaving", slot) in state.requests:
            out = state._replace(requests=moved(state.requests, ("leaving", slot), ("flight", slot)))
            yield Step("keeper", "lets the bytes go", True, out)
        if keeper.left and not keeper.written:
            yield Step("keeper", "writes that they left", True, with_keeper(state, slot, keeper._replace(written=True)))
        match keeper.phase:
            case "armed":
                if ("held", slot) in state.requests:
                    yield from self._ask_ledger(state, slot, keeper)
                if late := spent(state, "slow"):
                    yield Step("keeper", "cuts: dispatch_by is over", False, self._cut(late, slot, keeper))
            case "granted":
                permitted = with_keeper(state, slot, keeper._replace(phase="permitted"))
                yield Step("keeper", "permits", True, permitted)
            case "refused":
                yield Step("keeper", "cuts: DISPATCH was refused", True, self._cut(state, slot, keeper))
        if keeper.phase in ARMED and ("held", slot) in state.requests and (lossy := spent(state, "reply")):
            yield Step("keeper", "cuts: no answer from the ledger", False, self._cut(lossy, slot, keeper))

    def _bytes(self, state: State, slot: int, keeper: Keeper, stage: str) -> Steps:
        """What the gate does about a request whose bytes have come to it."""
        passes = keeper.phase in ("open", "permitted") or (keeper.phase == "asking" and not keeper.knows)
        is_over = keeper.phase in ("open", "asking")
        remembers = self.guards.once and (self.guards.once_is_remembered or not is_over)
        if passes and keeper.left and self._world.irreversible and remembers:
            refused = state._replace(requests=moved(state.requests, (stage, slot), None))
            yield Step("keeper", "refuses what equals the request that has left", True, refused)
        elif passes and is_over and self.guards.gate:
            out = state._replace(requests=moved(state.requests, (stage, slot), ("flight", slot)))
            yield Step("keeper", "lets bytes go of which it does not take note", True, out)
        elif passes and self.guards.line_before_byte:
            noted = keeper._replace(left=True, written=True, knows=True)
            out = state._replace(requests=moved(state.requests, (stage, slot), ("leaving", slot)))
            yield Step("keeper", "writes that bytes leave", True, with_keeper(out, slot, noted))
        elif passes:
            out = state._replace(requests=moved(state.requests, (stage, slot), ("flight", slot)))
            noted = keeper._replace(left=True, knows=True)
            yield Step("keeper", "lets the bytes go", True, with_keeper(out, slot, noted))
        elif stage == "browser" and keeper.phase in ARMED:
            held = state._replace(requests=moved(state.requests, (stage, slot), ("held", slot)))
            yield Step("keeper", "holds the first bytes", True, with_keeper(held, slot, keeper._replace(knows=True)))

    def _cut(self, state: State, slot: int, keeper: Keeper) -> State:
        return with_gate_cut(state, slot, keeper, self._after_cut)

    def _ask_ledger(self, state: State, slot: int, keeper: Keeper) -> Steps:
        if not self.guards.permit_needs_record:
            permitted = with_keeper(state, slot, keeper._replace(phase="permitted"))
            yield Step("keeper", "permits, without asking", True, permitted)
            return
        chain = int(0 < state.resumed < keeper.operation // 2)
        seen = seen_by(state, chain)
        verdict, record = self._ledger.dispatch(seen.record, keeper.operation)
        asked = with_keeper(seen, slot, keeper._replace(phase=verdict))
        for after in after_write(asked, record):
            yield Step("keeper", f"asks DISPATCH, which is {verdict}", True, seen_by(after, chain))
