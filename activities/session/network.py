"""The network policy of a session, decided again where a step opens a page, and told where one was refused."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from replaywright.domain.common.urls import bracketed, web_address
from replaywright.domain.session.network_policy import NetworkPolicy, NetworkSeen, decide
from replaywright.errors import InputInvalid, PolicyBlocked, SessionLost

ADDRESS = "addresses of pages"
"""Name of the rule that only http and https addresses are opened, and only those that can be read in one way."""


@dataclass(frozen=True)
class Network:
    """Network policy that one session's keeper enforces."""

    policy: NetworkPolicy
    seen: Callable[[float | None], Awaitable[NetworkSeen]]
    """Requests refused since an instant of the host's monotonic clock, or ever."""

    def check(self, url: str) -> None:
        """See that a step may open `url`, before the browser is told of it.

        Raises:
            PolicyBlocked: a rule forbids it; its message names the rule, and what to do.
        """
        try:
            address = web_address(url, "goto")
        except InputInvalid as exc:
            raise PolicyBlocked(str(exc), rule=ADDRESS) from exc
        decision = decide(self.policy, address.host, address.port)
        if not decision.is_allowed:
            message = f"{bracketed(address.host)}:{address.port} is not allowed: {decision.reason}"
            raise PolicyBlocked(message, rule=decision.rule)

    async def refusal_of(self, url: str, since_monotonic_s: float, *, dispatched: bool) -> PolicyBlocked | None:
        """The rule for which the keeper did not let the page at `url` come; None if that is not why, or nobody knows.

        What a site answers cannot feign it: the keeper itself is asked.
        """
        place, seen = await self._asked(url, since_monotonic_s)
        found = next((each for each in seen.refused if (each.host, each.port) == place), None)
        if found is None:
            return None
        message = f"{bracketed(found.host)}:{found.port} is not allowed: {found.reason}"
        return PolicyBlocked(message, rule=found.rule, dispatched=dispatched)

    async def unreached(self, url: str, since_monotonic_s: float) -> str:
        """Say why the keeper got no answer for the page at `url`; empty if that is not why, or nobody knows."""
        place, seen = await self._asked(url, since_monotonic_s)
        found = next((each for each in seen.unreached if (each.host, each.port) == place), None)
        if found is None:
            return ""
        place_shown = f"{bracketed(found.host)}:{found.port}"
        if found.is_by_proxy:
            return f"{place_shown} was not asked: {found.reason} (`proxies` of the operator's policy)"
        return f"{place_shown} gave no answer: {found.reason}"

    async def _asked(self, url: str, since_monotonic_s: float) -> tuple[tuple[str, int], NetworkSeen]:
        """Return host and port of `url`, and what the keeper saw; nothing if nobody knows."""
        try:
            address = web_address(url)
            return (address.host, address.port), await self.seen(since_monotonic_s)
        except (InputInvalid, SessionLost):
            return ("", 0), NetworkSeen()
