"""The parts of a request that may differ from run to run, by address; taken apart and put together again."""

import json
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qsl, quote, quote_plus, unquote, unquote_to_bytes, urlsplit

from pydantic import Field

from replaywright.domain.common.base import Record
from replaywright.domain.requests.exchanges import Request

Address: TypeAlias = tuple[str, ...]
"""`("path", "1")`, `("query", name, n)`, `("form", name, n)`, `("part", name, n)`, `("json", key, …)`,
`("body",)`, `("header", name)`, `("origin",)`, `("url",)`; `n` counts equal names from 0."""

WHOLE: Final[Address] = ("url",)
"""A whole address, in the place of its parts: that of a link, or of a form."""
FORM, MULTIPART, JSON = "application/x-www-form-urlencoded", "multipart/form-data", "application/json"
COMPUTED: Final = frozenset({"origin", "referer", "content-type"})
"""Headers that follow from the rest of a request, or from the page that it is sent by."""
_OF_BROWSER: Final = re.compile(
    r"accept(-.*)?|user-agent|sec-.*|upgrade-insecure-requests|cache-control|pragma|priority|dnt|connection|"
    r"if-none-match|if-modified-since|te|proxy-connection"
)
"""Headers that a browser sends of its own accord, whatever a page wants."""
_CONDITIONAL: Final = frozenset({"if-none-match", "if-modified-since"})
"""Headers of a browser's cache, which a replay has not."""
_ORIGIN: Final = re.compile(r"https?://(?:[\w.-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d{0,14})(?:\.\d{1,20})?")
"""A number that scripts and JSON write alike, without loss."""
_PATH_SAFE: Final = "!$&'()*+,;=:@-._~"
_DISPOSITION: Final = re.compile(r'\bname="((?:[^"\\]|\\.)*)"')


class Shape(Record):
    """The parts of a request that are the same in each sending."""

    method: str
    kind: str
    """Resource type: see `Exchange.kind`."""
    encoding: str = ""
    """Media type of the body; empty without one."""
    content_type: str = ""
    """The header as it was, without the boundary of a multipart body."""
    headers: dict[str, str] = Field(default_factory=dict)
    """Headers of the browser's own."""
    has_origin: bool = False
    has_referer: bool = False
    skeleton: Any = None
    """Of a JSON body: its value, with None in the place of each leaf that is a slot."""
    kinds: dict[str, str] = Field(default_factory=dict)
    """Of a JSON body: the type of each leaf that is no text (`number`, `boolean`, `null`), by its address as JSON."""
    query: tuple[str, ...] = ()
    """Names of the query in their order."""
    bare: tuple[int, ...] = ()
    """Positions in the query of names without `=`."""
    fields: tuple[str, ...] = ()
    """Names of a form's fields in their order."""

    @property
    def is_form(self) -> bool:
        """True if a browser writes the line breaks of its values as CR LF: a form that a page submits."""
        return self.kind == "document" and self.encoding in (FORM, MULTIPART)


def taken_apart(request: Request, kind: str) -> tuple[Shape, dict[Address, str]]:
    """Return the shape of a request, and its slots as texts.

    Raises:
        ValueError: its body is not what its content type says.
    """
    parts = urlsplit(request.url)
    slots: dict[Address, str] = {("origin",): f"{parts.scheme}://{parts.netloc}"}
    slots |= {("path", str(index)): unquote(segment) for index, segment in enumerate(parts.path.split("/")[1:])}
    query = parse_qsl(parts.query, keep_blank_values=True)
    slots |= dict(_numbered("query", query))
    shape: dict[str, Any] = {"query": tuple(name for name, _ in query)}
    pieces = [piece for piece in parts.query.split("&") if piece]
    shape["bare"] = tuple(index for index, piece in enumerate(pieces) if "=" not in piece)
    encoding = _encoding(request)
    match encoding:
        case "":
            pass
        case "application/x-www-form-urlencoded":
            fields = parse_qsl(request.body, keep_blank_values=True)
            slots |= dict(_numbered("form", fields))
            shape["fields"] = tuple(name for name, _ in fields)
        case "multipart/form-data":
            fields = _multipart(request.body)
            slots |= dict(_numbered("part", fields))
            shape["fields"] = tuple(name for name, _ in fields)
        case "application/json":
            shape["skeleton"], shape["kinds"] = _json(json.loads(request.body), slots)
        case _:
            slots[("body",)] = request.body
    own = {name: value for name, value in request.headers.items() if _OF_BROWSER.fullmatch(name)}
    for name, value in request.headers.items():
        if name not in own and name not in COMPUTED:
            slots[("header", name)] = value
    if kind == "document" and encoding in (FORM, MULTIPART):  # a form that a page submits: see `Shape.is_form`
        slots = {at: re.sub(r"\r\n?", "\n", text) if at[0] in ("form", "part") else text for at, text in slots.items()}
    return Shape(
        method=request.method,
        kind=kind,
        encoding=encoding,
        content_type=re.sub(r";\s*boundary=[^;]*", "", request.headers.get("content-type", "")),
        headers={name: value for name, value in own.items() if name not in _CONDITIONAL},
        has_origin="origin" in request.headers,
        has_referer="referer" in request.headers,
        **shape,
    ), slots


