"""Client certificates that the gate shows: real TLS on both sides, and a site that lets nobody in without one."""

import asyncio
import base64
import contextlib
import hashlib
import os
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from playwright.async_api import Error, async_playwright

from replaywright.browser.devtools.endpoint import driver_url
from replaywright.domain.task.policy import ClientCertificate, Policy, UpstreamProxy
from replaywright.errors import InputInvalid, StackFailed
from replaywright.keeper.gate.black_box import BlackBox
from replaywright.keeper.gate.gate import Gate
from replaywright.keeper.gate.guard import NetworkGuard
from replaywright.keeper.gate.proxy import ForwardProxy
from replaywright.keeper.host.local import LocalKeepers
from replaywright.keeper.host.routes import site_certificates, upstream_routes
from replaywright.keeper.protocol import KeeperOptions, SiteCertificate
from replaywright.vault.environment import EnvironmentSecrets
from tests.adapters.networks import LOOPBACK, network
from tests.adapters.test_tls import Authority
from tests.adapters.test_upstream_proxy import PASSWORD, USER, Upstream

HOST = "shop.example"
PAGE = b"<!doctype html><title>Portal</title><link rel=icon href=data:,>"
POST = b"POST /pay HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n100"
GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls") / "ours", "our authority")


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls") / "theirs", "another authority")


@pytest.fixture
def authorities(ours: Authority, theirs: Authority) -> tuple[Authority, Authority]:
    return ours, theirs


@dataclass
class Portal:
    """A site that answers with the name in the certificate of who asks."""

    asks_later: bool = False
    """Ask for the certificate during the first request, and not before."""
    arrived: list[bytes] = field(default_factory=list)
    port: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tls = writer.get_extra_info("ssl_object")
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
                await reader.readexactly(int(lengths[0].partition(b":")[2]) if lengths else 0)
                self.arrived.append(head.split(b"\r\n")[0])
                came = dict(part[0] for part in (tls.getpeercert() or {}).get("subject", ()))
                if self.asks_later and not came:
                    tls.verify_client_post_handshake()
                body = PAGE + f"<p>{came.get('commonName', 'nobody')} {tls.selected_alpn_protocol()}</p>".encode()
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(body))
                writer.write(body)
                await writer.drain()
        writer.close()


def portal_context(by: Authority, *, letting_in: Authority) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(by.certificate("server"), by.key("server"))
    context.load_verify_locations(letting_in.certificate("ca"))
    context.verify_mode = ssl.CERT_REQUIRED
    context.set_alpn_protocols(["h2", "http/1.1"])
    return context


@contextlib.asynccontextmanager
async def portal(by: Authority, *, letting_in: Authority, site: Portal | None = None) -> AsyncIterator[Portal]:
    site = site or Portal()
    context = portal_context(by, letting_in=letting_in)
    context.post_handshake_auth = site.asks_later
    server = await asyncio.start_server(site.serve, "127.0.0.1", 0, ssl=context)
    site.port = server.sockets[0].getsockname()[1]
    try:
        yield site
    finally:
        server.close()


def pem_of(by: Authority) -> str:
    return by.certificate("client").read_text() + by.certificate("ca").read_text() + by.key("client").read_text()


def shown(by: Authority, *hosts: str) -> tuple[SiteCertificate, ...]:
    declared = ClientCertificate(hosts=hosts, certificate="PORTAL")
    secrets = EnvironmentSecrets({"REPLAYWRIGHT_SECRET_PORTAL": pem_of(by)})
    return site_certificates(Policy(certificates=(declared,)), secrets)


