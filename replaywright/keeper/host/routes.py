"""Upstream proxies of the operator's policy, with their passwords."""

from urllib.parse import urlsplit

from replaywright.domain.session.host_patterns import host_rule
from replaywright.domain.task.policy import Policy, UpstreamProxy
from replaywright.errors import InputInvalid, SecretMissing
from replaywright.keeper.protocol import UpstreamRoute
from replaywright.ports.stores import Secrets


def upstream_routes(policy: Policy | None, secrets: Secrets) -> tuple[UpstreamRoute, ...]:
    """Return the routes that the policy names. A secret may come from a command: not for the event loop.

    Raises:
        InputInvalid: a password is no secret that there is.
    """
    proxies = () if policy is None else policy.proxies
    return tuple(_route(proxy, f"proxies[{index}]", secrets) for index, proxy in enumerate(proxies))


def _route(proxy: UpstreamProxy, field: str, secrets: Secrets) -> UpstreamRoute:
    parts = urlsplit(proxy.server)
    try:
        password = secrets.resolve(proxy.password) if proxy.password else ""
        port = parts.port
    except (SecretMissing, ValueError) as exc:
        raise InputInvalid(f"REPLAYWRIGHT_POLICY: {field}: {exc}") from exc
    return UpstreamRoute(
        scheme="socks5" if parts.scheme == "socks5" else "http",
        host=parts.hostname or "",
        port=port or 0,
        user=proxy.user,
        password=password,
        hosts=tuple(host_rule(each, f"{field}.hosts[{n}]", denies=True) for n, each in enumerate(proxy.hosts)),
    )
