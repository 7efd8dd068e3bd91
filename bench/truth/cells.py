"""The runs of the programme: which behaviour meets which fault at which point, on a first run or on a replay."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from bench.chaos.faults import FAULTS
from bench.chaos.lane import Lane, Served
from bench.truth.behaviours import ALL, Behaviour

NONE = "none"
CHOICES = (NONE, "worker", "browser", "everything")
"""browser: worker, keeper and browser at once; everything: Redis and Temporal as well."""
STRUCK = (
    ("late-2-5", "worker", "given"),
    ("beacon-on-leaving", "worker", "intended"),
    ("service-worker-retries", "worker", "held"),
    ("retries", "browser", "held"),
    ("sending", "worker", "dispatched"),
    ("accepts-after-4", "browser", "permitted"),
    ("twice", "worker", "permitted"),
    ("own-beacons-fill", "worker", "acted"),
    ("contained", "browser", "located"),
    ("outbox-local", "everything", "permitted"),
    ("outbox-indexed", "worker", "armed"),
    ("cut", "worker", "acted"),
    ("keepalive", "everything", "recorded"),
)
"""What the short form has with a fault: every fault, and every point."""


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

    @property
    def name(self) -> str:
        """How it reads in a line."""
        struck = f" × {self.fault} at {self.point}" if self.point else ""
        return f"{self.behaviour.name}{struck}, {'first' if self.is_first else 'replay'}"

    @property
    def drawn(self) -> random.Random:
        """Everything that is left to chance in this run."""
        return random.Random(f"{self.seed}/{self.name}")


def whole(seed: int, names: Sequence[str], faults: Sequence[str], points: Sequence[str]) -> list[list[Cell]]:
    """Per behaviour: a first run and a replay without a fault, then every fault at every point that it comes to."""

    def is_first(behaviour: Behaviour, fault: str, point: str) -> bool:
        return random.Random(f"{seed}/{behaviour.name}/{fault}/{point}").random() < 0.5

    programme = []
    for behaviour in (ALL[name] for name in names):
        cells = [Cell(behaviour, NONE, "", first, seed) for first in (True, False) if NONE in faults]
        reached = [point for point in points if point in behaviour.points]
        for fault in (one for one in faults if one != NONE):
            cells += [Cell(behaviour, fault, point, is_first(behaviour, fault, point), seed) for point in reached]
        programme.append(cells)
    return [cells for cells in programme if cells]


def short(seed: int) -> list[list[Cell]]:
    """Every behaviour that is not long once without a fault, and replays of some with one."""
    programme = []
    for behaviour in (one for one in ALL.values() if not one.is_long):
        struck = [Cell(behaviour, fault, point, False, seed) for name, fault, point in STRUCK if name == behaviour.name]
        programme.append([Cell(behaviour, NONE, "", True, seed), *struck])
    return sorted(programme, key=len, reverse=True)  # what takes long is begun first
