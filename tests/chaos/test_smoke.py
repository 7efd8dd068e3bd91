"""A small form of the chaos programme: every kill point once, every fault at least once, the judge is the judge."""

import pytest

from bench.chaos.points import Cell, programme
from bench.chaos.programme import Programme
from replaywright.settings import load_settings

SEED = 5
RUNS = 17
LANES = 4
LAST = ("zombie", "partition", "redis_hung", "everything", "everything_everysec")
"""Faults that take long by themselves: begun first, so that nothing waits for them in the end."""

pytestmark = pytest.mark.slow


async def test_no_fault_at_any_point_sends_twice_loses_or_reports_wrongly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REPLAYWRIGHT_MODEL", raising=False)
    cells = programme(SEED, RUNS)

    def order(cell: Cell) -> int:
        return LAST.index(cell.fault) if cell.fault in LAST else len(LAST)

    told = await Programme(sorted(cells, key=order), load_settings(), LANES).run()

    assert {one.cell.name: f"{one.verdict}: {one.said} {one.waited}" for one in told if one.is_bad} == {}
    assert sum(one.fired for one in told) == RUNS
