"""The webmail's pages and forms, rendered on the server; every form is a POST that redirects to a page.

There is no token against double submission, on purpose: a message posted twice is sent twice, as on many real sites,
and the store shows it.
"""

import asyncio
import hashlib
import hmac
import re
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from demo.webmail.inbox import ReceivedMessage, initial_inbox
from demo.webmail.skins import BUILD_FIELD, SKINS, Skin, form_values, skin_from
from demo.webmail.store import Draft, MailStore, Settings

USER: Final = "demo"
ADDRESS: Final = "demo@harbormail.example"
PRIORITIES: Final = ("Low", "Normal", "High")
_COOKIE: Final = "harbor_session"
_COOKIE_AGE_S: Final = 14 * 24 * 3600
_PAGE_LENGTH: Final = 25
_ADDRESS_PATTERN: Final = re.compile(r"[^@\s,;]+@[^@\s,;]+\.[^@\s,;]+")


class _SkinChange(BaseModel):
    model_config = ConfigDict(extra="forbid")
    skin: str


class _LatencyChange(BaseModel):
    model_config = ConfigDict(extra="forbid")
    ms: int = Field(ge=0)


class _LagChange(BaseModel):
    model_config = ConfigDict(extra="forbid")
    ms: int = Field(ge=0)


def create_app(store: MailStore, *, password: str, latency_ms: int = 0) -> Starlette:
    """The webmail on top of `store`, with one account: user ``demo`` and this password.

    `latency_ms` is waited before every answer except those of the admin pages, and can be changed while running.
    """
    site = _Webmail(store, password, latency_ms)
    app = Starlette(routes=site.routes())
    app.add_middleware(_Latency, site=site)
    return app


class _Latency:
    """Delays every answer by the site's current latency."""

    def __init__(self, app: ASGIApp, site: "_Webmail") -> None:
        self._app = app
        self._site = site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not scope["path"].startswith("/__admin__/"):
            await asyncio.sleep(self._site.latency_ms / 1000)
        await self._app(scope, receive, send)


