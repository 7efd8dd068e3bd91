"""Requests to sites without a browser: real servers on loopback, plain and over TLS."""

import asyncio
import contextlib
import gzip
import logging
import socket
import ssl
import zlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from replaywright.domain.requests.exchanges import BODY_LIMIT, Request
from replaywright.domain.session.network_policy import HostRule, NetworkPolicy, OwnService, covers
from replaywright.errors import Fenced, PolicyBlocked, RequestInDoubt, RequestNotSent
from replaywright.http.client import HttpSiteClients
from replaywright.http.cookies import SiteCookies
from replaywright.keeper.host.routes import not_direct
from replaywright.keeper.protocol import SiteCertificate, UpstreamRoute
from replaywright.ports.http import SiteClient, SiteClients
from replaywright.reaching import Resolver, resolve
from tests.adapters.networks import LOOPBACK, network
from tests.adapters.test_tls import Authority

CLOSE = b""
"""An answer: the connection is closed instead."""


def answer(body: bytes = b"ok", *headers: str, status: int = 200) -> bytes:
    lines = [f"HTTP/1.1 {status} Any", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def moved(status: int, location: str, *headers: str) -> bytes:
    return answer(b"", f"Location: {location}", *headers, status=status)


@dataclass
class Arrived:
    """A request as the site saw it."""

    method: str
    target: str
    headers: dict[str, str]
    body: str
    connection: int


@dataclass
class SmallSite:
    """Answers each path as told, and notes what came."""

    answers: dict[str, bytes | Callable[[Arrived], bytes]] = field(default_factory=dict)
    arrived: list[Arrived] = field(default_factory=list)
    connections: int = 0
    port: int = 0
    scheme: str = "http"
    closes_after: bool = False
    """Close each connection after an answer that says nothing of it."""

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"{self.scheme}://{host}:{self.port}{path}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        connection = self.connections
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                method, target, _ = head[0].split(" ")
                headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:-2])}
                body = await reader.readexactly(int(headers.get("content-length", "0")))
                came = Arrived(method, target, headers, body.decode(), connection)
                self.arrived.append(came)
                told = self.answers.get(target, answer())
                data = told(came) if callable(told) else told
                if data == CLOSE:
                    break
                writer.write(data)
                await writer.drain()
                if self.closes_after:
                    break
        writer.close()

    @property
    def lines(self) -> list[str]:
        return [f"{each.method} {each.target}" for each in self.arrived]


@contextlib.asynccontextmanager
async def serving(site: SmallSite, tls: ssl.SSLContext | None = None) -> AsyncIterator[SmallSite]:
    server = await asyncio.start_server(site.serve, "127.0.0.1", 0, ssl=tls)
    site.port = server.sockets[0].getsockname()[1]
    site.scheme = "http" if tls is None else "https"
    try:
        yield site
    finally:
        server.close()


@pytest.fixture
async def site() -> AsyncIterator[SmallSite]:
    async with serving(SmallSite()) as it:
        yield it


@pytest.fixture
async def client() -> AsyncIterator[SiteClient]:
    clients: SiteClients = HttpSiteClients()
    async with clients.open(LOOPBACK) as it:
        yield it


def to(*addresses: str) -> Resolver:
    """Return a name server that gives every name these addresses."""

    async def resolver(host: str, port: int) -> list[str]:
        return list(addresses) if host.endswith(".example") else await resolve(host, port)

    return resolver


def post(url: str, body: str = "a=1", **headers: str) -> Request:
    return Request("POST", url, {"content-type": "application/x-www-form-urlencoded", **headers}, body)


def get(url: str, **headers: str) -> Request:
    return Request("GET", url, headers)


# ------------------------------------------------------------------------------------------------- requests


