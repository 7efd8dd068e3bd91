"""One mail under faults, by Replaywright, by a checked Playwright script and by other tools: same site, same faults.

    make bench-faults                                            # 3 rounds, with every peer that can be installed
    make bench-faults ARGS="--rounds 5 --only replaywright,stagehand"
    make bench-faults ARGS="--faults 'killed while sending; answer lost'"

The site is behind a proxy that breaks one exchange of each run: it says when a process is to be killed, and gives no
answer, or a wrong one. Who is killed, or says that it failed, is begun again from the start, as a scheduler does that
tries a job three times; Replaywright's worker is started again, and its run goes on: one that failed is told as that.
Then the site is asked how many mails it has accepted, and that is held against what the run says of itself. A fault
that did not happen is told (`fired`). Peers learn once, from a stand-in of a model that is told the answers. The script
and the peers have no way to ask whether the mail went out; the task file says where Replaywright can look
(`reconcile`).
"""

import argparse
import asyncio
import json
import signal
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from playwright.async_api import async_playwright
from rich.console import Console
from rich.table import Table

from bench.faults.contenders import Contender, Ours, OursByRequests, PeerUnderFaults, Said, Scripted
from bench.faults.site import FAULTS, Fault, FaultySite
from bench.replaying.contest import Failed, Skipped
from bench.replaying.flow import Flow, flow_on
from bench.replaying.ours import selectors_of
from bench.replaying.peers import PEERS, meeting
from bench.replaying.script import Script
from bench.team.part import count
from demo.stage import PASSWORD_SECRET, Stage
from replaywright.errors import StackFailed
from replaywright.settings import load_settings

NAMES: Final = ("replaywright", "replaywright-requests", "playwright", *PEERS)
ATTEMPTS: Final = 3
LATE_S: Final = 3.0
"""Time that a mail which is on its way when a run ends has to arrive."""
LIMIT_S: Final = 300.0
"""Limit of one attempt."""
KINDS: Final = ("right", "asked", "not_sent_and_said", "sent_and_called_failed", "false_successes", "duplicates")


@dataclass
class Ledger:
    """What became of the runs of one contender."""

    contender: Contender
    skipped: str = ""
    kinds: Counter[str] = field(default_factory=Counter)
    by_fault: dict[str, list[str]] = field(default_factory=dict)
    fired: int = 0
    runs: int = 0

    def add(self, fault: Fault, kind: str, *, fired: bool) -> None:
        """Add a run."""
        self.kinds[kind] += 1
        self.by_fault.setdefault(fault.name, []).append(kind)
        self.fired += fired
        self.runs += 1


def judged(said: Said, mails: int) -> str:
    """Return what a run was, by its own word and the number of mails that the site accepted."""
    if mails > 1:
        return "duplicates"
    if said.word == "asks":
        return "asked"
    if said.word == "done":
        return "right" if mails else "false_successes"
    return "sent_and_called_failed" if mails else "not_sent_and_said"


async def under(fault: Fault, contender: Contender, flow: Flow, site: FaultySite) -> tuple[str, bool, str]:
    """Return what a run under this fault was, if the fault happened, and what the run said."""
    await flow.clear()
    site.plan(fault)
    said = Said("failed")
    for number in range(ATTEMPTS):
        said = await _attempted(fault, contender, site, number)
        if said.word in ("done", "asks") or (contender.goes_on_by_itself and said.word == "failed"):
            break
    site.release()
    await asyncio.sleep(LATE_S)
    return judged(said, len(flow.stage.sent())), site.fired.is_set(), said.text


async def _attempted(fault: Fault, contender: Contender, site: FaultySite, number: int) -> Said:
    """Let it try once; where the fault kills, kill it when the site says so."""
    attempt = asyncio.create_task(contender.attempt(number))
    try:
        async with asyncio.timeout(LIMIT_S):
            if fault.kills and not site.fired.is_set():
                firing = asyncio.create_task(site.fired.wait())
                await asyncio.wait({attempt, firing}, return_when=asyncio.FIRST_COMPLETED)
                firing.cancel()
                if site.fired.is_set():
                    await contender.kill()
                    site.release()
            return await attempt
    except TimeoutError:
        attempt.cancel()
        await asyncio.gather(attempt, return_exceptions=True)
        return Said("failed", f"not over within {LIMIT_S:g} s")


