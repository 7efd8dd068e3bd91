"""Pages that act late, again or by themselves: what a run says must be what the site has.

    make truth                                        every behaviour under every fault at every point
    python -m bench.truth --short                     every behaviour once, some with a fault: about four minutes
    python -m bench.truth --seed 7 --behaviours late-5,cut --faults none,browser --points held,acted

Every run writes one message with a subject of its own and sends it, once. A worker stops itself at a kill point that is
compiled in, the fault strikes at that moment, and another worker is always there. The site writes down what it was
sent, on disk, before it answers. Last line: one JSON object. Exit status: 0 when every run fired, none was reported as
done that the site has not, none was sent twice, lost, reported wrongly or stuck, what a page sent twice was told, and
nobody was asked what the site or the gate's black box could tell; 1 otherwise; 2 for bad arguments.
"""

import argparse
import asyncio
import json
import random
import sys
from pathlib import Path

from rich.console import Console
from temporalio.runtime import Runtime, TelemetryConfig

from bench.chaos.lanes import finished
from bench.chaos.points import known
from bench.truth import report
from bench.truth.behaviours import ALL, GATE
from bench.truth.cells import CHOICES, short, whole
from bench.truth.programme import Programme
from bench.truth.tasks import REAL, SHORT
from replaywright.settings import load_settings
from replaywright.stack.processes import leave


def main() -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, help="decides everything that is left to chance (default: a new one)")
    parser.add_argument("--behaviours", default="", help=f"comma-separated, of: {', '.join(ALL)} (default: all)")
    parser.add_argument("--faults", default="", help=f"comma-separated, of: {', '.join(CHOICES)} (default: all)")
    parser.add_argument("--points", default="", help=f"comma-separated, of: {', '.join(GATE)} (default: all)")
    parser.add_argument("--short", action="store_true", help="the form that is part of `make test`, less patient")
    parser.add_argument("--impatient", action="store_true", help="shorter `late_ms` and `in_flight_ms`, as --short has")
    parser.add_argument("--lanes", type=int, default=4, help="behaviours side by side (default: %(default)s)")
    parser.add_argument("--keep", type=Path, help="folder that keeps logs and databases (default: nothing is kept)")
    given = parser.parse_args()
    Runtime.set_default(Runtime(telemetry=TelemetryConfig(logging=None)))  # a server that is killed is no news here
    seed = random.randrange(10**6) if given.seed is None else given.seed
    try:
        names = known("behaviour", given.behaviours, tuple(ALL))
        faults, points = known("fault", given.faults, CHOICES), known("point", given.points, GATE)
    except ValueError as exc:
        parser.error(str(exc))
    if given.lanes < 1:
        parser.error(f"--lanes: {given.lanes} is too few; give at least 1")
    if given.keep is not None and given.keep.exists() and any(given.keep.iterdir()):
        parser.error(f"--keep: {str(given.keep)!r} is not empty; give a new folder")
    cells = short(seed) if given.short else whole(seed, names, faults, points)
    pace = SHORT if given.short or given.impatient else REAL
    console = Console() if sys.stdout.isatty() else Console(width=170)

    def tell(text: str) -> None:
        console.print(text, markup=False, highlight=False)

    truth = Programme(cells, load_settings(), given.lanes, tell, pace, given.keep)
    tell(f"seed {seed}: {truth.planned} runs of {len(cells)} behaviours in {given.lanes} lanes")
    interrupted = not asyncio.run(finished(truth.run(), tell))
    report.show(console, truth.told)
    bad = [told for told in truth.told if told.faults]
    for told in bad:
        cell = told.cell
        struck = f",{cell.fault} --points {cell.point}" if cell.point else ""
        pace_option = " --impatient" if pace is SHORT else ""
        tell(
            f"{cell.name}: {told.verdict}: {told.said} {'; '.join(told.asked)}\n    again: python -m bench.truth "
            f"--seed {seed} --behaviours {cell.behaviour.name} --faults none{struck}{pace_option}"
        )
    console.file.flush()
    print(json.dumps({**report.figures(truth.planned, truth.told, truth.seconds), "seed": seed}))
    return 1 if bad or interrupted or len(truth.told) < truth.planned else 0


if __name__ == "__main__":
    leave(main())
