"""Chromium as a process: started so that it dies with the keeper, ended so that nothing of it stays."""

import asyncio
import contextlib
import ctypes
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence

import psutil

from replaywright.errors import StackFailed
from replaywright.keeper.chromium.multiplexer import Multiplexer
from replaywright.keeper.chromium.pipe import READ_FD, WRITE_FD, DevToolsPipe, reserved_descriptors
from replaywright.keeper.host.identity import ProcessIdentity, identify

LOGGED_LINES = 200
"""Lines of Chromium's stderr that are logged."""
KILL_TIMEOUT_S = 10.0
POLL_S = 0.01
EXIT_S = 1.0
"""Between the end of the pipe and the end of the process."""
_HEADLESS_SHELL = "HeadlessChrome/"
"""Its own name; a Chromium with `--headless=new` calls itself Chrome."""

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_LIBC = ctypes.CDLL(None, use_errno=True)
_log = logging.getLogger(__name__)


def become_subreaper() -> None:
    """Adopt what Chromium's processes leave behind, so that they can be found and ended."""
    if sys.platform == "linux":
        _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _spawn(arguments: Sequence[str], environment: Mapping[str, str], end: socket.socket) -> subprocess.Popen[bytes]:
    """Start it with this end of its debugging pipe, and die with this process."""
    parent = os.getpid()

    def prepare() -> None:
        os.dup2(end.fileno(), READ_FD)
        os.dup2(end.fileno(), WRITE_FD)
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
            pass_fds=(READ_FD, WRITE_FD),
            preexec_fn=prepare,  # noqa: PLW1509  the keeper has no other thread that could hold a lock
        )
    except OSError as error:
        raise StackFailed(f"cannot start {arguments[0]!r}: {error}") from error


class ChromiumProcess:
    """The browser's process group, child of this process."""

    def __init__(self, process: subprocess.Popen[bytes], identity: ProcessIdentity) -> None:
        self._process = process
        self._stderr: asyncio.ReadTransport | None = None
        self.devtools = Multiplexer()
        self.identity = identity
        self.exit_code: int | None = None
        self._exited = asyncio.Event()

    @classmethod
    async def start(cls, arguments: Sequence[str], *, environment: Mapping[str, str]) -> "ChromiumProcess":
        """Start it in a process group of its own.

        Raises:
            StackFailed: the executable cannot be started.
        """
        with reserved_descriptors():
            ours, theirs = socket.socketpair()
            with theirs:
                process = _spawn(arguments, environment, theirs)
        identity = identify(process.pid)
        if identity is None:
            process.wait()
            ours.close()
            raise StackFailed(f"{arguments[0]!r} ended at once with code {process.returncode}")
        chromium = cls(process, identity)
        try:
            await chromium._open_pipe(ours)
            transport, _ = await asyncio.get_running_loop().connect_read_pipe(_ComplaintLog, process.stderr)
        except BaseException:  # the keeper is to end already
            await chromium.kill()
            raise
        chromium._stderr = transport
        return chromium

    async def _open_pipe(self, ours: socket.socket) -> None:
        pipe = DevToolsPipe(self.devtools.receive, self.devtools.lose)
        await asyncio.get_running_loop().create_unix_connection(lambda: pipe, sock=ours)
        self.devtools.speak_over(pipe)

    async def wait_until_debuggable(self, timeout_s: float) -> None:
        """Wait until Chromium answers over its debugging pipe.

        Raises:
            StackFailed: it exited, time is up, or it is a headless shell.
        """
        try:
            version = await self.devtools.call("Browser.getVersion", limit_s=timeout_s)
        except StackFailed as error:
            if self.devtools.is_lost:
                self.reap()  # its end may have been told before anybody could collect it
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._exited.wait(), EXIT_S)
            if self.exit_code is not None:
                raise StackFailed(f"Chromium exited with code {self.exit_code} before it was ready") from error
            raise StackFailed(f"Chromium did not answer over its debugging pipe within {timeout_s:g} s") from error
        if str(version["product"]).startswith(_HEADLESS_SHELL):
            raise StackFailed(
                "the executable starts a headless shell, which lets WebRTC round the network policy: name Chromium "
                "itself in REPLAYWRIGHT_CHROMIUM, which needs no display either"
            )

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
                self._exited.set()
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
        self.devtools.close()
        if self._stderr is not None:
            self._stderr.close()

    def _left(self) -> list[psutil.Process]:
        """Return the living descendants: all are Chromium's, and the keeper adopts those whose parents died."""
        left = []
        for process in psutil.Process().children(recursive=True):
            try:
                if process.status() != psutil.STATUS_ZOMBIE:
                    left.append(process)
            except psutil.NoSuchProcess:
                continue
        return left


class _ComplaintLog(asyncio.Protocol):
    """Log of Chromium's stderr, up to a bound."""

    def __init__(self) -> None:
        self._lines = 0

    def data_received(self, data: bytes) -> None:
        if self._lines >= LOGGED_LINES:
            return
        for line in data.decode("utf-8", "replace").splitlines():
            self._lines += 1
            if line.strip() and self._lines <= LOGGED_LINES:
                _log.info("chromium: %s", line[:500])
