"""The verification benchmark in short: it performs its steps, and says what verifying them adds."""

import io

import pytest
from rich.console import Console

from bench.verify import EXPECTATIONS, NONE, Times, measure, shown


@pytest.mark.long
async def test_every_step_is_measured_with_every_kind_of_expectation() -> None:
    said = io.StringIO()

    figures = await measure(2, 1_000, Console(file=said, width=120))

    kinds = set(EXPECTATIONS) - {NONE}
    assert figures["added_ms_by_kind"].keys() == kinds
    assert all(taken > 0 for taken in figures["step_ms"].values())
    assert {"added_ms", "added_ms_most", "rounds"} <= figures.keys()
    assert all(said.getvalue().count(kind) >= len(figures["step_ms"]) for kind in kinds)


def test_what_is_added_is_the_median_of_the_differences_of_each_round() -> None:
    times = {
        ("click", NONE): Times(taken=[10.0, 20.0, 30.0], added=[0.0, 0.0, 0.0]),
        ("click", "exists"): Times(taken=[12.0, 21.0, 39.0], added=[2.0, 1.0, 9.0]),
        ("click", "text_contains"): Times(taken=[14.0, 24.0, 34.0], added=[4.0, 4.0, 4.0]),
    }

    figures = shown(Console(file=io.StringIO()), times, rounds=3, elements=1_000)

    assert figures["added_ms_by_kind"] == {"exists": 2.0, "text_contains": 4.0}
    assert (figures["added_ms"], figures["added_ms_most"]) == (4.0, 4.0)
    assert figures["step_ms"] == {"click": 20.0}
