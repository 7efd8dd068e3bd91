"""Two tasks of MiniWoB++ that a person showed twice, replayed with a seed that was never shown, and no model."""

from collections.abc import AsyncIterator

import pytest

from bench.miniwob import Bench, bench
from bench.shown import Result, miniwob

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
async def lab() -> AsyncIterator[Bench]:
    async with bench() as lab:
        yield lab


@pytest.mark.parametrize(
    ("name", "steps"), [("click-option", 2), pytest.param("email-inbox-reply", 4, marks=pytest.mark.long)]
)
async def test_what_was_shown_twice_is_done_with_other_values(lab: Bench, name: str, steps: int) -> None:
    result = await miniwob(lab, name)

    assert result == Result(name, is_recorded=True, is_replayed=True, is_exact=True, model_calls=0, steps=steps)