class _Webmail:
    def __init__(self, store: MailStore, password: str, latency_ms: int) -> None:
        self.latency_ms = latency_ms
        self._lag = timedelta(0)
        self._store = store
        self._password = password
        self._inbox = initial_inbox()
        self._read: set[int] = set()
        self._templates = Environment(
            loader=FileSystemLoader(Path(__file__).parent / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )

    def routes(self) -> list[Route]:
        private = self._for_the_account
        return [
            Route("/", lambda _request: RedirectResponse("/inbox", status_code=303)),
            Route("/login", self.login_page),
            Route("/login", self.log_in, methods=["POST"]),
            Route("/logout", self.log_out, methods=["POST"]),
            Route("/inbox", private(self.inbox_page)),
            Route("/message/{id:int}", private(self.message_page)),
            Route("/message/{id:int}/delete", private(self.delete_message), methods=["POST"]),
            Route("/compose", private(self.compose_page)),
            Route("/compose/form", private(self.compose_form)),
            Route("/compose", private(self.submit_message), methods=["POST"]),
            Route("/sent", private(self.sent_page)),
            Route("/sent/{id}", private(self.sent_message_page)),
            Route("/drafts", private(self.drafts_page)),
            Route("/settings", private(self.settings_page)),
            Route("/settings", private(self.save_settings), methods=["POST"]),
            Route("/__admin__/sent", self.admin_sent),
            Route("/__admin__/state", self.admin_state),
            Route("/__admin__/skin", self.admin_skin, methods=["POST"]),
            Route("/__admin__/latency", self.admin_latency, methods=["POST"]),
            Route("/__admin__/lag", self.admin_lag, methods=["POST"]),
            Route("/__admin__/reset", self.admin_reset, methods=["POST"]),
        ]

    # --- sessions -------------------------------------------------------------------------------------------------

    def _session_value(self) -> str:
        signature = hmac.new(self._store.session_key, f"{USER}:{self._password}".encode(), hashlib.sha256).hexdigest()
        return f"{USER}.{signature}"

    def _is_signed_in(self, request: Request) -> bool:
        return hmac.compare_digest(request.cookies.get(_COOKIE, "").encode(), self._session_value().encode())

    def _for_the_account(
        self, endpoint: Callable[[Request], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        async def checked(request: Request) -> Response:
            if self._is_signed_in(request):
                return await endpoint(request)
            if _wants_json(request):
                return JSONResponse({"error": "Your session has ended. Please log in again."}, status_code=401)
            return RedirectResponse("/login", status_code=303)

        return checked

    async def login_page(self, request: Request) -> Response:
        if self._is_signed_in(request):
            return RedirectResponse("/inbox", status_code=303)
        return self._page("login.html", error="", user="")

    async def log_in(self, request: Request) -> Response:
        values = form_values(await _form(request))
        user, password = values.get("user", ""), values.get("password", "")
        right = hmac.compare_digest(password.encode(), self._password.encode())
        if user not in {USER, ADDRESS} or not right:
            return self._page("login.html", error="Wrong user name or password.", user=user, status_code=401)
        response = RedirectResponse("/inbox", status_code=303)
        response.set_cookie(_COOKIE, self._session_value(), max_age=_COOKIE_AGE_S, httponly=True, samesite="lax")
        return response

    async def log_out(self, _request: Request) -> Response:
        response = RedirectResponse("/login", status_code=303)
        response.delete_cookie(_COOKIE)
        return response

    # --- reading --------------------------------------------------------------------------------------------------

    async def inbox_page(self, request: Request) -> Response:
        query = request.query_params.get("q", "").strip()
        found = [message for message in self._inbox if message.mentions(query)]
        last_page = max(1, -(-len(found) // _PAGE_LENGTH))
        page = min(max(1, _number(request.query_params.get("page", "1"))), last_page)
        shown = found[(page - 1) * _PAGE_LENGTH : page * _PAGE_LENGTH]
        notice = {"discarded": "Message discarded.", "deleted": "Message deleted."}.get(
            request.query_params.get("notice", ""), ""
        )
        return self._page(
            "inbox.html", messages=shown, total=len(found), page=page, last_page=last_page, query=query, notice=notice
        )

    async def message_page(self, request: Request) -> Response:
        message = self._received(request.path_params["id"])
        if message is None:
            return self._not_found()
        self._read.add(message.id)
        return self._page("message.html", message=message)

    async def delete_message(self, request: Request) -> Response:
        self._inbox = [message for message in self._inbox if message.id != request.path_params["id"]]
        return RedirectResponse("/inbox?notice=deleted", status_code=303)

    async def sent_page(self, request: Request) -> Response:
        sent = self._store.sent()[::-1]
        just_sent = request.query_params.get("sent", "")
        notice = next((f"Message sent to {message.to}." for message in sent if message.id == just_sent), "")
        shown_until = datetime.now(UTC) - self._lag
        messages = [message for message in sent if message.time <= shown_until]
        return self._page("sent.html", messages=messages, notice=notice)

    async def sent_message_page(self, request: Request) -> Response:
        for message in self._store.sent():
            if message.id == request.path_params["id"]:
                return self._page("sent_message.html", message=message)
        return self._not_found()

    async def drafts_page(self, request: Request) -> Response:
        notice = "Draft saved." if request.query_params.get("notice") == "saved" else ""
        return self._page("drafts.html", messages=self._store.drafts()[::-1], notice=notice)

    # --- writing --------------------------------------------------------------------------------------------------

    async def compose_page(self, request: Request) -> Response:
        return self._page("compose.html", draft=self._draft_for(request), error="", query_string=request.url.query)

    async def compose_form(self, request: Request) -> Response:
        """The form alone, for the skin that shows it in a frame."""
        if self._skin().name != "frames":
            return RedirectResponse(f"/compose?{request.url.query}", status_code=303)
        return self._page("compose_form.html", draft=self._draft_for(request), error="")

    async def submit_message(self, request: Request) -> Response:
        """Send, save or discard, as the button says; answers JSON to a script that asks for it."""
        values = form_values(await _form(request))
        draft = Draft(
            id=values.get("draft", ""),
            to=values.get("to", "").strip(),
            cc=values.get("cc", "").strip(),
            subject=values.get("subject", "").strip(),
            body=values.get("body", "").replace("\r\n", "\n"),
            priority=values.get("priority", "Normal"),
        )
        match values.get("action"):
            case "draft":
                await run_in_threadpool(self._store.save_draft, draft)
                return self._done(request, "/drafts?notice=saved", "Draft saved.")
            case "discard":
                self._store.discarded += 1
                self._store.delete_draft(draft.id)
                return self._done(request, "/inbox?notice=discarded", "Message discarded.")
            case "send":
                if error := _why_not_sendable(draft):
                    return self._rejected(request, draft, error)
                message = await run_in_threadpool(self._store.send, draft)
                return self._done(request, f"/sent?sent={message.id}", f"Message sent to {message.to}.")
            case _:
                return self._rejected(request, draft, "The form said neither send, nor save, nor discard.")

    def _done(self, request: Request, location: str, notice: str) -> Response:
        if _wants_json(request):
            return JSONResponse({"notice": notice, "location": location})
        return RedirectResponse(location, status_code=303)

    def _rejected(self, request: Request, draft: Draft, error: str) -> Response:
        if _wants_json(request):
            return JSONResponse({"error": error}, status_code=422)
        name = "rejected.html" if self._skin().name == "frames" else "compose.html"
        return self._page(name, draft=draft, error=error, query_string="", status_code=422)

    async def settings_page(self, request: Request) -> Response:
        notice = "Settings saved." if request.query_params.get("notice") == "saved" else ""
        return self._page("settings.html", notice=notice)

    async def save_settings(self, request: Request) -> Response:
        form = await _form(request)
        self._store.save_settings(
            Settings(
                display_name=form.get("display_name", "").strip(),
                signature=form.get("signature", "").strip(),
                compact_list="compact_list" in form,
            )
        )
        return RedirectResponse("/settings?notice=saved", status_code=303)

    def _draft_for(self, request: Request) -> Draft:
        """What the compose page starts with: a saved draft, an answer to a message, or an empty page."""
        wanted = request.query_params.get("draft", "")
        for draft in self._store.drafts():
            if draft.id == wanted:
                return draft
        signature = self._store.settings().signature
        ending = f"\n\n-- \n{signature}" if signature else ""
        message = self._received(_number(request.query_params.get("reply", "")))
        if message is None:
            return Draft(to=request.query_params.get("to", ""), body=ending)
        quoted = "\n".join(f"> {line}" for line in message.body.splitlines())
        return Draft(to=message.address, subject=f"Re: {message.subject}", body=f"\n\n{quoted}{ending}")

    def _received(self, number: int) -> ReceivedMessage | None:
        return next((message for message in self._inbox if message.id == number), None)

    # --- rendering ------------------------------------------------------------------------------------------------

    def _skin(self) -> Skin:
        return skin_from(self._store.skin)

    def _page(self, template_name: str, *, status_code: int = 200, **context: object) -> HTMLResponse:
        skin = self._skin()
        template = self._templates.select_template([f"{layer}/{template_name}" for layer in skin.layers])
        unread = {message.id for message in self._inbox if message.unread} - self._read
        text = template.render(
            skin=skin,
            field=skin.control_name,
            uid=skin.element_id,
            css=skin.css_class,
            build_field=BUILD_FIELD,
            address=ADDRESS,
            priorities=PRIORITIES,
            settings=self._store.settings(),
            unread=unread,
            draft_count=len(self._store.drafts()),
            here=template_name.removesuffix(".html"),
            **context,
        )
        return HTMLResponse(text, status_code=status_code, headers={"Cache-Control": "no-store"})

    def _not_found(self) -> Response:
        return self._page("missing.html", status_code=404)

    # --- admin ----------------------------------------------------------------------------------------------------

    async def admin_sent(self, _request: Request) -> Response:
        return JSONResponse([message.model_dump(mode="json") for message in self._store.sent()])

    async def admin_state(self, _request: Request) -> Response:
        return JSONResponse(
            {
                "skin": self._store.skin,
                "skins": list(SKINS),
                "latency_ms": self.latency_ms,
                "lag_ms": int(self._lag / timedelta(milliseconds=1)),
                "sent": len(self._store.sent()),
                "drafts": len(self._store.drafts()),
                "discarded": self._store.discarded,
            }
        )

    async def admin_skin(self, request: Request) -> Response:
        try:
            self._store.skin = _SkinChange.model_validate_json(await request.body()).skin
        except ValidationError as error:
            return _bad_request(error)
        except ValueError as error:
            return JSONResponse({"error": str(error)}, status_code=400)
        return await self.admin_state(request)

    async def admin_latency(self, request: Request) -> Response:
        try:
            self.latency_ms = _LatencyChange.model_validate_json(await request.body()).ms
        except ValidationError as error:
            return _bad_request(error)
        return await self.admin_state(request)

    async def admin_lag(self, request: Request) -> Response:
        """The Sent folder shows a message only when it is so old, as on sites whose lists lag behind."""
        try:
            self._lag = timedelta(milliseconds=_LagChange.model_validate_json(await request.body()).ms)
        except ValidationError as error:
            return _bad_request(error)
        return await self.admin_state(request)

    async def admin_reset(self, request: Request) -> Response:
        self._store.reset()
        self._inbox = initial_inbox()
        self._read.clear()
        return await self.admin_state(request)


def _why_not_sendable(draft: Draft) -> str:
    """The error to show, or an empty string."""
    recipients = [part.strip() for part in re.split(r"[,;]", f"{draft.to},{draft.cc}") if part.strip()]
    if not draft.to:
        return "Enter at least one recipient."
    for recipient in recipients:
        if not _ADDRESS_PATTERN.fullmatch(recipient):
            return f"{recipient!r} is not a valid address."
    return "" if draft.priority in PRIORITIES else f"There is no priority {draft.priority!r}."


async def _form(request: Request) -> dict[str, str]:
    async with request.form() as form:
        return {name: value for name, value in form.items() if isinstance(value, str)}


def _wants_json(request: Request) -> bool:
    return "application/json" in request.headers.get("accept", "")


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0


def _bad_request(error: ValidationError) -> Response:
    return JSONResponse({"error": error.errors(include_url=False, include_context=False)}, status_code=400)
