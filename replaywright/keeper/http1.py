"""HTTP/1.1 as a forward proxy needs it: where a message ends, and what its head says.

Without any I/O: bytes go in as they come, split anywhere; heads, body pieces and the end come out. Body pieces are
the bytes as they were sent, chunk sizes and trailers included, so that passing them on changes nothing. Requests are
read strictly (what two readers could understand differently is refused, RFC 9112 section 11.2); responses leniently,
as browsers do.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

MAX_HEAD_BYTES = 256 * 1024
MAX_CHUNK_LINE_BYTES = 16 * 1024
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})

Header = tuple[bytes, bytes]

_TOKEN = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_REQUEST_LINE = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+) ([^\x00-\x20\x7f]+) HTTP/1\.([01])")
_STATUS_LINE = re.compile(rb"HTTP/1\.([01]) +([1-9][0-9][0-9])(?: ([^\r\n]*))?")
_FORBIDDEN_IN_VALUE = re.compile(rb"[\x00\r\n]")
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?\r\n")
_HOST_AND_PORT = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~\-]+)(?::([0-9]{1,5}))?")

_HOP_BY_HOP = frozenset(
    {
        b"connection",
        b"proxy-connection",
        b"keep-alive",
        b"te",
        b"upgrade",
        b"proxy-authorization",
        b"proxy-authenticate",
    }
)
"""Meant for one connection only. `transfer-encoding` and `trailer` describe the body, which is passed on as it is."""


class HttpError(Exception):
    """What came is not a message that can be passed on; `status` is what to answer."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class RequestHead:
    """The head of a request."""

    method: str
    target: str
    version: bytes
    """`1.0` or `1.1`."""
    headers: tuple[Header, ...]

    @property
    def is_navigation(self) -> bool:
        """Whether a page is to come of it, as far as the browser says; of a page without TLS only the second header."""
        told = {name.lower(): value for name, value in self.headers}
        return told.get(b"sec-fetch-mode") == b"navigate" or told.get(b"upgrade-insecure-requests") == b"1"

    @property
    def is_safe(self) -> bool:
        """Whether the method promises to change nothing (RFC 9110, section 9.2.1)."""
        return self.method in SAFE_METHODS

    @property
    def wants_upgrade(self) -> bool:
        """Whether the client offers to change to another protocol on this connection."""
        return b"upgrade" in tokens(self.headers, b"connection") and bool(values(self.headers, b"upgrade"))

    @property
    def keeps_alive(self) -> bool:
        """Whether the client wants to send another request on this connection."""
        said = tokens(self.headers, b"connection") | tokens(self.headers, b"proxy-connection")
        return b"close" not in said and (self.version == b"1.1" or b"keep-alive" in said)


@dataclass(frozen=True, slots=True)
class ResponseHead:
    """The head of a response."""

    status: int
    reason: bytes
    version: bytes
    headers: tuple[Header, ...]
    ends_with_connection: bool
    """The body has no length of its own."""


@dataclass(frozen=True, slots=True)
class Body:
    """Some bytes of the body, as they were sent."""

    data: bytes


@dataclass(frozen=True, slots=True)
class End:
    """The message is complete."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where a proxy request wants to go."""

    host: str
    port: int
    path: str
    """With query; what the origin server is to see."""

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


def parse_target(target: str) -> Target:
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
    return Target(host, port, path if path.startswith("/") else f"/{path}")


def upstream_head(head: RequestHead, target: Target) -> bytes:
    """Return the request head for the origin server: origin form, its own `Host`, one request per connection."""
    dropped = _HOP_BY_HOP | tokens(head.headers, b"connection") | {b"host"}
    connection: list[Header] = [(b"Connection", b"close")]
    if head.wants_upgrade:
        connection = [(b"Connection", b"Upgrade"), *((b"Upgrade", value) for value in values(head.headers, b"upgrade"))]
    headers = [(b"Host", target.authority.encode("ascii"))]
    headers += [(name, value) for name, value in head.headers if name.lower() not in dropped]
    start = f"{head.method} {target.path} HTTP/".encode("latin-1") + head.version
    return _join(start, [*headers, *connection])


