"""Who is told of what, and when: what the operator writes in the file of `REPLAYWRIGHT_NOTICES`."""

import re
from collections.abc import Iterator
from datetime import datetime, time, timedelta
from fnmatch import fnmatchcase
from typing import Annotated, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, Field, field_validator, model_validator

from replaywright.domain.common.base import Authored, Record
from replaywright.domain.common.durations import duration_of
from replaywright.domain.notice.notices import QUESTIONS, Notice, NoticeKind

_NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,60}$"
_CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as exc:
        raise ValueError(f"expected a time zone such as Europe/Berlin, found {name!r}") from exc
    return name


def _clock(text: str) -> str:
    if _CLOCK.fullmatch(text) is None:
        raise ValueError(f"expected a time of day such as '22:00', in quotes, found {text!r}")
    return text


def _span(text: str) -> str:
    if duration_of(text) is None:
        raise ValueError(f"expected a duration such as 30s, 15min or 12h, found {text!r}")
    return text


Clock = Annotated[str, AfterValidator(_clock)]
Span = Annotated[str, AfterValidator(_span)]


class QuietHours(Authored):
    """Hours in which nobody is told: what comes in them is told together at their end."""

    begin: Clock = Field(alias="from")
    until: Clock
    zone: Annotated[str, AfterValidator(_zone)] = "UTC"
    """Time zone of both."""
    days: tuple[str, ...] = ()
    """Days on which they begin, such as `sat`; none: every day."""

    @field_validator("days")
    @classmethod
    def _are_days(cls, days: tuple[str, ...]) -> tuple[str, ...]:
        for day in days:
            if day not in _DAYS:
                raise ValueError(f"expected days such as {', '.join(_DAYS)}, found {day!r}")
        return days

    def end_after(self, at: datetime) -> datetime | None:
        """Return the end of the quiet hours that `at` is in; None if it is in none."""
        local = at.astimezone(ZoneInfo(self.zone))
        for began in (local.date(), local.date() - timedelta(days=1)):
            if self.days and _DAYS[began.weekday()] not in self.days:
                continue
            start = datetime.combine(began, _time(self.begin), local.tzinfo)
            end = datetime.combine(began, _time(self.until), local.tzinfo)
            if end <= start:
                end = datetime.combine(began + timedelta(days=1), _time(self.until), local.tzinfo)
            if start <= local < end:
                return end.astimezone(at.tzinfo)
        return None


_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def _time(text: str) -> time:
    hour, minute = text.split(":")
    return time(int(hour), int(minute))


class Destination(Authored):
    """A place that notices go to: one of `webhook`, `apprise` and `command`."""

    webhook: str | None = None
    """Address that gets each delivery as JSON by POST, with the headers of Standard Webhooks."""
    signed_with: str | None = None
    """Name of the secret that signs the webhook's deliveries: `whsec_…`, or any text of 24 bytes or more in Base64."""
    apprise: str | None = None
    """Address in Apprise's notation: `slack://…`, `workflows://…` (Teams), `mailtos://…` and a hundred more."""
    command: str | None = None
    """Program, run without a shell, that gets each delivery as JSON on its standard input."""
    about: tuple[NoticeKind, ...] = tuple(kind for kind in NoticeKind if kind is not NoticeKind.TEST)
    """Kinds of notices that it gets."""
    tasks: tuple[str, ...] = ()
    """Names of the tasks whose notices it gets, with `*`; none: all."""
    quiet: tuple[QuietHours, ...] = ()
    """Hours in which it gets none; questions with a deadline within them come all the same."""
    together: Span = "0s"
    """What comes within this time after a first notice is sent with it."""
    again: Span = "1h"
    """Notices of one cause that was told are counted, and told together after this time."""

    @model_validator(mode="before")
    @classmethod
    def _takes_one_of_hours(cls, given: Any) -> Any:
        if isinstance(given, dict) and isinstance(given.get("quiet"), dict):
            return {**given, "quiet": [given["quiet"]]}
        return given

    @model_validator(mode="after")
    def _leads_somewhere(self) -> "Destination":
        given = [name for name in ("webhook", "apprise", "command") if getattr(self, name)]
        if len(given) != 1:
            raise ValueError(f"expected one of webhook, apprise and command, found {' and '.join(given) or 'none'}")
        if self.webhook and not self.webhook.startswith(("http://", "https://")):
            raise ValueError(f"webhook: expected an address that begins with https://, found {self.webhook[:30]!r}")
        if self.signed_with and not self.webhook:
            raise ValueError("signed_with: only a webhook is signed: leave it out")
        return self

    def wants(self, notice: Notice) -> bool:
        """Tell whether the notice is for this destination."""
        if notice.kind is NoticeKind.TEST:
            return True
        if notice.kind not in self.about:
            return False
        return not self.tasks or any(fnmatchcase(notice.task, pattern) for pattern in self.tasks)

    def due(self, notice: Notice, now: datetime) -> datetime:
        """Return when the notice may be told."""
        if notice.kind is NoticeKind.TEST:
            return now
        first = now + (duration_of(self.together) or timedelta())
        ends = [end for quiet in self.quiet if (end := quiet.end_after(first)) is not None]
        if not ends:
            return first
        end, question = max(ends), notice.question
        is_urgent = notice.kind in QUESTIONS and question is not None and question.deadline is not None
        return first if is_urgent and question is not None and (question.deadline or end) <= end else end


class NoticeFile(Authored):
    """Who is told of what."""

    dashboard: str | None = None
    """Address of the dashboard as people reach it: notices lead to their pages there."""
    to: dict[Annotated[str, Field(pattern=_NAME)], Destination] = Field(min_length=1)
    """Destinations by name."""

    def routes(self, notice: Notice, now: datetime) -> Iterator["Route"]:
        """Return the ways of a notice."""
        for name, destination in self.to.items():
            if destination.wants(notice):
                again = duration_of(destination.again) or timedelta()
                yield Route(destination=name, due=destination.due(notice, now), again_s=again.total_seconds())


class Route(Record):
    """Way of a notice."""

    destination: str
    due: datetime
    again_s: float
    """Seconds for which notices of the same cause are held back once it was told."""
