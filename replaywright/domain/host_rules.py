"""How people write where connections may go, and the rules that follow from a task's own addresses.

A pattern is one of

    shop.example              this name
    *.shop.example            its subdomains, not the name itself
    *                         every name and every public address
    203.0.113.7, [2001:db8::7], 10.1.0.0/16, [fd00::]/8     this address, or the addresses of this network
    wiki.corp=10.1.2.0/24     this name, also where it leads to one of these addresses that are not public

each also with `:port`, or `:*` for every port, before the `=`. Without a port, a pattern that allows is for 80 and 443,
one that denies is for every port.
"""

import contextlib
import re
from collections.abc import Iterator, Mapping
from ipaddress import ip_network
from typing import TYPE_CHECKING, Literal, TypeAlias

from pydantic import BaseModel

from replaywright.domain.network_policy import ANYWHERE, USUAL_PORTS, HostRule, HostRules, NetworkPolicy
from replaywright.domain.steps import Goto
from replaywright.domain.templates import fill, parameters_in
from replaywright.domain.urls import WebAddress, address_of, bracketed, canonical_name, web_address
from replaywright.errors import InputInvalid

if TYPE_CHECKING:  # a policy's own fields are read here
    from replaywright.domain.policy import Hosts, Traffic
    from replaywright.domain.tasks import Task

SITE = "own site"
"""Name of the rules of a task whose policy names no hosts."""

_Kind: TypeAlias = Literal["name", "subdomains", "network", "any"]
_Ports: TypeAlias = Literal["one", "usual", "all"]

_MB = 1024 * 1024
_SHOWN = 100
_PATTERN = re.compile(r"(?P<host>\[[^\]]*\](?:/\d{1,3})?|[^:=\[\]]*)(?::(?P<port>\d{1,5}|\*))?(?:=(?P<addresses>.*))?")
_LOOPBACK = ("127.0.0.0/8", "::1/128")


def host_rule(pattern: str, field: str, *, denies: bool = False) -> HostRule:
    """Read one pattern.

    Raises:
        InputInvalid: it is none; the message names field, value and remedy.
    """
    text = pattern.strip()
    found = _PATTERN.fullmatch(text)
    if found is None:
        raise _no_pattern(field, pattern, "write host, host:port, *.host, an address or a network")
    kind, host = _kind_and_host(found["host"], field, pattern)
    port, ports = _ports(found["port"], field, pattern, denies=denies)
    named = found["addresses"]
    if named is not None and (kind == "network" or denies):
        raise _no_pattern(field, pattern, "addresses after '=' are for names that are allowed")
    addresses = () if named is None else tuple(_network(each, field, pattern) for each in named.split(","))
    if _is_here(host):
        addresses = (*addresses, *_LOOPBACK)
    return HostRule(text=text, kind=kind, host=host, port=port, ports=ports, addresses=addresses)


def host_rules(name: str, hosts: "Hosts", field: str = "hosts", *, is_operators: bool = False) -> HostRules:
    """Read all patterns of one author.

    Raises:
        InputInvalid: one of them is none.
    """
    return HostRules(
        name=name,
        allow=tuple(host_rule(each, f"{field}.allow[{index}]") for index, each in enumerate(hosts.allow)),
        deny=tuple(host_rule(each, f"{field}.deny[{index}]", denies=True) for index, each in enumerate(hosts.deny)),
        is_operators=is_operators,
    )


def site_rules(task: "Task", values: Mapping[str, str]) -> tuple[HostRule, ...]:
    """What a task may reach because it says so by its own addresses: that of its start, and those of its gotos.

    Each gives its host and port; without a port in it, 80 and 443, because sites lead from the one to the other. A name
    also gives the one with `www.` before it, or without. Whether an address that is not public may be reached is the
    operator's to say. What cannot be read gives nothing.
    """
    found: dict[tuple[str, int | None], HostRule] = {}
    for address in _addresses(task, values):
        for rule in _rules_of(address):
            found.setdefault((rule.host, rule.port), rule)
    return tuple(found.values())


def network_policy(
    task: "Task",
    values: Mapping[str, str],
    *,
    hosts: "Hosts | None" = None,
    limit: HostRules | None = None,
    traffic: "Traffic | None" = None,
) -> NetworkPolicy:
    """What holds for the sessions of a run.

    Args:
        task: what the run does.
        values: of its parameters.
        hosts: what the task asks for beside its own site.
        limit: what an operator allows: the run reaches what both allow.
        traffic: how much may be sent and received.

    Raises:
        InputInvalid: a pattern is none.
    """
    wanted = HostRules(name=SITE) if hosts is None else host_rules("task", hosts, "policy.hosts")
    own = wanted.model_copy(update={"allow": (*site_rules(task, values), *wanted.allow)})
    return NetworkPolicy(
        rules=(own,) if limit is None else (limit, own),
        up_bytes=None if traffic is None or traffic.up_mb is None else traffic.up_mb * _MB,
        down_bytes=None if traffic is None or traffic.down_mb is None else traffic.down_mb * _MB,
    )


def unrestricted() -> NetworkPolicy:
    """Every public host: what a session has whose workflow is older than policies."""
    return NetworkPolicy(rules=(ANYWHERE,))


# ------------------------------------------------------------------------------------------- patterns


def _kind_and_host(text: str, field: str, pattern: str) -> tuple[_Kind, str]:
    if text == "*":
        return "any", ""
    if text.startswith("[") or "/" in text or address_of(text) is not None:
        return "network", _network(text.replace("[", "").replace("]", ""), field, pattern)
    is_under = text.startswith("*.")
    name = canonical_name(text[2:] if is_under else text)
    if name is None:
        remedy = "a name has letters, digits, hyphens and dots, and '*.' only in front; addresses are in plain digits"
        raise _no_pattern(field, pattern, remedy)
    return "subdomains" if is_under else "name", name


def _ports(text: str | None, field: str, pattern: str, *, denies: bool) -> tuple[int | None, _Ports]:
    if text is None:
        return None, "all" if denies else "usual"
    if text == "*":
        return None, "all"
    if not 0 < int(text) < 65536:
        raise _no_pattern(field, pattern, "ports are 1 to 65535, or '*'")
    return int(text), "one"


def _network(text: str, field: str, pattern: str) -> str:
    try:
        return str(ip_network(text.strip().strip("[]")))
    except ValueError as exc:
        remedy = f"{text.strip()!r} is no address or network, as 10.1.2.3 or 10.1.0.0/16 ({exc})"
        raise _no_pattern(field, pattern, remedy) from exc


def _is_here(host: str) -> bool:
    """Whether a name means this machine whatever a name server says (RFC 6761)."""
    return host == "localhost" or host.endswith(".localhost")


def _no_pattern(field: str, pattern: str, remedy: str) -> InputInvalid:
    return InputInvalid(f"{field}: {pattern[:_SHOWN]!r} is no pattern of hosts: {remedy}")


# ----------------------------------------------------------------------------------------------- site


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


def _addresses(task: "Task", values: Mapping[str, str]) -> Iterator[WebAddress]:
    for url in (task.url, *_gotos(task.steps)):
        if url and not parameters_in(url) - values.keys():
            with contextlib.suppress(InputInvalid):  # it is refused when it is to be opened
                yield web_address(fill(url, values))


def _gotos(value: object) -> Iterator[str]:
    """Addresses of all gotos in steps, those of lists and of `reconcile` among them."""
    if isinstance(value, Goto):
        yield value.url
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from _gotos(getattr(value, name))
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _gotos(each)
