"""The keeper's proxy listens on loopback, which is open to every user and every browser of the host."""

import asyncio
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.chromium import launched
from replaywright.keeper.gate.black_box import BlackBox
from replaywright.keeper.gate.gate import Gate
from replaywright.keeper.gate.guard import NetworkGuard
from replaywright.keeper.gate.proxy import ForwardProxy
from replaywright.keeper.host import tcp_users
from tests.adapters.networks import LOOPBACK
from tests.adapters.other_user import ask_as_another_user, needs_other_user
from tests.adapters.test_keeper_proxy import Rig, Site, rig

LOOK_UP_S = 0.0003
"""What looking up the user may take for each connection."""


def asked(it: Rig) -> list[bytes]:
    """What could be tried: a safe request, an unsafe one, a tunnel."""
    tunnel = b"CONNECT 127.0.0.1:%d HTTP/1.1\r\nHost: x\r\n\r\n" % it.site.port
    return [it.get(), it.post(), tunnel]


@needs_other_user
@pytest.mark.parametrize("closes", [False, True], ids=["waiting for the answer", "closing at once"])
async def test_another_user_of_the_host_gets_nothing_through_the_proxy_and_leaves_no_trace(*, closes: bool) -> None:
    async with rig() as it:
        it.gate.arm("op", 1, 60_000)
        answers = [await ask_as_another_user(it.port, data, closes=closes) for data in asked(it)]
        own = await it.ask(it.get())

        assert answers == [b"", b"", b""]
        assert own.endswith(b"ok")
        assert len(it.site.got) == 1
        assert [each.method for each in it.connections()] == ["GET"]
        assert it.gate.current is not None
        assert (it.gate.current.held, it.gate.current.held_at) == (0, None)
        assert it.guard.seen(float("-inf")).refused == ()


@needs_other_user
async def test_of_a_host_that_has_knocked_only_the_user_who_did_is_served() -> None:
    site, black_box = Site(), BlackBox()
    server = await asyncio.start_server(site.serve, "127.0.0.1", 0)
    site.port = server.sockets[0].getsockname()[1]
    gate = Gate(black_box)
    proxy = ForwardProxy(gate, black_box, guard=NetworkGuard(LOOPBACK, black_box))
    port, knocked = await proxy.start_for("127.0.0.1", "s3cret.invalid")
    it = Rig(site, black_box, gate, NetworkGuard(LOOPBACK, black_box), port)
    try:
        before = await it.ask(it.get())
        await it.ask(b"GET http://s3cret.invalid/ HTTP/1.1\r\nHost: s3cret.invalid\r\n\r\n")
        other = await ask_as_another_user(port, it.get())
        own = await it.ask(it.get())
    finally:
        await proxy.close()
        server.close()

    assert (before, other) == (b"", b"")
    assert knocked.result() == "127.0.0.1"
    assert own.endswith(b"ok")


ASKING = {
    "fetch": "fetch(address, {mode: 'no-cors', method: 'POST', body: 'a=1'}).catch(String)",
    "socket": "new Promise(done => { new WebSocket(address.replace('http', 'ws')).onclose = () => done() })",
    "picture": "new Promise(done => { const i = new Image(); i.onload = i.onerror = () => done(); i.src = address })",
}


@pytest.mark.parametrize("script", ASKING.values(), ids=ASKING)
async def test_a_page_in_another_browser_of_this_user_opens_nothing_and_holds_nothing(
    script: str, chromium_path: Path
) -> None:
    async with rig() as it, launched(chromium_path) as browser:
        it.gate.arm("op", 1, 60_000)
        page = await browser.new_page()
        address = f"http://127.0.0.1:{it.port}/http://127.0.0.1:{it.site.port}/"
        await page.goto(f"http://127.0.0.1:{it.site.port}/")
        before = [bytes(got) for got in it.site.got]
        await page.evaluate(f"async address => {{ await {script} }}", address)

        assert before
        asked = [got for got in it.site.got if got]  # a connection that Chromium opens ahead asks for nothing
        assert all(got in before or b"GET /favicon.ico" in got for got in asked)
        assert it.connections() == []
        assert it.gate.current is not None
        assert (it.gate.current.held, it.gate.current.held_at) == (0, None)
        assert it.guard.seen(float("-inf")).refused == ()


@pytest.fixture(params=["127.0.0.1", "::1"])
def pair(request: pytest.FixtureRequest) -> Iterator[tuple[socket.socket, socket.socket]]:
    """A client's and a server's end of one connection."""
    family = socket.AF_INET6 if ":" in request.param else socket.AF_INET
    with socket.create_server((request.param, 0), family=family) as server:
        client = socket.create_connection(server.getsockname()[:2])
        accepted, _ = server.accept()
        with client, accepted:
            yield client, accepted


@pytest.mark.parametrize("way", [tcp_users._asked, tcp_users._read], ids=["sock_diag", "/proc"])
def test_the_user_at_the_other_end_is_told_until_its_process_lets_go(
    way: object, pair: tuple[socket.socket, socket.socket]
) -> None:
    assert callable(way)
    client, accepted = pair
    ends = accepted.getpeername()[:2], accepted.getsockname()[:2]

    assert way(*ends) == os.getuid()
    assert way(*ends[::-1]) == os.getuid()
    assert way((ends[0][0], 1), ends[1]) is None
    client.close()
    assert way(*ends) is None


def test_looking_the_user_up_takes_no_time_to_speak_of(pair: tuple[socket.socket, socket.socket]) -> None:
    _, accepted = pair
    ends = accepted.getpeername()[:2], accepted.getsockname()[:2]
    took_s = []
    for _ in range(200):
        began_s = time.perf_counter()
        tcp_users.user_at(*ends)
        took_s.append(time.perf_counter() - began_s)

    assert sorted(took_s)[len(took_s) // 2] < LOOK_UP_S
