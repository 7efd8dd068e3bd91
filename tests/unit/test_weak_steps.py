"""How often a step was done of late, and from when on that warns or asks."""

import pytest

from replaywright.domain.skill.weak_steps import rate_of


@pytest.mark.parametrize(
    ("recent", "warns", "asks"),
    [
        ("", False, False),
        ("0000", False, False),
        ("11110", True, False),
        ("11100", True, True),
        ("1" * 19 + "0", False, False),
        ("1" * 18 + "00", True, False),
        ("1" * 16 + "0000", True, False),
        ("1" * 15 + "00000", True, True),
    ],
)
def test_below_95_percent_warns_and_below_80_percent_asks_once_five_runs_are_known(
    recent: str, warns: bool, asks: bool
) -> None:
    rate = rate_of(recent)

    assert (rate.warns, rate.asks) == (warns, asks)
