"""The short form of the truth programme: every behaviour once, some under a fault; the site says what is true."""

import pytest

from bench.truth.cells import short
from bench.truth.programme import Programme
from bench.truth.tasks import SHORT
from replaywright.settings import load_settings

SEED = 3
LANES = 4

pytestmark = pytest.mark.slow


async def test_what_a_run_says_of_a_page_that_acts_late_or_again_is_what_the_site_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("REPLAYWRIGHT_MODEL", raising=False)
    cells = short(SEED)
    programme = Programme(cells, load_settings(), LANES, pace=SHORT)

    told = await programme.run()

    assert {one.cell.name: f"{one.verdict}: {one.said} {one.asked}" for one in told if one.faults} == {}
    assert len(told) == programme.planned
