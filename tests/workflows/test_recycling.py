"""A browser that has become old or large is exchanged for a new one at a checkpoint, or kept where that will not do."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from temporalio import activity
from temporalio.client import Client, WorkflowFailureError
from temporalio.exceptions import CancelledError
from temporalio.worker import Replayer

from replaywright.domain.run.commands import CommandOnStep, Reapply
from replaywright.domain.run.runs import Progress
from replaywright.domain.session.sessions import Wear
from replaywright.domain.step.checkpoints import RestoreCheckpoint, Restored
from replaywright.domain.step.outcomes import StepOutcome
from replaywright.domain.task.actions import Effect
from tests.workflows.scripted import Script, done, lost, run_of, scripted, start
from tests.workflows.test_browser_task import FILL, GOTO, SEND
from workflows.plugin import WorkflowPlugin
from workflows.task import BrowserTask

OLD = Wear(age_s=7_300, memory_mb=400)
LARGE = Wear(age_s=60, memory_mb=1_700)


def worn_at(sequence: int, wear: Wear = OLD, **fields: object) -> Script:
    """The first browser is worn from this step on; clicks are commits."""
    script = Script(checkpoint=True, **fields)  # type: ignore[arg-type]

    def perform(asked: CommandOnStep, _call: int) -> StepOutcome:
        script.wear = lambda session_id: wear if session_id == "s1" and asked.context.sequence >= sequence else Wear()
        return done(asked, effect=asked.context.step.effect or Effect.IDEMPOTENT)

    script.perform = perform
    return script


async def ran(client: Client, script: Script, *steps: Mapping[str, object], **fields: Any) -> Progress:
    """How a run that is done looks; its history replays."""
    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(*steps, **fields))
        assert (await handle.result()).succeeded
        progress = await handle.query(BrowserTask.progress)
    history = await handle.fetch_history()
    replayed = await Replayer(workflows=[], plugins=[WorkflowPlugin(sandboxed=True)]).replay_workflow(history)
    assert replayed.replay_failure is None
    return progress


def told(progress: Progress) -> list[tuple[int, str, str]]:
    """The lines about browsers."""
    return [(line.sequence, line.title, line.message) for line in progress.lines if line.kind == "browser"]


def sessions(script: Script) -> list[tuple[int, str]]:
    """Which step was done in which browser."""
    return [(asked.context.sequence, asked.context.run.session.session_id) for asked in script.performed]


def told_late(script: Script, of: int | None = None) -> Script:
    """Checkpoints are told with the step after, as by a worker that takes them meanwhile; of one step or of all."""
    plain = script.answer

    def answer(request: CommandOnStep, call: int) -> StepOutcome:
        outcome = plain(request, call)
        if outcome.checkpoint is None:
            return outcome
        is_told = request.context.sequence > 0 if of is None else request.context.sequence == of
        late = {"position": request.context.sequence, "state": f"before-{request.context.sequence}"}
        taken = outcome.checkpoint.model_copy(update=late) if is_told else None
        return outcome.model_copy(update={"checkpoint": taken})

    script.answer = answer  # type: ignore[method-assign]  # that is what is changed
    return script


@pytest.mark.parametrize(
    ("wear", "why"),
    [(OLD, "it is 122 min old"), pytest.param(LARGE, "it has 1700 MiB of memory", marks=pytest.mark.long)],
    ids=["old", "large"],
)
async def test_a_worn_browser_is_exchanged_at_a_checkpoint_for_one_that_is_brought_there(
    client: Client, wear: Wear, why: str
) -> None:
    script = worn_at(1, wear)

    progress = await ran(client, script, GOTO, FILL, FILL, FILL)

    assert sessions(script) == [(0, "s1"), (1, "s1"), (2, "s2"), (3, "s2")]
    assert [request.state for request in script.restored] == [check.state for check in script.checked] == ["after-1"]
    assert [request.instead_of for request in script.opened] == ["", "s1"]
    assert [(request.session.session_id, request.is_over) for request in script.closed] == [("s1", False), ("s2", True)]
    assert [asked.context.run.epoch for asked in script.performed] == [1, 1, 2, 2]
    assert told(progress) == [(2, f"the browser was exchanged for a new one, as {why}", "")]
    recycling = script.closed[0].recycling
    assert recycling is not None
    assert (recycling.sequence, recycling.why, recycling.kept) == (2, why, "")


async def test_a_commit_step_is_not_done_again_by_it(client: Client) -> None:
    script = worn_at(1)

    await ran(client, script, GOTO, SEND, FILL)

    assert sessions(script) == [(0, "s1"), (1, "s1"), (2, "s2")]
    assert [request.state for request in script.restored] == ["after-1"]


async def test_a_checkpoint_that_is_told_with_the_next_step_has_that_one_done_again(client: Client) -> None:
    script = told_late(worn_at(0))

    await ran(client, script, GOTO, FILL, FILL)

    again = [
        (asked.context.sequence, asked.context.run.session.session_id)
        for asked in script.performed
        if isinstance(asked, Reapply)
    ]
    assert [request.state for request in script.restored] == ["before-1"]
    assert again == [(1, "s2")]
    assert sessions(script)[-1] == (2, "s2")


async def test_a_step_with_consequences_since_the_checkpoint_keeps_the_browser(client: Client) -> None:
    script = told_late(worn_at(0), of=1)

    await ran(client, script, GOTO, SEND, FILL)

    assert {session for _, session in sessions(script)} == {"s1"}
    assert len(script.opened) == 1


def does_not_hold(_request: RestoreCheckpoint) -> Restored:
    return Restored(held=False, why="the page is not what it was")


def is_lost(_request: RestoreCheckpoint) -> Restored:
    raise lost()


@pytest.mark.parametrize(
    ("restores", "why"),
    [
        (does_not_hold, "the page is not what it was"),
        pytest.param(is_lost, "the browser is gone", marks=pytest.mark.long),
    ],
)
async def test_a_browser_whose_page_cannot_be_brought_back_is_kept_and_the_new_one_given_back(
    client: Client, restores: Callable[[RestoreCheckpoint], Restored], why: str
) -> None:
    script = worn_at(1, restores=restores)

    progress = await ran(client, script, GOTO, FILL, FILL, FILL)

    assert sessions(script) == [(0, "s1"), (1, "s1"), (2, "s1"), (3, "s1")]
    assert [request.session.session_id for request in script.closed] == ["s2", "s1"]
    assert [asked.context.run.epoch for asked in script.performed] == [1, 1, 3, 3]
    assert told(progress) == [(2, "the browser was kept, as it is 122 min old", why)]
    recycling = script.closed[0].recycling
    assert recycling is not None
    assert recycling.kept == why


@pytest.mark.long
async def test_without_a_place_the_browser_is_kept_and_nothing_else_changes(client: Client) -> None:
    script = worn_at(1)
    script.full = lambda name: name == "session.open" and bool(script.opened)

    progress = await ran(client, script, GOTO, FILL, FILL, FILL)

    assert {session for _, session in sessions(script)} == {"s1"}
    assert {asked.context.run.epoch for asked in script.performed} == {1}
    assert script.asked_for == ["session-open", "0003-recycle"]
    assert [message for _, _, message in told(progress)] == ["all places are taken"]


@pytest.mark.parametrize(
    "fields",
    [
        {"recycle_after_s": 0, "recycle_above_mb": 0},
        pytest.param({"recycle_after_s": 7_301, "recycle_above_mb": 401}, marks=pytest.mark.long),
    ],
)
async def test_below_the_limits_and_without_them_a_browser_stays(client: Client, fields: dict[str, int]) -> None:
    script = worn_at(1)

    progress = await ran(client, script, GOTO, FILL, FILL, **fields)

    assert (len(script.opened), told(progress)) == (1, [])


async def test_a_checkpoint_that_cannot_bring_all_of_it_back_keeps_the_browser(client: Client) -> None:
    script = worn_at(1, partial=True)

    await ran(client, script, GOTO, FILL, FILL)

    assert len(script.opened) == 1


async def test_a_run_that_is_cancelled_meanwhile_gives_both_browsers_back(client: Client) -> None:
    script = worn_at(1)
    under_way = asyncio.Event()

    async def restores(_request: RestoreCheckpoint) -> Restored:
        under_way.set()
        while True:  # until the server's answer to a heartbeat cancels it
            activity.heartbeat()
            await asyncio.sleep(0.05)

    script.restores = restores
    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL, FILL))
        await under_way.wait()
        await handle.cancel()
        with pytest.raises(WorkflowFailureError) as failure:
            await handle.result()

    assert isinstance(failure.value.cause, CancelledError)
    assert [request.session.session_id for request in script.closed] == ["s2", "s1"]
    assert [asked.context.sequence for asked in script.performed] == [0, 1]
