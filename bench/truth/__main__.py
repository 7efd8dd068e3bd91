"""Pages that act late, again or by themselves: what a run says must be what the site has.

    make truth                                        every behaviour under every fault at the points that tell
    python -m bench.truth --seed 7 --part 2/4         a quarter of that: four with the same seed are the whole
    python -m bench.truth --short                     every behaviour once, some with a fault: about four minutes
    python -m bench.truth --tier requests             tasks done without a page, under the faults of `make chaos`
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
from bench.message_site.behaviours import ALL, GATE
from bench.parts import part_given
from bench.truth import report
from bench.truth.cells import CHOICES, TIER_CHOICES, TIER_POINTS, by_requests, part_of, short, whole
from bench.truth.programme import Programme
from bench.truth.tasks import REAL, SHORT
from replaywright.settings import load_settings
from replaywright.stack.processes import leave


def main() -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, help="decides everything that is left to chance (default: a new one)")
    parser.add_argument("--behaviours", default="", help=f"comma-separated, of: {', '.join(ALL)} (default: all)")
    parser.add_argument(
        "--tier", choices=["page", "requests"], default="page", help="of the tasks (default: %(default)s)"
    )
    parser.add_argument(
        "--faults",
        default="",
        help=f"comma-separated, of: {', '.join(CHOICES)}; of requests: {', '.join(TIER_CHOICES)} (default: all)",
    )
    parser.add_argument("--points", default="", help=f"comma-separated, of: {', '.join(GATE)} (default: all)")
    parser.add_argument("--short", action="store_true", help="the form that is part of `make test-long`, less patient")
    parser.add_argument("--impatient", action="store_true", help="shorter `late_ms` and `in_flight_ms`, as --short has")
    parser.add_argument("--part", type=part_given, default=(1, 1), help="such as 2/4: one part of so many, by the seed")
    parser.add_argument("--lanes", type=int, default=6, help="groups of runs side by side (default: %(default)s)")
    parser.add_argument("--keep", type=Path, help="folder that keeps logs and databases (default: nothing is kept)")
    given = parser.parse_args()
    Runtime.set_default(Runtime(telemetry=TelemetryConfig(logging=None)))  # a server that is killed is no news here
    seed = random.randrange(10**6) if given.seed is None else given.seed
    try:
        names = known("behaviour", given.behaviours, tuple(ALL))
        by_tier = given.tier == "requests"
        faults = known("fault", given.faults, TIER_CHOICES if by_tier else CHOICES)
        points = known("point", given.points, TIER_POINTS if by_tier else GATE)
    except ValueError as exc:
        parser.error(str(exc))
    if given.lanes < 1:
        parser.error(f"--lanes: {given.lanes} is too few; give at least 1")
    if given.keep is not None and given.keep.exists() and any(given.keep.iterdir()):
        parser.error(f"--keep: {str(given.keep)!r} is not empty; give a new folder")
    part, parts = given.part
    groups = by_requests(seed, names, faults, points) if by_tier else whole(seed, names, faults, points)
    groups = part_of(short(seed) if given.short else groups, part, parts)
    if not groups:
        parser.error(f"--part: there is nothing in part {part} of {parts}; give fewer parts")
    pace = SHORT if given.short or given.impatient else REAL
    console = Console() if sys.stdout.isatty() else Console(width=170)

    def tell(text: str) -> None:
        console.print(text, markup=False, highlight=False)

    truth = Programme(groups, load_settings(), given.lanes, tell, pace, given.keep)
    tell(f"seed {seed}, part {part}/{parts}: {truth.planned} runs in {len(groups)} groups and {given.lanes} lanes")
    interrupted = not asyncio.run(finished(truth.run(), tell))
    report.show(console, truth.told)
    bad = [one for one in truth.told if one.faults]
    for one in bad:
        cell = one.cell
        struck = f",{cell.fault} --points {cell.point}" if cell.point else ""
        pace_option = (" --impatient" if pace is SHORT else "") + (" --tier requests" if cell.by_requests else "")
        tell(
            f"{cell.name}: {one.verdict}: {one.said} {'; '.join(one.asked)}\n    again: python -m bench.truth "
            f"--seed {seed} --behaviours {cell.behaviour.name} --faults none{struck}{pace_option}"
        )
    console.file.flush()
    told = report.figures(truth.planned, truth.told, truth.seconds)
    print(json.dumps({**told, "seed": seed, "part": f"{part}/{parts}"}))
    return 1 if bad or interrupted or len(truth.told) < truth.planned else 0


if __name__ == "__main__":
    leave(main())
