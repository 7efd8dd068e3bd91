"""Calls of an agent over the Model Context Protocol, with the server, the worker or the client killed in the middle.

    make agent-calls
    make agent-calls ARGS="--rounds 5"

Each call asks for a mail of its own at the demo's webmail, by the official Python client. A call is lost if its client
does not learn that the mail was sent, and doubled if the webmail has it more than once. The task is learned once
before, by a stand-in; no call asks a model.
"""

import argparse
import asyncio
import itertools
import json
import sys
import tempfile
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from replaywright.cli.runs.starting import Order
from replaywright.errors import StackFailed
from replaywright.settings import load_settings
from tests.e2e.agent_clients import (
    over_stdio,
    sending,
    with_a_killed_client,
    with_a_killed_server,
    with_a_killed_worker,
)
from tests.e2e.conftest import taught
from tests.e2e.lab import Lab

Call = Callable[[Lab, Order, str], Awaitable[dict[str, Any]]]
POINTS: Final = ("located", "permitted", "recorded")
"""Where the step that sends the mail is when something is killed: before, while and after it sends."""


@dataclass(frozen=True)
class Result:
    """What became of the calls of one kind."""

    name: str
    status: str
    mails: int


async def plain(lab: Lab, order: Order, request_id: str) -> dict[str, Any]:
    """Call and wait."""
    async with over_stdio(lab) as agent:
        return await agent.call("run_task", **sending(order, request_id))


async def repeated(lab: Lab, order: Order, request_id: str) -> dict[str, Any]:
    """Call twice at once with one request id, from two clients."""
    both: list[dict[str, Any]] = await asyncio.gather(*(plain(lab, order, request_id) for _ in range(2)))
    return both[0]


def _killed(
    call: Callable[[Lab, Order, str, str], Awaitable[dict[str, Any]]], point: str
) -> Callable[[Lab, Order, str], Awaitable[dict[str, Any]]]:
    return lambda lab, order, request_id: call(lab, order, request_id, point)


KILLED: Final = {"server": with_a_killed_server, "worker": with_a_killed_worker, "client": with_a_killed_client}
CALLS: Final[dict[str, Call]] = {
    "plain": plain,
    "repeated": repeated,
    **{
        f"{what} killed, step {point}": _killed(call, point)
        for (what, call), point in itertools.product(KILLED.items(), POINTS)
    },
}


async def measure(rounds: int, console: Console) -> dict[str, object]:
    """Make each kind of call so often."""
    results: list[Result] = []
    with tempfile.TemporaryDirectory(prefix="replaywright-calls-") as folder:
        async with taught(load_settings(), Path(folder) / "freeze") as lab:
            for name, call in [*CALLS.items()] * rounds:
                order = lab.order()
                told = await call(lab, order, uuid.uuid4().hex)
                results.append(Result(name, str(told["status"]), len(lab.mails(order))))
                console.print(f"{name}: {results[-1].status}, {results[-1].mails} mail", style="dim", highlight=False)
                await lab.thawed()
    return figures_of(results, console)


def figures_of(results: Sequence[Result], console: Console) -> dict[str, object]:
    """Print the table, and return the figures."""
    table = Table(title="calls of an agent (learned by a stand-in, replayed without a model)")
    for column in ("call", "calls", "done", "lost", "doubled"):
        table.add_column(column, justify="left" if column == "call" else "right")
    for name, count in Counter(one.name for one in results).items():
        ofs = [one for one in results if one.name == name]
        done = sum(one.status == "done" for one in ofs)
        lost, doubled = sum(_is_lost(one) for one in ofs), sum(one.mails > 1 for one in ofs)
        table.add_row(name, *map(str, (count, done, lost, doubled)))
    console.print(table)
    return {
        "mcp_calls": len(results),
        "mcp_lost": sum(map(_is_lost, results)),
        "mcp_duplicates": sum(one.mails > 1 for one in results),
    }


def _is_lost(one: Result) -> bool:
    return one.status != "done" or one.mails == 0


def main() -> int:
    """Measure and print; 1 if a call was lost or doubled, or the stack could not be had."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=1, help="how often each kind of call (default: %(default)s)")
    given = parser.parse_args()
    try:
        figures = asyncio.run(measure(given.rounds, Console()))
    except StackFailed as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps(figures))
    return 1 if figures["mcp_lost"] or figures["mcp_duplicates"] else 0


if __name__ == "__main__":
    sys.exit(main())
