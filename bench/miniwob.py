"""MiniWoB++: each task recorded once with an oracle, then replayed with its seed and with others.

    make bench-miniwob
    make bench-miniwob ARGS="--tasks click-button enter-date --seeds 3"

Everything runs as in production: Temporal, Redis, a worker, a keeper and a Chromium for every run. The model is an
oracle behind HTTP that counts its calls. What counts as done is the task's own reward, told by its page to this program
and to nobody else: a run that says it succeeded although the reward is not positive is done wrong, silently.
"""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import count

from playwright.async_api import Page, async_playwright
from rich.console import Console
from rich.table import Table

from bench.endings import ending_of
from bench.environments import EnvironmentFailed, miniwob_pages
from bench.wob.oracle import Oracle
from bench.wob.pages import Pages, utterance
from bench.wob.serving import serving
from bench.wob.spec import Spec, Values
from bench.wob.tasks import SPECS
from demo.stage import Stage
from replaywright.cli.runs.follow import Ending
from replaywright.cli.runs.starting import Order
from replaywright.cli.tasks.taskfile import new_run_id
from replaywright.domain.run.scope import Mode
from replaywright.errors import StackFailed
from replaywright.settings import load_settings

SEEDS_TRIED = 60
"""How many seeds are read to find those whose parameters the page says."""
RUN_LIMIT_S = 180


class Kind(StrEnum):
    """Which of the three runs of a task."""

    RECORD = "record"
    SAME = "same seed"
    NEW = "new seed"


class End(StrEnum):
    """What became of a run."""

    DONE = "done"
    STOPPED = "stopped"
    """It said that it did not succeed, and why."""
    WRONG = "done wrong silently"


@dataclass(frozen=True)
class Outcome:
    """One run."""

    task: str
    seed: int
    kind: Kind
    end: End
    why: str
    model_calls: int
    reward: float | None
    seconds: float
    run_id: str


@dataclass
class Bench:
    """The stage, the site and the oracle, for all tasks."""

    stage: Stage
    pages: Pages
    site: str
    oracle: Oracle
    reader: Page
    """A browser of this program's own: reads what the tasks ask for, as their caller would know it."""
    numbers: "count[int]" = field(default_factory=count)

    async def seeds(self, spec: Spec, wanted: int) -> list[tuple[int, Values]]:
        """The first `wanted` seeds whose parameters the page says, with the parameters; the first of all is recorded.

        Raises:
            StackFailed: there are fewer among the first sixty.
        """
        found: list[tuple[int, Values]] = []
        for seed in range(spec.recorded_seed, spec.recorded_seed + SEEDS_TRIED):
            if len(found) == wanted:
                break
            values = spec.read(await utterance(self.reader, self.site, spec.name, seed))
            if values is not None:
                found.append((seed, values))
        if len(found) < wanted:
            raise StackFailed(f"{spec.name}: {len(found)} of {wanted} seeds say their parameters")
        return found

    async def run(self, spec: Spec, seed: int, values: Values, kind: Kind) -> Outcome:
        """Run the task with this seed and see what the page says of it."""
        run = f"{spec.name}-{seed}-{next(self.numbers)}"
        given = {"site": self.site, "seed": str(seed), "run": run, **values}
        task = spec.task(values)
        order = Order(task, given, new_run_id(task, given), mode=Mode.LEARN if kind is Kind.RECORD else Mode.AUTO)
        rules = spec.rules(values) if kind is Kind.RECORD else {}
        self.oracle.learn(rules)
        begun = time.monotonic()
        try:
            ending = await ending_of(order, self.stage, RUN_LIMIT_S)
        finally:
            self.oracle.forget(rules)
        reward = self.pages.rewards.get(run)
        right = reward is not None and reward > 0
        end = End.STOPPED if ending.status != "done" else End.DONE if right else End.WRONG
        return Outcome(
            task=spec.name,
            seed=seed,
            kind=kind,
            end=end,
            why="" if end is End.DONE else f"reward {reward}" if end is End.WRONG else why_of(ending),
            model_calls=ending.result.totals.usage.calls,
            reward=reward,
            seconds=time.monotonic() - begun,
            run_id=order.run_id,
        )


def why_of(ending: Ending) -> str:
    """Return in one line why a run ended as it did."""
    step = "" if ending.result.failed_step is None else f"step {ending.result.failed_step + 1}: "
    return f"{step}{ending.result.reason}: {ending.result.message}"


@asynccontextmanager
async def bench(posting: Iterable[str] = ()) -> AsyncIterator[Bench]:
    """Everything that the runs need, fresh; the pages of `posting` tell their rewards by POST.

    Raises:
        EnvironmentFailed: the package with the pages cannot be installed.
        StackFailed: a part of the stack did not come up.
    """
    async with AsyncExitStack() as exits:
        pages, oracle = Pages(miniwob_pages(), frozenset(posting)), Oracle()
        site = await exits.enter_async_context(serving(pages.app()))
        model = await exits.enter_async_context(serving(oracle.app()))
        given = load_settings().model_copy(update={"model": "openai:oracle", "model_base_url": f"{model}/v1"})
        stage = await exits.enter_async_context(Stage(given, tell=lambda _text: None))
        stage.allow(site)
        settings = stage.place.settings
        playwright = await exits.enter_async_context(async_playwright())
        browser = await playwright.chromium.launch(
            executable_path=str(settings.chromium), args=[] if settings.chromium_sandbox else ["--no-sandbox"]
        )
        exits.push_async_callback(browser.close)
        yield Bench(stage, pages, site, oracle, await browser.new_page())


