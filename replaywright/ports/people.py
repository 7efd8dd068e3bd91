"""What an activity needs to reach people: codes that they are sent, and notices to them."""

from collections.abc import Sequence
from typing import Protocol

from replaywright.domain.notice.notices import Notice
from replaywright.domain.notice.outbox import Told
from replaywright.domain.notice.routing import Destination
from replaywright.domain.site_session.codes import CodeSource


class Codes(Protocol):
    """Codes on their way from a person to a field: sealed for a question, and readable only while its key is kept.

    Every method may raise `StoreUnavailable`.
    """

    async def offer(self, *, tenant: str, run_id: str, question: str, ttl_s: float) -> str:
        """Make a key for a question and keep it for `ttl_s`; the public one. Repeated, it is another one."""

    async def read(self, *, tenant: str, run_id: str, question: str, sealed: str) -> str:
        """The code.

        Raises:
            CodeLost: its key is gone, or it was not sealed for this question.
        """

    async def seal(self, *, tenant: str, run_id: str, question: str, code: str, ttl_s: float) -> str:
        """Seal a code for a question, and keep the key for `ttl_s`. Repeated, the last one counts."""

    async def forget(self, *, tenant: str, run_id: str, question: str) -> None:
        """From now on nobody can read what was sealed for the question."""


class Mailboxes(Protocol):
    """Mailboxes that are read for codes."""

    async def newest_code(self, source: CodeSource, password: str, since: float) -> tuple[str, float]:
        """Return the code in the newest message since then, and the message's time; "" for none.

        Raises:
            MailboxFailed: the server does not answer, or refuses; `MailboxRefused` if it does not let the user in.
        """


class Announcing(Protocol):
    """Raises notices: they are told to people by and by, and whoever raised them goes on."""

    async def tell(self, notice: Notice) -> None:
        """Raise a notice."""


class Deliveries(Protocol):
    """Sends notices to destinations."""

    async def send(
        self, destination: Destination, told: Sequence[Told], *, id_: str, tenant: str, dashboard: str | None
    ) -> None:
        """Send a delivery; `id_` is the same for each try of it.

        Raises:
            NoticeFailed: it cannot be delivered.
            SecretMissing: a secret of the destination has no value here.
        """
