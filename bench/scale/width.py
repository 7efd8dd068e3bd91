"""Runs at the same time, over one worker and over several: steps a second, how long a step takes, what it costs."""

import os
import statistics
from collections.abc import Callable, Sequence

from bench.scale.fleet import Fleet, Watched, Waved, p95, watched

Row = dict[str, float | int | str]
COLUMNS = (
    *("browsers", "workers", "runs", "failed", "recoveries", "steps_per_s", "median_step_ms", "p95_step_ms"),
    *("session_mib", "commands_per_step", "commands_per_s"),
    *("temporal_cpu_ms", "redis_cpu_ms", "workers_cpu_ms", "browsers_cpu_ms", "busy", "load"),
)


async def wide(
    workers: Sequence[int], runs: Sequence[int], steps: int, *, played: bool, tell: Callable[[str], None]
) -> list[Row]:
    """One row for each number of workers and runs."""
    rows = []
    for count in workers:
        async with Fleet(count, played=played, tell=tell) as fleet:
            task = await fleet.learned(steps)
            for number in runs:
                async with watched(fleet, memory=not played) as seen:
                    waved = await fleet.wave(task, number)
                row = _row(count, waved, seen, played=played)
                rows.append(row)
                tell(", ".join(f"{name} {row[name]}" for name in COLUMNS[:8] if name in row))
                for why in waved.failed[:2]:
                    tell(f"  {why}")
    return rows


def _row(workers: int, waved: Waved, seen: Watched, *, played: bool) -> Row:
    cpu = seen.per(waved.steps)
    row: Row = {
        "browsers": "played" if played else "Chromium",
        "workers": workers,
        "runs": waved.runs,
        "failed": len(waved.failed),
        "recoveries": waved.recoveries,
        "steps_per_s": round(waved.steps_per_s, 1),
        "median_step_ms": round(statistics.median(waved.gaps_ms)) if waved.gaps_ms else 0,
        "p95_step_ms": round(p95(waved.gaps_ms)),
        "commands_per_step": round(seen.commands / max(1, waved.steps), 1),
        "commands_per_s": round(seen.commands / seen.wall_s),
        "busy": round(sum(seen.cpu_s.values()) / seen.wall_s, 2),
        "load": round(os.getloadavg()[0], 1),
    }
    row |= {f"{name}_cpu_ms": spent for name, spent in cpu.items()}
    if seen.session_mib:
        row["session_mib"] = round(statistics.median(seen.session_mib))
    return row


def limit(rows: Sequence[Row]) -> str:
    """What the widest row was short of, by its own figures."""
    if not rows:
        return ""
    row = max(rows, key=lambda each: (float(each["steps_per_s"]), float(each["runs"])))
    parts = {name: float(row[f"{name}_cpu_ms"]) for name in ("temporal", "redis", "workers", "browsers")}
    most, whole = max(parts, key=lambda name: parts[name]), sum(parts.values())
    cores = os.cpu_count() or 1
    room, most_ms = 1000 * cores / max(whole, 1e-9), parts[most]
    return (
        f"{row['browsers']} browsers: at most {row['steps_per_s']} steps/s, with {row['runs']} runs on "
        f"{row['workers']} worker(s). With its share of a run's start and end a step takes {whole:.0f} ms of processor "
        f"time, most of it ({most_ms:.0f} ms) in {most}: {cores} cores have room for {room:.0f} a second. These parts "
        f"had {row['busy']} of {cores} cores; the load of the machine was {row['load']}."
    )
