"""The programme in lanes side by side: each takes the next group of runs, learns a behaviour, and meets its faults."""

import asyncio
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.chaos.lane import TOGETHER, Lane, serve
from bench.chaos.lanes import Tell, home_of, lanes_in, shared_out
from bench.message_site.judge import Judge
from bench.message_site.log import Log
from bench.truth.cells import Cell
from bench.truth.tasks import REAL, Pace
from bench.truth.trials import Told, Trial
from replaywright.settings import Settings


@dataclass
class Programme:
    """Runs that are to be made, in groups that learn a behaviour first, and what became of those that were."""

    groups: Sequence[Sequence[Cell]]
    settings: Settings
    lanes: int = 4
    tell: Tell = print
    pace: Pace = REAL
    keep: Path | None = None
    """Where everything is kept that the programme leaves behind; None: nothing is."""
    told: list[Told] = field(default_factory=list)
    seconds: float = 0.0
    left_out: int = 0
    """Faults of tasks with `tier: requests` that have to be done by their page: the programme has these without."""

    @property
    def planned(self) -> int:
        """How many runs are to be made."""
        return sum(len(group) for group in self.groups) - self.left_out

    async def run(self, lanes: Sequence[Lane] = ()) -> list[Told]:
        """Make all runs, in these lanes or in own ones; `told` keeps the finished runs when this is cancelled.

        Raises:
            StackFailed: a server or a worker did not come up.
        """
        with home_of("truth", self.keep) as home:
            if lanes:
                await self._in(home, lanes)
                return self.told
            count = min(self.lanes, len(self.groups))
            async with lanes_in(home, self.settings, count, TOGETHER) as own:
                await self._in(home, own)
        return self.told

    async def _in(self, home: Path, lanes: Sequence[Lane]) -> None:
        log = Log(home / "truth.jsonl")
        child, url = await serve("site", "bench.message_site.site", "--log", str(log.path), log=home / "site.log")
        judge = Judge(url, log)
        try:
            begun = time.monotonic()

            async def one(lane: Lane, group: Sequence[Cell]) -> None:
                has_page = False
                for cell in group:
                    if has_page and cell.point:
                        self.left_out += 1
                        continue
                    told = await self._run(lane, judge, cell)
                    if not cell.point:
                        has_page = cell.by_requests and not told.without_page
                    self.seconds = time.monotonic() - begun
                    self._report(told)

            await shared_out(lanes, self.groups, one)
            for told in self.told:  # what came late counts too
                await asyncio.wait_for(judge.came(told.subject), told.cell.behaviour.site.before_s + 1)
                told.presses = judge.presses(told.subject)
        finally:
            await child.stop()

    async def _run(self, lane: Lane, judge: Judge, cell: Cell) -> Told:
        await lane.fill_up()
        told = await Trial(lane, judge, cell, self.pace, f"n-{uuid.uuid4().hex[:12]}").run()
        lane.end_browsers()
        self.told.append(told)
        return told

    def _report(self, told: Told) -> None:
        done = f"{len(self.told):4} of {self.planned}, {self.seconds / 60:.1f} min"
        self.tell(f"{done}  {told.cell.name}: {told.verdict} ({told.took_s:.1f} s)")
        if told.faults or told.asked or told.cell.by_requests:
            pressed = f"stored, by press: {', '.join(told.presses)}" if told.is_duplicate else ""
            for line in (*told.asked, *told.needless, *told.warnings, pressed, told.said):
                if line.strip():
                    self.tell(f"           {told.subject}: {line.strip()}")
