"""The stack that is knocked at: `replaywright up` of a home of its own, with a run that waits and a dashboard."""

import asyncio
import contextlib
import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.doors.attacker import Attacker
from replaywright.errors import StackFailed
from replaywright.stack.state import RunningStack, read_running

_ROOT = Path(__file__).parents[2]
_READY_S = 180
_COMMAND_S = 60


@dataclass
class Ground:
    """A running stack, and what is secret of it."""

    home: Path
    folder: Path
    """Where its processes put temporary files; the home is below it."""
    password: str
    """Value of the secret that is bound to nothing."""
    bound: str
    """Value of the secret that the operator bound to the attacker's site."""
    attacker: Attacker
    canary: Attacker
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def running(self) -> RunningStack:
        """The addresses of the stack.

        Raises:
            StackFailed: it has ended.
        """
        running = read_running(self.home)
        if running is None:
            raise StackFailed(f"the stack in {self.home} has ended; its logs are in {self.home / 'log'}")
        return running

    async def command(self, *words: str, limit_s: float = _COMMAND_S) -> tuple[int, str]:
        """Run `replaywright` with these words; its exit status, -1 at the limit, and all that it printed."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "replaywright", *words),
            env=self.environment,
            cwd=_ROOT,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        begun = time.monotonic()
        asked = asyncio.create_task(process.communicate())
        if not (await asyncio.wait({asked}, timeout=limit_s))[0]:
            process.kill()
            output, _ = await asked
            return -1, f"{output.decode()}\nno end within {limit_s:g} s"
        output, _ = await asked
        print(f"  {time.monotonic() - begun:4.1f} s  replaywright {' '.join(words)}", file=sys.stderr, flush=True)
        return process.returncode or 0, output.decode()

    def written(self, name: str, data: object) -> str:
        """The path of a file with this content, as JSON."""
        path = self.folder / name
        path.write_text(json.dumps(data), "utf-8")
        return str(path)

    def words(self) -> Sequence[str]:
        """Texts that nobody else may read anywhere: values of secrets, keys, tokens in addresses."""
        keys = [line.split(":")[-1] for line in (self.home / "signing.keys").read_text().split()]
        ui = self.running.temporal_ui_url or ""
        tokens = [part for part in ui.replace("?", "/").replace("=", "/").split("/") if len(part) >= 24]
        return [self.password, self.bound, *keys, *tokens]


@contextlib.asynccontextmanager
async def ground(attacker: Attacker, canary: Attacker) -> AsyncIterator[Ground]:
    """Start `up`, and end it with the block.

    Raises:
        StackFailed: it did not become ready; the message ends with what it printed.
    """
    with tempfile.TemporaryDirectory(prefix="rw-doors-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o711)  # as /tmp is: whoever knows a path may try it
        (folder / "tmp").mkdir(mode=0o755)
        here = Ground(folder / "home", folder, secrets.token_hex(12), secrets.token_hex(12), attacker, canary)
        kept = {key: value for key, value in os.environ.items() if not key.startswith("REPLAYWRIGHT_")}
        here.environment = kept | {
            "REPLAYWRIGHT_HOME": str(here.home),
            "REPLAYWRIGHT_SECRET_PASSWORD": here.password,
            "REPLAYWRIGHT_SECRET_BOUND": here.bound,
            "REPLAYWRIGHT_SECRET_PRINTED_COMMAND": f"touch {folder / 'printed'}",
            "REPLAYWRIGHT_SECRET_BOUND_DOMAINS": f"http://{attacker.host}",
            "REPLAYWRIGHT_UPLOAD_ROOTS": str(folder / "tmp"),
            "TMPDIR": str(folder / "tmp"),
        }
        log = folder / "up.log"
        with log.open("wb") as output:
            process = subprocess.Popen(  # noqa: ASYNC220 - it is begun once, and waited for in a thread
                [sys.executable, "-u", "-m", "replaywright", "up"],
                env=here.environment,
                cwd=_ROOT,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        try:
            await _ready(process, log)
            yield here
        finally:
            process.terminate()
            await asyncio.to_thread(process.wait)


async def _ready(process: "subprocess.Popen[bytes]", log: Path) -> None:
    async with asyncio.timeout(_READY_S):
        while "ready:" not in log.read_text():
            if process.poll() is not None:
                raise StackFailed(f"`replaywright up` ended with {process.returncode}\n{log.read_text()}")
            await asyncio.sleep(0.1)