@dataclass
class Rig:
    """A gate that shows certificates, and a browser's part in it."""

    gate: Gate
    guard: NetworkGuard
    black_box: BlackBox
    port: int
    fingerprint: str
    peer: bytes = b""
    """Certificate that the browser was shown."""

    async def tunnel(self, port: int, host: str = HOST) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Open a tunnel, and agree on TLS in it; a refusal is raised with its status."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        async with asyncio.timeout(10):
            head = await reader.readuntil(b"\r\n\r\n")
        if b" 200 " not in head:
            writer.close()
            raise ConnectionError(head.split()[1].decode())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.set_alpn_protocols(["h2", "http/1.1"])
        await writer.start_tls(context, server_hostname=host)
        tls = writer.get_extra_info("ssl_object")
        self.peer = tls.getpeercert(binary_form=True)
        return reader, writer

    async def ask(self, port: int, request: bytes = GET, host: str = HOST) -> bytes:
        """Send one request, and return the answer's body, or what came of it."""
        reader, writer = await self.tunnel(port, host)
        writer.write(request)
        answer = await answered(reader)
        writer.close()
        return answer

    @property
    def why(self) -> list[str]:
        return [each.reason for each in self.guard.seen(float("-inf")).unreached]


async def answered(reader: asyncio.StreamReader) -> bytes:
    async with asyncio.timeout(10):
        head = await reader.readuntil(b"\r\n\r\n")
        return await reader.readexactly(int(head.rpartition(b": ")[2]))


def spki_of(certificate: bytes) -> str:
    key = x509.load_der_x509_certificate(certificate).public_key()
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return base64.b64encode(hashlib.sha256(key.public_bytes(serialization.Encoding.DER, form)).digest()).decode()


Start = Callable[..., Awaitable[Rig]]


