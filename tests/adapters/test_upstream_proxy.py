"""Proxies of the operator's behind the gate: real clients, sites and proxies on loopback."""

import asyncio
import base64
import contextlib
import os
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest

from replaywright.browser.devtools.attach import ChromiumBrowsers
from replaywright.domain.session.host_patterns import host_rule
from replaywright.domain.session.network_policy import NetworkPolicy
from replaywright.domain.task.policy import Policy, UpstreamProxy
from replaywright.domain.task.steps import Goto
from replaywright.errors import ActionFailed, InputInvalid, KeeperUnavailable
from replaywright.keeper.gate.black_box import BlackBox
from replaywright.keeper.gate.gate import Gate
from replaywright.keeper.gate.guard import NetworkGuard
from replaywright.keeper.gate.proxy import ForwardProxy
from replaywright.keeper.host.client import make_directory, start_keeper
from replaywright.keeper.host.local import LocalKeepers
from replaywright.keeper.host.routes import upstream_routes
from replaywright.keeper.protocol import OPTIONS_NAME, KeeperOptions, UpstreamRoute
from replaywright.ports.browser import Work
from replaywright.vault.environment import EnvironmentSecrets
from tests.adapters.networks import LOOPBACK, network

USER, PASSWORD = "crm", "k9-Wolke-77"


