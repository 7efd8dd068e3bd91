"""The dashboard as an ASGI application."""

import logging
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import cast
from urllib.parse import parse_qsl, urlencode

from markupsafe import Markup
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from replaywright.dashboard.guard import POLICY, leading_to
from replaywright.dashboard.live import Shared, changed_regions
from replaywright.dashboard.pages import PAGES, Page, whole
from replaywright.dashboard.people import Role, Viewer
from replaywright.dashboard.problems import NOTHING_HERE, Problem, left_out, not_allowed, problem_of, refusal_of
from replaywright.dashboard.rendering import HERE, rendered
from replaywright.dashboard.views import VALUE, AskedRun, DashboardSource, PersonAnswer, WaitingRun
from replaywright.errors import ArtifactMissing, InputInvalid, ReplaywrightError

STREAMS = 64
"""Pages that are told of changes at the same time; others are not, and show what there is when they are loaded."""
_HOLDS_S = 0.8
"""Lifetime of a page that several readers share."""
_WAITING_HOLDS_S = 2.0
_FORM_BYTES = 100_000
_audit = logging.getLogger("replaywright.dashboard.deeds")


class Dashboard:
    """Pages over a source. Who may see them is the guard's business."""

    def __init__(
        self, source: DashboardSource, *, tenant: str, owner: Viewer | None = None, every_s: float = 1.0
    ) -> None:
        """Show what the source reads.

        Args:
            source: Reads runs, skills, inbox and cache.
            tenant: Whose they are; shown on every page.
            owner: Who uses them where nobody signs in; None: the person of each request, as its door says.
            every_s: Seconds after which a page that is shown is looked at again.
        """
        self._source = source
        self._tenant = tenant
        self._owner = owner
        self._every_s = every_s
        self._pages: Shared[Page] = Shared(min(_HOLDS_S, every_s))
        self._waiting: Shared[Sequence[WaitingRun]] = Shared(_WAITING_HOLDS_S)
        self._streams = 0

    def app(self) -> Starlette:
        """Return the ASGI application."""
        return Starlette(
            routes=[
                Route("/", self._page, name="runs"),
                Route("/live/{page}", self._live),
                Route("/report", self._report),
                Route("/picture", self._picture),
                Route("/heal", self._heal),
                Route("/screen", self._screen),
                self._deed("takeover", Role.OPERATE, self._take_over),
                self._deed("answer", Role.ANSWER, self._answer),
                self._deed("start", Role.OPERATE, self._start),
                self._deed("schedule", Role.OPERATE, self._schedule),
                self._deed("session", Role.OPERATE, self._session),
                self._deed("entry", Role.OPERATE, self._entry),
                self._deed("retry", Role.OPERATE, self._retry),
                *(Route(f"/{name}", self._page, name=name) for name in PAGES),
                Mount("/static", StaticFiles(directory=HERE / "static")),
            ],
            exception_handlers={404: self._nothing_here, ReplaywrightError: self._failed, Exception: self._failed},
        )

    def _deed(self, name: str, needed: Role, act: Callable[[Request, str], Awaitable[Response]]) -> Route:
        """Return the route of what changes something, for people of a role; `act` gets the person's name."""

        async def done(request: Request) -> Response:
            person = self._person(request)
            if not person.role.allows(needed):
                return self._said(not_allowed(person, needed), person)
            _audit.info("%s: %s %s", person.name, name, dict(request.query_params))
            return await act(request, person.name)

        return Route(f"/{name}", done, methods=["POST"])

    def _person(self, request: Request) -> Viewer:
        """Return who asks."""
        return self._owner or cast("Viewer", request.scope["person"])

    async def _page(self, request: Request) -> Response:
        name = request.url.path.rpartition("/")[2] or "runs"
        page = await self._built(name, request.query_params)
        parts = [(key, value) for key, value in request.query_params.multi_items() if key != "token"]
        return HTMLResponse(self._shown(page, name, self._person(request), await self._around(), parts))

    async def _built(self, name: str, parameters: Mapping[str, str]) -> Page:
        given = dict(parameters)
        return await self._pages.get((name, tuple(sorted(given.items()))), lambda: PAGES[name](self._source, given))

    def _shown(
        self,
        page: Page,
        name: str,
        person: Viewer,
        around: Mapping[str, Markup],
        parameters: Sequence[tuple[str, str]] = (),
    ) -> str:
        regions = {**page.regions, **around}
        frame = {"title": page.title, "section": page.section, "name": name, "is_final": page.is_final}
        context = {**page.context, **frame, "regions": regions, "parameters": dict(parameters), "tenant": self._tenant}
        context["person"] = person
        context["request"] = secrets.token_hex(16)  # of each reader's form; the page may be shared
        return rendered(page.template, **context)

    async def _around(self, problem: Problem | None = None) -> dict[str, Markup]:
        """Render the regions that every page has."""
        try:
            waiting: int | None = len(await self._waiting.get("", self._source.inbox))
        except ReplaywrightError:  # the page says so itself if it needs Temporal
            waiting = None
        return self._framed(waiting, problem)

    def _framed(self, waiting: int | None, problem: Problem | None = None) -> dict[str, Markup]:
        return {
            "waiting": rendered("regions/waiting.html", waiting=waiting),
            "notice": rendered("regions/notice.html", problem=problem),
        }

    # --- changes ------------------------------------------------------------------------------------------------------

    async def _live(self, request: Request) -> Response:
        name = request.path_params["page"]
        if name not in PAGES:
            return PlainTextResponse("there is no such page\n", 404)
        if self._streams >= STREAMS:
            return PlainTextResponse("too many pages are open\n", 503)
        parameters = dict(request.query_params)
        return EventSourceResponse(self._changes(name, parameters, self._person(request)), ping=15)

    async def _changes(
        self, name: str, parameters: Mapping[str, str], person: Viewer
    ) -> AsyncIterator[ServerSentEvent]:
        async def look() -> tuple[Mapping[str, Markup], bool]:
            try:
                page = await self._built(name, parameters)
            except ReplaywrightError as error:
                return await self._around(problem_of(error)), False
            return {**page.regions, **await self._around()}, page.is_final

        self._streams += 1
        try:
            async for event in changed_regions(look, self._every_s):
                if not person.is_here():
                    return
                yield event
        finally:
            self._streams -= 1

    # --- files --------------------------------------------------------------------------------------------------------

    async def _report(self, request: Request) -> Response:
        report = await self._source.report(request.query_params.get("id", ""))
        return HTMLResponse(
            report.html, headers={"Content-Security-Policy": f"{report.policy}; frame-ancestors 'none'"}
        )

    async def _picture(self, request: Request) -> Response:
        try:
            data = await self._source.picture(request.query_params.get("id", ""))
        except ReplaywrightError as error:
            return PlainTextResponse(f"{error}\n", problem_of(error).status)
        return Response(data, media_type="image/png", headers={"Content-Security-Policy": POLICY + "; sandbox"})

    async def _heal(self, request: Request) -> Response:
        """Answer with the page of a heal, as it was recorded or as it was found."""
        given = request.query_params
        try:
            data = await self._source.heal_picture(given.get("key", ""), given.get("of", ""))
        except ReplaywrightError as error:
            return PlainTextResponse(f"{error}\n", problem_of(error).status)
        return Response(data, media_type="image/jpeg", headers={"Content-Security-Policy": POLICY + "; sandbox"})

    async def _screen(self, request: Request) -> Response:
        """Answer with a picture of a run's page after number `seen`, with nothing, or with why there is none."""
        given = request.query_params
        try:
            picture = await self._source.live_picture(given.get("id", ""), whole(given, "seen") or 0)
        except ArtifactMissing as error:
            return PlainTextResponse(f"{error}\n")
        except ReplaywrightError as error:
            return PlainTextResponse(f"{error}\n", problem_of(error).status)
        if picture is None:
            return Response(status_code=204)
        headers = {"Content-Security-Policy": POLICY + "; sandbox", "X-Picture": str(picture.number)}
        if picture.element is not None:
            headers["X-Element"] = " ".join(f"{part:.4f}" for part in picture.element)
        return Response(picture.jpeg, media_type="image/jpeg", headers=headers)

    # --- actions ------------------------------------------------------------------------------------------------------

    async def _take_over(self, request: Request, who: str) -> Response:
        """Lead the person to the run's browser."""
        address = await self._source.take_over(request.query_params.get("id", ""), who)
        self._forget()
        return leading_to(address)

    async def _answer(self, request: Request, who: str) -> Response:
        """Have the run go on with an answer, and lead back to its page."""
        asked, given = request.query_params, await _form(request)
        run_id = asked.get("id", "")
        answer = PersonAnswer(given.get("answer", ""), given.get("value", ""), given.get("why", ""))
        await self._source.answer(run_id, asked.get("question", ""), answer, who)
        self._forget()
        return RedirectResponse(f"run?{urlencode({'id': run_id})}", 303)

    async def _start(self, request: Request, who: str) -> Response:
        """Start a run of a skill with the values of the form, and lead to its page."""
        asked, given = request.query_params, await _form(request)
        values = {name.removeprefix(VALUE): text for name, text in given.items() if name.startswith(VALUE)}
        run_id = await self._source.start(
            AskedRun(
                asked.get("skill", ""),
                whole(asked, "version") or 0,
                given.get("request", ""),
                values,
                heals=given.get("heals") == "yes",
            ),
            who,
        )
        self._forget()
        return RedirectResponse(f"run?{urlencode({'id': run_id})}", 303)

    async def _schedule(self, request: Request, who: str) -> Response:
        """Change a schedule, and lead back to the list."""
        given = await _form(request)
        name = request.query_params.get("name", "")
        await self._source.change_schedule(name, given.get("change", ""), given.get("why", ""), who)
        self._forget()
        return RedirectResponse("schedules", 303)

    async def _session(self, request: Request, who: str) -> Response:
        """Change a signed-in session, and lead back to the list."""
        given = await _form(request)
        await self._source.change_session(request.query_params.get("name", ""), given.get("change", ""), who)
        self._forget()
        return RedirectResponse("sessions", 303)

    async def _entry(self, request: Request, who: str) -> Response:
        """Promote or forget a recording, and lead back to the list."""
        given = await _form(request)
        key = request.query_params.get("key", "")
        await self._source.change_entry(key, given.get("change", ""), given.get("why", ""), who)
        self._forget()
        return RedirectResponse("cache", 303)

    async def _retry(self, request: Request, who: str) -> Response:
        """Try the failed rows of a batch again, and lead back to the list; tell of rows that are left out."""
        batch = request.query_params.get("batch", "")
        retried = await self._source.retry_batch(batch, who)
        self._forget()
        if retried.left_out:
            return self._said(left_out(batch, retried), self._person(request))
        return RedirectResponse("batches", 303)

    def _forget(self) -> None:
        """Show nothing of before: an open question that was just answered would be asked again."""
        self._pages.forget()
        self._waiting.forget()

    # --- what went wrong ----------------------------------------------------------------------------------------------

    async def _failed(self, request: Request, error: Exception) -> Response:
        """Render the page for an error."""
        problem = problem_of(error) if request.method == "GET" else refusal_of(error)
        return self._said(problem, self._person(request))

    async def _nothing_here(self, request: Request, _error: Exception) -> Response:
        return self._said(NOTHING_HERE, self._person(request))

    def _said(self, problem: Problem, person: Viewer) -> Response:
        page = Page(problem.title, "", "problem.html", {}, {"problem": problem}, is_final=not problem.passes)
        return HTMLResponse(self._shown(page, "problem", person, self._framed(None)), problem.status)


async def _form(request: Request) -> dict[str, str]:
    """Read the fields of a form.

    Raises:
        InputInvalid: it is too long.
    """
    received = b""
    async for piece in request.stream():
        received += piece
        if len(received) > _FORM_BYTES:
            raise InputInvalid(f"the answer has more than {_FORM_BYTES} bytes: nothing was sent")
    return dict(parse_qsl(received.decode("utf-8", "replace"), keep_blank_values=True))
