"""The programme in lanes side by side: each takes the next run as soon as it is free."""

import asyncio
import contextlib
import shutil
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.chaos.judge import Log
from bench.chaos.lane import TOGETHER, Lane, serve
from bench.chaos.points import POINTS, Cell
from bench.chaos.runs import ChaosFailed, Site, Told, Trial, learn
from replaywright.settings import Settings

Tell = Callable[[str], None]


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

    async def run(self) -> list[Told]:
        """All of it; what was made so far stays in `told` when it is cancelled.

        Raises:
            ChaosFailed: a run without a fault failed.
            StackFailed: a server or a worker did not come up.
        """
        home = self.keep or Path(tempfile.mkdtemp(prefix="replaywright-chaos-"))
        home.mkdir(parents=True, exist_ok=True)
        try:
            await self._in(home)
        finally:
            if self.keep is None:
                shutil.rmtree(home, ignore_errors=True)
        return self.told

    async def _in(self, home: Path) -> None:
        log = Log(home / "judge.jsonl")
        seed = str(self.cells[0].seed)
        judge, url = await serve(
            "judge", "bench.chaos.judge", "--log", str(log.path), "--seed", seed, log=home / "judge.log"
        )
        site = Site(url, log)
        try:
            async with contextlib.AsyncExitStack() as exits:
                count = min(self.lanes, len(self.cells))
                given = self.settings.model_copy(update={"temporal_address": None, "redis_url": None})
                lanes = [Lane(number, home, given, self.roles) for number in range(1, count + 1)]
                await asyncio.gather(*(exits.enter_async_context(lane) for lane in lanes))
                await asyncio.gather(*(learn(lane, site, f"learn-{lane.number}") for lane in lanes))
                begun = time.monotonic()
                queue = iter(enumerate(self.cells, 1))
                async with asyncio.TaskGroup() as group:
                    for lane in lanes:
                        group.create_task(self._served(lane, site, queue, begun))
            for one in self.told:  # what came late counts too
                one.sends = site.sends(one.subject)
        except BaseExceptionGroup as several:
            raise several.exceptions[0] from several
        finally:
            await judge.stop()

    async def _served(self, lane: Lane, site: Site, queue: "Iterator[tuple[int, Cell]]", begun: float) -> None:
        for number, cell in queue:
            await lane.fill_up(spare=int(bool(POINTS[cell.point].before)))
            trial = Trial(lane, site, cell, f"n-{number}-{uuid.uuid4().hex[:8]}")
            told = await trial.run()
            lane.end_browsers()
            self.told.append(told)
            self.seconds = time.monotonic() - begun
            self._report(told)

    def _report(self, told: Told) -> None:
        cell = told.cell
        recovery = "" if told.recovery_s is None else f", next step after {told.recovery_s:.1f} s"
        self.tell(
            f"{len(self.told):4}/{len(self.cells)}  {cell.point} × {cell.fault}: {told.verdict} "
            f"({told.took_s:.1f} s{recovery})"
        )
        if told.is_bad or told.waited:
            for line in (*told.waited, told.said):
                if line.strip():
                    self.tell(f"           {told.subject}: {line.strip()}")


__all__ = ["ChaosFailed", "Programme"]
