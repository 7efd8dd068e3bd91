"""The resident: `python -m replaywright.cli.resident.server HOME`, a process that `up` starts and ends.

It has imported a command, no thread runs in it, and it holds no variable of its user but those of every server. For
each command it forks a process, which is given everything by the one that was started for it and stands for that one:
it hears its signals, ends with it, and tells it the exit status.
"""

import contextlib
import gc
import io
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from replaywright.cli.resident.client import BEGUN, FORWARDED, GO, LARGEST, READY, SOCKET, peer_of, surroundings

_ANSWER_S = 2.0
_DESCRIPTORS = 4
_OURS = frozenset({"replaywright", "workflows", "activities", "cache", "demo"})
_SAME = ("Uid", "Gid", "Groups", "CapEff", "CapBnd", "NoNewPrivs", "Seccomp")
"""Lines of `/proc/PID/status` that are equal of two processes that may do the same."""
_NAMESPACES = ("mnt", "net", "pid", "user", "ipc", "uts")


@dataclass(frozen=True)
class HandedCommand:
    """A command, and what its process had."""

    arguments: list[str]
    variables: dict[str, str]
    mask: int
    ignored: frozenset[int]
    descriptors: list[int]
    """Standard input, output and error, and the current folder."""


def parse(message: bytes, descriptors: list[int]) -> HandedCommand:
    """Read a request.

    Raises:
        ValueError: it comes from a process that this one cannot stand for, or is none.
    """
    given, mask, ignored, count, *words = (os.fsdecode(word) for word in message.split(b"\0"))
    arguments, variables = words[: int(count)], dict(word.split("=", 1) for word in words[int(count) :])
    if len(descriptors) != _DESCRIPTORS or given != surroundings(variables) or given != surroundings(os.environ):
        raise ValueError("another installation, or other variables of Python")
    return HandedCommand(
        arguments, variables, int(mask), frozenset(map(int, filter(None, ignored.split(",")))), descriptors
    )


def has_the_same_rights(pid: int) -> bool:
    """Return whether this process and that one may do the same: no command gets out of a sandbox by being sent here."""
    try:
        return pid > 0 and _rights(str(pid)) == _rights("self")
    except OSError:
        return False


def _rights(process: str) -> object:
    folder = Path("/proc") / process
    lines = (folder / "status").read_text("ascii", "replace").splitlines()
    root = (folder / "root").stat()
    return (
        [line for line in lines if line.partition(":")[0] in _SAME],
        [(folder / "ns" / name).readlink() for name in _NAMESPACES],
        (root.st_dev, root.st_ino),
    )


class Code:
    """The files of our code that were imported, and when they were written."""

    def __init__(self) -> None:
        """Note them."""
        modules = [module for name, module in sys.modules.items() if name.partition(".")[0] in _OURS]
        files = filter(None, (getattr(module, "__file__", None) for module in modules))
        installed = (path for path in sys.path if path.endswith("-packages"))
        self._written = {path: _written(path) for path in (*files, *installed)}

    def is_current(self) -> bool:
        """Return whether none was changed, and no library was installed or removed."""
        return all(_written(path) == written for path, written in self._written.items())


def _written(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns  # noqa: PTH116 - of hundreds of files, for each command
    except OSError:
        return 0


def serve(listener: socket.socket) -> tuple[socket.socket, HandedCommand]:
    """Fork a process for each command that is handed over; returns in these only."""
    code = Code()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel buries them
    while True:
        end, _ = listener.accept()
        descriptors: list[int] = []
        with end, contextlib.suppress(OSError, ValueError):
            end.settimeout(_ANSWER_S)
            message, descriptors, flags, _ = socket.recv_fds(end, LARGEST, _DESCRIPTORS)
            if flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC) or not has_the_same_rights(peer_of(end)[0]):
                raise ValueError("not the same")
            request = parse(message, descriptors)
            if not code.is_current():
                end.close()
                os.unlink(listener.getsockname())  # noqa: PTH108 - as it was bound
                os.closerange(3, max(descriptors) + 1)  # nobody waits for the end of a stream that this one holds
                os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 - this program anew
            end.send(READY)
            if end.recv(len(GO)) == GO and os.fork() == 0:
                listener.close()
                return socket.socket(fileno=end.detach()), request
        for descriptor in descriptors:
            os.close(descriptor)


