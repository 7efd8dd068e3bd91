"""A load as a team has it: runs come when they like, two workers do them, and by turns every fault of chaos strikes."""

import argparse
import asyncio
import random
import statistics
import time
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from playwright.async_api import Error as PlaywrightError
from temporalio.runtime import Runtime, TelemetryConfig

from bench.chaos.faults import FAULTS
from bench.chaos.lane import TOGETHER, Lane, serve
from bench.chaos.lanes import home_of, lanes_in
from bench.chaos.points import ALL_BEHAVIOURS, POINTS, Cell
from bench.chaos.points import programme as pairs_of
from bench.chaos.report import percentile
from bench.chaos.runs import SETTLED_S, TASK_FILE, Told, by_judge, ended, within
from bench.chromium import launched
from bench.message_site.behaviours import ALL as BEHAVIOURS
from bench.message_site.judge import Judge
from bench.message_site.log import Log
from bench.team.dashboards import dashboard
from bench.team.part import Figures, Tell, Wanted, count
from replaywright.cli.runs.follow import handle_of
from replaywright.cli.runs.starting import Order, start
from replaywright.cli.tasks.taskfile import read_task
from replaywright.domain.task.tasks import bind_parameters
from replaywright.errors import InputInvalid, RunExists, StackFailed
from replaywright.settings import Settings, load_settings
from replaywright.stack.services import settings_environment

STRUCK = tuple(name for name, point in POINTS.items() if not point.before and not point.learns)
"""Points at which a worker is stopped: those that any run comes to."""
_EVERY_S = (5.0, 20.0)
"""Pause between the end of a fault and the next one."""
_REACH_S = 180.0
_RUN_LIMIT_S = 600.0
_AGAIN_S = 1.0
WANTED: Mapping[str, Wanted] = {
    "load_done": "load_runs",
    **dict.fromkeys(("load_lost", "load_double", "load_misreported", "load_stuck"), 0),
}


@dataclass(frozen=True)
class Rush:
    """Runs, and the time in which they come."""

    runs: int = 200
    minutes: float = 60.0
    seed: int = 1
    pictures: Path | None = None
    """Folder for pictures of the dashboard after each fault; None: none is taken."""


@dataclass
class Shift:
    """One load: its lane, and what became of its runs and faults."""

    lane: Lane
    judge: Judge
    rush: Rush
    tell: Tell
    told: list[Told] = field(default_factory=list)
    struck: list[str] = field(default_factory=list)
    begun: float = field(default_factory=time.monotonic)

    async def work(self, address: str) -> None:
        """Let the runs come and the faults strike, until all runs have ended."""
        drawn = random.Random(self.rush.seed)
        times = sorted(drawn.uniform(0, self.rush.minutes * 60) for _ in range(self.rush.runs))
        faults = asyncio.create_task(self._faults(drawn, address))
        try:
            await asyncio.gather(*(self._run(number, at) for number, at in enumerate(times)))
        finally:
            faults.cancel()
        with suppress(asyncio.CancelledError):
            await faults
        await asyncio.sleep(SETTLED_S)
        for told in self.told:
            await self.judge.came(told.subject)
            told.presses = self.judge.presses(told.subject)

    # ------------------------------------------------------------------------------------------------------- runs

    async def _run(self, number: int, at: float) -> None:
        await asyncio.sleep(max(0.0, self.begun + at - time.monotonic()))
        behaviour = ALL_BEHAVIOURS[number % len(ALL_BEHAVIOURS)]
        cell = Cell("any", "any", BEHAVIOURS[behaviour], number, self.rush.seed)
        told = Told(cell, f"n-{number}-{uuid.uuid4().hex[:8]}", fired=True, status="stuck")
        given = {"base_url": self.judge.url, "subject": told.subject, "behaviour": behaviour, "wait": "0"}
        task = read_task(str(TASK_FILE))
        order = Order(task, bind_parameters(task, given), f"{task.task}/{told.subject}")
        begun = time.monotonic()
        with suppress(TimeoutError):
            async with asyncio.timeout(_RUN_LIMIT_S):
                await self._begun(order)
                handle = handle_of(self.lane.place.client, order.run_id)
                ending = await ended(handle)
                while ending.status == "waiting":
                    told.waited.append("" if ending.progress is None else ending.progress.waiting_for)
                    try:
                        ending = await by_judge(self.lane, self.judge, told.subject, ending, handle)
                    except (InputInvalid, StackFailed):  # it is not asked any more, or Temporal is away
                        ending = await ended(handle)
                told.status = "done" if ending.status == "done" else "failed"
                told.said = f"{ending.result.reason} {ending.result.message}"[:300]
        told.took_s = time.monotonic() - begun
        self.told.append(told)
        asked = f", asked: {told.waited}" if told.waited else ""
        said = f": {told.said}" if told.status != "done" else ""
        self.tell(
            f"{self._clock} {len(self.told):3} of {self.rush.runs}  {told.status} in {told.took_s:.0f} s{asked}{said}"
        )

    async def _begun(self, order: Order) -> None:
        """Start the run; while Temporal is away, again and again, as a caller does."""
        while True:
            try:
                await start(self.lane.place, order)
            except RunExists:
                return
            except StackFailed:
                await asyncio.sleep(_AGAIN_S)
            else:
                return

    @property
    def _clock(self) -> str:
        seconds = int(time.monotonic() - self.begun)
        return f"{seconds // 60:02}:{seconds % 60:02}"

    # ----------------------------------------------------------------------------------------------------- faults

    async def _faults(self, drawn: random.Random, address: str) -> None:
        """Strike, one fault after the other, until this is cancelled."""
        count = 0
        while True:
            count += 1
            for cell in pairs_of(self.rush.seed + count, len(STRUCK) * len(FAULTS), points=STRUCK):
                await asyncio.sleep(drawn.uniform(*_EVERY_S))
                await self._strike(cell, drawn)
                if address:
                    await self._pictured(address)

    async def _strike(self, cell: Cell, drawn: random.Random) -> None:
        lane = self.lane
        lane.freeze_file.write_text(POINTS[cell.point].order)
        try:
            stopped = await within(_REACH_S, lambda: not lane.freeze_file.exists() and lane.frozen() is not None)
            worker = lane.frozen()
            if not stopped or worker is None:
                self.tell(f"{self._clock} no run came to {cell.point}")
                return
            self.tell(f"{self._clock} {cell.fault} at {cell.point}")
            await FAULTS[cell.fault](lane, worker, drawn)
            self.struck.append(cell.fault)
        finally:
            lane.freeze_file.unlink(missing_ok=True)
            for each in lane.workers:
                each.thaw()
        await lane.fill_up()

    async def _pictured(self, address: str) -> None:
        assert self.rush.pictures is not None
        async with launched() as browser:
            page = await browser.new_page(viewport={"width": 1280, "height": 860})
            with suppress(PlaywrightError):  # what it shows while its servers are away is a page, too
                await page.goto(address)
                await page.wait_for_timeout(1000)
                await page.screenshot(path=str(self.rush.pictures / f"load-{len(self.struck):02}.png"))

    def figures(self) -> dict[str, int | float]:
        """Count."""
        took = [told.took_s for told in self.told]
        return {
            "load_runs": len(self.told),
            "load_done": sum(told.status == "done" for told in self.told),
            "load_lost": sum(told.is_lost for told in self.told),
            "load_double": sum(told.is_duplicate for told in self.told),
            "load_misreported": sum(told.is_misreported or told.is_false_success for told in self.told),
            "load_stuck": sum(told.status == "stuck" for told in self.told),
            "load_faults": len(self.struck),
            "load_waited": sum(bool(told.waited) for told in self.told),
            "load_median_s": round(statistics.median(took), 1),
            "load_p95_s": round(percentile(took, 0.95) or 0.0, 1),
            "load_minutes": round((time.monotonic() - self.begun) / 60, 1),
        }


