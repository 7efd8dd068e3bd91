"""Real applications that nobody here wrote: tasks learned, replayed, and taken to other versions, themes and skins.

    make park
    make park ARGS="--apps datasette,node-red"
    make park ARGS="--apps trac --only ticket"
    make park ARGS="--measure reload"

Each application is installed and pinned on first use, and served on loopback. Its tasks were written before they were
ever run; everything runs as in production, with a stand-in for a model that knows the right element and counts its
calls. What counts as done is told by the application's own store, read outside the browser: a run that says it
succeeded, and did not, is done wrong, silently.

`--measure reload`: every element of its pages that can be acted on is recorded, the page is loaded anew, and each is
looked for. Another element that is taken for it is wrong, silently.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from bench.chromium import launched
from bench.environments import EnvironmentFailed
from bench.park import report
from bench.park.app import App
from bench.park.apps import APPS
from bench.park.reload import Found, reloaded
from bench.park.runs import evaluated
from replaywright.errors import StackFailed


async def measured(apps: Sequence[App], console: Console) -> list[Found]:
    """Look through all pages of these applications."""
    found: list[Found] = []
    async with launched() as browser:
        for app in apps:
            async with app.served() as url:
                console.print(f"{app.name} {app.editions[0].version}")
                found += await reloaded(browser, app, url)
    return found


def shown(console: Console, found: Sequence[Found]) -> dict[str, object]:
    """Print the table and return the figures."""
    table = Table(title="Elements found again after a reload")
    for name in ("application", "page"):
        table.add_column(name)
    for name in ("elements", "right", "missed", "wrong"):
        table.add_column(name, justify="right")
    for each in found:
        numbers = (each.elements, each.right, len(each.missed), len(each.wrong))
        table.add_row(each.app, each.page, *map(str, numbers))
    console.print(table)
    for each in found:
        for kind, lines in (("missed", each.missed), ("wrong", each.wrong)):
            for line in lines:
                console.print(f"{each.app}{each.page}: {kind}: {line}", markup=False, highlight=False)
    elements, right = sum(each.elements for each in found), sum(each.right for each in found)
    return {
        "apps": len({each.app for each in found}),
        "elements": elements,
        "reload": round(right / elements, 4) if elements else 0.0,
        "missed": sum(len(each.missed) for each in found),
        "wrong": sum(len(each.wrong) for each in found),
    }


def main() -> int:
    """Run, and print the figures; 1 if an element was taken for another one, or a task was done wrong silently."""
    parser = argparse.ArgumentParser(
        prog="make park", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [app.name for app in APPS]
    parser.add_argument("--apps", default=",".join(names), help="which, with commas (default: all)")
    parser.add_argument("--only", default="", help="tasks with this in their name")
    parser.add_argument("--measure", choices=("tasks", "reload"), default="tasks")
    given = parser.parse_args()
    chosen = given.apps.split(",")
    if unknown := sorted(set(chosen) - set(names)):
        parser.error(f"--apps: no application is named {unknown[0]!r}; there are {', '.join(names)}")
    apps = [app for app in APPS if app.name in chosen]
    console = Console(width=140)
    try:
        if given.measure == "reload":
            figures = shown(console, asyncio.run(measured(apps, console)))
            wrong = figures["wrong"]
        else:
            figures = report.shown(console, asyncio.run(evaluated(apps, given.only, console)))
            wrong = figures["silently_wrong"]
    except (EnvironmentFailed, StackFailed) as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps(figures))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