def stand_for(end: socket.socket, request: HandedCommand) -> None:
    """Become what the process was that handed over the command."""
    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number in FORWARDED:
        usual = signal.default_int_handler if number is signal.SIGINT else signal.SIG_DFL
        signal.signal(number, signal.SIG_IGN if number in request.ignored else usual)
    *streams, folder = request.descriptors
    for descriptor, given in enumerate(streams):
        os.dup2(given, descriptor)
    os.fchdir(folder)
    for descriptor in request.descriptors:
        os.close(descriptor)
    os.umask(request.mask)
    os.environ.clear()
    os.environ.update(request.variables)
    time.tzset()
    sys.argv = ["replaywright", *request.arguments]
    _open_streams()
    end.settimeout(None)
    end.send(BEGUN)
    threading.Thread(target=_hear, args=(end,), daemon=True).start()


def _open_streams() -> None:
    """Open the standard streams anew, as Python does when it starts."""
    unbuffered = bool(os.environ.get("PYTHONUNBUFFERED"))
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        was = getattr(sys, name)
        stream = io.TextIOWrapper(
            open(descriptor, "wb" if descriptor else "rb", closefd=False),  # noqa: SIM115 - of the process
            encoding=was.encoding,
            errors=was.errors,
            line_buffering=name == "stderr" or unbuffered or os.isatty(descriptor),
            write_through=unbuffered,
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _hear(end: socket.socket) -> None:
    """Raise the signals that the other process gets; end as it does where that was killed."""
    with contextlib.suppress(OSError):
        while number := end.recv(1):
            os.kill(os.getpid(), number[0])
    os.kill(os.getpid(), signal.SIGKILL)


@contextlib.contextmanager
def _listening(path: Path) -> Iterator[socket.socket]:
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        os.umask(0o077)
        listener.bind(str(path))
        listener.listen()
        server = os.getpid()
        try:
            yield listener
        except SystemExit:
            if os.getpid() == server:
                path.unlink(missing_ok=True)
            raise


def main() -> NoReturn:
    """Serve until a signal ends this process; in the processes that it forks, carry out the command."""
    gc.disable()
    # Here and not above: garbage is not collected meanwhile.
    from replaywright.cli import load_command, status_of_command  # noqa: PLC0415
    from replaywright.cli.command import Exit  # noqa: PLC0415
    from replaywright.cli.runs import watching  # noqa: F401, PLC0415
    from replaywright.domain.run.runs import Progress, RunInput, RunResult  # noqa: PLC0415
    from replaywright.domain.task.tasks import Task  # noqa: PLC0415
    from replaywright.stack.processes import exit_status, leave  # noqa: PLC0415

    load_command("run")
    for model in (Task, RunInput, Progress, RunResult):
        model.model_rebuild()  # now, and not at its first use
    gc.freeze()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with _listening(Path(sys.argv[1]) / SOCKET) as listener:
        end, request = serve(listener)
    stand_for(end, request)
    status: int = Exit.INTERRUPTED
    try:
        with contextlib.suppress(KeyboardInterrupt):
            status = exit_status(status_of_command())
        for number in FORWARDED:
            signal.signal(number, signal.SIG_IGN)
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError):
                stream.flush()
        with contextlib.suppress(OSError):  # it was killed
            end.send(bytes([status & 0xFF]))
    finally:
        leave(status)  # whatever is pressed meanwhile: threads that read a terminal would keep it


if __name__ == "__main__":
    main()
