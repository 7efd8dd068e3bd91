"""Places where a test can stop the worker, compiled in by name.

`REPLAYWRIGHT_INTERNAL_FREEZE=<file>` arms what the file says, `<point>:<sequence>`, at any time: when the process gets
there for that step, it removes the file and stops itself with SIGSTOP, until somebody sends SIGCONT, or SIGKILL.
Without the variable a point costs a dictionary look-up.
"""

import contextlib
import os
import signal
from pathlib import Path

_VARIABLE = "REPLAYWRIGHT_INTERNAL_FREEZE"

POINTS = (
    "start",
    "located",
    "armed",
    "intended",
    "held",
    "dispatched",
    "permitted",
    "acted",
    "recorded",
)
"""start: nothing done; located: ready for input; armed: the gate holds, no intent; intended: intent written; held:
bytes wait at the gate; dispatched: the ledger lets them go, the gate does not know; permitted: the gate lets them go;
acted: the action ran, nothing recorded; recorded: outcome written, Temporal not told."""


def hit(point: str, sequence: int) -> None:
    """Stop here if armed for this point and step."""
    if (order := os.environ.get(_VARIABLE)) is not None:
        _freeze(Path(order), f"{point}:{sequence}")


def _freeze(order: Path, here: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        if order.read_text() == here:
            order.unlink()
            os.kill(os.getpid(), signal.SIGSTOP)
