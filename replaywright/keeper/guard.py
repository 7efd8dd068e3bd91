"""The network policy in force: what the proxy asks before it connects, and what it refused so far."""

import time
from dataclasses import dataclass

from replaywright.domain.network_policy import NetworkPolicy, NetworkSeen, RefusedHost, decide
from replaywright.keeper.black_box import BlackBox

REFUSED_LIMIT = 200
"""Hosts, with port and rule, that are remembered as refused; a page can ask for any number of them."""
_HOST_LIMIT = 253


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a policy says about one destination."""

    is_allowed: bool
    reason: str = ""
    rule: str = ""


@dataclass(slots=True)
class _Refused:
    """What is told of one host that was refused."""

    reason: str
    count: int = 0
    last_s: float = 0.0


class Guard:
    """Answers for one session."""

    def __init__(self, policy: NetworkPolicy, black_box: BlackBox) -> None:
        self.policy = policy
        """In force for whatever is asked from now on."""
        self._black_box = black_box
        self._refused: dict[tuple[str, int, str], _Refused] = {}
        self._more = 0

    def begin(self, policy: NetworkPolicy) -> None:
        """Rule by this policy from now on, and know of nothing that was refused before."""
        self.policy = policy
        self._refused.clear()
        self._more = 0

    def decide(self, host: str, port: int, address: str | None) -> Verdict:
        """Whether a connection may be made; see `replaywright.domain.network_policy.decide`."""
        if (spent := self.spent_up(1) or self.spent_down(1)) is not None:
            return spent
        decision = decide(self.policy, host, port, address)
        return Verdict(decision.is_allowed, decision.reason, decision.rule)

    def spent_up(self, size: int) -> Verdict | None:
        """What refuses to send `size` more bytes; None if they may be sent."""
        return _spent("up_mb", self.policy.up_bytes, self._black_box.bytes_up + size)

    def spent_down(self, size: int = 0) -> Verdict | None:
        """What refuses to take `size` more bytes than were received; None if they may be taken."""
        return _spent("down_mb", self.policy.down_bytes, self._black_box.bytes_down + size)

    def note(self, host: str, port: int, verdict: Verdict) -> None:
        """Remember what was refused."""
        key = (host[:_HOST_LIMIT], port, verdict.rule)
        known = self._refused.get(key)
        if known is None:
            if len(self._refused) >= REFUSED_LIMIT:
                self._more += 1
                return
            known = self._refused[key] = _Refused(verdict.reason)
        known.count += 1
        known.last_s = time.monotonic()

    def seen(self, since_monotonic_s: float) -> NetworkSeen:
        """What was refused at or after an instant, with the totals of the session."""
        return NetworkSeen(
            policy=self.policy,
            refused=tuple(
                RefusedHost(host=host, port=port, rule=rule, reason=known.reason, count=known.count)
                for (host, port, rule), known in self._refused.items()
                if known.last_s >= since_monotonic_s
            ),
            more=self._more,
            bytes_up=self._black_box.bytes_up,
            bytes_down=self._black_box.bytes_down,
        )


def _spent(name: str, limit: int | None, total: int) -> Verdict | None:
    if limit is None or total <= limit:
        return None
    return Verdict(False, f"this session has used up its {limit:,} bytes: raise traffic.{name}", f"traffic.{name}")
