"""Tasks of MiniWoB++ and of the park that a person showed twice, replayed with values never shown, and no model."""

from collections.abc import AsyncIterator

import pytest

from bench.miniwob import Bench, bench
from bench.park.runs import lab as park_lab
from bench.shown import Result, miniwob, park

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
async def lab() -> AsyncIterator[Bench]:
    async with bench() as lab:
        yield lab


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "steps"),
    [
        ("click-option", 2),
        ("click-color", 1),
        ("email-inbox-reply", 4),
    ],
)
async def test_what_was_shown_twice_is_done_with_other_values(lab: Bench, name: str, steps: int) -> None:
    result = await miniwob(lab, name)

    assert result == Result(name, is_recorded=True, is_replayed=True, is_exact=True, model_calls=0, steps=steps)


@pytest.mark.long
async def test_one_of_many_rows_of_a_real_application_is_deleted_and_its_database_says_so() -> None:
    async with park_lab() as there:
        result = await park(there, "sqlite-web/delete-one-row")

    assert result == Result("sqlite-web/delete-one-row", is_recorded=True, is_replayed=True, is_exact=True, steps=2)
