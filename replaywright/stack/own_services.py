"""Services of our own that the settings name, which no page may reach.

Those that run on this machine are found by looking, see `replaywright.keeper.host.own_processes`.
"""

from collections.abc import Iterable
from urllib.parse import urlsplit

from replaywright.domain.session.network_policy import OwnService
from replaywright.settings import Settings

_TEMPORAL, _REDIS, _UI = 7233, 6379, 8233
"""Usual ports."""


def own_services(settings: Settings, redis_nodes: Iterable[tuple[str, int]] = ()) -> tuple[OwnService, ...]:
    """Return what this process reaches by an address of the settings; of a Redis Cluster its `redis_nodes`, too."""
    found = [_at("Temporal", f"//{settings.temporal_address or 'localhost'}", _TEMPORAL)]
    if settings.redis_url is None or not settings.redis_url.startswith("unix:"):
        found.append(_at("Redis", settings.redis_url or "//localhost", _REDIS))
    found += [OwnService(name="Redis", host=host.lower(), port=port) for host, port in redis_nodes]
    usual = {"http": 80, "https": 443}
    ui = settings.temporal_ui_url
    found.append(
        _at("the Temporal UI", "//localhost", _UI)
        if ui is None
        else _at("the Temporal UI", ui, usual.get(urlsplit(ui).scheme, _UI))
    )
    others = {
        "the remote browser": settings.browser_endpoint,
        "the OpenTelemetry collector": settings.otlp_endpoint,
    }
    for name, address in others.items():
        if address is not None:
            scheme = urlsplit(address).scheme.replace("ws", "http", 1)
            found.append(_at(name, address, usual.get(scheme, 80)))
    return tuple(found)


def _at(name: str, address: str, default_port: int) -> OwnService:
    parts = urlsplit(address)
    return OwnService(name=name, host=(parts.hostname or "localhost").lower(), port=parts.port or default_port)
