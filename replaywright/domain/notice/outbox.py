"""What waits to be told to one destination, and what was told lately. Pure: the workflow `Notices` keeps it."""

from datetime import datetime, timedelta

from pydantic import Field

from replaywright.domain.common.base import Record
from replaywright.domain.notice.notices import Notice
from replaywright.domain.notice.routing import Route

DELIVERED_AT_ONCE = 20
"""Causes in one delivery; a destination that was away for long gets several."""


class Told(Record):
    """A notice, and how many of its cause it stands for."""

    notice: Notice
    times: int = 1
    """Number of notices of this cause since it was told last."""


class Held(Told):
    """A notice that waits."""

    due: datetime
    again_s: float


class Outbox(Record):
    """State of one destination."""

    held: tuple[Held, ...] = ()
    """At most one of each cause."""
    quiet_until: dict[str, datetime] = Field(default_factory=dict)
    """Causes that were told lately, and when they may be told again."""

    def taking(self, notice: Notice, route: Route) -> "Outbox":
        """Return the outbox with one more notice."""
        due = max(route.due, self.quiet_until.get(notice.cause, route.due))
        times = 1 + sum(one.times for one in self.held if one.notice.cause == notice.cause)
        first = next((one.due for one in self.held if one.notice.cause == notice.cause), due)
        others = tuple(one for one in self.held if one.notice.cause != notice.cause)
        return self.model_copy(
            update={"held": (*others, Held(notice=notice, times=times, due=first, again_s=route.again_s))}
        )

    @property
    def due(self) -> datetime | None:
        """Time of the next delivery; None if nothing waits."""
        return min((one.due for one in self.held), default=None)

    def delivering(self, now: datetime) -> tuple[tuple[Told, ...], "Outbox"]:
        """Return what is due, oldest first, and the outbox without it."""
        due = sorted((one for one in self.held if one.due <= now), key=lambda one: one.notice.at)[:DELIVERED_AT_ONCE]
        causes = {one.notice.cause for one in due}
        quiet = {cause: until for cause, until in self.quiet_until.items() if until > now}
        quiet |= {one.notice.cause: now + timedelta(seconds=one.again_s) for one in due if one.again_s}
        kept = tuple(one for one in self.held if one.notice.cause not in causes)
        told = tuple(Told(notice=one.notice, times=one.times) for one in due)
        return told, Outbox(held=kept, quiet_until=quiet)