def add_options(group: argparse._ArgumentGroup) -> None:
    """Add the options of this part."""
    group.add_argument("--load-runs", type=count, default=200, help="(default: %(default)s)")
    group.add_argument("--load-minutes", type=count, default=60, help="time in which they come (default: %(default)s)")
    group.add_argument(
        "--load-seed", type=count, default=1, help="decides what is left to chance (default: %(default)s)"
    )
    pictures = "folder for pictures of the dashboard after each fault (default: none is taken)"
    group.add_argument("--pictures", type=Path, metavar="FOLDER", help=pictures)


async def measured_by(given: argparse.Namespace, tell: Tell) -> Figures:
    """Have the load that the options name; return the figures."""
    quiet = Runtime(telemetry=TelemetryConfig(logging=None))  # a server that is killed is no news here
    Runtime.set_default(quiet, error_if_already_set=False)
    rush = Rush(given.load_runs, given.load_minutes, given.load_seed, given.pictures)
    return await measured(rush, load_settings(), tell)


async def measured(rush: Rush, settings: Settings, tell: Tell) -> dict[str, int | float]:
    """Have a load of runs and faults done by two workers; return the figures.

    Raises:
        StackFailed: a server or a worker did not come up.
    """
    given = settings.model_copy(update={"model": None})
    with home_of("load", None) as home:
        log = Log(home / "site.jsonl")
        arguments = ("--log", str(log.path), "--seed", str(rush.seed))
        child, url = await serve("site", "bench.message_site.site", *arguments, log=home / "site.log")
        try:
            async with lanes_in(home, given, 1, TOGETHER) as (lane,), _watched(lane, rush) as address:
                shift = Shift(lane, Judge(url, log), rush, tell)
                await shift.work(address)
                return shift.figures()
        finally:
            await child.stop()


@asynccontextmanager
async def _watched(lane: Lane, rush: Rush) -> AsyncIterator[str]:
    """Serve the dashboard if pictures of it are wanted; yield its address."""
    if rush.pictures is None:
        yield ""
        return
    rush.pictures.mkdir(parents=True, exist_ok=True)
    async with dashboard(settings_environment(lane.settings), lane.home / "log" / "dashboard.log") as address:
        yield address
