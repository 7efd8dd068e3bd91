"""The server on HTTP: on loopback, for those who have the token."""

import hmac
import os
import secrets
import socket
from collections.abc import Callable
from pathlib import Path

import uvicorn
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from replaywright.agents.nexus import serving_nexus
from replaywright.agents.permissions import AgentGrant
from replaywright.agents.server import serving
from replaywright.agents.triggers import CODES, HOOKS, Triggers
from replaywright.errors import InputInvalid
from replaywright.settings import Settings

HOST = "127.0.0.1"
PATH = "/mcp"
_TOKEN_BYTES = 32
_TOKEN_LEAST = 32
"""Characters of a token at least."""
_LEAVING_S = 2


class TokenGuard:
    """Lets requests through that carry the token. Whoever else has an account here can reach a port on loopback."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        """Guard `app`."""
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "http" and not scope["path"].startswith((HOOKS, CODES)):
            given = Headers(scope=scope).get("authorization", "").encode("latin-1", "replace")
            if not hmac.compare_digest(given, self._expected):
                text = "send the token of `replaywright mcp --http`: Authorization: Bearer TOKEN\n"
                answer = PlainTextResponse(text, 401, {"WWW-Authenticate": "Bearer"})
                await answer(scope, receive, send)
                return
        await self._app(scope, receive, send)


def token_in(path: Path) -> str:
    """Read the token; of a file that is not there yet, write a new one that only this user can read.

    Raises:
        InputInvalid: the file cannot be read or written, or holds no token that is long enough.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            token = path.read_text("ascii").strip()
        else:
            token = secrets.token_urlsafe(_TOKEN_BYTES)
            with os.fdopen(handle, "w", encoding="ascii") as file:
                file.write(f"{token}\n")
    except (OSError, UnicodeDecodeError) as exc:
        raise InputInvalid(f"--token-file {str(path)!r}: {exc}") from exc
    if len(token) < _TOKEN_LEAST or not token.isprintable() or " " in token:
        raise InputInvalid(
            f"--token-file {str(path)!r}: expected one line of at least {_TOKEN_LEAST} characters; delete the file, "
            "and a new token is written"
        )
    return token


async def serve_http(
    settings: Settings,
    grants: frozenset[AgentGrant],
    listener: socket.socket,
    token: str,
    announce: Callable[[str], None],
    *,
    hook_secret: Callable[[], str] | None = None,
    nexus: str = "",
) -> None:
    """Serve clients on a socket of loopback until this process is told to end.

    No request depends on one before: a client goes on with a server that was started again. Webhooks are verified by
    `hook_secret`; without it none is taken. On the task queue `nexus`, if there is one, Nexus operations are served.
    """
    async with serving(settings, grants) as agents:
        app = agents.protocol().streamable_http_app(streamable_http_path=PATH, stateless_http=True, host=HOST)
        app.router.routes[:0] = Triggers(settings, agents.handling.running, hook_secret).routes()
        config = uvicorn.Config(
            TokenGuard(app, token),
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_LEAVING_S,
        )
        announce(f"http://{HOST}:{listener.getsockname()[1]}{PATH}")
        async with serving_nexus(agents.handling.running, nexus):
            await uvicorn.Server(config).serve([listener])
