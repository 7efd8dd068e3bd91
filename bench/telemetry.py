"""What telemetry costs a replay: the demo's flow with it and without, interleaved, on a stage each.

    make bench-telemetry                 # 12 rounds
    make bench-telemetry ARGS="--rounds 30"

With it every span and metric goes to a collector's stand-in over HTTP, and Prometheus is answered. A run is timed as by
`make bench`: from the moment its browser is ready to the end of the final verification. The Temporal server and
Chromium are the same for both; what differs is the worker.
"""

import argparse
import asyncio
import json
import statistics
import sys

from rich.console import Console
from rich.table import Table

from bench.replaying.contest import p95
from bench.replaying.flow import flow_on
from bench.replaying.ours import run_once
from demo.stage import Stage
from replaywright.settings import load_settings
from replaywright.stack.telemetry import end_command_telemetry
from tests.telemetry.collector import collecting


async def measure(rounds: int, console: Console) -> dict[str, float]:
    """Learn once on each stage, then measure both round by round, each first in every second one."""
    off_ms: list[float] = []
    on_ms: list[float] = []
    with collecting() as collector:
        plain = load_settings()
        watched = plain.model_copy(update={"otlp_endpoint": collector.url, "metrics_address": "127.0.0.1:0"})
        async with Stage(plain, tell=console.print) as off, Stage(watched, tell=console.print) as on:
            contenders = [(flow_on(off), off_ms), (flow_on(on), on_ms)]
            for flow, _ in contenders:
                for _ in range(2):  # the first one learns, the second one warms
                    await run_once(flow)
            for number in range(rounds):
                for flow, taken in contenders if number % 2 else reversed(contenders):
                    taken.append((await run_once(flow)).ms)
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
