"""Clients of sites: `SiteClients` over HTTP/1.1, by httpcore."""

import asyncio
import logging
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from types import TracebackType
from typing import Any, Final, Self

import httpcore
from ada_url import URL

from replaywright.domain.common.urls import DEFAULT_PORTS, WebAddress, bracketed, origin_of, web_address
from replaywright.domain.requests.exchanges import Request, SiteResponse
from replaywright.domain.session.network_policy import HostRule, NetworkPolicy
from replaywright.errors import InputInvalid, RequestFailed, RequestInDoubt, RequestNotSent
from replaywright.http.answers import ENCODINGS, read_answer
from replaywright.http.cookies import SiteCookies
from replaywright.http.outlet import Outlet, RequestUnderWay, SiteConnection
from replaywright.http.redirects import next_request
from replaywright.reaching import CONNECT_TIMEOUT_S, Resolver, resolve, why_unreached

REDIRECTS: Final = 10
"""Redirects of one request that are followed."""
_NOT_PASSED: Final = frozenset(
    {"accept-encoding", "connection", "content-length", "cookie", "expect", "host", "keep-alive"}
    | {"proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"}
)
"""Headers that belong to a connection, or that are made here."""
_WITH_LENGTH: Final = frozenset({"PATCH", "POST", "PUT"})
"""Methods that name the length of their body though it is empty."""
_FAILURES: Final = (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException, OSError)


class HttpSiteClients:
    """Opens clients that share their trust and the operator's rules."""

    def __init__(
        self,
        *,
        not_direct: Sequence[HostRule] = (),
        has_own_port: Callable[[int], bool] | None = None,
        resolver: Resolver = resolve,
    ) -> None:
        """Make them.

        Args:
            not_direct: hosts for which the operator's policy has a proxy or a client certificate; nothing is sent to
                them.
            has_own_port: tells if a process of ours listens on a port of this machine; see `OwnPorts.has`.
            resolver: returns the addresses of a name.
        """
        logging.getLogger("httpcore.http11").setLevel(logging.INFO)  # below, it writes the headers of responses
        self._not_direct = not_direct
        self._has_own_port = has_own_port
        self._resolver = resolver

    def open(
        self, policy: NetworkPolicy, *, cookies: Iterable[Mapping[str, Any]] = (), timeout_s: float = 30.0
    ) -> "HttpSiteClient":
        """See `SiteClients.open`."""
        outlet = Outlet(policy, not_direct=self._not_direct, has_own_port=self._has_own_port, resolver=self._resolver)
        client = HttpSiteClient(outlet, lambda: self._tls, timeout_s)
        client.add_cookies(cookies)
        return client

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return ssl.create_default_context()  # the system's authorities, or those of SSL_CERT_FILE and SSL_CERT_DIR


