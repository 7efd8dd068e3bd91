"""Small forms of the programmes of chaos and truth, in the same lanes: the site is the judge of what was sent."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from bench.chaos.lane import TOGETHER, Lane
from bench.chaos.lanes import lanes_in
from bench.chaos.points import ALL_FAULTS, ALL_POINTS, Cell, programme
from bench.chaos.programme import Programme
from bench.truth.cells import short
from bench.truth.programme import Programme as Truth
from bench.truth.tasks import SHORT
from replaywright.settings import Settings, load_settings

SEED = 5
LANES = 3
ONE_OF_A_KIND = (
    *("located", "held", "dispatched", "bytes_out", "returned"),  # of a send step
    *("fill_acted", "resolving", "adopting", "rebuilding", "promoting", "proposing"),
)
"""Points of which each stands for its neighbours; as many as there are faults."""
BEHAVIOURS = ("form", "late-2-5", "retries")
LAST = ("zombie", "partition", "redis_hung", "everything", "everything_everysec")
"""Faults that take long by themselves: begun first, so that nothing waits for them in the end."""
STRUCK = ("service-worker-retries", "contained", "cut", "beacon-on-leaving")
"""Behaviours that meet a fault: a page that sends again, that blocks a second press, that is cut, and that is left."""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def settings() -> Settings:
    return load_settings().model_copy(update={"model": None})


@pytest.fixture(scope="module")
async def lanes(tmp_path_factory: pytest.TempPathFactory, settings: Settings) -> AsyncIterator[list[Lane]]:
    folder: Path = tmp_path_factory.mktemp("lanes")
    async with lanes_in(folder, settings, LANES, TOGETHER) as started:
        yield started


@pytest.mark.parametrize(
    "points",
    [
        pytest.param(ONE_OF_A_KIND, id="one of a kind"),
        pytest.param(ALL_POINTS, id="every point", marks=pytest.mark.long),
    ],
)
async def test_no_fault_at_any_point_sends_twice_loses_or_reports_wrongly(
    lanes: list[Lane], settings: Settings, points: Sequence[str]
) -> None:
    cells = programme(SEED, max(len(points), len(ALL_FAULTS)), points=points, behaviours=BEHAVIOURS)

    def order(cell: Cell) -> int:
        return LAST.index(cell.fault) if cell.fault in LAST else len(LAST)

    told = await Programme(sorted(cells, key=order), settings).run(lanes)

    assert {one.cell.name: f"{one.verdict}: {one.said} {one.waited}" for one in told if one.is_bad} == {}
    assert sum(one.fired for one in told) == len(cells)


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(STRUCK, id="four with a fault"),
        pytest.param([group[0].behaviour.name for group in short(SEED)], id="every kind", marks=pytest.mark.long),
    ],
)
async def test_what_a_run_says_of_a_page_that_acts_late_or_again_is_what_the_site_has(
    lanes: list[Lane], settings: Settings, names: Sequence[str]
) -> None:
    groups = [group for group in short(SEED) if group[0].behaviour.name in names]
    truth = Truth(groups, settings, pace=SHORT)

    told = await truth.run(lanes)

    assert {one.cell.name: f"{one.verdict}: {one.said} {one.asked}" for one in told if one.faults} == {}
    assert len(told) == truth.planned
    assert {one.cell.behaviour.name for one in told} == set(names)
