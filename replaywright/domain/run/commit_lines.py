"""Commit steps of a run: done, not done, or in doubt."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal, TypeAlias

from pydantic import Field

from replaywright.domain.common.base import Record

COMMITS = "commits"
"""Name in the memo of a cancelled run, which has no result, under which its lines stand."""
COMMITS_TOLD = 50
"""Lines that a result holds at most: the last."""
CommitState: TypeAlias = Literal["done", "not_done", "in_doubt"]


class CommitLine(Record):
    """A step with consequences that a run has begun, and what is known of it."""

    step: int = Field(ge=0)
    """Index in the plan as it is written out."""
    title: str = ""
    """Step text for people; templates as written, never a value."""
    state: CommitState
    """`done`: its outcome was recorded. `not_done`: nothing of it left the browser, or the site does not have it.
    `in_doubt`: it may have taken effect; the ledger keeps it so, for `resume`."""
    left_at: datetime | None = None
    """Time at which its request was let go; None if none was, or if unknown."""

    def __str__(self) -> str:
        number = self.step + 1
        at = "" if self.left_at is None else self.left_at.astimezone(UTC).strftime("%H:%M:%S UTC")
        match self.state:
            case "done":
                return f"step {number} was {'sent' if at else 'done'}"
            case "not_done":
                return f"step {number} took no effect: it left at {at}" if at else f"step {number} was not sent"
            case _ if at:
                return f"step {number} is in doubt: it left at {at}, and no answer was seen"
            case _:
                return f"step {number} is in doubt: nobody knows if it left the browser"


def commits_said(lines: Sequence[CommitLine]) -> str:
    """All lines in one: `step 5 was sent; step 7 is in doubt: …`."""
    return "; ".join(map(str, lines))


def left_at(seconds: float | None) -> datetime | None:
    """The instant of a black box: seconds since 1970."""
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
