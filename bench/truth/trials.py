"""One run: start it, strike, answer as the person who is asked, let the site come to rest, and judge."""

import asyncio
import contextlib
import dataclasses
import itertools
import time
from dataclasses import dataclass, field
from typing import Any, Literal

from temporalio.client import WorkflowHandle
from temporalio.service import RPCError

from bench.chaos.lane import Lane, Served
from bench.chaos.runs import REACH_LIMIT_S, SETTLED_S, ended, within
from bench.message_site.judge import Judge
from bench.truth.cells import NONE, Cell, strike
from bench.truth.tasks import Pace, task_of
from replaywright.cli.people.updates import decide
from replaywright.cli.runs.follow import Ending, handle_of
from replaywright.cli.runs.starting import Order, start
from replaywright.cli.servers.connect import Backend
from replaywright.domain.requests.commands import WITHOUT_PAGE, is_sampled
from replaywright.domain.run.commit_requests import PersonVerdict
from replaywright.domain.run.runs import Progress, RunResult
from replaywright.domain.session.commit_gate import GateSeen
from replaywright.errors import InputInvalid, ReplaywrightError, StackFailed
from replaywright.keeper.host.client import KeeperClient

Status = Literal["done", "failed", "stuck"]
_ASKED_AT_MOST = 4
"""A person who was asked so often gives up."""


@dataclass
class Told:
    """What became of one run."""

    cell: Cell
    subject: str
    fired: bool = False
    status: Status = "stuck"
    presses: tuple[str, ...] = ()
    """The press that each submission came of which the site has."""
    asked: list[str] = field(default_factory=list)
    """What a person was asked."""
    needless: list[str] = field(default_factory=list)
    """Why nobody would have had to be asked."""
    says_done: bool = False
    """The result says of its step with consequences that it was done."""
    warnings: tuple[str, ...] = ()
    hits: int = 0
    """Elements that were found as recorded."""
    without_page: bool = False
    """True if it was done without a page, or a fault struck when no page had been opened."""
    took_s: float = 0.0
    said: str = ""
    """What the run says of its end."""

    @property
    def stored(self) -> int:
        """How many submissions the site has."""
        return len(self.presses)

    @property
    def is_false_done(self) -> bool:
        """Reported as done, and the site has nothing."""
        return self.status == "done" and not self.stored

    @property
    def is_duplicate(self) -> bool:
        """The site has what more than one press sent, or more than the page itself sends for one."""
        return self.cell.behaviour.is_doubled(self.presses, self.warnings)

    @property
    def is_untold(self) -> bool:
        """The page itself has sent more than once, the keeper that saw it lives, and the run does not say so."""
        warns = self.cell.behaviour.warns
        if not warns or self.status != "done" or self.stored < 2 or self.cell.fault not in (NONE, "worker"):
            return False
        return not any(warning.startswith(warns) for warning in self.warnings)

    @property
    def is_lost(self) -> bool:
        """Ended without having sent what could be sent: no fault of the programme is a reason to give up."""
        return self.status == "failed" and not self.stored and self.cell.behaviour.stores

    @property
    def is_misreported(self) -> bool:
        """Reported as failed, and the site has it.

        Where the site leaves no page on which the run could be verified, it is enough to say that the step was done.
        """
        is_told = self.says_done and self.cell.behaviour.ends_nowhere
        return self.status == "failed" and self.stored > 0 and not is_told

    @property
    def faults(self) -> tuple[str, ...]:
        """Which promises it breaks, in words."""
        named = {
            "NOT FIRED": not self.fired,
            "FALSE DONE": self.is_false_done,
            "DUPLICATE": self.is_duplicate,
            "NOT TOLD": self.is_untold,
            "LOST": self.is_lost,
            "MISREPORTED": self.is_misreported,
            "STUCK": self.status == "stuck",
            "ASKED NEEDLESSLY": bool(self.needless),
        }
        return tuple(name for name, holds in named.items() if holds)

    @property
    def verdict(self) -> str:
        """In a word or two."""
        manner = ", without a page" if self.without_page else ""
        ended = f"{self.status}, {self.stored} stored{manner}" + (", asked" if self.asked else "")
        return ", ".join((*self.faults, ended))


