"""A step as a local activity: quick, left to a regular one when it takes long, ended with its workflow."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from temporalio.exceptions import ApplicationError

from activities import near
from activities.near import NearActions
from replaywright.domain.actions import Action
from replaywright.domain.outcomes import Status, StepOutcome
from replaywright.domain.runs import ELSEWHERE, GOES_ON, ActionRequest, NearOutcome
from replaywright.domain.sessions import Here
from replaywright.ports import Known
from replaywright.testing.steps import FakeStepStore
from tests.unit.staged import CLICK_HELP, HELP, SESSION, Stage, request, run_activity

ASKED = request(CLICK_HELP, proposed=HELP)


class HeldStore(FakeStepStore):
    """Answers when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.let = asyncio.Event(), asyncio.Event()

    async def look_up(self, **given: Any) -> Known:
        self.asked.set()
        await self.let.wait()
        return await super().look_up(**given)


@pytest.fixture
def store() -> HeldStore:
    return HeldStore()


@pytest.fixture
async def stage(store: HeldStore) -> AsyncIterator[Stage]:
    stage = Stage(store=store)
    yield stage
    await stage.attachments.drop_all()


def click_near(stage: Stage, queue: str = SESSION.queue) -> Callable[[ActionRequest], Awaitable[NearOutcome]]:
    served = NearActions()
    served.serve(stage.actions, queue)
    return served.activities()[[*Action].index(Action.CLICK)]


def click(stage: Stage) -> Callable[[ActionRequest], Awaitable[StepOutcome]]:
    return stage.actions.activities()[[*Action].index(Action.CLICK)]


async def test_a_quick_step_tells_what_it_was_asked_and_what_became_of_it(stage: Stage, store: HeldStore) -> None:
    store.let.set()

    answer = await run_activity(click_near(stage), ASKED)

    assert answer.asked == ASKED
    assert answer.outcome.status is Status.DONE


async def test_a_process_says_where_its_browsers_are_as_long_as_it_has_them(stage: Stage) -> None:
    served = NearActions()
    before = await run_activity(served.here)

    served.serve(stage.actions, "mine", "a-host")
    serving = await run_activity(served.here)
    served.serve(None)

    assert (before, serving) == (Here(), Here(queue="mine", host="a-host"))
    assert await run_activity(served.here) == Here()


async def test_a_process_takes_no_step_of_another_ones_sessions(stage: Stage) -> None:
    with pytest.raises(ApplicationError) as told:
        await run_activity(click_near(stage, "another"), ASKED)

    assert told.value.type == ELSEWHERE


async def test_a_step_that_takes_long_goes_on_and_the_regular_activity_that_follows_waits_for_it(
    stage: Stage, store: HeldStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(near, "NEAR_S", 0.01)

    with pytest.raises(ApplicationError) as told:
        await run_activity(click_near(stage), ASKED)
    following = asyncio.create_task(run_activity(click(stage), ASKED))
    store.let.set()
    outcome = await following

    assert (told.value.type, told.value.non_retryable) == (GOES_ON, True)
    assert outcome.status is Status.DONE
    assert not outcome.from_ledger
    assert len(stage.inputs) == 1


async def test_a_step_that_went_on_and_failed_fails_the_activity_that_follows(
    stage: Stage, store: HeldStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(near, "NEAR_S", 0.01)
    with pytest.raises(ApplicationError) as told:
        await run_activity(click_near(stage), ASKED)
    stage.browser.is_lost = True
    store.let.set()

    with pytest.raises(ApplicationError, match="SessionLost"):
        await run_activity(click(stage), ASKED)

    assert told.value.type == GOES_ON


async def test_a_step_whose_activity_is_cancelled_does_nothing_more(stage: Stage, store: HeldStore) -> None:
    running = asyncio.create_task(run_activity(click_near(stage), ASKED))
    await store.asked.wait()
    running.cancel()

    with pytest.raises(asyncio.CancelledError):
        await running
    store.let.set()

    assert (await stage.perform(ASKED)).from_ledger is False
    assert len(stage.inputs) == 1
