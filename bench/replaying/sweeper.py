"""Ends the browsers of a stage whose owner was killed: a run's browser outlives its worker, which nobody wants here.

    python -m bench.replaying.sweeper HOME WORKER_PID

It waits to be told to end, by its owner or by the kernel when that is gone, then for the worker, which would open
another browser.
"""

import signal
import sys
import time
from pathlib import Path

from replaywright.keeper.client import kill_all
from replaywright.keeper.identity import identify

_WORKER_S = 45
"""A worker lets its activities go on for 30 s."""
_POLL_S = 0.1


def main(home: Path, worker: int) -> None:
    """Wait for the signal, then for the worker, then kill."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    signal.sigwait({signal.SIGTERM})
    deadline = time.monotonic() + _WORKER_S
    while identify(worker) is not None and time.monotonic() < deadline:
        time.sleep(_POLL_S)
    kill_all(home / "sessions")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
