"""Places for browsers on this host: as many as a setting says, else as many as the free memory has room for.

Memory that browsers of this user's other homes may still take counts, too; a number is one of each home.

A place is taken by making the session's directory, under a lock that all workers of this home share: no two of them
can take the last one. From then on it counts, whether its keeper has started yet or not.

Only as many browsers start at the same time as there are cores, whatever the memory has room for: more take longer
together than one after the other, and hold up the steps of those that run.
"""

import asyncio
import contextlib
import fcntl
import os
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from replaywright.errors import NoPlace
from replaywright.keeper.host.client import count_starting, list_live, make_directory
from replaywright.keeper.host.elsewhere import other_sessions_dirs
from replaywright.keeper.host.identity import host_name
from replaywright.keeper.host.memory import Memory, Resident, memory, resident
from replaywright.keeper.protocol import SessionRecord

BROWSER_BYTES = 600 * 1024 * 1024
"""Budget of one Chromium with one page. Headless Chromium on ordinary pages stays below it; a swapping host would make
every time limit of every run wrong."""
KEPT_BACK = 10
"""One part in so many of the memory is left to everything else."""
LOCK_NAME = ".places"
LOCK_S = 5.0
"""The lock is held for milliseconds; only a worker that was stopped in between holds it longer."""
_PAUSE_S = 0.01
TURN_S = 15.0
"""Limit of a start's wait for its turn; after that its run asks again."""
TURN_PAUSE_S = 0.05
_MIB = 1024 * 1024


def most_places() -> int:
    """Return the number of browsers that this host could hold if nothing else ran on it; at least one."""
    return max(1, memory().total // BROWSER_BYTES)


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


class Places:
    """The places of the sessions in one directory."""

    def __init__(self, sessions_dir: Path, limit: int | None) -> None:
        """`limit` is the number of places; None: what the free memory has room for."""
        self._sessions_dir = sessions_dir
        self._limit = limit

    async def take(self, session_id: str, instead_of: str = "") -> Path:
        """Take a place and return the session's directory, which is made.

        Args:
            session_id: of the browser that is to be started.
            instead_of: a session that ends as soon as this one is there: its place is this one's.

        Raises:
            NoPlace: there is none at the moment.
            KeeperRefused: there is a session of this id.
        """
        return await asyncio.to_thread(self._take, session_id, instead_of)

    def _take(self, session_id: str, instead_of: str) -> Path:
        self._sessions_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._alone():
            starting = count_starting(self._sessions_dir)  # before the others: one that gets ready now counts twice
            live = list_live(self._sessions_dir)
            going = [record for record in live if record.session_id == instead_of]
            staying = [record for record in live if record.session_id != instead_of]
            if self._limit is not None:
                why = _none_left(self._limit, len(staying) + starting)
            elif staying or starting:  # the first one is let in, however little memory there is
                others = other_sessions_dirs(self._sessions_dir)
                staying += [record for other in others for record in list_live(other)]
                why = _no_room(staying, going, starting + sum(map(count_starting, others)))
            else:
                why = ""
            if why:
                raise NoPlace(why)
            return make_directory(self._sessions_dir, session_id)

    @contextlib.asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for a turn at starting a browser, and have it during the block; it ends with this process, too.

        Raises:
            NoPlace: all of them were taken for too long.
        """
        await asyncio.to_thread(self._sessions_dir.mkdir, mode=0o700, parents=True, exist_ok=True)
        most, deadline_s = cores(), time.monotonic() + TURN_S
        while (lock := self._turn(most)) is None:
            if time.monotonic() >= deadline_s:
                raise NoPlace(f"host {host_name()!r} is starting other browsers, as many as it has cores ({most})")
            await asyncio.sleep(TURN_PAUSE_S)
        try:
            yield
        finally:
            os.close(lock)

    def _turn(self, most: int) -> int | None:
        """Take one of `most` locks, each of which is a turn; None when all are taken."""
        for number in range(most):
            lock = self._opened(f".starting-{number}")
            if _locked(lock):
                return lock
            os.close(lock)
        return None

    def _opened(self, name: str) -> int:
        return os.open(self._sessions_dir / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the lock that all workers of this home share; it is let go of by the system if this one dies."""
        deadline_s = time.monotonic() + LOCK_S
        lock = self._opened(LOCK_NAME)
        try:
            while not _locked(lock):
                if time.monotonic() > deadline_s:
                    raise NoPlace(f"another worker of host {host_name()!r} has been counting its browsers for too long")
                time.sleep(_PAUSE_S)
            yield
        finally:
            os.close(lock)


def _locked(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _none_left(limit: int, taken: int) -> str:
    if taken < limit:
        return ""
    return f"all places for browsers of host {host_name()!r} are taken ({taken} of {limit}, REPLAYWRIGHT_MAX_BROWSERS)"


def _no_room(staying: list[SessionRecord], going: list[SessionRecord], starting: int) -> str:
    """Return why the memory has no room for another browser; empty when it has.

    Each browser may still grow to its budget: what it has not taken of that yet is not free.
    """
    has = resident([record.chromium.pid for record in (*staying, *going) if record.chromium is not None])
    free = room(
        memory(),
        staying=[_of(record, has) for record in staying] + [0] * starting,
        going=[_of(record, has) for record in going],
    )
    if free >= BROWSER_BYTES:
        return ""
    return (
        f"host {host_name()!r} has no memory for another browser: {max(0, free) // _MIB} MiB are free beside its "
        f"{len(staying) + starting}, and one takes {BROWSER_BYTES // _MIB}"
    )


def room(there_is: Memory, staying: list[int], going: list[int]) -> int:
    """Return the bytes that are free for one more browser.

    Args:
        there_is: the memory as it is.
        staying: bytes that each browser has by now, 0 for one that is about to start.
        going: bytes that each of those has that are about to end.
    """
    promised = sum(max(0, BROWSER_BYTES - has) for has in staying)
    return there_is.available + sum(going) - promised - there_is.total // KEPT_BACK


def _of(record: SessionRecord, has: dict[int, Resident]) -> int:
    return 0 if record.chromium is None else has[record.chromium.pid].private
