"""Kill, freeze and cut off every part at every point, and ask the site what it was sent.

    make chaos                                       about twelve minutes
    make chaos-long                                  17 points × 11 faults × 5, about an hour
    python -m bench.chaos --seed 7 --points held,acted --faults zombie --runs 4

Every run sends one message with a subject of its own; a worker stops itself at a point that is compiled in, the fault
strikes at that moment, and another worker is always there. The site writes down what it was sent, on disk, before it
answers. Last line: one JSON object. Exit status: 0 when every run fired, none was sent twice, lost, reported wrongly or
stuck, and nobody was asked while the browser lived; 1 otherwise; 2 for bad arguments.
"""

import argparse
import asyncio
import json
import random
import sys
from pathlib import Path

from rich.console import Console
from temporalio.runtime import Runtime, TelemetryConfig

from bench.chaos import report
from bench.chaos.lane import APART, TOGETHER
from bench.chaos.lanes import finished
from bench.chaos.points import ALL_BEHAVIOURS, ALL_FAULTS, ALL_POINTS, known, programme
from bench.chaos.programme import Programme
from replaywright.settings import load_settings
from replaywright.stack.processes import leave

LONG = 5
"""How often the long form has every pair."""
RUN_S = 14.0
"""What a run takes on the average in one of four lanes on two free cores; for the estimate."""


def main() -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, help="decides everything that is left to chance (default: a new one)")
    parser.add_argument("--points", default="", help=f"comma-separated, of: {', '.join(ALL_POINTS)} (default: all)")
    parser.add_argument("--faults", default="", help=f"comma-separated, of: {', '.join(ALL_FAULTS)} (default: all)")
    parser.add_argument(
        "--behaviours", default="", help=f"comma-separated, of: {', '.join(ALL_BEHAVIOURS)} (default: all, by turns)"
    )
    parser.add_argument("--runs", type=int, help="how many (default: every pair once)")
    parser.add_argument("--long", action="store_true", help="every pair five times")
    parser.add_argument("--lanes", type=int, default=4, help="runs side by side (default: %(default)s)")
    parser.add_argument(
        "--apart", action="store_true", help="a process for each role, two for the browser (default: for all)"
    )
    parser.add_argument("--keep", type=Path, help="folder that keeps logs and databases (default: nothing is kept)")
    given = parser.parse_args()
    Runtime.set_default(Runtime(telemetry=TelemetryConfig(logging=None)))  # a server that is killed is no news here
    try:
        points, faults = known("point", given.points, ALL_POINTS), known("fault", given.faults, ALL_FAULTS)
        behaviours = known("behaviour", given.behaviours, ALL_BEHAVIOURS)
    except ValueError as exc:
        parser.error(str(exc))
    pairs = len(points) * len(faults)
    runs = given.runs if given.runs is not None else LONG * pairs if given.long else pairs
    for name, value in (("runs", runs), ("lanes", given.lanes)):
        if value < 1:
            parser.error(f"--{name}: {value} is too few; give at least 1")
    if given.keep is not None and given.keep.exists() and any(given.keep.iterdir()):
        parser.error(f"--keep: {str(given.keep)!r} is not empty; give a new folder")
    seed = random.randrange(10**6) if given.seed is None else given.seed
    console = Console() if sys.stdout.isatty() else Console(width=170)

    def tell(text: str) -> None:
        console.print(text, markup=False, highlight=False)

    tell(f"seed {seed}: {runs} runs in {given.lanes} lanes, about {runs * RUN_S / given.lanes / 60:.0f} minutes")
    roles = APART if given.apart else TOGETHER
    cells = programme(seed, runs, points=points, faults=faults, behaviours=behaviours)
    chaos = Programme(cells, load_settings(), given.lanes, tell, roles, given.keep)
    interrupted = not asyncio.run(finished(chaos.run(), tell))
    report.show(console, chaos.told)
    bad = [told for told in chaos.told if told.is_bad]
    for told in bad:
        cell = told.cell
        asked = "; ".join(told.waited)
        tell(
            f"{told.verdict}: {told.said} {asked}\n    again: python -m bench.chaos --seed {seed} "
            f"--points {cell.point} --faults {cell.fault} --behaviours {cell.behaviour.name} "
            f"--runs {cell.round + 1}"
        )
    console.file.flush()
    print(json.dumps({**report.figures(runs, chaos.told, chaos.seconds), "seed": seed}))
    return 1 if bad or interrupted else 0


if __name__ == "__main__":
    leave(main())
