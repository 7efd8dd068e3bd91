"""Signing in with an OpenID Connect provider: authorization code flow with PKCE, state and nonce, by Authlib."""

import secrets
import time
from collections import OrderedDict
from collections.abc import MutableMapping
from dataclasses import replace
from typing import Any, Final, Generic, TypeVar
from urllib.parse import quote

import httpx2
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.starlette_client import OAuth
from joserfc.errors import JoseError
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope

from replaywright.dashboard.access_file import Access
from replaywright.dashboard.guard import COOKIE, cookie_in, leading_to
from replaywright.dashboard.people import Viewer

CALLBACK: Final = "signed-in"
"""Page that the provider leads back to."""
SIGN_OUT: Final = "sign-out"
_FLOW_COOKIE: Final = f"{COOKIE}-flow"
_FLOW_S: Final = 600.0
_FLOWS: Final = 1000
"""Sign-ins under way at the same time; of more, the oldest begin anew."""
_PEOPLE: Final = 10_000
_TIMEOUT_S: Final = 10.0
_SIGNATURES: Final = frozenset(
    {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}
)
"""Signatures of ID tokens that are taken: those with a key of the provider's own."""

Value = TypeVar("Value")


class _Kept(Generic[Value]):
    """Values by unguessable names, each for a time, at most so many of them."""

    def __init__(self, lasts_s: float, limit: int) -> None:
        self._lasts_s = lasts_s
        self._limit = limit
        self._kept: OrderedDict[str, tuple[float, Value]] = OrderedDict()

    def keep(self, value: Value) -> str:
        """Keep a value, and return its name."""
        name = secrets.token_urlsafe(32)
        self._kept[name] = time.monotonic() + self._lasts_s, value
        while len(self._kept) > self._limit or next(iter(self._kept.values()))[0] <= time.monotonic():
            self._kept.popitem(last=False)
        return name

    def get(self, name: str) -> Value | None:
        """Return the value of this name; None when its time is over."""
        until, value = self._kept.get(name, (0.0, None))
        return value if time.monotonic() < until else None

    def drop(self, name: str) -> Value | None:
        """Forget a name, and return its value."""
        value = self.get(name)
        self._kept.pop(name, None)
        return value


