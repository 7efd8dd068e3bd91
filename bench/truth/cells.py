"""The runs of the programme: which behaviour meets which fault at which point, on a first run or on a replay."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from bench.chaos.faults import FAULTS
from bench.chaos.lane import Lane, Served
from bench.message_site.behaviours import ALL, BEFORE_INTENT, GATE, Behaviour

NONE = "none"
CHOICES = (NONE, "worker", "browser", "everything")
"""browser: worker, keeper and browser at once; everything: Redis and Temporal as well."""
TIER_POINTS = ("intended", "dispatched", "acted", "recorded")
"""Those of a request that is sent without a page."""
TIER_CHOICES = (NONE, *sorted(FAULTS, key=lambda name: name == "redis_flushed"))
"""What forgets the requests comes last."""
_THIRD = 3
_TOGETHER = 11
"""Runs of a behaviour, at most, that one lane makes one after the other."""
STRUCK = (
    ("late-2-5", "worker", "given"),
    ("beacon-on-leaving", "worker", "intended"),
    ("service-worker-retries", "worker", "held"),
    ("sending", "worker", "dispatched"),
    ("contained", "browser", "located"),
    ("outbox-local", "everything", "permitted"),
    ("outbox-indexed", "worker", "armed"),
    ("cut", "browser", "acted"),
    ("keepalive", "worker", "recorded"),
)
"""What the short form has with a fault: every fault, and every point."""
ALIKE = (
    "form",
    "late-5",
    "own-beacons-fill",
    "contained-nothing",
    "cut-fetch",
    "error-500",
    "error-504",
    "answers-after-8",
    "fetch",
    *(name for name in ALL if name.endswith("-blind") and name not in ("cut-blind", "nothing-blind")),
)
"""Behaviours that the short form leaves out: others of it have their page, their ending, and a site as patient."""


async def strike(fault: str, lane: Lane, worker: Served, drawn: random.Random) -> None:
    """Do it to the worker that has stopped itself, and return when all is there again."""
    match fault:
        case "worker":
            worker.kill(group=True)
        case "browser":
            worker.kill(group=True)
            lane.kill_browsers()
        case _:
            await FAULTS[fault](lane, worker, drawn)


@dataclass(frozen=True)
class Cell:
    """One run."""

    behaviour: Behaviour
    fault: str
    point: str
    """Where the worker stops; empty without a fault."""
    is_first: bool
    """Nothing is known of the page; else what the behaviour's first run has learned is replayed."""
    seed: int
    by_requests: bool = False
    """The task says `tier: requests`."""

    @property
    def name(self) -> str:
        """How it reads in a line."""
        struck = f" × {self.fault} at {self.point}" if self.point else ""
        tier = ", tier: requests" if self.by_requests else ""
        return f"{self.behaviour.name}{struck}, {'first' if self.is_first else 'replay'}{tier}"

    @property
    def drawn(self) -> random.Random:
        """Everything that is left to chance in this run."""
        return random.Random(f"{self.seed}/{self.name}")


def whole(seed: int, names: Sequence[str], faults: Sequence[str], points: Sequence[str]) -> list[list[Cell]]:
    """Groups of runs, each of one behaviour: a first run without a fault, which later ones of the group replay.

    Then come a replay without a fault, and each fault at the points that `_met` names; what takes long comes first.
    """

    def is_first(behaviour: Behaviour, fault: str, point: str) -> bool:
        return random.Random(f"{seed}/{behaviour.name}/{fault}/{point}").random() < 0.5

    groups = []
    for behaviour in (ALL[name] for name in names):
        rest = [Cell(behaviour, NONE, "", False, seed)] if NONE in faults else []
        for fault in (one for one in faults if one != NONE):
            met = [point for point in points if _met(behaviour, fault, point, seed)]
            rest += [Cell(behaviour, fault, point, is_first(behaviour, fault, point), seed) for point in met]
        first = Cell(behaviour, NONE, "", True, seed)
        groups += [[first, *rest[at : at + _TOGETHER]] for at in range(0, len(rest), _TOGETHER)]
    return sorted(groups, key=lambda group: (group[0].behaviour.is_long, len(group)), reverse=True)


def _met(behaviour: Behaviour, fault: str, point: str, seed: int) -> bool:
    """Whether the fault is tried at this point of the behaviour.

    Without the browser an armed gate is as none: the points before the intent take turns. Servers that come back from
    their files have what they had, whatever the page does: with them a browser is killed when bytes are out (of a page
    that sends none: at its last point), and at a third of the other points, again by turns.
    """
    turn = seed + list(ALL).index(behaviour.name)
    match fault:
        case "browser" if point in BEFORE_INTENT:
            is_tried = point == BEFORE_INTENT[turn % len(BEFORE_INTENT)]
        case "everything" if point != ("permitted" if "permitted" in behaviour.points else behaviour.points[-1]):
            is_tried = (turn + GATE.index(point)) % _THIRD == 0
        case _:
            is_tried = True
    return is_tried and point in behaviour.points


def by_requests(seed: int, names: Sequence[str], faults: Sequence[str], points: Sequence[str]) -> list[list[Cell]]:
    """Groups of runs of tasks with `tier: requests`: two by the page, which show the requests, then those without one.

    Each fault strikes once in a behaviour, at a point by turns.
    """

    def cell(fault: str, point: str, *, is_first: bool = False) -> Cell:
        return Cell(behaviour, fault, point, is_first, seed, by_requests=True)

    groups = []
    for behaviour in (ALL[name] for name in names):
        met = [point for point in TIER_POINTS if point in behaviour.points]
        turn = seed + list(ALL).index(behaviour.name)
        struck = [cell(fault, met[(turn + at) % len(met)]) for at, fault in enumerate(TIER_CHOICES[1:]) if met]
        struck = [one for one in struck if one.fault in faults and one.point in points]
        groups.append([cell(NONE, "", is_first=True), cell(NONE, ""), cell(NONE, ""), *struck])
    return sorted(groups, key=lambda group: (group[0].behaviour.is_long, len(group)), reverse=True)


def part_of(groups: Sequence[list[Cell]], part: int, parts: int) -> list[list[Cell]]:
    """The groups of one part, counted from 1; all parts together are the whole."""
    return list(groups[part - 1 :: parts])


def short(seed: int) -> list[list[Cell]]:
    """Every kind of behaviour that is not long once without a fault, and replays of some with one."""
    programme = []
    for behaviour in (one for one in ALL.values() if not one.is_long and one.name not in ALIKE):
        struck = [Cell(behaviour, fault, point, False, seed) for name, fault, point in STRUCK if name == behaviour.name]
        programme.append([Cell(behaviour, NONE, "", True, seed), *struck])
    programme += by_requests(seed, ("form", "fetch"), ("worker", "keeper"), TIER_POINTS)
    return sorted(programme, key=len, reverse=True)  # what takes long is begun first
