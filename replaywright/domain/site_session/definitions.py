"""Site sessions as the operator declares them in the file of `REPLAYWRIGHT_SESSIONS`."""

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

from pydantic import Field, field_validator, model_validator

from replaywright.domain.common.base import Authored
from replaywright.domain.common.templates import parameters_in, secrets_in, texts_of
from replaywright.domain.common.urls import web_address
from replaywright.domain.predicate.predicates import Predicate
from replaywright.domain.site_session.codes import CodeSource, Span, seconds_of
from replaywright.errors import InputInvalid

NAME_PATTERN = r"^[a-z0-9][a-z0-9-]{0,62}$"
SKILL_PREFIX = "skill:"


class SignedIn(Authored):
    """How to tell that a browser is signed in."""

    url: str
    """Page that is opened, in a tab of its own; the site's own page of the account does well."""
    expect: tuple[Predicate, ...] = Field(min_length=1)
    """Conditions that hold on it for somebody who is signed in."""

    @field_validator("url")
    @classmethod
    def _is_address(cls, url: str) -> str:
        try:
            return web_address(url, "the page").url
        except InputInvalid as exc:
            raise ValueError(str(exc)) from exc

    @model_validator(mode="after")
    def _is_plain(self) -> "SignedIn":
        for text in texts_of(self.model_dump(mode="json")):
            if parameters_in(text) or secrets_in(text):
                raise ValueError(f"{text!r} has a parameter or a secret; write the value itself, or another condition")
        return self


class Definition(Authored):
    """One site session."""

    sign_in: str
    """What signs in: `skill:NAME`, or the path of a task file, relative to the file of sessions."""
    values: dict[str, str] = Field(default_factory=dict)
    """Values of its parameters; passwords are secrets of that task."""
    signed_in: SignedIn
    shared: int = Field(1, ge=1, le=100)
    """Number of runs that may use it at once."""
    keep_alive: Span | None = None
    """Time without use after which a run opens the page of `signed_in`, so that the site does not end the session."""
    max_age: Span | None = None
    """Age at which the session counts as expired, whatever the site says."""
    passkeys: bool = False
    """True: its browsers have an authenticator; passkeys that sites register in it are kept, and sign in later."""
    tasks: tuple[str, ...] = ()
    """Patterns of the names of the tasks that may use it, such as `crm-*`; none: every task."""

    def may_use(self, task: str) -> bool:
        """Return whether the task of this name may use it."""
        return not self.tasks or any(fnmatchcase(task, pattern) for pattern in self.tasks)

    @property
    def skill(self) -> str:
        """Name of the skill that signs in; empty for a task file."""
        return self.sign_in.removeprefix(SKILL_PREFIX) if self.sign_in.startswith(SKILL_PREFIX) else ""

    @property
    def keep_alive_s(self) -> float:
        """Seconds of `keep_alive`; 0 without one."""
        return seconds_of(self.keep_alive)

    @property
    def max_age_s(self) -> float:
        """Seconds of `max_age`; 0 without one."""
        return seconds_of(self.max_age)


class SiteSessionFile(Authored):
    """The file: site sessions and sources of codes, by name."""

    sessions: dict[str, Definition] = Field(default_factory=dict)
    codes: dict[str, CodeSource] = Field(default_factory=dict)

    @field_validator("sessions", "codes")
    @classmethod
    def _names_are_plain(cls, sessions: dict[str, Any]) -> dict[str, Any]:
        for name in _unfit(sessions):
            raise ValueError(f"{name!r} is no name here: use lower-case letters, digits and dashes")
        return sessions


def _unfit(names: dict[str, Any]) -> Iterator[str]:
    allowed = set("abcdefghijklmnopqrstuvwxyz0123456789-")
    return (name for name in names if not name or name[0] == "-" or len(name) > 63 or not set(name) <= allowed)
