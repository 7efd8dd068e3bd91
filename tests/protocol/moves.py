"""How states change: what the steps of all parts are made of."""

from collections.abc import Iterable, Iterator

from tests.protocol.checker import Step
from tests.protocol.guards import Guards
from tests.protocol.model import (
    ANSWERED,
    DOOMED,
    EMPTIED,
    ENDS,
    NOTHING,
    NOWHERE,
    ON_ITS_WAY,
    PENDING,
    Attempt,
    Keeper,
    Left,
    Record,
    Request,
    State,
    spent,
)

Steps = Iterator[Step[State]]
Moves = Iterator[tuple[str, State]]

ARMED = frozenset({"armed", "granted", "refused"})


def redis_faults(state: State) -> Steps:
    if after := spent(state, "redis"):
        if state.record != EMPTIED:
            yield Step(
                "fault", "Redis comes back empty", False, after._replace(record=EMPTIED, saved=None, shaken=True)
            )
        if state.saved is not None and state.saved != state.record:
            what = f"Redis falls back to {state.saved.state or 'no record'}"
            yield Step("fault", what, False, after._replace(record=state.saved, saved=None, shaken=True))


def goes(state: State, index: int, where: str) -> State:
    """The attempt's next step; a zombie's answer is heard by nobody, so that it just ends."""
    attempt = state.attempts[index]
    if attempt.zombie and where.partition(":")[0] in ENDS:
        return state._replace(attempts=cut_out(state.attempts, index))
    return with_attempt(state, index, attempt._replace(at=where))


def with_attempt(state: State, index: int, attempt: Attempt) -> State:
    attempts = list(state.attempts)
    attempts[index] = attempt
    return state._replace(attempts=tuple(attempts))


def cut_out(attempts: tuple[Attempt, ...], index: int) -> tuple[Attempt, ...]:
    return attempts[:index] + attempts[index + 1 :]


def pruned(state: State, guards: Guards) -> State:
    """Without zombies that can do nothing any more: their next step needs a browser that will never be theirs."""

    def may_matter(attempt: Attempt) -> bool:
        if not attempt.zombie or attempt.at not in DOOMED:
            return True
        if attempt.at == "prepare" and not guards.session_is_given:
            return True
        keeper = None if attempt.browser == NOWHERE else state.keepers[attempt.browser]
        return keeper is not None and not (guards.keeper_epoch and keeper.epoch > attempt.epoch)

    attempts = tuple(filter(may_matter, state.attempts))
    return state if len(attempts) == len(state.attempts) else state._replace(attempts=attempts)


def after_write(state: State, record: Record) -> Iterator[State]:
    """After a write to Redis; perhaps this is what a later fail-over loses."""
    if record == state.record:
        yield state
        return
    after = state._replace(record=record)
    yield after
    if (state.left.redis or state.left.everything) and state.saved != state.record:
        yield after._replace(saved=state.record)


def seen_by(state: State, chain: int) -> State:
    """The state with the record of this chain as the one that ledger calls are about."""
    return state if chain == state.chain else state._replace(record=state.earlier, earlier=state.record)


def free_slot(state: State) -> int:
    return state.keepers.index(None) if None in state.keepers else len(state.keepers)


def with_keeper(state: State, slot: int, keeper: Keeper | None) -> State:
    keepers = list(state.keepers) if slot < len(state.keepers) else [*state.keepers, None]
    keepers[slot] = keeper
    return state._replace(keepers=tuple(keepers))


def with_gate_cut(state: State, slot: int, keeper: Keeper, after_cut: str) -> State:
    """What is held is thrown away, and then is where the page has it `after_cut`. An open gate stays open."""
    if keeper.phase in ("open", "cut", "asking"):
        return state
    requests = in_order((after_cut, slot) if one == ("held", slot) else one for one in state.requests)
    return with_keeper(state._replace(requests=requests), slot, keeper._replace(phase="cut"))


def turned_from(state: State, slot: int) -> State:
    """A page that looks for the next response does not look at those before."""
    live = ON_ITS_WAY.union(PENDING)
    rest = (one if one[1] != slot or one[0] in live else (one[0], NOWHERE) for one in state.requests)
    return state._replace(requests=in_order(one for one in rest if one[1] != NOWHERE or one[0] not in NOTHING))


def without_keeper(state: State, slot: int) -> State:
    """Keeper and browser end, and with them what has not left."""
    alive = (one for one in state.requests if one[1] != slot or one[0] not in (*PENDING, "leaving"))
    requests = ((stage, NOWHERE if where == slot else where) for stage, where in alive)
    attempts = tuple(one._replace(browser=NOWHERE) if one.browser == slot else one for one in state.attempts)
    kept = in_order(one for one in requests if one[1] != NOWHERE or one[0] not in NOTHING)
    return with_keeper(state, slot, None)._replace(requests=kept, attempts=attempts)


def with_keeper_dead(state: State, slot: int) -> State:
    """Keeper and browser die, and leave behind what the keeper has written."""
    keeper = state.keepers[slot]
    assert keeper is not None
    after = without_keeper(state, slot)
    if slot != state.browser:
        return after
    return after._replace(file=Left(keeper.operation, keeper.written, is_answered(state, slot)))


def is_answered(state: State, slot: int) -> bool:
    """Whether all that left this browser for its operation was answered, and something was."""
    stages = {stage for stage, where in state.requests if where == slot}
    return bool(stages & ANSWERED) and not stages & {"leaving", "flight", "working", "lost"}


def moved(requests: tuple[Request, ...], old: Request, new: Request | None) -> tuple[Request, ...]:
    rest = list(requests)
    rest.remove(old)
    if new is not None:
        rest.append(new)
    return in_order(rest)


def in_order(requests: Iterable[Request]) -> tuple[Request, ...]:
    return tuple(sorted(requests))
