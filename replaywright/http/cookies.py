"""Cookies of one client, by the rules of `http.cookiejar`; SameSite is not regarded."""

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from email.message import Message
from http.cookiejar import Cookie, CookieJar, DefaultCookiePolicy
from typing import Any, Final
from urllib.request import Request as Asking

from replaywright.domain.common.urls import address_of, web_address
from replaywright.domain.session.network_policy import is_localhost

_DOMAIN: Final = re.compile(r";\s*domain\s*=\s*([^;]*)", re.IGNORECASE)


class SiteCookies:
    """Cookies that sites have set, and those of a storage state."""

    def __init__(self) -> None:
        hosts_alone = DefaultCookiePolicy.DomainStrictNonDomain  # a cookie without Domain is its host's alone
        self._jar = CookieJar(DefaultCookiePolicy(strict_ns_domain=hosts_alone))

    def add(self, cookies: Iterable[Mapping[str, Any]]) -> None:
        """Add cookies in the form of Playwright's storage state; expired ones are left out."""
        now_s = time.time()
        for given in cookies:
            expires = given.get("expires", -1)
            if not 0 <= expires <= now_s:
                self._jar.set_cookie(_cookie(given, None if expires < 0 else int(expires)))

    def take(self, url: str, lines: Sequence[str]) -> None:
        """Take the values of the headers Set-Cookie of a response from this address."""
        if lines:
            self._jar.extract_cookies(_Answer(url, lines), _asking(url))  # type: ignore[arg-type]  # all it reads

    def header(self, url: str) -> str:
        """Return the value of the header Cookie for a request to this address; empty without any."""
        asking = _asking(url)
        self._jar.add_cookie_header(asking)
        return asking.get_header("Cookie") or ""

    def value(self, url: str, name: str) -> str | None:
        """Return the value of the cookie of this name that a request to the address would have; None without one."""
        pairs = (each.partition("=") for each in self.header(url).split("; "))
        return next((value for known, equals, value in pairs if equals and known == name), None)


class _Answer:
    """As much of a response as a cookie jar reads."""

    def __init__(self, url: str, lines: Sequence[str]) -> None:
        self._message = Message()
        host = web_address(url).host
        for line in lines:
            self._message["Set-Cookie"] = _without_own_domain(line, host)

    def info(self) -> Message:
        """Return its headers."""
        return self._message


def _without_own_domain(line: str, host: str) -> str:
    """Leave out a Domain that names an address, or a host without dots, itself: the cookie is that host's alone."""
    named = _DOMAIN.search(line)
    is_alone = "." not in host or address_of(host) is not None
    if named is None or not is_alone or named[1].strip().strip(".").lower() != host:
        return line
    return _DOMAIN.sub("", line)


def _asking(url: str) -> Asking:
    """Return a request for the cookie jar alone. Browsers trust this machine with cookies that are Secure."""
    address = web_address(url)
    literal = address_of(address.host)
    is_here = is_localhost(address.host) or (literal is not None and literal.is_loopback)
    plain = address.url.removeprefix("http:")
    return Asking(f"https:{plain}" if is_here and plain != address.url else address.url)  # noqa: S310 - opens nothing


def _cookie(given: Mapping[str, Any], expires: int | None) -> Cookie:
    domain = str(given["domain"]).lower()
    return Cookie(
        version=0,
        name=str(given["name"]),
        value=str(given["value"]),
        port=None,
        port_specified=False,
        domain=domain if "." in domain else f"{domain}.local",  # as cookie jars have hosts without dots
        domain_specified=domain.startswith("."),
        domain_initial_dot=domain.startswith("."),
        path=str(given.get("path") or "/"),
        path_specified=True,
        secure=bool(given.get("secure")),
        expires=expires,
        discard=expires is None,
        comment=None,
        comment_url=None,
        rest={},
    )
