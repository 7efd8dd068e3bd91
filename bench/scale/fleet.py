"""Temporal, Redis and workers as processes of their own, what they take, and runs on them."""

import asyncio
import contextlib
import secrets
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil
from temporalio.client import WorkflowFailureError
from temporalio.service import RPCError

from bench.scale.site import SCRIPTED_URL, form_task, served
from cache.connection import open_redis
from cache.steps import RedisStepStore
from replaywright.cli.runs.follow import handle_of
from replaywright.cli.runs.starting import Order, start
from replaywright.cli.servers.connect import Backend, connect
from replaywright.domain.run.runs import RunResult
from replaywright.domain.task.tasks import Task
from replaywright.errors import StackFailed
from replaywright.keeper.host.client import list_live
from replaywright.settings import Settings, load_settings
from replaywright.stack import Child, Stack, start_worker, stop_worker
from replaywright.stack.keyring import signer_of
from replaywright.testing.grants import allow_loopback

LOOK_EVERY_S = 0.5
READY_S = 180.0
"""A machine that is measured may be busy."""
TOLD_OF = 16
"""So many runs at the same time take long enough to be told of on their way."""
MIB = 1024 * 1024


@dataclass
class Waved:
    """What some runs at the same time came to."""

    runs: int
    failed: list[str]
    """Of each run that failed: its id and why."""
    steps: int
    wall_s: float
    """From the first start to the last end."""
    steps_per_s: float
    """Between the first and the last recorded step."""
    recoveries: int
    """How often a run lost its worker or its browser and went on."""
    gaps_ms: list[float]
    """From each step's record to the next one's of the same run: what a step took, with all that is around it."""


@dataclass(frozen=True)
class Ended:
    """How a run ended."""

    why: str
    """It failed; empty when it did not."""
    recoveries: int = 0


