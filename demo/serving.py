"""Serve an ASGI application until Ctrl-C or SIGTERM and say on standard output where it is.

One line of JSON, ``{"url": "http://127.0.0.1:41234"}``, is printed when the socket accepts connections, so that a
parent process can ask for any free port (0) and read the answer instead of guessing and polling.
"""

import json
import signal
import socket

import uvicorn
from starlette.types import ASGIApp

_SHUTDOWN_GRACE_S = 1
"""Requests still open after this are cancelled: a demo must not keep a terminal waiting."""


class _AnnouncingServer(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, url: str) -> None:
        super().__init__(config)
        self._url = url

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start listening, then announce the address."""
        await super().startup(sockets)
        if self.started:
            print(json.dumps({"url": self._url}), flush=True)


def serve(app: ASGIApp, host: str, port: int) -> None:
    """Serve `app` until SIGINT or SIGTERM, which both end it with exit status 0.

    Raises:
        OSError: the address is taken or not ours.
    """
    # uvicorn raises the signal again after its shutdown; a handler of our own makes that the end and not a death.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: None)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, port), family=family) as listener:
        bound_port: int = listener.getsockname()[1]
        shown_host = f"[{host}]" if ":" in host else host
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, timeout_graceful_shutdown=_SHUTDOWN_GRACE_S, lifespan="off"
        )
        _AnnouncingServer(config, f"http://{shown_host}:{bound_port}").run(sockets=[listener])
