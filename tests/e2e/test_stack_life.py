"""The life of `replaywright up`: who joins it while it starts, and what is left of it, whatever ends it.

Nothing is taken from a list of names: processes are found by their surroundings and by descent, files by looking.
"""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psutil
import pytest
import yaml

from replaywright.keeper.host.client import list_live
from replaywright.keeper.protocol import SessionState
from replaywright.stack import read_running
from replaywright.stack.starting import is_starting
from replaywright.testing.grants import allow_loopback

pytestmark = pytest.mark.slow

GONE_WITHIN_S = 15.0
LIMIT_S = 120.0
BROWSERS = 4
"""Three of runs, and one spare."""
SENDS = {
    "task": "sends",
    "parameters": {"site": {"type": "text"}},
    "steps": [
        {"action": "goto", "url": "{{site}}/"},
        {
            "action": "click",
            "instruction": "the Send button",
            "target": {"role": "button", "name": "Send"},
            "effect": "commit",
            "timeout_ms": 60_000,
            "expect": [{"text_contains": "stored 1"}],
            "reconcile": {
                "steps": [{"action": "goto", "url": "{{site}}/stored"}],
                "expect": [{"text_contains": "stored 1"}],
                "site_lag_ms": 0,
            },
        },
    ],
}
OPENS = {
    "task": "opens",
    "parameters": {"site": {"type": "text"}},
    "steps": [
        {"action": "goto", "url": "{{site}}/slow", "timeout_ms": 60_000, "expect": [{"text_contains": "here at last"}]}
    ],
}
ASKS = {
    "task": "asks",
    "parameters": {"site": {"type": "text"}},
    "steps": [{"action": "goto", "url": "{{site}}/"}, {"action": "approve", "instruction": "is this right?"}],
}


