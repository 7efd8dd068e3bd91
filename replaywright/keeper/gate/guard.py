"""The network policy in force, which the proxy asks before it connects, and its refusals so far."""

import time
from dataclasses import dataclass

from replaywright.domain.session.network_policy import (
    ConnectionDecision,
    NetworkPolicy,
    NetworkSeen,
    RefusedHost,
    UnreachedHost,
    decide,
    opens_own,
    traffic_spent,
)
from replaywright.keeper.gate.black_box import BlackBox
from replaywright.keeper.gate.upstream import UpstreamFailed
from replaywright.keeper.host.own_processes import OwnPorts
from replaywright.reaching import Resolver, located, refusal_of_own, why_unreached

REFUSED_LIMIT = 200
"""Hosts, with port and rule, that are remembered as refused; a page can ask for any number of them."""
UNREACHED_LIMIT = 20
"""Hosts that are remembered as giving no answer, the latest ones."""
_HOST_LIMIT = 253
_ADDRESSES_S = 10.0
"""Time for which the addresses of own servers are remembered."""


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
            has_port = None if self._own_ports is None else self._own_ports.has
            decision = refusal_of_own(self.policy, port, address, has_port) or decision
        return _verdict(decision)

    async def learn_own(self, port: int, resolver: Resolver) -> None:
        """Resolve the names of own servers at this port, unless that was done a moment ago."""
        now_s = time.monotonic()
        for service in self.policy.own:
            key = (service.host, service.port)
            if service.port != port or now_s - self._resolved_s.get(key, -_ADDRESSES_S) < _ADDRESSES_S:
                continue
            self._resolved_s[key] = now_s
            self.policy = await located(self.policy, service, resolver)

    def spent_up(self, size: int) -> Verdict | None:
        """Return the refusal of `size` more bytes to be sent; None if they may be."""
        return _refusal(traffic_spent("up_mb", self.policy.up_bytes, self._black_box.bytes_up + size))

    def spent_down(self, size: int = 0) -> Verdict | None:
        """Return the refusal of `size` more bytes to be received; None if they may be."""
        return _refusal(traffic_spent("down_mb", self.policy.down_bytes, self._black_box.bytes_down + size))

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
        self._unreached[key] = (why_unreached(error), isinstance(error, UpstreamFailed), time.monotonic())
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


def _verdict(decision: ConnectionDecision) -> Verdict:
    return Verdict(decision.is_allowed, decision.reason, decision.rule)


def _refusal(decision: ConnectionDecision | None) -> Verdict | None:
    return None if decision is None else _verdict(decision)
