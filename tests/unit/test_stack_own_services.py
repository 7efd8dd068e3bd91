"""The servers of ours that no page is to reach."""

import pytest

from replaywright.settings import Settings
from replaywright.stack.own_services import own_services


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, {("localhost", 7233), ("localhost", 6379), ("localhost", 8233)}),
        (
            {
                "temporal_address": "Temporal.corp:7000",
                "redis_url": "rediss://user:pw@[fd00::1]:6380/0",
                "temporal_ui_url": "https://ui.corp/",
            },
            {("temporal.corp", 7000), ("fd00::1", 6380), ("ui.corp", 443)},
        ),
        ({"redis_url": "unix:///run/redis.sock"}, {("localhost", 7233), ("localhost", 8233)}),
        (
            {"otlp_endpoint": "http://collector:4318"},
            {("localhost", 7233), ("localhost", 6379), ("localhost", 8233), ("collector", 4318)},
        ),
        ({"redis_url": "redis://127.0.0.1"}, {("localhost", 7233), ("127.0.0.1", 6379), ("localhost", 8233)}),
    ],
)
def test_they_are_known_by_the_settings(settings: dict[str, object], expected: set[tuple[str, int]]) -> None:
    found = own_services(Settings(**settings))  # type: ignore[arg-type]  # as from the environment

    assert {(service.host, service.port) for service in found} == expected


def test_of_a_redis_cluster_every_node_is_known() -> None:
    settings = Settings(redis_url="redis+cluster://Redis.corp:7000")

    found = own_services(settings, [("10.0.0.1", 7001), ("10.0.0.2", 7002)])

    nodes = {(service.host, service.port) for service in found if service.name == "Redis"}
    assert nodes == {("redis.corp", 7000), ("10.0.0.1", 7001), ("10.0.0.2", 7002)}
