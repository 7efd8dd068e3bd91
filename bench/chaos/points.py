"""The points of a run at which a worker is stopped, and the programme: which point meets which fault and page when."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from bench.chaos.faults import FAULTS
from bench.message_site.behaviours import ALL as BEHAVIOURS
from bench.message_site.behaviours import Behaviour
from replaywright.killpoints import POINTS as OF_STEP
from replaywright.killpoints import RUN_POINTS

FIRST, FILL, SEND = 1, 2, 3
"""Indexes of steps of the task."""


@dataclass(frozen=True)
class Point:
    """Where a worker stops."""

    name: str
    compiled: str
    """The name that it has in the product."""
    says: str
    sequence: int | None = SEND
    """The step; None for a point of the run."""
    before: tuple[str, ...] = ()
    """What has to be lost first, one of these: `worker@point:step`, `keeper@point:step`."""
    until_sent: bool = False
    """The fault waits until the judge has the message."""
    delay_ms: int = 0
    """What the page lets pass, at least, between the press and its request."""
    learns: bool = False
    """The run asks the model for every element."""

    @property
    def order(self) -> str:
        """What the freeze file says."""
        return self.compiled if self.sequence is None else f"{self.compiled}:{self.sequence}"

    def __post_init__(self) -> None:
        assert self.compiled in (OF_STEP if self.sequence is not None else RUN_POINTS), self.compiled


_LOST_IN_STEP = ("worker@intended:3", "worker@held:3", "worker@dispatched:3", "worker@permitted:3", "worker@acted:3")
POINTS = {
    point.name: point
    for point in (
        Point("located", "located", "before the intent"),
        Point("intended", "intended", "after the intent, before input"),
        Point("given", "given", "after input, before bytes", delay_ms=700),
        Point("held", "held", "bytes held, before the permit"),
        Point("dispatched", "dispatched", "permit granted, before bytes"),
        Point("bytes_out", "permitted", "bytes out, before the response", until_sent=True),
        Point("acted", "acted", "response seen, before the record"),
        Point("recorded", "recorded", "record written, before return"),
        Point("returned", "returned", "after return, before the server has it"),
        Point("resolving", "resolving", "in the resolver", before=_LOST_IN_STEP),
        Point(
            "adopting",
            "adopting",
            "adopting the live browser",
            sequence=None,
            before=("worker@start:1", f"worker@acted:{FILL}", "worker@located:3"),
        ),
        Point(
            "rebuilding",
            "rebuilding",
            "rebuilding a lost browser",
            sequence=None,
            before=("keeper@start:1", f"keeper@acted:{FILL}", "keeper@start:3"),
        ),
        Point("fill_begun", "start", "in a step that may be repeated, nothing done", sequence=FILL),
        Point("fill_acted", "acted", "in a step that may be repeated, after its input", sequence=FILL),
        Point("fill_returned", "returned", "after a step that may be repeated, before it is told", sequence=FILL),
        Point("promoting", "promoting", "making active what was learned", sequence=None),
        Point("proposing", "proposing", "a model call was paid", sequence=FIRST, learns=True),
    )
}
ALL_POINTS, ALL_FAULTS = tuple(POINTS), tuple(FAULTS)
ALL_BEHAVIOURS = ("form", "fetch", "late-2-5", "retries", "twice", "beacon-on-leaving", "accepts-after-4")
"""Those of the site's that matter most: two that are as they should be; sent late; sent again after a cut; sent twice;
sent when the page is left; stored and answered late by the site."""


@dataclass(frozen=True)
class Cell:
    """One run of the programme."""

    point: str
    fault: str
    behaviour: Behaviour
    """What the page and the site do with what is sent."""
    round: int
    """How often the programme had this point and fault before."""
    seed: int

    @property
    def name(self) -> str:
        """How it reads in a line."""
        return f"{self.point} × {self.fault} × {self.behaviour.name}"

    @property
    def drawn(self) -> random.Random:
        """Everything that is left to chance in this run."""
        return random.Random(f"{self.seed}/{self.point}/{self.fault}/{self.round}")


def programme(
    seed: int,
    runs: int,
    *,
    points: Sequence[str] = ALL_POINTS,
    faults: Sequence[str] = ALL_FAULTS,
    behaviours: Sequence[str] = ALL_BEHAVIOURS,
) -> list[Cell]:
    """So many runs: every point and every fault first, then every pair, then all of it again.

    The behaviours take turns along the points and along the faults: each meets all of both, and a pair meets another
    one in each turn.
    """
    drawn = random.Random(seed)
    cells: list[Cell] = []
    for turn in range(-(-runs // (len(points) * len(faults)))):
        for point, fault in _pairs(drawn, points, faults):
            at = seed + turn + ALL_POINTS.index(point) + ALL_FAULTS.index(fault)
            cells.append(Cell(point, fault, BEHAVIOURS[behaviours[at % len(behaviours)]], turn, seed))
    return cells[:runs]


def _pairs(drawn: random.Random, points: Sequence[str], faults: Sequence[str]) -> list[tuple[str, str]]:
    """All pairs in an order in which any `max(points, faults)` in a row from the start have each of both."""
    rows, columns = drawn.sample(points, len(points)), drawn.sample(faults, len(faults))
    swapped = len(columns) > len(rows)
    longer, shorter = (columns, rows) if swapped else (rows, columns)
    pairs = [
        (one, shorter[(at + shift) % len(shorter)]) for shift in range(len(shorter)) for at, one in enumerate(longer)
    ]
    return [(second, first) for first, second in pairs] if swapped else pairs


def known(kind: str, given: str, choices: Sequence[str]) -> tuple[str, ...]:
    """The names in a comma-separated list, all of them for an empty one.

    Raises:
        ValueError: one is unknown.
    """
    names = tuple(filter(None, (part.strip() for part in given.split(","))))
    if unknown := [name for name in names if name not in choices]:
        raise ValueError(f"--{kind}s: {unknown[0]!r} is no {kind}; there are {', '.join(choices)}")
    return tuple(dict.fromkeys(names)) or tuple(choices)
