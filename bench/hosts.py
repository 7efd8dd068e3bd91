"""Runs on two hosts, one of which dies with everything on it in every round.

    make bench-hosts                      # 5 rounds of 4 runs
    make bench-hosts ARGS="--rounds 1 --remote"

Temporal, Redis, the site and the model's stand-in are on one host; a worker with its browsers on each of two others;
commands are given on a fourth. The hosts are network namespaces with processes, names and folders of their own; what
they share is a folder for the artifacts. In each round the runs spread over both hosts, one of these is killed while a
step is under way at a point that is compiled in, and its runs have to end on the other with exactly one mail each.
With `--remote` all browsers are on a host of their own: contexts of one Chromium, which the keepers on both reach.

Last line: one JSON object. Exit status: 0 when all runs were done once, 1 otherwise, 2 where namespaces cannot be had.
"""

import argparse
import asyncio
import itertools
import json
import os
import statistics
import sys
import tempfile
import time
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from rich.console import Console
from rich.table import Table
from temporalio.client import Client, WorkflowHandle

from bench.namespaces import SERVICES, Host, Hosts, run_apart, why_not
from demo.main_job import TASK_FILE
from demo.stage import address_in
from demo.webmail.store import SentMessage
from replaywright.cli.runs.follow import follow, handle_of
from replaywright.cli.runs.starting import Order, start
from replaywright.cli.servers.connect import Backend
from replaywright.cli.tasks.taskfile import new_run_id, read_task
from replaywright.domain.run.runs import RunResult
from replaywright.domain.run.scope import Mode
from replaywright.domain.secrets.secret_sites import pattern_at
from replaywright.domain.secrets.signing import written_key
from replaywright.domain.session.sessions import SessionOpened
from replaywright.domain.task.tasks import bind_parameters
from replaywright.errors import StackFailed
from replaywright.grants import change_grants
from replaywright.settings import READY_FILE_VARIABLE, Settings, load_settings
from replaywright.stack import Child, free_port, start_child
from replaywright.stack.chromium import find_chromium
from replaywright.stack.keyring import new_key
from replaywright.stack.processes import leave
from replaywright.stack.redis import provide_redis, start_redis
from replaywright.stack.services import settings_environment
from replaywright.stack.temporal import DevServer, provide_temporal
from replaywright.stack.temporal_client import connect_client
from tests.raw_redis import ask_redis

WORKING = ("north", "south")
PLACES = 2
"""Browsers of each host: with as many runs as both have places, they have to spread."""
KILLED_AT = ("acted:6", "start:7", "held:9", "permitted:9", "acted:9")
"""Points of the step under way when the host dies, one a round: a field is filled; the next is not; the mail is held at
the gate; it is let go; it has left."""
PASSWORD = "on-several-hosts"  # noqa: S105 - of an account of the demo's site
EVERYWHERE = "0.0.0.0"  # noqa: S104 - on all hosts of this program, which nobody else reaches
LIMIT_S = 240.0
"""For whatever is waited for; a machine that is shared may have other things to do."""


