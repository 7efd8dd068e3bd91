"""The proxy of `make bench-faults`: it breaks one exchange, once, and says when."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import httpx
import pytest

from bench.faults.__main__ import judged
from bench.faults.contenders import Said, Word
from bench.faults.site import FAULTS, Fault, FaultySite


@dataclass
class Upstream:
    """A site that counts what it accepts."""

    url: str = ""
    posts: list[bytes] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        size = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
        body = await reader.readexactly(size)
        if head.startswith(b"POST"):
            self.posts.append(body)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nSet-Cookie: a=1\r\nConnection: close\r\n\r\ndone")
        await writer.drain()
        writer.close()


@pytest.fixture
async def upstream() -> AsyncIterator[Upstream]:
    site = Upstream()
    server = await asyncio.start_server(site.serve, "127.0.0.1", 0)
    site.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    yield site
    server.close()


async def asked(url: str, method: str) -> str:
    """What comes of a request: the status, or the kind of error."""
    async with httpx.AsyncClient(trust_env=False) as client:
        try:
            answer = await client.request(method, f"{url}/compose", content=b"_to=ada" if method == "POST" else b"")
        except httpx.HTTPError as error:
            return type(error).__name__
        return str(answer.status_code)


@pytest.mark.parametrize(
    ("fault", "came", "accepted"),
    [
        (FAULTS[0], "200", 0),
        (FAULTS[1], "RemoteProtocolError", 1),
        (FAULTS[2], "200", 1),
        (FAULTS[3], "RemoteProtocolError", 1),
        (FAULTS[4], "502", 1),
        (FAULTS[5], "RemoteProtocolError", 1),
        (FAULTS[6], "503", 0),
    ],
    ids=lambda given: given.name if isinstance(given, Fault) else str(given),
)
async def test_the_planned_exchange_is_broken_once(upstream: Upstream, fault: Fault, came: str, accepted: int) -> None:
    method, other = ("GET", "POST") if fault.at == "composing" else ("POST", "GET")
    async with FaultySite(upstream.url) as site:
        site.plan(fault)
        if fault.at == "sending":
            assert await asked(site.url, other) == "200"
        assert not site.fired.is_set()
        asking = asyncio.create_task(asked(site.url, method))
        await asyncio.wait_for(site.fired.wait(), 10)
        site.release()

        assert await asking == came
        assert len(upstream.posts) == accepted
        assert await asked(site.url, method) == "200"


@pytest.mark.parametrize(
    ("word", "mails", "kind"),
    [
        ("done", 1, "right"),
        ("done", 0, "false_successes"),
        ("done", 2, "duplicates"),
        ("failed", 1, "sent_and_called_failed"),
        ("failed", 0, "not_sent_and_said"),
        ("killed", 2, "duplicates"),
        ("asks", 1, "asked"),
    ],
)
def test_a_run_is_judged_by_its_word_and_by_what_the_site_has(word: Word, mails: int, kind: str) -> None:
    assert judged(Said(word), mails) == kind
