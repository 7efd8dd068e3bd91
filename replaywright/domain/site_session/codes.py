"""Sources of one-time codes: a mailbox that is read, or a webhook that brings what a site has sent."""

import email
import email.policy
from datetime import timedelta
from email.message import EmailMessage
from fnmatch import fnmatchcase
from html.parser import HTMLParser
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, model_validator

from replaywright.domain.common import expressions
from replaywright.domain.common.base import Authored, Record
from replaywright.domain.common.durations import duration_of

CODE = r"\b(\d{4,8})\b"
WITHIN_MOST_S = 900
"""Seconds that are waited for a code at most: the activity that waits for it has a limit of its own."""
TEXT_LIMIT = 20_000
"""Characters of a message in which a code is looked for."""


def seconds_of(span: str | None) -> float:
    """Return the seconds of a duration; 0 without one."""
    duration = duration_of(span) if span else None
    return (duration or timedelta()).total_seconds()


def _span(text: str) -> str:
    if duration_of(text) is None:
        raise ValueError(f"expected a duration such as 30min or 12h, found {text!r}")
    return text


Span = Annotated[str, AfterValidator(_span)]


def _pattern(text: str) -> str:
    try:
        expressions.check(text)
    except expressions.Unusable as exc:
        raise ValueError(str(exc)) from exc
    return text


def _mailbox(address: str) -> str:
    parts = urlsplit(address)
    if parts.scheme not in ("imap", "imaps") or not (parts.hostname and parts.username) or parts.password:
        raise ValueError(
            f"expected an address such as imaps://ada%40example.com@imap.example.com/INBOX, without a password, "
            f"found {address!r}"
        )
    return address


class CodeSource(Authored):
    """Where codes come from."""

    imap: Annotated[str, AfterValidator(_mailbox)] | None = None
    """The mailbox: `imaps://USER@HOST[:PORT][/FOLDER]`."""
    password: str = ""
    """Name of the secret with the mailbox's password."""
    webhook: bool = False
    """True: messages come by `POST /code/NAME` (`replaywright mcp --http --hooks SECRET`)."""
    sender: str = "*"
    """Pattern of the sender's address, such as `*@crm.example.com`."""
    subject: str = "*"
    """Pattern of the subject."""
    pattern: Annotated[str, AfterValidator(_pattern)] = CODE
    """Regular expression of the code; its first group, if it has one, is the code."""
    within: Span = "2min"
    """Time after which a person is asked instead."""

    @model_validator(mode="after")
    def _is_one(self) -> "CodeSource":
        if (self.imap is None) != self.webhook:
            raise ValueError("expected either imap, with password, or webhook: true")
        if self.within_s > WITHIN_MOST_S:
            raise ValueError(f"within: expected 15min at most, found {self.within!r}; a person is asked then")
        if self.imap is not None and not self.password:
            raise ValueError("password is missing: name the secret with the mailbox's password")
        return self

    @property
    def within_s(self) -> float:
        """Seconds of `within`."""
        return seconds_of(self.within)

    def code_in(self, text: str) -> str:
        """Return the first code in a text; empty for none."""
        return expressions.part_found(self.pattern, text[:TEXT_LIMIT]) or ""

    def code_of(self, mail: bytes) -> str:
        """Return the code in a mail, as the mailbox has it; empty for none, and for one of somebody else."""
        message = email.message_from_bytes(mail, policy=email.policy.default)
        assert isinstance(message, EmailMessage)
        sender = str(message.get("from", "")).lower()
        address = sender.rpartition("<")[2].rstrip("> ")
        subject = str(message.get("subject", ""))
        if not fnmatchcase(address, self.sender.lower()) or not fnmatchcase(subject.lower(), self.subject.lower()):
            return ""
        return self.code_in(f"{_text_of(message)}\n{subject}")


class FetchCode(Record):
    """Input of `code.fetch`."""

    run_id: str
    tenant: str
    source: str
    since: float
    """Messages before this moment, in seconds since 1970, do not count."""
    number: int
    """Counts the codes that the run has fetched."""


class FetchedCode(Record):
    """Result of `code.fetch`."""

    question: str = ""
    """What the code is sealed for; empty where none came."""
    sealed: str = ""
    at: float = 0.0
    """Time of its message, in seconds since 1970."""
    why: str = ""
    """Why none came."""


class _Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002 - what the parser passes
        self._hidden += tag in ("style", "script", "head")

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("style", "script", "head")

    def handle_data(self, data: str) -> None:
        if self._hidden <= 0:
            self.words.append(data)


def _text_of(message: EmailMessage) -> str:
    """Return what a reader sees of a mail."""
    body = message.get_body(("plain", "html"))
    if body is None:
        return ""
    try:
        text = str(body.get_content())
    except (LookupError, UnicodeDecodeError):  # a character set that nobody knows
        return ""
    if body.get_content_subtype() != "html":
        return text
    words = _Words()
    words.feed(text)
    return " ".join(words.words)
