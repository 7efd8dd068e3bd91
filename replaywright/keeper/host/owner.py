"""The stack that sessions belong to: they end with it, whatever ends it.

A session outlives its worker, not the servers that know of its run. The process that owns the servers is the owner; a
session whose servers are somebody else's has none. Each keeper looks whether the owner still lives; an owner that ends
in order ends its sessions by `end_sessions`.
"""

import contextlib
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from pydantic import ValidationError

from replaywright.keeper.host.client import end_failed_start, is_live, read_record, reap, session_directories
from replaywright.keeper.host.identity import ProcessIdentity, is_alive
from replaywright.keeper.protocol import OPTIONS_NAME, KeeperOptions

ENDED_WITHIN_S = 4.0
"""A keeper closes its gate, ends its browser and deletes the profile in a fraction of it."""
_LOOK_EVERY_S = 0.05


def end_sessions(sessions_dir: Path, owner: ProcessIdentity, limit_s: float = ENDED_WITHIN_S) -> None:
    """End every session of this owner, those that are starting included, and delete what is left of them.

    Call it when the owner's workers have ended. Each keeper is asked (SIGTERM) to close its gate before its browser is
    killed; one that has not ended in time is killed.
    """
    _end(sessions_dir, lambda directory: _is_of(directory, owner), limit_s)


def end_session(directory: Path, limit_s: float = ENDED_WITHIN_S) -> None:
    """End one session in the same way: for a keeper of another version, which does not understand what it is asked."""
    _end(directory.parent, lambda other: other == directory, limit_s)


def _end(sessions_dir: Path, is_meant: Callable[[Path], bool], limit_s: float) -> None:
    deadline = time.monotonic() + limit_s
    asked: set[ProcessIdentity] = set()
    while left := [directory for directory in session_directories(sessions_dir) if is_meant(directory)]:
        is_late = time.monotonic() > deadline
        for directory in left:
            record = read_record(directory)
            if record is None:
                if is_late:
                    end_failed_start(directory)
            elif is_live(record):
                if is_late:
                    _signal(record.keeper, signal.SIGKILL)  # its proxy is gone when `reap` ends the browser
                elif record.keeper not in asked:
                    asked.add(record.keeper)
                    _signal(record.keeper, signal.SIGTERM)
        reap(sessions_dir)
        if is_late and time.monotonic() > deadline + limit_s:
            return
        time.sleep(_LOOK_EVERY_S)


def _is_of(directory: Path, owner: ProcessIdentity) -> bool:
    record = read_record(directory)
    if record is not None:
        return record.owner == owner
    try:  # its keeper has not come as far as a record
        return KeeperOptions.model_validate_json((directory / OPTIONS_NAME).read_bytes()).owner == owner
    except (OSError, ValidationError):
        return False


def _signal(process: ProcessIdentity, number: signal.Signals) -> None:
    if is_alive(process):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, number)
