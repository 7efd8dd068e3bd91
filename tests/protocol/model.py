"""The protocol of a commit step as states and steps, after RELIABILITY section 2.

One step of one run, from its first attempt to the run's verdict on it. Each function below mirrors one part of the
product; where the product does less than the protocol asks, docs/architecture/commit-protocol.md says so.

    Protocol._run_steps ...          workflows/doubts.py; workflows/browser.py
    Protocol._prepare ... _release   activities/actions.py, with the keeper's gate armed around the dispatch
    Protocol._fence ... _write       activities/effects.py and reconciling.py
    Protocol._keeper_steps           replaywright/keeper/gate.py and black_box.py
    Record, Ledger                   cache/scripts/*.lua
    moves.site_steps                 the website and the network to it
    Protocol._fault_steps            what may go wrong, each at any time, as long as `State.left` allows

An activity whose worker is lost goes on as a zombie: it may take its further steps at any time, or never. A worker
that was killed is one that never does, so there is no step of its own for that.
"""

from dataclasses import dataclass
from typing import NamedTuple

ROUNDS = 3
"""`policies.COMMIT_ROUNDS`: how often a step may be found absent after a dispatch before the run fails."""


@dataclass(frozen=True)
class Guards:
    """What the protocol does; a mutant leaves one of these out."""

    temporal_never_retries: bool = True
    """A commit activity has one attempt; after its loss comes the resolver."""
    keeper_fence: bool = True
    """The keeper cuts off, and refuses, who has a lower epoch, from the resolver's STOP on."""
    ledger_fence: bool = True
    """FENCE raises the epoch in the ledger and makes it RESOLVING."""
    stop_unreachable: bool = True
    """A keeper that cannot be reached is killed, or its lease waited out."""
    gate: bool = True
    """`arm` holds the bytes."""
    ledger_epoch: bool = True
    """The ledger's scripts compare epochs."""
    keeper_epoch: bool = True
    """The keeper compares epochs."""
    permit_needs_record: bool = True
    """The keeper asks DISPATCH of the ledger, and cuts when it is refused or not answered."""
    cut_before_reading: bool = True
    """The resolver closes the gate before it believes the black box."""
    loads_stopped: bool = True
    """After a cut the page's pending loads are stopped before the gate opens again."""
    black_box: bool = True
    """The keeper's word on what has left; without it a live keeper's session is as good as a lost one."""
    bytes_left_count: bool = True
    """That bytes left is heeded, not only that a keeper is there."""
    settle: bool = True
    """Nothing is asked of the site before what is on its way has arrived and can be seen."""
    two_negatives: bool = True
    error_is_no_answer: bool = True
    """A 5xx does not say that nothing happened."""
    evidence: bool = True
    """COMMITTED is only written when the response was seen."""
    person_has_no_deadline: bool = True
    """A person who does not answer is waited for, not taken for a yes."""
    ledger_gap_is_no_answer: bool = True
    """That the ledger knows of no intent does not show that there was none."""
    before_is_heeded: bool = True
    """What the page showed before the step already does not decide."""
    whole_ledger_speaks: bool = True
    """Without a browser: a ledger that has lost nothing, and has no intent, shows that nothing was dispatched."""
    loss_is_seen: bool = True
    """A ledger that was emptied, or fell back, since the step before is told from one that was not."""
    before_is_noted: bool = True
    """The keeper knows what held before the attempt it was armed for, whatever becomes of Redis."""
    attempt_is_told: bool = True
    """The workflow tells the resolver which attempt is in doubt."""
    attempt_is_carried: bool = True
    """The ledger tells a second resolver of the attempt that the first one found, not of the first one."""
    gate_before_intent: bool = True
    """The gate is armed when the intent is written, so that the keeper knows every attempt that the ledger knows."""
    session_is_given: bool = True
    """An attempt works in the browser that the workflow gave it, and never opens one of its own."""
    ledger_of_lineage: bool = True
    """A second start of the workflow finds the records of the first."""
    acts: bool = True
    """INTENT is refused while the lineage has the same act under another chain of steps."""
    earlier_doubt_is_resolved: bool = True
    """An act that is open under the earlier chain is resolved there before it is taken over."""
    earlier_browser_is_ended: bool = True
    """A resumed run takes the browser of the run before over, and gives it back, before it does anything."""


class Faults(NamedTuple):
    """How many are left: in all, and of each kind."""

    total: int = 3
    loss: int = 2
    """The worker of the current activity is taken for dead: killed, frozen or cut off."""
    redis: int = 1
    """Redis comes back empty, or as it was after an earlier write."""
    keeper: int = 1
    """Keeper and browser die, or cannot be reached any more from where the run goes on."""
    net: int = 1
    """A request is lost on its way, or answered by a 5xx, having taken effect or not."""
    silence: int = 1
    """The site answers a probe with a 5xx, a sign-in page or not at all."""
    glitch: int = 1
    """The site answers one probe wrongly that there is nothing."""
    reply: int = 1
    """Redis does what it is told, and the reply is lost."""
    slow: int = 1
    """Bytes are held for longer than `dispatch_by`."""
    second_start: int = 1
    """The workflow is reset, or its database restored, after the run; not when Redis was lost as well."""
    resume: int = 0
    """The run has ended, or is ended, and is resumed with another chain of steps; not when Redis was lost as well."""


class Record(NamedTuple):
    """One step's record in the ledger."""

    state: str = ""
    epoch: int = 0
    late: bool = False
    before: int = 0
    """In resolution: epoch of the open intent that was found, 0 if there was none."""


