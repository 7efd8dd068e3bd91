"""Timetables of schedules: cron expressions, intervals and times of a time zone, as people write them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

from replaywright.domain.common.durations import duration_of, written_duration
from replaywright.domain.common.zones import zone_of
from replaywright.errors import InputInvalid

SKILL = "skill:"
"""Beginning of what a schedule starts, if that is a skill."""
STARTS = "starts"
"""Memo of a schedule: what it starts."""
CANARY = "canary"
"""Memo of a schedule and its runs: they only see whether a skill still works."""
SHORTEST = timedelta(seconds=10)
"""Shortest interval and shortest catch-up window."""
_DURATION = "a length of time such as 30s, 15min, 12h, 7d or 2w"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_SHORT = frozenset({"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"})
_PART = re.compile(r"(\*|(?P<first>\w+)(-(?P<last>\w+))?)(/(?P<step>\d+))?")


@dataclass(frozen=True)
class _Field:
    name: str
    lowest: int
    highest: int
    names: tuple[str, ...] = ()
    first_name: int = 0

    @property
    def expected(self) -> str:
        named = f" or {self.names[0].upper()} to {self.names[-1].upper()}" if self.names else ""
        return f"{self.lowest} to {self.highest}{named}"

    def number(self, text: str) -> int | None:
        """Return the number that `text` stands for; None if it is invalid."""
        if text.lower() in self.names:
            return self.names.index(text.lower()) + self.first_name
        number = int(text) if text.isdecimal() and text.isascii() else -1
        return number if self.lowest <= number <= self.highest else None


_SECOND = _Field("second", 0, 59)
_FIVE = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of the month", 1, 31),
    _Field("month", 1, 12, _MONTHS, 1),
    _Field("day of the week", 0, 7, _DAYS),
)
_YEAR = _Field("year", 2000, 2100)
_FIELDS = {5: _FIVE, 6: (*_FIVE, _YEAR), 7: (_SECOND, *_FIVE, _YEAR)}


@dataclass(frozen=True)
class Timetable:
    """Firing times of a schedule; it has `crons` or `every`."""

    crons: tuple[str, ...] = ()
    """Cron expressions of five fields, six (a year last), seven (seconds first), or a word such as `@daily`."""
    every: timedelta | None = None
    """Interval, counted from 1970 in UTC."""
    offset: timedelta = timedelta(0)
    """Added to each moment of `every`."""
    zone: str = "UTC"
    """IANA name of the time zone of `crons`."""
    jitter: timedelta = timedelta(0)
    """Maximum random delay of each firing."""
    begins: datetime | None = None
    ends: datetime | None = None

    @property
    def doubtful(self) -> tuple[str, ...]:
        """Warnings about ambiguous expressions."""
        both = [cron for cron in self.crons if _limits_both_days(cron)]
        return tuple(
            f"--cron {cron!r} limits the day of the month and that of the week: it fires when both are so, not when "
            "one is, as some crons do; give --cron twice for that"
            for cron in both
        )


def timetable(
    *,
    crons: Sequence[str],
    every: str | None,
    offset: str | None,
    zone: str,
    jitter: str | None,
    begins: str | None,
    ends: str | None,
    now: datetime,
) -> Timetable:
    """Return the timetable for the options of `replaywright schedule create`.

    Raises:
        InputInvalid: the message has the option, its value and the expected form.
    """
    if not crons and every is None:
        raise InputInvalid('when? say --cron "0 9 * * MON-FRI", or --every 15min')
    if offset is not None and every is None:
        raise InputInvalid(f"--offset {offset!r} belongs to --every; a --cron says its time itself")
    clock = zone_of(zone)
    for cron in crons:
        check_cron(cron)
    found = Timetable(
        crons=tuple(" ".join(cron.split()) for cron in crons),
        every=None if every is None else _long_enough("--every", every),
        offset=timedelta(0) if offset is None else _duration("--offset", offset),
        zone=zone,
        jitter=timedelta(0) if jitter is None else _duration("--jitter", jitter),
        begins=None if begins is None else moment_of("--from", begins, clock),
        ends=None if ends is None else moment_of("--until", ends, clock),
    )
    if found.every is not None and found.offset >= found.every:
        raise InputInvalid(f"--offset {offset!r}: expected less than --every {written_duration(found.every)}")
    if found.ends is not None and found.ends <= max(now, found.begins or now):
        after = "now" if found.begins is None or found.begins < now else f"--from {begins}"
        raise InputInvalid(f"--until {ends!r}: expected a time after {after}, else it never fires")
    return found


def catch_up_of(text: str) -> timedelta:
    """Return how late a firing may be.

    Raises:
        InputInvalid: it is no length of time, or too short.
    """
    return _long_enough("--catch-up", text)


def moment_of(option: str, text: str, zone: tzinfo) -> datetime:
    """Return that moment; without a zone it is in `zone`.

    Raises:
        InputInvalid: it is no date or time.
    """
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        raise InputInvalid(f"{option} {text!r}: expected a date or a time, such as 2026-12-24T18:00") from None
    return found if found.tzinfo is not None else found.replace(tzinfo=zone)


def check_cron(text: str) -> None:
    """Check a cron expression.

    Raises:
        InputInvalid: the message has the field, its text and the expected form.
    """
    words = text.split()
    if words and words[0].startswith("@"):
        if len(words) != 1 or words[0] not in _SHORT:
            known = ", ".join(sorted(_SHORT))
            instead = " (an interval is --every)" if words[0] == "@every" else ""
            raise InputInvalid(f"--cron {text!r}: expected one of {known}{instead}, or five fields")
        return
    if "TZ=" in text:
        raise InputInvalid(f"--cron {text!r}: the time zone is said with --time-zone")
    if len(words) not in _FIELDS:
        raise InputInvalid(
            f"--cron {text!r} has {len(words)} {'field' if len(words) == 1 else 'fields'}; expected five: minute, "
            'hour, day of the month, month, day of the week, such as "0 9 * * MON-FRI" (in quotes)'
        )
    for field, word in zip(_FIELDS[len(words)], words, strict=True):
        for part in word.split(","):
            if (fault := _fault_of(field, part)) is not None:
                raise InputInvalid(f"--cron {text!r}: the {field.name} {fault}")


def _fault_of(field: _Field, part: str) -> str | None:
    match = _PART.fullmatch(part)
    usual = (
        f"is {part!r}; expected {field.expected}, `*`, a range such as `{field.lowest}-{field.highest}`, a step such "
    )
    usual += "as `*/2`, or several of these with commas"
    if match is None:
        return usual
    step = match["step"]
    if step is not None and not 1 <= int(step) <= field.highest:
        return f"is {part!r}, with a step of {step}; expected a step of 1 to {field.highest}"
    if match["first"] is None:
        return None
    first = field.number(match["first"])
    last = first if match["last"] is None else field.number(match["last"])
    if first is None or last is None:
        return usual
    return None if first <= last else f"is {part!r}, which ends before it begins; write it as two, with a comma"


def _limits_both_days(cron: str) -> bool:
    words = cron.split()
    if len(words) not in _FIELDS:
        return False
    named = dict(zip((field.name for field in _FIELDS[len(words)]), words, strict=True))
    return not any(named[field].startswith("*") for field in ("day of the month", "day of the week"))


def _duration(option: str, text: str) -> timedelta:
    found = duration_of(text)
    if found is None:
        raise InputInvalid(f"{option} {text!r}: expected {_DURATION}")
    return found


def _long_enough(option: str, text: str) -> timedelta:
    found = _duration(option, text)
    if found < SHORTEST:
        raise InputInvalid(f"{option} {text!r}: expected {written_duration(SHORTEST)} or longer")
    return found
