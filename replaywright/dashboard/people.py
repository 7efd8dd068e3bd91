"""People of the dashboard, and their roles."""

from collections.abc import Callable
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
class Viewer:
    """Somebody who may use the dashboard."""

    name: str
    role: Role
    may_leave: bool = False
    """True for somebody who signed in, and may sign out."""
    is_here: Callable[[], bool] = lambda: True
    """Tells whether the sign-in lasts still: neither its time is over, nor has the person signed out."""
