"""What telemetry costs a replay: the demo's flow with it and without, interleaved, on a stage each.

    make bench-telemetry                 # 12 rounds
    make bench-telemetry ARGS="--rounds 30"

With it every span and metric goes to a collector's stand-in over HTTP, and Prometheus is answered. A run is timed as by
`bench/replay.py`: from the moment its browser is ready to the end of the final verification. The Temporal server and
Chromium are the same for both; what differs is the worker.
"""

import argparse
import asyncio
import json
import statistics
import sys

from rich.console import Console
from rich.table import Table

from bench.replay import p95, replay
from demo.main_job import MAILS, TASK_FILE
from demo.stage import Stage
from replaywright.cli.taskfile import read_task
from replaywright.domain.tasks import bind_parameters
from replaywright.settings import load_settings
from replaywright.stack.telemetry import end_command_telemetry
from tests.telemetry.collector import collecting


async def measure(rounds: int, console: Console) -> dict[str, float]:
    """Learn once on each stage, then measure both round by round, each first in every second one."""
    task = read_task(str(TASK_FILE))
    off_ms: list[float] = []
    on_ms: list[float] = []
    with collecting() as collector:
        plain = load_settings()
        watched = plain.model_copy(update={"otlp_endpoint": collector.url, "metrics_address": "127.0.0.1:0"})
        async with Stage(plain, tell=console.print) as off, Stage(watched, tell=console.print) as on:
            contenders = [(off, off_ms), (on, on_ms)]
            for stage, _ in contenders:
                for _ in range(2):  # the first one learns, the second one warms
                    await replay(stage, task, bind_parameters(task, {"base_url": stage.webmail, **MAILS["1"]}), None)
            for number in range(rounds):
                for stage, taken in contenders if number % 2 else reversed(contenders):
                    values = bind_parameters(task, {"base_url": stage.webmail, **MAILS["1"]})
                    window, _ = await replay(stage, task, values, None)
                    taken.append(window)
        end_command_telemetry()
        spans, traces = len(collector.spans), len({span.trace for span in collector.spans})
    return _shown(console, off_ms, on_ms, spans=spans, traces=traces)


def _shown(console: Console, off_ms: list[float], on_ms: list[float], *, spans: int, traces: int) -> dict[str, float]:
    table = Table(title="the demo's flow, milliseconds, browser start excluded")
    for column in ("telemetry", "median", "p95", "min", "ratio"):
        table.add_column(column, justify="left" if column == "telemetry" else "right")
    base = statistics.median(off_ms)
    for name, values in (("off", off_ms), ("on", on_ms)):
        median = statistics.median(values)
        row = (median, p95(values), min(values))
        table.add_row(name, *(f"{value:.0f}" for value in row), f"{median / base:.3f}")
    console.print(table)
    pairs = [on / off for off, on in zip(off_ms, on_ms, strict=True)]
    return {
        "ratio": round(statistics.median(on_ms) / base, 3),
        "ratio_of_pairs_median": round(statistics.median(pairs), 3),
        "ratio_of_minima": round(min(on_ms) / min(off_ms), 3),
        "off_ms": round(base, 1),
        "on_ms": round(statistics.median(on_ms), 1),
        "spans_per_run": round(spans / traces, 1),
        "rounds": len(off_ms),
    }


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=12, help="how often each runs (default: %(default)s)")
    given = parser.parse_args()
    figures = asyncio.run(measure(max(3, given.rounds), Console()))
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
