"""Child processes of the local stack: none outlives its owner."""

import asyncio
import atexit
import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from replaywright.children import for_server
from replaywright.errors import StackFailed
from replaywright.keeper.host.identity import ProcessIdentity, identify, is_alive

_LEASH = """\
import ctypes, os, resource, signal, sys
core = 0 if resource.getrlimit(resource.RLIMIT_CORE)[1] == 0 else 1
resource.setrlimit(resource.RLIMIT_CORE, (core, core))
ctypes.CDLL(None).prctl(1, int(sys.argv[2]))
if os.getppid() != int(sys.argv[1]):
    sys.exit(1)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""Ask the kernel to write no core file, which would hold secrets, and to end this process with its parent
(`PR_SET_PDEATHSIG`); both are kept over exec. Then become the program.

A launcher instead of `preexec_fn`: that one runs Python between fork and exec, which can hang in a process with
threads, and the Temporal SDK has threads. The comparison closes the gap in which the parent dies before the request.
"""

_POLL_S = 0.02
_ENDED_POLL_S = 0.2
_TAIL_BYTES = 2_000

_owned: set["Child"] = set()


class Child:
    """One started program."""

    def __init__(self, name: str, process: "subprocess.Popen[bytes]", identity: ProcessIdentity, log: Path) -> None:
        self.name = name
        self.identity = identity
        """Tells the process apart from a later one with the same pid."""
        self.log = log
        """Its standard output and error."""
        self._process = process

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def exit_status(self) -> int | None:
        """None while it runs; minus the signal's number when a signal ended it."""
        return self._process.poll()

    async def wait_until(self, ready: Callable[[], Awaitable[bool]], timeout_s: float) -> None:
        """Return once `ready` holds.

        Raises:
            StackFailed: the process ended, or the time is up; the message ends with the last lines of its log.
        """
        deadline = time.monotonic() + timeout_s
        while not await ready():
            if (status := self.exit_status()) is not None:
                raise StackFailed(f"{self.name} ended with status {status} before it was ready\n{self.log_tail()}")
            if time.monotonic() > deadline:
                raise StackFailed(f"{self.name} was not ready after {timeout_s:g} s\n{self.log_tail()}")
            await asyncio.sleep(_POLL_S)

    async def ended(self) -> int:
        """Return its exit status once it has ended."""
        while True:
            if (status := self.exit_status()) is not None:
                return status
            await asyncio.sleep(_ENDED_POLL_S)

    async def stop(self, grace_s: float = 5) -> None:
        """Ask it to end (SIGTERM) and, after `grace_s`, make it (SIGKILL to its process group)."""
        if self.exit_status() is None:
            self._process.terminate()
            if not await self.ended_within(grace_s):
                self.kill()
                await self.ended_within(grace_s)
        _owned.discard(self)

    def kill(self) -> None:
        """End it and what it started at once."""
        _owned.discard(self)
        if self.exit_status() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)

    def log_tail(self) -> str:
        """Return the last lines that it wrote."""
        try:
            return self.log.read_bytes()[-_TAIL_BYTES:].decode(errors="replace").strip()
        except OSError:
            return ""

    async def ended_within(self, limit_s: float) -> bool:
        """Wait for its end; return whether it came before `limit_s` seconds had passed."""
        deadline = time.monotonic() + limit_s
        while self.exit_status() is None:
            if time.monotonic() > deadline:
                return False
            await asyncio.sleep(_POLL_S)
        return True


def start_child(
    name: str,
    command: Sequence[str | Path],
    *,
    log: Path,
    environment: Mapping[str, str] | None = None,
    leash: signal.Signals = signal.SIGTERM,
    holds: tuple[int, ...] = (),
) -> Child:
    """Start a program in a process group of its own, with its output in `log`.

    Args:
        name: What messages call it.
        command: The first part is the path of an executable file.
        log: Is written anew.
        environment: What it gets besides the variables of every server: nothing else of this process's environment.
        leash: The signal that the kernel ends it with when this process ends, whatever ends that: on Linux; elsewhere
            only an orderly exit does.
        holds: File descriptors that it keeps open as long as it runs.

    Raises:
        StackFailed: the program cannot be started.
    """
    words = [str(word) for word in command]
    if sys.platform == "linux":
        words = [sys.executable, "-I", "-S", "-c", _LEASH, str(os.getpid()), str(int(leash)), *words]
    log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # What servers and workers write, histories and ledgers among it, is for their owner only.
    with open(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as output:  # noqa: PTH123 - the mode from the start
        try:
            process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**for_server(), **(environment or {})},
                # A Ctrl-C in the terminal is for us: what we own is stopped in order, the worker first.
                start_new_session=True,
                pass_fds=holds,
                umask=0o077,
            )
        except OSError as exc:
            raise StackFailed(f"{name} cannot be started: {exc}") from exc
    identity = identify(process.pid)
    child = Child(name, process, identity or ProcessIdentity(pid=process.pid, start_ticks=-1), log)
    _owned.add(child)
    return child


@dataclass(frozen=True)
class Program:
    """A program that starts."""

    path: Path
    version: str


def first_that_starts(paths: Iterable[Path], pattern: re.Pattern[str]) -> Program | None:
    """Return the first of these programs that starts, with the version that `pattern` finds in what it prints."""
    for path in paths:
        try:
            run = subprocess.run([str(path), "--version"], capture_output=True, text=True, timeout=20, check=False)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if run.returncode == 0 and (match := pattern.search(run.stdout)):
            return Program(path, match.group(1))
    return None


def leave(status: object) -> NoReturn:
    """End this process at once with a `SystemExit`'s code; what it had open must have been closed before.

    Not through the interpreter's own end: threads of Temporal's client that are still at work then abort the process
    now and then, after everything was done (https://github.com/temporalio/sdk-python/issues/300; seen here with
    exit status -6 in one of twelve workers).
    """
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # nobody reads any more
            stream.flush()
    os._exit(exit_status(status))


def exit_status(code: object) -> int:
    """Return the exit status that the code of a `SystemExit` means."""
    return code if isinstance(code, int) else 0 if code is None else 1


async def stop_by_identity(identity: ProcessIdentity, grace_s: float = 5) -> None:
    """End a process of an earlier command; nothing happens when it is already gone."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        deadline = time.monotonic() + grace_s
        if is_alive(identity):
            with contextlib.suppress(ProcessLookupError):
                os.kill(identity.pid, number)
        while is_alive(identity):
            if time.monotonic() > deadline:
                break
            await asyncio.sleep(_POLL_S)


def free_port(preferred: int | None = None) -> int:
    """Return a port of the loopback interface that nothing listens on; `preferred` when that is one."""
    for port in (preferred, 0):
        if port is None:
            continue
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            bound: int = probe.getsockname()[1]
            return bound
    raise StackFailed("no free port on 127.0.0.1")


@atexit.register
def _end_what_is_left() -> None:
    for child in tuple(_owned):
        child.kill()
