"""Durations as people write them (`30s`, `15min`, `12h`, `7d`, `2w`), moments for files, and times of day."""

import re
from datetime import UTC, datetime, timedelta

_WRITTEN = re.compile(r"(\d{1,5})\s*(min|[smhdw])")
_SECONDS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}


def duration_of(text: str) -> timedelta | None:
    """Parse a duration; None if the text is none."""
    match = _WRITTEN.fullmatch(text.strip())
    return None if match is None else timedelta(seconds=int(match[1]) * _SECONDS[match[2]])


def written_duration(duration: timedelta) -> str:
    """Write the duration in the largest unit that divides it."""
    seconds = int(duration.total_seconds())
    for unit in ("d", "h", "min"):
        if seconds and seconds % _SECONDS[unit] == 0:
            return f"{seconds // _SECONDS[unit]}{unit}"
    return f"{seconds}s"


def iso_of(at: float | datetime) -> str:
    """Return a moment, in seconds since 1970 if it is a number, as ISO 8601 in UTC with milliseconds."""
    time = at if isinstance(at, datetime) else datetime.fromtimestamp(at, UTC)
    return time.astimezone(UTC).isoformat(timespec="milliseconds")


def clock_of(at: float) -> str:
    """Return the time of day (UTC, with milliseconds) of a moment in seconds since 1970."""
    return datetime.fromtimestamp(at, UTC).strftime("%H:%M:%S.%f")[:-3]