class Site(ThreadingHTTPServer):
    """Takes a form and does not answer, and has a page that does not come, until `answers` is set."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers = threading.Event()
        self.stored = 0
        self.waiting = 0
        self.url = f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        if self.path == "/slow":
            self.server.waiting += 1
            self.server.answers.wait(LIMIT_S)
        pages = {"/slow": "here at last", "/stored": f"stored {self.server.stored}"}
        form = "<form method=post action=/send><input name=n value=1><button>Send</button></form>"
        self._answer(pages.get(self.path, form))

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.stored += 1
        self.server.answers.wait(LIMIT_S)
        self._answer(f"stored {self.server.stored}")

    def _answer(self, body: str) -> None:
        page = f"<!doctype html><title>Site</title><link rel=icon href=data:,>{body}".encode()
        with contextlib.suppress(OSError):  # the browser is gone
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)

    def log_message(self, *_arguments: object) -> None:
        """Nothing: the test says what it saw."""


class Life:
    """One home with its own folder for temporary files, and the commands that work on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home, self.temporary = folder / "home", folder / "tmp"
        self.temporary.mkdir()
        allow_loopback(self.home)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("REPLAYWRIGHT_")}
        kept.pop("TEMPORAL_ADDRESS", None)
        self.environment = kept | {
            "COLUMNS": "300",
            "NO_PROXY": "127.0.0.1,localhost",
            "PYTHONUNBUFFERED": "1",
            "REPLAYWRIGHT_HOME": str(self.home),
            "REPLAYWRIGHT_MAX_BROWSERS": str(BROWSERS),
            "TMPDIR": str(self.temporary),
        }
        self.said = folder / "up.txt"
        self._started: list[subprocess.Popen[bytes]] = []

    def up(self, **variables: str) -> "subprocess.Popen[bytes]":
        """Start `up` as a terminal does: in a process group of its own."""
        with self.said.open("ab") as said:
            return self._command(["up"], said.fileno(), variables)

    def cli(self, *arguments: str) -> "subprocess.Popen[bytes]":
        """Start another command."""
        return self._command(arguments, subprocess.PIPE, {})

    def end(self) -> None:
        """Kill whatever a failed test has left."""
        for started in self._started:
            started.kill()
            started.communicate()
        for process in those_in(self.folder):
            with contextlib.suppress(psutil.Error):
                process.kill()

    def _command(
        self, arguments: "list[str] | tuple[str, ...]", output: int, variables: dict[str, str]
    ) -> "subprocess.Popen[bytes]":
        process = subprocess.Popen(
            [sys.executable, "-m", "replaywright", *arguments],
            env=self.environment | variables,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._started.append(process)
        return process

    def begin(self, site: Site) -> None:
        """Start the three runs at the same time, and return when each waits where it is to wait."""
        commands = []
        for task in (SENDS, OPENS, ASKS):
            file = self.folder / f"{task['task']}.yaml"
            file.write_text(yaml.safe_dump(task))
            commands.append(self.cli("run", str(file), "-p", f"site={site.url}", "--id", str(task["task"]), "--detach"))
        for command in commands:
            assert command.wait(LIMIT_S) == 0, said_by(command)
        until("two runs wait for the site", lambda: site.stored == 1 and site.waiting == 1)
        until("three runs and a spare have browsers", lambda: self.ready_sessions() == BROWSERS)
        until("a person is asked", lambda: "is this right?" in said_by(self.cli("answer", "--json")))

    def ready_sessions(self) -> int:
        return sum(record.state is SessionState.READY for record in list_live(self.home / "sessions"))

    def of_the_stack(self, up: "subprocess.Popen[bytes]") -> set[psutil.Process]:
        """Every process: by descent from `up` and from keepers, and by surroundings."""
        roots = [up.pid, *(record.keeper.pid for record in list_live(self.home / "sessions"))]
        found = {child for pid in roots for child in (psutil.Process(pid), *psutil.Process(pid).children(True))}
        return found | those_in(self.folder)

    def left_files(self) -> list[Path]:
        """Temporary files, sockets, and folders of sessions."""
        sessions = self.home / "sessions"
        return [
            *self.temporary.iterdir(),
            *(path for path in self.folder.rglob("*") if path.is_socket()),
            *(path for path in sessions.glob("*") if path.is_dir()),
        ]

    def assert_gone(self, processes: set[psutil.Process], since: float) -> None:
        """See that nothing is left 15 s after `since`."""

        def left() -> list[object]:
            alive = [one for one in processes | those_in(self.folder) if is_running(one)]
            return [*((one.pid, one.name()) for one in alive), *self.left_files()]

        while found := _without_ended(left):
            assert time.monotonic() - since < GONE_WITHIN_S, f"left: {found}\n{self.said.read_text()}"
            time.sleep(0.1)


def _without_ended(left: Callable[[], list[object]]) -> list[object]:
    try:
        return left()
    except (psutil.NoSuchProcess, FileNotFoundError):  # it went while it was looked at
        return ["something"]


def those_in(folder: Path) -> set[psutil.Process]:
    """Every process whose command line, environment or working folder names this folder, but this one."""
    found = set()
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            named = (*process.cmdline(), *process.environ().values(), process.cwd())
            if process.pid != os.getpid() and any(str(folder) in text for text in named) and is_running(process):
                found.add(process)
    return found


def is_running(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def said_by(command: "subprocess.Popen[bytes]") -> str:
    return command.communicate(timeout=LIMIT_S)[0].decode()


def until(what: str, holds: Callable[[], bool], limit_s: float = LIMIT_S) -> None:
    deadline = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < deadline, f"{what}: not within {limit_s:g} s"
        time.sleep(0.1)


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as site:
        threading.Thread(target=site.serve_forever, daemon=True).start()
        yield site
        site.answers.set()
        site.shutdown()


@pytest.fixture
def life() -> Iterator[Life]:
    # Not pytest's own folder: its long path leaves no room for the path of a socket.
    with tempfile.TemporaryDirectory(prefix="rw-life-", ignore_cleanup_errors=True) as folder:
        life = Life(Path(folder))
        yield life
        life.end()


def send(up: "subprocess.Popen[bytes]", *numbers: signal.Signals) -> float:
    """Send signals as they come: Ctrl-C to the whole foreground group. Return when the first was sent."""
    begun = time.monotonic()
    for index, number in enumerate(numbers):
        if index:
            time.sleep(0.5)
        with contextlib.suppress(ProcessLookupError):
            (os.killpg if number is signal.SIGINT else os.kill)(up.pid, number)
    return begun


def ended(life: Life, up: "subprocess.Popen[bytes]", *numbers: signal.Signals) -> int:
    """End `up` with these signals, see that nothing is left, and return its exit status."""
    processes = life.of_the_stack(up)
    assert len(processes) > BROWSERS * 2
    begun = send(up, *numbers)
    status = up.wait(GONE_WITHIN_S + 5)
    life.assert_gone(processes, begun)
    return status


def test_runs_join_a_stack_that_is_starting_and_nothing_is_left_when_it_is_killed(life: Life, site: Site) -> None:
    up = life.up()
    until("up has begun", lambda: is_starting(life.home) or read_running(life.home) is not None)
    life.begin(site)

    assert ended(life, up, signal.SIGKILL) == -signal.SIGKILL

    assert site.stored == 1
    said = life.said.read_text()
    assert said.index("Temporal UI") < said.index("waiting for the worker") < said.index("ready: ")


@pytest.mark.long
@pytest.mark.parametrize(
    "numbers",
    [
        (signal.SIGINT,),
        (signal.SIGTERM,),
        (signal.SIGHUP,),
        (signal.SIGINT, signal.SIGTERM),
        (signal.SIGINT, signal.SIGINT),
        (signal.SIGTERM, signal.SIGINT, signal.SIGINT),
        (signal.SIGINT, signal.SIGKILL),
    ],
    ids=lambda numbers: "-".join(number.name for number in numbers),
)
def test_whatever_ends_it_nothing_is_left_and_its_runs_go_on_at_the_next_up(
    life: Life, site: Site, numbers: tuple[signal.Signals, ...]
) -> None:
    up = life.up()
    until("up has begun", lambda: is_starting(life.home) or read_running(life.home) is not None)
    life.begin(site)

    status = ended(life, up, *numbers)

    assert status == (-signal.SIGKILL if signal.SIGKILL in numbers else 0), life.said.read_text()
    assert site.stored == 1
    site.answers.set()
    before = life.said.read_text().count("ready: ")
    up = life.up()
    until("it is up again", lambda: life.said.read_text().count("ready: ") > before)
    for name in ("opens", "sends"):
        until(f"run {name} is done", lambda name=name: '"done"' in said_by(life.cli("show", name, "--json")))  # type: ignore[misc]
    assert site.stored == 1
    ended(life, up, signal.SIGTERM, signal.SIGTERM)


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
@pytest.mark.parametrize("moment", ["servers", "worker", "lock"])
def test_a_signal_while_it_starts_leaves_nothing_either(life: Life, number: signal.Signals, moment: str) -> None:
    first = None
    if moment == "lock":
        first = life.up()
        until("the first one starts", (life.home / "stack.lock").exists)
    up = life.up()
    moments = {
        "servers": (life.home / "log" / "redis.log").exists,
        "worker": (life.home / "log" / "worker-all.log").exists,
        "lock": lambda: "waiting for it" in life.said.read_text(),
    }
    until(moment, moments[moment])
    processes = {psutil.Process(up.pid), *psutil.Process(up.pid).children(recursive=True)}

    begun = send(up, number)
    up.wait(GONE_WITHIN_S + 5)

    if first is None:
        life.assert_gone(processes, begun)
        return
    assert not any(map(is_running, processes))
    until("the first one is not touched", lambda: "ready: " in life.said.read_text())
    assert first.poll() is None
    ended_well = send(first, signal.SIGTERM)
    assert first.wait(GONE_WITHIN_S + 5) == 0
    life.assert_gone(set(), ended_well)


@pytest.mark.long
def test_a_server_that_ends_is_the_end_of_the_stack(life: Life) -> None:
    up = life.up()
    until("it is there", lambda: read_running(life.home) is not None)
    running = read_running(life.home)
    assert running is not None
    assert up.poll() is None
    processes = life.of_the_stack(up)

    begun = time.monotonic()
    os.kill(running.services[-1].identity.pid, signal.SIGKILL)

    assert up.wait(GONE_WITHIN_S + 5) == 2
    life.assert_gone(processes, begun)
    assert f"{running.services[-1].name} has ended with status -9" in life.said.read_text()


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_demo_that_is_ended_leaves_nothing(life: Life, number: signal.Signals) -> None:
    with (life.folder / "demo.txt").open("wb") as said:
        demo = life._command(["demo"], said.fileno(), {})
    until("a run has a browser", lambda: bool(list(life.temporary.glob("*/sessions/*/session.json"))))
    processes = those_in(life.folder)
    assert len(processes) > BROWSERS

    begun = send(demo, number)

    demo.wait(GONE_WITHIN_S + 5)
    life.assert_gone(processes, begun)
