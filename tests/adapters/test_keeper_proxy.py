"""The keeper's proxy and gate, spoken to by raw clients."""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replaywright.domain.session.network_policy import NetworkPolicy
from replaywright.keeper.gate.black_box import BlackBox, UpstreamConnection
from replaywright.keeper.gate.gate import Gate, RequestRefused
from replaywright.keeper.gate.guard import NetworkGuard
from replaywright.keeper.gate.http1 import (
    Body,
    BodyEnd,
    ForwardedRequest,
    HttpError,
    RequestHead,
    RequestParser,
    ResponseHead,
    ResponseParser,
    parse_authority,
    parse_target,
)
from replaywright.keeper.gate.proxy import ForwardProxy
from replaywright.keeper.host.own_processes import OwnPorts
from replaywright.reaching import Resolver, resolve
from replaywright.testing.grants import ON_LOOPBACK
from tests.adapters.networks import LOOPBACK, network

# ---- HTTP ----------------------------------------------------------------------------------------------------------

bodies = st.binary(max_size=300)
splits = st.lists(st.integers(min_value=0, max_value=2000), max_size=12)


@st.composite
def requests(draw: st.DrawFn) -> tuple[bytes, str, bytes]:
    """A request as sent, its target, its payload."""
    path = draw(st.text("abc/?=&", max_size=10))
    target = f"http://site.example/{path}"
    body = draw(bodies)
    match draw(st.sampled_from(["length", "chunked", "none"])):
        case "length":
            framing, encoded = b"Content-Length: %d\r\n" % len(body), body
        case "chunked":
            framing, encoded = b"Transfer-Encoding: chunked\r\n", draw(chunked(body))
        case _:
            framing = encoded = body = b""
    return b"POST %s HTTP/1.1\r\nHost: x\r\n%s\r\n%s" % (target.encode(), framing, encoded), target, body


@st.composite
def chunked(draw: st.DrawFn, body: bytes) -> bytes:
    encoded = b""
    while body:
        size = draw(st.integers(min_value=1, max_value=len(body)))
        extension = draw(st.sampled_from([b"", b";a=b", b';q="1"']))
        encoded += b"%x%s\r\n%s\r\n" % (size, extension, body[:size])
        body = body[size:]
    return encoded + b"0\r\n" + draw(st.sampled_from([b"", b"Checksum: 1\r\n"])) + b"\r\n"


def pieces(data: bytes, positions: Iterable[int]) -> list[bytes]:
    cuts = sorted({0, len(data), *(position % (len(data) + 1) for position in positions)})
    return [data[start:end] for start, end in itertools.pairwise(cuts)]


@given(st.lists(requests(), min_size=1, max_size=4), splits)
def test_pipelined_requests_come_apart_the_same_wherever_the_stream_is_split(
    sent: list[tuple[bytes, str, bytes]], positions: list[int]
) -> None:
    parser, targets, payloads, forwarded = RequestParser(), [], [], []
    request: ForwardedRequest | None = None

    for piece in pieces(b"".join(one for one, _, _ in sent), positions):
        parser.receive(piece)
        while (event := parser.next_event()) is not None:
            match event:
                case RequestHead():
                    targets.append(event.target)
                    request = ForwardedRequest(event, parse_target(event.target))
                    payloads.append(b"")
                    forwarded.append(request.head)
                case Body(data):
                    assert request is not None
                    payloads[-1] += data
                    forwarded[-1] += request.piece(event)
                case BodyEnd():
                    assert request is not None
                    forwarded[-1] += request.piece(event)
                    parser.answer(ResponseHead(204, b"", ()))
                    parser.answer(event)
                    assert parser.begin_next()

    assert targets == [target for _, target, _ in sent]
    assert payloads == [payload for _, _, payload in sent]
    assert parser.take_rest() == b""
    for one, (_, _, payload) in zip(forwarded, sent, strict=True):
        assert read_by_another(one) == payload