async def test_a_request_goes_out_as_it_is_with_nothing_of_a_library(client: SiteClient, site: SmallSite) -> None:
    given = {
        "x-csrf": "t",
        "origin": site.url().rstrip("/"),
        "connection": "close",
        "accept-encoding": "br",
        ":path": "/",
    }
    site.answers["/do?x=%C3%A4%20b"] = answer(b"<p>done", "Content-Type: text/html", "X-A: 1", "X-A: 2")

    response = await client.send(Request("POST", site.url("/do?x=ä b"), given, "ü"))

    assert (response.status, response.body, response.url) == (200, "<p>done", site.url("/do?x=ä b"))
    assert response.headers == {"content-length": "7", "content-type": "text/html", "x-a": "1, 2"}
    (came,) = site.arrived
    assert (came.method, came.body) == ("POST", "ü")
    assert came.headers == {
        "host": f"127.0.0.1:{site.port}",
        "x-csrf": "t",
        "origin": f"http://127.0.0.1:{site.port}",
        "accept-encoding": "gzip, deflate",
        "content-length": "2",
    }


async def test_requests_that_may_be_repeated_share_a_connection_and_others_have_their_own(
    client: SiteClient, site: SmallSite
) -> None:
    async def permit() -> None:
        pass

    await client.send(get(site.url("/1")))
    await client.send(get(site.url("/2")))
    await client.send(post(site.url("/3")))
    await client.send(get(site.url("/4")))
    await client.send(get(site.url("/5")), before_send=permit)

    assert [each.connection for each in site.arrived] == [1, 1, 2, 2, 3]


async def test_a_connection_that_died_while_it_was_kept_is_replaced(client: SiteClient, site: SmallSite) -> None:
    site.closes_after = True
    await client.send(get(site.url("/1")))

    assert (await client.send(get(site.url("/2")))).status == 200
    assert site.lines == ["GET /1", "GET /2"]


async def test_a_get_on_a_connection_that_dies_unanswered_is_sent_once_more(
    client: SiteClient, site: SmallSite
) -> None:
    site.answers["/2"] = lambda came: CLOSE if came.connection == 1 else answer(b"new", "Content-Type: text/plain")
    await client.send(get(site.url("/1")))

    assert (await client.send(get(site.url("/2")))).body == "new"
    assert [each.connection for each in site.arrived] == [1, 1, 2]


async def test_a_get_that_dies_on_a_new_connection_too_is_in_doubt(client: SiteClient, site: SmallSite) -> None:
    site.answers["/2"] = CLOSE
    await client.send(get(site.url("/1")))

    with pytest.raises(RequestInDoubt, match="closed the connection without an answer"):
        await client.send(get(site.url("/2")))
    assert site.lines == ["GET /1", "GET /2", "GET /2"]


# -------------------------------------------------------------------------------------------- permit and doubt


async def test_the_permit_is_asked_when_a_connection_stands_and_before_anything_leaves(
    client: SiteClient, site: SmallSite
) -> None:
    seen: list[tuple[int, int]] = []

    async def permit() -> None:
        seen.append((site.connections, len(site.arrived)))

    site.answers["/do"] = moved(307, "/done")
    await client.send(get(site.url("/before")))
    await client.send(post(site.url("/do")), before_send=permit)

    assert len(seen) == 1
    assert seen[0][1] == 1
    assert site.lines == ["GET /before", "POST /do", "POST /done"]


@pytest.mark.parametrize("error", [Fenced("a newer attempt"), TimeoutError("the ledger"), OSError("the ledger")])
async def test_nothing_is_sent_without_the_permit(client: SiteClient, site: SmallSite, error: Exception) -> None:
    async def permit() -> None:
        raise error

    with pytest.raises(type(error)) as raised:
        await client.send(post(site.url("/do")), before_send=permit)
    await client.send(get(site.url("/after")))

    assert raised.value is error
    assert site.lines == ["GET /after"]
    assert client.bytes_up < 200