async def measure(rounds: int, names: Sequence[str], faults: Sequence[Fault], console: Console) -> list[Ledger]:
    """Let the contenders of these names learn, and do a run under each fault in each round."""
    async with Stage(load_settings(), tell=console.print) as stage, FaultySite(stage.webmail) as site:
        stage.webmail = site.url
        stage.bind(PASSWORD_SECRET, site.url)
        stage.allow(site.url)
        flow = flow_on(stage)
        async with async_playwright() as playwright, meeting(flow, [name for name in PEERS if name in names]) as peers:
            ours = Ours(flow)
            await ours.learn()
            script = Script(flow, playwright, await selectors_of(stage), checked=True)
            mine: list[tuple[str, Contender]] = [
                ("replaywright", ours),
                ("replaywright-requests", OursByRequests(flow)),
                ("playwright", Scripted(script)),
            ]
            contenders = [one for name, one in mine if name in names] + [PeerUnderFaults(peer) for peer in peers]
            ledgers = [Ledger(contender) for contender in contenders]
            for ledger in ledgers:
                if ledger.contender is not ours:
                    await _taught(ledger, console)
            for number in range(rounds):
                for fault in faults:
                    for ledger in ledgers:
                        if not ledger.skipped:
                            kind, fired, text = await under(fault, ledger.contender, flow, site)
                            ledger.add(fault, kind, fired=fired)
                            why = f": {text[:200]}" if text else ""
                            console.print(f"{number + 1}/{rounds} {fault.name}: {ledger.contender.name}: {kind}{why}")
            return ledgers


async def _taught(ledger: Ledger, console: Console) -> None:
    try:
        await ledger.contender.learn()
    except Skipped as reason:
        ledger.skipped = str(reason)
        console.print(f"{ledger.contender.name}: skipped: {reason}")


def show(ledgers: Sequence[Ledger], faults: Sequence[Fault], console: Console) -> None:
    """Print what became of the runs, and under which fault."""
    table = Table(title="one mail by the demo's webmail, broken once in each run; tried at most three times")
    for column in ("contender", "version", "runs", "fired", *(kind.replace("_", " ") for kind in KINDS)):
        table.add_column(column, justify="left" if column in ("contender", "version") else "right")
    for ledger in ledgers:
        given = (ledger.runs, ledger.fired, *(ledger.kinds[kind] for kind in KINDS))
        if not ledger.skipped:
            table.add_row(ledger.contender.name, ledger.contender.version, *map(str, given))
    console.print(table)
    where = Table(title="by fault")
    for column in ("fault", *(ledger.contender.name for ledger in ledgers if not ledger.skipped)):
        where.add_column(column)
    for fault in faults:
        counts = [Counter(ledger.by_fault.get(fault.name, ())) for ledger in ledgers if not ledger.skipped]
        told = [", ".join(f"{number} {kind.replace('_', ' ')}" for kind, number in one.items()) for one in counts]
        where.add_row(fault.name, *told)
    console.print(where)


def figures(ledgers: Sequence[Ledger], *, planned: int) -> dict[str, object]:
    """Return what the last line tells."""
    told: dict[str, object] = {
        "planned": planned,
        "skipped": {one.contender.name: one.skipped for one in ledgers if one.skipped},
    }
    for ledger in ledgers:
        if not ledger.skipped:
            counts = {kind: ledger.kinds[kind] for kind in KINDS}
            told[ledger.contender.name] = {"runs": ledger.runs, "fired": ledger.fired, **counts}
    return told


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 if a fault did not happen, or Replaywright sent twice or called nothing a success."""
    given = _parser().parse_args(arguments)
    console = Console(width=max(160, Console().width))
    try:
        ledgers = asyncio.run(_until_told_to_stop(given.rounds, given.only, given.faults, console))
    except (Failed, StackFailed) as error:
        print(f"nothing was measured: {error}", file=sys.stderr)
        return 1
    show(ledgers, given.faults, console)
    print(json.dumps(figures(ledgers, planned=given.rounds * len(given.faults))))
    ours = [ledger for ledger in ledgers if isinstance(ledger.contender, Ours)]
    is_wrong = any(ledger.kinds["duplicates"] or ledger.kinds["false_successes"] for ledger in ours)
    return 1 if is_wrong or any(ledger.fired < ledger.runs for ledger in ledgers) else 0


async def _until_told_to_stop(
    rounds: int, names: Sequence[str], faults: Sequence[Fault], console: Console
) -> list[Ledger]:
    """Measure; SIGTERM ends it as Ctrl-C does, with nothing left behind."""
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await measure(rounds, names, faults, console)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench.faults", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=count, default=3, help="runs under each fault (default: %(default)s)")
    parser.add_argument("--only", type=_names, default=NAMES, help=f"of {', '.join(NAMES)}, with commas between")
    parser.add_argument(
        "--faults", type=_faults, default=FAULTS, help=f"of {', '.join(each.name for each in FAULTS)!r}, with ; between"
    )
    return parser


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    if unknown := [name for name in names if name not in NAMES]:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(NAMES)}")
    return names


def _faults(text: str) -> tuple[Fault, ...]:
    known = {fault.name: fault for fault in FAULTS}
    names = [name.strip() for name in text.split(";")]
    if unknown := [name for name in names if name not in known]:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of: {'; '.join(known)}")
    return tuple(known[name] for name in names)


if __name__ == "__main__":
    sys.exit(main())