def read_by_another(request: bytes) -> bytes:
    """The payload of exactly one request, by a reader that knows nothing of ours."""
    head, _, rest = request.partition(b"\r\n\r\n")
    framing = [line.lower() for line in head.split(b"\r\n") if line.lower().startswith((b"content-l", b"transfer-"))]
    assert len(framing) <= 1
    if framing == [b"transfer-encoding: chunked"]:
        payload = b""
        while not rest.startswith(b"0\r\n\r\n"):
            size, _, rest = rest.partition(b"\r\n")
            payload, rest = payload + rest[: int(size, 16)], rest[int(size, 16) + 2 :]
        assert rest == b"0\r\n\r\n"
        return payload
    assert len(rest) == (int(framing[0].partition(b":")[2]) if framing else 0)
    return rest


@given(st.data(), bodies, splits)
def test_a_response_body_passes_unchanged_wherever_the_stream_is_split(
    data: st.DataObject, body: bytes, positions: list[int]
) -> None:
    kind = data.draw(st.sampled_from(["length", "chunked", "until close"]))
    header, encoded = {
        "length": (b"Content-Length: %d\r\n" % len(body), body),
        "chunked": (b"Transfer-Encoding: chunked\r\n", data.draw(chunked(body))),
        "until close": (b"", body),
    }[kind]
    parser, passed, ended = ResponseParser("GET"), b"", False

    for piece in pieces(b"HTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 200 OK\r\n" + header + b"\r\n" + encoded, positions):
        parser.receive(piece)
        while (event := parser.next_event()) is not None:
            ended = ended or isinstance(event, BodyEnd)
            passed += event.data if isinstance(event, Body) else b""
    if kind == "until close":
        parser.receive(b"")
        ended = isinstance(parser.next_event(), BodyEnd)

    assert passed == body
    assert ended


@given(st.binary(max_size=200), splits)
@settings(max_examples=300)
def test_junk_is_refused_as_an_http_error_and_nothing_else(junk: bytes, positions: list[int]) -> None:
    for parser in (RequestParser(), ResponseParser("GET")):
        with contextlib.suppress(HttpError):
            for piece in pieces(b"POST http://a/ HTTP/1.1\r\nHost: a\r\n" * (len(junk) % 2) + junk, positions):
                parser.receive(piece)
                while parser.next_event() is not None:
                    pass


@pytest.mark.parametrize(
    "head",
    [
        b"POST http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n",
        b"POST http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: +3\r\n\r\n",
        b"POST http://a/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        b"POST http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length : 3\r\n\r\n",
        b"POST http://a/ HTTP/1.1\r\nHost: a\r\nA: b\r\n folded\r\n\r\n",
        b"POST http://a/ HTTP/1.1\r\nHost: a\r\nA: b\nC: d\r\n\r\n",
        b"POST  http://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
        b"POST http://a/ HTTP/2.0\r\nHost: a\r\n\r\n",
    ],
)
def test_a_request_that_two_readers_could_understand_differently_is_refused(head: bytes) -> None:
    parser = RequestParser()
    parser.receive(head)

    with pytest.raises(HttpError):
        parser.next_event()


def test_connection_headers_stay_on_their_connection() -> None:
    parser = RequestParser()
    parser.receive(
        b"GET http://site.example:81/p?q#f HTTP/1.1\r\nHost: other\r\nProxy-Connection: keep-alive\r\n"
        b"Connection: X-Hop\r\nX-Hop: 1\r\nTE: trailers\r\nProxy-Authorization: s\r\nAccept: */*\r\n\r\n"
    )
    head = parser.next_event()
    assert isinstance(head, RequestHead)

    sent = ForwardedRequest(head, parse_target(head.target)).head

    expected = b"GET /p?q HTTP/1.1\r\nHost: site.example:81\r\nAccept: */*\r\nConnection: close\r\n\r\n"
    assert sent == expected


