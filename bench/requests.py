"""Tasks of the park done by their requests: learned in two runs of the page, replayed with other values, and judged.

    make bench-requests
    make bench-requests ARGS="--apps trac,radicale --only create"

Two runs of the page learn a task's requests, on one site, as an application is used: what the first has stored is there
in the second. Then it is replayed by requests and, beside that, by its page, each time on a site as it was in the
beginning, with values of which half were never seen. What counts as done is told by the application's own store. In
the end it is taken to the next version, theme or skin, where it has to be done right by its requests or by its page.
"""

import argparse
import asyncio
import json
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table

from bench.endings import ending_of
from bench.environments import EnvironmentFailed
from bench.miniwob import why_of
from bench.park.app import App, Edition, Site
from bench.park.apps import APPS
from bench.park.hands import PARK
from bench.park.job import Job, Seen
from bench.park.place import Place
from bench.park.runs import RUN_LIMIT_S, Lab, fault_of, lab
from bench.wob.spec import Values
from demo.stage import PASSWORD_SECRET
from replaywright.cli.runs.follow import handle_of
from replaywright.cli.runs.starting import Order
from replaywright.cli.tasks.taskfile import new_run_id
from replaywright.domain.requests.commands import WITHOUT_PAGE
from replaywright.errors import StackFailed

OTHERS: Mapping[str, Values] = {
    "sqlite-web/query": {"query": "select name from customers where city = 'Bern' limit 3"},
    "adminer/run-a-command": {"query": "select item, amount from orders where customer = 4"},
    "adminer/edit-one-row": {"name": "Customer 21", "city": "Riga"},
    "datasette/filter-a-table": {"value": "Gr"},
    "datasette/write-a-query": {"query": "select city, count(*) as people from customers group by city"},
    "fava/run-a-query": {"account": "Income:Salary", "sum": "-2000.00"},
    "fava/filter-the-journal": {"payee": "Grocer"},
    "fossil/edit-one-page": {"page": "Winches", "text": "Hemp, and no nylon."},
    "trac/write-wiki-page": {"page": "TourPlan", "text": "Over the pass & back.", "comment": "day 1"},
    "trac/create-and-resolve": {"summary": "The chain is dry", "comment": "oiled it", "resolution": "invalid"},
    "wagtail/add-redirect": {"from": "/spring", "to": "http://park.test/may"},
    "wagtail/delete-one-redirect": {"from": "/shop"},
    "wagtail/draft-page": {"title": "What it costs", "description": "Tickets & passes"},
}
"""Values of a third kind by `application/task`; of the tasks that people show, they are where those are."""
DEFAULT = (
    "trac", "radicale", "wagtail", "sqlite-web", "adminer", "datasette", "fossil", "supervisor", "fava", "optuna",
)  # fmt: skip


@dataclass(frozen=True)
class Run:
    """One run, and what the store said of it."""

    by_requests: bool
    done: bool
    wrong: str = ""
    """What is not as it was to be, of a run that says that it succeeded."""
    why: str = ""
    """Reason for which it stopped, or went through the page."""
    ms: float = 0.0

    @property
    def told(self) -> str:
        """What is written of it."""
        way = "requests" if self.by_requests else "page"
        return f"{way}, {'WRONG' if self.wrong else 'right' if self.done else 'stopped'}"


@dataclass
class Result:
    """One task."""

    app: str
    job: str
    refused: str = ""
    """Reason for which it was not learned."""
    replays: list[Run] = field(default_factory=list)
    pages: list[Run] = field(default_factory=list)
    redesigns: dict[str, Run] = field(default_factory=dict)
    values: Sequence[str] = ()

    @property
    def runs(self) -> list[Run]:
        """All that was judged."""
        return [*self.replays, *self.pages, *self.redesigns.values()]

    @property
    def duplicates(self) -> int:
        """Runs after which the store has a value twice."""
        return sum(any(len(value) > 3 and run.wrong.count(value) > 1 for value in self.values) for run in self.runs)


