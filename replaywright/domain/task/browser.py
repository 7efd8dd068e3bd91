"""The browser as a task wants it: size, language, time zone, and headers and credentials for its own origin."""

import re
from collections.abc import Mapping
from typing import Any, Final, Literal

from pydantic import Field, field_validator

from replaywright.domain.common.base import Authored
from replaywright.domain.common.templates import fill, secrets_in, totps_in
from replaywright.domain.common.zones import zone_of
from replaywright.domain.session.browser_setup import BrowserSetup, header_fault
from replaywright.errors import InputInvalid

HEADERS_LIMIT: Final = 20
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_LOCALE: Final = re.compile(r"[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|\d{3}))?")
_SIZE: Final = re.compile(r"([1-9]\d{0,4})x([1-9]\d{0,4})")
_SMALLEST, _LARGEST = 50, 10_000
_BROWSERS_OWN: Final = "the browser writes it itself: leave it out"
_OF_PAGE: Final = "the page's request decides it: leave it out"
_INSTEAD: Final[Mapping[str, str]] = {
    "accept-language": "use locale",
    "authorization": "use basic_auth, or sign in by steps with secrets",
    "cookie": "sign in by steps: the run keeps the cookies that the site sets",
    "host": "write the host in url",
    "user-agent": "use user_agent",
    **dict.fromkeys(("connection", "expect", "keep-alive", "te", "trailer", "upgrade", "via"), _BROWSERS_OWN),
    **dict.fromkeys(("accept-encoding", "content-length", "transfer-encoding", "date"), _BROWSERS_OWN),
    **dict.fromkeys(("content-encoding", "content-type", "origin", "referer"), _OF_PAGE),
}
"""Header fields that a task may not set, with the remedy."""
_RESERVED: Final = ("proxy-", "sec-", "access-control-")


class BasicAuth(Authored):
    """Credentials for HTTP basic authentication; they answer challenges of the task's origin only."""

    username: str = Field(min_length=1)
    """User name; may hold parameters and secrets."""
    password: str
    """The password, as `{{secret:NAME}}`."""

    @field_validator("username", "password")
    @classmethod
    def _is_the_same_each_time(cls, text: str) -> str:
        if totps_in(text):
            raise ValueError(
                "a one-time password is entered once, and this answers many requests: use a {{secret:NAME}}"
            )
        return text

    @field_validator("password", mode="before")
    @classmethod
    def _is_a_secret(cls, password: Any) -> Any:
        if not (isinstance(password, str) and secrets_in(password)):  # not shown, and no number either
            raise ValueError("a password is not written into a file: name it under secrets, and write {{secret:NAME}}")
        return password