def put_together(shape: Shape, slots: Mapping[Address, str], page: str) -> Request:
    """Return the request of this shape with these texts in its slots; `page` is the address of what sends it.

    Raises:
        ValueError: a text is none that the slot can hold, such as a word for a number.
    """
    url = slots[WHOLE] if WHOLE in slots else f"{slots[('origin',)]}{path_in(slots)}"
    parts = urlsplit(url)
    origin = f"{parts.scheme}://{parts.netloc}"
    if not _ORIGIN.fullmatch(origin) or origin != slots.get(("origin",), origin):
        raise ValueError("its address has no valid host")
    if shape.query and WHOLE not in slots:
        url += "?" + _encoded(_pairs("query", shape.query, slots), shape.bare)
    headers = {**shape.headers, **{address[1]: text for address, text in slots.items() if address[0] == "header"}}
    if any(re.search(r"[\x00-\x1f\x7f]", value) for value in headers.values()):
        raise ValueError("a header of it has control characters")
    if shape.content_type:
        headers["content-type"] = shape.content_type
    body = ""
    match shape.encoding:
        case "":
            pass
        case "application/x-www-form-urlencoded":
            body = _encoded([(name, _crlf(shape, text)) for name, text in _pairs("form", shape.fields, slots)])
        case "multipart/form-data":
            boundary = f"----{uuid.uuid4().hex}"
            body = _as_multipart(
                [(name, _crlf(shape, text)) for name, text in _pairs("part", shape.fields, slots)], boundary
            )
            headers["content-type"] = f"{MULTIPART}; boundary={boundary}"
        case "application/json":
            body = json.dumps(
                _filled(shape.skeleton, (), shape.kinds, slots), ensure_ascii=False, separators=(",", ":")
            )
        case _:
            body = slots[("body",)]
    if shape.has_referer and page:
        headers["referer"] = _referer(page, url)
    if shape.has_origin:
        parts = urlsplit(page or url)
        headers["origin"] = f"{parts.scheme}://{parts.netloc}"
    return Request(shape.method, url, headers, body)


def path_in(slots: Mapping[Address, str]) -> str:
    """Return the path of an address by its segments."""
    return "/" + "/".join(_segment(slots[address]) for address in _ordered(slots, "path"))


def _numbered(kind: str, pairs: Sequence[tuple[str, str]]) -> Iterator[tuple[Address, str]]:
    seen: dict[str, int] = {}
    for name, text in pairs:
        number = seen.get(name, 0)
        seen[name] = number + 1
        yield (kind, name, str(number)), text


def _pairs(kind: str, names: Sequence[str], slots: Mapping[Address, str]) -> list[tuple[str, str]]:
    return [(address[1], slots[address]) for address, _ in _numbered(kind, [(name, "") for name in names])]


def _ordered(slots: Mapping[Address, str], kind: str) -> list[Address]:
    return sorted((address for address in slots if address[0] == kind), key=lambda address: int(address[1]))


def _encoded(pairs: Sequence[tuple[str, str]], bare: Sequence[int] = ()) -> str:
    def written(index: int, name: str, text: str) -> str:
        return quote_plus(name) if index in bare and not text else f"{quote_plus(name)}={quote_plus(text)}"

    return "&".join(written(index, *pair) for index, pair in enumerate(pairs))


def _segment(text: str) -> str:
    if text in (".", ".."):  # however it is escaped, it leads to another path
        raise ValueError("a part of its path is a dot")
    return quote(text, safe=_PATH_SAFE)


