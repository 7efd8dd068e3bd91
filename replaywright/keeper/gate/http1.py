"""HTTP/1.1 as a forward proxy needs it, without any I/O: h11 finds where messages end and writes them anew.

Nothing that came from one side is handed to the other as it was: a message is taken apart into head, payload and end,
and put together again from these, so that both sides agree on where it ends. Requests are read strictly: what two
readers could understand differently is refused (RFC 9112, section 11.2). Heads of responses are read as leniently as
Chromium reads them.
"""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus

import h11

MAX_HEAD_BYTES = 256 * 1024
"""Chromium's own limit."""
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})

Header = tuple[bytes, bytes]

_TOKEN = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_LENGTH = re.compile(rb"[0-9]{1,18}")
_LOOSE_LINE_END = re.compile(rb"(?<!\r)\n|\r(?=[^\n])|\n[ \t]")
"""A line that does not end with CRLF, or that goes on in the next one."""
_STATUS_LINE = re.compile(
    rb"HTTP/([0-9]+)(?:\.([0-9]+))? *([1-9][0-9]{2})(?![0-9])[ \t]*(.*)", re.IGNORECASE | re.DOTALL
)
_HTTP = b"http/"
_SLOP = 4
"""Octets before a status line that are skipped."""
_NOT_IN_VALUE = re.compile(rb"[\x00\r\n]")
_SPACES_IN_VALUE = re.compile(rb"[\x0b\x0c]")
_BOUNDARY = re.compile(rb'boundary="?([^";,]+)', re.IGNORECASE)
_HOST_AND_PORT = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~\-]+)(?::([0-9]{1,5}))?")

_FRAMING = frozenset({b"content-length", b"transfer-encoding"})
"""Say where a message ends. They are never dropped, whatever a `Connection` header says of them."""
_HOP_BY_HOP = frozenset(
    {
        b"connection",
        b"proxy-connection",
        b"keep-alive",
        b"te",
        b"trailer",
        b"upgrade",
        b"proxy-authorization",
        b"proxy-authenticate",
    }
)
"""Meant for one connection only. `upgrade` among them: Chromium opens a WebSocket through a tunnel."""


class HttpError(Exception):
    """A message cannot be passed on; `status` is that of the answer."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class RequestHead:
    """The head of a request."""

    method: str
    target: str
    headers: tuple[Header, ...]

    @property
    def is_navigation(self) -> bool:
        """The browser asks for a page; of a page without TLS it says so in the second header only."""
        by_name = {name.lower(): value for name, value in self.headers}
        return by_name.get(b"sec-fetch-mode") == b"navigate" or by_name.get(b"upgrade-insecure-requests") == b"1"

    @property
    def is_safe(self) -> bool:
        """Return True if its method promises to change nothing (RFC 9110, section 9.2.1), and it carries no data."""
        return self.method in SAFE_METHODS and not self.has_body

    @property
    def has_body(self) -> bool:
        """Data may follow."""
        return bool(values(self.headers, b"transfer-encoding")) or any(
            value.strip(b"0") for value in values(self.headers, b"content-length")
        )

    def digest(self, body: bytes) -> bytes:
        """Return a digest that equal requests have in common, given the beginning of the body.

        The boundary of form data is random, and the head names it; nothing else of the head is compared.
        """
        content_type = b",".join(values(self.headers, b"content-type"))
        if (boundary := _BOUNDARY.search(content_type)) is not None:
            body = body.replace(boundary[1], b"")
        length = b",".join(values(self.headers, b"content-length"))
        parts = (self.method.encode(), self.target.encode(), length, body)
        return hashlib.sha256(b"".join(len(part).to_bytes(8) + part for part in parts)).digest()


@dataclass(frozen=True, slots=True)
class ResponseHead:
    """The head of a response."""

    status: int
    reason: bytes
    headers: tuple[Header, ...]


@dataclass(frozen=True, slots=True)
class Body:
    """Some bytes of the payload."""

    data: bytes


@dataclass(frozen=True, slots=True)
class BodyEnd:
    """The message is complete."""


@dataclass(frozen=True, slots=True)
class ProxyTarget:
    """Destination of a proxy request."""

    host: str
    port: int
    path: str
    """Target with query, as the origin server sees it."""

    @property
    def authority(self) -> str:
        """Host and port as a `Host` header has them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == 80 else f"{host}:{self.port}"

    @property
    def path_without_query(self) -> str:
        """The path as the black box may remember it."""
        return self.path.partition("?")[0]


