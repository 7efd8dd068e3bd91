"""Hand-over of a command to the resident: it gets this process's arguments, variables, folder and streams.

Imported at the start of every command, so it imports next to nothing.
"""

import os
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import FrameType

from replaywright.home import default_home

SOCKET = "resident.sock"
"""Name of the resident's socket in the home folder."""
READY, GO, BEGUN = b"ready", b"go", b"begun"
"""The resident takes the command; it shall begin; it has begun, and until then it can be carried out elsewhere."""
LARGEST = 1 << 20
"""Bytes of a request; the kernel refuses to send much smaller ones already."""
FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_COMMANDS = frozenset({"run"})
_OWN_WAY = frozenset({"--debug", "--help", "-h"})
"""Options of a command that edits, or draws by variables that are read at an import: it is carried out here."""
_ANSWER_S = 2.0
"""Time after which the resident counts as not there."""
_HOME = "REPLAYWRIGHT_HOME"
_AT_START = ("PYTHON", "LC_", "LANG", "TYPER_", "PYDANTIC_")
"""Variables that Python and libraries read when they start, but `PYTHONUNBUFFERED`: streams are opened anew."""


def hand_over(arguments: Sequence[str]) -> int | None:
    """Let the resident carry out this command, and return its exit status; None where it has to be done here."""
    if sys.platform != "linux" or arguments[:1] not in [[name] for name in _COMMANDS] or _OWN_WAY & {*arguments}:
        return None
    if None in (sys.stdin, sys.stdout, sys.stderr):  # closed: another file would have its number
        return None
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as end:
        try:
            _begin(end, arguments)
        except OSError:  # no resident, or none that takes it; nothing was begun
            return None

        def forward(number: int, _frame: FrameType | None) -> None:
            with suppress(OSError):  # it has ended just now
                end.send(bytes([number]))

        for number in FORWARDED:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, forward)
        try:
            status = end.recv(1)
        except OSError:
            status = b""
    return status[0] if status else 1  # it was killed


def _begin(end: socket.socket, arguments: Sequence[str]) -> None:
    """Return when the command has begun.

    Raises:
        OSError: there is none, it is not of this user, or it declines.
    """
    end.settimeout(_ANSWER_S)
    end.connect(os.path.join(os.environ.get(_HOME) or default_home(os.environ), SOCKET))  # noqa: PTH118 - as in home.py
    if peer_of(end)[1] != os.geteuid():
        raise PermissionError("the resident is another user's")
    folder = os.open(".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        socket.send_fds(end, [_request(arguments)], [0, 1, 2, folder])
    finally:
        os.close(folder)
    if end.recv(len(READY)) != READY:
        raise ConnectionRefusedError("the resident declines")
    end.send(GO)
    end.settimeout(None)
    if end.recv(len(BEGUN)) != BEGUN:
        raise ConnectionAbortedError("the resident has ended")


def _request(arguments: Sequence[str]) -> bytes:
    """Write what the command's process needs to know of this one."""
    mask = os.umask(0o077)
    os.umask(mask)
    ignored = ",".join(str(int(one)) for one in FORWARDED if signal.getsignal(one) is signal.SIG_IGN)
    words = (surroundings(os.environ), str(mask), ignored, str(len(arguments)), *arguments)
    variables = (f"{name}={value}" for name, value in os.environ.items())
    return b"\0".join(os.fsencode(word) for word in (*words, *variables))


def surroundings(environment: Mapping[str, str]) -> str:
    """Describe what an interpreter decides when it starts: only one that decided the same can stand for it."""
    flags = sys.flags
    modes = (flags.optimize, flags.utf8_mode, flags.dev_mode, flags.isolated, flags.no_site, sys.warnoptions)
    read = {name for name in environment if name.startswith(_AT_START)} - {"PYTHONUNBUFFERED"}
    variables = [f"{name}={environment[name]}" for name in sorted(read)]
    return repr((sys.version, sys.prefix, os.path.dirname(__file__), modes, variables))  # noqa: PTH120 - as in home.py


def peer_of(end: socket.socket) -> tuple[int, int]:
    """Return process and user at the other end."""
    found = end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return int.from_bytes(found[:4], sys.byteorder), int.from_bytes(found[4:8], sys.byteorder)
