"""One command at a time starts a stack; others wait for it, and no servers run beside those of an earlier command.

Two locks in the home folder, which the kernel drops with the processes that hold them, so that none goes stale:
`stack.lock` is held while a command starts a stack, `servers.lock` by the servers themselves as long as they run.
"""

import asyncio
import contextlib
import fcntl
import os
import signal
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

from replaywright.errors import StackFailed
from replaywright.keeper.host.identity import is_alive
from replaywright.stack.processes import stop_by_identity
from replaywright.stack.state import read_stored

_STARTING, _SERVING = "stack.lock", "servers.lock"
START_LIMIT_S = 300.0
"""A start may install a browser."""
END_LIMIT_S = 30.0
"""Wait for the servers of an earlier command to end."""
_ANNOUNCED_AFTER_S = 0.3
_POLL_S = 0.05

Tell = Callable[[str], None]


@contextlib.asynccontextmanager
async def only_one_starts(home: Path, tell: Tell | None = None) -> AsyncIterator[None]:
    """Let one command at a time look for a running stack and start one.

    Raises:
        StackFailed: another command has been starting a stack for five minutes.
    """
    lock = _open(home / _STARTING)
    waits = _Waits(home, tell)
    try:
        while not _is_taken(lock):
            waits.look()
            await asyncio.sleep(_POLL_S)
        os.pwrite(lock, f"{os.getpid()}\n".ljust(16).encode(), 0)
        yield
    finally:
        os.close(lock)


def is_starting(home: Path) -> bool:
    """Return whether another command is starting a stack in this home."""
    try:
        lock = os.open(home / _STARTING, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        return not _is_taken(lock, fcntl.LOCK_SH)
    finally:
        os.close(lock)


def wait_for_start(home: Path, tell: Tell | None = None) -> None:
    """Return when no other command is starting a stack any more; Ctrl-C ends the wait.

    Raises:
        StackFailed: it has been starting for five minutes.
    """
    waits = _Waits(home, tell)
    with _plain_ctrl_c():
        while is_starting(home):
            waits.look()
            time.sleep(_POLL_S)


@contextlib.asynccontextmanager
async def only_servers(home: Path, tell: Tell | None = None) -> AsyncIterator[int]:
    """Give the lock for new servers to hold, once those of an earlier command are gone.

    The owner of those ends them, or the kernel does where that was killed; servers that nobody owns are stopped here.

    Raises:
        StackFailed: they have not ended within 30 s.
    """
    lock = _open(home / _SERVING)
    deadline, is_announced = time.monotonic() + END_LIMIT_S, False
    try:
        while not _is_taken(lock):
            stored = read_stored(home)
            owned = stored is not None and stored.owner is not None and is_alive(stored.owner)
            if stored is not None and not owned:
                for service in reversed(stored.services):
                    await stop_by_identity(service.identity)
            if not is_announced and tell is not None:
                tell("waiting for the servers of an earlier command to end")
            is_announced = True
            if time.monotonic() > deadline:
                raise StackFailed(
                    f"servers of an earlier command still run in {str(home)!r} after {END_LIMIT_S:g} s: end the "
                    f"processes that hold {home / _SERVING} (`fuser -v` names them)"
                )
            await asyncio.sleep(_POLL_S)
        yield lock
    finally:
        os.close(lock)


class _Waits:
    """A wait for another command's start, which is announced once and limited."""

    def __init__(self, home: Path, tell: Tell | None) -> None:
        self._home = home
        self._tell = tell
        self._begun = time.monotonic()
        self._is_announced = False

    def look(self) -> None:
        waited_s = time.monotonic() - self._begun
        if waited_s > START_LIMIT_S:
            raise StackFailed(
                f"{self._who()} has been starting the stack in {str(self._home)!r} for {START_LIMIT_S:g} s: end it, "
                "and repeat this"
            )
        if waited_s > _ANNOUNCED_AFTER_S and not self._is_announced:
            self._is_announced = True
            if self._tell is not None:
                self._tell(f"{self._who()} is starting the stack: waiting for it")

    def _who(self) -> str:
        with contextlib.suppress(OSError):
            if (pid := (self._home / _STARTING).read_text("ascii", "replace").strip()).isdecimal():
                return f"another command (process {pid})"
        return "another command"


@contextlib.contextmanager
def _plain_ctrl_c() -> Iterator[None]:
    """Let Ctrl-C raise at once, also inside of an event loop, which would only note it."""
    if threading.current_thread() is not threading.main_thread() or not callable(signal.getsignal(signal.SIGINT)):
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _is_taken(lock: int, kind: int = fcntl.LOCK_EX) -> bool:
    """Try to take the lock; return whether it is ours now."""
    try:
        fcntl.flock(lock, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
