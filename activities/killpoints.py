"""Places where a test can kill or freeze the worker, compiled in by name and fired once.

`REPLAYWRIGHT_INTERNAL_KILL=<point>:<sequence>:<file>` arms one: the process kills itself with SIGKILL when it gets
there for that step, unless the file exists already (it is created first, so a restarted worker passes). Without these
variables a point costs two dictionary look-ups.

`REPLAYWRIGHT_INTERNAL_FREEZE=<file>` arms what the file says, `<point>:<sequence>`, at any time: the process removes
the file and stops itself with SIGSTOP, until somebody sends SIGCONT.
"""

import contextlib
import os
import signal
from pathlib import Path

_VARIABLE = "REPLAYWRIGHT_INTERNAL_KILL"
_FREEZE_VARIABLE = "REPLAYWRIGHT_INTERNAL_FREEZE"

POINTS = ("start", "located", "intended", "acted", "recorded")
"""start: nothing done; located: ready for input; intended: intent written; acted: the action ran, nothing
recorded; recorded: outcome written, Temporal not told."""


def hit(point: str, sequence: int) -> None:
    """Die or stop here if armed for this point and step."""
    if (order := os.environ.get(_FREEZE_VARIABLE)) is not None:
        _freeze(Path(order), f"{point}:{sequence}")
    armed = os.environ.get(_VARIABLE)
    if armed is None:
        return
    name, number, fired = armed.split(":", 2)
    if name != point or int(number) != sequence:
        return
    try:
        os.close(os.open(fired, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def _freeze(order: Path, here: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        if order.read_text() == here:
            order.unlink()
            os.kill(os.getpid(), signal.SIGSTOP)
