"""Time zones by their names."""

import difflib
from datetime import UTC, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from replaywright.errors import InputInvalid


def zone_of(name: str, field: str = "--time-zone") -> tzinfo:
    """Return the time zone of this name; `field` is the place of the name, for the message.

    Raises:
        InputInvalid: there is none; the message has similar names.
    """
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # a folder of the database, or a path out of it
        known = available_timezones()
    if not known:
        raise InputInvalid(
            f"{field} {name!r}: this machine has no time zone database: install the package tzdata"
        ) from None
    cities = {each.rpartition("/")[2].lower(): each for each in sorted(known)}
    alike = difflib.get_close_matches(name.rpartition("/")[2].lower(), cities, n=3, cutoff=0.6)
    near = ", ".join(cities[each] for each in alike) or "Europe/Berlin, America/New_York, Asia/Shanghai"
    raise InputInvalid(f"{field} {name!r}: expected a name of the IANA database, such as {near}") from None