async def evaluate(
    lab: Bench, specs: Sequence[Spec], new_seeds: int, at_once: int, console: Console, *, same_seed: bool = True
) -> tuple[list[Outcome], int]:
    """Record all, then replay all; returns the runs, and the calls that the oracle counted after the recording."""
    wanted = {spec: await lab.seeds(spec, 1 + (new_seeds if spec.new_seeds else 0)) for spec in specs}
    recordings = [(spec, *wanted[spec][0], Kind.RECORD) for spec in specs]
    outcomes = await _all(lab, recordings, at_once, console)
    counted = lab.oracle.calls
    replays = [(spec, *wanted[spec][0], Kind.SAME) for spec in specs if same_seed]
    replays += [(spec, seed, values, Kind.NEW) for spec in specs for seed, values in wanted[spec][1:]]
    outcomes += await _all(lab, replays, at_once, console)
    return outcomes, lab.oracle.calls - counted


async def _all(
    lab: Bench, orders: Iterable[tuple[Spec, int, Values, Kind]], at_once: int, console: Console
) -> list[Outcome]:
    turns = asyncio.Semaphore(at_once)

    async def one(spec: Spec, seed: int, values: Values, kind: Kind) -> Outcome:
        async with turns:
            outcome = await lab.run(spec, seed, values, kind)
        if outcome.end is not End.DONE:
            console.print(f"{spec.name} seed {seed} ({kind}): {outcome.end}: {outcome.why}", markup=False)
        return outcome

    return list(await asyncio.gather(*(one(*order) for order in orders)))


def shown(console: Console, outcomes: Sequence[Outcome], counted_calls: int) -> dict[str, object]:
    """Print the table and return the figures."""
    table = Table(title="MiniWoB++: same seed | new seeds")
    for column in ("task", "recorded", "done", "stopped and said why", "done wrong silently", "model calls"):
        table.add_column(column, justify="left" if column == "task" else "right")
    names = list(dict.fromkeys(outcome.task for outcome in outcomes))
    for name in names:
        recorded, same, new = (_of(outcomes, kind, name) for kind in Kind)
        columns = [_pair(same, new, end) for end in End]
        calls = f"{sum(o.model_calls for o in same)} | {sum(o.model_calls for o in new)}"
        table.add_row(name, recorded[0].end, *columns, calls)
    console.print(table)
    same, new = _of(outcomes, Kind.SAME), _of(outcomes, Kind.NEW)
    replays = [*same, *new]
    return {
        "tasks": len(names),
        "same_seed": _share(same),
        "new_seed": _share(new),
        "silently_wrong": _count(outcomes, End.WRONG),
        "model_calls": counted_calls,
        "model_calls_same_seed": sum(outcome.model_calls for outcome in same),
        "model_calls_of_runs": sum(outcome.model_calls for outcome in replays),
        "recorded": _count(_of(outcomes, Kind.RECORD), End.DONE),
        "stopped": _count(replays, End.STOPPED),
        "same_seed_runs": len(same),
        "new_seed_runs": len(new),
        "new_seed_tasks": len({outcome.task for outcome in new}),
        "named_tasks": names,
    }


def _of(outcomes: Iterable[Outcome], kind: Kind, name: str = "") -> list[Outcome]:
    return [outcome for outcome in outcomes if outcome.kind is kind and name in ("", outcome.task)]


def _count(outcomes: Iterable[Outcome], end: End) -> int:
    return sum(outcome.end is end for outcome in outcomes)


def _pair(same: Sequence[Outcome], new: Sequence[Outcome], end: End) -> str:
    of_all = [f"/{len(outcomes)}" if end is End.DONE else "" for outcomes in (same, new)]
    return f"{_count(same, end)}{of_all[0]} | {_count(new, end)}{of_all[1]}"


def _share(outcomes: Sequence[Outcome]) -> float | None:
    """The share that was done; None where there was nothing to do."""
    return round(_count(outcomes, End.DONE) / len(outcomes), 4) if outcomes else None


async def measure(specs: Sequence[Spec], new_seeds: int, at_once: int, console: Console) -> dict[str, object]:
    """Evaluate these tasks on a stage of their own."""
    begun = time.monotonic()
    async with bench() as lab:
        outcomes, calls = await evaluate(lab, specs, new_seeds, at_once, console)
    return shown(console, outcomes, calls) | {"seconds": round(time.monotonic() - begun, 1)}


def main() -> int:
    """Measure and print; 1 if the pages or the stack could not be had."""
    parser = argparse.ArgumentParser(prog="make bench-miniwob", description=__doc__)
    parser.add_argument("--tasks", nargs="+", choices=sorted(SPECS), default=list(SPECS), metavar="NAME")
    parser.add_argument("--seeds", type=int, default=5, help="new seeds for each task (default: %(default)s)")
    parser.add_argument("--at-once", type=int, default=3, help="runs at the same time (default: %(default)s)")
    given = parser.parse_args()
    if given.seeds < 0 or given.at_once < 1:
        parser.error("--seeds must be 0 or more, --at-once 1 or more")
    specs = [SPECS[name] for name in given.tasks]
    try:
        figures = asyncio.run(measure(specs, given.seeds, given.at_once, Console()))
    except (EnvironmentFailed, StackFailed) as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