@dataclass
class Upstream:
    """A proxy for CONNECT and SOCKS5 with user and password, which keeps the places that it was asked for."""

    password: str = PASSWORD
    answer: bytes = b""
    """Given to CONNECT instead of a connection."""
    splits: bool = False
    """Sends its head in pieces."""
    asked: list[str] = field(default_factory=list)
    port: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            first = await reader.readexactly(1)
            place = await (self._socks if first == b"\x05" else self._connect)(reader, writer)
            if place is not None:
                await self._relay(place, reader, writer)
        writer.close()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> tuple[str, int] | None:
        head = b"C" + await reader.readuntil(b"\r\n\r\n")
        place = head.split()[1].decode()
        self.asked.append(place)
        wanted = base64.b64encode(f"{USER}:{self.password}".encode())
        if b"Basic " + wanted not in head:
            writer.write(b"HTTP/1.1 407 Who are you\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n")
            return None
        if self.answer:
            writer.write(self.answer)
            return None
        writer.write(b"HTTP/1.1 200 OK\r\n")
        if self.splits:
            await writer.drain()
            await asyncio.sleep(0)
        writer.write(b"Via: upstream\r\n\r\n")
        host, _, port = place.rpartition(":")
        return host, int(port)

    async def _socks(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> tuple[str, int] | None:
        await reader.readexactly((await reader.readexactly(1))[0])
        writer.write(b"\x05\x02")
        user = await reader.readexactly((await reader.readexactly(2))[1])
        password = await reader.readexactly((await reader.readexactly(1))[0])
        is_known = (user, password) == (USER.encode(), self.password.encode())
        writer.write(b"\x01" + bytes([not is_known]))
        if not is_known:
            return None
        _, _, _, kind = await reader.readexactly(4)
        assert kind == 1, "an IPv4 address, not a name"
        host, port = socket.inet_ntoa(await reader.readexactly(4)), int.from_bytes(await reader.readexactly(2), "big")
        self.asked.append(f"{host}:{port}")
        writer.write(b"\x05\x00\x00\x01" + bytes(6))
        return host, port

    async def _relay(self, place: tuple[str, int], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        site_reader, site_writer = await asyncio.open_connection(*place)

        async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
            with contextlib.suppress(ConnectionError):
                while data := await source.read(65536):
                    sink.write(data)
                sink.close()

        await asyncio.gather(pump(reader, site_writer), pump(site_reader, writer))


@dataclass
class Rig:
    upstream: Upstream
    guard: NetworkGuard
    black_box: BlackBox
    port: int
    site_port: int
    site_got: list[bytes]

    async def ask(self, data: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(data)
        async with asyncio.timeout(10):
            answer = await reader.read()
        writer.close()
        return answer

    async def get(self, host: str = "shop.example") -> bytes:
        place = f"{host}:{self.site_port}".encode()
        return await self.ask(b"GET http://%s/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" % place)

    async def through_tunnel(self, host: str = "shop.example") -> bytes:
        place = f"{host}:{self.site_port}".encode()
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(b"CONNECT %s HTTP/1.1\r\nHost: x\r\n\r\n" % place)
        async with asyncio.timeout(10):
            head = await reader.readuntil(b"\r\n\r\n")
            if b" 200 " in head:
                writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            rest = await reader.read()
        writer.close()
        return head + rest


async def _resolve(host: str, port: int) -> list[str]:
    return ["127.0.0.1"]


@contextlib.asynccontextmanager
async def rig(
    scheme: str = "http",
    upstream: Upstream | None = None,
    *,
    hosts: tuple[str, ...] = (),
    policy: NetworkPolicy | None = None,
    is_up: bool = True,
) -> AsyncIterator[Rig]:
    upstream, got = upstream or Upstream(), []

    async def site(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        got.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        writer.close()

    sites = await asyncio.start_server(site, "127.0.0.1", 0)
    proxies = await asyncio.start_server(upstream.serve, "127.0.0.1", 0)
    upstream.port = proxies.sockets[0].getsockname()[1]
    if not is_up:
        proxies.close()
        await proxies.wait_closed()
    declared = UpstreamProxy(server=f"{scheme}://127.0.0.1:{upstream.port}", user=USER, password="PROXY", hosts=hosts)
    secrets = EnvironmentSecrets({"REPLAYWRIGHT_SECRET_PROXY": PASSWORD})
    black_box = BlackBox()
    gate = Gate(black_box, lease_lapsed=lambda: False)
    guard = NetworkGuard(policy or LOOPBACK, black_box)
    routes = upstream_routes(Policy(proxies=(declared,)), secrets)
    proxy = ForwardProxy(gate, black_box, guard=guard, routes=routes, resolver=_resolve, connect_timeout_s=5)
    port = await proxy.start()
    try:
        yield Rig(upstream, guard, black_box, port, sites.sockets[0].getsockname()[1], got)
    finally:
        gate.close()
        await proxy.close()
        sites.close()
        proxies.close()


ANYWHERE = network("shop.example:*=127.0.0.0/8", "other.example:*=127.0.0.0/8")


@pytest.mark.parametrize("scheme", ["http", "socks5"])
async def test_requests_and_tunnels_go_by_the_proxy_which_gets_the_address_and_no_name(scheme: str) -> None:
    async with rig(scheme, policy=ANYWHERE) as it:
        plain, tunnelled = await it.get(), await it.through_tunnel()

        assert plain.endswith(b"ok")
        assert tunnelled.endswith(b"ok")
        assert it.upstream.asked == [f"127.0.0.1:{it.site_port}"] * 2
        assert len(it.site_got) == 2
        assert all(b"roxy" not in each and PASSWORD.encode() not in each for each in it.site_got)


async def test_a_head_that_comes_in_pieces_is_no_part_of_what_the_site_says() -> None:
    async with rig(upstream=Upstream(splits=True), policy=ANYWHERE) as it:
        answer = await it.through_tunnel()

        assert answer.partition(b"\r\n\r\n")[2].startswith(b"HTTP/1.1 200 OK\r\nContent-Length: 2")


async def test_only_the_hosts_of_the_proxy_go_by_it() -> None:
    async with rig(hosts=("*.example",), policy=network("shop.example:*=127.0.0.0/8", "127.0.0.1:*")) as it:
        assert (await it.get()).endswith(b"ok")
        assert (await it.get("127.0.0.1")).endswith(b"ok")

        assert len(it.site_got) == 2
        assert len(it.upstream.asked) == 1


@pytest.mark.parametrize("scheme", ["http", "socks5"])
async def test_what_the_policy_refuses_never_comes_to_the_proxy(scheme: str) -> None:
    """By name, and by the address that the name has here."""
    async with rig(scheme, policy=network("shop.example:*", "127.0.0.1:1")) as it:
        by_name, by_address = await it.get("evil.example"), await it.get("shop.example")
        tunnel = await it.through_tunnel("evil.example")

        assert b" 403 " in by_name
        assert b" 403 " in by_address
        assert b" 403 " in tunnel
        assert it.upstream.asked == []
        assert it.site_got == []


@pytest.mark.parametrize(
    ("scheme", "upstream", "is_up", "why"),
    [
        ("http", Upstream(password="another"), True, "refuses its user or password (407)"),
        ("socks5", Upstream(password="another"), True, "refuses: "),
        ("http", Upstream(), False, "cannot be reached"),
        ("socks5", Upstream(), False, "cannot be reached"),
        ("http", Upstream(answer=b"HTTP/1.1 503 Later\r\nContent-Length: 0\r\n\r\n"), True, "gives no connection to"),
        ("http", Upstream(answer=b"SSH-2.0-OpenSSH\r\n\r\n"), True, "does not answer as an HTTP proxy does"),
        ("http", Upstream(answer=b"HTTP/1.1 200 OK\r\n\r\nHello"), True, "sends data before it was asked for any"),
    ],
)
async def test_a_proxy_that_gives_no_connection_is_the_cause_and_not_the_site(
    scheme: str, upstream: Upstream, is_up: bool, why: str
) -> None:
    async with rig(scheme, upstream, is_up=is_up, policy=ANYWHERE) as it:
        plain, tunnel = await it.get(), await it.through_tunnel()

        assert b" 502 " in plain
        assert b" 502 " in tunnel
        (found,) = it.guard.seen(float("-inf")).unreached
        assert found.is_by_proxy
        assert found.host == "shop.example"
        assert found.reason.startswith(f"the upstream proxy {scheme}://127.0.0.1:{upstream.port} ")
        assert why in found.reason
        assert it.site_got == []
        assert PASSWORD not in f"{found}{plain!r}{tunnel!r}"


async def test_a_site_that_gives_no_answer_is_still_the_site_without_a_proxy() -> None:
    async with rig(hosts=("other.example",), policy=ANYWHERE) as it:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            it.site_port = free.getsockname()[1]
            await it.get()

        (found,) = it.guard.seen(float("-inf")).unreached
        assert not found.is_by_proxy
        assert found.reason == "nothing listens there"


def test_a_password_is_a_secret_that_there_is() -> None:
    policy = Policy(proxies=(UpstreamProxy(server="http://p:1", user="u", password="NONE"),))

    with pytest.raises(InputInvalid, match=r"proxies\[0\].*NONE"):
        upstream_routes(policy, EnvironmentSecrets({}))


@pytest.mark.parametrize(
    "fields",
    [
        {"server": "ftp://p:1"},
        {"server": "http://p"},
        {"server": "http://u:secret@p:1"},
        {"server": "http://p:1", "user": "u"},
        {"server": "http://p:1", "user": "u:v", "password": "P"},
        {"server": "http://p:1", "hosts": ["a b"]},
    ],
)
def test_a_proxy_that_is_none_is_refused(fields: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"server|user|hosts|pattern"):
        UpstreamProxy.model_validate(fields)


def test_the_representation_of_the_options_has_no_password() -> None:
    route = UpstreamRoute(scheme="http", host="p", port=1, user=USER, password=PASSWORD, hosts=(host_rule("*", "h"),))

    assert PASSWORD not in repr(KeeperOptions(executable="chromium", routes=(route,)))


async def test_no_file_of_a_keeper_ever_has_the_password(tmp_path: Path) -> None:
    """It is written while the keeper does not read yet, and the log is of one that does not start."""
    route = UpstreamRoute(scheme="http", host="p", port=1, user=USER, password=PASSWORD)
    options = KeeperOptions(session_id="s1", executable=str(tmp_path / "none"), routes=(route,))
    directory = make_directory(tmp_path / "sessions", "s1")
    path = directory / OPTIONS_NAME
    os.mkfifo(path)  # both sides wait for each other

    def read() -> bytes:
        with path.open("rb") as written:
            path.unlink()
            path.write_text(options.model_copy(update={"routes": ()}).model_dump_json(), "utf-8")
            return written.read()

    starting = asyncio.create_task(start_keeper(directory, options))
    written = await asyncio.to_thread(read)
    with pytest.raises(KeeperUnavailable, match="cannot start") as failed:
        await starting

    assert KeeperOptions.model_validate_json(written) == options.model_copy(update={"routes": ()})
    assert PASSWORD not in str(failed.value)


@pytest.mark.parametrize(
    ("scheme", "why"),
    [
        ("http", "refuses its user or password (407)"),
        pytest.param("socks5", "refuses: Username and password authentication failure", marks=pytest.mark.long),
    ],
)
async def test_a_browser_comes_to_its_page_by_the_proxy_and_the_password_stays_out_of_its_session(
    chromium_path: Path, browsers: ChromiumBrowsers, sessions: Path, scheme: Literal["http", "socks5"], why: str
) -> None:
    async with rig() as it:
        route = UpstreamRoute(scheme=scheme, host="127.0.0.1", port=it.upstream.port, user=USER, password=PASSWORD)
        options = KeeperOptions(executable=str(chromium_path), no_sandbox=os.geteuid() == 0, routes=(route,))
        keepers = LocalKeepers(sessions, options, limit=1)
        launched = await keepers.launch("s1", network("127.0.0.1:*"))
        browser = await browsers.attach(await keepers.attach(launched, 1))
        page = Work(step=Goto(action="goto", url=f"http://127.0.0.1:{it.site_port}/"), timeout_ms=15_000)
        await browser.perform(page)
        it.upstream.password = "changed"
        with pytest.raises(ActionFailed) as failed:
            await browser.perform(page)
        (found,) = (await keepers.network(launched.model_copy(update={"epoch": 1}))).unreached
        kept = [path.read_bytes() for path in Path(launched.directory).rglob("*") if path.is_file()]
        await browser.detach()

    place = f"127.0.0.1:{it.site_port}"
    assert set(it.upstream.asked) == {place}
    assert any(each.startswith(b"GET / ") for each in it.site_got)
    assert failed.value.reason == "http_502"
    assert found.is_by_proxy
    assert found.reason.endswith(why)
    assert len(kept) > 1
    assert not any(PASSWORD.encode() in each for each in kept)
