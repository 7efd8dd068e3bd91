"""The steps of the protocol that `model` has the words for."""

from collections.abc import Callable, Iterator

from tests.protocol.checker import Step
from tests.protocol.model import (
    DOOMED,
    EFFECTIVE,
    EMPTIED,
    ENDS,
    FINAL,
    NO_RECORD,
    NOWHERE,
    OVER,
    PENDING,
    ROUNDS,
    UNSEEN,
    VISIBLE,
    Attempt,
    Faults,
    Guards,
    Keeper,
    Ledger,
    State,
    spent,
)
from tests.protocol.moves import (
    ARMED,
    ON_ITS_WAY,
    Steps,
    after_write,
    cut_out,
    free_slot,
    goes,
    in_order,
    mishaps,
    moved,
    redis_faults,
    seen_by,
    site_steps,
    turned_from,
    with_gate_cut,
    with_keeper,
    without_keeper,
)

_Moves = Iterator[tuple[str, State]]
NOT_DISPATCHED = "certainly not done"
PROTOCOL = Guards()
SOME_FAULTS = Faults()


class Protocol:
    """Commit activity, resolve activity and workflow against keeper, Redis, site and person, all interleaved."""

    def __init__(
        self, guards: Guards = PROTOCOL, faults: Faults = SOME_FAULTS, *, probe: bool = True, stale: bool = False
    ) -> None:
        """`probe`: whether the step declares how the site is asked; without it only a live page can tell.

        `stale`: the page shows what is expected of the step before it already.
        """
        self.guards = guards
        self._stale = stale
        self._probe = probe
        self._ledger = Ledger(self.guards)
        self._first = "prepare" if self.guards.gate_before_intent else "intend"
        self._faults = faults
        self._moves: dict[str, Callable[[State, int, Attempt], _Moves]] = {
            "prepare": self._prepare,
            "look": self._look,
            "intend": self._intend,
            "look up": self._look_up,
            "arm": self._arm,
            "dispatch": self._dispatch,
            "confirm": self._confirm,
            "record": self._record,
            "stop loads": self._stop_loads,
            "release": self._release,
            "settle release": self._settle_release,
            "fence": self._fence,
            "stop": self._stop,
            "cut": self._cut,
            "black box": self._black_box,
            "page": self._page,
            "witness": self._witness,
            "settle": self._settle,
            "probe": self._ask_site,
            "probe again": self._ask_site,
            "clear": self._clear,
            "write": self._write,
        }

    @property
    def start(self) -> State:
        """Before the first attempt."""
        return State(attempts=(Attempt(1, self._first, 0),), left=self._faults)

    # ------------------------------------------------------------------------------------ what must hold

    def problem(self, state: State) -> str:
        """What is wrong with a state; empty when nothing is."""
        effects = sum(stage in EFFECTIVE for stage, _ in state.requests)
        if effects > 1:
            return "duplicate: two dispatches took effect"
        if state.run == "done" and not effects:
            return "false done: the run says done, and nothing took effect"
        if state.run == "failed" and effects:
            return "false absence: the run says that it did not take effect, and it did"
        if state.run == "person" and not state.excused:
            return "needless question: a person is asked, although the keeper lives and the site answers"
        return ""

    def has_ended(self, state: State) -> bool:
        """Whether the run has its verdict."""
        return state.run in FINAL

    def steps(self, state: State) -> Steps:
        """Everything that can happen next."""
        yield from self._run_steps(state)
        for index, attempt in enumerate(state.attempts):
            kind = attempt.at.partition(":")[0]
            if kind in self._moves:
                for what, after in self._moves[kind](seen_by(state, attempt.chain), index, attempt):
                    yield Step(attempt.name, what, not attempt.zombie, seen_by(after, attempt.chain))
        for slot, keeper in enumerate(state.keepers):
            if keeper is not None:
                yield from self._keeper_steps(state, slot, keeper)
        yield from site_steps(state)
        if state.left.total:
            yield from self._fault_steps(state)

    # -------------------------------------------- workflows/doubts.py

    def _run_steps(self, state: State) -> Steps:
        if state.run == "person":
            for step in self._person(seen_by(state, state.about)):
                yield step._replace(after=seen_by(step.after, state.about))
        elif state.run == "ask again":
            yield Step("person", "keeps what the lineage has done", True, state._replace(run="done"))
        for index, attempt in enumerate(state.attempts):
            kind, _, verdict = attempt.at.partition(":")
            if kind in ENDS:  # a zombie never gets here: nobody waits for it
                after = state._replace(attempts=cut_out(state.attempts, index))
                yield Step("workflow", f"{attempt.name} answers {verdict}", True, self._answered(after, verdict))

    def _answered(self, state: State, verdict: str) -> State:
        match verdict:
            case "done before":
                return state._replace(run="ask again")
            case "in doubt before":
                return self._resolution(state._replace(about=0, doubted=0, lost=False))
            case "done":
                return self._ended(state, "done")
            case "in doubt" | "lost":
                return self._resolution(self._doubting(state, lost=verdict == "lost"))
            case "not dispatched" | "certainly not done":
                return self._next_commit(state)
            case "verified absent":
                return self._next_round(state)
            case _:
                return state._replace(run="person")

    def _ended(self, state: State, run: str) -> State:
        """The run's verdict; of the record under the earlier chain nothing but that the step may be tried again."""
        return state._replace(run=run) if state.about == state.chain else self._next_commit(state)

    def _next_round(self, state: State) -> State:
        if state.about != state.chain:
            return self._next_commit(state)
        rounds = state.rounds + 1
        if rounds >= ROUNDS:
            return state._replace(run="failed", rounds=rounds)
        return self._next_commit(state._replace(rounds=rounds))

    def _next_commit(self, state: State) -> State:
        """Under the next epoch, in the live browser or in a new one."""
        number, slot = state.number + 1, state.browser
        now = state.keepers[slot]
        if now is None or not now.reachable:
            slot = free_slot(state)
            state = with_keeper(state, slot, Keeper())
        attempts = (*state.attempts, Attempt(number, self._first, slot, chain=state.chain))
        return state._replace(
            run="commit",
            number=number,
            browser=slot,
            attempts=attempts,
            doubted=0,
            lost=False,
            about=state.chain,
        )

    def _doubting(self, state: State, *, lost: bool) -> State:
        """What a resolution is about; a resolver's own end changes nothing of that."""
        return state._replace(doubted=2 * state.number, lost=lost) if state.run == "commit" else state

    def _resolution(self, state: State) -> State:
        number = state.number + 1
        slot = NOWHERE if state.keepers[state.browser] is None else state.browser
        doubted = state.doubted if self.guards.attempt_is_told else 0
        if state.about != state.chain:
            slot = NOWHERE  # the browser there is proves nothing of what was done in another one
        resolver = Attempt(number, "fence", slot, doubted=doubted, lost=state.lost, chain=state.about)
        return state._replace(run="resolve", number=number, attempts=(*state.attempts, resolver))

    def _person(self, state: State) -> Steps:
        epoch = 2 * state.number
        if not self.guards.person_has_no_deadline:
            yield Step("workflow", "nobody answers in time: taken for done", True, state._replace(run="done"))
        if any(stage in UNSEEN for stage, _ in state.requests):
            return  # a person who answers rightly looks when it can be seen
        took_effect = any(stage in VISIBLE for stage, _ in state.requests)
        verdict = "COMMITTED" if took_effect else "NOT_DONE"
        _, record = self._ledger.settle(state.record, epoch, verdict)
        for after in after_write(state, record):
            ended = self._ended(after, "done") if took_effect else self._next_round(after)
            yield Step("person", f"says {verdict}", True, ended)

    # -------------------------------------------------------------------------- activities/actions.py

    def _holds(self, state: State, attempt: Attempt) -> Keeper | None:
        """The keeper, if it does what this attempt asks."""
        keeper = None if attempt.browser == NOWHERE else state.keepers[attempt.browser]
        if keeper is None or (self.guards.keeper_epoch and keeper.epoch != attempt.epoch):
            return None
        return keeper

    def _prepare(self, state: State, index: int, attempt: Attempt) -> _Moves:
        keeper = None if attempt.browser == NOWHERE else state.keepers[attempt.browser]
        fenced = keeper is not None and self.guards.keeper_epoch and keeper.epoch > attempt.epoch
        if keeper is None or fenced or not (keeper.reachable or keeper.epoch == attempt.epoch):
            if self.guards.session_is_given:
                yield "finds no browser that takes it", goes(state, index, "return:lost")
                return
            slot, keeper = free_slot(state), Keeper()
            attempt = attempt._replace(browser=slot)
            state = state._replace(
                attempts=(*state.attempts[:index], attempt, *state.attempts[index + 1 :]),
            )
        after = with_keeper(state, attempt.browser, keeper._replace(epoch=attempt.epoch))
        yield "attaches to the browser and prepares", self._pruned(goes(after, index, "look"))

    def _look(self, state: State, index: int, attempt: Attempt) -> _Moves:
        if any(stage in VISIBLE for stage, _ in state.requests) and not self._stale:
            yield "looks first, and finds it done", goes(state, index, "record")
        # What can be seen need not show on this page: nothing may rest on its not being found.
        yield "looks first, and finds nothing", goes(state, index, "arm")

    def _intend(self, state: State, index: int, attempt: Attempt) -> _Moves:
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

    def _look_up(self, state: State, index: int, attempt: Attempt) -> _Moves:
        """`standing_of` in activities/records.py; what of a late success becomes is the resolver's fence to say."""
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
        """The gate is open again: nothing was clicked."""
        keeper = self._holds(state, attempt)
        if keeper is None or keeper.phase != "armed" or not self.guards.gate_before_intent:
            return state
        return with_keeper(state, attempt.browser, keeper._replace(phase="open"))

    def _arm(self, state: State, index: int, attempt: Attempt) -> _Moves:
        keeper = self._holds(state, attempt)
        again = keeper is not None and keeper.operation == attempt.epoch and keeper.phase in ARMED
        if keeper is None or not (keeper.phase == "open" or again):
            yield "is refused at arm", goes(state, index, "return:lost")
            return
        if not again:
            phase = "armed" if self.guards.gate else "open"
            clean = keeper.clean if keeper.left or not keeper.operation else (*keeper.clean, keeper.operation)
            armed = keeper._replace(phase=phase, operation=attempt.epoch, left=False, clean=clean)
            state = with_keeper(turned_from(state, attempt.browser), attempt.browser, armed)
        following = "intend" if self.guards.gate_before_intent else "dispatch"
        yield "arms the gate", goes(state, index, following)

    def _dispatch(self, state: State, index: int, attempt: Attempt) -> _Moves:
        if self._holds(state, attempt) is None:
            yield "finds its connection to the browser cut", goes(state, index, "return:lost")
            return
        requests = in_order((*state.requests, ("browser", attempt.browser)))
        yield "clicks", goes(state._replace(requests=requests), index, "confirm")

    def _confirm(self, state: State, index: int, attempt: Attempt) -> _Moves:
        keeper = self._holds(state, attempt)
        stages = {stage for stage, slot in state.requests if slot == attempt.browser}
        if not self.guards.evidence:
            yield "takes the click for the effect", goes(state, index, "record")
        elif keeper is None:
            yield "finds its connection to the browser cut", goes(state, index, "return:lost")
        elif keeper.phase == "cut":
            following = "return:in doubt" if keeper.left else "stop loads"
            yield "learns that the gate was cut", goes(state, index, following)
        elif stages & {"ok", "ok unseen"}:
            yield "sees the response and what it expects", goes(state, index, "record")
        elif not stages & ON_ITS_WAY:
            failed = bool(stages & {"error", "error unseen", "refused"})
            definite = failed and not self.guards.error_is_no_answer
            saw = "sees a 5xx" if failed else "sees no response"
            yield saw, goes(state, index, "release" if definite else "return:in doubt")

    def _record(self, state: State, index: int, attempt: Attempt) -> _Moves:
        verdict, record = self._ledger.record(state.record, attempt.epoch)
        for after in after_write(state, record):
            if verdict == "recorded":
                yield "writes COMMITTED", goes(after, index, "return:done")
            else:
                yield "is fenced at COMMIT, leaves late evidence", goes(after, index, "return:in doubt")

    def _stop_loads(self, state: State, index: int, attempt: Attempt) -> _Moves:
        keeper = self._holds(state, attempt)
        if keeper is None:
            yield "finds its connection to the browser cut", goes(state, index, "return:lost")
        else:
            yield (
                "stops the page's loads, opens the gate",
                goes(self._opened(state, attempt.browser, keeper), index, "release"),
            )

    def _opened(self, state: State, slot: int, keeper: Keeper) -> State:
        if self.guards.loads_stopped:
            state = state._replace(
                requests=tuple(one for one in state.requests if not (one[0] in PENDING and one[1] == slot))
            )
        return with_keeper(state, slot, keeper._replace(phase="open"))

    def _release(self, state: State, index: int, attempt: Attempt) -> _Moves:
        verdict, record = self._ledger.fence(state.record, attempt.epoch + 1)
        for after in after_write(state, record):
            if verdict == "granted":
                yield "takes its intent back", goes(after, index, "settle release")
            else:
                yield "cannot take its intent back", goes(after, index, "return:in doubt")

    def _settle_release(self, state: State, index: int, attempt: Attempt) -> _Moves:
        verdict, record = self._ledger.settle(state.record, attempt.epoch + 1, "NOT_DONE")
        following = "return:not dispatched" if verdict == "settled" else "return:in doubt"
        for after in after_write(state, record):
            yield "writes NOT_DONE", goes(after, index, following)

    # -------------------------------------------------------------------------- activities/effects.py

    def _fence(self, state: State, index: int, attempt: Attempt) -> _Moves:
        before = state.record
        verdict, record = self._ledger.fence(before, attempt.epoch)
        if verdict != "granted":
            following = "answer:done" if verdict == "done" else "answer:in doubt"
            yield f"FENCE: the ledger says {before.state}", goes(state, index, following)
            return
        following = "stop"
        if before.late:
            following = "write:COMMITTED"
        elif not self.guards.ledger_gap_is_no_answer and before.state in ("", "NOT_DONE") and before != EMPTIED:
            following = "write:NOT_DONE:certainly not done"
        told = attempt._replace(found=record.before)
        state = state._replace(attempts=(*state.attempts[:index], told, *state.attempts[index + 1 :]))
        for after in after_write(state, record):
            yield f"FENCE: finds {before.state or 'no record'}", goes(after, index, following)

    def _stop(self, state: State, index: int, attempt: Attempt) -> _Moves:
        keeper = None if attempt.browser == NOWHERE else state.keepers[attempt.browser]
        if keeper is None:
            yield "STOP: no browser is left", goes(state, index, "witness")
        elif not keeper.reachable:
            if self.guards.stop_unreachable:
                yield (
                    "STOP: kills the keeper that cannot be reached, or waits out its lease",
                    self._pruned(goes(without_keeper(state, attempt.browser), index, "settle")),
                )
            else:
                yield "gives the keeper up that cannot be reached", goes(state, index, "settle")
        elif self.guards.keeper_epoch and keeper.epoch > attempt.epoch:
            yield "STOP: is fenced itself", goes(state, index, "answer:in doubt")
        else:
            if self.guards.keeper_fence:
                state = with_keeper(state, attempt.browser, keeper._replace(epoch=attempt.epoch))
            following = "cut" if self.guards.cut_before_reading else "black box"
            yield "STOP: fences the keeper", self._pruned(goes(state, index, following))

    def _witness(self, state: State, index: int, attempt: Attempt) -> _Moves:
        """Without a browser: a ledger that has lost nothing since the step before, and no intent, says that all."""
        is_whole = not (state.shaken and self.guards.loss_is_seen)
        if self.guards.whole_ledger_speaks and is_whole and attempt.lost and attempt.doubted and not attempt.found:
            yield (
                "the ledger has lost nothing, and has no intent",
                goes(state, index, f"write:NOT_DONE:{NOT_DISPATCHED}"),
            )
        else:
            yield "the ledger does not tell", goes(state, index, "settle")

    def _heeds(self, state: State, attempt: Attempt) -> Keeper | None:
        """The keeper, if it obeys this resolver."""
        keeper = None if attempt.browser == NOWHERE else state.keepers[attempt.browser]
        if keeper is None or (self.guards.keeper_epoch and keeper.epoch > attempt.epoch) or not keeper.reachable:
            return None
        return keeper

    def _gone(self, index: int, state: State, attempt: Attempt) -> _Moves:
        """What a resolver does that the keeper does not heed any more."""
        alive = attempt.browser != NOWHERE and state.keepers[attempt.browser] is not None
        yield "has lost the browser", goes(state, index, "stop" if alive else "witness")

    def _cut(self, state: State, index: int, attempt: Attempt) -> _Moves:
        keeper = self._heeds(state, attempt)
        if keeper is None:
            yield from self._gone(index, state, attempt)
        else:
            following = "black box" if self.guards.black_box else "clear:settle"
            yield "cuts what the gate holds", goes(with_gate_cut(state, attempt.browser, keeper), index, following)

    def _black_box(self, state: State, index: int, attempt: Attempt) -> _Moves:
        keeper = self._heeds(state, attempt)
        if keeper is None:
            yield from self._gone(index, state, attempt)
        elif self._is_certain(keeper, attempt):
            yield "BLACK BOX: nothing has left", goes(state, index, "clear:write:NOT_DONE:certainly not done")
        else:
            yield "BLACK BOX: bytes have left, or it does not know", goes(state, index, "clear:page")

    def _is_certain(self, keeper: Keeper, attempt: Attempt) -> bool:
        """Whether nothing of any attempt that may be in doubt has left this browser."""
        attempts = {attempt.doubted, attempt.found} - {0}

        def has_sent_nothing(epoch: int) -> bool:
            if keeper.operation == epoch:
                return not (keeper.left and self.guards.bytes_left_count)
            if epoch in keeper.clean:
                return True
            return keeper.operation < epoch == attempt.doubted and attempt.lost and epoch != attempt.found

        return bool(attempts) and all(map(has_sent_nothing, attempts))

    def _page(self, state: State, index: int, attempt: Attempt) -> _Moves:
        keeper = self._heeds(state, attempt)
        stages = {stage for stage, slot in state.requests if slot == attempt.browser}
        if keeper is None:
            yield from self._gone(index, state, attempt)
        elif self._stale and not self.guards.before_is_heeded:
            yield "the live page shows what it showed before", goes(state, index, "write:COMMITTED")
        elif stages & {"ok", "ok unseen"} and self._knows_before(keeper, attempt) and not self._stale:
            yield "the live page shows the effect", goes(state, index, "write:COMMITTED")
        elif "flight" not in stages:
            yield "the live page shows no effect", goes(state, index, "settle")

    def _knows_before(self, keeper: Keeper, attempt: Attempt) -> bool:
        """Whether the intent, or the keeper's note of it, says what held before the attempt in doubt."""
        noted = self.guards.before_is_noted and keeper.operation == attempt.doubted > 0
        return attempt.found > 0 or noted

    def _settle(self, state: State, index: int, attempt: Attempt) -> _Moves:
        if self.guards.settle and any(stage in UNSEEN for stage, _ in state.requests):
            return  # it waits; what is on its way arrives by itself
        following = "probe" if self._probe else "write:ESCALATED"
        if attempt.browser == NOWHERE and attempt.found and not self._probe:
            state = state._replace(excused=True)
        what = "waits until all that left can be seen" if self.guards.settle else "does not wait"
        yield f"SETTLE: {what}", goes(state, index, following)

    def _ask_site(self, state: State, index: int, attempt: Attempt) -> _Moves:
        absent = goes(state, index, "probe again")
        if attempt.at == "probe again" or not self.guards.two_negatives:
            absent = goes(state, index, "write:NOT_DONE:verified absent")
        if any(stage in VISIBLE for stage, _ in state.requests):
            yield "PROBE: it is there", goes(state, index, "write:COMMITTED")
            if wrong := spent(absent, "glitch"):
                yield "PROBE: it is not there (wrong: it is)", wrong
        else:
            yield "PROBE: it is not there", absent
        if silent := spent(state, "silence"):
            yield "PROBE: no usable answer", goes(silent._replace(excused=True), index, "write:ESCALATED")

    def _clear(self, state: State, index: int, attempt: Attempt) -> _Moves:
        following = attempt.at.partition(":")[2]
        keeper = self._heeds(state, attempt)
        if keeper is not None:
            after = self._opened(state, attempt.browser, keeper)
            yield "stops the page's loads, opens the gate", goes(after, index, following)
        elif attempt.browser == NOWHERE or not self.guards.stop_unreachable:
            yield "has no gate to open", goes(state, index, following)
        else:
            yield from self._gone(index, state, attempt)

    def _write(self, state: State, index: int, attempt: Attempt) -> _Moves:
        _, target, verdict = (*attempt.at.split(":"), "")[:3]
        if target == "COMMITTED":
            answer, record = self._ledger.record(state.record, attempt.epoch)
            verdict = "done"
        else:
            answer, record = self._ledger.settle(state.record, attempt.epoch, target)
        if answer == "refused":
            yield f"is fenced at {target}", goes(state, index, "answer:in doubt")
            return
        for after in after_write(state, record):
            yield f"writes {target}", goes(after, index, f"answer:{verdict or 'undecidable'}")

    # ----------------------------------------------- replaywright/keeper/gate.py and black_box.py

    def _keeper_steps(self, state: State, slot: int, keeper: Keeper) -> Steps:
        passes = keeper.phase in ("open", "permitted")
        for stage in ("browser", "held"):
            if (stage, slot) in state.requests:
                if passes:
                    out = state._replace(requests=moved(state.requests, (stage, slot), ("flight", slot)))
                    yield Step("keeper", "lets the bytes go", True, with_keeper(out, slot, keeper._replace(left=True)))
                elif stage == "browser" and keeper.phase in ARMED:
                    held = state._replace(requests=moved(state.requests, (stage, slot), ("held", slot)))
                    yield Step("keeper", "holds the first bytes", True, held)
        match keeper.phase:
            case "armed":
                if ("held", slot) in state.requests:
                    yield from self._ask_ledger(state, slot, keeper)
                if late := spent(state, "slow"):
                    yield Step("keeper", "cuts: dispatch_by is over", False, with_gate_cut(late, slot, keeper))
            case "granted":
                permitted = with_keeper(state, slot, keeper._replace(phase="permitted"))
                yield Step("keeper", "permits", True, permitted)
            case "refused":
                yield Step("keeper", "cuts: DISPATCH was refused", True, with_gate_cut(state, slot, keeper))
        if keeper.phase in ARMED and ("held", slot) in state.requests and (lossy := spent(state, "reply")):
            yield Step("keeper", "cuts: no answer from the ledger", False, with_gate_cut(lossy, slot, keeper))

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

    # -------------------------------------------------------------------------------------- faults

    def _fault_steps(self, state: State) -> Steps:
        if state.left.redis == self._faults.redis:
            yield from self._starts(state)
        if state.run in FINAL and not state.attempts:
            return  # nobody is left whom another fault could concern
        if state.run not in FINAL and (lost := spent(state, "loss")):
            for index, attempt in enumerate(state.attempts):
                if not attempt.zombie:
                    yield Step("fault", f"{attempt.name} is taken for lost", False, self._lost(lost, index, attempt))
        both = not self._probe and state.left.keeper < self._faults.keeper  # keeper and ledger: two witnesses are gone
        for fault in redis_faults(state):
            yield fault._replace(after=fault.after._replace(excused=fault.after.excused or both))
        if after := spent(state, "keeper"):
            after = after._replace(excused=after.excused or (state.shaken and not self._probe))
            for slot, keeper in enumerate(state.keepers):
                if keeper is not None:
                    yield Step("fault", "keeper and browser die", False, self._pruned(without_keeper(after, slot)))
                    if keeper.reachable:
                        excused = after._replace(excused=after.excused or not self._probe)
                        cut_off = with_keeper(excused, slot, keeper._replace(reachable=False))
                        yield Step("fault", "the keeper cannot be reached from elsewhere", False, cut_off)
        if after := spent(state, "net"):
            yield from mishaps(after._replace(excused=after.excused or not self._probe))

    def _starts(self, state: State) -> Steps:
        """A further run of the same lineage: the same one from its beginning, or one that goes on after an edit."""
        if state.run == "done" and (again := spent(state, "second_start")):
            yield Step("fault", "the workflow starts a second time", False, self._second_start(again))
        is_first = not state.resumed and state.left.second_start == self._faults.second_start
        if is_first and (resumed := spent(state, "resume")):
            yield Step("fault", "the run is resumed with another chain of steps", False, self._resumed(resumed))

    def _second_start(self, state: State) -> State:
        """A run of the same lineage that knows nothing: a reset, or a database that was restored.

        The run before has closed its browsers. Against a ledger that is lost as well nothing is promised.
        """
        for slot, keeper in enumerate(state.keepers):
            if keeper is not None:
                state = without_keeper(state, slot)
        record = state.record if self.guards.ledger_of_lineage else NO_RECORD
        left = state.left._replace(redis=0)
        first = Attempt(1, self._first, 0)
        zombies = self._pruned(state).attempts
        return state._replace(
            run="commit",
            number=1,
            rounds=0,
            doubted=0,
            lost=False,
            browser=0,
            attempts=(*zombies, first),
            record=record,
            saved=None,
            keepers=(Keeper(),),
            left=left,
        )

    def _resumed(self, state: State) -> State:
        """A run of the same lineage, under higher epochs, to which the same act is another step.

        Whether the run before had ended or is ended now: its browser is taken over, which cuts its attempts off, and
        given back. Redis may not be lost any more: the ledger alone knows of the act.
        """
        for slot, keeper in enumerate(state.keepers):
            if keeper is not None and (self.guards.earlier_browser_is_ended or state.run in FINAL):
                state = without_keeper(state, slot)
        slot = free_slot(state)
        state = with_keeper(state, slot, None)
        alive = (one for one in state.attempts if one.at.partition(":")[0] not in ENDS)
        zombies = tuple(sorted(one._replace(zombie=True) for one in alive))
        state = self._pruned(state._replace(attempts=zombies))
        return self._next_commit(
            state._replace(
                resumed=state.number,
                rounds=0,
                browser=slot,
                earlier=state.record,
                record=NO_RECORD,
                saved=None,
                left=state.left._replace(redis=0, second_start=0),
                excused=state.excused or not self._probe,
            )
        )

    def _lost(self, state: State, index: int, attempt: Attempt) -> State:
        attempts = cut_out(state.attempts, index)
        if attempt.at.partition(":")[0] not in ENDS:
            attempts = tuple(sorted((*attempts, attempt._replace(zombie=True))))
        state = self._pruned(state._replace(attempts=attempts))
        if state.run == "commit" and not self.guards.temporal_never_retries:
            again = Attempt(state.number, self._first, state.browser, chain=state.chain)
            return state._replace(attempts=(*state.attempts, again))
        return self._resolution(self._doubting(state, lost=True))

    def _pruned(self, state: State) -> State:
        """Without zombies that can do nothing any more: their next step needs a browser that will never be theirs."""

        def may_matter(attempt: Attempt) -> bool:
            if not attempt.zombie or attempt.at not in DOOMED:
                return True
            if attempt.at == "prepare" and not self.guards.session_is_given:
                return True
            keeper = None if attempt.browser == NOWHERE else state.keepers[attempt.browser]
            return keeper is not None and not (self.guards.keeper_epoch and keeper.epoch > attempt.epoch)

        attempts = tuple(filter(may_matter, state.attempts))
        return state if len(attempts) == len(state.attempts) else state._replace(attempts=attempts)
