"""Temporal's dev server in a network of its own, with two ways in.

    python -m replaywright.temporal_gate --port N --ui-port N -- temporal server start-dev …

The dev server opens a dozen ports without any guard, for every user of the machine and every page in a browser. This
process opens two on the host's loopback interface, moves into a network namespace where nothing else is, and starts
the server there. One port leads to gRPC, for processes of this user (or root) only; the other to the UI, behind the
guard of the dashboard. It ends with the server, and the server with it.
"""

import argparse
import asyncio
import contextlib
import ctypes
import fcntl
import importlib
import os
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from replaywright.children import write_no_core_files
from replaywright.keeper.host.tcp_users import NetworkOfNow

if TYPE_CHECKING:
    from starlette.types import ASGIApp

KEY_VARIABLE = "REPLAYWRIGHT_INTERNAL_UI_KEY"
"""Holds the key, in hexadecimal, from which the token for the UI is derived: arguments can be seen by everybody."""
GRPC_PORT, UI_PORT = 7233, 8233
"""Ports of the server in the namespace."""

_LOOPBACK = "127.0.0.1"
_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_SIOCSIFFLAGS, _IFF_UP, _IFF_RUNNING = 0x8914, 0x1, 0x40
_PR_SET_PDEATHSIG = 1
_BACKLOG = 128
_PIECE_BYTES = 1 << 18
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""Headers that the UI does not send itself."""
_HOP_BY_HOP = {b"connection", b"keep-alive", b"host", b"te", b"trailer", b"transfer-encoding", b"upgrade"}


def move_apart() -> None:
    """Move this process into a network namespace of its own, as the same user, with a loopback interface.

    Raises:
        OSError: the machine does not allow it.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.getuid(), os.getgid()
    if libc.unshare(_CLONE_NEWNET | (_CLONE_NEWUSER if user else 0)):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    if user:
        for name, line in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            Path(f"/proc/self/{name}").write_text(line, "ascii")
    with socket.socket() as any_socket:
        up = struct.pack("16sH14x", b"lo", _IFF_UP | _IFF_RUNNING)
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, up)


async def _forward(network: NetworkOfNow, client: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
    """Connect a process of this user with the server; nothing of others reaches it."""
    here, there = back.get_extra_info("sockname"), back.get_extra_info("peername")
    try:
        if there is None or network.user_at(there[:2], here[:2]) not in (os.getuid(), 0):
            return
        server, to_server = await asyncio.open_connection(_LOOPBACK, GRPC_PORT)
        ways = [asyncio.create_task(_carry(client, to_server)), asyncio.create_task(_carry(server, back))]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            to_server.close()
    except OSError:
        pass  # the server is still starting, or has ended
    except asyncio.CancelledError:
        pass  # the gate ends; the stream's own callback would report a cancelled handler as an error
    finally:
        back.close()


async def _carry(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await source.read(_PIECE_BYTES):
            sink.write(data)
            await sink.drain()


def _ui(port: int, key: bytes) -> "ASGIApp":
    """Return the UI behind the guard."""
    # Here and not above: the server starts meanwhile.
    import httpx  # noqa: PLC0415
    from starlette.requests import Request  # noqa: PLC0415
    from starlette.responses import PlainTextResponse, StreamingResponse  # noqa: PLC0415

    from replaywright.dashboard.entrance import Entrance  # noqa: PLC0415
    from replaywright.dashboard.guard import AccessGuard, Guarded  # noqa: PLC0415

    client = httpx.AsyncClient(base_url=f"http://{_LOOPBACK}:{UI_PORT}", trust_env=False, timeout=60)

    async def pass_on(scope, receive, send) -> None:  # type: ignore[no-untyped-def]
        request = Request(scope, receive)
        target = scope["raw_path"] + (b"?" + scope["query_string"] if scope["query_string"] else b"")
        headers = [(name, value) for name, value in scope["headers"] if name not in _HOP_BY_HOP]
        url = client.base_url.copy_with(raw_path=target)
        try:
            answer = await client.send(
                client.build_request(request.method, url, headers=headers, content=await request.body()), stream=True
            )
        except httpx.HTTPError as error:
            await PlainTextResponse(f"the Temporal UI does not answer: {error}\n", 502)(scope, receive, send)
            return

        async def body() -> AsyncIterator[bytes]:
            async for piece in answer.aiter_raw():
                yield piece

        response = StreamingResponse(body(), answer.status_code)
        response.raw_headers = [
            (name.lower(), value) for name, value in answer.headers.raw if name.lower() not in _HOP_BY_HOP
        ]
        try:
            await response(scope, receive, send)
        finally:
            await answer.aclose()

    entrance = Entrance.derived(key)
    host = entrance.ui_host(port)
    pages = Guarded(
        "Temporal's UI", "`replaywright up` or `replaywright show RUN`", "replaywright-temporal-ui", _METHODS, _HEADERS
    )
    return AccessGuard(pass_on, hosts=[host], origins=[f"http://{host}"], pages=pages, entrance=entrance, path="/")


async def _serve(
    grpc: socket.socket, ui: socket.socket, network: NetworkOfNow, server: "subprocess.Popen[bytes]"
) -> int:
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, server.terminate)
    forwarding = await asyncio.start_server(partial(_forward, network), sock=grpc)
    ended = loop.run_in_executor(None, server.wait)
    import uvicorn  # noqa: PLC0415 - as above

    class Pages(uvicorn.Server):
        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield  # the server is ended first

    app = _ui(ui.getsockname()[1], bytes.fromhex(os.environ[KEY_VARIABLE]))
    pages = Pages(uvicorn.Config(app, log_level="warning", access_log=False, server_header=False, lifespan="off"))
    serving = asyncio.create_task(pages.serve(sockets=[ui]))
    await ended
    forwarding.close()
    serving.cancel()
    return server.returncode


def _listening(port: int) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((_LOOPBACK, port))
    listener.listen(_BACKLOG)
    return listener


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Serve until the server ends, and exit with its status; `--probe` tells whether the machine allows it."""
    parser = argparse.ArgumentParser(prog="replaywright.temporal_gate")
    parser.add_argument("--probe", action="store_true", help="only move apart, and end")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--ui-port", type=int, default=0)
    parser.add_argument("command", nargs="*")
    given = parser.parse_args(arguments)
    if given.probe:
        try:
            network = NetworkOfNow()
            network.user_at((_LOOPBACK, 1), (_LOOPBACK, 1))
            move_apart()
        except OSError as error:
            sys.exit(str(error))
        sys.exit(0)
    write_no_core_files()
    # What is open before the move belongs to the host's network: both ports, and the question whose a connection is.
    grpc, ui, network = _listening(given.port), _listening(given.ui_port), NetworkOfNow()
    move_apart()
    libc = ctypes.CDLL(None)
    gate = os.getpid()

    def end_with_gate() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != gate:
            os._exit(1)

    environment = {name: value for name, value in os.environ.items() if name != KEY_VARIABLE}
    server = subprocess.Popen(
        given.command,
        env=environment,
        close_fds=False,  # what this process was given to hold, and nothing else, is inheritable
        preexec_fn=end_with_gate,  # noqa: PLW1509 - there is no other thread yet
    )
    try:
        loops = importlib.import_module("uvloop").new_event_loop
    except ImportError:
        loops = None
    with asyncio.Runner(loop_factory=loops) as runner:
        status = runner.run(_serve(grpc, ui, network, server))
    sys.exit(status if status >= 0 else 128 - status)


if __name__ == "__main__":
    main()
