"""Hosts that an operator binds a secret to. It is entered nowhere else, and an unbound one nowhere at all.

Origins are compared as the browser serialises them (`https://shop.example:8443`). The document with the field and all
documents around it must be allowed; the opaque origin `null` of a sandboxed frame or a `data:` address is not.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv6Address

from replaywright.domain.common.urls import (
    DEFAULT_PORTS,
    WebAddress,
    address_of,
    bracketed,
    canonical_name,
    web_address,
)
from replaywright.errors import InputInvalid

RULE = "secret-domains"
"""Name of the rule in its refusals."""
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")


@dataclass(frozen=True)
class Site:
    """A place that a secret is bound to."""

    host: str
    """As `WebAddress` has it: lower case, Punycode, no brackets."""
    subdomains: bool = False
    """`*.host`: the names below it, not itself."""
    port: int | None = None
    """None: any."""
    plain: bool = False
    """True if pages over http are allowed, too."""
    own: bool = False
    """The site at an address: the host, with or without `www.`, and the names below it. For codes that people give."""

    def has(self, origin: str) -> bool:
        """Return True if a document of the origin belongs to it."""
        address = _address(origin)
        if address is None or (address.scheme == "http" and not (self.plain or is_loopback(address.host))):
            return False
        host = address.host
        if self.own:
            bare = self.host.removeprefix("www.")
            belongs = host == bare or (address_of(bare) is None and host.endswith(f".{bare}"))
        elif self.subdomains:
            belongs = host.endswith(f".{self.host}") and address_of(host) is None
        else:
            belongs = host == self.host
        return belongs and self._has_port(address.port)

    def _has_port(self, port: int) -> bool:
        if self.own and self.port in DEFAULT_PORTS.values():
            return port in DEFAULT_PORTS.values()  # http leads on to https
        return self.port is None or port == self.port

    def __str__(self) -> str:
        scheme = "http://" if self.plain and not self.own else ""
        port = "" if self.port is None else f":{self.port}"
        return f"{scheme}{'*.' if self.subdomains else ''}{bracketed(self.host)}{port}"


@dataclass(frozen=True)
class BoundSecret:
    """A secret to be entered, with its sites."""

    name: str
    sites: tuple[Site, ...]

    def refusal(self, origins: Sequence[str]) -> str:
        """Return why it may not be entered into the first of `origins` within the others; "" if it may."""
        strange = next((origin for origin in origins if not any(site.has(origin) for site in self.sites)), None)
        if strange is None and origins:
            return ""
        if not self.sites:
            return f"{RULE}: {unbound(self.name, strange or '')}"
        shown, bound = repr((strange or "")[:200]), ", ".join(map(str, self.sites))
        return (
            f"{RULE}: secret {self.name!r} may not be entered at {shown}: it is bound to {bound}; if it belongs there, "
            f"{_remedy(self.name, strange or '')}"
        )


def refusal(secrets: Sequence[BoundSecret], origins: Sequence[str]) -> str:
    """Return why a text with these secrets may not be entered; "" if it may. See `BoundSecret.refusal`."""
    return next((why for secret in secrets if (why := secret.refusal(origins))), "")


def unbound(name: str, url: str) -> str:
    """Return the message that the secret is unbound, with the command that binds it to the site at `url`."""
    return f"secret {name!r} is bound to no host and is entered nowhere: {_remedy(name, url)}"


def pattern_at(url: str) -> str:
    """Return the pattern that binds a secret to the host at `url` only; "" for no address of a site."""
    address = _address(url)
    if address is None:
        return ""
    port = None if address.port == DEFAULT_PORTS[address.scheme] else address.port
    is_plain = address.scheme == "http" and not is_loopback(address.host)
    return str(Site(address.host, port=port, plain=is_plain))


def own_site(url: str) -> tuple[Site, ...]:
    """Return the site at `url`; none for no address of one."""
    address = _address(url)
    if address is None:
        return ()
    return (Site(address.host, port=address.port, plain=address.scheme == "http", own=True),)


def sites_in(text: str, variable: str) -> tuple[Site, ...]:
    """Parse the sites in `variable`: `example.com`, `*.example.com`, each with optional `:port` or `http://`.

    Raises:
        InputInvalid: a part is invalid, or there is none; the message has the variable.
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts:
        raise InputInvalid(f"{variable} is set and names no domain; unset it, or name one, as example.com")
    return tuple(_site(part, variable) for part in parts)


def is_loopback(host: str) -> bool:
    """Return True if `host` is this machine, where traffic needs no encryption."""
    address = address_of(host)
    return host == "localhost" or host.endswith(".localhost") or (address is not None and address.is_loopback)


def _remedy(name: str, url: str) -> str:
    host = pattern_at(url) or "HOST"
    return (
        f"`replaywright admin secrets bind {name} {host}` (a worker of another home: "
        f"REPLAYWRIGHT_SECRET_{name}_DOMAINS={host})"
    )


def _site(part: str, variable: str) -> Site:
    plain = part.lower().startswith("http://")
    rest = part[7:] if plain else part[8:] if part.lower().startswith("https://") else part
    subdomains = rest.startswith("*.")
    found = re.fullmatch(r"(\[[0-9A-Fa-f:.]+\]|[^:/?#@\[\]\\\s]+)(?::(\d{1,5}))?", rest[2:] if subdomains else rest)
    host = "" if found is None else _canonical(found[1])
    port = None if found is None or found[2] is None else int(found[2])
    if not host or (subdomains and address_of(host) is not None) or (port is not None and not 1 <= port <= 65535):
        raise InputInvalid(
            f"{variable}: {part!r} is no domain; write example.com, *.example.com or [::1], with :port if need be"
        )
    return Site(host, subdomains, port, plain)


def _canonical(host: str) -> str:
    """Return the host as `WebAddress` has it; "" if invalid."""
    if host.startswith("["):
        address = address_of(host)
        return address.compressed if isinstance(address, IPv6Address) else ""
    name = canonical_name(host) or ""
    return name if _NAME.fullmatch(name) else host if address_of(host) is not None else ""


def _address(url: str) -> WebAddress | None:
    """Return the address; None where a browser would not open it, or its host ends with a dot."""
    try:
        address = web_address(url)
    except InputInvalid:
        return None
    authority = address.url.split("/")[2]
    return None if ".:" in f"{authority}:" else address
