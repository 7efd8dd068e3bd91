"""Resolving a step in doubt (activities/proof/effects.py, reconciling.py): ledger, keeper, page and site."""

from collections.abc import Callable

from tests.protocol.guards import Guards
from tests.protocol.ledger import Ledger
from tests.protocol.model import (
    EMPTIED,
    NOWHERE,
    SHOWN_LATER,
    VISIBLE,
    WELL,
    Attempt,
    Keeper,
    State,
    World,
    spent,
)
from tests.protocol.moves import (
    Moves,
    after_write,
    goes,
    is_answered,
    pruned,
    with_attempt,
    with_gate_cut,
    with_keeper,
    without_keeper,
)
from tests.protocol.page import Page

NOTHING_LEFT = "write:NOT_DONE:nothing left"
"""What may have acted in its page: the run goes on in another one."""
NEVER_BEGAN = "write:NOT_DONE:never began"


class Resolving:
    """The steps of a resolver."""

    def __init__(self, guards: Guards, world: World, ledger: Ledger, page: Page) -> None:
        self.guards = guards
        self._world = world
        self._ledger = ledger
        self._web_page = page
        self.moves: dict[str, Callable[[State, int, Attempt], Moves]] = {
            "fence": self._fence,
            "stop": self._stop,
            "cut": self._cut,
            "black box": self._black_box,
            "page": self._page,
            "file": self._file,
            "witness": self._witness,
            "settle": self._settle,
            "probe": self._ask_site,
            "probe again": self._ask_site,
            "clear": self._clear,
            "write": self._write,
        }

    def _fence(self, state: State, index: int, attempt: Attempt) -> Moves:
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
            following = NOTHING_LEFT
        state = with_attempt(state, index, attempt._replace(found=record.before, sent=record.sent))
        for after in after_write(state, record):
            yield f"FENCE: finds {before.state or 'no record'}", goes(after, index, following)

    def _stop(self, state: State, index: int, attempt: Attempt) -> Moves:
        keeper = None if attempt.browser == NOWHERE else state.keepers[attempt.browser]
        if keeper is None:
            yield "STOP: no browser is left", goes(state, index, "file")
        elif not keeper.reachable:
            if self.guards.stop_unreachable:
                killed = goes(without_keeper(state, attempt.browser), index, "settle")
                what = "STOP: kills the keeper that cannot be reached, or waits out its lease"
                yield what, pruned(killed, self.guards)
            else:
                yield "gives the keeper up that cannot be reached", goes(state, index, "settle")
        elif self.guards.keeper_epoch and keeper.epoch > attempt.epoch:
            yield "STOP: is fenced itself", goes(state, index, "answer:in doubt")
        else:
            if self.guards.keeper_fence:
                state = with_keeper(state, attempt.browser, keeper._replace(epoch=attempt.epoch))
            following = "cut" if self.guards.cut_before_reading else "black box"
            yield "STOP: fences the keeper", pruned(goes(state, index, following), self.guards)

    # ------------------------------------------------------------------------------- without a browser

    def _file(self, state: State, index: int, attempt: Attempt) -> Moves:
        """What the keeper wrote before it died; only read on its host, where it has certainly ended."""
        match self._said(state, attempt):
            case "never armed":
                yield "FILE: it was never armed", goes(state, index, NEVER_BEGAN)
            case "nothing":
                yield "FILE: nothing has left", goes(state, index, NOTHING_LEFT)
            case "":
                yield "FILE: it does not tell", goes(state, index, "witness")
            case _:
                yield "FILE: bytes have left", goes(state, index, "settle")

    def _witness(self, state: State, index: int, attempt: Attempt) -> Moves:
        """A ledger that has lost nothing since the step before, and has no intent, says that there was none."""
        is_whole = not (state.shaken and self.guards.loss_is_seen)
        if self.guards.whole_ledger_speaks and is_whole and attempt.lost and attempt.doubted and not attempt.found:
            yield "the ledger has lost nothing, and has no intent", goes(state, index, NEVER_BEGAN)
        else:
            yield "the ledger does not tell", goes(state, index, "settle")

    # ---------------------------------------------------------------------------- in the attempt's browser

    def _heeds(self, state: State, attempt: Attempt) -> Keeper | None:
        """The keeper, if it obeys this resolver."""
        keeper = None if attempt.browser == NOWHERE else state.keepers[attempt.browser]
        if keeper is None or (self.guards.keeper_epoch and keeper.epoch > attempt.epoch) or not keeper.reachable:
            return None
        return keeper

    def _gone(self, index: int, state: State, attempt: Attempt) -> Moves:
        """What a resolver does that the keeper does not heed any more."""
        alive = attempt.browser != NOWHERE and state.keepers[attempt.browser] is not None
        yield "has lost the browser", goes(state, index, "stop" if alive else "file")

    def _cut(self, state: State, index: int, attempt: Attempt) -> Moves:
        keeper = self._heeds(state, attempt)
        if keeper is None:
            yield from self._gone(index, state, attempt)
        else:
            following = "black box" if self.guards.black_box else "clear:settle"
            cut = with_gate_cut(state, attempt.browser, keeper, self._web_page.after_cut)
            yield "cuts what the gate holds", goes(cut, index, following)

    def _black_box(self, state: State, index: int, attempt: Attempt) -> Moves:
        keeper = self._heeds(state, attempt)
        if keeper is None:
            yield from self._gone(index, state, attempt)
            return
        match self._said(state, attempt):
            case "never armed":
                yield "BLACK BOX: it was never armed", goes(state, index, NEVER_BEGAN)
            case "nothing":
                stays_shut = self.guards.repeats_held and self.guards.dead_document
                following = NOTHING_LEFT if stays_shut else f"clear:{NOTHING_LEFT}"
                yield "BLACK BOX: nothing has left", goes(state, index, following)
            case _:
                yield "BLACK BOX: bytes have left, or it does not know", goes(state, index, "clear:page")

    def _clear(self, state: State, index: int, attempt: Attempt) -> Moves:
        following = attempt.at.partition(":")[2]
        keeper = self._heeds(state, attempt)
        if keeper is not None:
            what, opened = self._opened(state, attempt.browser, keeper)
            yield f"stops the page's loads, opens the gate {what}", goes(opened, index, following)
        elif attempt.browser == NOWHERE or not self.guards.stop_unreachable:
            yield "has no gate to open", goes(state, index, following)
        else:
            yield from self._gone(index, state, attempt)

    def _opened(self, state: State, slot: int, keeper: Keeper) -> tuple[str, State]:
        if self.guards.loads_stopped:
            loads = ("browser", slot), ("held", slot)
            rest = tuple(one for one in state.requests if one not in loads)
            has_failed = len(rest) < len(state.requests)
            state = state._replace(requests=rest)
            if has_failed:
                state = self._web_page.failed(state, slot)
        phase = "asking" if self.guards.repeats_held else "open"
        what = "for others" if self.guards.repeats_held else "for all"
        return what, with_keeper(state, slot, keeper._replace(phase=phase))

    def _page(self, state: State, index: int, attempt: Attempt) -> Moves:
        keeper = self._heeds(state, attempt)
        stages = {stage for stage, slot in state.requests if slot == attempt.browser}
        if keeper is None:
            yield from self._gone(index, state, attempt)
        elif self._world.stale and not self.guards.before_is_heeded:
            yield "the live page shows what it showed before", goes(state, index, "write:COMMITTED")
        elif self._web_page.claims and not self.guards.two_witnesses:
            yield "believes the page, which says that it is sent", goes(state, index, "write:COMMITTED")
        elif stages & WELL and self._knows_before(keeper, attempt) and not self._world.stale:
            yield "the live page shows the effect", goes(state, index, "write:COMMITTED")
        elif "working" in stages:
            late = state._replace(excused=True)
            yield "the live page shows no effect yet, and is not waited for any more", goes(late, index, "settle")
        elif not stages & {"leaving", "flight"}:
            yield "the live page shows no effect", goes(state, index, "settle")

    def _knows_before(self, keeper: Keeper, attempt: Attempt) -> bool:
        """Whether the intent, or the keeper's note of it, says what held before the attempt in doubt."""
        noted = self.guards.before_is_noted and keeper.operation == attempt.doubted > 0
        return attempt.found > 0 or noted

    # ------------------------------------------------------------------------------- what the keeper says

    def _said(self, state: State, attempt: Attempt) -> str:
        """What the keeper, or its file, says of the attempts that may be in doubt.

        never armed, nothing (left), answered, unanswered; empty when it does not know.
        """
        epochs = {attempt.doubted} - {0}
        if attempt.found > attempt.doubted or (attempt.found and not self.guards.resolved_is_settled):
            epochs.add(attempt.found)
        said = {self._said_of(epoch, state, attempt) for epoch in epochs}
        for verdict in ("", "unanswered", "answered", "nothing"):
            if verdict in said:
                return verdict
        return "never armed" if said else ""

    def _said_of(self, epoch: int, state: State, attempt: Attempt) -> str:
        keeper = self._heeds(state, attempt)
        if keeper is not None and self.guards.black_box:
            operation, left, answered = keeper.operation, keeper.left, is_answered(state, attempt.browser)
        elif attempt.browser == NOWHERE and state.file is not None and self.guards.file_is_heeded:
            operation, left, answered = state.file
        else:
            return ""
        if operation == epoch:
            if not (left and self.guards.bytes_left_count):
                return "nothing"
            return "answered" if answered else "unanswered"
        is_unarmed = operation < epoch == attempt.doubted and attempt.lost and epoch != attempt.found
        return "never armed" if is_unarmed else ""

    def _is_in_flight(self, state: State, attempt: Attempt) -> bool:
        """Whether something may be on its way: by the keeper's word, else by that of a ledger that lost nothing."""
        said = self._said(state, attempt)
        if not self.guards.flight_is_heeded:
            return False
        if said:
            return said == "unanswered"
        return attempt.sent or (state.shaken and self.guards.gap_may_hide_dispatch)

    def _may_be_asked(self, state: State, attempt: Attempt) -> bool:
        """Whether what can be known leaves it open: what the keeper or its file holds, else the ledger's losses."""
        keeper = self._heeds(state, attempt)
        if keeper is not None:
            return keeper.left and not any((stage, attempt.browser) in state.requests for stage in WELL)
        if attempt.browser == NOWHERE and state.file is not None and attempt.chain == state.chain:
            return state.file.left and not (self._world.probe and state.file.answered)
        return state.shaken or (attempt.sent if self._world.probe else attempt.found > 0)

    # --------------------------------------------------------------------------------------- the site

    def _settle(self, state: State, index: int, attempt: Attempt) -> Moves:
        if self.guards.settle and any(stage in SHOWN_LATER for stage, _ in state.requests):
            return  # it waits; what the site has done is shown by itself
        state = state._replace(excused=state.excused or self._may_be_asked(state, attempt))
        if not self._world.probe:
            yield "the site cannot be asked", goes(state, index, "write:ESCALATED")
            return
        state = with_attempt(state, index, attempt._replace(in_flight=self._is_in_flight(state, attempt)))
        what = "waits until all that was done can be seen" if self.guards.settle else "does not wait"
        yield f"SETTLE: {what}", goes(state, index, "probe")

    def _ask_site(self, state: State, index: int, attempt: Attempt) -> Moves:
        seen = any(stage in VISIBLE for stage, _ in state.requests)
        in_flight = attempt.in_flight if self.guards.flight_is_read_first else self._is_in_flight(state, attempt)
        if seen:
            yield "PROBE: it is there", goes(state, index, "write:COMMITTED")
        if in_flight:
            if not seen:  # it is asked again and again
                yield "PROBE: it is not there, until in_flight_ms are over", goes(state, index, "write:ESCALATED")
        elif self._world.irreversible and not seen:
            yield "PROBE: it is not there", goes(state._replace(excused=True), index, "write:ESCALATED")
        else:
            absent = goes(state, index, "probe again")
            if attempt.at == "probe again" or not self.guards.two_negatives:
                absent = goes(state, index, "write:NOT_DONE:verified absent")
            if not seen:
                yield "PROBE: it is not there", absent
            elif wrong := spent(absent, "glitch"):
                yield "PROBE: it is not there (wrong: it is)", wrong
        if silent := spent(state, "silence"):
            yield "PROBE: no usable answer", goes(silent._replace(excused=True), index, "write:ESCALATED")

    def _write(self, state: State, index: int, attempt: Attempt) -> Moves:
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