def client_head(head: ResponseHead, *, keep_alive: bool, upgraded: bool = False) -> bytes:
    """Return the response head for the browser."""
    dropped = _HOP_BY_HOP | tokens(head.headers, b"connection")
    if values(head.headers, b"transfer-encoding"):
        dropped |= {b"content-length"}
    connection: list[Header] = []
    if upgraded:
        connection = [(b"Connection", b"Upgrade"), *((b"Upgrade", value) for value in values(head.headers, b"upgrade"))]
    elif head.status >= 200:
        connection = [(b"Connection", b"keep-alive" if keep_alive else b"close")]
    kept = [(name, value) for name, value in head.headers if name.lower() not in dropped]
    return _join(b"HTTP/1.1 %d %s" % (head.status, head.reason), [*kept, *connection])


NO_CONTENT = b"HTTP/1.1 204 No Content\r\nReplaywright-Keeper: refused\r\nConnection: close\r\n\r\n"
"""A response that leaves a browser on the page that it has."""


def error_page(status: int, reason: str, message: str, *, with_body: bool = True) -> bytes:
    """Return a complete small response of the proxy itself, after which the connection closes."""
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


@dataclass(slots=True)
class BodyScanner:
    """Finds the end of a body that is `length` bytes long, chunked (None), or until the connection ends (-1)."""

    length: int | None
    finished: bool = False
    _left: int = 0
    _line: bytes = b""
    _in: str = "size"

    def __post_init__(self) -> None:
        if self.length is not None:
            self._left = self.length
            self.finished = self.length == 0

    def scan(self, data: bytes) -> int:
        """Return how many of these bytes belong to the body.

        Raises:
            HttpError: the chunks are malformed.
        """
        if self.finished:
            return 0
        if self.length == -1:
            return len(data)
        if self.length is not None:
            return self._take(data, 0)
        position = 0
        while position < len(data) and not self.finished:
            position = self._take(data, position) if self._in == "data" else self._take_line(data, position)
        return position

    def _take(self, data: bytes, position: int) -> int:
        size = min(self._left, len(data) - position)
        self._left -= size
        if self._left == 0:
            self._in, self.finished = "data end", self.length is not None
        return position + size

    def _take_line(self, data: bytes, position: int) -> int:
        end = data.find(b"\n", position)
        end = len(data) if end < 0 else end + 1
        self._line += data[position:end]
        if len(self._line) > MAX_CHUNK_LINE_BYTES:
            raise HttpError(400, "a chunk line is too long")
        if self._line.endswith(b"\n"):
            self._line_complete(self._line)
            self._line = b""
        return end

    def _line_complete(self, line: bytes) -> None:
        match self._in:
            case "size":
                found = _CHUNK_SIZE.fullmatch(line)
                if found is None:
                    raise HttpError(400, "malformed chunk size")
                self._left = int(found[1], 16)
                self._in = "data" if self._left else "trailer"
            case "data end":
                if line != b"\r\n":
                    raise HttpError(400, "a chunk is longer than its size")
                self._in = "size"
            case _:
                self.finished = line in (b"\r\n", b"\n")


