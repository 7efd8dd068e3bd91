"""Redirects as browsers follow them (Fetch, "HTTP-redirect fetch")."""

from typing import Final

from ada_url import URL

from replaywright.domain.common.urls import origin_of, without_usual_port
from replaywright.domain.requests.exchanges import Request, SiteResponse

_STATUSES: Final = frozenset({301, 302, 303, 307, 308})
_OF_BODY: Final = frozenset({"content-encoding", "content-language", "content-location", "content-type", "origin"})
"""Headers that end with the body."""
_ANYWHERE: Final = frozenset(
    {"accept", "accept-language", "content-language", "content-type", "origin", "range", "referer", "user-agent"}
)
"""Headers that another origin gets without being asked (CORS); it may get no token that was for the first."""


def next_request(request: Request, response: SiteResponse) -> Request | None:
    """Return the request that a response leads to; None if it is no redirect.

    Raises:
        ValueError: it leads to no address.
    """
    location = response.headers.get("location")
    if response.status not in _STATUSES or location is None:
        return None
    url = URL(location, base=request.url).href.partition("#")[0]
    method, body, headers = request.method, request.body, dict(request.headers)
    is_posted = response.status in {301, 302} and method == "POST"
    if is_posted or (response.status == 303 and method not in {"GET", "HEAD"}):
        method, body = "GET", ""
        headers = {name: value for name, value in headers.items() if name not in _OF_BODY}
    here, there = origin_of(request.url), origin_of(url)
    if here != there:
        headers = {name: value for name, value in headers.items() if name in _ANYWHERE or name.startswith("sec-")}
        if headers.get("origin", own := without_usual_port(here)) != own:
            headers["origin"] = "null"
    if "referer" in headers and (source := origin_of(headers["referer"])) != there:
        is_told = source and (source.startswith("http:") or there.startswith("https:"))
        headers["referer"] = f"{without_usual_port(source)}/" if is_told else ""
    return Request(method, url, {name: value for name, value in headers.items() if value}, body)