@dataclass(frozen=True)
class Bench:
    """One task, and where it is done."""

    here: Lab
    app: App
    site: Site
    job: Job

    async def run(self, values: Values, *, at: Edition | None = None, by: str = "requests") -> Run:
        """Serve an edition, by default the first, afresh, and do the task on it."""
        edition = at or self.app.editions[0]
        return await self.once(await self.site.begin(edition), values, edition, by)

    async def once(self, place: Place, values: Values, edition: Edition, by: str = "requests") -> Run:
        """Do the task on a site that is served, and ask its judge."""
        here, job = self.here, self.job
        here.stage.allow(place.url)
        if job.signs_in:
            here.stage.bind(PASSWORD_SECRET, place.url)
        task = job.task(self.app.name).model_copy(update={"tier": by})
        given = {"site": place.url, **values}
        order = Order(task, given, new_run_id(task, given))
        rules = job.told(values, edition.name)
        here.oracle.learn(rules)
        try:
            ending = await ending_of(order, here.stage, RUN_LIMIT_S, approved=set())
        finally:
            here.oracle.forget(rules)
        told = await handle_of(here.stage.place.client, order.run_id).describe()
        ms = (told.close_time - told.start_time).total_seconds() * 1000 if told.close_time else 0.0
        result = ending.result
        warned = " ".join(each for each in result.warnings if each.startswith("tier: requests"))
        by_requests = result.note == WITHOUT_PAGE
        if ending.status != "done":
            return Run(by_requests, False, why=f"{warned} {why_of(ending)}".strip(), ms=ms)
        fault = await fault_of(job, Seen(place, values, result.extracted, await here.files(result)))
        return Run(by_requests, not fault, wrong=fault, why=warned, ms=ms)

    async def learned(self) -> str:
        """Do the task twice by its page; return why it cannot be replayed by its requests, empty if it can."""
        first = self.app.editions[0]
        place = await self.site.begin(first)
        one = await self.once(place, self.job.values, first)
        two = await self.once(place, self.job.new, first)
        if not (two.done or two.wrong):  # what it needs is gone
            two = await self.run(self.job.new)
        stopped = next((run for run in (one, two) if not (run.done or run.wrong)), None)
        return two.why if stopped is None else f"by its page: {stopped.why}"

    async def measured(self, rounds: int) -> Result:
        """Learn the task, replay it, and take it to the next edition."""
        name = f"{self.app.name}/{self.job.name}"
        third = OTHERS.get(name) or (PARK[name].others if name in PARK else self.job.values)
        result = Result(self.app.name, self.job.name, values=[*self.job.values.values(), *third.values()])
        await self.here.forget()
        result.refused = await self.learned()
        if result.refused:
            return result
        for number in range(rounds):
            values = third if number % 2 == 0 else self.job.values
            result.replays.append(await self.run(values))
            result.pages.append(await self.run(values, by="page"))
        for edition in self.app.editions[1:2]:
            if edition.name not in self.job.other_flow:
                result.redesigns[edition.name] = await self.run(third, at=edition)
        return result


async def reported(apps: Sequence[App], only: str, rounds: int, console: Console) -> list[Result]:
    """Measure all tasks with a part of `only` in their names, and tell of each; return their results."""
    results = []
    async with lab() as here:
        for app in apps:
            async with app.site() as site:
                for job in (job for job in app.jobs if any(part in job.name for part in only.split(","))):
                    results.append(result := await Bench(here, app, site, job).measured(rounds))
                    lines = [f"{app.name} {job.name}: {result.refused or 'learned'}"]
                    lines += [f"  {run.told}, {run.ms:.0f} ms {run.why} {run.wrong}".rstrip() for run in result.runs]
                    console.print("\n".join(lines), markup=False, highlight=False)
    return results


def shown(console: Console, results: Sequence[Result]) -> dict[str, object]:
    """Print the table and return the figures."""
    table = Table(title="Tasks of real applications, done by their requests")
    for name in ("application", "task", "learned", "by requests", "page ms", "requests ms", "ratio", "redesigned"):
        table.add_column(name)
    ratios = []
    for each in results:
        fast = [run.ms for run in each.replays if run.by_requests and run.done]
        slow = [run.ms for run in each.pages if run.done]
        cells = [f"{statistics.median(times):.0f}" if times else "" for times in (slow, fast)]
        if fast and slow:
            ratios.append(statistics.median(slow) / statistics.median(fast))
            cells.append(f"{ratios[-1]:.1f}")
        by = f"{sum(run.by_requests for run in each.replays)} of {len(each.replays)}"
        redesigned = ", ".join(f"{name}: {run.told}" for name, run in each.redesigns.items())
        cells += [""] * (3 - len(cells))
        table.add_row(each.app, each.job, each.refused or "yes", by, *cells, redesigned)
    console.print(table)
    runs = [run for each in results for run in each.runs]
    return {
        "applications": len({each.app for each in results}),
        "tasks": len(results),
        "learned": sum(not each.refused for each in results),
        "refused": sum(bool(each.refused) for each in results),
        "replays": sum(len(each.replays) for each in results),
        "by_requests": sum(run.by_requests for each in results for run in each.replays),
        "fell_back": sum(bool(run.why) for each in results for run in each.replays),
        "stopped": sum(not (run.done or run.wrong) for run in runs),
        "ratio_to_page": round(statistics.median(ratios), 1) if ratios else None,
        "wrong": sum(bool(run.wrong) for run in runs),
        "duplicates": sum(each.duplicates for each in results),
        "redesigned": sum(len(each.redesigns) for each in results),
        "redesigned_by_requests": sum(run.by_requests for each in results for run in each.redesigns.values()),
    }


def main() -> int:
    """Run, and print the figures; 1 if something was done wrong."""
    parser = argparse.ArgumentParser(
        prog="make bench-requests", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [app.name for app in APPS]
    parser.add_argument("--apps", default=",".join(DEFAULT), help="which, with commas")
    parser.add_argument("--only", default="", help="tasks with this in their name, or one of several, with commas")
    parser.add_argument("--rounds", type=int, default=4, help="replays of each task, by requests and by its page")
    given = parser.parse_args()
    chosen = given.apps.split(",")
    if unknown := sorted(set(chosen) - set(names)):
        parser.error(f"--apps: no application is named {unknown[0]!r}; there are {', '.join(names)}")
    console = Console(width=160)
    apps = [app for app in APPS if app.name in chosen]
    try:
        figures = shown(console, asyncio.run(reported(apps, given.only, given.rounds, console)))
    except (EnvironmentFailed, StackFailed) as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps(figures))
    return 1 if figures["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
