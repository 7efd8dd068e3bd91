"""Seconds from a SIGKILL to the next step that is performed, on the demo's task.

    make bench-recovery                  # 5 rounds of each
    make bench-recovery ARGS="--rounds 10"

Roles are separate, and a second browser worker runs. In each round a run is stopped in the middle of a step, then its
browser worker is killed (`worker`), or worker, keeper and browser are (`browser`). The clock stops when the outcome of
the next step is in the run's history; every run has to finish with exactly one mail.
"""

import argparse
import asyncio
import contextlib
import json
import math
import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import psutil
from rich.console import Console
from rich.table import Table
from temporalio.client import WorkflowHandle

from demo.main_job import TASK_FILE
from demo.stage import Stage
from replaywright.cli.runs.follow import follow, handle_of, progress_of
from replaywright.cli.runs.starting import Order, start
from replaywright.cli.tasks.taskfile import new_run_id, read_task
from replaywright.domain.run.runs import RunResult
from replaywright.domain.run.scope import Mode
from replaywright.domain.task.tasks import bind_parameters
from replaywright.errors import StackFailed
from replaywright.keeper.host.client import list_live
from replaywright.keeper.protocol import SessionRecord
from replaywright.settings import load_settings
from replaywright.stack import Child

FREEZE = "REPLAYWRIGHT_INTERNAL_FREEZE"
STEP = 6
"""The step in the middle of which the worker is killed: a form is half filled."""
_Found = TypeVar("_Found")
LIMIT_S = 120.0
POLL_S = 0.01


@dataclass
class Killing:
    """A stage with two browser workers, one of which is killed in each round."""

    stage: Stage
    freeze: Path
    rounds: int = 0

    def order(self, mode: Mode = Mode.AUTO) -> Order:
        """A run with a mail of its own."""
        self.rounds += 1
        task = read_task(str(TASK_FILE))
        given = {"to": f"r{self.rounds}@example.com", "subject": f"Round {self.rounds}", "body": "Hello"}
        values = bind_parameters(task, {"base_url": self.stage.webmail, **given})
        return Order(task, values, new_run_id(task, values), mode=mode)

    def handle(self, order: Order) -> "WorkflowHandle[object, RunResult]":
        """The run's handle."""
        return handle_of(self.stage.place.client, order.run_id)

    async def finished(self, order: Order) -> None:
        """Return when the run is done with exactly one mail; anything else is an error."""
        ending = await follow(self.handle(order), show=lambda _progress, _note: None, until_waiting=True)
        mails = [mail for mail in self.stage.sent() if mail.subject == order.values["subject"]]
        if ending.status != "done" or len(mails) != 1:
            raise StackFailed(f"run {order.run_id}: {ending.status}, {len(mails)} mails")

    async def seconds(self, *, with_browser: bool) -> float:
        """Kill in the middle of a step, and return the seconds until that step was performed after all."""
        order = self.order()
        self.freeze.write_text(f"acted:{STEP}")
        await start(self.stage.place, order)
        worker = await until("a worker stops in the step", self._frozen)
        session = await until("the run's browser is known", self._session)
        begun = time.monotonic()
        if with_browser:
            for process in filter(None, (session.keeper, session.chromium)):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
        worker.kill()

        async def performed() -> int | None:
            progress = await progress_of(self.handle(order))
            return progress.step if progress is not None and progress.step > STEP else None

        await until("the step is performed", performed)
        spent = time.monotonic() - begun
        await self.finished(order)
        await self.stage.start_worker(role="browser")
        return spent

    async def _frozen(self) -> Child | None:
        for worker in self.stage.workers:
            with contextlib.suppress(psutil.NoSuchProcess):
                if psutil.Process(worker.pid).status() == psutil.STATUS_STOPPED:
                    return worker
        return None

    async def _session(self) -> SessionRecord | None:
        live = list_live(self.stage.home / "sessions")
        return live[0] if len(live) == 1 else None


async def until(what: str, seen: Callable[[], Awaitable[_Found | None]]) -> _Found:
    """What `seen` returns as soon as it is not None."""
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        found = await seen()
        if found is not None:
            return found
        await asyncio.sleep(POLL_S)
    raise StackFailed(f"not within {LIMIT_S:g} s: {what}")


def p95(values: list[float]) -> float:
    """The value that 95 of 100 do not exceed (nearest rank)."""
    return sorted(values)[math.ceil(0.95 * len(values)) - 1]


async def measure(rounds: int, console: Console) -> dict[str, float | int]:
    """Both kinds of rounds, one after the other by turns."""
    with tempfile.TemporaryDirectory(prefix="replaywright-bench-") as folder:
        freeze = Path(folder) / "freeze"
        os.environ[FREEZE] = str(freeze)
        async with Stage(load_settings(), tell=lambda text: console.print(text, style="dim")) as stage:
            first = stage.worker
            for role in ("workflow", "model", "browser", "browser"):
                await stage.start_worker(role=role)
            await first.stop()
            killing = Killing(stage, freeze)
            learned = killing.order(Mode.LEARN)
            await start(stage.place, learned)
            await killing.finished(learned)
            spent: dict[bool, list[float]] = {False: [], True: []}
            for _ in range(rounds):
                for with_browser in (False, True):
                    spent[with_browser].append(await killing.seconds(with_browser=with_browser))
    table = Table("killed", "rounds", "median s", "p95 s", "most s", "target s (median)")
    for with_browser, name, target in ((False, "worker", "1.0"), (True, "worker, keeper and browser", "2.5")):
        values = spent[with_browser]
        figures = (statistics.median(values), p95(values), max(values))
        table.add_row(name, str(rounds), *(f"{value:.2f}" for value in figures), target)
    console.print(table)
    return {
        "worker_s": round(statistics.median(spent[False]), 2),
        "worker_p95_s": round(p95(spent[False]), 2),
        "browser_s": round(statistics.median(spent[True]), 2),
        "browser_p95_s": round(p95(spent[True]), 2),
        "rounds": rounds,
    }


def main() -> int:
    """Measure, print a table, and as the last line the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="kills of each kind (default: %(default)s)")
    given = parser.parse_args()
    if given.rounds < 1:
        parser.error(f"--rounds {given.rounds}: expected 1 or more")
    figures = asyncio.run(measure(given.rounds, Console()))
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
