"""A terminal in which the commands of a page are typed in their order, in a copy of the checkout.

Servers that a page has its reader start in terminals of their own are started beside it. Ports that pages name are
exchanged for free ones, `/tmp` for a folder of the test, and files that the page says to save are saved.
"""

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from replaywright.testing.grants import allow_loopback
from tests.docs.markdown import ROOT
from tests.readme import blocks_in, commands_of

LIMIT_S: Final = 180
READY_S: Final = 90
_PORTS: Final = ("8030", "8025", "8026")
"""Those that the pages name: static pages, webmail, stand-in."""
_COPIED: Final = frozenset({"examples", "demo"})
"""They have addresses in them."""
_SERVER: Final = re.compile(r"\.venv/bin/(python -m (http\.server|demo\.\w+)|replaywright up)\b")
_EXIT: Final = re.compile(r"# exit code (\d+)")
_SAVED: Final = re.compile(r"# (?P<name>[\w-]+\.ya?ml)\n")
_ELSEWHERE: Final = ("make ",)
"""What the reader has done before: the demo has a test of its own, `tests/e2e/test_demo.py`."""


@dataclass(frozen=True)
class Typed:
    """A command that was run, and what came of it."""

    command: str
    expected: int
    """Exit code that the page tells."""
    status: int
    said: str
    """Standard output and standard error."""
    transcript: str = ""
    """What the page shows below it, if it does."""


@dataclass
class Terminal:
    """A folder like a clone, and the surroundings that `export` has made."""

    folder: Path
    environment: dict[str, str]
    ports: dict[str, str] = field(default_factory=lambda: {port: _free_port() for port in _PORTS})
    servers: list["subprocess.Popen[str]"] = field(default_factory=list)

    @classmethod
    def in_clone(cls, folder: Path) -> "Terminal":
        """One in a folder that has what a clone has after `make setup`."""
        clone = folder / "clone"
        clone.mkdir()
        (folder / "tmp").mkdir()
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("REPLAYWRIGHT_", "TEMPORAL_", "OPENAI_"))
        }
        made = kept | {
            "COLUMNS": "200",
            "NO_PROXY": "127.0.0.1,localhost",
            "PYTHONPATH": str(ROOT),
            "PYTHONUNBUFFERED": "1",
            "REPLAYWRIGHT_HOME": str(folder / "home"),
        }
        allow_loopback(folder / "home")
        terminal = cls(clone, made)
        for entry in ROOT.iterdir():
            if entry.name in _COPIED:
                shutil.copytree(entry, clone / entry.name, ignore=shutil.ignore_patterns("__pycache__"))
            elif not entry.name.startswith("."):
                (clone / entry.name).symlink_to(entry)
        (clone / ".venv").symlink_to(sys.prefix)
        for task in (clone / "examples").glob("*.yaml"):
            task.write_text(terminal.here(task.read_text("utf-8")), "utf-8")
        return terminal

    def here(self, text: str) -> str:
        """`text` with the ports and the folder of this test."""
        for port, free in self.ports.items():
            text = re.sub(rf"(?<=[: ]){port}\b", free, text)
        return text.replace("/tmp/", f"{self.folder.parent / 'tmp'}/")

    def follow(self, page: Path) -> Iterator[Typed]:
        """Do what a page says, block for block; what is typed and ends is told."""
        blocks = blocks_in(page.read_text("utf-8"))
        for block, below in zip(blocks, [*blocks[1:], None], strict=True):
            if saved := _SAVED.match(block.text):
                (self.folder / saved["name"]).write_text(self.here(block.text), "utf-8")
            if not block.is_shell:
                continue
            commands = [each for each in commands_of(block.text) if not each.startswith(_ELSEWHERE)]
            for command in commands:
                shown = below.text if below and below.language == "text" and command == commands[-1] else ""
                if typed := self.type(command, _told_exit(block.text, command), shown):
                    yield typed

    def type(self, command: str, expected: int = 0, transcript: str = "") -> Typed | None:
        """Run a command to its end; None for one that goes on, or only sets a variable."""
        command = self.here(command)
        words = shlex.split(command)
        if words[0] == "export":
            self.environment |= dict(word.split("=", 1) for word in words[1:])
            return None
        if _SERVER.match(command):
            self._serve(words)
            return None
        ended = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        return Typed(command, expected, ended.returncode, ended.stdout, self.here(transcript))

    def _serve(self, words: list[str]) -> None:
        log = self.folder.parent / f"server-{len(self.servers)}.log"
        with log.open("w") as said:
            server = subprocess.Popen(
                words,
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                text=True,
            )
        self.servers.append(server)
        deadline = time.monotonic() + READY_S
        while not re.search(r"^(ready:|Serving HTTP|\{\"url\")", text := log.read_text("utf-8"), re.MULTILINE):
            assert server.poll() is None, f"{shlex.join(words)}: {text}"
            assert time.monotonic() < deadline, f"{shlex.join(words)} is not ready: {text}"
            time.sleep(0.1)

    def close(self) -> None:
        """End the servers, the newest first; Python's own ignores SIGINT where tests run in the background."""
        for server in reversed(self.servers):
            server.send_signal(signal.SIGTERM)
            server.wait(timeout=60)

    def sent(self) -> list[str]:
        """Subjects of the mails that the webmail has taken."""
        file = self.folder.parent / "tmp" / "webmail" / "sent.jsonl"
        return [json.loads(line)["subject"] for line in file.read_text("utf-8").splitlines()]


def _told_exit(block: str, command: str) -> int:
    """The exit code that a comment behind the command tells; 0 without one."""
    line = next((line for line in block.splitlines() if line.strip().startswith(command)), "")
    told = _EXIT.search(line)
    return int(told[1]) if told else 0


def _free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def normalised(line: str) -> str:
    """A line of output without what differs each time: durations, ids, spaces at its ends."""
    return re.sub(r"\d+(\.\d+)? s\b", "N s", line).strip()
