"""A browser that is gone is rebuilt from the newest checkpoint that holds; a run that waits for long has none."""

import asyncio
import gc
import time
from collections.abc import Callable

import pytest
from temporalio.client import Client, WorkflowFailureError, WorkflowHandle
from temporalio.worker import Replayer

from replaywright.domain.run.commands import CommandOnStep, Proposal, Reapply
from replaywright.domain.run.commit_requests import PersonVerdict, Resolution
from replaywright.domain.run.runs import RunResult
from replaywright.domain.run.scope import Usage
from replaywright.domain.step.checkpoints import Restored
from replaywright.domain.step.outcomes import Status, StepOutcome
from replaywright.domain.task.actions import Effect
from replaywright.domain.task.browser import BrowserOptions
from tests.workflows.scripted import Script, after_goto, done, lost, missed, run_of, scripted, start, waiting
from tests.workflows.test_browser_task import FILL, GOTO, SEND, result_of
from workflows.plugin import WorkflowPlugin
from workflows.task import BrowserTask

OPEN = {"action": "click", "instruction": "the next link", "effect": "idempotent"}


def losing(sequence: int) -> Script:
    """Worker and browser are lost in the step, once; clicks that are commits are seen to be."""
    script = Script(adopt=False, checkpoint=True)

    def perform(asked: CommandOnStep, call: int) -> StepOutcome:
        if asked.context.sequence == sequence and call == 0:
            raise lost()
        return done(asked, effect=asked.context.step.effect or Effect.IDEMPOTENT)

    script.perform = perform
    return script


def done_again(script: Script) -> list[int]:
    return [request.context.sequence for request in script.performed if isinstance(request, Reapply)]


async def test_a_rebuilt_browser_begins_at_the_newest_checkpoint(client: Client) -> None:
    script = losing(3)

    async with scripted(client, script) as queue:
        await (await start(client, queue, run_of(GOTO, OPEN, FILL, FILL))).result()

    assert [request.state for request in script.restored] == ["after-2"]
    assert done_again(script) == []


async def test_every_browser_of_a_run_is_set_up_as_its_task_says(client: Client) -> None:
    script = losing(2)
    asked = run_of(GOTO, FILL, FILL)
    browser = BrowserOptions(locale="de-DE", headers={"X-Key": "{{secret:KEY}}"})
    task = asked.task.model_copy(update={"browser": browser, "secrets": ("KEY",)})

    async with scripted(client, script) as queue:
        await (await start(client, queue, asked.model_copy(update={"task": task}))).result()

    setups = [*(request.setup for request in script.opened), *(request.setup for request in script.recovered)]
    assert len(script.recovered) == 1
    assert {setup.locale for setup in setups if setup is not None} == {"de-DE"}
    assert [setup is not None and setup.headers for setup in setups] == [{"X-Key": "{{secret:KEY}}"}] * len(setups)


@pytest.mark.parametrize("named", [True, False])
async def test_a_step_whose_recording_is_lost_with_the_browser_is_done_again_by_the_model(
    client: Client, named: bool
) -> None:
    script = losing(2)
    script.checkpoint = False
    plain = script.perform

    def perform(asked: CommandOnStep, call: int) -> StepOutcome:
        forgotten = isinstance(asked, Reapply) and asked.context.sequence == 1 and asked.proposed is None
        return missed("no_entry") if forgotten else plain(asked, call)

    script.perform = perform
    if not named:
        script.propose = lambda _request: Proposal(usage=Usage(calls=1))

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL, FILL))
        if named:
            assert (await handle.result()).succeeded
        else:
            with pytest.raises(WorkflowFailureError):
                await handle.result()

    assert len(script.proposed) == 1
    again = [(r.context.sequence, r.proposed is not None) for r in script.performed if isinstance(r, Reapply)]
    assert again == ([(0, False), (1, False), (1, True)] if named else [(0, False), (1, False)])


