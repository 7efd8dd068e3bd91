"""Cookies from a browser's export: Playwright's storage state, the lists of extensions, and `cookies.txt`."""

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from replaywright.errors import InputInvalid

_SAME_SITE: Final = {"lax": "Lax", "strict": "Strict", "none": "None", "no_restriction": "None"}
"""Names of extensions and of Playwright; without one, browsers take Lax."""
_HTTP_ONLY: Final = "#HttpOnly_"
_FIELDS: Final = 7
_EXPECTED: Final = (
    "expected a storage state of Playwright, a JSON list of cookies as browser extensions export it, or a cookies.txt"
)


def read_storage(text: str, source: str, hosts: Sequence[str]) -> tuple[dict[str, Any], int]:
    """Return the part of the storage state in `text` that is for these hosts; see `for_hosts`.

    Raises:
        InputInvalid: it is none of the known forms, or nothing of it is for these hosts.
    """
    return for_hosts(_parsed(text, source), source, hosts)


def for_hosts(data: Mapping[str, Any], source: str, hosts: Sequence[str]) -> tuple[dict[str, Any], int]:
    """Return the part of a storage state that is for these hosts, and the number of cookies that were left out.

    Only cookies that a page of `hosts` would send, and storage of origins of these hosts, are taken: an export often
    holds those of every site.

    Raises:
        InputInvalid: nothing of it is for these hosts.
    """
    cookies = [cookie for cookie in data["cookies"] if any(_reaches(cookie["domain"], host) for host in hosts)]
    kept = {"cookies": cookies, "origins": [one for one in data["origins"] if _is_of(one["origin"], hosts)]}
    if not any(kept.values()):
        known = sorted({cookie["domain"].lstrip(".") for cookie in data["cookies"]})[:8]
        raise InputInvalid(
            f"{source}: nothing in it is for {', '.join(hosts)}; it has cookies of: {', '.join(known) or 'no site'}; "
            "name further hosts with --host"
        )
    return kept, len(data["cookies"]) - len(cookies)


def _parsed(text: str, source: str) -> dict[str, Any]:
    if not text.lstrip().startswith(("{", "[")):
        return {"cookies": _of_text(text, source), "origins": []}
    try:
        data = json.loads(text)
    except json.JSONDecodeError as exc:
        raise InputInvalid(f"{source}: no JSON: {exc}; {_EXPECTED}") from exc
    cookies = data.get("cookies") if isinstance(data, Mapping) else data
    origins = data.get("origins", []) if isinstance(data, Mapping) else []
    if not isinstance(cookies, list) or not isinstance(origins, list):
        raise InputInvalid(f"{source}: {_EXPECTED}")
    for origin in origins:
        if not isinstance(origin, Mapping) or not isinstance(origin.get("origin"), str):
            raise InputInvalid(f"{source}: an entry of origins has no origin; {_EXPECTED}")
    return {
        "cookies": [_cookie(cookie, f"{source}: cookie {n}") for n, cookie in enumerate(cookies, 1)],
        "origins": origins,
    }


def _cookie(given: Any, source: str) -> dict[str, Any]:
    """Return a cookie in Playwright's form; raises `InputInvalid`, never with the cookie's value."""
    if not isinstance(given, Mapping):
        raise InputInvalid(f"{source} is no mapping; {_EXPECTED}")
    texts = {name: given.get(name) for name in ("name", "value", "domain")}
    for name, text in texts.items():
        if not isinstance(text, str) or (name != "value" and not text):
            raise InputInvalid(f"{source} has no {name}; {_EXPECTED}")
    expires = given.get("expires", given.get("expirationDate", -1))
    if isinstance(expires, bool) or not isinstance(expires, int | float):
        raise InputInvalid(f"{source} expires at {str(expires)[:40]!r}; expected seconds since 1970, or -1")
    cookie: dict[str, Any] = {
        **texts,
        "path": str(given.get("path") or "/"),
        "expires": expires if expires > 0 else -1,
        "httpOnly": bool(given.get("httpOnly")),
        "secure": bool(given.get("secure")),
        "sameSite": _SAME_SITE.get(str(given.get("sameSite", "")).lower(), "Lax"),
    }
    if given.get("hostOnly"):
        cookie["domain"] = str(texts["domain"]).lstrip(".")
    return cookie


def _of_text(text: str, source: str) -> list[dict[str, Any]]:
    """Return the cookies of a `cookies.txt`, Netscape's form: seven fields in a line, with tabs between them."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        is_http_only = line.startswith(_HTTP_ONLY)
        if not line.strip() or (line.startswith("#") and not is_http_only):
            continue
        fields = line.removeprefix(_HTTP_ONLY).split("\t")
        if len(fields) != _FIELDS or not fields[4].isdecimal():
            raise InputInvalid(f"{source}: line {number} is none of a cookies.txt; {_EXPECTED}")
        domain, _, path, secure, expires, name, value = fields
        given = {"name": name, "value": value, "domain": domain, "path": path, "expires": int(expires)}
        flags = {"secure": secure == "TRUE", "httpOnly": is_http_only}
        found.append(_cookie({**given, **flags}, f"{source}: line {number}"))
    if not found:
        raise InputInvalid(f"{source}: no cookie in it; {_EXPECTED}")
    return found


def expired_in(storage: Mapping[str, Any]) -> int:
    """Return the number of cookies of a storage state that have expired."""
    now = time.time()
    return sum(0 < cookie["expires"] <= now for cookie in storage["cookies"])


def _reaches(domain: str, host: str) -> bool:
    """Return whether a cookie of `domain` is sent to `host`, or to a host below it."""
    bare = domain.lstrip(".").lower()
    return host == bare or host.endswith(f".{bare}") or bare.endswith(f".{host}")


def _is_of(origin: str, hosts: Iterable[str]) -> bool:
    host = origin.partition("://")[2].partition(":")[0].lower()
    return any(host == each or host.endswith(f".{each}") for each in hosts)
