"""How states change: steps that nobody decides on, and the changes that the protocol's steps are made of."""

from collections.abc import Iterable, Iterator

from tests.protocol.checker import Step
from tests.protocol.model import EMPTIED, ENDS, NOWHERE, PENDING, UNSEEN, Attempt, Keeper, Record, Request, State, spent

Steps = Iterator[Step[State]]

ARMED = frozenset({"armed", "granted", "refused"})
ON_ITS_WAY = frozenset({"browser", "held", "flight"})
MISHAPS = (
    ("lost", "the request is lost on its way"),
    ("refused", "answers with a 5xx, and does nothing"),
    ("error unseen", "does it, and answers with a 5xx"),
)


def redis_faults(state: State) -> Steps:
    if after := spent(state, "redis"):
        if state.record != EMPTIED:
            yield Step(
                "fault", "Redis comes back empty", False, after._replace(record=EMPTIED, saved=None, shaken=True)
            )
        if state.saved is not None and state.saved != state.record:
            what = f"Redis falls back to {state.saved.state or 'no record'}"
            yield Step("fault", what, False, after._replace(record=state.saved, saved=None, shaken=True))


def mishaps(state: State) -> Steps:
    for request in sorted({one for one in state.requests if one[0] == "flight"}):
        for stage, what in MISHAPS:
            ended = None if request[1] == NOWHERE and stage in NOTHING else (stage, request[1])
            yield Step("site", what, False, state._replace(requests=moved(state.requests, request, ended)))


def site_steps(state: State) -> Steps:
    for request in sorted(set(state.requests)):
        stage, slot = request
        if stage == "flight":
            after = state._replace(requests=moved(state.requests, request, ("ok unseen", slot)))
            yield Step("site", "does it, and answers", True, after)
        elif stage in UNSEEN:
            after = state._replace(requests=moved(state.requests, request, (stage.removesuffix(" unseen"), slot)))
            yield Step("site", "shows it", True, after)


def goes(state: State, index: int, where: str) -> State:
    """The attempt's next step; a zombie's answer is heard by nobody, so that it just ends."""
    attempt = state.attempts[index]
    if attempt.zombie and where.partition(":")[0] in ENDS:
        return state._replace(attempts=cut_out(state.attempts, index))
    attempts = list(state.attempts)
    attempts[index] = attempt._replace(at=where)
    return state._replace(attempts=tuple(attempts))


def cut_out(attempts: tuple[Attempt, ...], index: int) -> tuple[Attempt, ...]:
    return attempts[:index] + attempts[index + 1 :]


def after_write(state: State, record: Record) -> Iterator[State]:
    """After a write to Redis; perhaps this is what a later fail-over loses."""
    if record == state.record:
        yield state
        return
    after = state._replace(record=record)
    yield after
    if state.left.redis and state.saved != state.record:
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


def with_gate_cut(state: State, slot: int, keeper: Keeper) -> State:
    """What is held is thrown away, and Chromium tries again by itself. An open gate stays open."""
    if keeper.phase in ("open", "cut"):
        return state
    requests = in_order(("browser", slot) if one == ("held", slot) else one for one in state.requests)
    return with_keeper(state._replace(requests=requests), slot, keeper._replace(phase="cut"))


def turned_from(state: State, slot: int) -> State:
    """A page that looks for the next response does not look at those before."""
    rest = (one if one[1] != slot or one[0] in ON_ITS_WAY else (one[0], NOWHERE) for one in state.requests)
    return state._replace(requests=in_order(one for one in rest if one[1] != NOWHERE or one[0] not in NOTHING))


def without_keeper(state: State, slot: int) -> State:
    """Keeper and browser end, and with them what has not left."""
    alive = (one for one in state.requests if one[1] != slot or one[0] not in PENDING)
    requests = ((stage, NOWHERE if where == slot else where) for stage, where in alive)
    attempts = tuple(one._replace(browser=NOWHERE) if one.browser == slot else one for one in state.attempts)
    kept = in_order(one for one in requests if one[1] != NOWHERE or one[0] not in NOTHING)
    return with_keeper(state, slot, None)._replace(requests=kept, attempts=attempts)


NOTHING = frozenset({"lost", "refused"})


def moved(requests: tuple[Request, ...], old: Request, new: Request | None) -> tuple[Request, ...]:
    rest = list(requests)
    rest.remove(old)
    if new is not None:
        rest.append(new)
    return in_order(rest)


def in_order(requests: Iterable[Request]) -> tuple[Request, ...]:
    return tuple(sorted(requests))
