"""The programme in lanes side by side: each takes the next run as soon as it is free."""

import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.chaos.lane import TOGETHER, Lane, serve
from bench.chaos.lanes import Tell, home_of, lanes_in, shared_out
from bench.chaos.points import POINTS, Cell
from bench.chaos.runs import Told, Trial
from bench.message_site.judge import Judge
from bench.message_site.log import Log
from replaywright.settings import Settings


@dataclass
class Programme:
    """Runs that are to be made, and what became of those that were."""

    cells: Sequence[Cell]
    settings: Settings
    lanes: int = 3
    tell: Tell = print
    roles: Sequence[str] = TOGETHER
    keep: Path | None = None
    """Where everything is kept that the programme leaves behind; None: nothing is."""
    told: list[Told] = field(default_factory=list)
    seconds: float = 0.0

    async def run(self, lanes: Sequence[Lane] = ()) -> list[Told]:
        """Make all runs, in these lanes or in own ones; `told` keeps the finished runs when this is cancelled.

        Raises:
            ChaosFailed: a run without a fault failed.
            StackFailed: a server or a worker did not come up.
        """
        with home_of("chaos", self.keep) as home:
            if lanes:
                await self._in(home, lanes)
                return self.told
            count = min(self.lanes, len(self.cells))
            async with lanes_in(home, self.settings, count, self.roles) as own:
                await self._in(home, own)
        return self.told

    async def _in(self, home: Path, lanes: Sequence[Lane]) -> None:
        log = Log(home / "site.jsonl")
        arguments = ("--log", str(log.path), "--seed", str(self.cells[0].seed))
        child, url = await serve("site", "bench.message_site.site", *arguments, log=home / "site.log")
        judge = Judge(url, log)
        try:
            begun = time.monotonic()

            async def one(lane: Lane, numbered: tuple[int, Cell]) -> None:
                await self._run(lane, judge, *numbered)
                self.seconds = time.monotonic() - begun

            await shared_out(lanes, enumerate(self.cells, 1), one)
            for told in self.told:  # what came late counts too
                told.presses = judge.presses(told.subject)
        finally:
            await child.stop()

    async def _run(self, lane: Lane, judge: Judge, number: int, cell: Cell) -> None:
        await lane.fill_up(spare=int(bool(POINTS[cell.point].before)))
        told = await Trial(lane, judge, cell, f"n-{number}-{uuid.uuid4().hex[:8]}").run()
        lane.end_browsers()
        self.told.append(told)
        self._report(told)

    def _report(self, told: Told) -> None:
        recovery = "" if told.recovery_s is None else f", next step after {told.recovery_s:.1f} s"
        self.tell(
            f"{len(self.told):4}/{len(self.cells)}  {told.cell.name}: {told.verdict} ({told.took_s:.1f} s{recovery})"
        )
        if told.is_bad or told.waited:
            for line in (*told.waited, told.said):
                if line.strip():
                    self.tell(f"           {told.subject}: {line.strip()}")
