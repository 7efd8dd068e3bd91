"""`python -m bench.doors`: knock at everything that a running stack listens on; figures as the last line."""

import argparse
import asyncio
import json
import os
import pwd
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bench.doors import commands, pages
from bench.doors.attacker import Attacker
from bench.doors.ground import Ground, ground
from bench.doors.knocks import Knock
from bench.doors.tree import Socket, adopt_orphans, listening, processes

_OTHER = "nobody"


async def knocked(attacker: Attacker, canary: Attacker, *, is_short: bool) -> tuple[list[Socket], list[Knock]]:
    """Start a stack, look what it listens on, and knock."""
    async with ground(attacker, canary) as here:
        _say("a run that waits for a person, with its browser")
        await commands.waiting_run(here)
        dashboard = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "replaywright", "dashboard"),
            env=here.environment,
            stdout=asyncio.subprocess.PIPE,
        )
        assert dashboard.stdout is not None
        await dashboard.stdout.readline()
        owners = processes()
        sockets = listening(owners)
        ports = [each for each in sockets if each.port]
        _say(f"{len(owners)} processes listen on {len(ports)} ports and {len(sockets) - len(ports)} unix sockets")
        found = await asyncio.to_thread(_as_another_user, here, sockets, [owner.pid for owner in owners])
        attacker.ports = [each.port for each in ports]
        _say("a page of another origin")
        found += await pages.knock(attacker, ports)
        _say("starts without a key")
        found += await commands.of_starts(here)
        named = ports[:1] if is_short else ports
        if not is_short:
            _say("files from elsewhere")
            found += await commands.of_files(here)
            found += await commands.own_services(here, named, "opens it")
        _say("a page that is driven")
        await commands.driven_page(here, "driven")
        found += pages.told(attacker, "driven", "a page that is driven", ports)
        _say("the same where the operator allowed the whole network")
        await commands.allow_every_local_address(here)
        await commands.driven_page(here, "wide")
        found += pages.told(attacker, "wide", "a page that is driven, wide hosts.allow", ports)
        found += await commands.own_services(here, named, "opens it, wide hosts.allow")
        begun = await commands.begun_by_others(here)
        found.append(Knock("Temporal", "all of them", "begin a run", bool(begun), ", ".join(begun)))
        found.append(Knock("canary", "all of them", "reach it", bool(canary.requests), str(canary.requests[:3])))
        dashboard.terminate()
        await dashboard.wait()
    return sockets, found


def _as_another_user(here: Ground, sockets: Sequence[Socket], pids: Sequence[int]) -> list[Knock]:
    if os.geteuid() != 0:
        _say("another user: not tried, as only root can become one")
        return []
    _say("another user")
    task = {
        "sockets": [asdict(each) for each in sockets],
        "canary": here.canary.host,
        "folders": [str(here.home), str(here.folder / "tmp")],
        "pids": list(pids),
        "words": list(here.words()),
    }
    uid = pwd.getpwnam(_OTHER).pw_uid
    run = subprocess.run(
        [sys.executable, "-m", "bench.doors.knocks", str(uid)],
        input=json.dumps(task) + "\n",
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return [Knock(**each) for each in json.loads(run.stdout.splitlines()[-1])]


def table(found: Sequence[Knock]) -> Table:
    """A row for each door and who knocked there; what got through in full."""
    rows = Table("door", "who", "tried", "what came of it")
    groups: dict[tuple[str, str], list[Knock]] = {}
    for knock in found:
        groups.setdefault((knock.door, knock.who), []).append(knock)
    for (door, who), knocks in groups.items():
        through = "\n".join(f"THROUGH {each.how}: {each.answer}" for each in knocks if each.through)
        refused = "\n".join(f"{each.how}: {each.answer}" for each in knocks if each.answer)
        rows.add_row(*map(escape, (door, who, str(len(knocks)), through or refused or "-")))
    return rows


def _say(part: str) -> None:
    print(part, file=sys.stderr, flush=True)


def main() -> int:
    """1 if anybody got through."""
    parser = argparse.ArgumentParser(prog="bench.doors", description="knock at everything that a stack listens on")
    parser.add_argument("--short", action="store_true", help="no files from elsewhere, one server named by tasks")
    is_short = parser.parse_args().short
    adopt_orphans()
    begun = time.monotonic()
    with Attacker() as attacker, Attacker() as canary:
        sockets, found = asyncio.run(knocked(attacker, canary, is_short=is_short))
    Console(width=200).print(table(found))
    through = [knock for knock in found if knock.through]
    figures = {
        "sockets": len(sockets),
        "apart": sum(each.is_apart for each in sockets),
        "tried": len(found),
        "through": len(through),
        "as_another_user": sum(knock.who == "another user" for knock in found),
        "seconds": round(time.monotonic() - begun, 1),
    }
    print(json.dumps(figures))
    return int(bool(through))


if __name__ == "__main__":
    sys.exit(main())
