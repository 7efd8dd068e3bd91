"""Host patterns, as people write allowed and denied connections.

A pattern is one of

    shop.example              this name
    *.shop.example            its subdomains, not the name itself
    *                         every name and every public address
    203.0.113.7, [2001:db8::7], 10.1.0.0/16, [fd00::]/8     this address, or the addresses of this network
    wiki.corp=10.1.2.0/24     this name, also if it resolves to one of these private addresses

each with optional `:port`, or `:*` for every port, before the `=`. Without a port, an allowing pattern covers 80 and
443, a denying one every port.
"""

import re
from ipaddress import ip_network
from typing import Literal, TypeAlias

from replaywright.domain.common.urls import address_of, canonical_name
from replaywright.domain.session.network_policy import HostRule, is_localhost
from replaywright.errors import InputInvalid

_Kind: TypeAlias = Literal["name", "subdomains", "network", "any"]
_Ports: TypeAlias = Literal["one", "usual", "all"]

_SHOWN = 100
_PATTERN = re.compile(r"(?P<host>\[[^\]]*\](?:/\d{1,3})?|[^:=\[\]]*)(?::(?P<port>\d{1,5}|\*))?(?:=(?P<addresses>.*))?")
_LOOPBACK = ("127.0.0.0/8", "::1/128")


def host_rule(pattern: str, field: str, *, denies: bool = False) -> HostRule:
    """Parse one pattern.

    Raises:
        InputInvalid: it is invalid; the message has field, value and remedy.
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
    if is_localhost(host):
        addresses = (*addresses, *_LOOPBACK)
    return HostRule(text=text, kind=kind, host=host, port=port, ports=ports, addresses=addresses)


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


def _no_pattern(field: str, pattern: str, remedy: str) -> InputInvalid:
    return InputInvalid(f"{field}: {pattern[:_SHOWN]!r} is no pattern of hosts: {remedy}")
