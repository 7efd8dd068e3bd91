"""The words for the states of one commit step, from its first attempt to the run's verdict on it.

Each module mirrors one part of the product; where the product does less than the protocol asks,
docs/internals/commit-protocol.md says so.

    guards      what the protocol does, each to be left out by a mutant
    ledger      cache/scripts/*.lua
    performing  activities/step/performance.py and commit.py: an attempt
    resolving   activities/proof/effects.py and reconciling.py: a resolver
    keeping     replaywright/keeper/: gate, black box, and the file that survives its keeper
    page        the page that was acted in
    site        the website and the network to it
    protocol    workflows/: the run, with what may go wrong at any time, as long as `State.left` allows

An activity whose worker is lost goes on as a zombie: it may take its further steps at any time, or never. A worker
that was killed is one that never does, so there is no step of its own for that.
"""

from dataclasses import dataclass
from typing import NamedTuple

ROUNDS = 3
"""`policies.COMMIT_ROUNDS`: how often a step may be found absent after a dispatch before the run fails."""
UNDISPATCHED_ROUNDS = 5
"""`policies.UNDISPATCHED_ROUNDS`: how often nothing of a step may leave the browser before the run fails."""

ACTIVITIES = 10
"""More of them than any run needs; `policies.LOSSES_PER_STEP` ends it sooner."""


@dataclass(frozen=True)
class World:
    """What a step meets."""

    page: str = "prompt"
    """prompt: sends at the click. late: says that it is sent, and sends later. repeats: sends again by itself what was
    thrown away or failed. twice: sends at the click and once more; its step is irreversible. unloads: says that it is
    sent, and sends when it is left."""
    site_is_late: bool = False
    """Whether the site may take any time, and need not answer."""
    probe: bool = True
    """Whether the step declares how the site is asked; without it only a live page can tell."""
    stale: bool = False
    """Whether the page shows what is expected of the step before it already."""

    @property
    def irreversible(self) -> bool:
        """Whether a second effect is worse than a question."""
        return self.page == "twice"


class Faults(NamedTuple):
    """How many are left: in all, and of each kind."""

    total: int = 3
    loss: int = 2
    """The worker of the current activity is taken for dead: killed, frozen or cut off."""
    redis: int = 1
    """Redis comes back empty, or as it was after an earlier write."""
    keeper: int = 1
    """Keeper and browser die, with or without what it wrote, or cannot be reached from where the run goes on."""
    everything: int = 1
    """Workers, keepers, browsers and Redis die at once; Redis comes back as it was, or without its last write."""
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
    missed: int = 1
    """The element is gone when the input is to be given."""
    late: int = 1
    """The page takes longer than `late_ms`."""
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
    sent: bool = False
    """In resolution: that was DISPATCHED."""


NO_RECORD = Record()
EMPTIED = Record(epoch=-1)
"""No record, and nothing else of the lineage either: `_ledger_is_whole` in activities/proof/effects.py sees it."""


class Keeper(NamedTuple):
    """A keeper with its browser."""

    reachable: bool = True
    epoch: int = 0
    phase: str = "open"
    """open, armed, granted or refused (armed, and the ledger's answer is on its way), permitted, cut.

    asking: open to all but what equals a request of the operation.
    """
    operation: int = 0
    """Epoch of the latest arming."""
    left: bool = False
    """Black box: bytes have left since then, or are about to."""
    written: bool = False
    """Its file says so."""
    knows: bool = False
    """It has seen a request of the operation."""


class Left(NamedTuple):
    """What the run's keeper left behind when it died: the last lines of its file."""

    operation: int
    left: bool
    answered: bool


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
    sent: bool = False
    """That intent was DISPATCHED."""
    in_flight: bool = False
    """Something had left before SETTLE, and was not answered."""
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
        "file",
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
DOOMED = frozenset({"prepare", "arm", "dispatch", "confirm", "leave", "left"})
"""What an attempt without a browser cannot do."""
NOWHERE = -1
TO_COME = ("meant", "kept", "again")
PENDING = (*TO_COME, "browser", "held")
ON_ITS_WAY = frozenset({"browser", "held", "leaving", "flight", "working"})
SHOWN_LATER = ("ok unseen", "error unseen")
UNSEEN = ("leaving", "flight", "working", *SHOWN_LATER)
EFFECTIVE = frozenset({"ok unseen", "error unseen", "ok", "error"})
VISIBLE = frozenset({"ok", "error"})
WELL = frozenset({"ok", "ok unseen"})
ANSWERED = EFFECTIVE | {"refused"}
NOTHING = frozenset({"lost", "refused"})

Request = tuple[str, int]
"""Where a request is, and in which browser its answer is awaited:

meant (by a timer of the page), kept (until the page is left), again (to be repeated) → browser → held → leaving (the
keeper has written that it does) → flight → working (at a site that is late) → ok unseen → ok, or → error unseen → error
(took effect, answered by a 5xx); lost, refused.
"""


class State(NamedTuple):
    """Everything that matters of one moment."""

    run: str = "commit"
    """commit, resolve, person, ask again, leave; done, failed."""
    number: int = 1
    rounds: int = 0
    """Dispatches that were found absent."""
    undispatched: int = 0
    """Attempts of which nothing left the browser."""
    browser: int = 0
    attempts: tuple[Attempt, ...] = (Attempt(1, "prepare", 0),)
    record: Record = NO_RECORD
    saved: Record | None = None
    """What Redis may fall back to."""
    keepers: tuple[Keeper | None, ...] = (Keeper(),)
    file: Left | None = None
    """What can be read of the run's keeper after its death."""
    requests: tuple[Request, ...] = ()
    left: Faults = Faults()
    doubted: int = 0
    """Epoch of the attempt that is being resolved."""
    lost: bool = False
    shaken: bool = False
    """Whether Redis has lost anything: `witness` in activities/proof/effects.py sees it."""
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
