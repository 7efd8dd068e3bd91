"""The only way out of a client: connections that the network policy allows, and the bytes that pass them.

A name is resolved once and the connection goes to that very address, as in the gate of browsers, and in its order.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass

import httpcore

from replaywright.domain.common.urls import bracketed
from replaywright.domain.session.network_policy import (
    ConnectionDecision,
    HostRule,
    NetworkPolicy,
    covers,
    decide,
    opens_own,
    traffic_spent,
)
from replaywright.errors import PolicyBlocked, RequestNotSent
from replaywright.reaching import ADDRESS_TIMEOUT_S, CONNECT_TIMEOUT_S, Resolver, located, refusal_of_own


@dataclass(slots=True)
class RequestUnderWay:
    """One request on its way."""

    acts: bool
    """It may change something, so it never leaves twice."""
    before_send: Callable[[], Awaitable[None]] | None = None
    has_acted: bool = False
    """An earlier one, which led to this by a redirect, may have changed something."""
    body_bytes: int = 0
    is_asking: bool = False
    """`before_send` is under way, or has failed."""
    is_sent: bool = False
    has_answer: bool = False

    @property
    def may_have_acted(self) -> bool:
        """True unless it is certain that nothing has left that may change something."""
        return self.has_acted or (self.acts and self.is_sent)


class Outlet:
    """The way out of one client, with its policy and its bytes so far."""

    def __init__(
        self,
        policy: NetworkPolicy,
        *,
        not_direct: Sequence[HostRule],
        has_own_port: Callable[[int], bool] | None,
        resolver: Resolver,
    ) -> None:
        self.bytes_up = 0
        self.bytes_down = 0
        self._policy = policy
        self._not_direct = not_direct
        self._has_own_port = has_own_port
        self._resolver = resolver
        self._network = httpcore.AnyIOBackend()

    async def connect(self, host: str, port: int, departure: RequestUnderWay) -> httpcore.AsyncNetworkStream:
        """Connect to the first address of the host that answers; all of them must be allowed.

        Raises:
            OSError: the name has no address, or time ran out; failures of httpcore if no address answers.
            PolicyBlocked: the policy refuses the host, or an address.
            RequestNotSent: no direct connection leads to the host.
        """
        self._check_traffic(host, port, 1, 1, departure)
        self._check(host, port, decide(self._policy, host, port), departure)
        if covers(self._not_direct, host, port):
            raise RequestNotSent(
                f"{bracketed(host)}:{port}: the operator's policy names a proxy or a client certificate for this host, "
                "which only browsers use"
            )
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            addresses = await self._resolver(host, port)
            policy = self._policy
            for service in policy.own:
                if service.port == port:
                    policy = await located(policy, service, self._resolver)
            for address in addresses:
                self._check(host, port, self._decision(policy, host, port, address), departure)
            for address in addresses[:-1]:
                try:
                    return await self._network.connect_tcp(address, port, timeout=ADDRESS_TIMEOUT_S)
                except (httpcore.ConnectError, httpcore.ConnectTimeout):
                    continue
            return await self._network.connect_tcp(addresses[-1], port)

    def admit(self, host: str, port: int, size: int, departure: RequestUnderWay) -> None:
        """Let bytes of a request leave.

        Raises:
            PolicyBlocked: with the rest of the request they are more than the policy allows.
        """
        rest = 0 if departure.is_sent else departure.body_bytes
        self._check_traffic(host, port, size + rest, 0, departure)

    def take(self, host: str, port: int, size: int, departure: RequestUnderWay) -> None:
        """Count bytes that came.

        Raises:
            PolicyBlocked: they are more than the policy allows.
        """
        self.bytes_down += size
        self._check_traffic(host, port, 0, 0, departure)

    def _decision(self, policy: NetworkPolicy, host: str, port: int, address: str) -> ConnectionDecision:
        decision = decide(policy, host, port, address)
        if decision.is_allowed and not opens_own(policy, host, port):
            return refusal_of_own(policy, port, address, self._has_own_port) or decision
        return decision

    def _check_traffic(self, host: str, port: int, up: int, down: int, departure: RequestUnderWay) -> None:
        spent = traffic_spent("up_mb", self._policy.up_bytes, self.bytes_up + up) or traffic_spent(
            "down_mb", self._policy.down_bytes, self.bytes_down + down
        )
        if spent is not None:
            self._check(host, port, spent, departure)

    @staticmethod
    def _check(host: str, port: int, decision: ConnectionDecision, departure: RequestUnderWay) -> None:
        if not decision.is_allowed:
            message = f"{host}:{port} is blocked by the rule {decision.rule}: {decision.reason}"
            raise PolicyBlocked(message, rule=decision.rule, dispatched=departure.may_have_acted)


class SiteConnection:
    """A connection to one origin, and the request that it carries."""

    def __init__(self, outlet: Outlet, origin: httpcore.Origin, tls: ssl.SSLContext | None) -> None:
        self.outlet = outlet
        self.host, self.port = origin.host.decode("ascii"), origin.port
        self.departure = RequestUnderWay(acts=False)
        self.connection = httpcore.AsyncHTTPConnection(origin, ssl_context=tls, network_backend=_Backend(self))


class _Backend(httpcore.AsyncNetworkBackend):
    """Connects as the outlet does."""

    def __init__(self, line: SiteConnection) -> None:
        self._line = line

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109, ARG002 - httpcore's; the outlet has its own limit
        local_address: str | None = None,  # noqa: ARG002 - as above
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,  # noqa: ARG002 - as above
    ) -> httpcore.AsyncNetworkStream:
        """Connect to a site; see `Outlet.connect`."""
        return _Stream(self._line, await self._line.outlet.connect(host, port, self._line.departure))


class _Stream(httpcore.AsyncNetworkStream):
    """A connection whose bytes are counted, and whose requests ask before they leave."""

    def __init__(self, line: SiteConnection, stream: httpcore.AsyncNetworkStream) -> None:
        self._line = line
        self._stream = stream

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 - httpcore's interface
        """Return what has come; empty at the end."""
        line = self._line
        data = await self._stream.read(max_bytes, timeout)
        line.departure.has_answer |= bool(data)
        line.outlet.take(line.host, line.port, len(data), line.departure)
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109 - httpcore's interface
        """Send bytes of a request; before the first ones, ask."""
        if not buffer:
            return
        line, departure = self._line, self._line.departure
        line.outlet.admit(line.host, line.port, len(buffer), departure)
        if not departure.is_sent and departure.before_send is not None:
            departure.is_asking = True
            await departure.before_send()
            departure.is_asking = False
        departure.is_sent = True
        line.outlet.bytes_up += len(buffer)
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        """Close the connection."""
        await self._stream.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's interface
    ) -> httpcore.AsyncNetworkStream:
        """Return the connection with TLS."""
        return _Stream(self._line, await self._stream.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> object:
        """Return what httpcore asks about the connection."""
        return self._stream.get_extra_info(info)
