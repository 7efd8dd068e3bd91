"""One run of the programme: start it, stop a worker at the point, strike, follow it to its end, ask the judge."""

import asyncio
import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from temporalio.client import WorkflowHandle
from temporalio.service import RPCError

from bench.chaos.faults import FAULTS
from bench.chaos.lane import Lane, Served
from bench.chaos.points import POINTS, Cell, Point
from bench.message_site.judge import Judge
from replaywright.cli.people.updates import decide
from replaywright.cli.runs.follow import Ending, follow, handle_of
from replaywright.cli.runs.starting import Order, start
from replaywright.cli.tasks.taskfile import read_task
from replaywright.domain.run.commit_requests import PersonVerdict
from replaywright.domain.run.runs import RunResult
from replaywright.domain.run.scope import Mode
from replaywright.domain.task.tasks import Task, bind_parameters
from replaywright.domain.trace.histories import calls_of

TASK_FILE = Path(__file__).with_name("task.yaml")
RUN_LIMIT_S = 180.0
"""A run that has not ended so long after it was started is stuck."""
REACH_LIMIT_S = 60.0
"""A point that no worker has reached after this is not fired."""
_WATCH_S = 0.03
_WAIT_MS = 150
SETTLED_S = 1.5
"""What is still on its way to the site when all is over has arrived after this."""
_NEXT = ("browser.", "run.finish", "effect.verify")
"""Activities that are a next step after a fault."""

Status = Literal["done", "failed", "stuck", "not_fired"]


@dataclass
class Told:
    """What became of one run."""

    cell: Cell
    subject: str
    fired: bool = False
    status: Status = "not_fired"
    presses: tuple[str, ...] = ()
    """The press that each submission came of which the site has."""
    waited: list[str] = field(default_factory=list)
    """What a person was asked."""
    waited_in_vain: bool = False
    """A person was asked although the browser of the run lived."""
    model_calls: int = 0
    """Beyond those that the run makes without a fault."""
    recovery_s: float | None = None
    """From the fault to the end of the next step; None when none came after it."""
    took_s: float = 0.0
    said: str = ""
    """What the run says of its end."""

    @property
    def sends(self) -> int:
        """How many submissions the site has."""
        return len(self.presses)

    @property
    def is_duplicate(self) -> bool:
        """The site has what more than one press sent, or more than the page itself sends for one."""
        return self.cell.behaviour.is_doubled(self.presses)

    @property
    def is_false_success(self) -> bool:
        """Reported as done, and the site has nothing."""
        return self.status == "done" and self.sends == 0

    @property
    def is_misreported(self) -> bool:
        """Reported as failed, and the site has it."""
        return self.status == "failed" and self.sends > 0

    @property
    def is_lost(self) -> bool:
        """Ended without having sent, whatever it says: no fault of the programme is a reason to give up."""
        return self.status == "failed" and self.sends == 0

    @property
    def is_bad(self) -> bool:
        """Whether it breaks the promise."""
        faults = (self.is_duplicate, self.is_false_success, self.is_misreported, self.is_lost, self.waited_in_vain)
        return any(faults) or self.status in ("stuck", "not_fired")

    @property
    def verdict(self) -> str:
        """In a word or two."""
        named = {
            "DUPLICATE": self.is_duplicate,
            "FALSE SUCCESS": self.is_false_success,
            "MISREPORTED": self.is_misreported,
            "LOST": self.is_lost,
            "STUCK": self.status == "stuck",
            "NOT FIRED": self.status == "not_fired",
            "WAITED IN VAIN": self.waited_in_vain,
        }
        said = [name for name, holds in named.items() if holds]
        return ", ".join(said) or ("done, by a person" if self.waited else "done")