def values(headers: Iterable[Header], name: bytes) -> list[bytes]:
    """Return all values of a header, in order; `name` in lower case."""
    return [value for key, value in headers if key.lower() == name]


def tokens(headers: Iterable[Header], name: bytes) -> set[bytes]:
    """Return the comma separated tokens of a header, in lower case."""
    return {token.strip().lower() for value in values(headers, name) for token in value.split(b",") if token.strip()}


def parse_authority(authority: str, default_port: int | None = None) -> tuple[str, int]:
    """Return host and port; the host in lower case, an IPv6 address without brackets.

    Raises:
        HttpError: user information, a missing or impossible port, or characters no canonical host has.
    """
    match = _HOST_AND_PORT.fullmatch(authority)
    if match is None or (match[2] is None and default_port is None):
        raise HttpError(400, f"cannot connect to {authority[:200]!r}: expected host:port")
    port = int(match[2]) if match[2] is not None else default_port
    if port is None or not 0 < port < 65536:
        raise HttpError(400, f"cannot connect to {authority[:200]!r}: no such port")
    return match[1].strip("[]").lower(), port


def parse_target(target: str) -> ProxyTarget:
    """Return where an absolute-form request target (`http://host/path`) points to.

    Raises:
        HttpError: it is not absolute, or not plain http.
    """
    scheme, separator, rest = target.partition("://")
    if not separator or scheme.lower() != "http":
        raise HttpError(400, "this is a proxy for http:// and CONNECT only")
    end = min((i for i in map(rest.find, "/?#") if i >= 0), default=len(rest))
    host, port = parse_authority(rest[:end], 80)
    path = rest[end:].partition("#")[0]
    return ProxyTarget(host, port, path if path.startswith("/") else f"/{path}")


def _passed_on(headers: Iterable[Header], *also_dropped: bytes) -> list[Header]:
    """Return the headers that are not for one connection only."""
    kept = list(headers)
    dropped = (_HOP_BY_HOP | tokens(kept, b"connection") | set(also_dropped)) - _FRAMING
    return [(name, value) for name, value in kept if name.lower() not in dropped]


class RequestParser:
    """The requests on one connection, one after the other, and the answers to them."""

    def __init__(self) -> None:
        self._http = h11.Connection(h11.SERVER, MAX_HEAD_BYTES)

    def receive(self, data: bytes) -> None:
        """Take in bytes as they came; none means that no more will come."""
        self._http.receive_data(data)

    def next_event(self) -> RequestHead | Body | BodyEnd | None:
        """Return the next piece, or None when more bytes are needed, or an answer to what came.

        Raises:
            HttpError: this is not a request that can be understood in one way only.
        """
        if self._http.their_state is h11.IDLE:
            _check_line_ends(self._http.trailing_data[0])
        try:
            event = self._http.next_event()
        except h11.RemoteProtocolError as error:
            raise HttpError(error.error_status_hint, f"this request cannot be passed on: {error!s:.200}") from None
        match event:
            case h11.Request():
                return _request_head(event)
            case h11.Data():
                return Body(event.data)
            case h11.EndOfMessage():
                return BodyEnd()  # without trailers: nothing needs them, and a reader may take them for headers
        return None

    def take_rest(self) -> bytes:
        """Return the bytes behind the last event: they belong to another protocol."""
        return self._http.trailing_data[0]

    def answer(self, piece: ResponseHead | Body | BodyEnd) -> bytes:
        """Return a piece of an answer as it is written to this connection.

        Raises:
            HttpError: the pieces make no response.
        """
        match piece:
            case ResponseHead(status, reason, headers):
                kind = h11.InformationalResponse if status < 200 else h11.Response
                return _sent(self._http, kind(status_code=status, reason=reason, headers=_passed_on(headers)))
            case Body():
                return _sent(self._http, h11.Data(data=piece.data))
            case BodyEnd():
                return _sent(self._http, h11.EndOfMessage())

    def begin_next(self) -> bool:
        """Return whether another request may come on this connection, after a request and its answer are complete."""
        if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            return False
        self._http.start_next_cycle()
        return True