@pytest.fixture
async def start(ours: Authority, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Start]:
    """Make a gate whose sites are those that our authority vouches for."""
    monkeypatch.setenv("SSL_CERT_FILE", str(ours.certificate("ca")))
    ending: list[Callable[[], Awaitable[None]]] = []

    async def resolve(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    async def started(certificates: Sequence[SiteCertificate], by: UpstreamProxy | None = None) -> Rig:
        black_box = BlackBox()
        gate = Gate(black_box)
        guard = NetworkGuard(network(f"{HOST}:*=127.0.0.0/8", "other.example:*=127.0.0.0/8"), black_box)
        secrets = EnvironmentSecrets({"REPLAYWRIGHT_SECRET_PROXY": PASSWORD})
        routes = upstream_routes(Policy(proxies=() if by is None else (by,)), secrets)
        proxy = ForwardProxy(gate, black_box, guard=guard, routes=routes, resolver=resolve, connect_timeout_s=5)
        fingerprint = proxy.show(certificates)
        ending.append(proxy.close)
        return Rig(gate, guard, black_box, await proxy.start(), fingerprint)

    yield started
    for end in ending:
        await end()


async def test_the_site_is_shown_the_certificate_and_the_browser_the_gates_own(start: Start, ours: Authority) -> None:
    async with portal(ours, letting_in=ours) as site:
        it = await start(shown(ours, f"{HOST}:{site.port}"))

        first, second = await it.ask(site.port), await it.ask(site.port, POST)

    assert first == second == PAGE + b"<p>client http/1.1</p>"
    assert site.arrived == [b"GET / HTTP/1.1", b"POST /pay HTTP/1.1"]
    assert spki_of(it.peer) == it.fingerprint
    assert it.black_box.bytes_up > len(GET + POST)
    assert it.black_box.bytes_down > len(first + second)


async def test_a_site_that_asks_for_it_at_a_request_is_shown_it_then(start: Start, ours: Authority) -> None:
    async with portal(ours, letting_in=ours, site=Portal(asks_later=True)) as site:
        it = await start(shown(ours, f"{HOST}:{site.port}"))
        reader, writer = await it.tunnel(site.port)
        answers = []
        for _ in range(2):
            writer.write(GET)
            answers.append(await answered(reader))
        writer.close()

    assert [answer.removeprefix(PAGE) for answer in answers] == [b"<p>nobody http/1.1</p>", b"<p>client http/1.1</p>"]


async def test_hosts_that_are_not_named_keep_the_browsers_own_tls(start: Start, ours: Authority) -> None:
    async with portal(ours, letting_in=ours) as site:
        it = await start(shown(ours, HOST, f"other.example:{site.port}"))  # of the first, port 443 alone

        _, writer = await it.tunnel(site.port)
        writer.close()

    assert it.peer == ssl.PEM_cert_to_DER_cert(ours.certificate("server").read_text())


@pytest.mark.parametrize(
    ("host", "is_ours", "why"),
    [(HOST, False, "unable to get local issuer"), ("other.example", True, "Hostname mismatch")],
)
async def test_a_site_whose_certificate_cannot_be_verified_is_sent_nothing(
    start: Start, authorities: tuple[Authority, Authority], host: str, is_ours: bool, why: str
) -> None:
    ours, theirs = authorities
    async with portal(ours if is_ours else theirs, letting_in=ours) as site:
        it = await start(shown(ours, f"{host}:{site.port}"))
        with pytest.raises(ConnectionError, match="502"):
            await it.ask(site.port, POST, host)

    [told] = it.why
    assert told.startswith("its certificate cannot be verified (")
    assert why in told
    assert site.arrived == []


async def test_a_site_that_refuses_the_certificate_is_the_cause(
    start: Start, ours: Authority, theirs: Authority
) -> None:
    """Its reason is told, which in TLS 1.3 comes when our handshake is over."""
    context = portal_context(ours, letting_in=ours)

    def serve(listening: socket.socket) -> None:
        with contextlib.suppress(ssl.SSLError), listening.accept()[0] as wire, wire.makefile("rb") as rest:
            try:
                context.wrap_socket(wire.dup(), server_side=True)
            finally:
                rest.read()  # a reset would overtake the reason

    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        serving = asyncio.create_task(asyncio.to_thread(serve, listening))
        it = await start(shown(theirs, f"{HOST}:{port}"))
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await it.ask(port)
        await serving

    assert it.why == ["TLS with the client certificate failed: tlsv1 alert unknown ca"]


async def test_a_site_that_ends_the_connection_without_a_reason_is_the_cause(
    start: Start, ours: Authority, theirs: Authority
) -> None:
    async with portal(ours, letting_in=ours) as site:
        it = await start(shown(theirs, f"{HOST}:{site.port}"))
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await it.ask(site.port)

    assert it.why == ["it ended the connection when it had been shown the client certificate"]
    assert site.arrived == []


async def test_a_site_without_tls_is_the_cause(start: Start, ours: Authority) -> None:
    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example ESMTP\r\n")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    it = await start(shown(ours, f"{HOST}:{port}"))
    with pytest.raises(ConnectionError, match="502"):
        await it.ask(port)
    server.close()

    [told] = it.why
    assert told.startswith("TLS with the client certificate failed: ")


async def test_nothing_reaches_a_site_that_the_gate_holds_back(start: Start, ours: Authority) -> None:
    """Not even the handshake of a new tunnel; what is cut never comes, what is permitted does."""
    async with portal(ours, letting_in=ours) as site:
        it = await start(shown(ours, f"{HOST}:{site.port}"))
        it.gate.arm("cut", 1, 20_000)
        asking = asyncio.create_task(it.ask(site.port, POST))
        held = await it.gate.wait_held("cut", 10)
        assert held.held
        assert it.black_box.bytes_up == 0
        it.gate.cut("cut")
        with pytest.raises(ConnectionError, match="503"):
            await asking
        it.gate.disarm("cut")

        it.gate.arm("permitted", 1, 20_000)
        asking = asyncio.create_task(it.ask(site.port, POST))
        await it.gate.wait_held("permitted", 10)
        it.gate.permit("permitted")

        assert (await asking).startswith(PAGE)
        assert site.arrived == [b"POST /pay HTTP/1.1"]


async def test_a_request_in_an_open_tunnel_is_held_like_any_other(start: Start, ours: Authority) -> None:
    async with portal(ours, letting_in=ours) as site:
        it = await start(shown(ours, f"{HOST}:{site.port}"))
        reader, writer = await it.tunnel(site.port)
        writer.write(GET)
        await answered(reader)
        before = it.black_box.bytes_up

        it.gate.arm("op", 1, 20_000)
        writer.write(POST)
        assert (await it.gate.wait_held("op", 10)).held
        assert it.black_box.bytes_up == before
        assert site.arrived == [b"GET / HTTP/1.1"]
        it.gate.permit("op")

        assert (await answered(reader)).startswith(PAGE)
        assert site.arrived[1:] == [b"POST /pay HTTP/1.1"]
        [seen] = it.gate.operations("op")
        assert seen.bytes_up == it.black_box.bytes_up - before > len(POST)
        writer.close()


@pytest.mark.parametrize("scheme", ["http", "socks5"])
async def test_the_certificate_is_shown_behind_an_upstream_proxy(start: Start, ours: Authority, scheme: str) -> None:
    upstream = Upstream()
    proxies = await asyncio.start_server(upstream.serve, "127.0.0.1", 0)
    server = f"{scheme}://127.0.0.1:{proxies.sockets[0].getsockname()[1]}"
    async with portal(ours, letting_in=ours) as site:
        by = UpstreamProxy(server=server, user=USER, password="PROXY")
        it = await start(shown(ours, f"{HOST}:{site.port}"), by)

        assert (await it.ask(site.port)).startswith(PAGE + b"<p>client")
        assert upstream.asked == [f"127.0.0.1:{site.port}"]
    proxies.close()


async def test_large_bodies_come_through_whole(start: Start, ours: Authority) -> None:
    body = os.urandom(1_500_000)
    got = hashlib.sha256()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        got.update(await reader.readexactly(len(body)))
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + body)
        writer.close()

    site = Portal()
    site.serve = serve  # type: ignore[method-assign]  # another site behind the same certificate
    async with portal(ours, letting_in=ours, site=site):
        it = await start(shown(ours, f"{HOST}:{site.port}"))
        reader, writer = await it.tunnel(site.port)
        writer.write(b"POST /file HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        async with asyncio.timeout(20):
            answer = await reader.read()
        writer.close()

    assert got.digest() == hashlib.sha256(body).digest()
    assert answer.partition(b"\r\n\r\n")[2] == body


def _encrypted(by: Authority) -> str:
    key = serialization.load_pem_private_key(by.key("client").read_bytes(), None)
    form, locked = serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"x")
    return by.certificate("client").read_text() + key.private_bytes(serialization.Encoding.PEM, form, locked).decode()


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (lambda _: "k9-Wolke-77", "no certificate is in it"),
        (lambda by: by.certificate("client").read_text(), "no private key is in it"),
        (lambda by: by.key("client").read_text(), "no certificate is in it"),
        (_encrypted, "its private key is encrypted"),
        (lambda by: by.certificate("client").read_text() + by.key("server").read_text(), "not that of its first"),
        (lambda by: pem_of(by) + by.certificate("ca").read_text() * 60, "longer than"),
    ],
)
def test_a_secret_that_is_no_certificate_with_its_key_is_refused(
    ours: Authority, value: Callable[[Authority], str], why: str
) -> None:
    policy = Policy(certificates=(ClientCertificate(hosts=(HOST,), certificate="PORTAL"),))

    with pytest.raises(InputInvalid, match=rf"certificates\[0\]\.certificate: 'PORTAL': .*{why}") as refused:
        site_certificates(policy, EnvironmentSecrets({"REPLAYWRIGHT_SECRET_PORTAL": value(ours)}))

    assert "PRIVATE KEY-----" not in str(refused.value)
    assert "k9-Wolke-77" not in str(refused.value)