async def test_no_permit_is_asked_without_a_connection(client: SiteClient) -> None:
    asked: list[bool] = []

    async def permit() -> None:
        asked.append(True)

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(RequestNotSent, match="nothing listens there"):
            await client.send(post(f"http://127.0.0.1:{taken.getsockname()[1]}/"), before_send=permit)
    assert asked == []


@pytest.mark.parametrize(
    "told",
    [CLOSE, b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", b"HTTP/1.1 200 OK\r\nContent-Le", b"hello\r\n\r\n"],
)
async def test_a_post_without_a_whole_answer_is_in_doubt_and_never_repeated(
    client: SiteClient, site: SmallSite, told: bytes
) -> None:
    site.answers["/do"] = told
    site.closes_after = True

    with pytest.raises(RequestInDoubt) as raised:
        await client.send(post(site.url("/do", host="127.0.0.1"), body="secret-body"))
    assert site.lines == ["POST /do"]
    assert "secret" not in repr(raised.value)
    assert "hello" not in str(raised.value)


async def test_an_answer_that_does_not_end_in_time_leaves_the_request_in_doubt(site: SmallSite) -> None:
    site.answers["/do"] = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"

    async with HttpSiteClients().open(LOOPBACK, timeout_s=0.2) as client:
        with pytest.raises(RequestInDoubt, match=r"within 0\.2 seconds"):
            await client.send(post(site.url("/do")))


async def test_a_permit_that_takes_too_long_leaves_nothing_sent(site: SmallSite) -> None:
    async def permit() -> None:
        await asyncio.Event().wait()

    async with HttpSiteClients().open(LOOPBACK, timeout_s=0.2) as client:
        with pytest.raises(RequestNotSent, match=r"within 0\.2 seconds"):
            await client.send(post(site.url("/do")), before_send=permit)
    assert site.arrived == []


@pytest.mark.parametrize(
    "request_", [get("http://user:pw@127.0.0.1/"), get("ftp://127.0.0.1/"), get("http://127.0.0.1/", x="secret\n")]
)
async def test_what_is_no_request_is_not_sent_and_not_told(
    client: SiteClient, site: SmallSite, request_: Request
) -> None:
    url = request_.url.replace("127.0.0.1/", f"127.0.0.1:{site.port}/")

    with pytest.raises(RequestNotSent) as raised:
        await client.send(Request("GET", url, request_.headers))
    assert "pw" not in str(raised.value)
    assert "secret" not in str(raised.value)
    assert site.arrived == []


async def test_a_cancelled_request_breaks_off_and_the_client_goes_on(client: SiteClient, site: SmallSite) -> None:
    arrived = asyncio.Event()

    def begin(_: Arrived) -> bytes:
        arrived.set()
        return b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"

    site.answers["/do"] = begin
    sending = asyncio.create_task(client.send(post(site.url("/do"))))
    await arrived.wait()

    sending.cancel()

    with pytest.raises(asyncio.CancelledError):
        await sending
    assert (await client.send(get(site.url("/after")))).status == 200


async def test_requests_at_the_same_time_do_not_share_a_connection(client: SiteClient, site: SmallSite) -> None:
    await client.send(get(site.url("/0")))

    answers = await asyncio.gather(*(client.send(get(site.url(f"/{number}"))) for number in range(5)))

    assert [each.url for each in answers] == [site.url(f"/{number}") for number in range(5)]
    assert {each.connection for each in site.arrived} == {1, 2, 3, 4, 5}


# ----------------------------------------------------------------------------------------------------- policy


async def test_a_host_that_the_policy_does_not_allow_is_never_resolved(site: SmallSite) -> None:
    asked: list[str] = []

    async def resolver(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"]

    async with HttpSiteClients(resolver=resolver).open(network("shop.example:*")) as client:
        with pytest.raises(
            PolicyBlocked, match=r"^evil\.example:80 is blocked by the rule test: hosts\.allow"
        ) as raised:
            await client.send(post("http://evil.example/"))
    assert (raised.value.rule, raised.value.dispatched) == ("test: hosts.allow", False)
    assert asked == []


@pytest.mark.parametrize(
    "addresses", [("127.0.0.1",), ("93.184.216.34", "127.0.0.1"), ("::ffff:127.0.0.1",), ("169.254.169.254",)]
)
async def test_a_name_that_leads_to_an_address_that_was_not_granted_is_refused(
    site: SmallSite, addresses: tuple[str, ...]
) -> None:
    async with HttpSiteClients(resolver=to(*addresses)).open(network("shop.example:*")) as client:
        with pytest.raises(PolicyBlocked) as raised:
            await client.send(post(site.url(host="shop.example")))
    assert (raised.value.rule, raised.value.dispatched) == ("addresses", False)
    assert site.connections == 0


@pytest.mark.parametrize("host", ["shop.localhost", "localhost", "127.0.0.1", "[::1]", "0.0.0.0"])
async def test_this_machine_is_refused_unless_it_is_granted(site: SmallSite, host: str) -> None:
    async with HttpSiteClients().open(network("*:*")) as client:
        with pytest.raises(PolicyBlocked, match="an address of this machine; allow it: replaywright admin hosts allow"):
            await client.send(get(site.url(host=host)))
    assert site.connections == 0


async def test_a_granted_name_is_connected_to_at_the_address_that_was_judged(site: SmallSite) -> None:
    told = iter([["127.0.0.1"], ["127.0.0.2"]])

    async def resolver(host: str, port: int) -> list[str]:
        return next(told)

    async with HttpSiteClients(resolver=resolver).open(network("shop.example:*=127.0.0.1")) as client:
        assert (await client.send(get(site.url(host="shop.example")))).status == 200
        with pytest.raises(PolicyBlocked, match=r"leads to 127\.0\.0\.2"):
            await client.send(post(site.url(host="shop.example")))
    assert site.arrived[0].headers["host"] == f"shop.example:{site.port}"


async def test_the_next_address_of_a_name_is_tried(site: SmallSite) -> None:
    policy = network("shop.example:*=127.0.0.0/8")
    async with HttpSiteClients(resolver=to("127.0.0.9", "127.0.0.1")).open(policy) as client:
        assert (await client.send(post(site.url(host="shop.example")))).status == 200


@pytest.mark.parametrize("is_listed", [True, False])
async def test_servers_of_ours_are_refused_at_every_address_of_this_machine(site: SmallSite, is_listed: bool) -> None:
    own = (OwnService(name="Redis", host="redis.example", port=site.port),) if is_listed else ()
    policy = network("127.0.0.0/8:*").model_copy(update={"own": own})

    async with HttpSiteClients(
        has_own_port=lambda port: port == site.port and not is_listed, resolver=to("127.0.0.1")
    ).open(policy) as client:
        with pytest.raises(PolicyBlocked, match="which no page may reach") as raised:
            await client.send(post(site.url(host="127.0.0.2")))
    assert raised.value.rule == "own-service"
    assert site.connections == 0


async def test_an_unknown_name_is_not_sent_to() -> None:
    async def resolver(host: str, port: int) -> list[str]:
        raise socket.gaierror(socket.EAI_NONAME, "unknown")

    async with HttpSiteClients(resolver=resolver).open(network("shop.example")) as client:
        with pytest.raises(RequestNotSent, match=r"shop\.example:443: its name is not known to the name server"):
            await client.send(post("https://shop.example/"))


@pytest.mark.parametrize(
    ("rule", "is_sent"),
    [
        (HostRule(text="*", kind="any", ports="all"), False),
        (HostRule(text=".example", kind="subdomains", host="example", ports="all"), False),
        (HostRule(text="127.0.0.0/8", kind="network", host="127.0.0.0/8", ports="all"), True),
    ],
)
async def test_hosts_behind_the_operators_proxies_are_not_sent_to(
    site: SmallSite, rule: HostRule, is_sent: bool
) -> None:
    clients = HttpSiteClients(not_direct=(rule,), resolver=to("127.0.0.1"))
    async with clients.open(network("shop.example:*=127.0.0.1")) as client:
        with (
            contextlib.nullcontext()
            if is_sent
            else pytest.raises(RequestNotSent, match="a proxy or a client certificate")
        ):
            await client.send(post(site.url(host="shop.example")))
    assert len(site.arrived) == is_sent


async def test_nothing_leaves_beyond_the_bytes_of_the_policy(site: SmallSite) -> None:
    policy = LOOPBACK.model_copy(update={"up_bytes": 400})
    asked: list[bool] = []

    async def permit() -> None:
        asked.append(True)

    async with HttpSiteClients().open(policy) as client:
        await client.send(post(site.url("/1")), before_send=permit)
        with pytest.raises(PolicyBlocked, match=r"400 bytes: raise traffic\.up_mb") as raised:
            await client.send(post(site.url("/2"), body="x" * 300), before_send=permit)
    assert not raised.value.dispatched
    assert asked == [True]
    assert site.lines == ["POST /1"]


async def test_an_answer_beyond_the_bytes_of_the_policy_is_refused_as_sent(site: SmallSite) -> None:
    site.answers["/do"] = answer(b"x" * 500)

    async with HttpSiteClients().open(LOOPBACK.model_copy(update={"down_bytes": 400})) as client:
        with pytest.raises(PolicyBlocked, match=r"traffic\.down_mb") as raised:
            await client.send(post(site.url("/do")))
    assert raised.value.dispatched


def test_a_proxy_for_all_hosts_leaves_no_direct_connection() -> None:
    proxy = UpstreamRoute(scheme="http", host="proxy.example", port=3128)
    rule = HostRule(text="a.example", kind="name", host="a.example")
    certificate = SiteCertificate(name="card", chain="", key="", hosts=(rule,))

    assert covers(not_direct([proxy], []), "shop.example", 8443)
    assert not_direct([proxy.model_copy(update={"hosts": (rule,)})], [certificate]) == (rule, rule)
    assert not_direct([], []) == ()


# -------------------------------------------------------------------------------------------------- redirects


@pytest.mark.parametrize(
    ("method", "status", "follows"),
    [
        ("POST", 301, "GET"),
        ("POST", 302, "GET"),
        ("PUT", 302, "PUT"),
        ("POST", 303, "GET"),
        ("PUT", 303, "GET"),
        ("POST", 307, "POST"),
        ("POST", 308, "POST"),
        ("GET", 302, "GET"),
        ("HEAD", 303, "HEAD"),
    ],
)
async def test_redirects_are_followed_as_browsers_do(
    client: SiteClient, site: SmallSite, method: str, status: int, follows: str
) -> None:
    site.answers["/a/do"] = moved(status, "../b?x=1#top")
    headers = {"content-type": "text/plain", "x-csrf": "t", "origin": site.url().rstrip("/")}
    body = "a=1" if method in ("POST", "PUT") else ""

    response = await client.send(Request(method, site.url("/a/do"), headers, body))

    is_kept = method == follows
    came = site.arrived[-1]
    assert (response.status, response.url) == (200, site.url("/b?x=1"))
    assert (came.method, came.target, came.headers["x-csrf"]) == (follows, "/b?x=1", "t")
    assert came.body == (body if is_kept else "")
    assert ("content-type" in came.headers, "origin" in came.headers) == (is_kept, is_kept)


async def test_a_redirect_that_names_no_address_is_an_answer(client: SiteClient, site: SmallSite) -> None:
    site.answers["/do"] = answer(b"", status=302)

    assert (await client.send(post(site.url("/do")))).status == 302


async def test_another_origin_gets_no_token_of_the_first(site: SmallSite) -> None:
    async with serving(SmallSite()) as other, serving(SmallSite()) as third, HttpSiteClients().open(LOOPBACK) as client:
        site.answers["/do"] = moved(307, other.url("/b"))
        other.answers["/b"] = moved(307, third.url("/c"))
        headers = {
            "authorization": "t",
            "x-csrf": "t",
            "accept": "*/*",
            "origin": site.url()[:-1],
            "referer": site.url("/p?t"),
        }

        await client.send(post(site.url("/do"), **headers))

        second, last = other.arrived[0].headers, third.arrived[0].headers
    assert not {"authorization", "x-csrf"} & {*second, *last}
    assert (second["accept"], second["origin"], second["referer"]) == ("*/*", site.url()[:-1], site.url())
    assert last["origin"] == "null"


async def test_content_is_not_sent_on_to_an_origin_that_may_not_have_it(site: SmallSite) -> None:
    def refusal(origin: str) -> str:
        return "" if origin == site.url()[:-1] else "not there"

    async with serving(SmallSite()) as other, HttpSiteClients().open(LOOPBACK) as client:
        site.answers["/kept"] = moved(308, other.url("/b"))
        site.answers["/led"] = moved(303, other.url("/b"))
        with pytest.raises(RequestInDoubt, match="not there"):
            await client.send(post(site.url("/kept")), refusal=refusal)
        refused = len(other.arrived)
        await client.send(post(site.url("/led")), refusal=refusal)
        [came] = other.arrived

    assert (refused, came.method, came.body) == (0, "GET", "")


@pytest.mark.parametrize("location", ["http://evil.example/", "http://shop.localhost/"])
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_the_policy_refuses_a_redirect_as_it_refuses_a_request(
    site: SmallSite, method: str, location: str
) -> None:
    site.answers["/do"] = moved(302, location)

    async with HttpSiteClients().open(network("127.0.0.1:*")) as client:
        with pytest.raises(PolicyBlocked) as raised:
            await client.send(Request(method, site.url("/do")))
    assert raised.value.dispatched is (method == "POST")


@pytest.mark.parametrize(
    "location", ["http://127.0.0.1:1/", "http://user:pw@127.0.0.1/", "mailto:a@b", "http://[", "/do"]
)
async def test_a_redirect_that_leads_nowhere_leaves_the_request_in_doubt(
    client: SiteClient, site: SmallSite, location: str
) -> None:
    site.answers["/do"] = moved(307, location)

    with pytest.raises(RequestInDoubt, match="it was answered by"):
        await client.send(post(site.url("/do")))
    assert len(site.arrived) == (11 if location == "/do" else 1)


# ---------------------------------------------------------------------------------------------------- cookies


async def test_cookies_are_kept_from_answer_to_request_and_across_redirects(
    client: SiteClient, site: SmallSite
) -> None:
    site.answers["/in"] = moved(302, "/home", "Set-Cookie: sid=a=1; Path=/; HttpOnly", "Set-Cookie: deep=1; Path=/deep")
    site.answers["/home"] = answer(
        b"", "Set-Cookie: gone=1; Max-Age=0", "Set-Cookie: lang=de; Domain=127.0.0.1", "Set-Cookie: only=1; Secure"
    )
    site.answers["/out"] = answer(b"", "Set-Cookie: sid=; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT")

    response = await client.send(post(site.url("/in")))
    assert "set-cookie" not in response.headers
    assert site.arrived[1].headers["cookie"] == "sid=a=1"
    await client.send(get(site.url("/deep/page")))
    assert sorted(site.arrived[2].headers["cookie"].split("; ")) == ["deep=1", "lang=de", "only=1", "sid=a=1"]
    assert (client.cookie(site.url("/x"), "sid"), client.cookie(site.url("/x"), "deep")) == ("a=1", None)
    await client.send(get(site.url("/out")))
    assert client.cookie(site.url("/"), "sid") is None


def test_cookies_of_a_storage_state_go_where_they_belong() -> None:
    def cookie(name: str, domain: str, **more: object) -> dict[str, object]:
        return {"name": name, "value": f"{name}-1", "domain": domain, "path": "/", "expires": -1, **more}

    client = HttpSiteClients().open(
        LOOPBACK,
        cookies=[
            cookie("host", "shop.example", sameSite="Lax", httpOnly=True),
            cookie("wide", ".shop.example", expires=4_000_000_000.5),
            cookie("old", "shop.example", expires=1_000_000_000),
            cookie("safe", "shop.example", secure=True),
            cookie("part", "shop.example", path="/admin"),
            cookie("here", "localhost", secure=True),
        ],
    )

    def names(url: str) -> set[str]:
        return {name for name in ("host", "wide", "old", "safe", "part", "here") if client.cookie(url, name)}

    assert names("https://shop.example/") == {"host", "wide", "safe"}
    assert names("http://shop.example/admin/x") == {"host", "wide", "part"}
    assert names("http://shop.example/administration") == {"host", "wide"}
    assert names("https://a.shop.example/") == {"wide"}
    assert names("https://myshop.example/") == set()
    assert names("http://localhost:8000/") == {"here"}
    assert client.cookie("https://shop.example/", "host") == "host-1"


def test_cookies_of_a_domain_go_to_its_hosts_and_to_no_others() -> None:
    cookies = SiteCookies()
    lines = ["a=1; Domain=shop.example", "b=1; Domain=.example", "c=1; Domain=evil.example", "d=1", 'e="x y"; Path=/']

    cookies.take("https://www.shop.example/in", lines)

    assert cookies.header("https://www.shop.example/") == 'a=1; d=1; e="x y"'
    assert cookies.header("https://shop.example/") == cookies.header("https://a.shop.example/") == "a=1"
    assert cookies.header("https://evil.example/") == cookies.header("https://other.example/") == ""


def test_cookies_go_by_their_age_and_not_only_by_their_date() -> None:
    cookies = SiteCookies()

    cookies.take(
        "http://shop.example/", ["a=1; Max-Age=600; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "b=1; Max-Age=600"]
    )
    cookies.take("http://shop.example/", ["b=2; Expires=Wed, 21 Oct 2015 07:28:00 GMT"])

    assert cookies.header("http://shop.example/") == "a=1"


async def test_no_log_has_a_cookie(client: SiteClient, site: SmallSite, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    site.answers["/in"] = answer(b"private", "Set-Cookie: sid=private", "X-Token: private")

    await client.send(post(site.url("/in"), body="private", authorization="private"))
    await client.send(get(site.url("/in?token=private")))

    assert "private" not in caplog.text


async def test_a_cookie_in_a_charset_of_the_sites_comes_back_as_it_was(client: SiteClient, site: SmallSite) -> None:
    site.answers["/in"] = answer(b"", "Set-Cookie: name=J\xfcrg\xe9")

    await client.send(get(site.url("/in")))
    await client.send(get(site.url("/")))

    assert site.arrived[1].headers["cookie"] == "name=J\xfcrg\xe9"


# ----------------------------------------------------------------------------------------------------- bodies


@pytest.mark.parametrize(
    ("data", "headers", "body"),
    [
        (gzip.compress("é".encode()), ["Content-Type: text/html", "Content-Encoding: gzip"], "é"),
        (zlib.compress("é".encode()), ["Content-Type: application/json", "Content-Encoding: deflate"], "é"),
        (b"no gzip", ["Content-Type: text/html", "Content-Encoding: gzip"], ""),
        (b"\x8b\x00", ["Content-Type: text/html", "Content-Encoding: unheard-of"], ""),
        ("€".encode("cp1252"), ["Content-Type: text/html; charset=ISO-8859-1"], "€"),
        ("день".encode("koi8-r"), ['Content-Type: text/html; charset="koi8-r"'], "день"),
        (b"a\xff", ["Content-Type: text/html; charset=rot13"], "a\N{REPLACEMENT CHARACTER}"),
        ("\ufeffé".encode(), ["Content-Type: application/problem+json"], "é"),
        (b"as it is", [], "as it is"),
        (b"\x89PNG", ["Content-Type: image/png"], ""),
        (b"x" * BODY_LIMIT, ["Content-Type: text/plain"], "x" * BODY_LIMIT),
        (b"x" * (BODY_LIMIT + 1), ["Content-Type: text/plain"], ""),
        (gzip.compress(bytes(BODY_LIMIT * 20)), ["Content-Type: text/plain", "Content-Encoding: gzip"], ""),
    ],
    ids=lambda value: str(value)[:30],
)
async def test_bodies_are_decoded_as_text_up_to_the_limit(
    client: SiteClient, site: SmallSite, data: bytes, headers: Sequence[str], body: str
) -> None:
    site.answers["/page"] = answer(data, *headers)

    response = await client.send(get(site.url("/page")))

    assert response.status == 200
    assert response.body == body
    assert (await client.send(get(site.url("/after")))).status == 200


async def test_a_body_in_chunks_and_one_until_the_end_are_read(client: SiteClient, site: SmallSite) -> None:
    site.answers["/chunks"] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"
    site.answers["/end"] = b"HTTP/1.1 200 OK\r\n\r\nall of it"

    assert (await client.send(get(site.url("/chunks")))).body == "abc"
    site.closes_after = True
    assert (await client.send(post(site.url("/end")))).body == "all of it"


# -------------------------------------------------------------------------------------------------------- TLS


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("site-client") / "ca", "an authority")


def server_tls(authority: Authority) -> ssl.SSLContext:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(authority.certificate("server"), authority.key("server"))
    return tls


@pytest.fixture
def shop() -> NetworkPolicy:
    return network("*.example:*=127.0.0.1", "shop.example:*=127.0.0.1")


async def test_a_site_over_tls_is_trusted_by_the_authorities_of_the_system(
    authority: Authority, shop: NetworkPolicy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.certificate("ca")))
    seen: list[list[str]] = []
    small = SmallSite()

    async def permit() -> None:
        seen.append(small.lines)

    async with (
        serving(small, server_tls(authority)) as site,
        HttpSiteClients(resolver=to("127.0.0.1")).open(shop) as client,
    ):
        await client.send(get(site.url("/1", host="shop.example")))
        await client.send(get(site.url("/2", host="shop.example")))
        await client.send(post(site.url("/do", host="shop.example")), before_send=permit)
        with pytest.raises(RequestNotSent, match="its certificate cannot be verified"):
            await client.send(post(site.url("/3", host="other.example")))
    assert [each.connection for each in site.arrived] == [1, 1, 2]
    assert seen == [["GET /1", "GET /2"]]


async def test_nothing_is_sent_to_a_site_whose_certificate_is_not_trusted(
    authority: Authority, shop: NetworkPolicy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(Path(ssl.get_default_verify_paths().openssl_cafile)))
    asked: list[bool] = []

    async def permit() -> None:
        asked.append(True)

    async with (
        serving(SmallSite(), server_tls(authority)) as site,
        HttpSiteClients(resolver=to("127.0.0.1")).open(shop) as client,
    ):
        with pytest.raises(RequestNotSent, match="its certificate cannot be verified"):
            await client.send(post(site.url("/do", host="shop.example")), before_send=permit)
    assert (site.arrived, asked) == ([], [])


async def test_a_site_that_speaks_no_tls_is_not_sent_to(client: SiteClient) -> None:
    async def speak_plainly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.read(1) and answer(status=400))
        writer.close()

    server = await asyncio.start_server(speak_plainly, "127.0.0.1", 0)
    async with server:
        with pytest.raises(RequestNotSent, match="wrong version number"):
            await client.send(post(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/"))
