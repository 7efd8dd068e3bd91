"""What an activity needs to reach people: codes that they are sent, and notices to them."""

from typing import Protocol


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

    async def forget(self, *, tenant: str, run_id: str, question: str) -> None:
        """From now on nobody can read what was sealed for the question."""


class Notices(Protocol):
    """Tells people that a run waits for them."""

    async def tell(self, notice: str) -> None:
        """Pass on `notice`, the JSON of a `replaywright.domain.task.questions.Notice`.

        Raises:
            NoticeFailed: it cannot be passed on.
        """
