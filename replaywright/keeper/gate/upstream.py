"""Connections to sites, directly or by proxies of the operator's behind the gate.

Proxies are given addresses that the policy has allowed, never names: what a proxy would make of a name, nobody here
could check.
"""

import asyncio
import base64
from collections.abc import Sequence
from contextlib import ExitStack

import h11
from python_socks import ProxyConnectionError, ProxyError, ProxyType
from python_socks.async_.asyncio import Proxy

from replaywright.domain.common.urls import bracketed
from replaywright.domain.session.network_policy import covers
from replaywright.keeper.gate.wire import BufferedConnection
from replaywright.keeper.protocol import UpstreamRoute
from replaywright.reaching import ADDRESS_TIMEOUT_S

_SOCKS_OF_TARGET = frozenset((3, 4, 5, 6))
"""Replies of SOCKS that tell of the address: network or host unreachable, refused, too late (RFC 1928)."""
_HTTP_OF_TARGET = frozenset((502, 503, 504))


class UpstreamFailed(OSError):
    """An upstream proxy gave no connection. Nothing was sent to the site."""

    def __init__(self, route: UpstreamRoute, why: str, *, is_general: bool = False) -> None:
        super().__init__(f"the upstream proxy {route.scheme}://{bracketed(route.host)}:{route.port} {why}")
        self.is_general = is_general
        """It is of the proxy itself, so no other address of the site would do better."""


def route_of(routes: Sequence[UpstreamRoute], host: str, port: int) -> UpstreamRoute | None:
    """Return the first route that has this host; None for a direct connection."""
    return next((route for route in routes if not route.hosts or covers(route.hosts, host, port)), None)


async def first_that_answers(addresses: Sequence[str], port: int, route: UpstreamRoute | None) -> BufferedConnection:
    """Connect to the first of these addresses that answers, by the proxy if there is one.

    Raises:
        OSError: none answers; UpstreamFailed if the proxy is why.
    """
    for address in addresses[:-1]:
        try:
            async with asyncio.timeout(ADDRESS_TIMEOUT_S):
                return await _connected_to(address, port, route)
        except UpstreamFailed as error:
            if error.is_general:
                raise
        except OSError:
            continue
    return await _connected_to(addresses[-1], port, route)


async def _connected_to(address: str, port: int, route: UpstreamRoute | None) -> BufferedConnection:
    if route is None:
        _, wire = await asyncio.get_running_loop().create_connection(BufferedConnection, address, port)
        return wire
    by_proxy = _by_socks if route.scheme == "socks5" else _by_connect
    return await by_proxy(route, address, port)


async def _by_socks(route: UpstreamRoute, address: str, port: int) -> BufferedConnection:
    user, password = (route.user, route.password) if route.user else (None, None)
    proxy = Proxy(ProxyType.SOCKS5, route.host, route.port, user, password, rdns=False)
    try:
        connected = await proxy.connect(address, port)
    except ProxyConnectionError as error:
        raise UpstreamFailed(route, "cannot be reached", is_general=True) from error
    except ProxyError as error:
        is_general = error.error_code not in _SOCKS_OF_TARGET
        raise UpstreamFailed(route, f"refuses: {error!s:.100}", is_general=is_general) from error
    _, wire = await asyncio.get_running_loop().create_connection(BufferedConnection, sock=connected)
    return wire


async def _by_connect(route: UpstreamRoute, address: str, port: int) -> BufferedConnection:
    try:
        _, wire = await asyncio.get_running_loop().create_connection(BufferedConnection, route.host, route.port)
    except OSError as error:
        raise UpstreamFailed(route, "cannot be reached", is_general=True) from error
    with ExitStack() as closing:
        closing.callback(wire.abort)
        await _ask_to_connect(route, wire, f"{bracketed(address)}:{port}")
        closing.pop_all()
    return wire


async def _ask_to_connect(route: UpstreamRoute, wire: BufferedConnection, place: str) -> None:
    asking = h11.Connection(h11.CLIENT)
    headers = [("Host", place)]
    if route.user:
        token = base64.b64encode(f"{route.user}:{route.password}".encode()).decode()
        headers.append(("Proxy-Authorization", f"Basic {token}"))
    wire.write(asking.send(h11.Request(method="CONNECT", target=place, headers=headers)) or b"")
    wire.write(asking.send(h11.EndOfMessage()) or b"")
    try:
        while not isinstance(event := asking.next_event(), h11.Response):
            if event is h11.NEED_DATA:
                asking.receive_data(await wire.read())
            elif isinstance(event, h11.ConnectionClosed):
                raise UpstreamFailed(route, "closed the connection without an answer", is_general=True)
    except h11.RemoteProtocolError as error:
        raise UpstreamFailed(route, "does not answer as an HTTP proxy does", is_general=True) from error
    if event.status_code == 407:
        raise UpstreamFailed(route, "refuses its user or password (407)", is_general=True)
    if not 200 <= event.status_code < 300:
        is_general = event.status_code not in _HTTP_OF_TARGET
        raise UpstreamFailed(route, f"gives no connection to {place} ({event.status_code})", is_general=is_general)
    if asking.trailing_data[0]:
        raise UpstreamFailed(route, "sends data before it was asked for any", is_general=True)
