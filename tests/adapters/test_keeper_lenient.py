"""Answers of sites that are no good HTTP, which Chromium shows all the same: the proxy passes them on."""

import pytest

from tests.adapters.test_keeper_proxy import Site, rig

LARGE = b"X-Large: " + b"x" * 100_000 + b"\r\n"
OK = b"HTTP/1.1 200 OK\r\n"
CHUNKS = b"\r\n2\r\nok\r\n0\r\n\r\n"
SHOWN = {
    "no reason": b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok",
    "a reason in UTF-8": b"HTTP/1.1 200 \xc3\x84hm\r\nContent-Length: 2\r\n\r\nok",
    "a control character in the reason": b"HTTP/1.1 200 O\x01K\r\nContent-Length: 2\r\n\r\nok",
    "lower case": b"http/1.1 200 ok\r\nContent-Length: 2\r\n\r\nok",
    "octets before the status line": b"\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    "two spaces": b"HTTP/1.1  200 OK\r\nContent-Length: 2\r\n\r\nok",
    "another version": b"HTTP/2 200\r\nContent-Length: 2\r\n\r\nok",
    "bare LF": b"HTTP/1.1 200 OK\nContent-Length: 2\n\nok",
    "mixed line ends": b"HTTP/1.1 200 OK\r\nX: y\nContent-Length: 2\r\n\nok",
    "a folded header": b"HTTP/1.1 200 OK\r\nX: y\r\n  z\r\nContent-Length: 2\r\n\r\nok",
    "a space before the colon": b"HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nok",
    "a line without a colon": b"HTTP/1.1 200 OK\r\nnonsense\r\nContent-Length: 2\r\n\r\nok",
    "a name that is no token": b"HTTP/1.1 200 OK\r\nX Y: z\r\n: z\r\nContent-Length: 2\r\n\r\nok",
    "octets that are no text": b"HTTP/1.1 200 OK\r\nX: \xff\x01\x7f\x0b\x00y\r\nContent-Length: 2\r\n\r\nok",
    "an empty value": b"HTTP/1.1 200 OK\r\nX:\r\nContent-Length: 2\r\n\r\nok",
    "large headers": b"HTTP/1.1 200 OK\r\n" + LARGE * 2 + b"Content-Length: 2\r\n\r\nok",
    "many headers": b"HTTP/1.1 200 OK\r\n" + b"Set-Cookie: a=b\r\n" * 500 + b"Content-Length: 2\r\n\r\nok",
    "equal lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok",
    "a length that is none": b"HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\nok",
    "more than the length says": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok, and more",
    "a length beside chunks": OK + b"Content-Length: 9\r\nTransfer-Encoding: chunked\r\n" + CHUNKS,
    "chunks in capitals": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    "another coding before chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: x, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    "two codings": OK + b"Transfer-Encoding: chunked\r\n" * 2 + CHUNKS,
    "a space behind a size": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2 \r\nok\r\n0\r\n\r\n",
    "an extension of a chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nok\r\n0\r\n\r\n",
    "a trailer": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX: y\r\n\r\n",
    "a coding that is unknown": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: x\r\n\r\nok",
    "chunks of HTTP/1.0": b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\nok",
    "no length": b"HTTP/1.1 200 OK\r\n\r\nok",
    "HTTP/1.0 without a length": b"HTTP/1.0 200 OK\r\n\r\nok",
    "hints before it": b"HTTP/1.1 103 Hints\r\nLink: x\r\n\r\nHTTP/1.1 100\r\n\r\n"
    + OK
    + b"Content-Length: 2\r\n\r\nok",
    "an unknown status": b"HTTP/1.1 999 No\r\nContent-Length: 2\r\n\r\nok",
    "a name of ours": b"HTTP/1.1 200 OK\r\nConnection: Content-Length\r\nContent-Length: 2\r\n\r\nok",
}
WITHOUT_END = {
    "a length that is not reached": b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok",
    "chunks without their end": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n",
}


def payload(answer: bytes) -> bytes:
    """The payload of a response as the proxy writes it."""
    head, _, rest = answer.rpartition(b"HTTP/1.1 ")[2].partition(b"\r\n\r\n")
    if b"transfer-encoding: chunked" not in head.lower():
        return rest
    size, _, rest = rest.partition(b"\r\n")
    return rest[: int(size, 16)] + rest[int(size, 16) + 2 :].removesuffix(b"0\r\n\r\n")


@pytest.mark.parametrize("answer", SHOWN.values(), ids=SHOWN)
async def test_an_answer_that_chromium_would_show_is_passed_on(answer: bytes) -> None:
    async with rig(Site(answer=answer)) as it:
        got = await it.ask(it.get())

    assert b"Replaywright-Keeper" not in got
    assert payload(got) == b"ok"


@pytest.mark.parametrize("answer", WITHOUT_END.values(), ids=WITHOUT_END)
async def test_of_an_answer_without_its_end_the_browser_gets_what_there_is_and_no_end(answer: bytes) -> None:
    async with rig(Site(answer=answer)) as it:
        got = await it.ask(it.get())

    assert b" 200 OK\r\n" in got
    assert b"ok" in got
    assert b"0\r\n\r\n" not in got


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok!",
        b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + LARGE * 3 + b"\r\nok",
    ],
    ids=["two lengths", "another protocol", "headers beyond Chromium's limit"],
)
async def test_an_answer_that_chromium_refuses_is_a_bad_gateway(answer: bytes) -> None:
    async with rig(Site(answer=answer)) as it:
        got = await it.ask(it.get())

    assert got.startswith(b"HTTP/1.1 502 ")
