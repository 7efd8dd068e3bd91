"""When a schedule fires, as people say it: what is understood, and what is refused with its remedy."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replaywright.domain.batch.timetable import Timetable, catch_up_of, timetable
from replaywright.domain.common.durations import duration_of, written_duration
from replaywright.errors import InputInvalid

NOW = datetime(2026, 11, 22, 14, tzinfo=UTC)
NOTHING: dict[str, Any] = {
    "crons": (),
    "every": None,
    "offset": None,
    "zone": "UTC",
    "jitter": None,
    "begins": None,
    "ends": None,
    "now": NOW,
}


def said(**options: Any) -> Timetable:
    return timetable(**NOTHING | options)


def refused(**options: Any) -> str:
    with pytest.raises(InputInvalid) as caught:
        said(**options)
    return str(caught.value)


def test_a_timetable_has_what_was_said_with_times_of_its_own_zone() -> None:
    times = said(
        crons=("0  9 * * MON-FRI",), zone="Europe/Berlin", jitter="5min", begins="2026-12-01", ends="2027-01-01T12:00Z"
    )

    assert times.crons == ("0 9 * * MON-FRI",)
    assert times.jitter == timedelta(minutes=5)
    assert times.begins is not None
    assert times.begins.isoformat() == "2026-12-01T00:00:00+01:00"
    assert times.ends == datetime(2027, 1, 1, 12, tzinfo=UTC)
    assert said(every="6h", offset="10min") == Timetable(every=timedelta(hours=6), offset=timedelta(minutes=10))


@pytest.mark.parametrize(
    ("cron", "fault"),
    [
        ("61 * * * *", "the minute is '61'; expected 0 to 59, `*`, a range such as `0-59`, a step such as `*/2`, or"),
        ("0 24 * * *", "the hour is '24'; expected 0 to 23"),
        ("0 9 0 * *", "the day of the month is '0'; expected 1 to 31"),
        ("0 9 L * *", "the day of the month is 'L'"),
        ("0 9 * juni *", "the month is 'juni'; expected 1 to 12 or JAN to DEC"),
        ("0 9 * * fri-mon", "the day of the week is 'fri-mon', which ends before it begins; write it as two"),
        ("0 9 * * ?", "the day of the week is '?'; expected 0 to 7 or SUN to SAT"),
        ("*/0 * * * *", "the minute is '*/0', with a step of 0; expected a step of 1 to 59"),
        ("5,,6 * * * *", "the minute is ''"),
        ("* * *", "has 3 fields; expected five: minute, hour"),
        ("", "has 0 fields"),
        ("@every 5m", "an interval is --every"),
        ("@fortnightly", "expected one of @annually, @daily"),
        ("CRON_TZ=Europe/Rome 0 9 * * *", "the time zone is said with --time-zone"),
    ],
)
def test_a_cron_expression_that_is_none_is_refused_with_its_field_value_and_remedy(cron: str, fault: str) -> None:
    message = refused(crons=(cron,))

    assert message.startswith(f"--cron {cron!r}")
    assert fault in message


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({}, 'when? say --cron "0 9 * * MON-FRI", or --every 15min'),
        ({"crons": ("@daily",), "offset": "1h"}, "--offset '1h' belongs to --every"),
        ({"every": "soon"}, "--every 'soon': expected a length of time such as 30s, 15min, 12h, 7d or 2w"),
        ({"every": "1s"}, "--every '1s': expected 10s or longer"),
        ({"every": "1h", "offset": "1h"}, "--offset '1h': expected less than --every 1h"),
        ({"every": "1h", "jitter": "a bit"}, "--jitter 'a bit': expected a length of time"),
        (
            {"every": "1h", "zone": "Europe/Belrin"},
            "--time-zone 'Europe/Belrin': expected a name of the IANA database, such as Europe/Berlin",
        ),
        ({"every": "1h", "zone": "../passwd"}, "--time-zone '../passwd': expected a name"),
        ({"every": "1h", "zone": "Europe"}, "--time-zone 'Europe': expected a name"),
        (
            {"every": "1h", "begins": "tomorrow"},
            "--from 'tomorrow': expected a date or a time, such as 2026-12-24T18:00",
        ),
        ({"every": "1h", "ends": "2026-11-22T13:00"}, "--until '2026-11-22T13:00': expected a time after now"),
        (
            {"every": "1h", "begins": "2027-01-01", "ends": "2026-12-31"},
            "--until '2026-12-31': expected a time after --from 2027-01-01",
        ),
    ],
)
def test_what_is_no_time_is_refused_with_its_option_value_and_remedy(options: dict[str, Any], fault: str) -> None:
    assert refused(**options).startswith(fault)


def test_how_late_a_firing_may_be_is_a_length_of_time() -> None:
    assert catch_up_of("2d") == timedelta(days=2)
    with pytest.raises(InputInvalid, match="--catch-up '1s': expected 10s or longer"):
        catch_up_of("1s")


def test_a_day_of_the_month_and_one_of_the_week_are_told_to_be_both_meant() -> None:
    [doubt] = said(crons=("0 9 1 * MON", "0 9 1 * *", "0 9 * * MON")).doubtful

    assert doubt.startswith("--cron '0 9 1 * MON' limits the day of the month and that of the week")


@given(st.integers(0, 9_999), st.sampled_from(["s", "m", "min", "h", "d", "w"]))
def test_a_length_of_time_is_read_as_it_is_written(number: int, unit: str) -> None:
    duration = duration_of(f"{number}{unit}")

    assert duration is not None
    assert duration_of(written_duration(duration)) == duration