def test_a_length_beside_a_transfer_coding_does_not_reach_the_browser() -> None:
    browser, response = RequestParser(), ResponseParser("GET")
    browser.receive(b"GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n")
    browser.next_event()
    response.receive(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\nKeep-Alive: x\r\n\r\n")
    head = response.next_event()
    assert isinstance(head, ResponseHead)

    assert browser.answer(head) == b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("authority", ["a", "a:0", "a:65536", "u@a:1", "a:b", "a\\b:1", "[::1", "ä:1", "a b:1", ":1"])
def test_an_authority_that_no_browser_writes_is_refused(authority: str) -> None:
    with pytest.raises(HttpError):
        parse_authority(authority)


def test_an_ipv6_authority_loses_its_brackets_and_gets_them_back() -> None:
    target = parse_target("http://[::1]:8080/x?y")

    assert (target.host, target.port, target.authority, target.path_without_query) == ("::1", 8080, "[::1]:8080", "/x")


# ---- proxy ---------------------------------------------------------------------------------------------------------


@dataclass
class Site:
    """A server that keeps what it gets and answers as told."""

    answer: bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    on_head: bytes = b""
    """Sent as soon as the head is there; the answer waits for `waits_for`."""
    waits_for: bytes = b"\r\n\r\n"
    closes: bool = True
    got: list[bytearray] = field(default_factory=list)
    port: int = 0
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        got = bytearray()
        self.got.append(got)
        answered = hinted = False
        try:
            while data := await reader.read(65536):
                got += data
                async with self.changed:
                    self.changed.notify_all()
                if self.on_head and not hinted and b"\r\n\r\n" in got:
                    writer.write(self.on_head)
                    hinted = True
                if self.waits_for in got and not answered:
                    answered = True
                    writer.write(self.answer)
                    if self.closes:
                        break
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(5), self.changed:
            await self.changed.wait_for(condition)


@dataclass
class Rig:
    """A proxy and its parts."""

    site: Site
    black_box: BlackBox
    gate: Gate
    guard: NetworkGuard
    port: int
    lapsed: bool = False

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port)

    async def ask(self, data: bytes) -> bytes:
        """Send, and return all that comes back until the proxy closes."""
        reader, writer = await self.connect()
        writer.write(data)
        try:
            async with asyncio.timeout(5):
                return await reader.read()
        finally:
            writer.close()

    async def tunnel(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await self.connect()
        writer.write(b"CONNECT 127.0.0.1:%d HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" % self.site.port)
        assert b" 200 " in await reader.readuntil(b"\r\n\r\n")
        return reader, writer

    def get(self, path: str = "/", *, close: bool = True) -> bytes:
        connection = b"Connection: close\r\n" if close else b""
        return b"GET http://127.0.0.1:%d%s HTTP/1.1\r\nHost: x\r\n%s\r\n" % (self.site.port, path.encode(), connection)

    def post(self, body: bytes = b"a=1") -> bytes:
        start = b"POST http://127.0.0.1:%d/send?secret=1 HTTP/1.1\r\nHost: x\r\n" % self.site.port
        return start + b"Content-Length: %d\r\nConnection: close\r\n\r\n" % len(body) + body

    def connections(self) -> list[UpstreamConnection]:
        return self.black_box.since(float("-inf"))[0]


@contextlib.asynccontextmanager
async def rig(
    site: Site | None = None,
    *,
    policy: NetworkPolicy = LOOPBACK,
    resolver: Resolver = resolve,
    own_ports: OwnPorts | None = None,
) -> AsyncIterator[Rig]:
    site = site or Site()
    server = await asyncio.start_server(site.serve, "127.0.0.1", 0)
    site.port = server.sockets[0].getsockname()[1]
    black_box = BlackBox()
    made: list[Rig] = []
    gate = Gate(black_box, lease_lapsed=lambda: bool(made) and made[0].lapsed)
    guard = NetworkGuard(policy, black_box, own_ports)
    proxy = ForwardProxy(gate, black_box, guard=guard, resolver=resolver, connect_timeout_s=1)
    made.append(Rig(site, black_box, gate, guard, await proxy.start()))
    try:
        yield made[0]
    finally:
        gate.close()
        await proxy.close()
        server.close()


async def test_a_request_passes_and_the_black_box_remembers_it_without_its_query() -> None:
    async with rig() as it:
        answer = await it.ask(it.get("/page?token=1"))
        (connection,) = it.connections()

    assert answer.endswith(b"ok")
    assert it.site.got[0].startswith(b"GET /page?token=1 HTTP/1.1\r\nHost: 127.0.0.1:")
    assert (connection.method, connection.path, connection.status) == ("GET", "/page", 200)
    assert (connection.bytes_up, connection.bytes_down) == (len(it.site.got[0]), len(it.site.answer))
    assert connection.closed_s is not None


async def test_each_request_of_a_kept_connection_gets_an_upstream_connection_of_its_own() -> None:
    async with rig() as it:
        answer = await it.ask(it.get("/1", close=False) + it.get("/2", close=False) + it.get("/3"))

    assert answer.count(b"HTTP/1.1 200 OK") == 3
    assert [bytes(got.split(b" ")[1]) for got in it.site.got] == [b"/1", b"/2", b"/3"]


async def test_an_interim_response_lets_a_waiting_client_send_its_body() -> None:
    site = Site(on_head=b"HTTP/1.1 100 Continue\r\n\r\n", waits_for=b"late")
    async with rig(site) as it:
        reader, writer = await it.connect()
        writer.write(b"PUT http://localhost:%d/ HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n" % site.port)
        writer.write(b"Content-Length: 4\r\nConnection: close\r\n\r\n")
        interim = await reader.readuntil(b"\r\n\r\n")
        writer.write(b"late")
        answer = await reader.read()
        writer.close()

    assert interim == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert answer.endswith(b"ok")


async def test_another_protocol_is_spoken_in_tunnels_only() -> None:
    switch = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello"
    async with rig(Site(answer=switch, closes=False)) as it:
        asked = it.get("/ws", close=False)[:-2] + b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\nframe"
        answer = await it.ask(asked)

    assert answer.startswith(b"HTTP/1.1 502 ")
    assert b"pgrade" not in it.site.got[0]
    assert not it.site.got[0].endswith(b"frame")


async def test_a_site_that_closes_without_an_answer_is_a_bad_gateway() -> None:
    async with rig(Site(answer=b"")) as it:
        answer = await it.ask(it.get())

    assert answer.startswith(b"HTTP/1.1 502 ")


async def test_a_name_that_does_not_resolve_is_a_bad_gateway_and_a_mute_one_a_time_out() -> None:
    async def no_address(_host: str, _port: int) -> list[str]:
        raise OSError("no such name")

    async def mute(_host: str, _port: int) -> list[str]:
        await asyncio.Event().wait()
        return []

    async with rig(policy=network(*ON_LOOPBACK, "a.example"), resolver=no_address) as it:
        unknown = await it.ask(it.get())
        unknown_tunnel = await it.ask(b"CONNECT a.example:443 HTTP/1.1\r\nHost: x\r\n\r\n")
    async with rig(resolver=mute) as it:
        silent = await it.ask(it.get())

    assert unknown.startswith(b"HTTP/1.1 502 ")
    assert unknown_tunnel.startswith(b"HTTP/1.1 502 ")
    assert silent.startswith(b"HTTP/1.1 504 ")


async def test_a_name_is_resolved_once_and_the_address_is_judged_before_it_is_connected_to() -> None:
    asked: list[str] = []

    async def rebinding(host: str, _port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"]

    async with rig(policy=network("good.example:*"), resolver=rebinding) as it:
        answer = await it.ask(b"GET http://good.example:%d/ HTTP/1.1\r\nHost: x\r\n\r\n" % it.site.port)

    assert answer.startswith(b"HTTP/1.1 403 ")
    assert asked == ["good.example"]
    assert it.site.got == []


async def test_a_page_cannot_reach_the_keepers_own_ports() -> None:
    async with rig() as it:
        answer = await it.ask(b"GET http://localhost:%d/ HTTP/1.1\r\nHost: x\r\n\r\n" % it.port)
        tunnel = await it.ask(b"CONNECT [::ffff:127.0.0.1]:%d HTTP/1.1\r\nHost: x\r\n\r\n" % it.port)

    assert answer.startswith(b"HTTP/1.1 403 ")
    assert tunnel.startswith(b"HTTP/1.1 403 ")


async def test_a_request_that_is_not_for_a_proxy_is_refused() -> None:
    async with rig() as it:
        answers = [
            await it.ask(start + b" HTTP/1.1\r\nHost: x\r\n\r\n")
            for start in (b"GET /", b"GET https://a/", b"CONNECT a")
        ]

    assert [answer[:12] for answer in answers] == [b"HTTP/1.1 400"] * 3


# ---- gate ----------------------------------------------------------------------------------------------------------


async def test_an_armed_gate_lets_a_safe_request_pass_and_holds_an_unsafe_one_until_permit() -> None:
    async with rig() as it:
        it.gate.arm("op", 1, 5000)
        safe = await it.ask(it.get())
        posting = asyncio.create_task(it.ask(it.post()))
        held = await it.gate.wait_held("op", 5)
        seen_while_held = len(it.site.got)
        it.gate.permit("op")
        answer = await posting
        (record,) = it.gate.operations("op")

    assert safe.endswith(b"ok")
    assert held.bytes_up == 0
    assert [(one.method, urlsplit(one.url).path) for one in held.waiting] == [("POST", "/send")]
    assert seen_while_held == 1
    assert answer.endswith(b"ok")
    assert it.site.got[1].endswith(b"a=1")
    assert record.bytes_up == len(it.site.got[1])


async def test_a_cut_answers_503_and_the_gate_stays_closed_until_disarm() -> None:
    async with rig() as it:
        it.gate.arm("op", 1, 5000)
        posting = asyncio.create_task(it.ask(it.post()))
        await it.gate.wait_held("op", 5)
        it.gate.cut("op")
        answers = [
            await posting,
            await it.ask(it.post()),
            await it.ask(b"CONNECT 127.0.0.1:1 HTTP/1.1\r\nHost: x\r\n\r\n"),
        ]
        seen = len(it.site.got)
        it.gate.disarm("op")
        after = await it.ask(it.post())

    assert [answer[:12] for answer in answers] == [b"HTTP/1.1 503"] * 3
    assert seen == 0
    assert after.endswith(b"ok")


@pytest.mark.parametrize("header", ["Sec-Fetch-Mode: navigate", "Upgrade-Insecure-Requests: 1"])
async def test_a_navigation_that_is_cut_leads_nowhere_so_that_its_page_stays(header: str) -> None:
    async with rig() as it:
        it.gate.arm("op", 1, 5000)
        asked = it.post().replace(b"\r\n", b"\r\n%b\r\n" % header.encode(), 1)
        posting = asyncio.create_task(it.ask(asked))
        await it.gate.wait_held("op", 5)
        it.gate.cut("op")
        answer = await posting

    assert answer.startswith(b"HTTP/1.1 204 ")
    assert it.site.got == []


async def test_a_permit_that_comes_too_late_is_refused_and_nothing_leaves() -> None:
    async with rig() as it:
        it.gate.arm("op", 1, 1)
        posting = asyncio.create_task(it.ask(it.post()))
        while it.gate.operations("op")[0].phase == "armed":
            await asyncio.sleep(0)
            it.gate.check_deadlines()
        with pytest.raises(RequestRefused):
            it.gate.permit("op")
        answer = await posting
        (record,) = it.gate.operations("op")

    assert answer.startswith(b"HTTP/1.1 503 ")
    assert (record.reason, record.bytes_up, it.site.got) == ("late", 0, [])


async def test_bytes_in_a_tunnel_are_held_counted_and_let_go_in_order() -> None:
    async with rig(Site(waits_for=b"never")) as it:
        reader, writer = await it.tunnel()
        writer.write(b"before ")
        await it.site.until(lambda: it.site.got == [bytearray(b"before ")])
        it.gate.arm("op", 1, 5000)
        writer.write(b"held")
        held = await it.gate.wait_held("op", 5)
        before = bytes(it.site.got[0])
        it.gate.permit("op")
        await it.site.until(lambda: it.site.got[0].endswith(b"held"))
        record = it.gate.disarm("op")
        writer.close()
        del reader

    assert before == b"before "
    assert held.waiting[0].method == ""
    assert record.bytes_up == 4


async def test_a_cut_closes_the_tunnel_whose_bytes_were_held() -> None:
    async with rig(Site(waits_for=b"never")) as it:
        reader, writer = await it.tunnel()
        it.gate.arm("op", 1, 5000)
        writer.write(b"held")
        await it.gate.wait_held("op", 5)
        it.gate.cut("op")
        with contextlib.suppress(ConnectionError):
            assert await reader.read() == b""
        writer.close()
        record = it.gate.disarm("op")

    assert record.bytes_up == 0
    assert all(got == b"" for got in it.site.got)


async def test_a_held_request_that_the_browser_gives_up_is_never_sent() -> None:
    async with rig() as it:
        it.gate.arm("op", 1, 5000)
        _, writer = await it.connect()
        writer.write(it.post())
        await it.gate.wait_held("op", 5)
        writer.close()
        while held := it.gate.operations("op")[0].held:
            assert held
            await asyncio.sleep(0)
        it.gate.permit("op")
        record = it.gate.disarm("op")

    assert record.bytes_up == 0
    assert it.site.got == []


async def test_the_rest_of_a_body_that_began_before_the_arming_is_held() -> None:
    async with rig(Site(waits_for=b"rest")) as it:
        reader, writer = await it.connect()
        writer.write(it.post(b"part rest")[:-4])
        await it.site.until(lambda: bool(it.site.got) and it.site.got[0].endswith(b"part "))
        it.gate.arm("op", 1, 5000)
        writer.write(b"rest")
        await it.gate.wait_held("op", 5)
        before = bytes(it.site.got[0])
        it.gate.cut("op")
        answer = await reader.read()
        writer.close()

    assert before.endswith(b"part ")
    assert not it.site.got[0].endswith(b"rest")
    assert answer.startswith(b"HTTP/1.1 503 ")


async def test_without_a_lease_an_unsafe_request_is_refused_and_a_held_one_cut() -> None:
    async with rig() as it:
        it.gate.arm("op", 1, 5000)
        posting = asyncio.create_task(it.ask(it.post()))
        await it.gate.wait_held("op", 5)
        it.lapsed = True
        with pytest.raises(RequestRefused):
            it.gate.permit("op")
        answers = [
            await posting,
            await it.ask(it.post()),
            await it.ask(b"CONNECT 127.0.0.1:1 HTTP/1.1\r\nHost: x\r\n\r\n"),
        ]
        safe = await it.ask(it.get())

    assert [answer[:12] for answer in answers] == [b"HTTP/1.1 503"] * 3
    assert safe.endswith(b"ok")
    assert len(it.site.got) == 1


async def test_without_a_lease_nothing_unsafe_leaves_though_nothing_is_armed() -> None:
    async with rig() as it:
        it.lapsed = True
        answer = await it.ask(it.post())

    assert answer.startswith(b"HTTP/1.1 503 ")
    assert it.site.got == []


async def test_one_attempt_arms_once_and_one_operation_at_a_time() -> None:
    gate = Gate(BlackBox())
    gate.arm("op", 1, 5000)

    again = gate.arm("op", 1, 5000)
    with pytest.raises(RequestRefused, match="settle"):
        gate.arm("other", 1, 5000)
    gate.disarm("op")
    gate.arm("op", 1, 5000)
    gate.permit("op")
    gate.disarm("op")
    with pytest.raises(RequestRefused, match="one attempt"):
        gate.arm("op", 1, 5000)
    next_round = gate.arm("op", 2, 5000)

    assert (again.phase, next_round.phase) == ("armed", "armed")
    assert len(gate.operations("op")) == 2


async def test_held_bytes_are_not_let_go_by_a_disarm() -> None:
    async with rig() as it:
        it.gate.arm("op", 1, 5000)
        posting = asyncio.create_task(it.ask(it.post()))
        await it.gate.wait_held("op", 5)

        with pytest.raises(RequestRefused, match="permit or cut"):
            it.gate.disarm("op")

        it.gate.cut("op")
        await posting
    assert it.site.got == []


async def test_a_full_black_box_says_that_it_has_forgotten_and_keeps_its_totals() -> None:
    box = BlackBox(capacity=3)
    connections: list[UpstreamConnection] = []
    for _ in range(5):
        connection = box.open("http", method="GET", host="a", port=80, path="/", gated=False)
        box.count_up(connection, 10)
        box.close(connection)
        connections.append(connection)

    remembered, is_complete = box.since(connections[0].opened_s)
    recent, is_recent_complete = box.since(connections[2].opened_s)

    assert (len(remembered), is_complete) == (3, False)
    assert (len(recent), is_recent_complete) == (3, True)
    assert box.bytes_up == 50