class Trial:
    """One run under one fault."""

    def __init__(self, lane: Lane, judge: Judge, cell: Cell, nonce: str) -> None:
        self._lane = lane
        self._judge = judge
        self._cell = cell
        self._point: Point = POINTS[cell.point]
        self._drawn = cell.drawn
        self._struck_at = 0.0
        self._living: frozenset[str] = frozenset()
        self.told = Told(cell, nonce)

    async def run(self) -> Told:
        """From the start to the judge's word; leaves the lane as it was."""
        told, lane = self.told, self._lane
        if not (self._point.learns or self._cell.behaviour in lane.learned):
            await self._learn()
        begun, calls = time.monotonic(), await lane.model_calls()
        wait_ms = self._point.delay_ms + self._drawn.randrange(_WAIT_MS)
        order = self._order(told.subject, wait_ms, Mode.LEARN if self._point.learns else Mode.AUTO)
        handle = handle_of(lane.place.client, order.run_id)
        try:
            async with asyncio.timeout(RUN_LIMIT_S):
                await self._struck(order, handle)
        except TimeoutError:
            told.status = "stuck"
        finally:
            lane.freeze_file.unlink(missing_ok=True)
            for worker in lane.workers:
                worker.thaw()
        told.took_s = time.monotonic() - begun
        if told.status in ("stuck", "not_fired"):
            with contextlib.suppress(RPCError):
                await handle.terminate("the chaos programme goes on")
        await asyncio.gather(asyncio.sleep(SETTLED_S), self._judge.came(told.subject), lane.fill_up())
        told.presses = self._judge.presses(told.subject)
        await self._read(handle)
        planned = 1 if self._point.learns else 0  # the elements of the page, in one call
        told.model_calls = await lane.model_calls() - calls - planned
        if self._cell.fault == "redis_flushed":
            lane.learned.clear()
        return told

    def _order(self, subject: str, wait_ms: int, mode: Mode) -> Order:
        """A run of the task with this subject, on the page of this behaviour."""
        task: Task = read_task(str(TASK_FILE))
        name = self._cell.behaviour.name
        given = {"base_url": self._judge.url, "subject": subject, "behaviour": name, "wait": str(wait_ms)}
        lane = self._lane
        return Order(task, bind_parameters(task, given), f"{lane.settings.task_queue}-{subject}", mode=mode)

    async def _learn(self) -> None:
        """Run once without a fault, so that later runs of this behaviour are replays.

        Raises:
            ChaosFailed: even that does not work.
        """
        lane, subject = self._lane, f"{self.told.subject}-first"
        order = self._order(subject, 0, Mode.LEARN)
        await start(lane.place, order)
        ending = await ended(handle_of(lane.place.client, order.run_id))
        presses = self._judge.presses(subject)
        if ending.status != "done" or not presses or self._cell.behaviour.is_doubled(presses):
            said = ending.result.model_dump_json(exclude_defaults=True)
            raise ChaosFailed(f"a run without any fault ended as {ending.status}, {len(presses)} stored: {said}")
        lane.learned.add(self._cell.behaviour)

    async def _struck(self, order: Order, handle: WorkflowHandle[Any, RunResult]) -> None:
        """Start the run, lose what is to be lost first, strike at the point, follow."""
        lane, point = self._lane, self._point
        first = self._drawn.choice(point.before) if point.before else ""
        lane.freeze_file.write_text(first.partition("@")[2] or point.order)
        await start(lane.place, order)
        if first:
            worker = await self._reached()
            if worker is None:
                return
            lane.freeze_file.write_text(point.order)
            if first.startswith("worker"):
                worker.kill(group=True)
            else:
                lane.kill_browsers()
                worker.thaw()
        worker = await self._reached()
        if worker is None or not await self._is_sent():
            return
        self.told.fired = True
        await self._followed(worker, handle)

    async def _reached(self) -> Served | None:
        """The worker that has stopped itself at what the freeze file says."""
        frozen: list[Served] = []

        def stopped() -> bool:
            if not self._lane.freeze_file.exists() and (worker := self._lane.frozen()) is not None:
                frozen.append(worker)
            return bool(frozen)

        return frozen[0] if await within(REACH_LIMIT_S, stopped) else None

    async def _is_sent(self) -> bool:
        """Wait, where the point says so, until the judge has the message."""
        if not self._point.until_sent:
            return True
        return await within(REACH_LIMIT_S, lambda: bool(self._judge.presses(self.told.subject)))

    async def _followed(self, worker: Served, handle: WorkflowHandle[Any, RunResult]) -> None:
        lane, told = self._lane, self.told
        self._living = frozenset(session.session_id for session in lane.sessions())
        self._struck_at = time.time()
        strike = asyncio.create_task(FAULTS[self._cell.fault](lane, worker, self._drawn))
        try:
            ending = await ended(handle)
            while ending.status == "waiting":
                ending = await self._by_person(ending, handle)
            told.status = "done" if ending.status == "done" else "failed"
            told.said = f"{ending.result.reason} {ending.result.message}"[:300]
        finally:
            await strike

    async def _by_person(self, ending: Ending, handle: WorkflowHandle[Any, RunResult]) -> Ending:
        """A person who looks at what the judge has."""
        assert ending.progress is not None
        told = self.told
        told.waited.append(ending.progress.waiting_for)
        living = {session.session_id for session in self._lane.sessions()}
        told.waited_in_vain |= bool(self._living & living)
        return await by_judge(self._lane, self._judge, told.subject, ending, handle)

    async def _read(self, handle: WorkflowHandle[Any, RunResult]) -> None:
        """Read from Temporal's history the seconds from the fault to the end of the next step."""
        if not self.told.fired:
            return
        calls = [call for call in calls_of((await handle.fetch_history()).to_json_dict()["events"]) if call.completed]
        after = [call.ended_at - self._struck_at for call in calls if call.activity_type.startswith(_NEXT)]
        self.told.recovery_s = min((seconds for seconds in after if seconds > 0), default=None)


async def ended(handle: WorkflowHandle[Any, RunResult]) -> Ending:
    """Follow a run until it ends or waits for a person."""
    return await follow(handle, show=lambda _progress, _note: None, until_waiting=True, patient=True)


async def by_judge(
    lane: Lane, judge: Judge, subject: str, ending: Ending, handle: WorkflowHandle[Any, RunResult]
) -> Ending:
    """Decide what a run asks by what the judge has, and follow the run on."""
    assert ending.progress is not None
    await judge.came(subject)
    verdict = PersonVerdict(
        sequence=ending.progress.step,
        verdict="done" if judge.presses(subject) else "not_done",
        who="the chaos programme",
        why="what the site has",
    )
    await decide(lane.place, handle.id, verdict)
    return await ended(handle)


async def within(limit_s: float, holds: Callable[[], bool]) -> bool:
    """Whether it holds before the time is up."""
    deadline = time.monotonic() + limit_s
    while not holds():
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(_WATCH_S)
    return True


class ChaosFailed(Exception):
    """The programme itself cannot go on; the message says why."""
