"""The web application of the live view, page and panel. The guard of the dashboard stands before it (`guarded`)."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Collection
from hashlib import sha256
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Final, Protocol

from pydantic import Field, TypeAdapter, ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from replaywright.dashboard.guard import HEADERS, AccessGuard, Guarded
from replaywright.domain.common.base import first_fault
from replaywright.domain.common.files import safe_name
from replaywright.errors import ActionFailed, InputInvalid
from replaywright.ports.recording import Screen, ViewInput

_WAIT_S: Final = 15.0
"""How long a request for news waits for some."""
_LOOK_EVERY_S: Final = 0.5
_INPUT_LIMIT: Final = 200_000
_FILE_LIMIT: Final = 50_000_000
_INPUT: Final[TypeAdapter[ViewInput]] = TypeAdapter(Annotated[ViewInput, Field(discriminator="do")])
_COMMAND: Final[TypeAdapter[str]] = TypeAdapter(str)
_FILES: Final = {"page.html": "text/html", "live.css": "text/css", "live.js": "text/javascript"}
_PAGES: Final = Guarded(
    "the live view",
    "`replaywright record` or `replaywright edit`",
    "replaywright-record",
    ("GET", "HEAD", "POST"),
    HEADERS,
)


class Panel(Protocol):
    """The panel beside the page."""

    def news(self) -> dict[str, Any]:
        """Return its state as JSON.

        `title`, `state` in words, `hasEnded`; `steps`, each with `text` and, where there are any, `mark`, `note` and
        `buttons`; `commands`, the buttons that are about no one step. A button has `label`, `command` and, if it only
        begins a command that the person ends, `fills`; with `takesCommands` there is a field for that.
        """

    def obey(self, text: str) -> None:
        """Do what a command says.

        Raises:
            InputInvalid: there is no such command.
        """


class LiveView:
    """Shows one browser and its panel, and passes on what is done in the view."""

    def __init__(self, screen: Screen, panel: Panel, folder: Path) -> None:
        """Take `folder` for files that are uploaded in the view."""
        self._screen, self._panel, self._folder = screen, panel, folder
        self._is_closing = False

    def close(self) -> None:
        """Let nobody wait for news any more."""
        self._is_closing = True

    def app(self) -> Starlette:
        """Make the application."""
        return Starlette(
            routes=[
                Route("/", self._file("page.html")),
                *(Route(f"/{name}", self._file(name)) for name in _FILES),
                Route("/state", self._state),
                Route("/picture", self._picture),
                Route("/input", self._input, methods=["POST"]),
                Route("/command", self._command, methods=["POST"]),
                Route("/file", self._upload, methods=["POST"]),
            ]
        )

    def guarded(self, hosts: Collection[str]) -> AccessGuard:
        """Return the application behind a guard that is addressed by one of `hosts` (name and port)."""
        return AccessGuard(self.app(), hosts=hosts, origins=[f"http://{host}" for host in hosts], pages=_PAGES)

    def _file(self, name: str) -> Callable[[Request], Awaitable[Response]]:
        text = (resources.files(__package__) / name).read_text(encoding="utf-8")

        async def answer(_request: Request) -> Response:
            return Response(text, media_type=_FILES[name])

        return answer

    # --------------------------------------------------------------------------------------------------- news

    def _now(self) -> str:
        return json.dumps({"shown": self._screen.shown.model_dump(mode="json"), **self._panel.news()})

    async def _state(self, request: Request) -> Response:
        """Return the state once it is another than the one of the digest `seen`."""
        seen = request.query_params.get("seen", "")
        await self._until(lambda: _digest(self._now()) != seen)
        now = self._now()
        return JSONResponse({"seen": _digest(now), **json.loads(now)})

    async def _picture(self, request: Request) -> Response:
        """Return the first picture after number `seen`; nothing if there is none for a while."""
        text = request.query_params.get("seen", "")
        seen = int(text) if text.isascii() and text.isdecimal() and len(text) < 16 else 0
        await self._until(lambda: self._screen.picture[0] != seen)
        number, picture = self._screen.picture
        if number == seen or not picture:
            return Response(status_code=204)
        return Response(picture, media_type="image/jpeg", headers={"X-Picture": str(number)})

    async def _until(self, holds: Callable[[], bool]) -> None:
        """Wait until there is news, for a while, or until the view is closed."""
        until = time.monotonic() + _WAIT_S
        while not (holds() or self._is_closing or time.monotonic() > until):
            await self._screen.changed(self._screen.picture[0], _LOOK_EVERY_S)

    # -------------------------------------------------------------------------------------------------- input

    async def _input(self, request: Request) -> Response:
        body = await _body(request, _INPUT_LIMIT)
        if body is None:
            return PlainTextResponse("expected JSON", 415)
        try:
            entered = _INPUT.validate_json(body)
        except ValidationError as exc:
            return PlainTextResponse(first_fault(exc), 400)
        try:
            await self._screen.give(entered)
        except ActionFailed as exc:
            return PlainTextResponse(str(exc), 409)
        return Response(status_code=204)

    async def _command(self, request: Request) -> Response:
        body = await _body(request, _INPUT_LIMIT)
        try:
            self._panel.obey(_COMMAND.validate_json(body or b""))
        except ValidationError as exc:
            return PlainTextResponse(first_fault(exc), 400)
        except InputInvalid as exc:
            return PlainTextResponse(str(exc), 400)
        return Response(status_code=204)

    async def _upload(self, request: Request) -> Response:
        """Take a file for the field that asks for one; without a name, none was chosen."""
        name = request.query_params.get("name", "")
        body = await _body(request, _FILE_LIMIT, kind="application/octet-stream")
        if body is None:
            return PlainTextResponse(f"expected a file of at most {_FILE_LIMIT} bytes", 413)
        paths = []
        if name:
            path = self._folder / safe_name(name)
            await asyncio.to_thread(path.write_bytes, body)
            paths = [str(path)]
        try:
            await self._screen.give_files(paths)
        except ActionFailed as exc:
            return PlainTextResponse(str(exc), 409)
        return Response(status_code=204)


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]


async def _body(request: Request, limit: int, kind: str = "application/json") -> bytes | None:
    """Return the body; None if it is too long or not of this kind, which no form of another page can send."""
    if request.headers.get("content-type", "").partition(";")[0] != kind:
        return None
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > limit:
            return None
    return bytes(body)