@pytest.mark.parametrize("adopt", [True, False])
async def test_a_commit_that_the_ledger_answers_has_a_checkpoint_in_the_browser_that_it_was_done_in(
    client: Client, *, adopt: bool
) -> None:
    def perform(request: CommandOnStep, call: int) -> StepOutcome:
        if call == 0:
            raise lost()
        return done(request, effect=Effect.COMMIT, from_ledger=True)

    script = Script(perform=after_goto(perform), adopt=adopt)
    script.verify = lambda request: Resolution(
        verdict="done", outcome=done(request.action, effect=Effect.COMMIT, from_ledger=True)
    )
    async with scripted(client, script) as queue:
        result = await (await start(client, queue, run_of(GOTO, SEND))).result()

    assert result.succeeded
    assert [request.position for request in script.taken] == ([2] if adopt else [])


@pytest.mark.parametrize("adopt", [True, False])
async def test_a_step_that_was_recorded_in_a_browser_that_is_gone_is_done_in_the_new_one(
    client: Client, *, adopt: bool
) -> None:
    def perform(request: CommandOnStep, call: int) -> StepOutcome:
        if request.context.sequence == 1 and not isinstance(request, Reapply):
            if call == 0:
                raise lost()  # its worker is held up, and records the step when it comes to
            return done(request, from_ledger=True)
        return done(request)

    script = Script(perform=after_goto(perform), adopt=adopt)
    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL, FILL))
        result = await handle.result()
        history = await handle.fetch_history()
    replayed = await Replayer(workflows=[], plugins=[WorkflowPlugin(sandboxed=True)]).replay_workflow(history)

    assert result.succeeded
    again = [request.context.sequence for request in script.performed if isinstance(request, Reapply)]
    assert again == ([] if adopt else [0, 1])
    assert replayed.replay_failure is None


@pytest.mark.parametrize("status", [Status.MISSED, Status.UNMET])
async def test_a_step_that_cannot_be_done_in_the_new_browser_is_not_taken_for_done(
    client: Client, status: Status
) -> None:
    def perform(request: CommandOnStep, call: int) -> StepOutcome:
        if request.context.sequence == 1 and isinstance(request, Reapply):
            return StepOutcome(status=status, reason="not_there", fingerprint=request.context.fingerprint)
        if call == 0:
            raise lost()
        return done(request, from_ledger=True)

    script = Script(perform=after_goto(perform), adopt=False)
    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL, FILL))
        with pytest.raises(WorkflowFailureError):
            await handle.result()

    assert [request.context.sequence for request in script.performed if not isinstance(request, Reapply)][-1] == 1


async def test_a_browser_lost_after_a_commit_goes_on_from_the_checkpoint_after_it(client: Client) -> None:
    script = losing(2)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, SEND, FILL, FILL))
        result = await handle.result()
    history = await handle.fetch_history()
    replayed = await Replayer(workflows=[], plugins=[WorkflowPlugin(sandboxed=True)]).replay_workflow(history)

    assert result.succeeded
    assert [request.state for request in script.restored] == ["after-1"]
    assert [request.context.sequence for request in script.performed] == [0, 1, 2, 2, 3]
    assert replayed.replay_failure is None


async def test_steps_in_the_same_document_are_done_again_from_where_it_was_opened(client: Client) -> None:
    script = losing(5)
    script.checkpoint = False
    plain = script.perform

    def perform(asked: CommandOnStep, call: int) -> StepOutcome:
        outcome = plain(asked, call)
        taken = {"position": asked.context.sequence + 1, "state": f"after-{asked.context.sequence}"}
        if isinstance(asked, Reapply) or not (asked.context.checkpoint or asked.context.sequence == 1):
            return outcome
        moved = {"moved": asked.context.sequence == 1, "checkpoint": taken}
        return StepOutcome.model_validate(outcome.model_dump() | moved)

    script.perform = perform
    async with scripted(client, script) as queue:
        run = run_of(GOTO, OPEN, FILL, FILL, FILL, FILL, checkpoint_every=2)
        await (await start(client, queue, run)).result()

    # After step 2 the document was new, after step 4 a checkpoint was due; the fifth is done again after it.
    assert [(request.state, request.page) for request in script.restored] == [("after-3", "after-1")]
    assert done_again(script) == [2, 3, 4]
    assert [request.state for request in script.checked] == ["after-3"]


