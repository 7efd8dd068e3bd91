"""Many browsers at the same time, and one worker through many runs."""

import asyncio
import contextlib
import os
import secrets
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass

import psutil

from bench.scale.fleet import MIB, Fleet, p95, watched
from replaywright.cli.runs.starting import Order
from replaywright.domain.task.tasks import Task

Tell = Callable[[str], None]

LOOKS = 200
"""Samples of a worker's memory over all runs, at most."""
WARMING = 0.2
"""Share of the runs that is left out of the slope: caches fill, and pools grow."""
AT_ONCE = 2
"""Runs at the same time while memory is watched."""


async def concurrent(runs: int, steps: int, *, played: bool, tell: Tell) -> dict[str, object]:
    """So many runs at once on one worker; how many failed, and what it took."""
    async with Fleet(1, played=played, tell=tell) as fleet:
        task = await fleet.learned(steps)
        async with watched(fleet, memory=not played) as seen:
            waved = await fleet.wave(task, runs)
    return {
        "browsers": "played" if played else "Chromium",
        "runs": runs,
        "failed": len(waved.failed),
        "why": waved.failed[:3],
        "recorded_steps": waved.steps,
        "recoveries": waved.recoveries,
        "wall_s": round(waved.wall_s, 1),
        "steps_per_s": round(waved.steps_per_s, 2),
        "p95_step_ms": round(p95(waved.gaps_ms)),
        "most_sessions": seen.most_sessions,
        "session_mib": round(statistics.median(seen.session_mib)) if seen.session_mib else None,
        "cpu_ms_per_step": seen.per(waved.steps),
        "load": round(os.getloadavg()[0], 1),
    }


@dataclass(frozen=True)
class Look:
    """At a worker after so many runs."""

    runs: int
    worker_mib: float
    """Resident memory of the worker's own process."""
    driver_mib: float
    """Of its children: Playwright's driver."""
    files: int
    threads: int


@dataclass(frozen=True)
class Slope:
    """A straight line through samples, by least squares."""

    mib_per_1000_runs: float
    error: float
    """Standard error of the slope."""
    first_mib: float
    """Median of the first fifth after the warming."""
    last_mib: float
    """Median of the last fifth."""


async def memory(runs: int, steps: int, *, played: bool, minutes: float, tell: Tell) -> dict[str, object]:
    """One worker through so many runs, each with a browser of its own, or as many as fit into the time."""
    async with Fleet(1, played=played, tell=tell) as fleet:
        task = await fleet.learned(steps)
        looks, failed = await _looked_at(fleet, task, runs, minutes=minutes, tell=tell)
    done = looks[-1].runs
    return {
        "browsers": "played" if played else "Chromium",
        "runs": done,
        "failed": len(failed),
        "why": failed[:3],
        "worker": asdict(slope([(look.runs, look.worker_mib) for look in looks])),
        "driver": asdict(slope([(look.runs, look.driver_mib) for look in looks])),
        "files": [looks[0].files, looks[-1].files],
        "threads": [looks[0].threads, looks[-1].threads],
    }


async def _looked_at(
    fleet: Fleet, task: Task, runs: int, *, minutes: float, tell: Tell
) -> tuple[list[Look], list[str]]:
    looks = [_look(fleet, 0)]
    failed: list[str] = []
    deadline = time.monotonic() + 60 * minutes
    every, ended = max(1, runs // LOOKS), 0
    numbers: Iterator[int] = iter(range(runs))

    async def one_after_the_other() -> None:
        nonlocal ended
        for _ in numbers:
            if time.monotonic() > deadline:
                return
            order = Order(task, {}, f"{task.task}-{secrets.token_hex(5)}")
            if why := (await fleet.run(order)).why:
                failed.append(f"{order.run_id}: {why}")
            ended += 1
            if ended % every == 0:
                looks.append(_look(fleet, ended))
            if ended % max(1, runs // 20) == 0:
                tell(f"{ended} of {runs} runs, {len(failed)} failed: {looks[-1].worker_mib:.1f} MiB")

    await asyncio.gather(*(one_after_the_other() for _ in range(AT_ONCE)))
    return looks, failed


def _look(fleet: Fleet, runs: int) -> Look:
    process = psutil.Process(fleet.workers[0].pid)
    children = 0.0
    for child in process.children():
        with contextlib.suppress(psutil.Error):
            children += child.memory_info().rss / MIB
    return Look(runs, process.memory_info().rss / MIB, children, process.num_fds(), process.num_threads())


def slope(samples: Sequence[tuple[int, float]]) -> Slope:
    """Of memory over runs, without the warming."""
    most = samples[-1][0]
    kept = [sample for sample in samples if sample[0] >= WARMING * most]
    fifth = max(1, len(kept) // 5)
    xs, ys = [float(x) for x, _ in kept], [y for _, y in kept]
    if len(kept) < 3:
        return Slope(0.0, 0.0, ys[0], ys[-1])
    line = statistics.linear_regression(xs, ys)
    middle = statistics.fmean(xs)
    rest = sum((y - line.intercept - line.slope * x) ** 2 for x, y in kept)
    error = (rest / (len(kept) - 2) / sum((x - middle) ** 2 for x in xs)) ** 0.5
    first, last = statistics.median(ys[:fifth]), statistics.median(ys[-fifth:])
    return Slope(round(1000 * line.slope, 2), round(1000 * error, 2), round(first, 1), round(last, 1))
