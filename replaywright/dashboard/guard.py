"""Who may read the dashboard: the person who was told its address, in a browser on this machine.

Whoever else has an account here can reach a port on loopback, and so can every page that this person's browser shows.
The address holds a token, which a first visit exchanges for a cookie; the cookie belongs to a path that nobody can
guess, because a browser would send it to every other port of this host too.
"""

import hmac
import secrets
from collections.abc import Collection
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "replaywright-dashboard"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""What a page may load: files of this server only, nothing inline, and nobody may frame it."""
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}

_ENTERED = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=./">
<title>Replaywright</title><p><a href="./">Go on to the dashboard</a></p></html>
"""
_STRANGE = "open the dashboard by the address that `replaywright dashboard` printed: it holds a token\n"


class Guard:
    """Lets those requests through to the pages that may be answered, and adds what every answer says of itself."""

    def __init__(self, app: ASGIApp, *, hosts: Collection[str], origins: Collection[str]) -> None:
        """Guard `app`.

        Args:
            app: The pages, below `path`.
            hosts: Names under which the server may be addressed, with port: a page that lets its own name point to
                this machine is refused.
            origins: Of the pages that may ask.
        """
        self._app = app
        self._hosts = hosts
        self._origins = origins
        self._token = secrets.token_urlsafe(32)
        self._session = secrets.token_urlsafe(32)
        self.path = f"/{secrets.token_hex(6)}/"
        """Below this the pages are."""

    @property
    def entrance(self) -> str:
        """Path and query of the address to open."""
        return f"{self.path}?token={self._token}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        answer = self._refusal(scope) or self._entry(scope)

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        if answer is not None:
            await answer(scope, receive, sent)
            return
        inner = {**scope, "root_path": self.path.rstrip("/")}
        await self._app(inner, receive, sent)

    def _refusal(self, scope: Scope) -> Response | None:
        """The answer to a request that nobody should make; None for one that may be looked at."""
        headers = Headers(scope=scope)
        if headers.get("host", "") not in self._hosts:
            return PlainTextResponse("this is not the address of the dashboard\n", 421)
        origin = headers.get("origin")
        if origin is not None and origin not in self._origins:
            return PlainTextResponse("pages of other origins may not read the dashboard\n", 403)
        is_visit = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not is_visit:
            return PlainTextResponse("pages of other origins may not read the dashboard\n", 403)
        if scope["method"] not in ("GET", "HEAD"):
            return PlainTextResponse("the dashboard only reads\n", 405, {"Allow": "GET, HEAD"})
        if scope["path"] == "/favicon.ico":  # browsers ask for it on behalf of pages that name no icon
            return Response(status_code=204)
        return None if scope["path"].startswith(self.path) else PlainTextResponse(_STRANGE, 404)

    def _entry(self, scope: Scope) -> Response | None:
        """The answer to one who brings the token, or nothing; None for one who has entered."""
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if scope["path"] == self.path and given and hmac.compare_digest(given.encode(), self._token.encode()):
            # A page of its own, not a redirect: to that no cookie would be sent where the visit began elsewhere.
            answer = HTMLResponse(_ENTERED)
            answer.set_cookie(COOKIE, self._session, path=self.path, httponly=True, samesite="strict")
            return answer
        if not hmac.compare_digest(_cookie(Headers(scope=scope)).encode(), self._session.encode()):
            return PlainTextResponse(_STRANGE, 401)
        return None


def _cookie(headers: Headers) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found is not None else ""
