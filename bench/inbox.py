"""How long it takes to find all runs that wait for a person: by their memo in one listing, and by asking each.

    make bench-inbox                     # 200 runs that wait
    make bench-inbox ARGS="--runs 50"

Temporal and a workflow worker are real; browsers are played by a script.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table
from temporalio.client import Client

from replaywright.cli.people.inbox import waiting_in
from replaywright.cli.runs.follow import handle_of, progress_of
from replaywright.cli.servers.connect import Backend
from replaywright.domain.run.commands import CommandOnStep
from replaywright.domain.step.outcomes import Status, StepOutcome
from replaywright.errors import StackFailed
from replaywright.settings import load_settings
from replaywright.stack import Stack
from replaywright.testing.grants import allow_loopback
from tests.workflows.scripted import Script, done, run_of, scripted, start
from workflows.plugin import WorkflowPlugin

ROUNDS = 5
LIMIT_S = 300.0
STEPS = (
    {"action": "goto", "url": "http://site/"},
    {"action": "fill", "instruction": "the name field", "value": "Ada"},
)


def fails(request: CommandOnStep, _call: int) -> StepOutcome:
    """The goto is done, the rest waits for a person."""
    return StepOutcome(status=Status.REFUSED, reason="covered") if request.context.sequence else done(request)


async def seconds(call: Callable[[], Awaitable[int]], expected: int) -> list[float]:
    """How long each round took; every round has to find all."""
    spent = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        found = await call()
        spent.append(time.perf_counter() - begun)
        if found != expected:
            raise StackFailed(f"{found} of {expected} runs that wait were found")
    return spent


async def measure(runs: int, console: Console) -> dict[str, float | int]:
    """Start the runs, wait until all ask, and list them both ways."""
    with tempfile.TemporaryDirectory(prefix="replaywright-bench-") as folder:
        allow_loopback(Path(folder))
        settings = load_settings().model_copy(update={"home": Path(folder), "temporal_address": None})
        async with Stack(settings, persistent=False, tell=lambda text: console.print(text, style="dim")) as stack:
            address = stack.settings.temporal_address or ""
            client = await Client.connect(address, plugins=[WorkflowPlugin()])
            here = Backend(client, stack.settings, "started")
            async with scripted(client, Script(perform=fails)) as queue:
                handles = [await start(client, queue, run_of(*STEPS, on_failure="ask")) for _ in range(runs)]
                deadline = time.monotonic() + LIMIT_S
                while len(await waiting_in(here)) < runs:
                    if time.monotonic() > deadline:
                        raise StackFailed(f"not all of {runs} runs wait after {LIMIT_S:g} s")
                    await asyncio.sleep(1)

                async def listed() -> int:
                    return len(await waiting_in(here))

                async def asked() -> int:
                    told = await asyncio.gather(*(progress_of(handle_of(client, each.id)) for each in handles))
                    return sum(progress is not None and progress.question is not None for progress in told)

                by_memo, by_query = await seconds(listed, runs), await seconds(asked, runs)
                for handle in handles:
                    await handle.terminate()
    table = Table("way", "runs", "rounds", "median s", "most s")
    for name, spent in (("one listing, by memo", by_memo), ("a query to each run", by_query)):
        table.add_row(name, str(runs), str(ROUNDS), f"{statistics.median(spent):.3f}", f"{max(spent):.3f}")
    console.print(table)
    return {
        "runs": runs,
        "memo_s": round(statistics.median(by_memo), 3),
        "query_s": round(statistics.median(by_query), 3),
    }


def main() -> int:
    """Measure, print a table, and as the last line the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200, help="that wait at the same time (default: %(default)s)")
    given = parser.parse_args()
    if given.runs < 1:
        parser.error(f"--runs {given.runs}: expected 1 or more")
    figures = asyncio.run(measure(given.runs, Console()))
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