def test_a_certificate_is_a_secret_that_there_is_and_no_remote_browser_shows_it(ours: Authority) -> None:
    policy = Policy(certificates=(ClientCertificate(hosts=(HOST,), certificate="NONE"),))

    with pytest.raises(InputInvalid, match=r"certificates\[0\].*NONE"):
        site_certificates(policy, EnvironmentSecrets({}))
    with pytest.raises(InputInvalid, match="REPLAYWRIGHT_BROWSER_ENDPOINT"):
        site_certificates(policy, EnvironmentSecrets({}), is_remote=True)


@pytest.mark.parametrize("hosts", [[], ["*"], ["*:8443"], ["a b"], ["shop.example=10.1.2.3"]])
def test_hosts_of_a_certificate_are_named(hosts: list[str]) -> None:
    with pytest.raises(ValueError, match="hosts"):
        ClientCertificate.model_validate({"hosts": hosts, "certificate": "PORTAL"})


def test_a_keeper_says_which_certificate_cannot_be_loaded_and_shows_no_key(ours: Authority, theirs: Authority) -> None:
    [good] = shown(ours, HOST)
    bad = good.model_copy(update={"key": theirs.key("client").read_text()})

    with pytest.raises(StackFailed, match="'PORTAL' cannot be loaded"):
        ForwardProxy(Gate(BlackBox()), BlackBox(), guard=NetworkGuard(LOOPBACK, BlackBox())).show([bad])
    assert "PRIVATE KEY" not in repr(KeeperOptions(executable="chromium", certificates=(good,)))