class SignIn:
    """Door for those whom the provider vouches for and the file gives a role."""

    def __init__(self, access: Access, client_secret: str = "") -> None:
        """Take the declared provider, and the client's secret; none for a public client."""
        self._access = access
        self._people: _Kept[Viewer] = _Kept(access.lasts_s, _PEOPLE)
        self._flows: _Kept[dict[str, Any]] = _Kept(_FLOW_S, _FLOWS)
        self._provider = OAuth().register(
            "provider",
            client_id=access.client_id,
            client_secret=client_secret or None,
            server_metadata_url=f"{access.issuer.rstrip('/')}/.well-known/openid-configuration",
            client_kwargs={
                "scope": " ".join(access.scopes),
                "code_challenge_method": "S256",
                "timeout": _TIMEOUT_S,
                **({} if client_secret else {"token_endpoint_auth_method": "none"}),
            },
        )

    async def entry(self, scope: Scope, receive: Receive) -> Response | None:
        """Return the response to a visitor who is not signed in, or comes back from the provider; None for others.

        The person of a signed-in request is `scope["person"]`.
        """
        request = Request(scope, receive)
        name = request.url.path.removeprefix(self._access.path)
        if name == CALLBACK and request.method == "GET":
            return await self._answered(request)
        session = cookie_in(request.headers, COOKIE)
        person = self._people.get(session)
        if person is None:
            return await self._begun(request)
        if name == SIGN_OUT and request.method == "POST":
            self._people.drop(session)
            answer = PlainTextResponse("signed out; the provider may still know you: sign out there as well\n")
            answer.delete_cookie(COOKIE, path=self._access.path)
            return answer
        scope["person"] = replace(person, is_here=lambda: self._people.get(session) is not None)
        return None

    async def _begun(self, request: Request) -> Response:
        """Lead a visitor to the provider; anything but a visit of a page is refused."""
        is_visit = request.headers.get("sec-fetch-mode", "navigate") == "navigate"
        if request.method != "GET" or not is_visit or "text/html" not in request.headers.get("accept", ""):
            return PlainTextResponse("sign in: load the page again in a browser\n", 401)
        flow: dict[str, Any] = {}
        request.scope["session"] = flow
        try:
            await self._require_issuer()
            answer: Response = await self._provider.authorize_redirect(
                request, self._access.address.rstrip("/") + f"/{CALLBACK}"
            )
        except (httpx2.HTTPError, AuthlibBaseError, RuntimeError, ValueError) as exc:
            return _not_now(f"{self._access.issuer} does not answer as an OpenID Connect provider: {exc}")
        # One slash, and the rest quoted: browsers take "//host", and "/", tab, "/host" too, for an address of others.
        flow["to"] = quote("/" + request.url.path.lstrip("/")) + (f"?{request.url.query}" if request.url.query else "")
        self._set(answer, _FLOW_COOKIE, self._flows.keep(flow), _FLOW_S)
        return answer

    async def _answered(self, request: Request) -> Response:
        """Take the provider's answer, and have the person signed in."""
        flow = self._flows.drop(cookie_in(request.headers, _FLOW_COOKIE))
        if flow is None:
            return _refused("this sign-in was not begun in this browser, or took longer than 10 minutes")
        if request.query_params.get("iss", self._access.issuer) != self._access.issuer:
            return _refused("the answer is one of another provider")
        request.scope["session"] = flow
        try:
            token = await self._provider.authorize_access_token(request, leeway=60)
        except (AuthlibBaseError, JoseError, ValueError) as exc:
            return _refused(f"the provider's answer does not hold: {exc}")
        except (httpx2.HTTPError, RuntimeError) as exc:
            return _not_now(f"{self._access.issuer} does not answer: {exc}")
        claims: MutableMapping[str, Any] | None = token.get("userinfo")
        if claims is None:
            return _refused("the provider did not say who you are (no ID token)")
        name = _name_of(claims)
        role = self._access.roles.role_of(claims)
        if role is None:
            text = f"{name} has no role here: ask for one of the values of {self._access.roles.claim} that have one\n"
            return PlainTextResponse(text, 403)
        answer = leading_to(flow["to"])
        answer.delete_cookie(_FLOW_COOKIE, path=self._access.path)
        self._set(answer, COOKIE, self._people.keep(Viewer(name, role, may_leave=True)), self._access.lasts_s)
        return answer

    async def _require_issuer(self) -> None:
        """Require that the provider names itself as it is declared, and keep only signatures by its own keys."""
        metadata = await self._provider.load_server_metadata()
        if metadata.get("issuer") != self._access.issuer:
            metadata.pop("_loaded_at", None)  # read again the next time: it may be set right meanwhile
            raise ValueError(f"it calls itself {metadata.get('issuer')!r}")
        offered = metadata.get("id_token_signing_alg_values_supported") or ["RS256"]
        metadata["id_token_signing_alg_values_supported"] = sorted(_SIGNATURES.intersection(offered))

    def _set(self, answer: Response, cookie: str, value: str, lasts_s: float) -> None:
        # The provider and links in notices lead here from elsewhere; what changes something says its origin besides.
        answer.set_cookie(
            cookie,
            value,
            max_age=int(lasts_s),
            path=self._access.path,
            secure=self._access.is_secure,
            httponly=True,
            samesite="lax",
        )


def _name_of(claims: MutableMapping[str, Any]) -> str:
    """Return the name that a person's deeds are kept with: never one that people may give themselves."""
    email = claims.get("email")
    found = email if isinstance(email, str) and claims.get("email_verified") is True else claims["sub"]
    return "".join(each for each in str(found) if each.isprintable())[:200]


def _refused(why: str) -> Response:
    return PlainTextResponse(f"not signed in: {why}; open the dashboard again\n", 401)


def _not_now(why: str) -> Response:
    return PlainTextResponse(f"nobody can sign in now: {why}\n", 502)
