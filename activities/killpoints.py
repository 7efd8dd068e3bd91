"""Places where a test can kill the worker, compiled in by name and fired once.

`REPLAYWRIGHT_INTERNAL_KILL=<point>:<sequence>:<file>` arms one: the process kills itself with SIGKILL when it gets
there for that step, unless the file exists already (it is created first, so a restarted worker passes). Without the
variable a point costs one dictionary look-up.
"""

import os
import signal

_VARIABLE = "REPLAYWRIGHT_INTERNAL_KILL"

POINTS = ("start", "located", "intended", "acted", "recorded")
"""start: nothing done; located: ready for input; intended: intent written; acted: the action ran, nothing
recorded; recorded: outcome written, Temporal not told."""


def hit(point: str, sequence: int) -> None:
    """Die here if armed for this point and step."""
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
