"""The way of somebody new, by the README alone: clone, demo, a task of their own, its report, a script, a check for CI.

The commands are those of the README, in its order. What is the newcomer's own are the page, a booking form that nobody
here knows, and with it the task file, its name and its values: they take the place of the README's example. Nothing
else is done, and none of the section's commands is left out but the one that serves pages to try things on.

No model takes part, and none is stood in for: the task says what its elements are called, as the README's does.
"""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from tests.e2e.booking import Booking, served
from tests.readme import ROOT, Command, blocks_in, commands_in
from tests.unit.test_domain_junit import read

LIMIT_S = 1800
"""Of a command; the first one installs everything."""
READY_S = 120
TITLE = "Your own task"
EXAMPLE, OWN = "lunch", "booking"
SERVED = "127.0.0.1:8030"
"""Where the README has its pages."""
TRYING = re.compile(r"-m http\.server\b")
"""Serves the pages of the examples: the newcomer has a page."""
SERVER = re.compile(r"\breplaywright up\b")
GUESTS = ("Ada", "Grace", "Alan", "Edsger")
ORDER = ("up", "run", "report", "skills import", "skills run", "skills script", "check")
"""What the way has to lead along."""


@dataclass
class Newcomer:
    """Somebody with a clone, and a page of their own."""

    clone: Path
    environment: dict[str, str]
    site: Booking
    said: dict[str, str] = field(default_factory=dict)
    """By command: what it printed."""
    servers: list["subprocess.Popen[bytes]"] = field(default_factory=list)
    runs: int = 0

    @property
    def readme(self) -> str:
        """What they read."""
        return (self.clone / "README.md").read_text("utf-8")

    def save_task(self) -> None:
        """Write a task for their page in the form of the README's example."""
        [example] = [block for block in blocks_in(self.readme) if block.text.startswith(f"# {EXAMPLE}.yaml\n")]
        known = yaml.safe_load(example.text)
        steps: list[dict[str, Any]] = [
            {"action": "fill", "instruction": "the guest", "target": {"role": "textbox", "name": "Guest"}},
            {"action": "fill", "instruction": "the day", "target": {"role": "textbox", "name": "Day"}},
            {"action": "click", "instruction": "the reserve button", "target": {"role": "button", "name": "Reserve"}},
        ]
        steps[0] |= {"value": "{{who}}"}
        steps[1] |= {"value": "2026-12-24"}
        steps[2] |= {"effect": "commit", "expect": [{"text_contains": "Booked for {{who}}"}]}
        task = {
            "task": OWN,
            "url": f"{self.site.url}/",
            "parameters": {"who": {"type": "text", "example": GUESTS[-1]}},
            "steps": steps,
            "verify": [{"exists": {"role": "listitem", "text": "{{who}}"}}],
        }
        assert set(task) == set(known), "the README's example has other fields: let the newcomer's have them, too"
        (self.clone / f"{OWN}.yaml").write_text(yaml.safe_dump(task, sort_keys=False), encoding="utf-8")

    def adapted(self, command: Command) -> str:
        """A command of the README with the newcomer's own names and values."""
        words = [re.sub(rf"\b{EXAMPLE}\b", OWN, word) for word in command.words]
        words = [word.replace(SERVED, urlsplit(self.site.url).netloc) for word in words]
        values = [place for place, word in enumerate(words) if word in ("--param", "-p")]
        kept = [word for place, word in enumerate(words) if place not in values and place - 1 not in values]
        if values:
            kept += ["--param", f"who={GUESTS[self.runs]}"]
            self.runs += 1
        return shlex.join(kept)

    def types(self, command: str) -> None:
        """Type a command and wait for its end; it must end well. One that serves goes on."""
        if SERVER.search(command):
            self._serve(command)
            return
        with subprocess.Popen(
            ["bash", "-c", command],
            cwd=self.clone,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as process:
            try:
                said, _ = process.communicate(timeout=LIMIT_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)  # and what it has started
                raise
        assert process.returncode == 0, f"{command}\n{said}"
        self.said[command] = said

    def _serve(self, command: str) -> None:
        log = self.clone / f"{len(self.servers)}.log"
        with log.open("w") as said:
            server = subprocess.Popen(
                shlex.split(command),
                cwd=self.clone,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
            )
        self.servers.append(server)
        self.said[command] = ""
        deadline = time.monotonic() + READY_S
        while not re.search("^ready:", log.read_text("utf-8"), re.MULTILINE):
            assert server.poll() is None, log.read_text("utf-8")
            assert time.monotonic() < deadline, f"{command} is not ready: {log.read_text('utf-8')}"
            time.sleep(0.1)

    def leaves(self) -> None:
        """Press Ctrl-C in each terminal that still serves."""
        for server in reversed(self.servers):
            server.send_signal(signal.SIGINT)
            server.wait(timeout=60)

    def follows(self, commands: Sequence[Command]) -> None:
        """Do what a section says."""
        for command in commands:
            if not TRYING.search(command.text):
                self.types(self.adapted(command))


@pytest.fixture
def newcomer() -> Iterator[Newcomer]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("REPLAYWRIGHT_", "TEMPORAL_", "OPENAI_", "PYTHONPATH", "VIRTUAL_ENV"))
    }
    # Not pytest's own folder: its long path leaves no room for the path of a socket.
    with tempfile.TemporaryDirectory(prefix="rw-new-", ignore_cleanup_errors=True) as folder, served() as site:
        home = {"REPLAYWRIGHT_HOME": f"{folder}/home", "XDG_STATE_HOME": f"{folder}/state"}
        here = {"COLUMNS": "200", "NO_PROXY": "127.0.0.1,localhost", "PYTHONUNBUFFERED": "1"}
        clone = Path(folder) / "clone"
        cloned(clone)
        made = Newcomer(clone, kept | here | home, site)
        yield made
        made.leaves()


