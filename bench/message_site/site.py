"""The site: a process of its own that has a submission on the disk before it answers, if it answers.

    python -m bench.message_site.site --log FILE [--seed TEXT]

It is the only source of truth about duplicates and losses, and knows nothing of what is tested. With a seed it is slow
before and after it stores, and shows it late; times are drawn from the seed and the subject.
"""

import argparse
import asyncio
import html
import random
import time
import uuid
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

from bench.message_site.behaviours import ALL, Behaviour
from bench.message_site.log import Log, Sent
from bench.message_site.pages import SENT, WENT_WRONG, note, outbox, page_of, plain, popup_of, worker_of
from demo.serving import serve

_PICTURE = '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'
_BEFORE_S, _AFTER_S, _LAG_S = 0.15, 0.5, 1.5
"""How long, at most, a site with a seed works before it stores and after, and how late it shows what it has."""


class _Cuttable:
    """Gives each request a way to cut its connection, which ASGI has none for; it knows uvicorn's cycle."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope["cut"] = getattr(send, "__self__").transport.abort  # noqa: B009 - no type has it
        await self._app(scope, receive, send)


class _Site:
    def __init__(self, log: Log, seed: str | None) -> None:
        self._log = log
        self._seed = seed
        self._came: Counter[str] = Counter()
        """How many submissions of a subject have come in whole."""
        self._underway: Counter[str] = Counter()
        """How many of them are not decided."""
        self._stored: list[Sent] = []

    async def new(self, request: Request) -> Response:
        press = uuid.uuid4().hex if "token" in request.query_params else ""
        return HTMLResponse(page_of(_behaviour(request), press), headers={"cache-control": "no-store"})

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
        await asyncio.sleep(behaviour.site.after_s + self._drawn(given["subject"], "after", _AFTER_S))
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
        await asyncio.sleep(site.before_s + self._drawn(subject, "before", _BEFORE_S))
        if site.stores:
            sent = Sent(subject=subject, press=given["press"], behaviour=behaviour.name, at=time.time())
            self._log.add(sent)
            self._stored.append(sent)
        self._underway[subject] -= 1

    def _drawn(self, subject: str, what: str, most_s: float) -> float:
        return 0.0 if self._seed is None else random.Random(f"{self._seed}/{subject}/{what}").uniform(0, most_s)

    async def _answer(self, behaviour: Behaviour, request: Request) -> Response:
        match behaviour.site.ends:
            case "cut":
                request.scope["cut"]()
                await asyncio.sleep(0)
                return PlainTextResponse("nobody reads this")
            case "status":
                return HTMLResponse(plain(WENT_WRONG), behaviour.site.status)
            case "error_page":
                return HTMLResponse(plain(WENT_WRONG, "<p>Please try again later.</p>"))
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

    async def received(self, request: Request) -> Response:
        """All that is visible whose subject contains the one that is looked for."""
        wanted = request.query_params.get("subject", "")
        found = [one.subject for one in self._visible() if wanted in one.subject]
        items = "".join(f"<li>Received {html.escape(subject)}</li>" for subject in found)
        return HTMLResponse(plain("Received", f"<ul>{items}</ul>" if found else "<p>Nothing found</p>"))

    async def outbox(self, _request: Request) -> Response:
        return HTMLResponse(outbox())

    async def outbox_json(self, request: Request) -> Response:
        """The last message of a subject, once it has become visible."""
        wanted = request.query_params.get("subject", "")
        found = sum(one.subject == wanted for one in self._visible())
        return JSONResponse({"subject": wanted, "reference": f"R{found}-{wanted[-12:]}"} if found else {})

    def _visible(self) -> list[Sent]:
        now = time.time()
        return [one for one in self._stored if now - one.at >= self._drawn(one.subject, "lag", _LAG_S)]

    async def state(self, request: Request) -> Response:
        """What the judge asks: how many came in whole, and how many of these are still worked at."""
        subject = request.query_params["subject"]
        return JSONResponse({"came": self._came[subject], "underway": self._underway[subject]})

    async def analytics(self, _request: Request) -> Response:
        return Response(status_code=204)

    async def note(self, _request: Request) -> Response:
        return HTMLResponse(note())


def _behaviour(request: Request) -> Behaviour:
    return ALL[request.path_params["name"]]


def create_app(path: Path, seed: str | None = None) -> ASGIApp:
    """The site; what it stores is appended to `path`."""
    log = Log(path)
    log.begin()
    site = _Site(log, seed)
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
                Route("/list", site.received),
                Route("/outbox", site.outbox),
                Route("/outbox.json", site.outbox_json),
                Route("/state", site.state),
                Route("/analytics", site.analytics, methods=["POST"]),
                Route("/note", site.note),
            ]
        )
    )


def main() -> None:
    """Serve until SIGTERM."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--log", type=Path, required=True, help="what was stored, one JSON object a line")
    parser.add_argument("--seed", help="decides how slow it is (default: not slow at all)")
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    given = parser.parse_args()
    serve(create_app(given.log, given.seed), "127.0.0.1", given.port)


if __name__ == "__main__":
    main()