def p95(values: Sequence[float]) -> float:
    """The 95th percentile (nearest rank); 0 of nothing."""
    return sorted(values)[max(0, -(-len(values) * 95 // 100) - 1)] if values else 0.0


class Fleet:
    """As an asynchronous context manager; what was started ends with it.

    Temporal has its data in memory, or in a file that it `keeps`, as the local stack's does; Redis writes every command
    to disk before it answers, as that does, too.
    """

    def __init__(
        self,
        workers: int = 1,
        *,
        played: bool,
        tell: Callable[[str], None],
        keeps: bool = False,
        redis_url: str | None = None,
        **settings: object,
    ) -> None:
        """With `played`, browsers are played by a script; `settings` beside those of this process."""
        self._count = workers
        self.is_played = played
        self._keeps = keeps
        self._tell = tell
        self._given = {"temporal_address": None, "redis_url": redis_url, "artifacts_url": None, **settings}
        self._exits = contextlib.AsyncExitStack()
        self.workers: list[Child] = []
        self._started = 0

    async def __aenter__(self) -> Self:
        """Start all of it.

        Raises:
            StackFailed: a part did not come up; nothing is left behind.
        """
        try:
            await self._start()
        except BaseException:
            await self._exits.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End all of it."""
        await self._exits.aclose()

    async def _start(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="replaywright-scale-", ignore_cleanup_errors=True)
        self.home = Path(self._exits.enter_context(folder))
        allow_loopback(self.home)
        name = f"scale-{secrets.token_hex(4)}"
        given = load_settings().model_copy(
            update={"home": self.home, "tenant": name, "task_queue": name, **self._given}
        )
        self.url = SCRIPTED_URL if self.is_played else self._exits.enter_context(served())
        self.stack = await self._exits.enter_async_context(Stack(given, persistent=self._keeps, tell=self._tell))
        self.place = Backend(await connect(self.settings), self.settings, "started")
        self._redis = open_redis(self.stack.running.redis_url, client_name="replaywright-bench", read_timeout_s=60)
        self._exits.push_async_callback(self._redis.aclose)
        self.store = RedisStepStore(self._redis, signer=signer_of(self.settings))
        self._exits.push_async_callback(self._stop_workers)
        for _ in range(self._count):
            await self.add_worker()

    @property
    def settings(self) -> Settings:
        """Of the workers."""
        return self.stack.settings

    async def add_worker(self, role: str = "all", **variables: str) -> Child:
        """One more worker, with these variables too."""
        module = "bench.scale.played" if self.is_played else "worker"
        self._started += 1
        log = self.home / "log" / f"worker-{self._started}.log"
        environment = {**self.stack.environment(), "NO_PROXY": "127.0.0.1,localhost", **variables}
        worker = await start_worker(environment, log=log, role=role, module=module, ready_timeout_s=READY_S)
        self.workers.append(worker)
        return worker

    async def _stop_workers(self) -> None:
        for worker in self.workers:
            with contextlib.suppress(StackFailed):
                await stop_worker(worker)

    # ------------------------------------------------------------------------------------------ runs

    async def learned(self, steps: int) -> Task:
        """A task that was run once, so that its entries are in the cache.

        Raises:
            StackFailed: it failed.
        """
        task = form_task(self.url, steps)
        waved = await self.wave(task, 1)
        if waved.failed:
            raise StackFailed(f"the first run failed: {waved.failed[0]}\n{self.workers[0].log_tail()}")
        return task

    async def wave(self, task: Task, runs: int) -> Waved:
        """So many runs of it at the same time."""
        begun = time.monotonic()
        orders = [Order(task, {}, f"{task.task}-{secrets.token_hex(5)}") for _ in range(runs)]
        ended = await self._ended(orders)
        wall = time.monotonic() - begun
        times = [await self.recorded_at(order.run_id) for order in orders]
        gaps = [1000 * (after - before) for one in times for before, after in pairwise(one)]
        moments = sorted(moment for one in times for moment in one)
        spent = moments[-1] - moments[0] if len(moments) > 1 else wall
        failed = [f"{order.run_id}: {end.why}" for order, end in zip(orders, ended, strict=True) if end.why]
        recoveries = sum(end.recoveries for end in ended)
        return Waved(runs, failed, len(moments), wall, len(moments) / max(spent, 1e-9), recoveries, gaps)

    async def _ended(self, orders: Sequence[Order]) -> list["Ended"]:
        """Run all of them at the same time, and tell of each quarter of many of them."""
        running = [asyncio.create_task(self.run(order)) for order in orders]
        for count, one in enumerate(asyncio.as_completed(running), start=1):
            await one
            if len(orders) >= TOLD_OF and count % (len(orders) // 4) == 0:
                self._tell(f"{count} of {len(orders)} runs have ended")
        return [one.result() for one in running]

    async def run(self, order: Order) -> "Ended":
        """Run it to its end."""
        try:
            await start(self.place, order)
            result: RunResult = await handle_of(self.place.client, order.run_id).result()
        except WorkflowFailureError as exc:
            return Ended(str(exc.cause))
        except RPCError as exc:  # on a busy machine; the runs around it are measured all the same
            return Ended(f"Temporal did not answer: {exc}")
        return Ended("" if result.succeeded else f"{result.reason}: {result.message}", result.totals.recoveries)

    async def recorded_at(self, run_id: str) -> list[float]:
        """When each step of a run was recorded, by the clock of Redis, in seconds."""
        lines = await self.store.trace(tenant=self.settings.tenant, lineage=run_id)
        return [float(line["at"]) for line in lines if line.get("kind") == "step"]

    # ------------------------------------------------------------------------------------- what it takes

    async def commands(self) -> int:
        """How many commands Redis has executed since it was started, those of scripts included."""
        told: Mapping[str, Any] = await self._redis.execute_command("INFO", "stats")
        return int(told["total_commands_processed"])

    def processes(self) -> dict[str, list[psutil.Process]]:
        """Temporal, Redis, workers, and browsers with their keepers."""
        own = {"temporal": ("temporal",), "redis": ("valkey-server", "redis-server")}
        found: dict[str, list[psutil.Process]] = {name: [] for name in (*own, "workers", "browsers")}
        for child in psutil.Process().children(recursive=True):  # a gate may stand before Temporal
            with contextlib.suppress(psutil.Error):
                program = Path(child.exe()).name  # servers change what their command line says
                for name, programs in own.items():
                    if program in programs:
                        found[name].append(child)
        for worker in self.workers:
            with contextlib.suppress(psutil.Error):
                process = psutil.Process(worker.pid)
                found["workers"] += [process, *process.children()]
        for tree in self.sessions():
            found["browsers"] += tree
        return found

    def sessions(self) -> list[list[psutil.Process]]:
        """The processes of each live session: its keeper, and Chromium's tree."""
        trees = []
        for record in list_live(self.home / "sessions"):
            tree: list[psutil.Process] = []
            for one in filter(None, (record.keeper, record.chromium)):
                with contextlib.suppress(psutil.Error):
                    process = psutil.Process(one.pid)
                    tree += [process, *process.children(recursive=True)]
            trees.append(list({process.pid: process for process in tree}.values()))
        return trees


def pss_bytes(processes: Sequence[psutil.Process]) -> int:
    """Proportional set size: what is shared counts once, divided among those who share it."""
    total = 0
    for process in processes:
        with contextlib.suppress(OSError, ValueError):
            text = Path(f"/proc/{process.pid}/smaps_rollup").read_text("ascii")
            total += next(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:")) * 1024
    return total


@dataclass
class Watched:
    """What the parts took during a block."""

    cpu_s: dict[str, float] = field(default_factory=dict)
    commands: int = 0
    wall_s: float = 0.0
    most_sessions: int = 0
    session_mib: list[float] = field(default_factory=list)
    """Of each look: the mean memory of a live session, keeper and Chromium."""

    def per(self, steps: int) -> dict[str, float]:
        """Milliseconds of processor time of each part for one step."""
        return {name: round(1000 * spent / max(1, steps), 2) for name, spent in self.cpu_s.items()}


@contextlib.asynccontextmanager
async def watched(fleet: Fleet, *, memory: bool = False) -> AsyncIterator[Watched]:
    """Look at the parts twice a second during the block; yields what it came to, complete when the block has ended."""
    seen = Watched()
    spent: dict[str, dict[int, tuple[float, float]]] = {}

    def look(*, is_first: bool = False) -> None:
        for name, processes in fleet.processes().items():
            known = spent.setdefault(name, {})
            for process in processes:
                with contextlib.suppress(psutil.Error):
                    times = process.cpu_times()
                    now = times.user + times.system
                    first = known[process.pid][0] if process.pid in known else (now if is_first else 0.0)
                    known[process.pid] = first, now

    async def keep_looking() -> None:
        while True:
            await asyncio.to_thread(look)
            if memory:
                trees = await asyncio.to_thread(fleet.sessions)
                seen.most_sessions = max(seen.most_sessions, len(trees))
                if trees:
                    whole = await asyncio.to_thread(pss_bytes, [one for tree in trees for one in tree])
                    seen.session_mib.append(whole / MIB / len(trees))
            await asyncio.sleep(LOOK_EVERY_S)

    look(is_first=True)
    commands, begun = await fleet.commands(), time.monotonic()
    looking = asyncio.create_task(keep_looking())
    try:
        yield seen
    finally:
        looking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await looking
    look()
    seen.wall_s, seen.commands = time.monotonic() - begun, await fleet.commands() - commands
    seen.cpu_s = {name: sum(now - first for first, now in known.values()) for name, known in spent.items()}
