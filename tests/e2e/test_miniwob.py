"""A few tasks of MiniWoB++, recorded once and replayed with another seed; the tasks' own rewards are the judge."""

from collections.abc import AsyncIterator

import pytest
from rich.console import Console

from bench.miniwob import Bench, End, Kind, bench, evaluate
from bench.wob.tasks import SPECS

TASKS = ("click-button", "choose-list", "form-sequence-2", "email-inbox-delete")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
async def lab() -> AsyncIterator[Bench]:
    async with bench() as lab:
        yield lab


@pytest.mark.long
async def test_what_was_recorded_with_one_seed_is_done_right_with_another_and_no_model(lab: Bench) -> None:
    specs = [SPECS[name] for name in TASKS]

    outcomes, calls = await evaluate(lab, specs, new_seeds=1, at_once=2, console=Console(), same_seed=False)

    new = {outcome.task: (outcome.end, outcome.why) for outcome in outcomes if outcome.kind is Kind.NEW}
    assert new == dict.fromkeys(TASKS, (End.DONE, ""))
    assert calls == 0


@pytest.mark.long
async def test_a_run_that_the_page_does_not_reward_is_not_counted_as_done(lab: Bench) -> None:
    spec = SPECS["enter-text"]
    [(seed, values)] = await lab.seeds(spec, 1)

    outcome = await lab.run(spec, seed, values | {"text": "something else"}, Kind.RECORD)

    assert (outcome.end, outcome.reward) == (End.WRONG, -1.0)
