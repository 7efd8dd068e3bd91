"""The network policy in force, which the proxy asks before it connects, and its refusals so far."""

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from replaywright.domain.session.network_policy import (
    ConnectionDecision,
    NetworkPolicy,
    NetworkSeen,
    OwnService,
    RefusedHost,
    UnreachedHost,
    decide,
    describe,
    is_address,
    opens_own,
    own_service,
)
from replaywright.keeper.gate.black_box import BlackBox
from replaywright.keeper.gate.upstream import UpstreamFailed
from replaywright.keeper.host.own_processes import OwnPorts, is_of_this_machine

REFUSED_LIMIT = 200
"""Hosts, with port and rule, that are remembered as refused; a page can ask for any number of them."""
UNREACHED_LIMIT = 20
"""Hosts that are remembered as giving no answer, the latest ones."""
_HOST_LIMIT = 253
_ADDRESSES_S = 10.0
"""Time for which the addresses of own servers are remembered."""
_RESOLVE_S = 2.0

Resolver = Callable[[str, int], Awaitable[list[str]]]
"""Returns the addresses of a name."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Verdict of a policy on one destination."""

    is_allowed: bool
    reason: str = ""
    rule: str = ""


@dataclass(slots=True)
class _Refused:
    """Refusals of one host."""

    reason: str
    count: int = 0
    last_s: float = 0.0


class NetworkGuard:
    """Network policy of one session."""

    def __init__(self, policy: NetworkPolicy, black_box: BlackBox, own_ports: OwnPorts | None = None) -> None:
        """Without `own_ports`, own servers are those that the policy lists."""
        self.policy = policy
        """Policy for all requests from now on."""
        self._black_box = black_box
        self._own_ports = own_ports
        self._resolved_s: dict[tuple[str, int], float] = {}
        self._refused: dict[tuple[str, int, str], _Refused] = {}
        self._more = 0
        self._unreached: dict[tuple[str, int], tuple[str, bool, float]] = {}
        """Reason, whether an upstream proxy is why, and instant of the monotonic clock."""

    def begin(self, policy: NetworkPolicy) -> None:
        """Rule by this policy from now on, and know of nothing that was refused before."""
        self.policy = policy
        self._refused.clear()
        self._more = 0
        self._unreached.clear()

    def decide(self, host: str, port: int, address: str | None) -> Verdict:
        """Decide on a connection; see `replaywright.domain.session.network_policy.decide`."""
        if (spent := self.spent_up(1) or self.spent_down(1)) is not None:
            return spent
        decision = decide(self.policy, host, port, address)
        if decision.is_allowed and address is not None and not opens_own(self.policy, host, port):
            decision = self._on_own(port, address) or decision
        return Verdict(decision.is_allowed, decision.reason, decision.rule)

    async def learn_own(self, port: int, resolver: Resolver) -> None:
        """Resolve the names of own servers at this port, unless that was done a moment ago."""
        now_s = time.monotonic()
        for service in self.policy.own:
            key = (service.host, service.port)
            if service.port != port or now_s - self._resolved_s.get(key, -_ADDRESSES_S) < _ADDRESSES_S:
                continue
            self._resolved_s[key] = now_s
            try:
                async with asyncio.timeout(_RESOLVE_S):
                    addresses = tuple(await resolver(service.host, service.port))
            except OSError:  # what was known of it stays known
                continue
            own = tuple(
                each.model_copy(update={"addresses": addresses}) if (each.host, each.port) == key else each
                for each in self.policy.own
            )
            self.policy = self.policy.model_copy(update={"own": own})

    def _on_own(self, port: int, address: str) -> ConnectionDecision | None:
        """Return the refusal of an own server that can only be told from others on this host."""
        is_here = is_of_this_machine(address)
        for service in self.policy.own:
            if service.port == port and (_is_here(service) if is_here else _is_unknown(service) and describe(address)):
                return own_service(service.name)
        if is_here and self._own_ports is not None and self._own_ports.has(port):
            return own_service("a server of Replaywright on this machine")
        return None

    def spent_up(self, size: int) -> Verdict | None:
        """Return the refusal of `size` more bytes to be sent; None if they may be."""
        return _spent("up_mb", self.policy.up_bytes, self._black_box.bytes_up + size)

    def spent_down(self, size: int = 0) -> Verdict | None:
        """Return the refusal of `size` more bytes to be received; None if they may be."""
        return _spent("down_mb", self.policy.down_bytes, self._black_box.bytes_down + size)

    def note(self, host: str, port: int, verdict: Verdict) -> None:
        """Remember a refusal."""
        key = (host[:_HOST_LIMIT], port, verdict.rule)
        known = self._refused.get(key)
        if known is None:
            if len(self._refused) >= REFUSED_LIMIT:
                self._more += 1
                return
            known = self._refused[key] = _Refused(verdict.reason)
        known.count += 1
        known.last_s = time.monotonic()

    def note_unreached(self, host: str, port: int, error: Exception) -> None:
        """Remember why a host that is allowed gave no answer."""
        key = (host[:_HOST_LIMIT], port)
        self._unreached.pop(key, None)
        self._unreached[key] = (_why_unreached(error), isinstance(error, UpstreamFailed), time.monotonic())
        if len(self._unreached) > UNREACHED_LIMIT:
            del self._unreached[next(iter(self._unreached))]

    def seen(self, since_monotonic_s: float) -> NetworkSeen:
        """Return the refusals at or after an instant, with the totals of the session."""
        return NetworkSeen(
            policy=self.policy,
            refused=tuple(
                RefusedHost(host=host, port=port, rule=rule, reason=known.reason, count=known.count)
                for (host, port, rule), known in self._refused.items()
                if known.last_s >= since_monotonic_s
            ),
            more=self._more,
            unreached=tuple(
                UnreachedHost(host=host, port=port, reason=reason, is_by_proxy=is_by_proxy)
                for (host, port), (reason, is_by_proxy, last_s) in self._unreached.items()
                if last_s >= since_monotonic_s
            ),
            bytes_up=self._black_box.bytes_up,
            bytes_down=self._black_box.bytes_down,
        )


def _why_unreached(error: Exception) -> str:
    match error:
        case TimeoutError():
            return "it did not answer in time"
        case ConnectionRefusedError():
            return "nothing listens there"
        case socket.gaierror():
            return "its name is not known to the name server"
        case _:
            return f"{error!s:.200}"


def _spent(name: str, limit: int | None, total: int) -> Verdict | None:
    if limit is None or total <= limit:
        return None
    return Verdict(False, f"this session has used up its {limit:,} bytes: raise traffic.{name}", f"traffic.{name}")


def _is_here(service: OwnService) -> bool:
    return any(map(is_of_this_machine, (service.host, *service.addresses)))


def _is_unknown(service: OwnService) -> bool:
    """Return whether nobody knows where it is: it may be at any address that is not public."""
    return not service.addresses and not is_address(service.host)
