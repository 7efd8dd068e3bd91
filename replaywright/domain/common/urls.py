"""Addresses of pages as browsers read them (WHATWG URL); ambiguous ones are refused.

Python's parser and browsers disagree on the host of hostile addresses: text before a backslash and an `@` is user
information to one and a host to the other. Every decision on where a page may go uses this module.
"""

import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address

from ada_url import URL, HostType, idna

from replaywright.errors import InputInvalid

DEFAULT_PORTS = {"http": 80, "https": 443}
_SHOWN = 200
_NAME_LIMIT = 253
"""Characters of a host name (RFC 1035), without the trailing dot."""
_DOTS = "\u3002\uff0e\uff61"
"""Full stops of other scripts, which browsers read as dots."""


@dataclass(frozen=True, slots=True)
class WebAddress:
    """An unambiguous http or https address."""

    url: str
    """Address as a browser writes it."""
    scheme: str
    host: str
    """Host in lower case and Punycode, without brackets and trailing dot."""
    port: int

    @property
    def origin(self) -> str:
        """Scheme, host and port, always with the port."""
        return f"{self.scheme}://{bracketed(self.host)}:{self.port}"


def bracketed(host: str) -> str:
    """Return the host as an address writes it: IPv6 in brackets."""
    return f"[{host}]" if ":" in host else host


def address_of(host: str) -> IPv4Address | IPv6Address | None:
    """Return the IP address that `host` is; None for a name."""
    try:
        return ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return None


def web_address(url: str, field: str = "url") -> WebAddress:
    """Parse an address that a run is to open.

    Args:
        url: parameters filled in.
        field: name of its field, for the message.

    Raises:
        InputInvalid: it is no http or https address, or it is ambiguous: user information, backslashes, control
            characters, dots of other scripts, a host that is not in canonical form, or numbers that are no plain IPv4
            address. The message names field, value and remedy, never a password.
    """
    text = url.strip(" ")
    fault = _fault_before_parsing(text)
    if not fault:
        try:
            parsed = URL(text)
        except ValueError:
            fault = "it is no address that a browser opens: check its host and port"
        else:
            fault = _fault_of_host(_authority(text), parsed)
            if not fault:
                host = parsed.hostname.strip("[]").rstrip(".")
                return WebAddress(parsed.href, parsed.protocol.rstrip(":"), host, _port(parsed))
    raise InputInvalid(f"{field}: {_shown(text)!r} cannot be opened: {fault}")


def is_web(url: str) -> bool:
    """Return True if the address has the scheme http or https."""
    return url.strip(" ").partition(":")[0].lower() in DEFAULT_PORTS


def origin_of(url: str) -> str:
    """Return scheme, host and port (always); empty for addresses that `web_address` refuses."""
    try:
        return web_address(url).origin
    except InputInvalid:
        return ""


def without_usual_port(origin: str) -> str:
    """Return an origin as browsers write it, without its scheme's default port."""
    scheme, _, _ = origin.partition(":")
    return origin.removesuffix(f":{DEFAULT_PORTS[scheme]}") if scheme in DEFAULT_PORTS else origin


def canonical_name(host: str) -> str | None:
    """Return a host name in lower case and Punycode, without trailing dot; None for anything else."""
    ascii_name = idna.encode(unicodedata.normalize("NFC", host).lower()).decode("ascii", "replace").rstrip(".")
    try:
        parsed = URL(f"http://{ascii_name}/")
    except ValueError:
        return None
    plain = parsed.hostname == ascii_name and parsed.host_type == HostType.DEFAULT
    return ascii_name if plain and _fault_of_name(ascii_name) == "" else None


def _port(parsed: URL) -> int:
    return int(parsed.port) if parsed.port else DEFAULT_PORTS[parsed.protocol.rstrip(":")]


def _authority(text: str) -> str:
    """Return the part between `//` and the path, query or fragment."""
    rest = text.partition("://")[2]
    return rest[: min((at for at in map(rest.find, "/?#") if at >= 0), default=len(rest))]


def _fault_before_parsing(text: str) -> str:
    if any(ord(character) < 0x20 or ord(character) == 0x7F for character in text):
        return "it has control characters in it: write it in one line, and encode them"
    scheme, separator, _ = text.partition("://")
    if not separator or scheme.lower() not in DEFAULT_PORTS:
        return "only http and https addresses are opened: write the whole address, as https://shop.example/path"
    before_query = text.partition("?")[0].partition("#")[0]
    if "\\" in before_query:
        return "browsers read its backslashes as slashes: write slashes"
    authority = _authority(text)
    if not authority:
        return "it names no host: write the whole address, as https://shop.example/path"
    if "@" in authority:
        return "it holds a user name or a password: take it out, and sign in by steps with secrets"
    if any(dot in authority for dot in _DOTS):
        return "its host has dots of another script: write plain dots"
    if "%" in authority:
        return "its host is percent-encoded: write it out"
    return ""


def _fault_of_host(authority: str, parsed: URL) -> str:
    """Return why a host that browsers understand is refused; empty if it is not."""
    written = authority if authority.endswith("]") else authority.rpartition(":")[0] or authority
    host = parsed.hostname
    if parsed.port == "0":
        return "there is no port 0"
    if parsed.host_type == HostType.IPV6:
        return ""
    if parsed.host_type == HostType.IPV4:
        return "" if written == host else f"browsers read its host as {host}: write that"
    plain = unicodedata.normalize("NFC", written).lower()
    if plain != host and plain != idna.decode(host.encode("ascii", "replace")):
        return f"browsers read its host as {host}: write that"
    return _fault_of_name(host)


def _fault_of_name(host: str) -> str:
    labels = host.removesuffix(".").split(".")
    if len(host) > _NAME_LIMIT + 1 or not all(1 <= len(label) <= 63 for label in labels):
        return "its host is no name: 253 characters at most, in parts of 1 to 63 with one dot between them"
    if any(not (character.isascii() and (character.isalnum() or character in "-_.")) for character in host):
        return "its host is no name: letters, digits, hyphens and dots"
    return ""


def _shown(text: str) -> str:
    """Return the part of an address that a message may show: no user information, no query."""
    before = text.partition("?")[0].partition("#")[0]
    scheme, separator, rest = before.partition("//")
    at = rest.rfind("@")
    return (f"{scheme}{separator}…{rest[at:]}" if at >= 0 and separator else before)[:_SHOWN]


@lru_cache(maxsize=1024)
def site_of(url: str) -> str:
    """Return the origin, as browsers write it, under which skills are stored; empty for invalid URLs."""
    return without_usual_port(origin_of(url))
