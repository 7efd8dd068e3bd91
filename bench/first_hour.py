"""The first hour of somebody new, and of a coding agent: tasks shown twice, calls over MCP, and mistakes.

    make first-hour
    make first-hour ARGS="--rounds 3"

Runs `bench-shown`, `agent-calls` and `mistakes` one after the other; the last line has the figures of all three. A
model that takes part is a stand-in. The way through README and tutorial, command by command, is in the tests
(`tests/e2e/test_newcomer.py`, `tests/e2e/test_documented.py`).
"""

import argparse
import asyncio
import json
import sys

from rich.console import Console

from bench import agent_calls, shown
from bench.environments import EnvironmentFailed
from bench.mistakes import trying
from bench.mistakes.catalogue import MISTAKES
from replaywright.errors import StackFailed


async def measure(rounds: int, console: Console) -> dict[str, object]:
    """Measure all three."""
    recorded = await shown.measure([name for group in shown.GROUPS.values() for name in group], console)
    called = await agent_calls.measure(rounds, console)
    told = trying.figures_of(await trying.run(MISTAKES, console), console)
    return {
        "recorded": recorded["recorded"],
        "recorded_replayed": recorded["recorded_replayed"],
        "parameters_exact": recorded["parameters_exact"],
        **called,
        **told,
    }


def main() -> int:
    """Measure and print; 1 if pages or stack could not be had."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=2, help="how often each kind of call (default: %(default)s)")
    given = parser.parse_args()
    try:
        figures = asyncio.run(measure(given.rounds, Console()))
    except (EnvironmentFailed, StackFailed) as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
