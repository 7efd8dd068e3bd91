"""Pages that nobody sends are told apart: no listener, no name, no answer, no TLS; and a site's own 502."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from activities.session.network import Network
from bench.leaks.matrix import keeper, only
from replaywright.browser.devtools.attach import ChromiumBrowsers
from replaywright.browser.session import ChromiumSession
from replaywright.domain.session.network_policy import NetworkSeen
from replaywright.domain.task.steps import Goto
from replaywright.errors import ActionFailed
from replaywright.ports.browser import Work

_BAD_GATEWAY = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 4\r\n\r\ndown"


@dataclass
class Place:
    session: ChromiumSession
    network: Network
    closed: int
    """Port on which nothing listens."""
    mute: int
    """Port of a server that closes each connection."""
    broken: int
    """Port of a site that answers 502."""


@pytest.fixture(scope="module")
async def place(chromium_path: Path, browsers: ChromiumBrowsers) -> AsyncIterator[Place]:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(_BAD_GATEWAY)
        await writer.drain()
        writer.close()

    async def close(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with AsyncExitStack() as exits:
        with ExitStack() as held:
            taken = held.enter_context(socket.socket())  # bound and not listening: connections are refused
            taken.bind(("127.0.0.1", 0))
            servers = [await asyncio.start_server(serve, "127.0.0.1", 0) for serve in (close, answer)]
            for server in servers:
                exits.callback(server.close)
            mute, broken = (server.sockets[0].getsockname()[1] for server in servers)
            closed = taken.getsockname()[1]
            hosts = (f"127.0.0.1:{port}" for port in (closed, mute, broken))
            policy = only(*hosts, "no-such-host.invalid")
            rig = await exits.enter_async_context(keeper(chromium_path, policy))
            session = await browsers.attach(rig.endpoint)
            exits.push_async_callback(session.detach)

            async def seen(since_s: float | None) -> NetworkSeen:
                return await rig.keeper.network(since_monotonic_s=since_s)

            yield Place(session, Network(policy, seen), closed, mute, broken)


async def told(place: Place, url: str) -> tuple[ActionFailed, str]:
    begun_s = time.monotonic()
    with pytest.raises(ActionFailed) as failed:
        await place.session.perform(Work(step=Goto(action="goto", url=url), timeout_ms=15_000))
    return failed.value, await place.network.unreached(place.session.wanted_url, begun_s)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        (lambda place: f"http://127.0.0.1:{place.closed}/", "nothing listens there"),
        (lambda place: f"https://127.0.0.1:{place.closed}/", "nothing listens there"),
        (lambda place: f"http://127.0.0.1:{place.mute}/", "the server closed the connection without an answer"),
        (lambda _: "http://no-such-host.invalid/", "its name is not known to the name server"),
    ],
)
async def test_why_a_page_did_not_come_is_told_by_the_keeper(
    place: Place, url: Callable[[Place], str], why: str
) -> None:
    failed, unreached = await told(place, url(place))

    assert failed.reason in ("http_502", "navigation_failed")
    assert unreached.endswith(f" gave no answer: {why}")


async def test_a_502_of_the_site_itself_is_its_answer(place: Place) -> None:
    failed, unreached = await told(place, f"http://127.0.0.1:{place.broken}/")

    assert failed.reason == "http_502"
    assert unreached == ""


async def test_a_site_without_tls_is_told_as_such(place: Place) -> None:
    failed, unreached = await told(place, f"https://127.0.0.1:{place.broken}/")

    assert failed.reason == "navigation_failed"
    assert "TLS with the site failed (ERR_SSL_PROTOCOL_ERROR)" in str(failed)
    assert unreached == ""