class _Parser:
    """What reading requests and responses has in common."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._scanner: BodyScanner | None = None
        self._at_eof = False

    @property
    def is_idle(self) -> bool:
        """Whether nothing of a message has been read yet."""
        return self._scanner is None and not self._buffer

    def receive(self, data: bytes) -> None:
        """Take in bytes as they came."""
        self._buffer += data

    def receive_eof(self) -> None:
        """Take in that no more bytes will come."""
        self._at_eof = True

    def take_rest(self) -> bytes:
        """Return the bytes behind the last event: they belong to another protocol."""
        rest = bytes(self._buffer)
        self._buffer.clear()
        return rest

    def _next_body(self, scanner: BodyScanner) -> Body | End | None:
        if scanner.finished:
            self._scanner = None
            return End()
        if self._buffer:
            data = bytes(self._buffer)
            size = scanner.scan(data)
            del self._buffer[:size]
            return Body(data[:size])
        if not self._at_eof:
            return None
        if scanner.length == -1:
            self._scanner = None
            return End()
        raise HttpError(502, "the connection ended in the middle of a message")

    def _take_head(self, *, lenient: bool) -> list[bytes] | None:
        """Return the lines of the next head, or None when it is not complete."""
        end, size = self._buffer.find(b"\r\n\r\n"), 4
        if lenient and (bare := self._buffer.find(b"\n\n")) >= 0 and (end < 0 or bare < end):
            end, size = bare, 2
        if (end if end >= 0 else len(self._buffer)) > MAX_HEAD_BYTES:
            raise HttpError(431, "the head is too large")
        if end < 0:
            if self._at_eof and self._buffer:
                raise HttpError(502, "the connection ended in the middle of a head")
            return None
        head = bytes(self._buffer[:end])
        del self._buffer[: end + size]
        return head.replace(b"\r\n", b"\n").split(b"\n") if lenient else head.split(b"\r\n")


class RequestParser(_Parser):
    """Reads the requests on one connection, one after the other."""

    def next_event(self) -> RequestHead | Body | End | None:
        """Return the next piece, or None when more bytes are needed.

        Raises:
            HttpError: this is not a request that can be understood in one way only.
        """
        if self._scanner is not None:
            return self._next_body(self._scanner)
        while self._buffer.startswith(b"\r\n"):  # RFC 9112, section 2.2: an empty line before a request is ignored
            del self._buffer[:2]
        lines = self._take_head(lenient=False)
        if lines is None:
            return None
        match = _REQUEST_LINE.fullmatch(lines[0])
        if match is None:
            raise HttpError(400, "malformed request line")
        head = RequestHead(
            method=match[1].decode("ascii"),
            target=match[2].decode("latin-1"),
            version=b"1." + match[3],
            headers=tuple(_strict_header(line) for line in lines[1:]),
        )
        self._scanner = BodyScanner(0 if head.method == "CONNECT" else _request_body_length(head))
        return head


def _strict_header(line: bytes) -> Header:
    name, separator, value = line.partition(b":")
    value = value.strip(b" \t")
    if not separator or _TOKEN.fullmatch(name) is None or _FORBIDDEN_IN_VALUE.search(value):
        raise HttpError(400, "malformed header")
    return name, value


def _request_body_length(head: RequestHead) -> int | None:
    lengths = values(head.headers, b"content-length")
    codings = values(head.headers, b"transfer-encoding")
    if codings:
        if lengths or head.version == b"1.0":
            raise HttpError(400, "both a length and a transfer coding")
        if [coding.lower() for coding in codings] != [b"chunked"]:
            raise HttpError(501, "unknown transfer coding")
        return None
    return _length(lengths, status=400)


def _length(lengths: list[bytes], *, status: int) -> int:
    distinct = {part.strip() for value in lengths for part in value.split(b",")}
    if not distinct:
        return 0
    (length, *others) = distinct
    if others or not re.fullmatch(rb"[0-9]{1,18}", length):
        raise HttpError(status, "malformed or contradicting content length")
    return int(length)


class ResponseParser(_Parser):
    """Reads the response to one request, with the interim responses before it."""

    def __init__(self, method: str) -> None:
        super().__init__()
        self._method = method

    def next_event(self) -> ResponseHead | Body | End | None:
        """Return the next piece, or None when more bytes are needed. An interim response (1xx) has no `End`.

        Raises:
            HttpError: this is not a response.
        """
        if self._scanner is not None:
            return self._next_body(self._scanner)
        lines = self._take_head(lenient=True)
        if lines is None:
            return None
        match = _STATUS_LINE.fullmatch(lines[0].rstrip(b"\r"))
        if match is None:
            raise HttpError(502, "the server's answer is not HTTP/1")
        status, headers = int(match[2]), tuple(_lenient_headers(lines[1:]))
        length = self._body_length(status, headers)
        if status >= 200:
            self._scanner = BodyScanner(length)
        return ResponseHead(status, match[3] or b"", b"1." + match[1], headers, length == -1)

    def _body_length(self, status: int, headers: tuple[Header, ...]) -> int | None:
        if self._method == "HEAD" or status < 200 or status in (204, 304):
            return 0
        codings = [coding.strip().lower() for v in values(headers, b"transfer-encoding") for coding in v.split(b",")]
        if codings:
            return None if codings[-1] == b"chunked" else -1
        lengths = values(headers, b"content-length")
        return _length(lengths, status=502) if lengths else -1


def _lenient_headers(lines: list[bytes]) -> Iterable[Header]:
    headers: list[Header] = []
    for line in lines:
        if line[:1] in (b" ", b"\t") and headers:
            headers[-1] = (headers[-1][0], headers[-1][1] + b" " + line.strip())
            continue
        name, separator, value = line.partition(b":")
        name = name.rstrip(b" \t")
        if separator and _TOKEN.fullmatch(name):
            headers.append((name, re.sub(_FORBIDDEN_IN_VALUE, b"", value.strip(b" \t"))))
    return headers