def _check_line_ends(received: bytes) -> None:
    """Refuse lines of a head that end in other ways than with CRLF, and those that go on in the next line.

    Raises:
        HttpError: some do.
    """
    end = received.find(b"\r\n\r\n")
    if _LOOSE_LINE_END.search(received, 0, len(received) if end < 0 else end + 4):
        raise HttpError(400, "malformed header")


def _request_head(request: h11.Request) -> RequestHead:
    headers = tuple(request.headers.raw_items())
    codings = values(headers, b"transfer-encoding")
    lengths = values(headers, b"content-length")
    if request.http_version not in (b"1.0", b"1.1"):
        raise HttpError(505, "this is a proxy for HTTP/1")
    if codings and (lengths or request.http_version == b"1.0"):
        raise HttpError(400, "both a length and a transfer coding")
    if request.method == b"CONNECT" and (codings or lengths):
        raise HttpError(400, "a tunnel is asked for without a body")
    return RequestHead(request.method.decode("ascii"), request.target.decode("ascii"), headers)


class ForwardedRequest:
    """A request as it is written to the origin server: in origin form, with the `Host` of its address, and the only one
    on its connection.
    """

    def __init__(self, head: RequestHead, target: ProxyTarget) -> None:
        self._http = h11.Connection(h11.CLIENT, MAX_HEAD_BYTES)
        headers = [(b"Host", target.authority.encode("ascii")), *_passed_on(head.headers, b"host")]
        headers.append((b"Connection", b"close"))
        self.head = _sent(self._http, h11.Request(method=head.method, target=target.path, headers=headers))
        """The head's bytes."""
        self.response = ResponseParser(head.method, self._http)

    def piece(self, piece: Body | BodyEnd) -> bytes:
        """Return a piece of the request's body as it is written."""
        return _sent(self._http, h11.Data(data=piece.data) if isinstance(piece, Body) else h11.EndOfMessage())


class ResponseParser:
    """The response to one request, with the interim responses before it."""

    def __init__(self, method: str, http: h11.Connection | None = None) -> None:
        """`http` has sent the request; without it the request was sent in another way."""
        if http is None:
            http = h11.Connection(h11.CLIENT, MAX_HEAD_BYTES)
            http.send(h11.Request(method=method, target="/", headers=[(b"Host", b"")]))
        self._http = http
        self._buffer = bytearray()
        self._at_eof = False

    @property
    def has_begun(self) -> bool:
        """Part of a head has been received."""
        return bool(self._buffer)

    def receive(self, data: bytes) -> None:
        """Take in bytes as they came; none means that no more will come."""
        self._at_eof = self._at_eof or not data
        if self._http.their_state is h11.SEND_RESPONSE:
            self._buffer += data
        else:
            self._http.receive_data(data)

    def next_event(self) -> ResponseHead | Body | BodyEnd | None:
        """Return the next piece, or None when more bytes are needed. An interim response (1xx) has no `BodyEnd`.

        Raises:
            HttpError: this is not a response.
        """
        is_head = self._http.their_state is h11.SEND_RESPONSE
        if is_head:
            lines = self._take_head()
            if lines is None:
                return None
            self._http.receive_data(_tidied(lines))
        try:
            event = self._http.next_event()
        except h11.RemoteProtocolError as error:
            raise HttpError(502, f"the server's answer is not HTTP/1: {error!s:.200}") from None
        match event:
            case h11.InformationalResponse() | h11.Response():
                if self._http.their_state is not h11.SEND_RESPONSE:
                    self._begin_body()
                return ResponseHead(event.status_code, bytes(event.reason), tuple(event.headers.raw_items()))
            case h11.Data():
                return Body(event.data)
            case h11.EndOfMessage():
                return BodyEnd()
        return None

    def _begin_body(self) -> None:
        if self._buffer:
            self._http.receive_data(bytes(self._buffer))
            self._buffer.clear()
        if self._at_eof:
            self._http.receive_data(b"")

    def _take_head(self) -> list[bytes] | None:
        """Return the lines of the next head, or None when it is not complete; the connection's end completes it."""
        if len(self._buffer) < _SLOP + len(_HTTP) and not self._at_eof:
            return None
        if (begin := self._buffer[: _SLOP + len(_HTTP)].lower().find(_HTTP)) > 0:
            del self._buffer[:begin]
        ends = [(at, len(end)) for end in (b"\r\n\r\n", b"\n\n", b"\n\r\n") if (at := self._buffer.find(end)) >= 0]
        end, size = min(ends, default=(len(self._buffer), 0))
        if end > MAX_HEAD_BYTES:
            raise HttpError(502, "the head of the server's answer is too large")
        if not ends and not (self._at_eof and self._buffer):
            return None
        head = bytes(self._buffer[:end])
        del self._buffer[: end + size]
        return head.replace(b"\r\n", b"\n").split(b"\n")


