"""Setup of a run's browser: what its pages see of it, and what its requests to the task's origin carry."""

import re
from collections.abc import Callable, Mapping
from typing import Final

from pydantic import Field

from replaywright.domain.common.base import Record
from replaywright.domain.common.templates import fill, secrets_in
from replaywright.errors import InputInvalid

BASIC: Final = "basic"
"""Authentication scheme of challenges that are answered."""
VALUE_LIMIT: Final = 4_000
"""Characters of a header's value."""
_VALUE: Final = re.compile(r"[\t\x20-\x7e\x80-\xff]*")


def header_fault(value: str) -> str:
    """Return why a header cannot carry this value; empty if it can. Never the value: it may be private."""
    if not _VALUE.fullmatch(value):
        return "has a line break, or a character that no header can carry: write it in one line, and encode it"
    return f"has more than {VALUE_LIMIT} characters" if len(value) > VALUE_LIMIT else ""


class BrowserSetup(Record):
    """The setup, the parameters' values filled in; it holds in every tab."""

    origin: str = ""
    """The only origin that gets `headers` and the credentials, as browsers write it."""
    width: int = 0
    """Size of every tab's viewport in CSS pixels; 0: that of its window."""
    height: int = 0
    locale: str = ""
    time_zone: str = ""
    color_scheme: str = ""
    user_agent: str = ""
    headers: dict[str, str] = Field(default_factory=dict, repr=False)
    """Header fields of requests; the values may hold secrets, or references to them."""
    username: str = Field("", repr=False)
    password: str = Field("", repr=False)
    """Answer to the challenges of `origin`; empty for no answer."""

    sends: tuple[str, ...] | None = None
    """Unsafe requests, as `RequestKind.on_any_site` writes them, that may come of an input; None: all may."""
    holds_back: bool = False
    """True: no unsafe request leaves from now on, whoever sends it, and no tab leaves its document."""

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts that may refer to secrets."""
        return (*self.headers.values(), self.username, self.password)

    @property
    def secrets(self) -> tuple[str, ...]:
        """Names of the secrets that it refers to."""
        return tuple(sorted(frozenset().union(*map(secrets_in, self.texts))))

    @property
    def is_private(self) -> bool:
        """True if requests to `origin` differ from others."""
        return bool(self.origin and (self.headers or self.password))

    def with_secrets(self, value: Callable[[str], str]) -> "BrowserSetup":
        """Return it with the value of each secret in the place of its reference.

        Raises:
            InputInvalid: a header cannot carry it.
        """

        def filled(text: str) -> str:
            return fill(text, {}, value)

        update: Mapping[str, object] = {
            "headers": {name: filled(text) for name, text in self.headers.items()},
            "username": filled(self.username),
            "password": filled(self.password),
        }
        for name, text in self.headers.items():
            if fault := header_fault(filled(text)):
                raise InputInvalid(f"browser.headers: the value of {name} {fault}")
        return self.model_copy(update=update)

    def answers(self, scheme: str, origin: str) -> bool:
        """Return True if the credentials are for a challenge of this scheme and origin."""
        return bool(self.password) and scheme.lower() == BASIC and origin == self.origin
