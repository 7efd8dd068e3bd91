"""Inputs and results of the workflow `Notices` and its activities."""

from datetime import datetime
from typing import ClassVar

from pydantic import Field

from replaywright.domain.common.base import Record
from replaywright.domain.notice.notices import Notice
from replaywright.domain.notice.outbox import Outbox, Told
from replaywright.domain.notice.routing import Route

WORKFLOW = "Notices"
LOST_KEPT = 50
KNOWN_KEPT = 2000


class Raised(Record):
    """Signal `tell`: a notice, and the proof that one of ours raised it."""

    notice: Notice
    mac: str = ""


class Routes(Record):
    """Result of `notice.route`."""

    routes: tuple[Route, ...] = ()


class Deliver(Record):
    """Input of `notice.deliver`."""

    id: str
    """The same for each try of the delivery."""
    tenant: str
    destination: str
    told: tuple[Told, ...]


class Delivered(Record):
    """Result of `notice.deliver`."""

    sent: int
    over: int = 0
    """Notices of questions that were answered in the meantime: nobody is told of these."""


class WatchEnds(Record):
    """Input of `notice.watch`: runs that ended since then."""

    tenant: str
    since: datetime


class EndedSince(Record):
    """Result of `notice.watch`."""

    raised: tuple[Raised, ...] = ()
    since: datetime


class Lost(Record):
    """A delivery that was given up."""

    destination: str
    titles: tuple[str, ...]
    at: datetime
    why: str


class NoticesStanding(Record):
    """Answer of the query `standing`."""

    is_published: ClassVar[bool] = True

    sent: int = 0
    """Deliveries that arrived."""
    over: int = 0
    """Notices that nobody was told of, as they were over."""
    lost: tuple[Lost, ...] = ()
    """The last deliveries that were given up."""
    lost_in_all: int = 0
    held: dict[str, int] = Field(default_factory=dict)
    """Causes that wait, by destination."""


class NoticesState(Record):
    """Input of the workflow `Notices`: its state, from one execution to the next."""

    tenant: str
    since: datetime | None = None
    """Runs that ended before were looked at."""
    boxes: dict[str, Outbox] = Field(default_factory=dict)
    known: tuple[str, ...] = ()
    """Ids of the last notices, oldest first."""
    standing: NoticesStanding = NoticesStanding()
    per_history: int = 1_000
    """Notices after which the workflow continues as new."""


def workflow_id(tenant: str) -> str:
    """Return the id of a tenant's workflow `Notices`."""
    return f"notices/{tenant}"
