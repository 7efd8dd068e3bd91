"""What teams need, measured together: sessions that sites end at any time, and what becomes of runs and cookies.

    make team                                # 100 runs, 8 at once
    make team ARGS="--runs 20 --at-once 4"

Temporal, Redis, Chromium and the site are real; no model is asked.
"""

import argparse
import asyncio
import json
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.team.crm import crm_served
from bench.team.sessions import Load, measured, written
from demo.stage import Stage
from replaywright.settings import load_settings
from tests.e2e.lab import Lab

MUST_BE_NOTHING = ("failed_runs", "notes_twice", "notes_missing", "cookies_found")


async def measure(load: Load, console: Console) -> dict[str, int]:
    """Measure all parts."""

    def tell(text: str) -> None:
        console.print(text, style="dim", highlight=False)

    with tempfile.TemporaryDirectory(prefix="replaywright-team-") as folder, crm_served() as crm:
        settings = load_settings().model_copy(update={"sessions": written(Path(folder), crm, shared=load.at_once)})
        async with Stage(settings, tell=tell) as stage:
            return await measured(Lab(stage), crm, load, tell)


def main() -> int:
    """Measure, print a table, and as the last line the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=100, help="runs that use the session (default: %(default)s)")
    parser.add_argument("--at-once", type=int, default=8, help="of them at the same time (default: %(default)s)")
    parser.add_argument(
        "--often",
        type=float,
        default=0.01,
        help="share of the requests before which the site ends the session (default: %(default)s)",
    )
    given = parser.parse_args()
    if given.runs < 1 or given.at_once < 1 or not 0 <= given.often < 1:
        parser.error("expected --runs and --at-once of 1 or more, and --often from 0 up to 1")
    console = Console()
    figures = asyncio.run(measure(Load(given.runs, given.at_once, given.often), console))
    table = Table("figure", "measured", "wanted")
    for name, figure in figures.items():
        wanted = "0" if name in MUST_BE_NOTHING else str(figures["expiries"]) if name == "sign_ins" else ""
        table.add_row(name, str(figure), wanted)
    console.print(table)
    print(json.dumps(figures))
    held = figures["sign_ins"] == figures["expiries"] and not any(figures[name] for name in MUST_BE_NOTHING)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
