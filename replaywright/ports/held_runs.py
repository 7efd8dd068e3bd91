"""Held runs, as the editor of tasks needs them: they wait before each step, and their browser is lent meanwhile."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

from replaywright.domain.common.base import Record
from replaywright.domain.task.tasks import Task
from replaywright.ports.recording import Demonstration, Screen


class HeldAt(Record):
    """Where a held run waits."""

    state: Literal["held", "failed", "asks", "ended"]
    """`held`: before a step. `failed`: at one that failed. `asks`: with a question. `ended`: not at all any more."""
    message: str = ""
    """Why, in words."""
    answers: tuple[str, ...] = ()
    """Answers that the question takes."""


class HeldRun(Protocol):
    """Does the steps of a draft, one at a time, as every run does them."""

    async def begin(self, task: Task) -> HeldAt:
        """Begin anew, in another browser; return where it waits, which is before the first step of `task`.

        Raises:
            ReplaywrightError: it cannot begin.
        """

    async def do(self, steps: Sequence[Mapping[str, Any]]) -> HeldAt:
        """Do the first of these steps, which are the rest of the plan; return where it waits then.

        Raises:
            InputInvalid: the run does not take them.
        """

    async def answer(self, verdict: str) -> HeldAt:
        """Answer its question; return where it waits then.

        Raises:
            InputInvalid: the question takes another answer.
        """

    async def lend(self) -> tuple[Demonstration, Screen]:
        """Return its browser as one in which a person works, until the run goes on.

        Raises:
            ReplaywrightError: it has none, or the browser lives elsewhere.
        """

    async def let_go(self) -> None:
        """Leave the browser to the run."""

    async def end(self) -> None:
        """End the run, if there is one, with its browser."""
