"""How far one machine carries, with real Temporal, Redis and workers.

    make bench-scale                                  # width, steps, cache, skills: about half an hour
    make bench-scale ARGS="--short"                   # the same with small numbers: a minute
    make bench-scale ARGS="--part concurrent"         # 32 runs at once with real Chromium; every one has to succeed
    make bench-scale ARGS="--part memory --runs 1000" # one worker through 1,000 runs: its memory
    make bench-scale ARGS="--part pressure"           # more runs than memory: with places and without; as root
    make bench-scale ARGS="--part slots"              # places beside Temporal's resource-based slots

Browsers are real Chromium where a row says so; in the others they are played by a script in the worker, so that
Temporal, Redis and the worker are what is measured.
"""

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from bench.scale import endurance, growth, pressure, slots, width

PARTS = ("width", "steps", "cache", "skills", "concurrent", "memory", "pressure", "slots")
USUAL = PARTS[:4]
PRESSED_MIB = 1_600
"""Memory of the part `pressure`: a worker, and two browsers by their budget."""
WIDTH = 220
"""Columns of what is written to a file."""


@dataclass(frozen=True)
class Sizes:
    """How much of each is measured."""

    workers: tuple[int, ...] = (1, 2, 4)
    played_runs: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64)
    real_workers: tuple[int, ...] = (1, 2)
    real_runs: tuple[int, ...] = (1, 2, 4, 8, 16)
    steps_of_a_run: int = 20
    long_runs: tuple[int, ...] = (100, 1_000, 3_000, 5_000)
    entries: tuple[int, ...] = (100, 1_000, 10_000, 100_000, 1_000_000)
    skills: tuple[int, ...] = (100, 1_000, 10_000, 100_000)


SHORT = Sizes((1,), (4,), (1,), (2,), 5, (150,), (200, 2_000), (100, 1_000))


def shown(console: Console, title: str, rows: Sequence[Mapping[str, object]]) -> None:
    """A table of these rows; of one row, a line for each of its figures."""
    if len(rows) == 1:
        table = Table("", "", title=title)
        for name, value in rows[0].items():
            table.add_row(name, _cell(value))
        console.print(table)
        return
    columns = list(dict.fromkeys(name for row in rows for name in row))
    table = Table(*columns, title=title)
    for row in rows:
        table.add_row(*(_cell(row.get(name, "")) for name in columns))
    console.print(table)


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int | float) else str(value)


async def measure(parts: Sequence[str], sizes: Sizes, given: argparse.Namespace, console: Console) -> dict[str, object]:
    """Each part, its table, and everything as one object."""

    def tell(text: str) -> None:
        console.print(text, style="dim", markup=False, highlight=False)

    found: dict[str, object] = {"cores": os.cpu_count(), "short": sizes == SHORT}
    rows: Sequence[Mapping[str, object]]
    for part in parts:
        tell(f"{part}: load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        match part:
            case "width":
                steps = sizes.steps_of_a_run
                played = await width.wide(sizes.workers, sizes.played_runs, steps, played=True, tell=tell)
                real = await width.wide(sizes.real_workers, sizes.real_runs, steps, played=False, tell=tell)
                rows = [*played, *real]
                shown(console, f"runs of {steps} steps at the same time", rows)
                limits = [width.limit(played), width.limit(real)]
                for told in limits:
                    console.print(told)
                found["limits"] = limits
            case "steps":
                rows = await growth.longer(sizes.long_runs, tell=tell)
                shown(console, "milliseconds a step as a run grows, browsers played", rows)
            case "cache":
                rows = await growth.fuller(sizes.entries, tell=tell)
                shown(console, "milliseconds as the action cache grows", rows)
            case "skills":
                rows = await growth.wiser(sizes.skills, tell=tell)
                shown(console, "milliseconds of a recall as skills grow", rows)
            case "concurrent":
                rows = [await endurance.concurrent(given.runs or 32, 10, played=given.played, tell=tell)]
                shown(console, "runs at the same time on one worker", rows)
            case "pressure":
                rows = await pressure.under_pressure(PRESSED_MIB, given.runs or 12, tell=tell)
                shown(console, "more runs than the memory has room for, in a control group of their own", rows)
            case "slots":
                rows = await slots.compared(tell=tell)
                shown(console, "places beside slots by resources", rows)
            case _:
                runs, minutes = given.runs or 1_000, given.minutes
                rows = [await endurance.memory(runs, 3, played=given.played, minutes=minutes, tell=tell)]
                shown(console, "one worker through many runs", rows)
        found[part] = rows
    return found


def main() -> int:
    """Measure, print tables, and as the last line the figures as JSON."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.scale", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", choices=PARTS, action="append", help=f"may be repeated (default: {', '.join(USUAL)})")
    parser.add_argument("--short", action="store_true", help="small numbers: that it works, not how far it carries")
    parser.add_argument("--runs", type=int, help="of the parts concurrent (default: 32), memory (1,000), pressure (12)")
    parser.add_argument("--minutes", type=float, default=120, help="the part memory ends then (default: %(default)g)")
    parser.add_argument("--played", action="store_true", help="concurrent and memory: browsers played by a script")
    given = parser.parse_args()
    if given.runs is not None and given.runs < 1:
        parser.error(f"--runs {given.runs}: expected 1 or more")
    if given.minutes <= 0:
        parser.error(f"--minutes {given.minutes:g}: expected more than 0")
    console = Console() if sys.stdout.isatty() else Console(width=WIDTH)
    try:
        found = asyncio.run(measure(given.part or USUAL, SHORT if given.short else Sizes(), given, console))
    except KeyboardInterrupt:
        return 130
    print(json.dumps(found))
    return int(any(row.get("failed") for rows in found.values() if isinstance(rows, list) for row in _dicts(rows)))


def _dicts(rows: Sequence[object]) -> list[dict[str, object]]:
    return [row for row in rows if isinstance(row, dict)]


if __name__ == "__main__":
    sys.exit(main())
