"""Network policy of a session: its data and the decision on a connection.

Pure, and without a URL parser, so that a keeper needs nothing else. A keeper asks twice: for the host before its name
is resolved, and again for each of its addresses. `replaywright.domain.session.host_patterns` has the written form.
"""

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Literal, TypeAlias

from replaywright.domain.common.base import Record

Address: TypeAlias = IPv4Address | IPv6Address

USUAL_PORTS = (80, 443)
"""Ports of an allowing rule without a port."""

_METADATA = frozenset(
    ip_address(text)
    for text in (
        "169.254.169.254",  # AWS, Google, Azure, OpenStack and most others
        "169.254.170.2",  # AWS, credentials of containers
        "169.254.170.23",
        "169.254.169.123",
        "168.63.129.16",  # Azure's own, outside of every reserved range
        "192.0.0.192",  # Oracle
        "100.100.100.200",  # Alibaba
        "fd00:ec2::254",
        "fd00:ec2::23",
        "fd20:ce::254",  # Google
    )
)
"""Addresses where clouds give out credentials of the machine."""

_RANGES = (
    ("unspecified", ("0.0.0.0/8", "::/128")),
    ("loopback", ("127.0.0.0/8", "::1/128")),
    ("link-local", ("169.254.0.0/16", "fe80::/10")),
    ("private", ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fec0::/10")),
    ("shared", ("100.64.0.0/10",)),
    ("multicast", ("224.0.0.0/4", "ff00::/8")),
    ("tunnelled", ("2002::/16", "2001::/32", "64:ff9b:1::/48", "::/96", "::ffff:0:0:0/96")),
    (
        "reserved",
        (
            "192.0.0.0/24",
            "192.0.2.0/24",
            "192.88.99.0/24",
            "198.18.0.0/15",
            "198.51.100.0/24",
            "203.0.113.0/24",
            "240.0.0.0/4",
            "100::/64",
            "2001::/23",
            "2001:db8::/32",
            "3fff::/20",
            "5f00::/16",
        ),
    ),
)
"""Special ranges, which need a rule that names them; the first match is reported. `tunnelled` are IPv6 forms that lead
to an IPv4 address by relays: 6to4, Teredo, local NAT64, IPv4-compatible and -translated."""
_SPECIAL = tuple((name, tuple(ip_network(text) for text in texts)) for name, texts in _RANGES)
_NAT64 = IPv6Network("64:ff9b::/96")
_LOOPBACK = (IPv4Network("127.0.0.0/8"), IPv6Network("::1/128"))


class HostRule(Record):
    """A line of a list of hosts in its comparison form."""

    text: str
    """Pattern as written, for refusals."""
    kind: Literal["name", "subdomains", "network", "any"]
    host: str = ""
    """Name (also of subdomains) in lower case and Punycode, or network in its usual notation."""
    port: int | None = None
    """None: every port of `ports`."""
    ports: Literal["one", "usual", "all"] = "usual"
    addresses: tuple[str, ...] = ()
    """Special networks that a name may lead to."""
    is_site: bool = False
    """True if the rule follows from the task's start address."""

    def covers_port(self, port: int) -> bool:
        """Return True if the rule covers the port."""
        match self.ports:
            case "one":
                return port == self.port
            case "usual":
                return port in USUAL_PORTS
            case _:
                return True

    def covers_host(self, host: str, address: Address | None) -> bool:
        """Return True if the rule covers the host, with its `address` unless it is a name."""
        match self.kind:
            case "any":
                return True
            case "network":
                return address is not None and _within(address, (self.host,))
            case "name":
                return host == self.host
            case _:
                return host.endswith(f".{self.host}")

    def grants(self, address: Address, what: str) -> bool:
        """Return True if it names this special address; a cloud's metadata only individually."""
        named = (self.host,) if self.kind == "network" else self.addresses
        if what == "metadata":
            named = tuple(text for text in named if ip_network(text).num_addresses == 1)
        return _within(address, named)


class HostRules(Record):
    """Rules of one author."""

    name: str
    """Name in refusals."""
    allow: tuple[HostRule, ...] = ()
    deny: tuple[HostRule, ...] = ()
    is_operators: bool = False
    """True for the operator, whose private addresses and names of own services count."""


class OwnService(Record):
    """A server of ours that pages must not reach."""

    name: str
    host: str
    """A name in lower case, or an address."""
    port: int
    addresses: tuple[str, ...] = ()
    """Known addresses of the name."""


class NetworkPolicy(Record):
    """Allowed connections of a session, and their byte limits."""

    rules: tuple[HostRules, ...] = ()
    """All must allow a connection; without rules none is allowed."""
    granted: tuple[HostRule, ...] = ()
    """Private addresses that the operator granted on this machine, beside those of the rules."""
    own: tuple[OwnService, ...] = ()
    own_networks: tuple[str, ...] = ()
    """Networks that are entirely ours."""
    up_bytes: int | None = None
    """Limit on sent bytes of all connections; None for no limit."""
    down_bytes: int | None = None


class ConnectionDecision(Record):
    """Decision on a connection with its rule."""

    is_allowed: bool
    rule: str = ""
    """Refusing rule: `hosts.allow`, `hosts.deny`, `addresses`, `own-service` or `traffic`, after the name of its policy
    and a colon if it has one."""
    reason: str = ""
    """Message with the remedy."""


class RefusedHost(Record):
    """A host that a session asked for and did not get."""

    host: str
    port: int
    rule: str
    """See `ConnectionDecision`."""
    reason: str = ""
    count: int = 1
    """Refused connections."""


class UnreachedHost(Record):
    """A host that the policy allows, and that gave no answer."""

    host: str
    port: int
    reason: str
    is_by_proxy: bool = False
    """The operator's upstream proxy failed, not the host."""


class NetworkSeen(Record):
    """A keeper's record of its network policy."""

    policy: NetworkPolicy = NetworkPolicy()
    refused: tuple[RefusedHost, ...] = ()
    """Refused hosts in order of the first refusal; bounded."""
    more: int = 0
    """Further refused connections."""
    withheld: tuple[RefusedHost, ...] = ()
    """Requests that a canary's browser did not send, by kind."""
    unreached: tuple[UnreachedHost, ...] = ()
    """Hosts without an answer, with the last reason; bounded."""
    bytes_up: int = 0
    bytes_down: int = 0


ALLOWED = ConnectionDecision(is_allowed=True)


def most_refused(refused: Iterable[RefusedHost], limit: int = 30) -> tuple[RefusedHost, ...]:
    """Sum the counts by host, port and rule, most frequent first."""
    found: dict[tuple[str, int, str], RefusedHost] = {}
    for each in refused:
        key = (each.host, each.port, each.rule)
        known = found.get(key)
        count = each.count + (0 if known is None else known.count)
        found[key] = each.model_copy(update={"count": count})
    return tuple(sorted(found.values(), key=lambda each: -each.count)[:limit])


def decide(policy: NetworkPolicy, host: str, port: int, address: str | None = None) -> ConnectionDecision:
    """Decide on a connection to `host`, or to one of its addresses.

    Args:
        policy: the session's policy.
        host: as a browser writes it, in lower case and Punycode; IPv6 with or without brackets.
        port: port of the connection.
        address: one of the host's addresses; None before its name is resolved.
    """
    name = host.strip("[]").lower().rstrip(".")
    literal = parsed_address(name)
    target = literal if address is None else parsed_address(address)
    if target is None and address is not None:
        return ConnectionDecision(is_allowed=False, rule="addresses", reason=f"{address!r} is no address")
    if target is not None and literal not in (None, target):
        return ConnectionDecision(is_allowed=False, rule="addresses", reason=f"{address} is not the address {host}")
    if not policy.rules:
        return ConnectionDecision(is_allowed=False, rule="hosts.allow", reason="no policy allows anything")
    for rules in policy.rules:
        if not (decision := _decide_by(rules, name, port, literal, target)).is_allowed:
            return decision
    if not (decision := _decide_special(policy, name, port, literal, target)).is_allowed:
        return decision
    if (own := _own(policy, name, port, target)) and not opens_own(policy, name, port):
        return own_service(own)
    return ALLOWED


def own_service(name: str) -> ConnectionDecision:
    """Return the refusal of a server of ours."""
    return ConnectionDecision(is_allowed=False, rule="own-service", reason=f"it is {name}, which no page may reach")


def opens_own(policy: NetworkPolicy, host: str, port: int) -> bool:
    """Return True if the operator's policy names exactly this host and port, and so opens our own server."""
    return any(rules.is_operators and any(_names(rule, host, port) for rule in rules.allow) for rules in policy.rules)


def not_granted(rules: Iterable[HostRule], policy: NetworkPolicy) -> ConnectionDecision | None:
    """Return the refusal of the first rule that asks for private addresses without a grant."""
    granting = [*policy.granted, *(rule for each in policy.rules if each.is_operators for rule in each.allow)]
    for rule in rules:
        wanted = (rule.host,) if rule.kind == "network" else rule.addresses
        for network in wanted:
            if _is_public(network) or any(_covers(grant, rule, network) for grant in granting):
                continue
            return _ask_for(f"{rule.text} asks for addresses that are not public", rule.text)
    return None


def covers(rules: Iterable[HostRule], host: str, port: int) -> bool:
    """Return True if one of these rules has the host, by its name as the browser has it."""
    name = host.strip("[]").lower().rstrip(".")
    literal = parsed_address(name)
    return any(rule.covers_host(name, literal) and rule.covers_port(port) for rule in rules)


def traffic_spent(name: Literal["up_mb", "down_mb"], limit: int | None, total: int) -> ConnectionDecision | None:
    """Return the refusal of traffic over the limit of this name; None up to it."""
    if limit is None or total <= limit:
        return None
    reason = f"this session has used up its {limit:,} bytes: raise traffic.{name}"
    return ConnectionDecision(is_allowed=False, rule=f"traffic.{name}", reason=reason)


def grants_nothing(rule: HostRule) -> bool:
    """Return True if the rule names public addresses only."""
    named = (rule.host,) if rule.kind == "network" else rule.addresses
    return all(map(_is_public, named))


def is_address(host: str) -> bool:
    """Return True if the host is an address, not a name."""
    return parsed_address(host) is not None


def is_localhost(host: str) -> bool:
    """Return True if the name means this machine whatever a name server says (RFC 6761)."""
    return host == "localhost" or host.endswith(".localhost")


def describe(address: str) -> str:
    """Return the special range of an address, such as `loopback` or `metadata`; empty for a public one."""
    parsed = parsed_address(address)
    return "reserved" if parsed is None else _special(parsed)


def _decide_by(
    rules: HostRules, host: str, port: int, literal: Address | None, target: Address | None
) -> ConnectionDecision:
    for rule in rules.deny:
        about = rule.covers_host(host, literal) or (rule.kind == "network" and rule.covers_host(host, target))
        if about and rule.covers_port(port):
            denied = f"hosts.deny has {rule.text!r}"
            return ConnectionDecision(is_allowed=False, rule=f"{rules.name}: hosts.deny", reason=denied)
    allowing = [rule for rule in rules.allow if rule.covers_host(host, literal) and rule.covers_port(port)]
    if not allowing:
        hint = f"to allow it, add {_pattern(host, port)!r} to hosts.allow"
        return ConnectionDecision(is_allowed=False, rule=f"{rules.name}: hosts.allow", reason=hint)
    return ALLOWED


def _decide_special(
    policy: NetworkPolicy, host: str, port: int, literal: Address | None, target: Address | None
) -> ConnectionDecision:
    """Decide on an address that is not public, by the operator alone."""
    is_named_here = is_localhost(host)
    if is_named_here and (target is None or not _special(target)):
        target = ip_address("127.0.0.1")
    if target is None or not (what := _special(target)):
        return ALLOWED
    granting = [*policy.granted, *(rule for each in policy.rules if each.is_operators for rule in each.allow)]
    about = (rule for rule in granting if rule.covers_host(host, literal) and rule.covers_port(port))
    if any(rule.grants(target, what) for rule in about):
        return ALLOWED
    is_here = what in ("loopback", "unspecified")
    article = "an" if what[0] in "aeiou" else "a"
    kind = "an address of this machine" if is_here else f"{article} {what} address"
    shown = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    by_itself = literal is not None or is_named_here
    lead = f"{shown} is {kind}" if by_itself else f"{shown} leads to {target}, {kind}"
    return _ask_for(lead, _pattern(host, port) + ("" if by_itself else f"={target}"))


def _ask_for(why: str, pattern: str) -> ConnectionDecision:
    reason = f"{why}; allow it: replaywright admin hosts allow {_quoted(pattern)}"
    return ConnectionDecision(is_allowed=False, rule="addresses", reason=reason)


def _quoted(pattern: str) -> str:
    """Quote a pattern for a command line."""
    return f"'{pattern}'" if set("[]*") & set(pattern) else pattern


def _is_public(network: str) -> bool:
    """Return True if the network has no special address."""
    parsed = ip_network(network)
    if any(each.version == parsed.version and each.overlaps(parsed) for _, networks in _SPECIAL for each in networks):
        return False
    return not any(address in parsed for address in _METADATA if address.version == parsed.version)


def _covers(grant: HostRule, rule: HostRule, network: str) -> bool:
    """Return True if the grant covers the rule's request for this network."""
    granted = (grant.host,) if grant.kind == "network" else grant.addresses
    if grant.kind == "network" and rule.kind != "network":
        return False
    if grant.kind != "network" and (grant.kind != rule.kind or grant.host != rule.host):
        return False
    parsed = ip_network(network)
    has_ports = grant.ports == "all" or (
        all(grant.covers_port(port) for port in USUAL_PORTS)
        if rule.ports == "usual"
        else rule.port is not None and grant.covers_port(rule.port)
    )
    return has_ports and any(_is_within(parsed, ip_network(each)) for each in granted)


def _is_within(inner: IPv4Network | IPv6Network, outer: IPv4Network | IPv6Network) -> bool:
    if isinstance(inner, IPv4Network):
        return isinstance(outer, IPv4Network) and inner.subnet_of(outer)
    return isinstance(outer, IPv6Network) and inner.subnet_of(outer)


def _pattern(host: str, port: int) -> str:
    """Return the pattern of exactly this host and port."""
    shown = f"[{host}]" if ":" in host else host
    return shown if port in USUAL_PORTS else f"{shown}:{port}"


def _own(policy: NetworkPolicy, host: str, port: int, target: Address | None) -> str:
    """Return the name of the own server that the connection reaches; empty for others."""
    for service in policy.own:
        if service.port == port and any(
            _is_at(where, host, port, target) for where in (service.host, *service.addresses)
        ):
            return service.name
    if target is not None and (networks := [each for each in policy.own_networks if _within(target, (each,))]):
        return f"in {networks[0]}, a network of Replaywright's own services"
    return ""


def _is_at(where: str, host: str, port: int, target: Address | None) -> bool:
    """Return True if a connection to `host` reaches `where`; a loopback listener is reached on all of loopback."""
    place = parsed_address(where)
    if place is None:
        return host == where or (is_localhost(where) and target is not None and _is_loopback(target))
    if target is None:
        return False
    if port in USUAL_PORTS and host != where and not _special(place):
        return False  # many sites share one public address
    return _inner(target) == _inner(place) or (_is_loopback(place) and _is_loopback(target))


def _names(rule: HostRule, host: str, port: int) -> bool:
    """Return True if an explicit rule names exactly this host and port."""
    if rule.is_site or rule.ports != "one" or rule.port != port:
        return False
    if rule.kind == "network":
        return ip_network(rule.host).num_addresses == 1 and rule.covers_host(host, parsed_address(host))
    return rule.kind == "name" and rule.host == host


def _is_loopback(address: Address) -> bool:
    inner = _inner(address)
    return inner.is_unspecified or any(inner in network for network in _LOOPBACK)


def _special(address: Address) -> str:
    inner = _inner(address)
    if inner in _METADATA or address in _METADATA:
        return "metadata"
    for name, networks in _SPECIAL:
        if any(inner in network for network in networks):
            return name
    return "" if inner.is_global else "reserved"


def _inner(address: Address) -> Address:
    """Return the IPv4 address that a mapped IPv6 address leads to; else the address itself."""
    if isinstance(address, IPv4Address):
        return address
    if (mapped := address.ipv4_mapped) is not None:
        return mapped
    return IPv4Address(int(address) & 0xFFFFFFFF) if address in _NAT64 else address


def _within(address: Address, networks: Iterable[str]) -> bool:
    inner = _inner(address)
    return any(inner in network or address in network for network in map(ip_network, networks))


def parsed_address(text: str) -> Address | None:
    """Return the address that the text is; None for a name."""
    try:
        return ip_address(text.strip("[]").partition("%")[0])
    except ValueError:
        return None
