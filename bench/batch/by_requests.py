"""A batch whose rows are done by requests on a site while workers are killed; the site says what it was sent."""

import asyncio
import contextlib
import os
import random
import time
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import psutil
from rich.console import Console
from rich.table import Table

from bench.chaos.lane import serve
from bench.histories import lines_of, of_batch, of_runs
from bench.message_site.behaviours import ALL
from bench.message_site.log import Log
from bench.scale.fleet import MIB, Fleet, Watched, watched
from bench.truth.tasks import Pace, task_of
from replaywright.cli.batch.batch_follow import progress_of
from replaywright.cli.batch.batch_place import BatchStore, batch_handle, batch_store, start_batch
from replaywright.cli.people.updates import decide
from replaywright.cli.runs.follow import handle_of
from replaywright.cli.runs.follow import progress_of as run_progress_of
from replaywright.cli.runs.starting import Order, prepared
from replaywright.domain.batch.batches import BatchInput, BegunRow, Row, RowEnd
from replaywright.domain.requests.commands import is_sampled
from replaywright.domain.run.commit_requests import PersonVerdict
from replaywright.domain.run.runs import RunResult
from replaywright.domain.run.scope import Mode
from replaywright.errors import InputInvalid, StackFailed

_LOOK_S = 0.2
_ANSWER_EVERY_S = 1.0
_TOLD_EVERY_S = 15
_ASKED_ABOUT = 50
"""Runs whose histories are looked at."""


@dataclass(frozen=True)
class Asked:
    """What is measured."""

    rows: int
    parallel: int
    workers: int
    kills: int
    seed: int
    pace: Pace


@dataclass
class Memory:
    """Resident memory of the parts while the batch goes, in MiB."""

    temporal: list[float] = field(default_factory=list)
    worker: list[float] = field(default_factory=list)
    """Of the largest worker."""

    @staticmethod
    def of(samples: Sequence[float]) -> dict[str, float]:
        """The first, the last and the largest."""
        return {"first": round(samples[0]), "last": round(samples[-1]), "most": round(max(samples))} if samples else {}

    def look(self, fleet: Fleet) -> None:
        """Take a sample."""
        for name, kept in (("temporal", self.temporal), ("workers", self.worker)):
            sizes = []
            for process in fleet.processes()[name]:
                with contextlib.suppress(psutil.Error):
                    sizes.append(process.memory_info().rss / MIB)
            if sizes:
                kept.append(sum(sizes) if name == "temporal" else max(sizes))


@dataclass(frozen=True)
class Verdict:
    """What became of the rows, by the ends that were noted and by what the site has."""

    done: int
    twice: int
    """Rows that the site has more than once."""
    false_done: int
    """Said to be done, and the site has nothing."""
    misreported: int
    """Said to have failed, and the site has it."""
    failed: int
    """Said to have failed, and the site has nothing."""
    lost: int
    """Not ended."""
    why: Mapping[str, int]

    @property
    def wrong(self) -> int:
        """How many rows are not done once, or not told as they are."""
        return self.twice + self.false_done + self.misreported + self.failed + self.lost


async def measured(asked: Asked, console: Console) -> dict[str, object]:
    """Learn the task in two runs of its page, do the rows, kill workers meanwhile, and count at the site."""

    def tell(text: str) -> None:
        console.print(text, style="dim", markup=False, highlight=False)

    async with Fleet(asked.workers, played=False, keeps=True, tell=tell) as fleet:
        log = Log(fleet.home / "site.jsonl")
        child, url = await serve("site", "bench.message_site.site", "--log", str(log.path), log=fleet.home / "site.txt")
        try:
            async with batch_store(fleet.place) as store:
                batch = _Batch(asked, fleet, store, (url, log), tell)
                await batch.learn()
                return await batch.measured(console)
        finally:
            await child.stop()


