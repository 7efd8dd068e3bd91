"""Responses as they are read: decoded, as text, and no longer than a limit."""

import re
from collections.abc import AsyncIterator
from typing import Final

import httpcore
import httpx

from replaywright.domain.requests.exchanges import BODY_LIMIT, SiteResponse

ENCODINGS: Final = "gzip, deflate"
"""Value of Accept-Encoding."""
_DECODED: Final = frozenset({"gzip", "deflate", "identity", ""})
_TEXT: Final = re.compile(
    r"|text/.*|.*[/+](json|xml)|application/(json-.*|.*javascript|ecmascript|x-www-form-urlencoded|x-ndjson|graphql.*)"
)
_AS_WINDOWS: Final = frozenset({"ascii", "us-ascii", "iso-8859-1", "iso8859-1", "latin-1", "latin1"})
"""Names of charsets that browsers read as windows-1252."""


async def read_answer(answer: httpcore.Response, url: str) -> tuple[SiteResponse, list[str]]:
    """Read a response to its end, or to the limit of its body; return it with the values of its headers Set-Cookie."""
    received = httpx.Response(answer.status, headers=answer.headers, stream=_Received(answer))
    headers = {name.lower(): value for name, value in received.headers.items()}
    headers.pop("set-cookie", None)
    head = SiteResponse(answer.status, url, headers)
    data = await _body(received)
    body = _text(data, received.charset_encoding) if _TEXT.fullmatch(head.media_type) else ""
    cookies = [value.decode("latin-1") for name, value in answer.headers if name.lower() == b"set-cookie"]
    return SiteResponse(answer.status, url, headers, body), cookies


async def _body(received: httpx.Response) -> bytes:
    """Return the decoded body; empty if it is over the limit, or coded in a way that was not asked for."""
    codings = {each.strip().lower() for each in received.headers.get("content-encoding", "").split(",")}
    data = bytearray()
    try:
        async for piece in received.aiter_bytes():
            data += piece
            if len(data) > BODY_LIMIT:
                return b""
    except httpx.DecodingError:
        return b""
    return bytes(data) if codings <= _DECODED else b""


def _text(data: bytes, charset: str | None) -> str:
    name = (charset or "utf-8").strip().lower()
    try:
        text = data.decode("windows-1252" if name in _AS_WINDOWS else name, "replace")
    except (LookupError, ValueError):  # a charset that nobody knows
        text = data.decode("utf-8", "replace")
    return text.removeprefix("\ufeff")


class _Received(httpx.AsyncByteStream):
    """The body of a response, as httpx reads it."""

    def __init__(self, answer: httpcore.Response) -> None:
        self._answer = answer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._answer.aiter_stream():
            yield piece