class BrowserOptions(Authored):
    """Options of a run's browser; they hold in every tab, and in a browser that replaces a lost one."""

    viewport: str | None = None
    """Size of the visible part of a page in CSS pixels, as `1280x800`."""
    locale: str | None = None
    """Language of the browser, as `de-DE`: `Accept-Language`, `navigator.language`, formats of dates and numbers."""
    time_zone: str | None = None
    """Time zone of the pages by its IANA name, as `Europe/Berlin`."""
    color_scheme: Literal["light", "dark"] | None = None
    """Colour scheme that pages are told to prefer."""
    user_agent: str | None = Field(None, min_length=1, max_length=500, pattern=r"^[\x20-\x7e]+$")
    """Name of the browser in requests and scripts, in place of its own."""
    headers: dict[str, str] = Field(default_factory=dict, max_length=HEADERS_LIMIT)
    """Further header fields of all requests to the task's origin, and to no other; may hold parameters and secrets."""
    basic_auth: BasicAuth | None = None
    """Credentials for HTTP basic authentication at the task's origin."""

    @field_validator("viewport")
    @classmethod
    def _is_a_size(cls, viewport: str | None) -> str | None:
        match = None if viewport is None else _SIZE.fullmatch(viewport)
        sides = () if match is None else (int(match[1]), int(match[2]))
        if viewport is not None and not (sides and all(_SMALLEST <= side <= _LARGEST for side in sides)):
            raise ValueError(
                f"expected width x height, each from {_SMALLEST} to {_LARGEST} pixels, as 1280x800, found {viewport!r}"
            )
        return viewport

    @field_validator("locale")
    @classmethod
    def _is_a_language(cls, locale: str | None) -> str | None:
        if locale is None or _LOCALE.fullmatch(locale):
            return locale
        near = _corrected(locale)
        raise ValueError(f"expected a language tag such as de-DE, found {locale!r}{f': write {near}' if near else ''}")

    @field_validator("time_zone")
    @classmethod
    def _is_known(cls, time_zone: str | None) -> str | None:
        try:
            if time_zone is not None:
                zone_of(time_zone, "time zone")
        except InputInvalid as exc:
            raise ValueError(str(exc)) from exc
        return time_zone

    @field_validator("user_agent")
    @classmethod
    def _is_no_template(cls, user_agent: str | None) -> str | None:
        if user_agent is not None and "{{" in user_agent:
            raise ValueError("parameters and secrets are for headers and basic_auth; write the name out")
        return user_agent

    @field_validator("headers")
    @classmethod
    def _may_be_set(cls, headers: dict[str, str]) -> dict[str, str]:
        seen: set[str] = set()
        for name, value in headers.items():
            plain = name.lower()
            if not _TOKEN.fullmatch(name):
                raise ValueError(f"{name[:60]!r} is no name of a header field: use letters, digits and hyphens")
            if plain in _INSTEAD or plain.startswith(_RESERVED):
                raise ValueError(f"{name} may not be set: {_INSTEAD.get(plain, _BROWSERS_OWN)}")
            if plain in seen:
                raise ValueError(f"{name} is given twice: names of header fields are the same in any case of letters")
            seen.add(plain)
            if fault := header_fault(value):
                raise ValueError(f"the value of {name} {fault}")
            if totps_in(value):
                raise ValueError(f"the value of {name} is sent with every request; a one-time password is entered once")
        return headers

    @property
    def size(self) -> tuple[int, int] | None:
        """Width and height of the viewport."""
        match = _SIZE.fullmatch(self.viewport or "")
        return None if match is None else (int(match[1]), int(match[2]))

    def filled(self, values: Mapping[str, str]) -> "BrowserOptions":
        """Fill the parameters; secrets stay references.

        Raises:
            InputInvalid: a parameter has no value, or one that no header can carry.
        """
        headers = {name: fill(text, values) for name, text in self.headers.items()}
        for name, text in headers.items():
            if fault := header_fault(text):
                raise InputInvalid(f"browser.headers: the value of {name} {fault}")
        auth = self.basic_auth
        if auth is not None:
            auth = auth.model_copy(update={name: fill(text, values) for name, text in auth})
        return self.model_copy(update={"headers": headers, "basic_auth": auth})

    def setup(self, values: Mapping[str, str], origin: str) -> BrowserSetup:
        """Return the setup of a browser for a task of this origin.

        Raises:
            InputInvalid: as `filled`.
        """
        given, (width, height) = self.filled(values), self.size or (0, 0)
        return BrowserSetup(
            origin=origin,
            width=width,
            height=height,
            locale=self.locale or "",
            time_zone=self.time_zone or "",
            color_scheme=self.color_scheme or "",
            user_agent=self.user_agent or "",
            headers=given.headers,
            username=given.basic_auth.username if given.basic_auth else "",
            password=given.basic_auth.password if given.basic_auth else "",
        )


def _corrected(locale: str) -> str:
    """Return what was probably meant by a tag like `de_de.UTF-8`; empty if nobody knows."""
    language, _, region = locale.partition(".")[0].replace("_", "-").partition("-")
    tag = "-".join(filter(None, (language.lower(), region.upper())))
    return tag if _LOCALE.fullmatch(tag) else ""