async def test_a_checkpoint_that_does_not_hold_gives_way_to_an_older_one_and_at_last_to_the_first_step(
    client: Client,
) -> None:
    script = losing(3)
    script.checks = lambda request: Restored(held=False, why=f"{request.state} is not what it was")

    async with scripted(client, script) as queue:
        result = await (await start(client, queue, run_of(GOTO, OPEN, OPEN, FILL))).result()

    assert result.succeeded
    assert [request.state for request in script.restored] == ["after-2", "after-1", "after-0"]
    assert done_again(script) == [0, 1, 2]
    assert len({request.epoch for request in script.opened}) == len(script.opened) == 4
    assert len(script.closed) == 4


async def test_without_a_checkpoint_after_a_commit_that_holds_the_run_says_what_to_do(client: Client) -> None:
    script = losing(3)
    script.checks = lambda _request: Restored(held=False, why="the page is not what it was")

    async with scripted(client, script) as queue:
        with pytest.raises(WorkflowFailureError) as failure:
            await (await start(client, queue, run_of(GOTO, SEND, OPEN, FILL))).result()

    result = result_of(failure.value)
    assert result.reason == "session_lost"
    assert "step 2 (click the send button) must not be done again" in result.message
    assert "checkpoint after step 3: the page is not what it was" in result.message
    assert "session storage" in result.message
    assert "the steps from 3 on" in result.message
    assert done_again(script) == []


async def test_what_held_at_the_checkpoint_has_to_hold_again(client: Client) -> None:
    script = losing(2)
    plain = script.perform

    def perform(request: CommandOnStep, call: int) -> StepOutcome:
        outcome = plain(request, call)
        if request.context.sequence != 1 or isinstance(request, Reapply):
            return outcome
        script.checkpoint = False
        taken = {"position": 2, "state": "after-1", "held": [1]}
        return StepOutcome.model_validate(outcome.model_dump() | {"moved": True, "checkpoint": taken})

    script.perform = perform
    step = {**OPEN, "expect": [{"dialog_seen": "Hello"}, {"text_contains": "Dear Ada"}]}
    async with scripted(client, script) as queue:
        await (await start(client, queue, run_of(GOTO, step, FILL))).result()

    (check,) = script.checked
    assert [predicate.model_dump(exclude_none=True)["text_contains"] for predicate in check.expect] == ["Dear Ada"]


async def test_a_checkpoint_is_due_after_so_many_steps(client: Client) -> None:
    script = Script()

    async with scripted(client, script) as queue:
        await (await start(client, queue, run_of(GOTO, FILL, FILL, FILL, checkpoint_every=3))).result()

    assert [request.context.checkpoint for request in script.performed] == [False, False, True, False]


# ------------------------------------------------------------------------------------------ hibernation


def doubtful(sequence: int) -> Callable[[CommandOnStep, int], StepOutcome]:
    def perform(asked: CommandOnStep, call: int) -> StepOutcome:
        if asked.context.sequence == sequence and call == 0:
            return StepOutcome(status=Status.IN_DOUBT, reason="unanswered", effect=Effect.COMMIT)
        return done(asked, effect=asked.context.step.effect or Effect.IDEMPOTENT)

    return perform


async def asleep(script: Script, runs: int) -> None:
    """Return when so many browsers were given back."""
    async with asyncio.timeout(60 + runs):
        while len(script.closed) < runs:  # noqa: ASYNC110 - the fakes have no event
            await asyncio.sleep(0.02)


