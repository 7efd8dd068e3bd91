"""One attempt at a commit step (activities/step/performance.py, commit.py), with `effect.await` as its last part."""

from collections.abc import Callable

from tests.protocol.guards import Guards
from tests.protocol.ledger import Ledger
from tests.protocol.model import NOWHERE, ON_ITS_WAY, OVER, VISIBLE, WELL, Attempt, Keeper, State, World, spent
from tests.protocol.moves import (
    ARMED,
    Moves,
    after_write,
    free_slot,
    goes,
    pruned,
    turned_from,
    with_attempt,
    with_keeper,
)
from tests.protocol.page import Page


class Performing:
    """The steps of an attempt."""

    def __init__(self, guards: Guards, world: World, ledger: Ledger, page: Page) -> None:
        self.guards = guards
        self._world = world
        self._ledger = ledger
        self._web_page = page
        self.first = "prepare" if guards.gate_before_intent else "intend"
        self.moves: dict[str, Callable[[State, int, Attempt], Moves]] = {
            "prepare": self._prepare,
            "look": self._look,
            "intend": self._intend,
            "look up": self._look_up,
            "arm": self._arm,
            "dispatch": self._dispatch,
            "confirm": self._confirm,
            "leave": self._leave,
            "left": self._confirm,
            "record": self._record,
            "release": self._release,
            "settle release": self._settle_release,
        }

    def _holds(self, state: State, attempt: Attempt) -> Keeper | None:
        """The keeper, if it does what this attempt asks."""
        keeper = None if attempt.browser == NOWHERE else state.keepers[attempt.browser]
        if keeper is None or (self.guards.keeper_epoch and keeper.epoch != attempt.epoch):
            return None
        return keeper

    def _prepare(self, state: State, index: int, attempt: Attempt) -> Moves:
        keeper = None if attempt.browser == NOWHERE else state.keepers[attempt.browser]
        fenced = keeper is not None and self.guards.keeper_epoch and keeper.epoch > attempt.epoch
        if keeper is None or fenced or not (keeper.reachable or keeper.epoch == attempt.epoch):
            if self.guards.session_is_given:
                yield "finds no browser that takes it", goes(state, index, "return:lost")
                return
            attempt, keeper = attempt._replace(browser=free_slot(state)), Keeper()
            state = with_attempt(state, index, attempt)
        after = with_keeper(state, attempt.browser, keeper._replace(epoch=attempt.epoch))
        yield "attaches to the browser and prepares", pruned(goes(after, index, "look"), self.guards)

    def _look(self, state: State, index: int, attempt: Attempt) -> Moves:
        if any(stage in VISIBLE for stage, _ in state.requests) and not self._world.stale:
            yield "looks first, and finds it done", goes(state, index, "record")
        # What can be seen need not show on this page: nothing may rest on its not being found.
        yield "looks first, and finds nothing", goes(state, index, "arm")

    def _intend(self, state: State, index: int, attempt: Attempt) -> Moves:
        verdict, record = self._ledger.intend(state.record, attempt.epoch)
        if verdict == "granted" and record != state.record and self._is_elsewhere(state, attempt):
            yield "is told by the ledger that another chain has the act", goes(state, index, "look up")
            return
        match verdict:
            case "granted":
                following = "dispatch" if self.guards.gate_before_intent else "prepare"
                if state.left.resume or state.resumed:
                    state = state._replace(act=attempt.chain)
                for after in after_write(state, record):
                    yield "writes INTENT", goes(after, index, following)
                    if after.record != state.record and (lossy := spent(after, "reply")):
                        yield "writes INTENT, the reply is lost, asks again", lossy
            case "done":
                after = goes(self._withdrawn(state, attempt), index, "return:done")
                yield "is told by the ledger that it is done", after
            case _:
                after = goes(self._withdrawn(state, attempt), index, "return:in doubt")
                yield "is refused at INTENT", after

    def _is_elsewhere(self, state: State, attempt: Attempt) -> bool:
        """Whether another chain has the act, and is not the one to take it over from: there are two."""
        return self.guards.acts and state.act not in (None, attempt.chain) and attempt.at != OVER

    def _look_up(self, state: State, index: int, attempt: Attempt) -> Moves:
        """`standing_of` in activities/step/records.py; the resolver's fence says what becomes of a late success."""
        other = state.earlier
        if other.state in ("", "NOT_DONE") and not other.late:
            yield "looks the other chain up: nothing came of it", goes(state, index, OVER)
            return
        if other.state != "COMMITTED" and not self.guards.earlier_doubt_is_resolved:
            yield "takes what is open under the other chain for not done", goes(state, index, OVER)
            return
        verdict = "done before" if other.state == "COMMITTED" else "in doubt before"
        after = goes(self._withdrawn(state, attempt), index, f"return:{verdict}")
        yield f"looks the other chain up: {other.state or 'a late success'}", after

    def _withdrawn(self, state: State, attempt: Attempt) -> State:
        """The gate is open again: no input was given."""
        keeper = self._holds(state, attempt)
        if keeper is None or keeper.phase not in ("armed", "cut") or not self.guards.gate_before_intent:
            return state
        return with_keeper(state, attempt.browser, keeper._replace(phase="open"))

    def _opened(self, state: State, attempt: Attempt) -> State:
        keeper = self._holds(state, attempt)
        return state if keeper is None else with_keeper(state, attempt.browser, keeper._replace(phase="open"))

    def _arm(self, state: State, index: int, attempt: Attempt) -> Moves:
        keeper = self._holds(state, attempt)
        again = keeper is not None and keeper.operation == attempt.epoch and keeper.phase in ARMED
        if keeper is None or not (keeper.phase in ("open", "asking") or again):
            yield "is refused at arm", goes(state, index, "return:lost")
            return
        if not again:
            phase = "armed" if self.guards.gate else "open"
            armed = keeper._replace(phase=phase, operation=attempt.epoch, left=False, written=False, knows=False)
            state = with_keeper(turned_from(state, attempt.browser), attempt.browser, armed)
        following = "intend" if self.guards.gate_before_intent else "dispatch"
        yield "arms the gate", goes(state, index, following)

    def _dispatch(self, state: State, index: int, attempt: Attempt) -> Moves:
        if self._holds(state, attempt) is None:
            yield "finds its connection to the browser cut", goes(state, index, "return:lost")
            return
        yield "clicks", goes(self._web_page.clicked(state, attempt.browser), index, "confirm")
        if missed := spent(state, "missed"):
            yield "finds the element gone", goes(self._withdrawn(missed, attempt), index, "release")

    def _confirm(self, state: State, index: int, attempt: Attempt) -> Moves:
        """Waits for a witness: a request that has left and was answered well."""
        keeper = self._holds(state, attempt)
        stages = {stage for stage, slot in state.requests if slot == attempt.browser}
        if not self.guards.evidence:
            yield "takes the click for the effect", goes(state, index, "record")
        elif keeper is None:
            yield "finds its connection to the browser cut", goes(state, index, "return:lost")
        elif keeper.phase == "cut":
            yield "learns that the gate was cut", goes(state, index, "return:in doubt")
        elif self._web_page.claims and not self.guards.two_witnesses:
            yield "believes the page, which says that it is sent", goes(state, index, "record")
        elif stages & WELL:
            if "held" not in stages:  # it is not disarmed while something is held
                opened = self._opened(state, attempt)
                yield "sees the response and what it expects, opens the gate", goes(opened, index, "record")
        elif not stages & ON_ITS_WAY:
            yield from self._without_witness(state, index, attempt, stages)
        elif "working" in stages:
            yield "has waited long enough for the response", goes(state, index, "return:in doubt")

    def _without_witness(self, state: State, index: int, attempt: Attempt, stages: set[str]) -> Moves:
        failed = bool(stages & {"error", "error unseen", "refused"})
        if failed or "lost" in stages:
            definite = failed and not self.guards.error_is_no_answer
            saw = "sees a 5xx" if failed else "sees no response"
            if definite:
                yield f"{saw}, opens the gate", goes(self._opened(state, attempt), index, "release")
            else:
                yield saw, goes(state, index, "return:in doubt")
        elif attempt.at == "left":
            yield "has seen no request", goes(state, index, "return:in doubt")
        elif not self.guards.lateness_awaited:
            yield "sees no request, and does not wait for one", goes(state, index, "return:in doubt")
        else:
            following = "leave" if self.guards.page_is_left else "return:in doubt"
            if "meant" not in stages:
                yield "waits for a request: late_ms is over", goes(state, index, following)
            elif early := spent(state, "late"):
                yield "waits for a request: late_ms is over, and the page is later", goes(early, index, following)

    def _leave(self, state: State, index: int, attempt: Attempt) -> Moves:
        keeper = self._holds(state, attempt)
        if keeper is None:
            yield "finds its connection to the browser cut", goes(state, index, "return:lost")
            return
        if not self.guards.left_armed:
            state = self._opened(state, attempt)
        for what, after in self._web_page.left(state, attempt.browser):
            yield what, goes(after, index, "left")

    def _record(self, state: State, index: int, attempt: Attempt) -> Moves:
        verdict, record = self._ledger.record(state.record, attempt.epoch)
        for after in after_write(state, record):
            if verdict == "recorded":
                yield "writes COMMITTED", goes(after, index, "return:done")
            else:
                yield "is fenced at COMMIT, leaves late evidence", goes(after, index, "return:in doubt")

    def _release(self, state: State, index: int, attempt: Attempt) -> Moves:
        verdict, record = self._ledger.fence(state.record, attempt.epoch + 1)
        for after in after_write(state, record):
            if verdict == "granted":
                yield "takes its intent back", goes(after, index, "settle release")
            else:
                yield "cannot take its intent back", goes(after, index, "return:in doubt")

    def _settle_release(self, state: State, index: int, attempt: Attempt) -> Moves:
        verdict, record = self._ledger.settle(state.record, attempt.epoch + 1, "NOT_DONE")
        following = "return:not dispatched" if verdict == "settled" else "return:in doubt"
        for after in after_write(state, record):
            yield "writes NOT_DONE", goes(after, index, following)
