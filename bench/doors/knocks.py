"""Knocks at one socket: every protocol that a server of ours might speak, by whoever runs this.

A knock is *through* when the server did what it was asked: it answered with more than a refusal, let a connection in,
or started a run.
"""

import asyncio
import contextlib
import encodings.idna  # noqa: F401 - who becomes another user may not be able to read it any more
import json
import os
import socket
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from temporalio.client import Client
from temporalio.service import RPCError

from bench.doors.tree import Socket

LIMIT_S = 2.0
"""For a connection and for an answer."""
PATHS = (
    "/",
    "/json/version",
    "/json/list",
    "/metrics",
    "/debug/pprof/",
    "/namespaces/default/workflows",
    "/api/v1/namespaces",
    "/api/v1/namespaces/default/workflows",
    "/api/v1/settings",
)
"""Addresses at which servers of this kind tell what they know."""
_SOCKETS = ("/", "/devtools/browser", "/devtools/browser/x")
_REFUSED = range(300, 600)
"""Statuses that give nothing: also a redirection, which leads nowhere without what it asks for."""


@dataclass(frozen=True)
class Knock:
    """One try at one door."""

    door: str
    who: str
    how: str
    through: bool
    answer: str = ""
    """The beginning of it, where something was answered."""


def knock_at(target: Socket, who: str, canary: str) -> Iterator[Knock]:
    """Try every protocol at `target`.

    Args:
        target: The socket.
        who: As told in the table.
        canary: `host:port` of a server that nobody may reach through a proxy of ours.
    """

    def tried(how: str, found: str | None) -> Knock:
        return Knock(str(target), who, how, found is not None, " ".join((found or "").split())[:100])

    if not target.port:
        yield tried("connect", _unix(target.address))
        return
    host = f"127.0.0.1:{target.port}"
    for path in PATHS:
        for name in (host, "rebound.example"):
            yield tried(f"GET {path} as {name.partition(':')[0]}", _served(target, _get(path, name)))
    yield tried("start over HTTP", _served(target, _start(host)))
    for path in _SOCKETS:
        yield tried(f"WebSocket {path}", _upgraded(target, _websocket(path, host)))
    yield tried("as a proxy, GET", _served(target, _get(f"http://{canary}/through-the-proxy", canary)))
    yield tried("as a proxy, CONNECT", _served(target, f"CONNECT {canary} HTTP/1.1\r\nHost: {canary}\r\n\r\n".encode()))
    for command in ("PING", "CONFIG GET dir"):
        yield tried(f"Redis {command}", _redis(target, command))
    yield tried("gRPC", asyncio.run(_grpc(host)))


# ------------------------------------------------------------------------------------------------- protocols


def _exchange(target: Socket, data: bytes) -> bytes:
    address = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(target.address, target.address)  # noqa: S104 - compared
    try:
        with socket.create_connection((address, target.port), LIMIT_S) as line:
            line.settimeout(LIMIT_S)
            line.sendall(data)
            return line.recv(4096)
    except OSError:
        return b""


def _status(answer: bytes) -> int:
    words = answer.split(maxsplit=2)
    return int(words[1]) if len(words) > 1 and answer.startswith(b"HTTP/1.") and words[1].isdigit() else 0


def _served(target: Socket, request: bytes) -> str | None:
    answer = _exchange(target, request)
    status = _status(answer)
    return None if not status or status in _REFUSED else answer.decode("latin-1")


def _upgraded(target: Socket, request: bytes) -> str | None:
    answer = _exchange(target, request)
    return answer.decode("latin-1") if _status(answer) == 101 else None


def _redis(target: Socket, command: str) -> str | None:
    answer = _exchange(target, f"{command}\r\n".encode())
    return answer.decode("latin-1") if answer[:1] in (b"+", b"*", b"$") else None


def _unix(path: str) -> str | None:
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(LIMIT_S)
        try:
            line.connect(f"\0{path[1:]}" if path.startswith("@") else path)
        except OSError:
            return None
        # Who is let in by the kernel may still be sent away by the server, before a word is answered.
        try:
            line.sendall(b'{"op":"status","id":1}\nGET / HTTP/1.1\r\nHost: x\r\n\r\n')
            answer = line.recv(4096)
        except OSError:
            return None
    return answer.decode("latin-1") or None


async def _grpc(host: str) -> str | None:
    try:
        async with asyncio.timeout(LIMIT_S):
            client = await Client.connect(host)
            names = [run.id async for run in client.list_workflows(limit=5)]
    except (RPCError, RuntimeError, TimeoutError):
        return None
    return f"lists runs: {names}"


def _get(path: str, host: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()


def _start(host: str) -> bytes:
    body = json.dumps({"workflowType": {"name": "BrowserTask"}, "taskQueue": {"name": "replaywright"}, "input": []})
    return (
        f"POST /api/v1/namespaces/default/workflows/knocked HTTP/1.1\r\nHost: {host}\r\nContent-Type: text/plain\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}"
    ).encode()


def _websocket(path: str, host: str) -> bytes:
    return (
        f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    ).encode()


async def forged_start(address: str, queue: str, task: dict[str, Any], name: str) -> str:
    """Start a run with a plain Temporal client, as a program would that has no key; how it ended."""
    client = await Client.connect(address)
    handle = await client.start_workflow(
        "BrowserTask",
        {"task": task, "values": {}},
        id=name,
        task_queue=queue,
        task_timeout=timedelta(seconds=5),
        memo={"task": task["task"], "tenant": "default", "lineage": name},
    )
    try:
        async with asyncio.timeout(60):
            await handle.result()
    except TimeoutError:
        await handle.terminate()
        return "still ran after 60 s"
    except Exception as exc:  # noqa: BLE001 - whatever the run failed with is the answer
        return f"{exc} {exc.__cause__ or ''}"
    return "done"


# ------------------------------------------------------------------------------------------- as another user


def main() -> None:
    """Become the user whose number is the argument, and knock at what standard input names."""
    task = json.loads(sys.stdin.readline())
    uid = int(sys.argv[1])
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)
    found: list[Knock] = []
    for target in task["sockets"]:
        found += knock_at(Socket(**target), "another user", task["canary"])
    found += files_read(task["folders"], "another user")
    found += told_by_proc(task["pids"], task["words"], "another user")
    print(json.dumps([asdict(knock) for knock in found]))


def files_read(folders: Sequence[str], who: str) -> Iterator[Knock]:
    """Read whatever can be read below these folders."""
    for folder in folders:
        files = [Path(path, name) for path, _, names in os.walk(folder) for name in names]
        opened = [str(file) for file in files if _can_open(file)]
        yield Knock(folder, who, "read files", bool(opened), ", ".join(opened[:5]))


def told_by_proc(pids: Sequence[int], words: Sequence[str], who: str) -> Iterator[Knock]:
    """Look for secrets, keys and tokens in what `/proc` tells everybody of each process."""
    for table in ("cmdline", "environ"):
        found = []
        for pid in pids:
            with contextlib.suppress(OSError), open(f"/proc/{pid}/{table}", "rb") as file:  # noqa: PTH123
                text = file.read().decode("utf-8", "replace")
                found += [f"{pid}: {word[:4]}…" for word in words if word in text]
        yield Knock(f"/proc/*/{table}", who, "look for secrets and tokens", bool(found), ", ".join(found))


def _can_open(file: Path) -> bool:
    try:
        with file.open("rb") as stream:
            stream.read(1)
    except OSError:
        return False
    return True


if __name__ == "__main__":
    main()
