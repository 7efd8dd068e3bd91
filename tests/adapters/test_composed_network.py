"""Browsers of docker-compose.yml: what their keepers let through, with the services at addresses of their networks."""

from collections.abc import Iterator, Mapping
from ipaddress import ip_network
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from ops.check_compose import ROOT
from replaywright.domain.policy.host_rules import network_policy
from replaywright.domain.policy.policy_hosts import narrowed
from replaywright.domain.session.network_policy import NetworkPolicy
from replaywright.domain.task.policy import Policy
from replaywright.domain.task.tasks import parse_task
from replaywright.policy_files import read_policy
from replaywright.settings import Settings
from replaywright.stack.own_services import own_services
from tests.adapters.test_keeper_guard import connect, get
from tests.adapters.test_keeper_proxy import rig
from tests.composed import Composed

PORTS = {"temporal": 7233, "temporal-ui": 8080, "redis-ledger": 6379, "otel-collector": 4318, "prometheus": 9090}
WEBMAIL = "10.213.77.10"


@pytest.fixture
def composed(tmp_path: Path) -> Composed:
    return Composed(tmp_path, {}, {})


def names(composed: Composed) -> dict[str, list[str]]:
    """The addresses that an engine's name server would give each service, one in each of its networks."""
    networks: Mapping[str, Any] = composed.networks
    hosts = {
        name: (str(address) for address in ip_network(declared["ipam"]["config"][0]["subnet"]).hosts())
        for name, declared in networks.items()
    }
    for each in hosts.values():
        next(each)  # the gateway
    return {name: [next(hosts[network]) for network in service["networks"]] for name, service in _with_names(composed)}


def _with_names(composed: Composed) -> Iterator[tuple[str, Mapping[str, Any]]]:
    return ((name, service) for name, service in composed.services.items() if service.get("networks"))


def policy(composed: Composed, *wide: str) -> NetworkPolicy:
    """Of a keeper there, for a task that asks for everything, with the operator's file and more of `wide`."""
    environment = composed.services["worker-browser"]["environment"]
    settings = Settings(
        temporal_address=environment["REPLAYWRIGHT_TEMPORAL_ADDRESS"],
        redis_url="redis://worker:secret@redis-ledger:6379/0",
        temporal_ui_url=environment["REPLAYWRIGHT_TEMPORAL_UI_URL"],
        otlp_endpoint=environment["REPLAYWRIGHT_OTLP_ENDPOINT"],
        own_networks=environment["REPLAYWRIGHT_OWN_NETWORKS"],
    )
    operator = read_policy(str(ROOT / "ops" / "policy.yaml"))
    assert operator.hosts is not None
    hosts = operator.hosts.model_copy(update={"allow": (*operator.hosts.allow, *wide)})
    asked = {"hosts": {"allow": ["*:*", "10.0.0.0/8:*", "evil.example:*"]}}
    task = parse_task(
        {
            "task": "t",
            "url": "https://evil.example/",
            "policy": asked,
            "steps": [{"action": "click", "instruction": "x"}],
        },
        "t.yaml",
    )
    network = narrowed(network_policy(task, {}), Policy(name="compose", hosts=hosts), ())
    return network.model_copy(update={"own": own_services(settings), "own_networks": settings.networks_of_own})


@pytest.mark.parametrize("wide", [(), ("10.0.0.0/8:*", "evil.example:*=10.0.0.0/8")])
async def test_no_page_gets_to_a_service_by_its_name_its_address_or_another_name(
    composed: Composed, wide: tuple[str, ...]
) -> None:
    known = names(composed)
    asked = {service: [each for each in known[service] if not each.startswith("10.213.77.")] for service in PORTS}
    through, tried = [], count()

    async def resolve(host: str, _port: int) -> list[str]:
        return pointed if host == "evil.example" else known.get(host, [host])

    async with rig(policy=policy(composed, *wide), resolver=resolve) as it:
        for service, port in PORTS.items():
            for pointed in [[address] for address in asked[service]]:
                for host in (service, pointed[0], "evil.example"):
                    for ask in (get, connect):
                        next(tried)
                        if not (await it.ask(ask(host, port))).startswith(b"HTTP/1.1 403 "):
                            through.append((host, port, pointed))

    assert next(tried) >= 2 * 3 * len(PORTS)
    assert through == []


async def test_the_webmail_is_reached_and_nothing_beside_it_in_its_network(composed: Composed) -> None:
    guard_policy = policy(composed)
    async with rig(policy=guard_policy) as it:
        assert it.guard.decide(WEBMAIL, 8025, WEBMAIL).is_allowed
        assert not it.guard.decide(WEBMAIL, 22, WEBMAIL).is_allowed
        assert not it.guard.decide("10.213.77.1", 80, "10.213.77.1").is_allowed


def test_browsers_share_no_network_with_services_but_those_that_keepers_close(composed: Composed) -> None:
    own = composed.services["worker-browser"]["environment"]["REPLAYWRIGHT_OWN_NETWORKS"].split(",")
    for network in composed.services["worker-browser"]["networks"]:
        within = {name for name, service in _with_names(composed) if network in service["networks"]}
        subnet = composed.networks[network]["ipam"]["config"][0]["subnet"]
        assert subnet in own or within == {"worker-browser", "demo-site"}
    for name in composed.services:
        if name.startswith("worker-"):
            assert not composed.services[name].get("ports"), "DevTools, metrics and proxies are published nowhere"