NO_RECORD = Record()
EMPTIED = Record(epoch=-1)
"""No record, and nothing else of the lineage either: `_ledger_is_whole` in activities/effects.py sees it."""


class Keeper(NamedTuple):
    """A keeper with its browser."""

    reachable: bool = True
    epoch: int = 0
    phase: str = "open"
    """open, armed, granted or refused (armed, and the ledger's answer is on its way), permitted, cut."""
    operation: int = 0
    """Epoch of the latest arming."""
    left: bool = False
    """Black box: bytes have left since then."""
    clean: tuple[int, ...] = ()
    """Black box: earlier armings, by epoch, in which no bytes left."""


class Attempt(NamedTuple):
    """An activity that is running, or may be."""

    number: int
    """Of all activities of the run, in order. Its epoch is twice that; the one between is for its own release."""
    at: str
    """What it does next."""
    browser: int
    """Index of its keeper; NOWHERE when that is dead."""
    zombie: bool = False
    doubted: int = 0
    """Of a resolver: epoch of the attempt in doubt, as the workflow knows it; 0 if it does not."""
    lost: bool = False
    """That attempt was lost, and may not have come to the gate."""
    found: int = 0
    """Epoch of the open intent that its fence found; 0 if there was none."""
    chain: int = 0
    """Whose record it is about: 0 is that of the first run, 1 that of the resumed one."""

    @property
    def epoch(self) -> int:
        """Its epoch."""
        return 2 * self.number

    @property
    def name(self) -> str:
        """As it is called in a trace."""
        at = self.at.partition(":")[0]
        return f"{'zombie ' if self.zombie else ''}{'resolver' if at in RESOLVING else 'attempt'} {self.number}"


RESOLVING = frozenset(
    {
        "fence",
        "stop",
        "cut",
        "black box",
        "page",
        "witness",
        "settle",
        "probe",
        "probe again",
        "clear",
        "write",
        "answer",
    }
)
ENDS = frozenset({"return", "answer"})
OVER = "intend:over"
"""INTENT again, named the record of the other chain as the one to take over from."""
DOOMED = frozenset({"prepare", "arm", "dispatch", "confirm", "stop loads"})
"""What an attempt without a browser cannot do."""
NOWHERE = -1
PENDING = ("browser", "held")
UNSEEN = ("flight", "ok unseen", "error unseen")
EFFECTIVE = frozenset({"ok unseen", "error unseen", "ok", "error"})
VISIBLE = frozenset({"ok", "error"})

Request = tuple[str, int]
"""Where a dispatched input is, and in which browser its answer is awaited:

browser → held → flight → ok unseen → ok, or → error unseen → error (took effect, answered by a 5xx); lost, refused.
"""


class State(NamedTuple):
    """Everything that matters of one moment."""

    run: str = "commit"
    """commit, resolve, person, ask again; done, failed."""
    number: int = 1
    rounds: int = 0
    browser: int = 0
    attempts: tuple[Attempt, ...] = (Attempt(1, "prepare", 0),)
    record: Record = NO_RECORD
    saved: Record | None = None
    """What Redis may fall back to."""
    keepers: tuple[Keeper | None, ...] = (Keeper(),)
    requests: tuple[Request, ...] = ()
    left: Faults = Faults()
    doubted: int = 0
    """Epoch of the attempt that is being resolved."""
    lost: bool = False
    shaken: bool = False
    """Whether Redis has lost anything: `witness` in activities/effects.py sees it."""
    excused: bool = False
    """Whether something has happened for which a person may be asked."""
    resumed: int = 0
    """Number of the last activity before the run was resumed with another chain of steps; 0 if it was not."""
    earlier: Record = NO_RECORD
    """Of the resumed run: the step's record under the first chain; `record` is that under its own."""
    about: int = 0
    """The chain whose record is being resolved."""
    act: int | None = None
    """The chain that has the act in the lineage's hash; only followed where a run may be resumed."""

    @property
    def chain(self) -> int:
        """That of the run that is under way."""
        return int(self.resumed > 0)


FINAL = frozenset({"done", "failed"})

NO_FAULTS = Faults(*(0,) * len(Faults._fields))


def spent(state: State, kind: str) -> State | None:
    """The state with one more fault of this kind used up; None when there was none left."""
    left = state.left
    count = getattr(left, kind)
    if not (left.total and count):
        return None
    if left.total == 1:
        act = state.act if state.resumed or kind == "resume" else None
        return state._replace(left=NO_FAULTS, saved=None, act=act)
    return state._replace(left=left._replace(total=left.total - 1, **{kind: count - 1}))


# ------------------------------------------------------------------------------------------------ ledger


class Ledger:
    """The scripts of cache/scripts: each answers with a verdict and the record after it."""

    def __init__(self, guards: Guards) -> None:
        self._epochs = guards.ledger_epoch
        self._fences = guards.ledger_fence
        self._carries = guards.attempt_is_carried

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
        if record.state in ("RESOLVING", "ESCALATED") and self._carries:
            before = record.before
        return "granted", Record("RESOLVING", epoch, record.late, before)

    def settle(self, record: Record, epoch: int, state: str) -> tuple[str, Record]:
        """settle.lua; a success that is reported later than the fence stays, and forbids the next intent."""
        if not self._fences:
            return "settled", record._replace(state=state)
        if (self._epochs and record.epoch != epoch) or record.state not in ("RESOLVING", "ESCALATED", state):
            return "refused", record
        return "settled", record._replace(state=state, before=record.before if state == "ESCALATED" else 0)