def cloned(target: Path) -> None:
    """A clone of the checkout, with what was changed in it and is not committed yet."""
    if not (ROOT / ".git").exists():  # an archive of the sources
        shutil.copytree(
            ROOT, target, ignore=shutil.ignore_patterns(".venv", ".environments", ".*_cache", "__pycache__")
        )
        return
    git = ["git", "-c", "safe.directory=*", "-c", "advice.detachedHead=false"]
    subprocess.run([*git, "clone", "--quiet", "--no-hardlinks", str(ROOT), str(target)], check=True)
    listing = [*git, "-C", str(ROOT), "ls-files", "-z", "--modified", "--deleted", "--others", "--exclude-standard"]
    listed = subprocess.run(listing, check=True, capture_output=True, text=True).stdout
    for name in filter(None, set(listed.split("\0"))):
        source, copy = ROOT / name, target / name
        if source.is_file():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, copy)
        elif not source.exists():
            copy.unlink(missing_ok=True)


def assert_they_have_what_the_readme_promises(newcomer: Newcomer) -> None:
    own = [command for command in newcomer.said if "replaywright" in command]
    told = [re.sub(r"^\S*replaywright ", "", command) for command in own]
    places = [next((place for place, each in enumerate(told) if each.startswith(step)), -1) for step in ORDER]
    assert -1 not in places, f"the README does not name {ORDER[places.index(-1)]!r}: {told}"
    assert places == sorted(places)
    [report] = newcomer.clone.glob("report-*.html")
    page = report.read_text("utf-8")
    assert OWN in page
    assert "the reserve button" in page
    script = (newcomer.clone / f"{OWN}.py").read_text("utf-8")
    assert "from playwright.sync_api import" in script
    assert not re.search(r"^(from|import) (replaywright|temporalio|redis)", script, re.MULTILINE)
    [results] = newcomer.clone.glob("*.xml")
    [suite] = read(results.read_bytes())
    assert (suite.get("name"), suite.get("failures"), suite.get("errors"), suite.get("skipped")) == (OWN, "0", "0", "0")
    said = newcomer.said[own[places[1]]]
    assert "0 model calls" in said
    assert [each["who"] for each in newcomer.site.booked] == [*GUESTS[: newcomer.runs], GUESTS[-1]]


@pytest.mark.slow
def test_a_newcomer_gets_from_the_readme_to_a_check_of_a_task_of_their_own(newcomer: Newcomer) -> None:
    # What `make demo`, their first command, would make: the demo has a test of its own, and the long form runs it.
    (newcomer.clone / ".venv").symlink_to(sys.prefix)
    newcomer.environment["PYTHONPATH"] = str(newcomer.clone)
    newcomer.save_task()

    newcomer.follows(commands_in(newcomer.readme, heading=TITLE))

    assert_they_have_what_the_readme_promises(newcomer)


@pytest.mark.long
def test_a_newcomer_with_nothing_but_the_clone_gets_there_too(newcomer: Newcomer) -> None:
    newcomer.types("make demo")
    newcomer.save_task()

    newcomer.follows(commands_in(newcomer.readme, heading=TITLE))

    assert "make demo" in [command.text for command in commands_in(newcomer.readme)]
    assert "stand-in" in newcomer.said["make demo"]
    assert re.search(r"^all \d+ claims hold$", newcomer.said["make demo"], re.MULTILINE)
    assert_they_have_what_the_readme_promises(newcomer)
