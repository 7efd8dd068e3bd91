"""The codec server: it decrypts payloads for the Temporal UI, for those who may read them.

The UI in a person's browser sends what it got from Temporal to `/decode` and shows what comes back; neither Temporal
nor the UI's server has the key. It decodes only. Each request leaves one line in the log, without contents.
"""

import hmac
import logging
import time
from collections.abc import Sequence
from urllib.parse import urlsplit

from google.protobuf.json_format import MessageToDict, ParseDict, ParseError
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from temporalio.api.common.v1 import Payloads

from replaywright.domain.common.elsewhere import json_value
from replaywright.domain.secrets.signing import Key
from replaywright.errors import InputInvalid, SealBroken
from replaywright.sealing.codec import SealedPayloads

_audit = logging.getLogger("replaywright.codec_server")

BODY_LIMIT = 32 * 1024 * 1024
"""Bytes of one request; a page of a history in the UI has a few megabytes at most."""
PREFLIGHT_AGE_S = 600


def check_origin(origin: str) -> str:
    """Return the origin of a UI as browsers send it.

    Raises:
        InputInvalid: it is none.
    """
    parts = urlsplit(origin)
    if parts.scheme not in ("http", "https") or not parts.netloc or "@" in parts.netloc or parts.path not in ("", "/"):
        raise InputInvalid(f"--ui {origin!r}: expected the origin of the Temporal UI, such as http://127.0.0.1:8233")
    return f"{parts.scheme}://{parts.netloc}"


class CodecServer:
    """Answers `/decode`, and refuses what it should not answer."""

    def __init__(
        self, keys: Sequence[Key], *, origins: Sequence[str], hosts: Sequence[str] | None, token: str = ""
    ) -> None:
        """Decrypt with these keys.

        Args:
            keys: Those of the codec.
            origins: Of the UIs whose pages may read answers; every other is refused.
            hosts: Names under which the server may be addressed, with port: a page that lets its own name point to this
                machine is refused. None: any, for a server that asks for a token.
            token: Has to come as `Authorization: Bearer …`. Empty: none is asked for.
        """
        self._codec = SealedPayloads(keys)
        self._origins = tuple(origins)
        self._hosts = hosts
        self._token = token

    def app(self) -> Starlette:
        """Return the ASGI application."""
        cors = Middleware(
            CORSMiddleware,
            allow_origins=list(self._origins),
            allow_methods=["POST"],
            allow_headers=["Content-Type", "X-Namespace", "Authorization"],
            max_age=PREFLIGHT_AGE_S,
        )
        routes = []
        for path in ("", "/{namespace}"):
            routes.append(Route(f"{path}/decode", self._decode, methods=["POST"]))
            routes.append(Route(f"{path}/encode", self._encode, methods=["POST"]))
        return Starlette(routes=routes, middleware=[cors])

    async def _decode(self, request: Request) -> Response:
        begun, count = time.monotonic(), 0
        status, why = self._refusal(request)
        answer: object = {"message": why}
        if not status:
            body = await _body(request)
            status, answer, count = (413, _TOO_LARGE, 0) if body is None else await self._decoded(body)
        _note(request, status, count, (time.monotonic() - begun) * 1000)
        headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
        if status == 401:
            headers["WWW-Authenticate"] = "Bearer"
        return JSONResponse(answer, status, headers)

    async def _encode(self, request: Request) -> Response:
        _note(request, 403, 0, 0)
        return JSONResponse({"message": "this server only decodes"}, 403)

    def _refusal(self, request: Request) -> tuple[int, str]:
        """Return status and reason of a refusal; 0 for a request that may be answered."""
        if self._hosts is not None and request.headers.get("host", "") not in self._hosts:
            return 421, "this is not the address of the codec server"
        origin = request.headers.get("origin")
        if origin is not None and origin not in self._origins:
            return 403, "pages of this origin may not read payloads: see --ui"
        given = request.headers.get("authorization", "")
        if self._token and not hmac.compare_digest(given.encode(), f"Bearer {self._token}".encode()):
            return 401, "a bearer token is needed: set the codec server's access token in the UI"
        return 0, ""

    async def _decoded(self, body: bytes) -> tuple[int, object, int]:
        """Return status, answer and number of payloads."""
        try:
            given = json_value(body.decode())
            payloads = ParseDict(given, Payloads()).payloads if isinstance(given, dict) else None
        except (ParseError, ValueError):
            payloads = None
        if payloads is None:
            return 400, {"message": "expected a JSON object with a list of payloads"}, 0
        try:
            found = await self._codec.decode(payloads)
        except SealBroken as exc:
            return 422, {"message": str(exc)}, len(payloads)
        return 200, MessageToDict(Payloads(payloads=found)), len(found)


_TOO_LARGE = {"message": f"a request may have {BODY_LIMIT} bytes"}


async def _body(request: Request) -> bytes | None:
    """Read the request's body; None if it is too large."""
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > BODY_LIMIT:
            return None
    return bytes(body)


def _note(request: Request, status: int, payloads: int, spent_ms: float) -> None:
    client = request.client.host if request.client else "?"
    _audit.info(
        "%s %s from %s, namespace %r, origin %r: %d, %d payloads, %.0f ms",
        *(request.method, request.url.path, client),
        *(request.headers.get("x-namespace", "")[:80], request.headers.get("origin", "")[:80]),
        *(status, payloads, spent_ms),
    )
