"""Network policy of a run: the hosts of its task's addresses, and those that its author and its operator name."""

import contextlib
from collections.abc import Iterator, Mapping
from ipaddress import ip_network
from typing import Literal, TypeAlias

from pydantic import BaseModel

from replaywright.domain.common.elsewhere import MB
from replaywright.domain.common.templates import fill, parameters_in
from replaywright.domain.common.urls import WebAddress, address_of, bracketed, web_address
from replaywright.domain.session.host_patterns import host_rule
from replaywright.domain.session.network_policy import USUAL_PORTS, HostRule, HostRules, NetworkPolicy
from replaywright.domain.task.policy import Hosts, Traffic
from replaywright.domain.task.steps import Goto
from replaywright.domain.task.tasks import Task
from replaywright.errors import InputInvalid

SITE = "own site"
"""Name of the rules of a task whose policy names no hosts."""

_Ports: TypeAlias = Literal["one", "usual", "all"]


def host_rules(name: str, hosts: Hosts, field: str = "hosts", *, is_operators: bool = False) -> HostRules:
    """Parse all patterns of one author.

    Raises:
        InputInvalid: one of them is no pattern.
    """
    return HostRules(
        name=name,
        allow=tuple(host_rule(each, f"{field}.allow[{index}]") for index, each in enumerate(hosts.allow)),
        deny=tuple(host_rule(each, f"{field}.deny[{index}]", denies=True) for index, each in enumerate(hosts.deny)),
        is_operators=is_operators,
    )


def site_rules(task: Task, values: Mapping[str, str]) -> tuple[HostRule, ...]:
    """Return rules for the task's own addresses: the start page and the gotos.

    Each gives its host and port; without a port, 80 and 443, because sites redirect between them. A name also gives its
    variant with or without `www.`. The operator decides on addresses that are not public. Unreadable ones are skipped.
    """
    found: dict[tuple[str, int | None], HostRule] = {}
    for address in _addresses(task, values):
        for rule in _rules_of(address):
            found.setdefault((rule.host, rule.port), rule)
    return tuple(found.values())


def network_policy(task: Task, values: Mapping[str, str]) -> NetworkPolicy:
    """Return the network policy that a run of the task asks for, with these values of its parameters.

    Raises:
        InputInvalid: one of the task's patterns is no pattern.
    """
    hosts = None if task.policy is None else task.policy.hosts
    traffic = Traffic() if task.policy is None else task.policy.traffic
    wanted = HostRules(name=SITE) if hosts is None else host_rules("task", hosts, "policy.hosts")
    own = wanted.model_copy(update={"allow": (*site_rules(task, values), *wanted.allow)})
    return NetworkPolicy(
        rules=(own,),
        up_bytes=None if traffic.up_mb is None else traffic.up_mb * MB,
        down_bytes=None if traffic.down_mb is None else traffic.down_mb * MB,
    )


def _rules_of(address: WebAddress) -> Iterator[HostRule]:
    port = None if address.port in USUAL_PORTS else address.port
    ports: _Ports = "usual" if port is None else "one"
    text = bracketed(address.host) + ("" if port is None else f":{port}")
    if address_of(address.host) is not None:
        host = str(ip_network(address.host))
        yield HostRule(text=text, kind="network", host=host, port=port, ports=ports, is_site=True)
        return
    names = [address.host]
    if "." in (bare := address.host.removeprefix("www.")):
        names.append(bare if bare != address.host else f"www.{address.host}")
    for name in names:
        shown = name + text[len(address.host) :]
        yield HostRule(text=shown, kind="name", host=name, port=port, ports=ports, is_site=True)


def _addresses(task: Task, values: Mapping[str, str]) -> Iterator[WebAddress]:
    for url in (task.url, *_gotos(task.steps)):
        if url and not parameters_in(url) - values.keys():
            with contextlib.suppress(InputInvalid):  # refused when it is opened
                yield web_address(fill(url, values))


def _gotos(value: object) -> Iterator[str]:
    """Yield the addresses of all gotos, including those of lists and of `reconcile`."""
    if isinstance(value, Goto):
        yield value.url
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from _gotos(getattr(value, name))
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _gotos(each)
