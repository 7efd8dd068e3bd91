"""Codes from a real mailbox, over IMAP: the newest of the right sender counts, and nothing that was there before."""

import imaplib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import EmailMessage
from pathlib import Path

import pytest

from replaywright.domain.site_session.codes import CodeSource
from replaywright.errors import MailboxFailed, MailboxRefused
from replaywright.site_sessions.mailbox import newest_code

_START_S = 30


@dataclass(frozen=True)
class Mailbox:
    """A mailbox of somebody."""

    port: int
    user: str = "demouser"
    password: str = "demopass"

    def source(self, **more: str) -> CodeSource:
        """It as a source of codes."""
        address = f"imap://{self.user}@127.0.0.1:{self.port}"
        return CodeSource.model_validate({"imap": address, "password": "MAIL", "sender": "*@crm.example.com", **more})

    def receives(self, text: str, *, sender: str = "no-reply@crm.example.com", at: float = 0.0) -> None:
        """A message arrives."""
        mail = EmailMessage()
        mail["From"], mail["Subject"] = f"CRM <{sender}>", "Your code"
        mail.set_content(text)
        with imaplib.IMAP4("127.0.0.1", self.port) as box:
            box.login(self.user, self.password)
            box.append("INBOX", "", imaplib.Time2Internaldate(at or time.time()), mail.as_bytes())

    @property
    def unread(self) -> int:
        """Number of unread messages."""
        with imaplib.IMAP4("127.0.0.1", self.port) as box:
            box.login(self.user, self.password)
            box.select("INBOX", readonly=True)
            return len(box.search(None, "UNSEEN")[1][0].split())


@contextmanager
def imap_served() -> Iterator[Mailbox]:
    """A mail server of its own; its mailbox has messages from before."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [str(Path(sys.executable).with_name("pymap")), "--no-tls", "--host", "127.0.0.1", "--port", str(port)]
    command += ["--no-service", "managesieve", "--no-service", "admin", "dict", "--demo-data"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            deadline = time.monotonic() + _START_S
            while True:
                try:
                    imaplib.IMAP4("127.0.0.1", port).logout()
                    break
                except (OSError, imaplib.IMAP4.error):
                    assert time.monotonic() < deadline, "the mail server does not answer"
                    time.sleep(0.1)
            yield Mailbox(port)
        finally:
            server.terminate()


@pytest.fixture(scope="module")
def mailbox() -> Iterator[Mailbox]:
    with imap_served() as mailbox:
        yield mailbox


def test_the_newest_code_of_the_right_sender_counts_and_nothing_is_marked_as_read(mailbox: Mailbox) -> None:
    begun = time.time()
    source = mailbox.source()
    assert newest_code(source, mailbox.password, begun) == ("", 0.0)

    mailbox.receives("Your code is 111111.", at=begun - 600)
    assert newest_code(source, mailbox.password, begun)[0] == "", "it was there before the run began"
    mailbox.receives("Your code is 222222.")
    mailbox.receives("Your code is 333333.", sender="somebody@evil.example")
    unread = mailbox.unread
    assert newest_code(source, mailbox.password, begun)[0] == "222222"
    mailbox.receives("Your code is 444444.")
    code, at = newest_code(source, mailbox.password, begun)

    assert (code, at >= begun - 1) == ("444444", True)
    assert mailbox.unread == unread + 1
    assert newest_code(source, mailbox.password, at + 6) == ("", 0.0), "its code was entered"


def test_a_mailbox_that_refuses_says_so_without_the_password(mailbox: Mailbox) -> None:
    with pytest.raises(MailboxRefused, match=r"127\.0\.0\.1: .*Invalid authentication") as refused:
        newest_code(mailbox.source(), "not-my-password", time.time())
    assert "not-my-password" not in str(refused.value)
    with pytest.raises(MailboxFailed, match="refused"):
        newest_code(Mailbox(1).source(), "x", time.time())
