"""The site: a process of its own that has a submission on the disk before it answers, if it answers.

    python -m bench.truth.site --log FILE

It is the only source of truth. A line's `body` is the press that a submission came of, its `reference` the behaviour.
"""

import argparse
import asyncio
import html
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from bench.chaos.log import Log, Sent
from bench.truth.behaviours import ALL, Behaviour
from bench.truth.pages import SENT, page_of, plain, popup_of, worker_of
from demo.serving import serve

_PICTURE = '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'


class _Cuttable:
    """Gives each request a way to cut its connection, which ASGI has none for; it knows uvicorn's cycle."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope["cut"] = getattr(send, "__self__").transport.abort  # noqa: B009 - no type has it
        await self._app(scope, receive, send)


class _Truth:
    def __init__(self, log: Log) -> None:
        self._log = log
        self._came: Counter[str] = Counter()
        """How many submissions of a subject have come in whole."""
        self._underway: Counter[str] = Counter()
        """How many of them are not decided."""
        self._stored: list[str] = []

    async def new(self, request: Request) -> Response:
        return HTMLResponse(page_of(_behaviour(request)), headers={"cache-control": "no-store"})

    async def worker(self, request: Request) -> Response:
        script = worker_of(str(request.path_params["page"]))
        headers = {"service-worker-allowed": "/", "cache-control": "no-store"}
        return PlainTextResponse(script, headers=headers, media_type="text/javascript")

    async def popup(self, request: Request) -> Response:
        return HTMLResponse(popup_of(_behaviour(request)))

    async def submit(self, request: Request) -> Response:
        """Take a submission: wait, store it, wait, answer as the behaviour says."""
        behaviour = _behaviour(request)
        given = request.query_params if request.method == "GET" else dict(parse_qsl((await request.body()).decode()))
        await self._take(behaviour, given)
        await asyncio.sleep(behaviour.site.after_s)
        return await self._answer(behaviour, request)

    async def socket(self, socket: WebSocket) -> None:
        """The same for messages over a WebSocket."""
        await socket.accept()
        try:
            while True:
                given = dict(parse_qsl(await socket.receive_text()))
                await self._take(ALL[socket.path_params["name"]], given)
                await socket.send_text("stored")
        except WebSocketDisconnect:
            return

    async def _take(self, behaviour: Behaviour, given: Mapping[str, str]) -> None:
        subject, site = given["subject"], behaviour.site
        self._came[subject] += 1
        self._underway[subject] += 1
        await asyncio.sleep(site.before_s)
        if site.stores:
            self._log.add(Sent(subject=subject, body=given["press"], reference=behaviour.name, at=time.time()))
            self._stored.append(subject)
        self._underway[subject] -= 1

    async def _answer(self, behaviour: Behaviour, request: Request) -> Response:
        match behaviour.site.ends:
            case "cut":
                request.scope["cut"]()
                await asyncio.sleep(0)
                return PlainTextResponse("nobody reads this")
            case "status":
                return HTMLResponse(plain("Something went wrong"), behaviour.site.status)
            case "error_page":
                return HTMLResponse(plain("Something went wrong", "<p>Please try again later.</p>"))
            case "loop":
                return RedirectResponse("/loop/0", 303)
        if behaviour.page == "get_image":
            return Response(_PICTURE, media_type="image/svg+xml")
        return RedirectResponse("/sent", 303)

    async def sent(self, _request: Request) -> Response:
        """The page that a form leads to: it does not look whether it is true."""
        return HTMLResponse(plain(SENT))

    async def loop(self, request: Request) -> Response:
        return RedirectResponse(f"/loop/{int(request.path_params['number']) + 1}", 302)

    async def list(self, request: Request) -> Response:
        """All that is stored whose subject contains what is looked for."""
        wanted = request.query_params.get("subject", "")
        found = "".join(f"<li>Received {html.escape(one)}</li>" for one in self._stored if wanted in one)
        return HTMLResponse(plain("Received", f"<ul>{found}</ul>" if found else "<p>Nothing found</p>"))

    async def state(self, request: Request) -> Response:
        """What the judge asks: how many came in whole, and how many of these are still worked at."""
        subject = request.query_params["subject"]
        return JSONResponse({"came": self._came[subject], "underway": self._underway[subject]})

    async def analytics(self, _request: Request) -> Response:
        return Response(status_code=204)


def _behaviour(request: Request) -> Behaviour:
    return ALL[request.path_params["name"]]


def create_app(path: Path) -> ASGIApp:
    """The site; what it stores is appended to `path`."""
    log = Log(path)
    log.begin()
    site = _Truth(log)
    return _Cuttable(
        Starlette(
            routes=[
                Route("/new/{name}", site.new),
                Route("/worker/{page}.js", site.worker),
                Route("/popup/{name}", site.popup),
                Route("/submit/{name}", site.submit, methods=["GET", "POST"]),
                WebSocketRoute("/socket/{name}", site.socket),
                Route("/sent", site.sent),
                Route("/loop/{number}", site.loop),
                Route("/list", site.list),
                Route("/state", site.state),
                Route("/analytics", site.analytics, methods=["POST"]),
            ]
        )
    )


def main() -> None:
    """Serve until SIGTERM."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--log", type=Path, required=True, help="what was stored, one JSON object a line")
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    given = parser.parse_args()
    serve(create_app(given.log), "127.0.0.1", given.port)


if __name__ == "__main__":
    main()
