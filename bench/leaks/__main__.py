"""`python -m bench.leaks`: what a page can reach that it must not; prints a table and, as the last line, figures."""

import argparse
import asyncio
import json
import sys
import time
from pathlib import Path

from bench.leaks.channels import CHANNELS
from bench.leaks.confused import Hostile, measure_hostile
from bench.leaks.matrix import Seen, measure
from replaywright.settings import load_settings
from replaywright.stack.chromium import find_chromium

NAME = "forbidden.localhost"
"""What pages call the forbidden site in the second round: a name that leads to it without a name server."""


def main() -> int:
    """Measure, print, and end with 1 if anything forbidden was reached."""
    parser = argparse.ArgumentParser(prog="bench.leaks", description="what a page can reach that it must not")
    parser.add_argument("--patience", type=float, default=3.0, help="seconds that a channel is waited for")
    given = parser.parse_args()
    chromium = find_chromium(load_settings().chromium).path
    return asyncio.run(_measure(chromium, given.patience))


async def _measure(chromium: Path, patience_s: float) -> int:
    begun = time.monotonic()
    _say(f"1/4 {len(CHANNELS)} channels to an address that the policy forbids")
    denied = await measure(chromium, CHANNELS, patience_s=patience_s)
    _say("2/4 the same by a name")
    named = await measure(chromium, CHANNELS, host=NAME, patience_s=patience_s)
    _say("3/4 the same without a policy: what they could reach")
    control = await measure(chromium, CHANNELS, allow_all=True, patience_s=patience_s)
    _say("4/4 hostile addresses")
    urls, urls_control = await measure_hostile(chromium), await measure_hostile(chromium, allow_all=True)
    print(table(denied, named, control))
    leaks = _reached(denied) + _reached(named) + urls.reached_by_tool + urls.reached_by_page
    print(
        json.dumps(
            {
                "channels": len(CHANNELS),
                "refused": sum(bool(seen.asked) for seen in denied.values()),
                "reached": _reached(denied),
                "reached_by_name": _reached(named),
                "reached_without_policy": _reached(control),
                "hostile_urls": urls.urls,
                "hostile_refused_by_tool": urls.refused,
                "hostile_reached_by_tool": urls.reached_by_tool,
                "hostile_reached_by_page": urls.reached_by_page,
                "hostile_reached_without_policy": _inside(urls_control),
                "seconds": round(time.monotonic() - begun),
            }
        )
    )
    return 1 if leaks else 0


def _say(part: str) -> None:
    print(part, file=sys.stderr, flush=True)


def _inside(seen: Hostile) -> int:
    return seen.reached_by_tool + seen.reached_by_page


def _reached(seen: dict[str, Seen]) -> int:
    return sum(bool(each.reached) for each in seen.values())


def table(denied: dict[str, Seen], named: dict[str, Seen], control: dict[str, Seen]) -> str:
    """A line for each channel: what the proxy refused, what reached the forbidden site with and without a policy."""
    width = max(map(len, denied))
    lines = [f"{'channel':{width}}  refused  reached  by name  without policy"]
    for name, seen in denied.items():
        columns = f"{seen.asked:7}  {seen.reached:7}  {named[name].reached:7}  {control[name].reached:14}"
        lines.append(f"{name:{width}}  {columns}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
