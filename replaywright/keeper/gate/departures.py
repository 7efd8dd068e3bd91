"""The black box on disk: what left for each operation of a session, readable after its keeper has ended.

One file of JSON lines for each session, in the folder `departures` beside the sessions, so that it outlives them. The
line of a connection is on the disk before the first of its bytes is handed to the network. So an operation without one
is proof that nothing left, and a torn last line belongs to bytes that stayed. Lines name methods and addresses without
queries; nothing of headers or bodies is written, and nothing at all while no operation is current.
"""

import asyncio
import logging
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from replaywright.keeper.host.identity import ProcessIdentity, boot_id, host_name, is_alive
from replaywright.keeper.protocol import Message

FOLDER = "departures"
LIMIT_BYTES = 1024 * 1024
"""Some thousand operations. A file that has grown so far says so in its last line, and is written no more."""
KEPT_S = 24 * 3600.0
"""Retention of a dead keeper's file after its last line."""

_log = logging.getLogger(__name__)


class _BaseLine(Message):
    at: float = Field(default_factory=time.time)
    """Seconds since 1970, wall clock."""


class BeginLine(_BaseLine):
    """First line: names the session and its keeper; every operation since is in the file."""

    what: Literal["begun"] = "begun"
    session_id: str
    host: str
    boot_id: str
    keeper: ProcessIdentity

    @property
    def is_live(self) -> bool:
        """The keeper runs on this host, in this boot."""
        return self.host == host_name() and self.boot_id == boot_id() and is_alive(self.keeper)

    @property
    def has_ended(self) -> bool:
        """The keeper certainly runs no more; never certain for a keeper of another host."""
        return self.host == host_name() and not self.is_live


class ArmLine(_BaseLine):
    """An operation was armed: the lines that follow belong to it, up to the next one of this kind."""

    what: Literal["armed"] = "armed"
    op_id: str
    epoch: int
    hold_safe: bool
    note: str


class LeaveLine(_BaseLine):
    """The first bytes of a connection, or of a request inside TLS, are about to be handed to the network."""

    what: Literal["leaves"] = "leaves"
    connection: int
    method: str
    """Empty for a tunnel."""
    url: str
    is_safe: bool
    size: int
    status: int = 0
    """Status of an earlier answer: 101 of a WebSocket that was open already."""
    answered_at: float | None = None


class AnswerLine(_BaseLine):
    """The site has answered, as far as the status."""

    what: Literal["answered"] = "answered"
    connection: int
    status: int


class EndLine(_BaseLine):
    """A connection was closed without an answer."""

    what: Literal["ended"] = "ended"
    connection: int


class MarkLine(_BaseLine):
    """Something that happened to the operation, or to the file."""

    what: Literal["unseen", "cut", "disarmed", "full"]
    """`unseen`: a page was closed, whose last requests are seen as tunnels only. `cut`: the gate was closed.
    `disarmed`: the gate was opened; what leaves from now on is not written. `full`: the last line of a file that has
    reached its limit."""


DepartureLine = Annotated[
    BeginLine | ArmLine | LeaveLine | AnswerLine | EndLine | MarkLine,
    Field(discriminator="what"),
]
_LINES: TypeAdapter[DepartureLine] = TypeAdapter(DepartureLine)


def departures_path(sessions_dir: Path, session_id: str) -> Path:
    """Return where the file of a session is."""
    return sessions_dir.parent / FOLDER / f"{session_id}.jsonl"


class DepartureLog:
    """Writes the file of one session."""

    def __init__(self, path: Path | None = None, *, limit_bytes: int = LIMIT_BYTES) -> None:
        """Without a `path` nothing is written."""
        self._path = path
        self._limit_bytes = limit_bytes
        self._fd: int | None = None
        self._size = 0
        self._is_over = path is None
        """Nothing is written any more."""
        self._synced_size = 0
        """Bytes that are on the disk."""
        self._syncing = ThreadPoolExecutor(1, "departures")

    def begin(self, line: BeginLine) -> None:
        """Make the file, which must not exist.

        Raises:
            OSError: it cannot be made.
        """
        if self._path is None:
            return
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self.write(line)
        os.fsync(self._fd)
        _sync_folder(self._path.parent)

    def write(self, line: DepartureLine) -> bool:
        """Hand a line to the system, where it outlives this process; return whether the file may be believed.

        A file that cannot be written is deleted: without one nothing is known. Where that fails as well, False.
        """
        fd = self._fd
        if self._is_over or fd is None:
            return True
        if self._size >= self._limit_bytes:
            self._is_over, line = True, MarkLine(what="full")
        data = line.model_dump_json().encode() + b"\n"
        self._size += len(data)
        try:
            is_written = os.write(fd, data) == len(data)
        except OSError:
            is_written = False
        return is_written or self._give_up()

    async def synced(self) -> bool:
        """Wait until all lines are on the disk, however slow it is; return whether the file may be believed.

        In a thread, as a busy disk takes seconds, in which this process could not say that it lives.
        """
        size = self._size
        if self._synced_size == size or self._fd is None:
            return True
        try:
            await asyncio.get_running_loop().run_in_executor(self._syncing, os.fsync, self._fd)
        except OSError:
            return self._give_up()
        self._synced_size = max(self._synced_size, size)
        return True

    def close(self, *, deletes: bool) -> None:
        """Write no more. `deletes`: nobody will ask what left."""
        self._syncing.shutdown()
        self._is_over = True
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
        if deletes and self._path is not None:
            self._path.unlink(missing_ok=True)

    def _give_up(self) -> bool:
        assert self._path is not None
        try:
            self._path.unlink(missing_ok=True)
            _sync_folder(self._path.parent)
        except OSError as error:
            _log.error("cannot write or delete the departure log: %s", error)
            return False
        _log.error("cannot write the departure log: departures are unknown once this keeper has ended")
        self._is_over = True
        return True


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


# ---- reading and cleaning up -------------------------------------------------------------------------------------


def read_lines(path: Path) -> list[DepartureLine]:
    """Return the lines of a file up to the first that cannot be read; none when there is no such file.

    A last line without its end is none: its bytes had not left. In place of any other that cannot be read stands
    the line of a full file: what followed is not known.
    """
    try:
        *whole, _torn = path.read_bytes().split(b"\n")
    except OSError:
        return []
    lines: list[DepartureLine] = []
    for data in whole:
        try:
            lines.append(_LINES.validate_json(data))
        except ValidationError:
            return [*lines, MarkLine(what="full")]
    return lines


def sweep_departures(sessions_dir: Path) -> None:
    """Delete the files of keepers that live no more and wrote their last line a day ago."""
    for path in (sessions_dir.parent / FOLDER).glob("*.jsonl"):
        try:
            is_due = time.time() - path.stat().st_mtime >= KEPT_S
        except FileNotFoundError:
            continue
        match read_lines(path) if is_due else None:
            case None | [BeginLine(is_live=True), *_]:
                continue
            case _:
                path.unlink(missing_ok=True)
