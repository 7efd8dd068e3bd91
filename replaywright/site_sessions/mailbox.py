"""Mailboxes over IMAP, read for the codes that sites send."""

import asyncio
import contextlib
import imaplib
import re
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final
from urllib.parse import unquote, urlsplit

from replaywright.domain.site_session.codes import CodeSource
from replaywright.errors import MailboxFailed, MailboxRefused

TIMEOUT_S: Final = 20.0
LOOKED_AT: Final = 20
"""Newest messages that are looked at."""
_BYTES: Final = 200_000
"""Of a message."""
_SKEW: Final = timedelta(seconds=5)
"""The mail server's clock may be behind ours by so much."""
_DATED: Final = re.compile(rb'INTERNALDATE "([^"]+)"')


class ImapMailboxes:
    """`Mailboxes` over IMAP."""

    async def newest_code(self, source: CodeSource, password: str, since: float) -> tuple[str, float]:
        """See `Mailboxes.newest_code`."""
        return await asyncio.to_thread(newest_code, source, password, since)


def newest_code(source: CodeSource, password: str, since: float) -> tuple[str, float]:
    """Return the code in the newest message since then, and the message's time; "" for none. Marks nothing as read.

    Raises:
        MailboxFailed: the server does not answer, or refuses; `MailboxRefused` if it does not let the user in.
    """
    assert source.imap is not None
    begun = datetime.fromtimestamp(since, UTC) - _SKEW
    try:
        with _opened(source.imap, password) as box:
            for number in _numbers(box, begun):
                at, mail = _message(box, number)
                if at is not None and at >= begun and (code := source.code_of(mail)):
                    return code, at.timestamp()
    except (imaplib.IMAP4.error, OSError) as exc:
        raise MailboxFailed(f"mailbox {urlsplit(source.imap).hostname}: {_said(exc)}") from None
    return "", 0.0


@contextlib.contextmanager
def _opened(address: str, password: str) -> Iterator[imaplib.IMAP4]:
    parts = urlsplit(address)
    host, user = parts.hostname or "", unquote(parts.username or "")
    if parts.scheme == "imaps":
        box: imaplib.IMAP4 = imaplib.IMAP4_SSL(
            host, parts.port or 993, ssl_context=ssl.create_default_context(), timeout=TIMEOUT_S
        )
    else:
        box = imaplib.IMAP4(host, parts.port or 143, timeout=TIMEOUT_S)
    with contextlib.closing(_Ended(box)):
        try:
            box.login(user, password)
        except box.abort:
            raise
        except box.error as exc:
            raise MailboxRefused(f"mailbox {host}: {_said(exc)}") from None
        folder = unquote(parts.path.lstrip("/")) or "INBOX"
        status, answer = box.select(f'"{folder}"', readonly=True)
        if status != "OK":
            raise imaplib.IMAP4.error(f"no folder {folder!r}: {answer!r}")
        yield box


class _Ended:
    """A connection that is logged out of, whatever came before."""

    def __init__(self, box: imaplib.IMAP4) -> None:
        self._box = box

    def close(self) -> None:
        with contextlib.suppress(imaplib.IMAP4.error, OSError):
            self._box.logout()


def _numbers(box: imaplib.IMAP4, begun: datetime) -> list[str]:
    """Return the numbers of the newest messages, the newest first; IMAP searches by days only."""
    day = (begun - timedelta(days=1)).strftime("%d-%b-%Y")
    status, found = box.search(None, "SINCE", day)
    numbers = found[0].split() if status == "OK" and found and found[0] else []
    return [number.decode() for number in reversed(numbers[-LOOKED_AT:])]


def _message(box: imaplib.IMAP4, number: str) -> tuple[datetime | None, bytes]:
    _, answer = box.fetch(number, f"(INTERNALDATE BODY.PEEK[]<0.{_BYTES}>)")
    for part in answer:
        if isinstance(part, tuple):
            dated = _DATED.search(part[0]) or next(
                (match for rest in answer if isinstance(rest, bytes) and (match := _DATED.search(rest))), None
            )
            at = None
            if dated is not None:
                with contextlib.suppress(ValueError):
                    at = datetime.strptime(dated[1].decode().strip(), "%d-%b-%Y %H:%M:%S %z")
            return at, part[1]
    return None, b""


def _said(exc: Exception) -> str:
    told = exc.args[0] if exc.args else ""
    text = told.decode(errors="replace") if isinstance(told, bytes) else str(exc)
    return text[:200] or type(exc).__name__
