"""Runs that wait for people while every worker is replaced."""

import pytest

from bench.team.waiting import measured
from tests.e2e.lab import Lab

pytestmark = [pytest.mark.slow, pytest.mark.long]

RUNS = 5


async def test_runs_that_wait_over_a_restart_of_every_worker_all_finish_and_none_twice(bare_lab: Lab) -> None:
    figures = await measured(bare_lab, RUNS, print)

    assert figures == {"waited": RUNS, "answered": RUNS, "finished": RUNS, "unfinished": 0, "twice": 0}