@dataclass
class Estate:
    """All hosts, and what runs on them."""

    hosts: Hosts
    exits: AsyncExitStack
    remote: bool = False
    settings: Settings = field(default_factory=load_settings)
    working: dict[str, Host] = field(default_factory=dict)
    workers: dict[str, Child] = field(default_factory=dict)
    numbers: "itertools.count[int]" = field(default_factory=itertools.count)
    site: str = ""

    @property
    def place(self) -> Backend:
        """Where runs are started."""
        return Backend(self.client, self.settings, "configured")

    async def start(self) -> None:
        """Boot the hosts and start what runs on them."""
        await self.hosts.start()
        services = self.hosts.folder / "services"
        services.mkdir()
        temporal = await DevServer(
            (await provide_temporal(services)).path, log=services / "temporal.log", ip=EVERYWHERE
        ).start()
        self.exits.push_async_callback(temporal.child.stop)
        log, port = services / "redis.log", free_port()
        redis = await start_redis(provide_redis().path, folder=services / "redis", log=log, port=port)
        self.exits.push_async_callback(redis.child.stop)
        await ask_redis(redis.url, ("CONFIG", "SET", "protected-mode", "no"), ("CONFIG", "SET", "bind", EVERYWHERE))
        self.site = await self._serve("webmail", services, "--store", str(services / "webmail"))
        model = await self._serve("standin", services)
        self.settings = Settings(
            temporal_address=f"{SERVICES}:{temporal.address.rpartition(':')[2]}",
            redis_url=redis.url.replace("127.0.0.1", SERVICES),
            artifacts_url=str(self.hosts.shared),
            signing_keys=written_key(new_key()),
            artifact_keys=written_key(new_key()),
            codec_keys=written_key(new_key()),
            model="openai:stand-in",
            model_base_url=f"{model}/v1",
            max_browsers=PLACES,
            chromium=find_chromium(self.settings.chromium).path,
            browser_endpoint=await self._browser() if self.remote else None,
        )
        self.client: Client = await connect_client(self.settings)
        for name in WORKING:
            await self.boot(name)
        self.desk = await self.hosts.boot("desk")

    async def _browser(self) -> str:
        """Start the Chromium of all, on a host of its own; where its DevTools are."""
        host = await self.hosts.boot("browsers")
        flags = ("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
        only = ("--webrtc-ip-handling-policy=disable_non_proxied_udp", "--disable-quic")
        where = ("--remote-debugging-port=9223", f"--user-data-dir={host.folder / 'profile'}")
        chromium = str(find_chromium(self.settings.chromium).path)
        browser = host.run("chromium", [chromium, *flags, *only, *where, "about:blank"], {})
        environment = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        host.run("forward", [sys.executable, "-P", "-m", "bench.forward", "9222", "9223"], environment)
        endpoint = f"http://{host.address}:9222"

        async def answers() -> bool:
            try:
                async with httpx.AsyncClient(trust_env=False) as client:
                    return (await client.get(f"{endpoint}/json/version")).is_success
            except httpx.HTTPError:
                return False

        await browser.wait_until(answers, LIMIT_S)
        return endpoint

    async def boot(self, name: str) -> None:
        """Boot a host, and start its worker."""
        host = self.working[name] = await self.hosts.boot(name)
        ready = host.folder / "worker.ready"
        ready.unlink(missing_ok=True)
        variables = {
            READY_FILE_VARIABLE: str(ready),
            "REPLAYWRIGHT_INTERNAL_FREEZE": str(host.folder / "freeze"),
            "REPLAYWRIGHT_SECRET_PASSWORD": PASSWORD,
            "REPLAYWRIGHT_SECRET_PASSWORD_DOMAINS": pattern_at(self.site),
            "OPENAI_API_KEY": "stand-in",
        }
        command = [sys.executable, "-P", "-m", "worker"]
        worker = self.workers[name] = host.run("worker", command, {**self.environment(host), **variables})

        async def polls() -> bool:
            return ready.exists()

        await worker.wait_until(polls, LIMIT_S)

    def environment(self, host: Host) -> dict[str, str]:
        """Variables for our programs on that host; what it keeps for itself is in a folder of its own."""
        own = self.settings.model_copy(update={"home": host.folder / "home"})
        change_grants(own.home, lambda grants: grants.allowed((f"{SERVICES}:*",)))
        return {**settings_environment(own), "NO_PROXY": "*", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}

    async def _serve(self, name: str, folder: Path, *arguments: str) -> str:
        log = folder / f"{name}.log"
        words = [sys.executable, "-P", "-m", f"demo.{name}", "--host", SERVICES, "--port", "0", *arguments]
        child = start_child(name, words, log=log, environment={"WEBMAIL_PASSWORD": PASSWORD})
        self.exits.push_async_callback(child.stop)

        async def announced() -> bool:
            return address_in(log) != ""

        await child.wait_until(announced, 30)
        return address_in(log)

    # --- runs ---------------------------------------------------------------------------------------------------

    def values(self) -> dict[str, str]:
        """What a run is to send: a mail that no other run sends."""
        number = next(self.numbers)
        return {"base_url": self.site, "to": f"h{number}@example.com", "subject": f"No. {number}", "body": "Hello"}

    def order(self, mode: Mode = Mode.REPLAY) -> Order:
        """A run with a mail of its own."""
        task = read_task(str(TASK_FILE))
        values = bind_parameters(task, self.values())
        return Order(task, values, new_run_id(task, values), mode=mode)

    def handle(self, run_id: str) -> "WorkflowHandle[Any, RunResult]":
        """The run's handle."""
        return handle_of(self.client, run_id)

    async def command(self, *words: str) -> str:
        """Give a command of `replaywright` on the desk; what it says.

        Raises:
            StackFailed: it fails.
        """
        command = [sys.executable, "-P", "-m", "replaywright", *words]
        process = await asyncio.create_subprocess_exec(
            *self.desk.inside(command),
            env={**os.environ, **self.environment(self.desk)},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        said, complained = await asyncio.wait_for(process.communicate(), LIMIT_S)
        if process.returncode != 0:
            raise StackFailed(
                f"`replaywright {' '.join(words)}` ended with {process.returncode}: {complained.decode()}"
            )
        return said.decode()

    async def been_on(self, run_id: str) -> list[str]:
        """The hosts that a run had its browsers on, the first one first."""
        opened: dict[int, str] = {}
        found: list[str] = []
        async for event in self.handle(run_id).fetch_history_events():
            if event.HasField("activity_task_scheduled_event_attributes"):
                opened[event.event_id] = event.activity_task_scheduled_event_attributes.activity_type.name
            done = event.activity_task_completed_event_attributes
            if opened.get(done.scheduled_event_id, "") in ("session.open", "session.recover"):
                [told] = await self.client.data_converter.decode(done.result.payloads, [SessionOpened])
                found.append(told.session.host)
        return found

    def mails(self, subject: str) -> int:
        """How many mails of this subject the site was sent."""
        lines = (self.hosts.folder / "services" / "webmail" / "sent.jsonl").read_text("utf-8").splitlines()
        return sum(SentMessage.model_validate_json(line).subject == subject for line in lines)

    # --- rounds -------------------------------------------------------------------------------------------------

    async def first(self) -> "Round":
        """Learn the task by a command on the desk, and see there what is known of the run."""
        values = self.values()
        given = [f"--param={name}={value}" for name, value in values.items()]
        begun = time.monotonic()
        result = json.loads(await self.command("run", str(TASK_FILE), *given, "--json"))
        spent = time.monotonic() - begun
        run_id = str(result["runId"])
        report = self.desk.folder / "report.html"
        await self.command("report", run_id, "--out", str(report))
        if "data:image/" not in report.read_text("utf-8"):
            raise StackFailed(f"run {run_id}: the report that was made on the desk has no picture of a working host's")
        mails = Counter({self.mails(values["subject"]): 1})
        return Round(on=Counter(await self.been_on(run_id)), done=1, mails=mails, seconds=spent)

    async def round(self, runs: int, at: str, dies: str) -> "Round":
        """Start runs, let a host die while one of them is at a point, and follow all of them to their end."""
        stopped = self.working[dies].folder / "freeze"
        stopped.write_text(at)
        orders = [self.order() for _ in range(runs)]
        for order in orders:
            await start(self.place, order)

        async def is_there() -> bool:
            return not stopped.exists()

        await self.workers[dies].wait_until(is_there, LIMIT_S)
        before = [await self.been_on(order.run_id) for order in orders]
        begun = time.monotonic()
        await self.working[dies].die()
        told = Round(at=at, on=Counter(itertools.chain(*before)))
        for order in orders:
            async with asyncio.timeout(LIMIT_S):
                ending = await follow(self.handle(order.run_id), show=lambda _progress, _note: None, until_waiting=True)
            told.done += ending.status == "done"
            told.mails[self.mails(order.values["subject"])] += 1
            if ending.status != "done":
                told.said.append(f"{order.run_id}: {ending.status}: {ending.result.message}")
            hosts = await self.been_on(order.run_id)
            told.moved += dies in hosts and hosts[-1] != dies
        told.seconds = time.monotonic() - begun
        await self.boot(dies)
        return told


@dataclass
class Round:
    """What came of some runs."""

    at: str = ""
    on: "Counter[str]" = field(default_factory=Counter)
    """Hosts that they had browsers on before one of them died, with the number of runs."""
    done: int = 0
    moved: int = 0
    """Runs that were on the host that died, and ended on another."""
    mails: "Counter[int]" = field(default_factory=Counter)
    """How many mails of each run the site was sent → runs."""
    seconds: float = 0.0
    """From the death of the host to the end of the last run."""
    said: list[str] = field(default_factory=list)


async def measure(rounds: int, runs: int, keep: Path | None, console: Console, *, remote: bool) -> dict[str, object]:
    """Run a round for each point, the hosts dying by turns."""
    async with AsyncExitStack() as exits:
        folder = keep or Path(exits.enter_context(tempfile.TemporaryDirectory(prefix="replaywright-hosts-")))
        estate = Estate(Hosts(folder), exits, remote)
        await estate.start()
        console.print(
            f"hosts {', '.join(WORKING)}, desk, and {SERVICES} with Temporal, Redis and the site", style="dim"
        )
        told = [await estate.first()]
        for number in range(rounds):
            told.append(await estate.round(runs, KILLED_AT[number % len(KILLED_AT)], WORKING[number % len(WORKING)]))
            console.print(f"round {number + 1} of {rounds}: {told[-1].done} of {runs} runs done", style="dim")
    table = Table("killed at", "runs on", "done", "moved", "one mail", "seconds to the last end")
    for one in told:
        spread = ", ".join(f"{host} {count}" for host, count in sorted(one.on.items()))
        figures = (str(one.done), str(one.moved), str(one.mails[1]), f"{one.seconds:.1f}")
        table.add_row(one.at or "(learned, not killed)", spread, *figures)
    console.print(table)
    for line in itertools.chain(*(one.said for one in told)):
        console.print(line, markup=False)
    killed = told[1:]
    return {
        "runs": 1 + rounds * runs,
        "done": sum(one.done for one in told),
        "duplicates": sum(
            count for mails, count in Counter(sum((one.mails for one in told), Counter())).items() if mails > 1
        ),
        "lost": sum(one.mails[0] for one in told),
        "moved": sum(one.moved for one in killed),
        "spread": sum(len(one.on) == len(WORKING) for one in killed),
        "seconds": round(statistics.median(one.seconds for one in killed), 1) if killed else None,
    }


def main() -> int:
    """Run on a host of its own, print a table, and as the last line the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="deaths of a host (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=2 * PLACES, help="runs of each round (default: %(default)s)")
    parser.add_argument("--remote", action="store_true", help="one Chromium, on a host of its own, for all sessions")
    parser.add_argument("--keep", type=Path, help="new folder for logs and what hosts write (default: not kept)")
    parser.add_argument("--apart", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    for name in ("rounds", "runs"):
        if getattr(given, name) < 1:
            parser.error(f"--{name} {getattr(given, name)}: expected 1 or more")
    if not given.apart:
        if given.keep is not None and given.keep.exists():
            parser.error(f"--keep: {str(given.keep)!r} is there already; give a new folder")
        if why := why_not():
            print(f"bench.hosts: {why}", file=sys.stderr)
            return 2
        return run_apart("bench.hosts", ["--apart", *sys.argv[1:]])
    figures = asyncio.run(measure(given.rounds, given.runs, given.keep, Console(), remote=given.remote))
    print(json.dumps(figures))
    return 0 if figures["done"] == figures["runs"] and not (figures["duplicates"] or figures["lost"]) else 1


if __name__ == "__main__":
    leave(main())