def _tidied(lines: list[bytes]) -> bytes:
    """Return the head of a response as h11 reads it, from what Chromium would have read.

    Raises:
        HttpError: Chromium would not have understood it either.
    """
    match = _STATUS_LINE.fullmatch(lines[0])
    if match is None:
        raise HttpError(502, "the server's answer is not HTTP/1")
    version = b"1.1" if (int(match[1]), int(match[2] or 0)) >= (1, 1) else b"1.0"
    headers = _lenient_headers(lines[1:])
    codings = tokens(headers, b"transfer-encoding")
    lengths = {length for length in values(headers, b"content-length") if _LENGTH.fullmatch(length)}
    headers = [(name, value) for name, value in headers if name.lower() not in _FRAMING]
    if version == b"1.1" and b"chunked" in codings:
        headers.append((b"Transfer-Encoding", b"chunked"))
    else:
        headers += [(b"Content-Length", length) for length in lengths]  # several: h11 refuses them
    return _join(b"HTTP/%s %s %s" % (version, match[3], _cleaned(match[4])), headers)


def _lenient_headers(lines: list[bytes]) -> list[Header]:
    headers: list[Header] = []
    for line in lines:
        if line[:1] in (b" ", b"\t") and headers:
            headers[-1] = (headers[-1][0], _cleaned(headers[-1][1] + b" " + line))
            continue
        name, separator, value = line.partition(b":")
        name = name.rstrip(b" \t")
        if separator and _TOKEN.fullmatch(name):
            headers.append((name, _cleaned(value)))
    return headers


def _cleaned(value: bytes) -> bytes:
    return _SPACES_IN_VALUE.sub(b" ", _NOT_IN_VALUE.sub(b"", value)).strip(b" \t")


def _sent(http: h11.Connection, event: h11.Event) -> bytes:
    """Return the bytes of an event.

    Raises:
        HttpError: it may not come here.
    """
    try:
        return http.send(event) or b""
    except h11.LocalProtocolError as error:
        raise HttpError(502, f"this message cannot be passed on: {error!s:.200}") from None


NO_CONTENT = b"HTTP/1.1 204 No Content\r\nReplaywright-Keeper: refused\r\nConnection: close\r\n\r\n"
"""A response that leaves a browser on the page that it has."""


def error_page(status: int, message: str, *, with_body: bool = True) -> bytes:
    """Return a complete small response of the proxy itself, after which the connection closes."""
    reason = HTTPStatus(status).phrase
    escaped = message.replace("&", "&amp;").replace("<", "&lt;")
    body = f"<!doctype html><title>{status} {reason}</title><h1>{status} {reason}</h1><p>{escaped}</p>\n".encode()
    head = _join(
        f"HTTP/1.1 {status} {reason}".encode(),
        [
            (b"Content-Type", b"text/html; charset=utf-8"),
            (b"Content-Length", b"%d" % len(body)),
            (b"Cache-Control", b"no-store"),
            (b"Replaywright-Keeper", b"refused" if status in (403, 503) else b"failed"),
            (b"Connection", b"close"),
        ],
    )
    return head + body if with_body else head


def _join(start: bytes, headers: Iterable[Header]) -> bytes:
    return b"\r\n".join([start, *(name + b": " + value for name, value in headers), b"", b""])
