"""A second request that hides behind the first, sent through the keeper's proxy to a site that reads as it likes.

The site keeps every byte, so it is judged by the most careless of readers: each `METHOD /path HTTP/1` in what one
connection brought counts as a request.
"""

import asyncio
import re
from urllib.parse import urlsplit

import pytest

from tests.adapters.test_keeper_proxy import Rig, Site, rig

HIDDEN = b"POST /hidden HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"
CHUNKED_HIDDEN = b"%x\r\n%s\r\n0\r\n\r\n" % (len(HIDDEN), HIDDEN)
ENDS_EARLY = b"0\r\n\r\n" + HIDDEN
_REQUEST = re.compile(rb"(?:^|\r\n\r\n|\n\n)([A-Z]+) (\S+) HTTP/1")

REFUSED = {
    "a length and a transfer coding": (b"POST", b"Content-Length: %d\r\nTransfer-Encoding: chunked\r\n", ENDS_EARLY),
    "a transfer coding and a length": (b"POST", b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", CHUNKED_HIDDEN),
    "a coding that is not the last": (b"POST", b"Transfer-Encoding: chunked, identity\r\n", ENDS_EARLY),
    "two codings": (b"POST", b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", ENDS_EARLY),
    "an unknown coding": (b"POST", b"Transfer-Encoding: xchunked\r\n", ENDS_EARLY),
    "a coding in quotes": (b"POST", b'Transfer-Encoding: "chunked"\r\n', ENDS_EARLY),
    "a coding behind a vertical tab": (b"POST", b"Transfer-Encoding: \x0bchunked\r\n", ENDS_EARLY),
    "a coding behind a control character": (b"POST", b"Transfer-Encoding: \x01chunked\r\n", ENDS_EARLY),
    "a coding in a folded line": (b"POST", b"Transfer-Encoding:\r\n chunked\r\n", ENDS_EARLY),
    "a coding behind a bare LF": (b"POST", b"X: y\nTransfer-Encoding: chunked\r\n", ENDS_EARLY),
    "a coding behind a bare CR": (b"POST", b"X: y\rTransfer-Encoding: chunked\r\n", ENDS_EARLY),
    "a space before the colon": (b"POST", b"Transfer-Encoding : chunked\r\n", ENDS_EARLY),
    "a tab before the colon": (b"POST", b"Content-Length\t: 4\r\n", HIDDEN),
    "a space before the name": (b"POST", b" Content-Length: 4\r\n", HIDDEN),
    "a name of more than a token": (b"POST", b"Content-Length\x00: 4\r\n", HIDDEN),
    "two lengths": (b"POST", b"Content-Length: 0\r\nContent-Length: %d\r\n", HIDDEN),
    "two lengths in one line": (b"POST", b"Content-Length: 0, %d\r\n", HIDDEN),
    "a length with a sign": (b"POST", b"Content-Length: +%d\r\n", HIDDEN),
    "a negative length": (b"POST", b"Content-Length: -1\r\n", HIDDEN),
    "a hexadecimal length": (b"POST", b"Content-Length: 0x10\r\n", HIDDEN),
    "no length": (b"POST", b"Content-Length:\r\n", HIDDEN),
    "two hosts": (b"POST", b"Host: y\r\nContent-Length: 0\r\n", b""),
    "a length and a coding named by Connection": (
        b"POST",
        b"Connection: content-length\r\nContent-Length: %d\r\nTransfer-Encoding: chunked\r\n",
        ENDS_EARLY,
    ),
    "a length for a tunnel": (b"CONNECT", b"Content-Length: %d\r\n", HIDDEN),
    "a coding for a tunnel": (b"CONNECT", b"Transfer-Encoding: chunked\r\n", CHUNKED_HIDDEN),
}
"""Method, headers, and what follows them; `%d` is the size of that."""

HELD = {
    "a length": (b"GET", b"Content-Length: %d\r\n", HIDDEN),
    "a length named by Connection": (b"GET", b"Connection: content-length\r\nContent-Length: %d\r\n", HIDDEN),
    "a length named by Connection in capitals": (
        b"HEAD",
        b"Connection: CONTENT-LENGTH\r\nContent-Length: %d\r\n",
        HIDDEN,
    ),
    "a coding": (b"GET", b"Transfer-Encoding: chunked\r\n", CHUNKED_HIDDEN),
    "a coding named by Connection": (
        b"OPTIONS",
        b"Connection: close, transfer-encoding\r\nTransfer-Encoding: chunked\r\n",
        CHUNKED_HIDDEN,
    ),
    "a coding named by Proxy-Connection": (
        b"GET",
        b"Proxy-Connection: transfer-encoding\r\nTransfer-Encoding: Chunked\r\n",
        CHUNKED_HIDDEN,
    ),
    "a length after an upgrade": (b"GET", b"Connection: upgrade\r\nUpgrade: h2c\r\nContent-Length: %d\r\n", HIDDEN),
}


def request(it: Rig, case: tuple[bytes, bytes, bytes]) -> bytes:
    method, headers, rest = case
    where = b"127.0.0.1:%d" % it.site.port
    target = where if method == b"CONNECT" else b"http://%s/seen" % where
    filled = headers % len(rest) if b"%d" in headers else headers
    return b"%s %s HTTP/1.1\r\nHost: %s\r\n%s\r\n%s" % (method, target, where, filled, rest)


def requests_seen(it: Rig) -> list[list[tuple[bytes, bytes]]]:
    """Requests that the most careless reader finds, for each connection."""
    return [_REQUEST.findall(bytes(got)) for got in it.site.got if got]


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
async def test_what_two_readers_understand_differently_reaches_no_site(case: tuple[bytes, bytes, bytes]) -> None:
    async with rig() as it:
        answer = await it.ask(request(it, case))

        assert answer.split(b" ")[1] in (b"400", b"501")
        assert it.site.got == []
        assert it.connections() == []


@pytest.mark.parametrize("case", HELD.values(), ids=HELD)
async def test_a_safe_method_with_a_body_is_held_and_its_body_stays_a_body(case: tuple[bytes, bytes, bytes]) -> None:
    async with rig(Site(closes=False)) as it:
        it.gate.arm("op", 1, 5000)
        reader, writer = await it.connect()
        writer.write(request(it, case))
        record = await it.gate.wait_held("op", 5)
        before = list(it.site.got)
        it.gate.permit("op")
        await it.site.until(lambda: bool(it.site.got) and bool(re.search(rb"\r\n\r\n$", it.site.got[0])))
        await reader.readuntil(b"\r\n\r\n")
        writer.close()

        assert [urlsplit(held.url).path for held in record.waiting] == ["/seen"]
        assert before == []
        (got,) = (bytes(got) for got in it.site.got)
        head, _, rest = got.partition(b"\r\n\r\n")
        framing = [line for line in head.lower().split(b"\r\n") if line.startswith((b"content-len", b"transfer-enc"))]
        assert framing in ([b"content-length: %d" % len(HIDDEN)], [b"transfer-encoding: chunked"])
        assert rest == (HIDDEN if b"content" in framing[0] else CHUNKED_HIDDEN)


@pytest.mark.parametrize("method", [b"GET", b"HEAD", b"OPTIONS"])
async def test_what_follows_a_request_without_a_body_is_a_request_of_its_own(method: bytes) -> None:
    async with rig() as it:
        it.gate.arm("op", 1, 5000)
        where = b"http://127.0.0.1:%d" % it.site.port
        asked = asyncio.create_task(it.ask(request(it, (method, b"", HIDDEN.replace(b"/hidden", where + b"/hidden")))))
        record = await it.gate.wait_held("op", 5)
        before = requests_seen(it)
        it.gate.cut("op")
        await asked

        assert [urlsplit(held.url).path for held in record.waiting] == ["/hidden"]
        assert before == [[(method, b"/seen")]]
        assert requests_seen(it) == before


async def test_a_site_is_told_the_host_of_the_address_whatever_the_request_calls_it() -> None:
    async with rig() as it:
        where = b"127.0.0.1:%d" % it.site.port
        await it.ask(b"GET http://%s/ HTTP/1.1\r\nHost: inside.example\r\nConnection: close, host\r\n\r\n" % where)

        assert re.findall(rb"(?i)host: (.*)\r\n", it.site.got[0]) == [where]


@pytest.mark.parametrize("target", [b"/", b"*", b"//inside.example/", b"http:/a/", b"http://u@a/", b"http://a\\b/"])
async def test_a_target_that_is_no_address_of_a_site_opens_nothing(target: bytes) -> None:
    async with rig() as it:
        answer = await it.ask(b"GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % (target, it.site.port))

        assert answer.startswith(b"HTTP/1.1 400 ")
        assert (it.connections(), it.guard.seen(float("-inf")).refused) == ([], ())


async def test_trailers_and_chunk_extensions_of_a_request_stay_behind() -> None:
    async with rig() as it:
        body = b"3;x=y\r\na=1\r\n0\r\nContent-Length: 9\r\n\r\n"
        headers = b"Transfer-Encoding: chunked\r\nTrailer: Content-Length\r\nConnection: close\r\n"
        await it.ask(request(it, (b"POST", headers, body)))

        assert it.site.got[0].endswith(b"\r\n\r\n3\r\na=1\r\n0\r\n\r\n")
        assert b"railer" not in it.site.got[0]
