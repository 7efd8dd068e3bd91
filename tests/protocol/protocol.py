"""One run of one commit step against keeper, page, site, ledger and person, all interleaved."""

from tests.protocol.checker import Step
from tests.protocol.guards import Guards
from tests.protocol.keeping import Keeping
from tests.protocol.ledger import Ledger
from tests.protocol.model import (
    ACTIVITIES,
    EFFECTIVE,
    ENDS,
    FINAL,
    NO_RECORD,
    NOWHERE,
    ROUNDS,
    UNDISPATCHED_ROUNDS,
    UNSEEN,
    VISIBLE,
    Attempt,
    Faults,
    Keeper,
    State,
    World,
    spent,
)
from tests.protocol.moves import (
    Steps,
    after_write,
    cut_out,
    free_slot,
    pruned,
    redis_faults,
    seen_by,
    with_keeper,
    with_keeper_dead,
    without_keeper,
)
from tests.protocol.page import Page
from tests.protocol.performing import Performing
from tests.protocol.resolving import Resolving
from tests.protocol.site import Site

PROTOCOL = Guards()
SOME_FAULTS = Faults()
WORLD = World()


class Protocol:
    """Commit activity, resolve activity and workflow against keeper, page, Redis, site and person."""

    def __init__(self, guards: Guards = PROTOCOL, faults: Faults = SOME_FAULTS, world: World = WORLD) -> None:
        self.guards = guards
        self._world = world
        self._faults = faults
        self._ledger = Ledger(guards)
        self._page = Page(world)
        self._site = Site(world, self._page)
        self._keeping = Keeping(guards, world, self._ledger, self._page)
        performing = Performing(guards, world, self._ledger, self._page)
        self._first = performing.first
        self._moves = performing.moves | Resolving(guards, world, self._ledger, self._page).moves

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
        if state.undispatched >= UNDISPATCHED_ROUNDS:
            return "needless failure: the run gives up, although the page only wanted time, or to be left"
        if state.number > ACTIVITIES:
            return "needless failure: one attempt after the other is turned away"
        if state.run == "person" and not state.excused:
            return "needless question: a person is asked, although the keeper or the site can tell"
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
                yield from self._keeping.steps(state, slot, keeper)
        yield from self._page.steps(state)
        yield from self._site.steps(state)
        if state.left.total:
            yield from self._fault_steps(state)

    # -------------------------------------------- workflows/step/doubts.py

    def _run_steps(self, state: State) -> Steps:
        if state.run == "person":
            for step in self._person(seen_by(state, state.about)):
                yield step._replace(after=seen_by(step.after, state.about))
        elif state.run == "leave":
            ended = state if state.keepers[state.browser] is None else without_keeper(state, state.browser)
            yield Step("workflow", "ends the browser, and goes on in a new one", True, self._next_commit(ended))
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
            case "not dispatched" | "never began":
                return self._next_commit(state)
            case "nothing left":
                return self._left_for_another(state._replace(undispatched=state.undispatched + 1))
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
        return self._left_for_another(state._replace(rounds=rounds))

    def _left_for_another(self, state: State) -> State:
        """The page that the attempt may have acted in is left, where it is the run's own."""
        if not self.guards.dead_document or state.keepers[state.browser] is None or state.about != state.chain:
            return self._next_commit(state)
        return state._replace(run="leave")

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
            file=None,
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

    # -------------------------------------------------------------------------------------- faults

    def _fault_steps(self, state: State) -> Steps:
        if (state.left.redis, state.left.everything) == (self._faults.redis, self._faults.everything):
            yield from self._starts(state)
        if state.run in FINAL and not state.attempts:
            return  # nobody is left whom another fault could concern
        if state.run not in FINAL and (lost := spent(state, "loss")):
            for index, attempt in enumerate(state.attempts):
                if not attempt.zombie:
                    yield Step("fault", f"{attempt.name} is taken for lost", False, self._lost(lost, index, attempt))
        yield from redis_faults(state)
        if after := spent(state, "keeper"):
            yield from self._keeper_faults(after)
        if after := spent(state, "everything"):
            yield from self._everything(after)
        if after := spent(state, "net"):
            yield from self._site.mishaps(after)

    def _keeper_faults(self, state: State) -> Steps:
        for slot, keeper in enumerate(state.keepers):
            if keeper is None:
                continue
            dead = pruned(with_keeper_dead(state, slot), self.guards)
            yield Step("fault", "keeper and browser die", False, dead)
            if dead.file is not None:
                unread = "keeper and browser die, and what it wrote cannot be read"
                yield Step("fault", unread, False, dead._replace(file=None))
            if keeper.reachable:
                excused = state._replace(excused=state.excused or not self._world.probe)
                cut_off = with_keeper(excused, slot, keeper._replace(reachable=False))
                yield Step("fault", "the keeper cannot be reached from elsewhere", False, cut_off)

    def _everything(self, state: State) -> Steps:
        """Only what was written to files is left: the keeper's, Temporal's, and Redis's but for its last second."""
        if state.run in FINAL:
            return
        for slot, keeper in enumerate(state.keepers):
            if keeper is not None:
                state = with_keeper_dead(state, slot)
        alive = [one for one in state.attempts if not one.zombie]
        dead = state._replace(attempts=(), shaken=True, saved=None)
        after = self._resolution(self._doubting(dead, lost=True)) if alive else dead
        yield Step("fault", "everything dies", False, after)
        if state.saved is not None and state.saved != state.record:
            what = f"everything dies, and Redis comes back with {state.saved.state or 'no record'}"
            yield Step("fault", what, False, after._replace(record=state.saved))

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
        left = state.left._replace(redis=0, everything=0)
        first = Attempt(1, self._first, 0)
        zombies = pruned(state, self.guards).attempts
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
            file=None,
            undispatched=0,
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
        state = pruned(state._replace(attempts=zombies), self.guards)
        return self._next_commit(
            state._replace(
                resumed=state.number,
                rounds=0,
                undispatched=0,
                browser=slot,
                earlier=state.record,
                record=NO_RECORD,
                saved=None,
                left=state.left._replace(redis=0, everything=0, second_start=0),
                excused=state.excused or not self._world.probe,
                file=None,
            )
        )

    def _lost(self, state: State, index: int, attempt: Attempt) -> State:
        attempts = cut_out(state.attempts, index)
        if attempt.at.partition(":")[0] not in ENDS:
            attempts = tuple(sorted((*attempts, attempt._replace(zombie=True))))
        state = pruned(state._replace(attempts=attempts), self.guards)
        if state.run == "commit" and not self.guards.temporal_never_retries:
            again = Attempt(state.number, self._first, state.browser, chain=state.chain)
            return state._replace(attempts=(*state.attempts, again))
        return self._resolution(self._doubting(state, lost=True))