def _encoding(request: Request) -> str:
    """Return how the body is written; JSON also where its type does not say so, as nothing escapes values in texts."""
    body, encoding = request.body, request.content_type
    if not body:
        return ""
    if encoding.endswith("+json"):
        return JSON
    if encoding in ("", "text/plain") and body[:1] in ("{", "["):
        try:
            json.loads(body)
        except ValueError:
            return encoding or "text/plain"
        return JSON
    return encoding or "text/plain"


def says_the_same(one: Request, other: Request) -> bool:
    """Tell if two requests of one encoding say the same to their site, but for what is computed."""
    return _spelled(one) == _spelled(other)


def _spelled(request: Request) -> object:
    parts = urlsplit(request.url)
    encoding = _encoding(request)
    body: object = request.body
    if encoding == JSON:
        body = json.loads(request.body, object_pairs_hook=lambda pairs: ("mapping", tuple(pairs)))
    elif encoding == FORM:
        body = _pieces(request.body)
    elif encoding == MULTIPART:
        body = _multipart(request.body)
    path = [unquote_to_bytes(segment) for segment in (parts.path or "/").split("/")]
    return request.method, parts.scheme, parts.netloc.lower(), path, _pieces(parts.query), body


def _pieces(text: str) -> list[list[bytes]]:
    pieces = (piece.replace("+", " ").split("=", 1) for piece in text.split("&") if piece)
    return [[unquote_to_bytes(part) for part in piece] for piece in pieces]


def _crlf(shape: Shape, text: str) -> str:
    return re.sub(r"\r\n|\r|\n", "\r\n", text) if shape.is_form else text


def _referer(page: str, url: str) -> str:
    """Return what a browser says by default (`strict-origin-when-cross-origin`) of the page that sends a request."""
    one, other = urlsplit(page), urlsplit(url)
    if (one.scheme, one.netloc) == (other.scheme, other.netloc):
        return page.partition("#")[0]
    return f"{one.scheme}://{one.netloc}/"


def _multipart(body: str) -> list[tuple[str, str]]:
    """Return the fields of a multipart body without files.

    Raises:
        ValueError: it is none.
    """
    first, _, _ = body.partition("\r\n")
    if not first.startswith("--"):
        raise ValueError("its multipart body cannot be read")
    fields = []
    for part in body.split(first)[1:-1]:
        head, separator, text = part.removeprefix("\r\n").partition("\r\n\r\n")
        named = _DISPOSITION.search(head)
        if not separator or named is None or "filename" in head:
            raise ValueError("its multipart body has a file")
        fields.append((named[1], text.removesuffix("\r\n")))
    return fields


def _as_multipart(fields: Sequence[tuple[str, str]], boundary: str) -> str:
    lines = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{text}\r\n' for name, text in fields
    ]
    return f"{''.join(lines)}--{boundary}--\r\n"


def _json(value: Any, slots: dict[Address, str], at: Address = ()) -> tuple[Any, dict[str, str]]:
    """Put the leaves of `value` into `slots`; return its skeleton, and the types of the leaves that are no texts."""
    kinds: dict[str, str] = {}
    if isinstance(value, dict | list):
        inner: list[tuple[str, Any]] = []
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            skeleton, more = _json(item, slots, (*at, str(key)))
            inner.append((str(key), skeleton))
            kinds |= more
        return (dict(inner) if isinstance(value, dict) else [each for _, each in inner]), kinds
    slots[("json", *at)] = value if isinstance(value, str) else json.dumps(value)
    if not isinstance(value, str):
        kind = "null" if value is None else "boolean" if isinstance(value, bool) else "number"
        kinds[json.dumps(at)] = kind
    return None, kinds


def _filled(skeleton: Any, at: Address, kinds: Mapping[str, str], slots: Mapping[Address, str]) -> Any:
    if isinstance(skeleton, dict):
        return {key: _filled(value, (*at, key), kinds, slots) for key, value in skeleton.items()}
    if isinstance(skeleton, list):
        return [_filled(value, (*at, str(index)), kinds, slots) for index, value in enumerate(skeleton)]
    text, kind = slots[("json", *at)], kinds.get(json.dumps(at))
    if kind is None:
        return text
    if kind == "number" and not _NUMBER.fullmatch(text):
        raise ValueError(f"{'.'.join(at)} takes a number as JSON writes it")
    value = json.loads(text)
    found = "null" if value is None else "boolean" if isinstance(value, bool) else "number"
    if found != kind or isinstance(value, str | dict | list):
        raise ValueError(f"{'.'.join(at)} takes a {kind}")
    return value