class Trial:
    """One run of the programme."""

    def __init__(self, lane: Lane, judge: Judge, cell: Cell, pace: Pace, subject: str) -> None:
        self._lane = lane
        self._judge = judge
        self._cell = cell
        self._pace = pace
        self.told = Told(cell, subject, fired=not cell.point)

    async def run(self) -> Told:
        """From the start to the site's word; what it killed is started again by the lane."""
        told, lane, cell = self.told, self._lane, self._cell
        if cell.behaviour.decoy:
            await self._judge.plant("fetch", f"{told.subject}3")
        task = task_of(cell.behaviour, self._pace, by_requests=cell.by_requests)
        values = {"base_url": self._judge.url, "subject": told.subject}
        ids = (f"{lane.settings.task_queue}-{told.subject}-{number}" for number in itertools.count())
        order = Order(task, values, next(run_id for run_id in ids if not is_sampled(run_id)))
        handle = handle_of(lane.place.client, order.run_id)
        begun = time.monotonic()
        try:
            async with asyncio.timeout(self._pace.limit_s):
                await self._struck(order, handle)
        except TimeoutError:
            told.status = "stuck"
            with contextlib.suppress(RPCError):
                await handle.terminate("the programme goes on")
        finally:
            lane.freeze_file.unlink(missing_ok=True)
            for worker in lane.workers:
                worker.thaw()
        told.took_s = time.monotonic() - begun
        await asyncio.gather(asyncio.sleep(SETTLED_S), self._judge.came(told.subject), lane.fill_up())
        told.presses = self._judge.presses(told.subject)
        return told

    @property
    def _place(self) -> Backend:
        """Where the run is started: a first run belongs to a tenant for whom nothing was learned."""
        place, cell = self._lane.place, self._cell
        if not (cell.is_first and cell.point):
            return place
        settings = place.settings.model_copy(update={"tenant": self.told.subject})
        return dataclasses.replace(place, settings=settings, served_by=place.queue)

    async def _struck(self, order: Order, handle: WorkflowHandle[Any, RunResult]) -> None:
        """Start the run, strike at the point if it comes to it, and follow it to its end."""
        lane, cell = self._lane, self._cell
        if cell.point:
            lane.freeze_file.write_text(f"{cell.point}:{cell.behaviour.sequence}")
        await start(self._place, order)
        following = asyncio.create_task(self._followed(handle))
        try:
            if cell.point and (worker := await self._reached(following)) is not None:
                self.told.fired = True
                self.told.without_page = cell.by_requests and all(one.is_spare for one in lane.sessions())
                await strike(cell.fault, lane, worker, cell.drawn)
            await following
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)

    async def _reached(self, following: "asyncio.Task[None]") -> Served | None:
        """The worker that has stopped itself at the point; None if the run ends, or takes too long, before it does."""
        site = self._cell.behaviour.site
        limit_s = REACH_LIMIT_S + self._pace.late_ms / 1000 + site.before_s + site.after_s
        await within(limit_s, lambda: following.done() or self._lane.frozen() is not None)
        return self._lane.frozen()

    async def _followed(self, handle: WorkflowHandle[Any, RunResult]) -> None:
        told = self.told
        ending = await ended(handle)
        while ending.status == "waiting":
            assert ending.progress is not None
            await self._answered(ending.progress, handle)
            ending = await ended(handle)
        told.status = "done" if ending.status == "done" else "failed"
        told.said = f"{ending.result.reason} {ending.result.message}"[:400]
        told.says_done = any(line.state == "done" for line in ending.result.commits)
        told.warnings, told.hits = _warnings(ending), ending.result.totals.hits
        told.without_page |= ending.result.note == WITHOUT_PAGE

    async def _answered(self, progress: Progress, handle: WorkflowHandle[Any, RunResult]) -> None:
        """Answer what the site has, as soon as it is at rest."""
        told = self.told
        told.asked.append(progress.waiting_for)
        if why := await self._needless():
            told.needless.append(why)
        await self._judge.came(told.subject)
        wanted = "done" if self._judge.presses(told.subject) else "not_done"
        if wanted not in progress.answers or len(told.asked) > _ASKED_AT_MOST:
            wanted = "abandon"
        verdict = PersonVerdict.model_validate(
            {"sequence": progress.step, "verdict": wanted, "who": "the programme", "why": "what the site has"}
        )
        with contextlib.suppress(
            InputInvalid, StackFailed
        ):  # the worker is gone, or the run waits no more: asked again
            await decide(self._place, handle.id, verdict)

    async def _needless(self) -> str:
        """Why nobody would have had to be asked at this moment; empty if there is no such reason."""
        behaviour, subject = self._cell.behaviour, self.told.subject
        if behaviour.probe and self._judge.presses(subject):
            return "the site shows it"
        operations = await self._operations()
        nothing_left = all(one.bytes_up == 0 and one.phase in ("armed", "cut") for one in operations)
        if operations and nothing_left and not await self._judge.came(subject):
            return "the black box knows that nothing left"
        return ""

    async def _operations(self) -> list[GateSeen]:
        """What the living keepers of this run remember of the gate."""
        found: list[GateSeen] = []
        for session in self._lane.sessions():
            if session.is_spare:
                continue
            with contextlib.suppress(ReplaywrightError):  # it ended in the meantime
                async with await KeeperClient.connect(session.socket_path) as keeper:
                    found += (await keeper.black_box()).operations
        return found


def _warnings(ending: Ending) -> tuple[str, ...]:
    """All that the run warns of, as a whole and at its steps."""
    lines = () if ending.progress is None else ending.progress.lines
    return (*ending.result.warnings, *(warning for line in lines for warning in line.warnings))
