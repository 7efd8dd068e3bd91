"""Chromium as a process: started so that it dies with the keeper, ended so that nothing of it stays."""

import asyncio
import ctypes
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

from replaywright.errors import StackFailed
from replaywright.keeper.identity import ProcessIdentity, identify

LOGGED_LINES = 200
"""So many lines of Chromium's own complaints are kept."""
KILL_TIMEOUT_S = 10.0
POLL_S = 0.01

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_LIBC = ctypes.CDLL(None, use_errno=True)
_log = logging.getLogger(__name__)


def become_subreaper() -> None:
    """Adopt what Chromium's processes leave behind, so that they can be found and ended."""
    if sys.platform == "linux":
        _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _spawn(arguments: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    parent = os.getpid()

    def die_with_parent() -> None:
        if sys.platform == "linux":
            _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if os.getppid() != parent:  # it died before the call above
                os._exit(127)

    try:
        return subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment,
            process_group=0,
            preexec_fn=die_with_parent,  # noqa: PLW1509  the keeper has no other thread that could hold a lock
        )
    except OSError as error:
        raise StackFailed(f"cannot start {arguments[0]!r}: {error}") from error


class ChromiumProcess:
    """The browser's process group, child of this process."""

    def __init__(self, process: subprocess.Popen[bytes], identity: ProcessIdentity, profile: Path) -> None:
        self._process = process
        self._profile = profile
        self._stderr: asyncio.ReadTransport | None = None
        self.identity = identity
        self.exit_code: int | None = None
        self.debugging_port = 0
        self.websocket_path = ""

    @classmethod
    async def start(
        cls, arguments: Sequence[str], *, profile: Path, environment: Mapping[str, str]
    ) -> "ChromiumProcess":
        """Start it in a process group of its own.

        Raises:
            StackFailed: the executable cannot be started.
        """
        process = _spawn(arguments, environment)
        identity = identify(process.pid)
        if identity is None:
            process.wait()
            raise StackFailed(f"{arguments[0]!r} ended at once with code {process.returncode}")
        chromium = cls(process, identity, profile)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(_ComplaintLog, process.stderr)
        chromium._stderr = transport
        return chromium

    async def wait_until_debuggable(self, timeout_s: float) -> None:
        """Wait for Chromium's debugging port.

        Raises:
            StackFailed: it exited, or time is up.
        """
        path = self._profile / "DevToolsActivePort"
        deadline_s = time.monotonic() + timeout_s
        while True:
            try:
                port, websocket_path, *_ = [*path.read_text("ascii").split("\n"), ""]
            except FileNotFoundError:
                port = websocket_path = ""
            if port and websocket_path:
                self.debugging_port, self.websocket_path = int(port), websocket_path
                return
            if self.exit_code is not None:
                raise StackFailed(f"Chromium exited with code {self.exit_code} before it was ready")
            if time.monotonic() > deadline_s:
                raise StackFailed(f"Chromium opened no debugging port within {timeout_s:g} s")
            await asyncio.sleep(POLL_S)

    def reap(self) -> bool:
        """Collect children that ended; return whether the browser's main process is among those that ended."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            if pid == self.identity.pid:
                self.exit_code = self._process.returncode = os.waitstatus_to_exitcode(status)
        return self.exit_code is not None

    async def kill(self) -> None:
        """End the process group and whatever descends from it, and wait until nothing is left."""
        deadline_s = time.monotonic() + KILL_TIMEOUT_S
        while (left := self._left()) or self.exit_code is None:
            for process in left:
                try:
                    process.kill()
                except psutil.NoSuchProcess:
                    continue
            self.reap()
            if time.monotonic() > deadline_s:
                _log.error("still alive after %g s: %s", KILL_TIMEOUT_S, [process.pid for process in left])
                break
            await asyncio.sleep(POLL_S)
        if self._stderr is not None:
            self._stderr.close()

    def _left(self) -> list[psutil.Process]:
        """The keeper has no children but Chromium's, and adopts those whose parents died."""
        left = []
        for process in psutil.Process().children(recursive=True):
            try:
                if process.status() != psutil.STATUS_ZOMBIE:
                    left.append(process)
            except psutil.NoSuchProcess:
                continue
        return left


class _ComplaintLog(asyncio.Protocol):
    """Chromium's stderr goes to the log, up to a bound, and is thrown away after it."""

    def __init__(self) -> None:
        self._lines = 0

    def data_received(self, data: bytes) -> None:
        if self._lines >= LOGGED_LINES:
            return
        for line in data.decode("utf-8", "replace").splitlines():
            self._lines += 1
            if line.strip() and self._lines <= LOGGED_LINES:
                _log.info("chromium: %s", line[:500])
