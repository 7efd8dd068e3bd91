"""Access control of the dashboard: only the person who was given its address, in a browser on this machine.

Whoever else has an account here can reach a port on loopback, and so can every page that this person's browser shows.
The address holds a token, which a first visit exchanges for a cookie; the cookie belongs to a path that nobody can
guess, because a browser would send it to every other port of this host too.
"""

import hmac
import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from html import escape
from http.cookies import CookieError, SimpleCookie
from typing import Protocol
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from replaywright.dashboard.entrance import Entrance

COOKIE = "replaywright-dashboard"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""Content security policy: files of this server only, nothing inline, no framing."""
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}

_LEADS_ON = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="0;url={to}">
<title>Replaywright</title><p><a href="{to}">Go on</a></p></html>
"""


def leading_to(address: str) -> HTMLResponse:
    """Return a page that leads on to an address, of whichever origin."""
    return HTMLResponse(_LEADS_ON.format(to=escape(address, quote=True)))


@dataclass(frozen=True)
class Guarded:
    """Pages behind a guard."""

    name: str
    told_by: str
    """Command that prints the address."""
    cookie: str
    methods: tuple[str, ...]
    headers: Mapping[str, str]

    @property
    def strange(self) -> str:
        """Answer to a visitor who does not know the address."""
        return f"open {self.name} by the address that {self.told_by} prints: it holds a token\n"


_DASHBOARD = Guarded(
    "the dashboard",
    "`replaywright dashboard`",
    COOKIE,
    ("GET", "HEAD", "POST"),
    # Without a referrer, browsers hide the origin of a form from the guard.
    {**HEADERS, "Referrer-Policy": "same-origin"},
)


class Door(Protocol):
    """Decides who comes in, of those whose request may be answered at all."""

    async def entry(self, scope: Scope, receive: Receive) -> Response | None:
        """Return the response to a visitor who is not in yet; None for one who is."""


class AccessGuard:
    """Lets those requests through to the pages that may be answered, and adds what every answer says of itself."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        hosts: Collection[str],
        origins: Collection[str],
        pages: Guarded = _DASHBOARD,
        entrance: Entrance | None = None,
        path: str | None = None,
        door: Door | None = None,
    ) -> None:
        """Guard `app`.

        Args:
            app: The pages, below `path`.
            hosts: Names under which the server may be addressed, with port: a page that lets its own name point to
                this machine is refused.
            origins: Of the pages that may ask.
            pages: What they are.
            entrance: None: a new one.
            path: Of the pages; None: the entrance's name.
            door: Decides who comes in; None: whoever has the entrance's token.
        """
        self._app = app
        self._hosts = hosts
        self._origins = origins
        self._pages = pages
        self._entrance = entrance or Entrance.derived(secrets.token_bytes(32))
        self.path = path or f"/{self._entrance.name}/"
        """Below this the pages are."""
        self._door = door or TokenDoor(pages, self._entrance, self.path)

    @property
    def entrance(self) -> str:
        """Path and query of the address to open."""
        return f"{self.path}?token={self._entrance.token}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        answer = self._refusal(scope) or await self._door.entry(scope, receive)

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._pages.headers.items():
                    headers.setdefault(name, value)
            await send(message)

        if answer is not None:
            await answer(scope, receive, sent)
            return
        inner = {**scope, "root_path": self.path.rstrip("/")}
        await self._app(inner, receive, sent)

    def _refusal(self, scope: Scope) -> Response | None:
        """Return the response to a forbidden request; None for an allowed one."""
        headers, pages = Headers(scope=scope), self._pages
        if headers.get("host", "") not in self._hosts:
            return PlainTextResponse(f"this is not the address of {pages.name}: {self._pages.strange}", 421)
        origin = headers.get("origin")
        if origin is not None and origin not in self._origins:
            return PlainTextResponse(f"pages of other origins may not read {pages.name}\n", 403)
        is_visit = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not is_visit:
            return PlainTextResponse(f"pages of other origins may not read {pages.name}\n", 403)
        if scope["method"] not in pages.methods:
            allowed = ", ".join(pages.methods)
            return PlainTextResponse(f"{pages.name} takes {allowed} only\n", 405, {"Allow": allowed})
        if scope["method"] not in ("GET", "HEAD") and origin is None:
            return PlainTextResponse("a request that changes something has to say which page sends it (Origin)\n", 403)
        if scope["path"] == "/favicon.ico":  # browsers ask for it on behalf of pages that name no icon
            return Response(status_code=204)
        return None if scope["path"].startswith(self.path) else PlainTextResponse(self._pages.strange, 404)


class TokenDoor:
    """Door for whoever has the token, which a first visit exchanges for a cookie."""

    def __init__(self, pages: Guarded, entrance: Entrance, path: str) -> None:
        """Let those in who have the token of `entrance`, to the pages below `path`."""
        self._pages = pages
        self._entrance = entrance
        self._path = path

    async def entry(self, scope: Scope, _receive: Receive) -> Response | None:
        """Return the response to a visitor with the token or without a session; None for a valid session."""
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = dict(query).get("token", "")
        if given and hmac.compare_digest(given.encode(), self._entrance.token.encode()):
            rest = urlencode([(name, value) for name, value in query if name != "token"])
            to = scope["raw_path"].decode("latin-1") + (f"?{rest}" if rest else "")
            # A page of its own, not a redirect: to that no cookie would be sent where the visit began elsewhere.
            answer = leading_to(to)
            answer.set_cookie(
                self._pages.cookie, self._entrance.session, path=self._path, httponly=True, samesite="strict"
            )
            return answer
        session = cookie_in(Headers(scope=scope), self._pages.cookie)
        if not hmac.compare_digest(session.encode(), self._entrance.session.encode()):
            return PlainTextResponse(self._pages.strange, 401)
        return None


def cookie_in(headers: Headers, name: str) -> str:
    """Return the value of a request's cookie; empty without one."""
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return found.value if found is not None else ""
