"""Hosts that an operator binds a secret to. It is entered nowhere else, and an unbound one nowhere at all.

Origins are compared as the browser serialises them (`https://shop.example:8443`). The document with the field and all
documents around it must be allowed; the opaque origin `null` of a sandboxed frame or a `data:` address is not.
"""

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from replaywright.domain.common.urls import address_of
from replaywright.errors import InputInvalid

RULE = "secret-domains"
"""Name of the rule in its refusals."""
_PORTS = {"http": 80, "https": 443}
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")


@dataclass(frozen=True)
class Site:
    """A place that a secret is bound to."""

    host: str
    """As the browser writes it: lower case, Punycode, IPv6 in brackets."""
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
        parts = _split(origin)
        if parts is None or parts.hostname is None:
            return False
        host, port = _host_of(parts), parts.port or _PORTS[parts.scheme]
        if parts.scheme == "http" and not (self.plain or is_loopback(host)):
            return False
        if self.own:
            bare = self.host.removeprefix("www.")
            return self._has_port(port) and (host == bare or (not _is_address(bare) and host.endswith(f".{bare}")))
        if not self._has_port(port):
            return False
        return host.endswith(f".{self.host}") and not _is_address(host) if self.subdomains else host == self.host

    def _has_port(self, port: int) -> bool:
        if self.own and self.port in _PORTS.values():
            return port in _PORTS.values()  # http leads on to https
        return self.port is None or port == self.port

    def __str__(self) -> str:
        scheme = "http://" if self.plain and not self.own else ""
        return f"{scheme}{'*.' if self.subdomains else ''}{self.host}{'' if self.port is None else f':{self.port}'}"


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
    parts = _split(url)
    if parts is None or not parts.hostname:
        return ""
    host = _host_of(parts)
    port = "" if parts.port in (None, _PORTS[parts.scheme]) else f":{parts.port}"
    return f"{'http://' if parts.scheme == 'http' and not is_loopback(host) else ''}{host}{port}"


def own_site(url: str) -> tuple[Site, ...]:
    """Return the site at `url`; none for no address of one."""
    parts = _split(url)
    if parts is None or not parts.hostname:
        return ()
    port = parts.port or _PORTS[parts.scheme]
    return (Site(_host_of(parts), port=port, plain=parts.scheme == "http", own=True),)


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
    if not host or (subdomains and _is_address(host)) or (port is not None and not 1 <= port <= 65535):
        raise InputInvalid(
            f"{variable}: {part!r} is no domain; write example.com, *.example.com or [::1], with :port if need be"
        )
    return Site(host, subdomains, port, plain)


def _canonical(host: str) -> str:
    """Return the host as the browser writes it; "" if invalid."""
    try:
        if host.startswith("["):
            return f"[{ipaddress.IPv6Address(host[1:-1]).compressed}]"
        name = host if host.isascii() else host.encode("idna").decode()
    except (ValueError, UnicodeError):
        return ""
    lowered = name.lower()
    return lowered if _NAME.fullmatch(lowered) else ""


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    is_whole = parts.scheme in _PORTS and parts.hostname and "@" not in parts.netloc and "\\" not in url
    return parts if is_whole else None


def _host_of(parts: SplitResult) -> str:
    host = (parts.hostname or "").lower()
    return _canonical(f"[{host}]" if ":" in host else host)


def _is_address(host: str) -> bool:
    return address_of(host) is not None
