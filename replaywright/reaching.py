"""Where connections to sites lead: addresses of names, of this machine and of servers of ours, as the system has them.

Shared by the gate of browsers and the client of requests, so that both reach the same and refuse the same.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable

from replaywright.domain.session.network_policy import (
    ConnectionDecision,
    NetworkPolicy,
    OwnService,
    describe,
    is_address,
    is_localhost,
    own_service,
)

CONNECT_TIMEOUT_S = 20.0
ADDRESS_TIMEOUT_S = 4.0
"""Time limit for each address of a name but the last."""
_RESOLVE_S = 2.0

Resolver = Callable[[str, int], Awaitable[list[str]]]
"""Returns the addresses of a name."""


async def resolve(host: str, port: int) -> list[str]:
    """Return the addresses of a name, in the system's order of preference.

    Raises:
        OSError: the name has none.
    """
    try:
        return [str(ipaddress.ip_address(host))]
    except ValueError:
        pass
    if is_localhost(host):  # never asked of a name server
        return ["127.0.0.1", "::1"]
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def why_unreached(error: BaseException) -> str:
    """Return why a site gave no connection, in plain words."""
    match error:
        case TimeoutError():
            return "it did not answer in time"
        case ConnectionRefusedError():
            return "nothing listens there"
        case socket.gaierror():
            return "its name is not known to the name server"
        case _:
            return f"{error!s:.200}"


async def located(policy: NetworkPolicy, service: OwnService, resolver: Resolver) -> NetworkPolicy:
    """Return the policy with the present addresses of an own server; what was known stays if it cannot be resolved."""
    try:
        async with asyncio.timeout(_RESOLVE_S):
            addresses = tuple(await resolver(service.host, service.port))
    except OSError:
        return policy
    key = (service.host, service.port)
    own = tuple(
        each.model_copy(update={"addresses": addresses}) if (each.host, each.port) == key else each
        for each in policy.own
    )
    return policy.model_copy(update={"own": own})


def refusal_of_own(
    policy: NetworkPolicy, port: int, address: str, has_port: Callable[[int], bool] | None
) -> ConnectionDecision | None:
    """Return the refusal of an own server that can only be told from others on this host.

    Args:
        policy: with the own servers that settings name.
        port: port of the connection.
        address: its address.
        has_port: tells if a process of ours listens on a port of this machine; None: nobody knows of any.
    """
    is_here = is_of_this_machine(address)
    for service in policy.own:
        if service.port == port and (_is_here(service) if is_here else _is_unknown(service) and describe(address)):
            return own_service(service.name)
    if is_here and has_port is not None and has_port(port):
        return own_service("a server of Replaywright on this machine")
    return None


def is_of_this_machine(address: str) -> bool:
    """Return whether a connection to this address stays on this machine: loopback, or one of its own addresses."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    inner = getattr(parsed, "ipv4_mapped", None) or parsed
    if inner.is_loopback or inner.is_unspecified:
        return True
    family, kind, protocol, _, place = socket.getaddrinfo(
        address if inner is parsed else str(inner), 0, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST
    )[0]
    try:
        with socket.socket(family, kind, protocol) as probe:
            probe.bind(place)  # only its own addresses can be bound
    except OSError:
        return False
    return True


def _is_here(service: OwnService) -> bool:
    return any(map(is_of_this_machine, (service.host, *service.addresses)))


def _is_unknown(service: OwnService) -> bool:
    """Return whether nobody knows where it is: it may be at any address that is not public."""
    return not service.addresses and not is_address(service.host)