class _Batch:
    def __init__(
        self, asked: Asked, fleet: Fleet, store: BatchStore, site: tuple[str, Log], tell: Callable[[str], None]
    ) -> None:
        self._asked, self._fleet, self._store = asked, fleet, store
        self._url, self._log = site
        self._tell = tell
        self._task = task_of(ALL["form"], asked.pace, by_requests=True)
        self._id = f"bench-{uuid.uuid4().hex[:8]}"
        self._subjects = {at: f"row {at} {uuid.uuid4().hex[:8]}" for at in range(1, asked.rows + 1)}
        self._asked_people: Counter[str] = Counter()
        """How often a person was answered for, per run that waited for one."""
        self._killed = 0
        self._memory = Memory()

    async def learn(self) -> None:
        """Do the task twice by its page.

        Raises:
            StackFailed: it failed, or a third run is not done by its requests.
        """
        names = (f"learn-{uuid.uuid4().hex[:8]}" for _ in range(1_000))
        ids = [name for name in names if not is_sampled(name)][:3]
        for number, run_id in enumerate(ids, start=1):
            order = Order(self._task, {"base_url": self._url, "subject": f"first {number}"}, run_id)
            ended = await self._fleet.run(order)
            if ended.why:
                raise StackFailed(f"the page run {number} failed: {ended.why}")
        result: RunResult = await handle_of(self._fleet.place.client, ids[-1]).result()
        if not result.note:
            raise StackFailed(f"two page runs did not show the requests: {result.warnings}")

    async def measured(self, console: Console) -> dict[str, object]:
        """Do the rows, and return the figures."""
        asked, fleet = self._asked, self._fleet
        values = {at: {"base_url": self._url, "subject": text} for at, text in self._subjects.items()}
        rows = [Row(number=at, values=given) for at, given in values.items()]
        told = await prepared(fleet.place, Order(self._task, rows[0].values, "", Mode.AUTO))
        started = BatchInput(
            run=told.input.model_copy(update={"values": {}}),
            index=await self._store.put(rows),
            total=asked.rows,
            parallel=asked.parallel,
            summary=told.summary,
            details=told.details,
            memo=told.memo,
            attributes={pair.key.name: pair.value for pair in told.attributes.search_attributes},
        )
        async with watched(fleet) as seen:
            await start_batch(fleet.place, self._id, started, again=False)
            async with self._beside():
                await batch_handle(fleet.place, self._id).result()
        ends = {row.number: end async for row, end in self._store.rows(self._id, started.index)}
        return await self._figures(console, seen, ends)

    # ------------------------------------------------------------------------------------------ meanwhile

    @contextlib.asynccontextmanager
    async def _beside(self) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(each) for each in (self._kill(), self._answer(), self._look())]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            for ended in await asyncio.gather(*tasks, return_exceptions=True):
                if isinstance(ended, Exception):
                    raise ended

    async def _kill(self) -> None:
        """Kill a worker at random moments, each time as many rows are stored as were drawn; start a new one at once."""
        drawn, rows = random.Random(self._asked.seed), self._asked.rows
        for moment in sorted(drawn.uniform(0.03, 0.95) * rows for _ in range(self._asked.kills)):
            await self._stored(moment)
            await asyncio.sleep(drawn.uniform(0, _LOOK_S))
            killed = drawn.choice(self._fleet.workers)
            killed.kill()
            self._fleet.workers.remove(killed)
            self._killed += 1
            self._tell(f"worker {killed.pid} is killed, with {_lines(self._log.path)} rows at the site")
            await self._fleet.add_worker()

    async def _stored(self, rows: float) -> None:
        """Return when the site has so many rows."""
        while True:
            if _lines(self._log.path) >= rows:
                return
            await asyncio.sleep(_LOOK_S / 4)

    async def _answer(self) -> None:
        """Answer for the person whom a row asks: what the site has."""
        handle = batch_handle(self._fleet.place, self._id)
        while True:
            await asyncio.sleep(_ANSWER_EVERY_S)
            progress = await progress_of(handle)
            for row in () if progress is None else progress.waiting:
                await self._answered(row)

    async def _answered(self, row: BegunRow) -> None:
        standing = await run_progress_of(handle_of(self._fleet.place.client, row.run_id))
        if standing is None or not standing.waiting_for:
            return
        wanted = "done" if self._log.sent(self._subjects[row.number]) else "not_done"
        if self._asked_people[row.run_id] == 0:
            self._tell(f"row {row.number} waits for a person: {standing.waiting_for}; the answer: {wanted}")
        self._asked_people[row.run_id] += 1
        said = {"sequence": standing.step, "verdict": wanted, "who": "the programme", "why": "what the site has"}
        with contextlib.suppress(InputInvalid, StackFailed):  # its worker is gone, or it waits no more: asked again
            await decide(self._fleet.place, row.run_id, PersonVerdict.model_validate(said))

    async def _look(self) -> None:
        told_at = begun = time.monotonic()
        while True:
            await asyncio.to_thread(self._memory.look, self._fleet)
            if time.monotonic() - told_at > _TOLD_EVERY_S:
                told_at = time.monotonic()
                stored = _lines(self._log.path)
                memory = f"Temporal {self._memory.temporal[-1]:.0f} MiB, worker {self._memory.worker[-1]:.0f} MiB"
                self._tell(f"{told_at - begun:.0f} s: the site has {stored}; {memory}; load {os.getloadavg()[0]:.1f}")
            await asyncio.sleep(1)

    # ------------------------------------------------------------------------------------------- the end

    async def _figures(self, console: Console, seen: Watched, ends: Mapping[int, RowEnd | None]) -> dict[str, object]:
        asked, client = self._asked, self._fleet.place.client
        verdict = judged(self._subjects, ends, self._log.stored())
        batch = await of_batch(client, self._id)
        for row, end in ends.items():
            if end is not None and end.status != "done":
                told = "\n  ".join(await lines_of(client, end.run_id))
                self._tell(f"row {row} ({end.run_id}) {end.status}: {end.reason}: {end.message}\n  {told}")
        ids = [end.run_id for end in ends.values() if end is not None]
        by_page = [run_id for run_id in ids if is_sampled(run_id)]
        some = random.Random(asked.seed)
        requests = await of_runs(client, _some(some, [run_id for run_id in ids if not is_sampled(run_id)]))
        page = await of_runs(client, _some(some, by_page))
        database = self._fleet.home / "temporal.db"
        figures: dict[str, object] = {
            "rows": asked.rows,
            "parallel": asked.parallel,
            "workers": asked.workers,
            "kills": self._killed,
            "seconds": round(seen.wall_s, 1),
            "rows_per_second": round(asked.rows / seen.wall_s, 2),
            "hours_for_100000": round(100_000 * seen.wall_s / asked.rows / 3600, 2),
            "load": round(os.getloadavg()[0], 1),
            "by_page": len(by_page),
            **asdict(verdict),
            "wrong": verdict.wrong,
            "asked": len(self._asked_people),
            "cpu_ms_per_row": seen.per(asked.rows),
            "redis_commands_per_row": round(seen.commands / asked.rows, 1),
            "temporal_mib": self._memory.of(self._memory.temporal),
            "worker_mib": self._memory.of(self._memory.worker),
            "temporal_bytes_per_row": round(_size(database) / asked.rows),
            "executions": len(batch.events),
            "batch_events_per_row": round(sum(batch.events) / asked.rows, 2),
            "batch_bytes_per_row": round(sum(batch.bytes) / asked.rows),
            "batch_most_events": max(batch.events),
            "batch_most_bytes": max(batch.bytes),
            "events_by_requests": requests.events_each,
            "bytes_by_requests": requests.bytes_each,
            "events_by_page": page.events_each,
            "bytes_by_page": page.bytes_each,
        }
        table = Table("", "", title="a batch by requests")
        for name, value in figures.items():
            table.add_row(name, str(value))
        console.print(table)
        for title, sizes in (("a row by requests", requests), ("the batch, an execution", batch)):
            table = Table("events", "each", "bytes", title=f"{title}: the largest events")
            for kind, events, size in sizes.largest(8):
                table.add_row(kind, str(events), f"{size:,}")
            console.print(table)
        return figures


def judged(subjects: Mapping[int, str], ends: Mapping[int, RowEnd | None], stored: Counter[str]) -> Verdict:
    """Hold the ends that were noted against what the site has."""
    found: Counter[str] = Counter()
    why: Counter[str] = Counter()
    for number, subject in subjects.items():
        end, times = ends.get(number), stored[subject]
        found["twice"] += times > 1
        if end is None:
            found["lost"] += 1
        elif end.status == "done":
            found["done" if times else "false_done"] += 1
        else:
            found["misreported" if times else "failed"] += 1
            why[f"{end.status}: {end.reason}: {end.message}"] += 1
    return Verdict(
        **{name: found[name] for name in ("done", "twice", "false_done", "misreported", "failed", "lost")},
        why=dict(why.most_common(5)),
    )


def _some(drawn: random.Random, ids: Sequence[str]) -> list[str]:
    return drawn.sample(ids, min(_ASKED_ABOUT, len(ids)))


def _size(database: Path) -> int:
    """Bytes of the server's file with its log."""
    return sum(path.stat().st_size for path in database.parent.glob(f"{database.name}*"))


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n")
