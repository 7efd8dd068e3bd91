"""Seconds from starting `replaywright run` to its first action, with a stack that runs.

    make bench-first-action                  # 10 rounds
    make bench-first-action ARGS="--rounds 20"

    make bench-first-action ARGS="--spares 0"    # without a browser that was started before
    make bench-first-action ARGS="--alone"       # without the resident of `up`, as where a command is not its own

`replaywright up` runs in a home of its own. In each round the command is started as a process, when the worker has its
spare browser ready; the clock stops when the site is asked for the page of the run's first step, which is a goto. The
parts are told by the run's history. Python keeps what it has compiled, as it does for whatever is installed, also where
PYTHONDONTWRITEBYTECODE forbids it: without that every command compiles all of Replaywright anew, for about 0.2 s.
"""

import argparse
import asyncio
import contextlib
import json
import os
import resource
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.recovery import p95, until
from replaywright.cli.resident.client import SOCKET
from replaywright.cli.servers.connect import open_backend
from replaywright.domain.trace.histories import calls_of, time_of
from replaywright.errors import StackFailed
from replaywright.keeper.host.client import list_live
from replaywright.keeper.protocol import SessionState
from replaywright.settings import PREFIX, load_settings
from replaywright.stack import start_child
from replaywright.testing.grants import allow_loopback

TARGET_S = 0.4
END_TARGET_S = 0.2
TASK = {
    "task": "first-action",
    "parameters": {"page": {"type": "text"}},
    "steps": [{"action": "goto", "url": "{{page}}", "expect": [{"text_contains": "here"}]}],
}
PARTS = ("command", "queue", "browser", "goto")
SAYS = {
    "command": "the command: start, imports, task file, connecting, until the run is in Temporal",
    "queue": "the workflow's first task, until a browser is asked for",
    "browser": "the browser: the spare is taken, or keeper and Chromium start; the worker attaches",
    "goto": "the first step, until the site is asked for its page",
    "all": "from the start of the command to the first action",
    "end": "from the end of the run to the end of the command",
}


class _Site:
    """Says when each of its pages was first asked for."""

    def __init__(self) -> None:
        self.asked: dict[str, float] = {}
        asked = self.asked

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.setdefault(self.path, time.time())
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(b"<!doctype html><title>here</title><h1>here</h1>")

            def log_message(self, *_arguments: object) -> None:
                """Nothing: the bench prints a table."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    @contextlib.contextmanager
    def served(self) -> Iterator[None]:
        """Serve until the block ends."""
        thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._server.shutdown()
            self._server.server_close()


async def measure(rounds: int, spares: int, console: Console, *, alone: bool = False) -> dict[str, float]:
    """Medians of all parts, in seconds."""
    with tempfile.TemporaryDirectory(prefix="replaywright-bench-", ignore_cleanup_errors=True) as folder:
        home, site = Path(folder), _Site()
        allow_loopback(home)
        task = home / "task.json"
        task.write_text(json.dumps(TASK))
        environment = {f"{PREFIX}HOME": str(home), "PYTHONUNBUFFERED": "1", "NO_PROXY": "127.0.0.1,localhost"}
        environment[f"{PREFIX}SPARE_BROWSERS"] = str(spares)
        environment["PYTHONPYCACHEPREFIX"] = str(home / "compiled")
        for name in (f"{PREFIX}MODEL", "PYTHONDONTWRITEBYTECODE"):
            os.environ.pop(name, None)
        log, resident = home / "up.log", home / SOCKET
        up = start_child("up", [sys.executable, "-m", "replaywright", "up"], log=log, environment=environment)

        async def is_ready() -> bool | None:
            if (status := up.exit_status()) is not None:
                raise StackFailed(f"`replaywright up` ended with status {status}\n{up.log_tail()}")
            return ("ready:" in log.read_text() and resident.exists()) or None

        try:
            await until("`replaywright up` is ready", is_ready)
            if alone:
                resident.unlink()
            with site.served():
                spent = []
                for number in range(rounds + 1):
                    await until("the spare browser is ready", lambda: _is_stocked(home, spares))
                    spent.append(await _round(number, task, site, environment))
        finally:
            await up.stop(grace_s=40)
    return {"spares": spares, "alone": alone, **_shown(spent[1:], console)}


async def _is_stocked(home: Path, spares: int) -> bool | None:
    sessions = list_live(home / "sessions")
    ready = [each for each in sessions if each.is_spare and each.state is SessionState.READY]
    return (len(ready) >= spares and len(sessions) == len(ready)) or None


async def _round(number: int, task: Path, site: _Site, environment: dict[str, str]) -> dict[str, float]:
    run_id = f"first-action-{number}"
    command = [sys.executable, "-m", "replaywright", "run", str(task), "--id", run_id]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.time()
    process = await asyncio.create_subprocess_exec(
        *command,
        *("-p", f"page={site.url}/{number}"),
        env={**os.environ, **environment},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate()
    left = time.time()
    if process.returncode != 0:
        raise StackFailed(f"run {run_id} ended with status {process.returncode}: {said.decode()[-1000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    settings = load_settings(home=Path(environment[f"{PREFIX}HOME"]))
    async with open_backend(settings, tell=lambda _text: None) as here:
        events = (await here.client.get_workflow_handle(run_id).fetch_history()).to_json_dict()["events"]
    *_, opened = [call for call in calls_of(events) if call.activity_type == "session.open"]
    asked = site.asked[f"/{number}"]
    at = (begun, time_of(events[0]), opened.began_at, opened.ended_at, asked)
    parts = {name: at[index + 1] - at[index] for index, name in enumerate(PARTS)}
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {**parts, "all": asked - begun, "end": left - time_of(events[-1]), "cpu": cpu}


def _shown(spent: list[dict[str, float]], console: Console) -> dict[str, float]:
    table = Table("part", "median s", "p95 s", "least s")
    medians = {name: statistics.median(one[name] for one in spent) for name in (*SAYS, "cpu")}
    for name, says in SAYS.items():
        values = [one[name] for one in spent]
        table.add_row(says, f"{medians[name]:.2f}", f"{p95(values):.2f}", f"{min(values):.2f}")
    console.print(table)
    load = f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    console.print(f"targets: {TARGET_S:g} s and {END_TARGET_S:g} s; load of the machine: {load}")
    console.print(f"CPU of the process that was started: {medians['cpu']:.2f} s")
    told = {f"{name}_s": round(value, 3) for name, value in medians.items()}
    return {"rounds": len(spent), **told, "least_s": round(min(one["all"] for one in spent), 3)}


def main() -> int:
    """Measure and print; the last line is JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10, help="after one that is not counted (default: %(default)s)")
    parser.add_argument("--spares", type=int, default=1, help="REPLAYWRIGHT_SPARE_BROWSERS (default: %(default)s)")
    parser.add_argument("--alone", action="store_true", help="without the resident of `replaywright up`")
    given = parser.parse_args()
    if given.rounds < 1:
        parser.error(f"--rounds: {given.rounds} is too few; give at least 1")
    console = Console(width=None if sys.stdout.isatty() else 120)
    try:
        figures = asyncio.run(measure(given.rounds, given.spares, console, alone=given.alone))
    except StackFailed as exc:
        print(f"bench.first_action: {exc}", file=sys.stderr)
        return 1
    print(
        json.dumps(
            {**figures, "target_s": TARGET_S, "met": figures["all_s"] <= TARGET_S and figures["end_s"] <= END_TARGET_S}
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