class HttpSiteClient:
    """`SiteClient` that keeps one connection to each origin for requests that may be repeated."""

    def __init__(self, outlet: Outlet, tls: Callable[[], ssl.SSLContext], timeout_s: float) -> None:
        self._outlet = outlet
        self._tls = tls
        self._timeout_s = timeout_s
        self._cookies = SiteCookies()
        self._kept: dict[str, SiteConnection] = {}

    @property
    def bytes_up(self) -> int:
        """See `SiteClient.bytes_up`."""
        return self._outlet.bytes_up

    @property
    def bytes_down(self) -> int:
        """See `SiteClient.bytes_down`."""
        return self._outlet.bytes_down

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        while self._kept:
            _, line = self._kept.popitem()
            await line.connection.aclose()

    def add_cookies(self, cookies: Iterable[Mapping[str, Any]]) -> None:
        """See `SiteClient.add_cookies`."""
        self._cookies.add(cookies)

    def cookie(self, url: str, name: str) -> str | None:
        """See `SiteClient.cookie`."""
        return self._cookies.value(url, name)

    async def send(
        self,
        request: Request,
        *,
        before_send: Callable[[], Awaitable[None]] | None = None,
        refusal: Callable[[str], str] = lambda _origin: "",
    ) -> SiteResponse:
        """See `SiteClient.send`."""
        departure = RequestUnderWay(acts=request.is_unsafe or before_send is not None, before_send=before_send)
        redirects = 0
        limit = asyncio.timeout(self._timeout_s)
        try:
            async with limit:
                for _ in range(REDIRECTS + 1):
                    response = await self._exchange(request, departure)
                    if (following := _following(request, response)) is None:
                        return replace(response, redirects=redirects)
                    redirects += 1
                    request = following
                    if request.body and (why := refusal(origin_of(request.url))):
                        raise RequestInDoubt(f"it was answered by a redirect: {why}")
                    departure = RequestUnderWay(acts=request.is_unsafe, has_acted=departure.may_have_acted)
        except RequestNotSent as exc:
            if redirects:
                raise RequestInDoubt(f"it was answered by a redirect: {exc}") from exc
            raise
        except TimeoutError:
            if not limit.expired():
                raise
            kind = RequestInDoubt if redirects or departure.is_sent else RequestNotSent
            raise kind(f"no complete answer came within {self._timeout_s:g} seconds") from None
        raise RequestInDoubt(f"it was answered by more than {REDIRECTS} redirects")

    async def _exchange(self, request: Request, departure: RequestUnderWay, *, may_reuse: bool = True) -> SiteResponse:
        """Send one request and read its response, which may be a redirect."""
        address = _address(request)
        departure.body_bytes = len(request.body.encode())
        line = await self._line(address, is_new=departure.acts or not may_reuse)
        is_reused = line.connection.is_idle()
        line.departure = departure
        try:
            response = await self._carried(line, request, address)
        except _FAILURES as exc:
            if departure.is_asking:
                raise
            is_dead = isinstance(exc, httpcore.NetworkError | httpcore.RemoteProtocolError) and not departure.has_answer
            if is_reused and is_dead:
                return await self._exchange(request, departure, may_reuse=False)
            raise _failure(address, departure, exc) from (None if isinstance(exc, httpcore.ProtocolError) else exc)
        return response

    async def _carried(self, line: SiteConnection, request: Request, address: WebAddress) -> SiteResponse:
        try:
            answer = await line.connection.handle_async_request(self._outgoing(request, address))
            try:
                response, cookies = await read_answer(answer, request.url)
            finally:
                await answer.aclose()
            self._cookies.take(request.url, cookies)
            return response
        finally:
            await self._keep(address.origin, line)

    def _outgoing(self, request: Request, address: WebAddress) -> httpcore.Request:
        parsed = URL(address.url)
        host = bracketed(address.host)
        body = request.body.encode()
        headers = {
            "host": host if address.port == DEFAULT_PORTS[address.scheme] else f"{host}:{address.port}",
            **{name: value for name, value in request.headers.items() if name not in _NOT_PASSED and name[:1] != ":"},
            "accept-encoding": ENCODINGS,
        }
        if cookie := self._cookies.header(request.url):
            headers["cookie"] = cookie
        if body or request.method in _WITH_LENGTH:
            headers["content-length"] = str(len(body))
        return httpcore.Request(
            request.method,
            httpcore.URL(
                scheme=address.scheme.encode(),
                host=address.host.encode(),
                port=address.port,
                target=f"{parsed.pathname}{parsed.search}".encode(),
            ),
            headers=[(name.encode(), _header_bytes(value)) for name, value in headers.items()],
            content=body,
            extensions={"timeout": {"connect": CONNECT_TIMEOUT_S}},
        )

    async def _line(self, address: WebAddress, *, is_new: bool) -> SiteConnection:
        """Return a connection that stands and that nobody uses, or one that will be made."""
        kept = None if is_new else self._kept.pop(address.origin, None)
        if kept is not None:
            if not kept.connection.has_expired():
                return kept
            await kept.connection.aclose()
        origin = httpcore.Origin(address.scheme.encode(), address.host.encode(), address.port)
        return SiteConnection(self._outlet, origin, self._tls() if address.scheme == "https" else None)

    async def _keep(self, origin: str, line: SiteConnection) -> None:
        """Keep a connection for the next request if it is in order, in place of one that was kept before."""
        dropped: SiteConnection | None = line
        if line.connection.is_idle() and not line.connection.is_closed():
            dropped, self._kept[origin] = self._kept.get(origin), line
        if dropped is not None:
            await dropped.connection.aclose()


def _address(request: Request) -> WebAddress:
    try:
        return web_address(request.url)
    except InputInvalid:
        raise RequestNotSent("its address is no http or https address that can be opened") from None


def _following(request: Request, response: SiteResponse) -> Request | None:
    try:
        return next_request(request, response)
    except ValueError:
        raise RequestInDoubt("it was answered by a redirect to no address") from None


def _header_bytes(value: str) -> bytes:
    """Return a header as it came: servers set cookies in Latin-1 as far as anybody knows, pages write UTF-8."""
    try:
        return value.encode("latin-1")
    except UnicodeEncodeError:
        return value.encode()


def _failure(address: WebAddress, departure: RequestUnderWay, error: Exception) -> RequestFailed:
    kind = RequestInDoubt if departure.is_sent else RequestNotSent
    return kind(f"{bracketed(address.host)}:{address.port}: {_reason(departure, error)}")


def _reason(departure: RequestUnderWay, error: Exception) -> str:
    """Return why there is no answer; never with a part of request or response."""
    match error:
        case httpcore.LocalProtocolError():
            return "its method, address or a header is not valid in HTTP"
        case httpcore.ProtocolError():
            return (
                "its answer is not valid HTTP, or broke off"
                if departure.has_answer
                else "it closed the connection without an answer"
            )
    cause: BaseException | None = error
    while cause is not None:
        match cause:
            case ssl.SSLCertVerificationError():
                return f"its certificate cannot be verified ({cause.verify_message})"
            case TimeoutError() | ConnectionRefusedError() | socket.gaierror():
                return why_unreached(cause)
        cause = cause.__cause__
    return why_unreached(error) or "the connection broke off"
