"""Places where a test can stop the worker, compiled in by name.

`REPLAYWRIGHT_INTERNAL_FREEZE=<file>` arms what the file says, `<point>:<sequence>`, at any time: when the process gets
there for that step, it removes the file and stops itself with SIGSTOP, until somebody sends SIGCONT, or SIGKILL. A
point that belongs to no step is armed by its name alone. Without the variable a point costs a dictionary look-up.
"""

import contextlib
import os
import signal
from contextvars import ContextVar
from pathlib import Path

_VARIABLE = "REPLAYWRIGHT_INTERNAL_FREEZE"

POINTS = (
    "start",
    "located",
    "armed",
    "intended",
    "given",
    "held",
    "dispatched",
    "permitted",
    "acted",
    "recorded",
    "returned",
    "resolving",
    "proposing",
)
"""Points of a step. start: nothing done; located: ready for input; armed: the gate holds, no intent; intended: intent
written; given: the input has landed; held: bytes wait at the gate; dispatched: the ledger releases them, the gate does
not know; permitted: the gate releases them; acted: the action ran, nothing recorded; recorded: outcome written;
returned: the activity has ended, Temporal does not know; resolving: the attempt in doubt is fenced, nothing is decided;
proposing: the model has answered, Temporal does not know."""
RUN_POINTS = ("opening", "adopting", "rebuilding", "answering", "promoting")
"""Points of a run. opening: a browser is there, Temporal does not know; adopting: attached to the live browser,
Temporal does not know; rebuilding: another browser is there, nothing is restored; answering: the ledger has answered,
Temporal does not know; promoting: verified, nothing learned is active yet."""

_sequence: ContextVar[int] = ContextVar("sequence", default=-1)


def enter(sequence: int) -> None:
    """Make this the step of the current task: points below know no steps."""
    _sequence.set(sequence)


def hit(point: str, sequence: int | None = None) -> None:
    """Stop here if armed for this point and step; without `sequence` the step is the one that was entered."""
    if (order := os.environ.get(_VARIABLE)) is not None:
        _freeze(Path(order), f"{point}:{_sequence.get() if sequence is None else sequence}")


def hit_run(point: str) -> None:
    """Stop here if armed for this point of a run."""
    if (order := os.environ.get(_VARIABLE)) is not None:
        _freeze(Path(order), point)


def _freeze(order: Path, here: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        if order.read_text() == here:
            order.unlink()
            os.kill(os.getpid(), signal.SIGSTOP)