@pytest.mark.parametrize(
    ("verdict", "restored", "performed"), [("done", "as-left", [0, 1, 2]), ("not_done", "after-0", [0, 1, 1, 2])]
)
async def test_a_run_that_waits_for_long_gives_its_browser_back_and_goes_on_with_another(
    client: Client, verdict: str, restored: str, performed: list[int]
) -> None:
    script = Script(perform=doubtful(1), checkpoint=True)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, SEND, FILL, hibernate_after_s=0.2))
        await asleep(script, 1)
        assert len(script.verified) == 1
        answer = PersonVerdict.model_validate({"sequence": 1, "verdict": verdict, "why": "seen"})
        await handle.execute_update(BrowserTask.resolve_step, answer)
        result = await handle.result()
    history = await handle.fetch_history()
    replayed = await Replayer(workflows=[], plugins=[WorkflowPlugin(sandboxed=True)]).replay_workflow(history)

    assert result.succeeded
    assert [request.state for request in script.restored] == [restored]
    assert [request.context.sequence for request in script.performed] == performed
    assert [request.epoch for request in script.opened] == sorted({request.epoch for request in script.opened})
    assert len(script.opened) == len(script.closed) == 2
    assert [request.is_over for request in script.closed] == [False, True]
    run = script.performed[-1].context.run
    assert run.session.epoch == run.epoch > script.opened[0].epoch
    assert replayed.replay_failure is None


async def test_a_run_that_is_answered_soon_keeps_its_browser(client: Client) -> None:
    script = Script(perform=doubtful(1), checkpoint=True)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, SEND, FILL))
        await waiting(handle)
        await handle.execute_update(BrowserTask.resolve_step, PersonVerdict(sequence=1, verdict="done", why="seen"))
        await handle.result()

    assert (len(script.opened), len(script.closed), script.restored) == (1, 1, [])


async def test_an_abandoned_run_that_sleeps_takes_no_browser_to_end(client: Client) -> None:
    script = Script(perform=doubtful(1), checkpoint=True)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, SEND, FILL, hibernate_after_s=0.2))
        await asleep(script, 1)
        await handle.execute_update(BrowserTask.resolve_step, PersonVerdict(sequence=1, verdict="abandon", why="no"))
        with pytest.raises(WorkflowFailureError):
            await handle.result()

    assert (len(script.opened), len(script.closed)) == (1, 1)


async def test_a_page_that_is_not_as_it_was_left_does_not_pass_for_the_page_after_a_commit(client: Client) -> None:
    script = Script(perform=doubtful(1), checkpoint=True, restores=lambda _request: Restored(held=False, why="404"))

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, SEND, FILL, hibernate_after_s=0.2))
        await asleep(script, 1)
        await handle.execute_update(BrowserTask.resolve_step, PersonVerdict(sequence=1, verdict="done", why="seen"))
        with pytest.raises(WorkflowFailureError) as failure:
            await handle.result()

    assert result_of(failure.value).reason == "session_lost"
    assert "the page as it was left: 404" in result_of(failure.value).message


@pytest.mark.parametrize("runs", [20, pytest.param(1_000, marks=pytest.mark.long)])
async def test_runs_that_wait_hold_no_browser(client: Client, runs: int) -> None:
    script = Script(
        perform=lambda asked, _call: doubtful(1)(asked, 0),
        checkpoint=True,
        verify=lambda _request: Resolution(verdict="undecidable", reason="not_seen"),
    )

    begun = time.monotonic()
    async with scripted(client, script) as queue:
        handles: list[WorkflowHandle[BrowserTask, RunResult]] = []
        while len(handles) < runs:  # more at once would wait for the server longer than for a lost worker
            started = (start(client, queue, run_of(GOTO, SEND, hibernate_after_s=0.2)) for _ in range(10))
            handles += await asyncio.gather(*started)
            await asleep(script, len(handles))
        opened = {asked.run_id for asked in script.opened}  # on a busy machine one may be asked for twice
        held = len(opened) - len(script.closed)
        print(f"{runs} runs wait, {held} browsers are held, after {time.monotonic() - begun:.1f} s")
        for handle in handles:
            await handle.terminate()
    gc.collect()  # of a thousand runs that takes seconds, which a later test's workflow would not be given

    assert (len(opened), held) == (runs, 0)
