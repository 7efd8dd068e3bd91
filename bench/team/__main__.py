"""What teams need, measured together: signed-in sessions that sites end at any time, and what else a team relies on.

    make team                                                  # all parts but for load
    make team ARGS="--parts load"                              # 200 runs in an hour, under the faults of chaos
    make team ARGS="--parts sessions --runs 20 --at-once 4"

Temporal, Redis, Chromium and the sites are real; no language model is asked.
"""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from bench.team import canaries, forbidden, load, notices, sessions, starts, waiting
from bench.team.part import Figures, Part, holds, shown

PARTS: Mapping[str, Part] = {
    "sessions": Part(sessions.measured_by, sessions.WANTED),
    "canaries": Part(canaries.measured_by, canaries.WANTED),
    "notices": Part(notices.measured_by, notices.WANTED),
    "starts": Part(starts.measured_by, starts.WANTED),
    "forbidden": Part(forbidden.measured_by, forbidden.WANTED),
    "waiting": Part(waiting.measured_by, waiting.WANTED),
    "load": Part(load.measured_by, load.WANTED),
}
"""A new part is a module with such a function, and a line here; its options stand in `_options`."""
ON_REQUEST = ("load",)
"""Parts that take an hour: only what names them runs them."""


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="make team", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    usual = ",".join(name for name in PARTS if name not in ON_REQUEST)
    parts = f"which, with commas, of {', '.join(PARTS)} (default: %(default)s)"
    parser.add_argument("--parts", default=usual, help=parts)
    for part in (sessions, canaries, starts, waiting, load):
        part.add_options(parser.add_argument_group(part.__name__.rpartition(".")[2]))
    return parser


async def measure(chosen: Sequence[str], given: argparse.Namespace, console: Console) -> dict[str, Figures]:
    """Measure these parts, one after the other; return the figures by part."""

    def tell(text: str) -> None:
        console.print(text, style="dim", highlight=False, markup=False)

    figures = {}
    for name in chosen:
        begun = time.monotonic()
        tell(f"{name} …")
        figures[name] = await PARTS[name].measured(given, tell)
        tell(f"{name}: {json.dumps(figures[name])}, {time.monotonic() - begun:.0f} s")
    return figures


def main() -> int:
    """Measure, print a table, and as the last line the figures of the parts as JSON."""
    parser = _options()
    given = parser.parse_args()
    chosen = given.parts.split(",")
    if unknown := sorted(set(chosen) - set(PARTS)):
        parser.error(f"--parts: no part is named {unknown[0]!r}; there are {', '.join(PARTS)}")
    console = Console(width=140)
    measured = asyncio.run(measure(chosen, given, console))
    table = Table("part", "figure", "measured", "wanted", "")
    held = True
    for part, figures in measured.items():
        for name, figure in figures.items():
            wanted = PARTS[part].wanted.get(name)
            right = wanted is None or holds(figures, name, wanted)
            held &= right
            table.add_row(part, name, f"{figure:g}", shown(wanted), "" if right else "missed")
    console.print(table)
    print(json.dumps({name: figure for figures in measured.values() for name, figure in figures.items()}))
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
