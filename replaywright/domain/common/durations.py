"""Lengths of time as people write them: `30s`, `15min`, `12h`, `7d`, `2w`; and times of day."""

import re
from datetime import UTC, datetime, timedelta

_WRITTEN = re.compile(r"(\d{1,5})\s*(min|[smhdw])")
_SECONDS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}


def duration_of(text: str) -> timedelta | None:
    """How long that is; None if it is no length of time."""
    match = _WRITTEN.fullmatch(text.strip())
    return None if match is None else timedelta(seconds=int(match[1]) * _SECONDS[match[2]])


def written_duration(duration: timedelta) -> str:
    """The same as people write it, in the largest unit that it is a whole number of."""
    seconds = int(duration.total_seconds())
    for unit in ("d", "h", "min"):
        if seconds and seconds % _SECONDS[unit] == 0:
            return f"{seconds // _SECONDS[unit]}{unit}"
    return f"{seconds}s"


def clock_of(at: float) -> str:
    """Write when something was, in seconds since 1970, as the time of its day (UTC) to the millisecond."""
    return datetime.fromtimestamp(at, UTC).strftime("%H:%M:%S.%f")[:-3]
