"""Our actions on widgets of component frameworks that nobody here wrote: NiceGUI (Quasar), Streamlit and Dash.

    make bench-widgets
    make bench-widgets ARGS="--frameworks dash --only date"

Every interaction is recorded on a fresh page with one value, by a target as a task file has it, and replayed on
another fresh page with another value, by what was recorded. What counts is what the application's server received:
an interaction that we say is done although the server has another value, or has changed another one, is done wrong,
silently.
"""

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.environments import EnvironmentFailed
from bench.miniwob import End
from bench.widgets.case import Case
from bench.widgets.dash_cases import CASES as DASH
from bench.widgets.nicegui_cases import CASES as NICEGUI
from bench.widgets.run import Outcome, Runner, browser
from bench.widgets.served import FRAMEWORKS, Framework, served
from bench.widgets.streamlit_cases import CASES as STREAMLIT
from replaywright.errors import StackFailed

CASES: Mapping[Framework, tuple[Case, ...]] = {"nicegui": NICEGUI, "streamlit": STREAMLIT, "dash": DASH}


async def measured(frameworks: Sequence[Framework], only: str, console: Console) -> list[tuple[Outcome, Outcome]]:
    """Work the widgets of these frameworks whose kind has `only` in it: recorded, replayed."""
    outcomes: list[tuple[Outcome, Outcome]] = []
    with tempfile.TemporaryDirectory(prefix="replaywright-files-") as folder:
        for name in ("first", "second"):
            (Path(folder) / f"{name}.txt").write_text(name, encoding="ascii")
        async with browser(Path(folder)) as session:
            for framework in frameworks:
                async with served(framework) as app:
                    runner = Runner(session, app, Path(folder))
                    for case in CASES[framework]:
                        if only not in case.kind and only not in case.widget:
                            continue
                        recorded, replayed = await runner.both(case)
                        for outcome in (recorded, replayed):
                            if outcome.end is not End.DONE:
                                said = f"{framework} {case.kind} ({outcome.run}): {outcome.end}: {outcome.why}"
                                console.print(said, markup=False, highlight=False)
                        outcomes.append((recorded, replayed))
    return outcomes


def shown(console: Console, outcomes: Sequence[tuple[Outcome, Outcome]]) -> dict[str, object]:
    """Print the table and return the figures."""
    table = Table(title="Widgets of component frameworks: what their servers received")
    for column in ("framework", "widget", "action", "recorded", "replayed", "evaluations", "ms"):
        table.add_column(column, justify="right" if column in ("evaluations", "ms") else "left")
    for recorded, replayed in outcomes:
        table.add_row(
            recorded.framework,
            recorded.case.kind,
            recorded.case.actions,
            recorded.end,
            replayed.end,
            f"{recorded.evaluations} | {replayed.evaluations}",
            f"{recorded.ms:.0f} | {replayed.ms:.0f}",
        )
    console.print(table)
    both = [outcome for pair in outcomes for outcome in pair]
    return {
        "interactions": len(outcomes),
        "done": sum(recorded.end is End.DONE for recorded, _ in outcomes),
        "stopped": sum(recorded.end is End.STOPPED for recorded, _ in outcomes),
        "silently_wrong": sum(outcome.end is End.WRONG for outcome in both),
        "replayed_done": sum(replayed.end is End.DONE for _, replayed in outcomes),
        "replayed_stopped": sum(replayed.end is End.STOPPED for _, replayed in outcomes),
        "frameworks": {
            framework: {
                "interactions": sum(recorded.framework == framework for recorded, _ in outcomes),
                "done": sum(outcome.end is End.DONE for outcome in both if outcome.framework == framework),
            }
            for framework in dict.fromkeys(recorded.framework for recorded, _ in outcomes)
        },
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frameworks", nargs="+", choices=FRAMEWORKS, default=FRAMEWORKS)
    parser.add_argument("--only", default="", help="widgets with this in their kind or name")
    given = parser.parse_args()
    console = Console(width=150)
    try:
        outcomes = asyncio.run(measured(given.frameworks, given.only, console))
    except (EnvironmentFailed, StackFailed) as error:
        print(error, file=sys.stderr)
        return 1
    figures = shown(console, outcomes)
    print(json.dumps(figures))
    return 0 if outcomes else 1


if __name__ == "__main__":
    sys.exit(main())