async def test_a_page_over_mutual_tls_is_seen_and_a_post_with_the_gate_closed_is_not_sent(
    chromium_path: Path, authorities: tuple[Authority, Authority], sessions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And a site that cannot be verified, or a browser without the certificate, does not get or send a page."""
    ours, theirs = authorities
    monkeypatch.setenv("SSL_CERT_FILE", str(ours.certificate("ca")))
    options = KeeperOptions(executable=str(chromium_path), no_sandbox=os.geteuid() == 0)
    async with (
        portal(ours, letting_in=ours) as site,
        portal(theirs, letting_in=ours) as false_site,
        async_playwright() as playwright,
    ):
        address = f"https://127.0.0.1:{site.port}/"
        certificates = shown(ours, *(f"127.0.0.0/8:{each.port}" for each in (site, false_site)))
        keepers = LocalKeepers(sessions, options.model_copy(update={"certificates": certificates}), limit=2)
        launched = await keepers.launch("with", network("127.0.0.1:*"))
        with driver_url(await keepers.attach(launched, 1)) as url:
            browser = await playwright.chromium.connect_over_cdp(url)
        [page] = browser.contexts[0].pages
        await page.goto(address)
        assert await page.inner_text("p") == "client http/1.1"
        assert await page.evaluate("isSecureContext")

        gate = await keepers.gate(launched, 1)
        await gate.arm("op", within_ms=20_000, hold_safe=False)
        await page.evaluate("void fetch('/pay', {method: 'POST', body: '100'}).catch(() => { document.title = 'cut' })")
        held = await gate.wait_held("op", 10_000)
        assert [(each.method, each.url) for each in held.waiting] == [("POST", f"{address}pay")]
        await gate.cut("op")
        await page.wait_for_function("document.title == 'cut'")
        await page.evaluate("window.stop()")
        await gate.disarm("op")
        await gate.close()
        assert site.arrived == [b"GET / HTTP/1.1"]
        with pytest.raises(Error, match="ERR_TUNNEL_CONNECTION_FAILED"):
            await page.goto(f"https://127.0.0.1:{false_site.port}/")
        [found] = (await keepers.network(launched)).unreached
        assert found.reason.startswith("its certificate cannot be verified (")
        assert false_site.arrived == []
        key = ours.key("client").read_bytes().splitlines()[1]
        kept = [path.read_bytes() for path in Path(launched.directory).rglob("*") if path.is_file()]
        assert len(kept) > 1
        assert not any(key in each for each in kept)
        await keepers.close(launched.model_copy(update={"epoch": 1}))

        bare = LocalKeepers(sessions, options, limit=2)
        launched = await bare.launch("without", network("127.0.0.1:*"))
        with driver_url(await bare.attach(launched, 1)) as url:
            browser = await playwright.chromium.connect_over_cdp(url)
        with pytest.raises(Error, match="ERR_"):
            await browser.contexts[0].pages[0].goto(address)
        assert site.arrived == [b"GET / HTTP/1.1"]
