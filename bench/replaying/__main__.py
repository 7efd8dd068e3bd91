"""A replay beside a plain Playwright script and beside other tools: same flow, same site, interleaved in one run.

    make bench                                          # 12 rounds, with every peer that can be installed
    make bench ARGS="--skip-peers --rounds 30"          # Playwright and Replaywright only
    make bench ARGS="--only replaywright,stagehand"     # and the base of all ratios
    make bench ARGS="--out results"                     # results/replay.md and results/replay.svg

Each run has a fresh Chromium of its own, the same binary with the same flags, started before the clock is. Timed is
from the first action until the contestant says that it is through and the site has accepted the mail, whichever is
later; a run after which the site has not just this one mail is told as failed and not timed. The script uses the CSS
selectors that Replaywright's learning run recorded and, "checked", waits for the conditions that the task file expects.
Every ratio is the median of the ratios to that one, round by round. Peers learn once, from a stand-in of a model that
is told the answers; during their replays the stand-in counts what it is asked, and a run that asks is not timed.
"""

import argparse
import asyncio
import json
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from playwright.async_api import async_playwright
from rich.console import Console

from bench.replaying import report
from bench.replaying.contest import Contestant, Failed, Result, hold
from bench.replaying.flow import flow_on
from bench.replaying.ours import Manner, Replaywright, run_once, selectors_of
from bench.replaying.peers import PEERS, meeting
from bench.replaying.script import Script
from demo.stage import Stage
from replaywright.domain.task.steps import names_element
from replaywright.errors import StackFailed
from replaywright.settings import load_settings

_OURS: dict[str, Manner] = {
    "replaywright": "default",
    "replaywright-redesigned": "healed",
    "replaywright-learn": "learn",
    "replaywright-requests": "requests",
}
_RAW = "playwright-raw"
NAMES = (_RAW, *_OURS, *PEERS)
"""What `--only` takes; checked Playwright is the base and always there."""


async def measure(rounds: int, names: Sequence[str], console: Console) -> list[Result]:
    """Let the contestants of these names learn, and take turns."""
    async with Stage(load_settings(), tell=console.print) as stage, async_playwright() as playwright:
        flow = flow_on(stage)
        try:
            first = await run_once(flow)
        except Failed as error:  # on a machine that is shared a page may not answer in time
            console.print(f"the learning run failed, and is done again: {error}")
            first = await run_once(flow)
        selectors = await selectors_of(stage)
        console.print(f"learned {len(selectors)} of {sum(map(names_element, flow.task.steps))} elements")
        async with meeting(flow, [name for name in PEERS if name in names]) as peers:
            script = [Script(flow, playwright, selectors, checked=checked) for checked in (False, True)]
            contestants: list[Contestant] = [*script[0 if _RAW in names else 1 :]]
            contestants += [Replaywright(flow, manner, first) for name, manner in _OURS.items() if name in names]
            return await hold([*contestants, *peers], flow, rounds=rounds, tell=console.print)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 if a contestant that took part was never timed."""
    given = _parser().parse_args(arguments)
    names = [name for name in given.only if not (given.skip_peers and name in PEERS)]
    console = Console(width=max(140, Console().width))
    try:
        results = asyncio.run(_until_told_to_stop(given.rounds, names, console))
    except (Failed, StackFailed) as error:
        print(f"nothing was measured: {error}", file=sys.stderr)
        return 1
    report.show(results, console)
    if given.out is not None:
        console.print(f"written: {', '.join(map(str, report.write(results, given.out)))}", soft_wrap=True)
    print(json.dumps(report.figures(results, rounds=given.rounds)))
    return 0 if all(result.times or result.skipped for result in results) else 1


async def _until_told_to_stop(rounds: int, names: Sequence[str], console: Console) -> list[Result]:
    """Measure; SIGTERM ends it as Ctrl-C does, with nothing left behind."""
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await measure(rounds, names, console)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench.replaying", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=_rounds, default=12, help="how often each runs (default: %(default)s)")
    parser.add_argument(
        "--only",
        type=_names,
        default=list(NAMES),
        metavar="NAMES",
        help=f"of {', '.join(NAMES)}, with commas between; checked Playwright, the base, is always there",
    )
    parser.add_argument("--skip-peers", action="store_true", help="leave out the other tools")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="write replay.md and replay.svg there")
    return parser


def _rounds(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number}: at least 1")
    return number


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if unknown := [name for name in names if name not in NAMES]:
        raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: there are {', '.join(NAMES)}")
    return names


if __name__ == "__main__":
    try:
        status = main()
    except (KeyboardInterrupt, asyncio.CancelledError):
        status = 130
    sys.exit(status)
