"""The short form of `make bench-scale`: it measures what it was asked for."""

import pytest

from bench.scale import endurance, growth, width
from bench.scale.fleet import Fleet, watched
from bench.scale.site import list_task

pytestmark = pytest.mark.slow


def tell(_text: str) -> None:
    """Say nothing."""


@pytest.mark.long
async def test_runs_at_the_same_time_are_counted_timed_and_weighed() -> None:
    async with Fleet(played=True, tell=tell) as fleet:
        task = await fleet.learned(5)
        async with watched(fleet) as seen:
            waved = await fleet.wave(task, 3)
        long = await fleet.wave(await fleet.learned(150), 1)

    assert (waved.failed, long.failed) == ([], [])
    assert waved.steps >= 15  # a step that is tried again is recorded again
    assert len(waved.gaps_ms) == waved.steps - waved.runs
    assert long.steps >= 150
    assert min(waved.gaps_ms) > 0
    assert seen.commands > waved.steps
    assert {name for name, spent in seen.cpu_s.items() if spent > 0} >= {"temporal", "workers"}


@pytest.mark.long
async def test_runs_with_played_browsers_do_all_steps_of_a_task_and_of_a_list() -> None:
    async with Fleet(played=True, tell=tell) as fleet:
        waved = await fleet.wave(await fleet.learned(5), 2)
        of_a_list = await fleet.wave(list_task(fleet.url, 20), 1)

    assert (waved.failed, of_a_list.failed) == ([], [])
    assert waved.steps >= 10  # a step that is tried again is recorded again
    assert of_a_list.steps >= 22  # with the one that opens the page, and the list's own


@pytest.mark.long
async def test_a_look_up_is_timed_in_a_cache_of_a_size() -> None:
    rows = await growth.fuller((300, 1_000), tell=tell)

    assert [row["entries"] for row in rows] == [300, 1_000]
    assert all(float(row["look_up_ms"]) > 0 for row in rows)


def test_a_slope_is_fitted_without_the_warming() -> None:
    filling = [(runs, 100.0 + runs) for runs in range(0, 20, 2)]
    flat = [(runs, 150.0) for runs in range(20, 101, 2)]
    leaking = [(runs, 150.0 + runs / 10) for runs in range(20, 101, 2)]

    assert endurance.slope([*filling, *flat]).mib_per_1000_runs == 0
    assert endurance.slope([*filling, *leaking]).mib_per_1000_runs == pytest.approx(100)


def test_the_limit_is_named_by_the_part_that_takes_most() -> None:
    row: width.Row = {"browsers": "played", "workers": 1, "runs": 8, "steps_per_s": 40.0, "busy": 1.9, "load": 2.0}
    spent = {"temporal_cpu_ms": 30.0, "redis_cpu_ms": 1.0, "workers_cpu_ms": 19.0, "browsers_cpu_ms": 0.0}

    said = width.limit([{**row, **spent}])

    assert "most of it (30 ms) in temporal" in said
    assert "at most 40.0 steps/s" in said
