"""People of the dashboard, and their roles."""

import math
import time
from dataclasses import dataclass
from enum import StrEnum


class Role(StrEnum):
    """Role of a person; each allows what the ones before it allow."""

    LOOK = "look"
    """Sees runs, pictures, reports and the live view."""
    ANSWER = "answer"
    """Answers what runs ask."""
    OPERATE = "operate"
    """Starts runs, takes browsers over, changes schedules, sessions, batches and recordings."""

    def allows(self, needed: "Role") -> bool:
        """Return whether somebody of this role may do what needs `needed`."""
        ranks = list(Role)
        return ranks.index(self) >= ranks.index(needed)


@dataclass(frozen=True)
class Person:
    """Somebody who may use the dashboard."""

    name: str
    role: Role
    ends: float = math.inf
    """End of the sign-in, by the monotonic clock."""
    may_leave: bool = False
    """True for somebody who signed in, and may sign out."""

    @property
    def is_over(self) -> bool:
        """Return whether the sign-in has ended."""
        return time.monotonic() >= self.ends
