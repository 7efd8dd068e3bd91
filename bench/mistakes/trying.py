"""Make a mistake at a running stack, and then do as its message says."""

import asyncio
import contextlib
import os
import re
import signal
import socket
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from rich.console import Console
from rich.table import Table

from bench.mistakes.catalogue import ALSO_NEVER, Mistake, Typed
from bench.mistakes.site import answer, made_certificate
from tests.e2e.plain_site import serving

_COMMAND = (sys.executable, "-m", "replaywright")
_READY_S = 120
_LIMIT_S = 120
_AT_ONCE = 2


@dataclass(frozen=True)
class Place:
    """Where a person tries: a folder with a home of its own, and what is served there."""

    folder: Path
    environment: Mapping[str, str]
    hosts: Mapping[str, str]

    async def types(self, typed: Typed, name: str) -> tuple[int, str]:
        """Type a command; return its exit status and all that it printed."""
        file = self.folder / f"{name}.yaml"
        if typed.task:
            file.write_text(self._filled(typed.task, name), encoding="utf-8")
        words = [self._filled(word.replace("{task}", file.name), name) for word in typed.words]
        process = await asyncio.create_subprocess_exec(
            *_COMMAND,
            *words,
            cwd=self.folder,
            env={**self.environment, **typed.environment},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            async with asyncio.timeout(_LIMIT_S):
                said, _ = await process.communicate()
        except TimeoutError:
            process.kill()
            return -1, f"not ended within {_LIMIT_S} s"
        return process.returncode or 0, said.decode(errors="replace")

    def _filled(self, text: str, name: str) -> str:
        for key, value in {**self.hosts, "path": name}.items():
            text = text.replace(f"{{{key}}}", value)
        return text

    def pattern(self, text: str) -> str:
        """Return a pattern of the catalogue with the ports of this place."""
        for key, value in self.hosts.items():
            text = text.replace(f"{{{key}}}", re.escape(value))
        return text


@dataclass(frozen=True)
class Result:
    """What became of one mistake."""

    mistake: Mistake
    said: str
    faults: Sequence[str]


async def tried(place: Place, mistake: Mistake) -> Result:
    """Make one mistake, and mend it."""
    name = re.sub(r"\W+", "-", mistake.name)
    code, said = await place.types(mistake.made, name)
    flat = " ".join(said.split())
    patterns = [place.pattern(text) for text in mistake.says]
    faults = [f"does not say {text}" for text in patterns if not re.search(text, flat, re.IGNORECASE)]
    faults += [f"shows {never.pattern}" for never in ALSO_NEVER if never.search(said)]
    faults += [f"exit status {code}, not {mistake.code}"] if code != mistake.code else []
    code, mended = await place.types(mistake.mended, f"{name}-mended")
    return Result(mistake, said, [*faults, *([f"mended, it fails: {mended[-400:]}"] if code else [])])


def _free_port() -> str:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return str(held.getsockname()[1])


@contextlib.asynccontextmanager
async def opened() -> AsyncIterator[Place]:
    """Serve the shop, and start the stack as the README says."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="replaywright-mistakes-")))
        sites = serving(answer), serving(answer, made_certificate(folder))
        shop, tls = (urlsplit(stack.enter_context(site)).netloc for site in sites)
        hosts = {"shop": shop, "tls": tls, "closed": _free_port(), "strange": _free_port()}
        environment = {name: value for name, value in os.environ.items() if not name.startswith("REPLAYWRIGHT_")}
        place = Place(folder, {**environment, "REPLAYWRIGHT_HOME": str(folder / "home"), "COLUMNS": "200"}, hosts)
        allowed = Typed(("admin", "hosts", "allow", shop, tls, f"127.0.0.1:{hosts['closed']}"))
        code, said = await place.types(allowed, "allow")
        if code:
            raise SystemExit(said)
        log = stack.enter_context((folder / "up.log").open("w"))
        up = await asyncio.create_subprocess_exec(
            *_COMMAND, "up", cwd=folder, env=place.environment, stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log
        )
        try:
            until = time.monotonic() + _READY_S
            while not re.search("^ready:", (folder / "up.log").read_text(), re.MULTILINE):
                if up.returncode is not None or time.monotonic() > until:
                    raise SystemExit(f"the stack is not ready: {(folder / 'up.log').read_text()}")
                await asyncio.sleep(0.1)
            yield place
        finally:
            with contextlib.suppress(ProcessLookupError):
                up.send_signal(signal.SIGINT)
            await up.wait()


async def run(mistakes: Sequence[Mistake], tell: Console) -> list[Result]:
    """Try them all."""
    results: list[Result] = []
    waiting = list(reversed(mistakes))

    async def person(place: Place) -> None:
        while waiting:
            result = await tried(place, waiting.pop())
            results.append(result)
            tell.print(f"{result.mistake.name}: {'right' if not result.faults else 'WRONG'}", highlight=False)

    async with opened() as place, asyncio.TaskGroup() as group:
        for _ in range(_AT_ONCE):
            group.create_task(person(place))
    return results


def figures_of(results: Sequence[Result], console: Console, *, shows_all: bool = False) -> dict[str, int]:
    """Print the messages that are wrong, or all, and the table; return the figures."""
    table = Table(title="mistakes (no model)")
    for column in ("mistake", "the message", "what is wrong with it"):
        table.add_column(column)
    for result in results:
        table.add_row(result.mistake.name, "WRONG" if result.faults else "right", "\n".join(result.faults))
        if shows_all or result.faults:
            console.rule(result.mistake.name)
            console.print(result.said, highlight=False, markup=False)
    console.print(table)
    return {"diagnoses": len(results), "diagnoses_right": sum(not result.faults for result in results)}
