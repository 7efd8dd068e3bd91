"""Requests that pages sent while steps were performed, and their responses, as the browser saw them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from replaywright.domain.page.observed import SAFE_METHODS

BODY_LIMIT = 2 * 1024 * 1024
"""Bytes of a request's or response's body that are kept."""


@dataclass(frozen=True)
class Request:
    """A request over HTTP; it may hold secrets: never logged."""

    method: str
    """In upper case."""
    url: str
    """Absolute, without a fragment."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """By name in lower case; without `cookie`, `host` and `content-length`."""
    body: str = field(default="", repr=False)

    @property
    def is_unsafe(self) -> bool:
        """True if it may change something on its site."""
        return self.method not in SAFE_METHODS

    @property
    def content_type(self) -> str:
        """Media type of the body, in lower case and without parameters; empty without one."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


@dataclass(frozen=True)
class SiteResponse:
    """The last response to a request whose redirects were followed."""

    status: int
    url: str
    """Address that it came from: the request's own, or that of the last redirect."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """By name in lower case; without `set-cookie`."""
    body: str = field(default="", repr=False)
    """Text of the body; empty where it is no text, or over `BODY_LIMIT`."""
    redirects: int = 0
    """Redirects that were followed before it: the site had taken the request then."""

    @property
    def media_type(self) -> str:
        """Media type of the body, in lower case and without parameters; empty if it names none."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


@dataclass(frozen=True)
class Exchange:
    """A request of a page, and its response."""

    step: int
    """Index of the step that was under way, or the last one before it was sent."""
    kind: str
    """Resource type as DevTools name it, in lower case: `document`, `xhr`, `fetch`, `ping`, `websocket`, …"""
    request: Request
    response: SiteResponse | None = None
    """None if none came, or its body could not be read."""
    is_main: bool = False
    """True for a document of a tab itself, not of a frame in it."""
    fault: str = ""
    """Reason for which it cannot be replayed, such as `it sends a file`; empty if it can."""
    cookies: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Cookies that its first request was sent with."""
