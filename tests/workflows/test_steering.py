"""What people ask of `BrowserTask` while it is under way: pause, leave out, end, do otherwise, lend the browser."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.update.v1 import UpdateRef
from temporalio.api.workflowservice.v1 import PollWorkflowExecutionUpdateRequest
from temporalio.client import Client, WorkflowFailureError, WorkflowHandle, WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import Replayer

from replaywright.domain.run.commands import CommandOnStep, StepContext
from replaywright.domain.run.commit_requests import PersonVerdict
from replaywright.domain.run.runs import Progress, RunResult, RunState
from replaywright.domain.run.steering import (
    EditStep,
    HandedBack,
    Said,
    SkipStep,
    Steering,
    TakeBack,
    TakeOverRequest,
)
from replaywright.domain.run.views import PlanView
from replaywright.domain.step.checkpoints import Checkpoint, TakeCheckpoint
from replaywright.domain.step.outcomes import Status, StepOutcome
from replaywright.domain.task.actions import Effect
from replaywright.domain.trace.details import details_of
from tests.workflows.scripted import Script, done, given, known, lost, run_of, scripted, start, waiting
from workflows.plugin import WorkflowPlugin
from workflows.task import BrowserTask

GOTO = {"action": "goto", "url": "http://site/"}
FILL = {"action": "fill", "instruction": "the name field", "value": "Ada"}
CLICK = {"action": "click", "instruction": "the send button"}
ADA = Said(who="ada", why="the shop is being counted")

Handle = WorkflowHandle[BrowserTask, RunResult]


class Held:
    """Steps of which one is under way until it is let go."""

    def __init__(self, sequence: int) -> None:
        self._sequence = sequence
        self.begun, self.free = asyncio.Event(), asyncio.Event()

    async def __call__(self, request: CommandOnStep, _call: int) -> StepOutcome:
        if request.context.sequence == self._sequence:
            self.begun.set()
            await self.free.wait()
        return done(request)


def refused_until(call: int) -> Callable[[CommandOnStep, int], StepOutcome]:
    """Steps that fail until they are tried so often; the goto is done."""

    def perform(request: CommandOnStep, tried: int) -> StepOutcome:
        failed = StepOutcome(status=Status.REFUSED, reason="covered", effect=done(request).effect)
        return failed if request.context.sequence and tried < call else done(request)

    return perform


async def status(handle: Handle, wanted: str) -> Progress:
    async with asyncio.timeout(20):
        while (progress := await handle.query(BrowserTask.progress)).status != wanted:  # noqa: ASYNC110 - a query has no event
            await asyncio.sleep(0.05)
    return progress


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 - the fakes have no event
            await asyncio.sleep(0.05)


async def refusal(handle: Handle, update: Any, argument: object) -> str:
    with pytest.raises(WorkflowUpdateFailedError) as refused:
        await handle.execute_update(update, argument)
    return str(refused.value.cause)


async def replays(handle: Handle) -> bool:
    replayed = await Replayer(workflows=[], plugins=[WorkflowPlugin(sandboxed=True)]).replay_workflow(
        await handle.fetch_history()
    )
    return replayed.replay_failure is None


async def test_a_run_pauses_between_two_steps_gives_its_browser_back_and_goes_on_where_it_was(client: Client) -> None:
    held = Held(1)
    script = Script(performing=held, checkpoint=True)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL, CLICK, hibernate_after_s=0.2))
        await held.begun.wait()
        said = await handle.execute_update(BrowserTask.pause, ADA)
        held.free.set()
        paused = await status(handle, "paused")
        await until(lambda: script.closed)
        done_meanwhile = [request.context.sequence for request in script.performed]
        await handle.execute_update(BrowserTask.go_on, ADA)
        result = await handle.result()

    assert said == "pauses before the next step"
    assert paused.waiting_for == "paused before step 3 by ada: the shop is being counted"
    assert done_meanwhile == [0, 1]
    assert [request.context.sequence for request in script.performed] == [0, 1, 2]
    assert [request.state for request in script.restored] == ["as-left"]
    assert [(note.event, note.sequence, note.said.who) for note in script.steered] == [
        ("paused", 2, "ada"),
        ("continued", 2, "ada"),
    ]
    assert result.succeeded
    assert len(script.opened) == 2
    shown = details_of(paused, PlanView(total=3, position=2), run_id=handle.id, spent=[])
    assert shown.startswith("### Paused · step 3 of 3")
    assert "> paused before step 3 by ada: the shop is being counted" in shown
    assert await replays(handle)


async def is_taken(handle: Handle, client: Client, update: str) -> bool:
    """Whether the server knows of an update, which may wait for a workflow task to end."""
    asked = UpdateRef(workflow_execution=WorkflowExecution(workflow_id=handle.id), update_id=update)
    try:
        await client.workflow_service.poll_workflow_execution_update(
            PollWorkflowExecutionUpdateRequest(namespace=client.namespace, update_ref=asked)
        )
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise
        return False
    return True


async def test_a_pause_asked_for_in_a_step_comes_before_a_press_with_consequences(client: Client) -> None:
    asking: list[asyncio.Task[str]] = []

    async def performing(request: CommandOnStep, _call: int) -> StepOutcome:
        if request.context.sequence == 1:
            handle: Handle = client.get_workflow_handle_for(BrowserTask.run, request.context.run.run_id)
            asking.append(asyncio.create_task(handle.execute_update(BrowserTask.pause, ADA, id="pause")))
            while not await is_taken(handle, client, "pause"):
                pass
        return known(request)

    script = Script(performing=performing)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL, CLICK))
        await status(handle, "paused")
        said = await asking[0]
        done_meanwhile = [request.context.sequence for request in script.performed]
        await handle.execute_update(BrowserTask.go_on, ADA)
        result = await handle.result()

    assert said == "pauses before the next step"
    assert done_meanwhile == [0, 1]
    assert [request.context.sequence for request in script.performed] == [0, 1, 2]
    assert result.succeeded


async def test_a_pause_asked_for_twice_is_one_and_survives_worker_and_continue_as_new(client: Client) -> None:
    held = Held(1)
    script = Script(performing=held)
    run = run_of(GOTO, FILL, FILL, steps_per_history=1)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run)
        await held.begun.wait()
        for _ in range(2):
            await handle.execute_update(BrowserTask.pause, ADA, id="the-same")
        held.free.set()
        await status(handle, "paused")
    async with scripted(client, script, queue):
        await status(handle, "paused")
        again = await handle.execute_update(BrowserTask.pause, ADA)
        await handle.execute_update(BrowserTask.go_on, ADA)
        result = await handle.result()

    assert again == "paused before step 3"
    assert result.succeeded


async def test_a_step_that_has_not_begun_is_left_out_and_the_result_says_so(client: Client) -> None:
    held = Held(1)
    script = Script(performing=held)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL, CLICK, FILL))
        await held.begun.wait()
        begun = await refusal(handle, BrowserTask.skip_step, SkipStep(sequence=1))
        silent = await refusal(handle, BrowserTask.skip_step, SkipStep(sequence=2))
        far = await refusal(handle, BrowserTask.skip_step, SkipStep(sequence=9))
        asked = SkipStep(sequence=2, who="ada", why="sent by hand", consequences=True)
        for _ in range(2):
            await handle.execute_update(BrowserTask.skip_step, asked)
        held.free.set()
        result = await handle.result()

    assert "step 2 has begun; what can be left out: steps 3 to 4" in begun
    assert "step 3 (click the send button) has consequences" in silent
    assert "step 10 is not in the plan, which has 4" in far
    assert [request.context.sequence for request in script.performed] == [0, 1, 3]
    assert [request.message for request in script.left_out] == ["left out by ada: sent by hand"]
    assert result.warnings == ("step 3: skipped_ahead: left out by ada: sent by hand",)
    assert (result.totals.steps, result.totals.skipped) == (3, 1)
    assert await replays(handle)


async def test_a_paused_run_can_leave_out_the_step_that_it_is_paused_before(client: Client) -> None:
    held = Held(0)
    script = Script(performing=held)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL, FILL))
        await held.begun.wait()
        await handle.execute_update(BrowserTask.pause, ADA)
        held.free.set()
        await status(handle, "paused")
        await handle.execute_update(BrowserTask.skip_step, SkipStep(sequence=1, who="ada"))
        await handle.execute_update(BrowserTask.go_on, ADA)
        await handle.result()

    assert [request.context.sequence for request in script.performed] == [0, 2]


async def test_what_is_not_possible_is_refused_with_what_is(client: Client) -> None:
    async with scripted(client, Script(perform=refused_until(9))) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL, on_failure="ask"))
        await waiting(handle)
        going_on = await refusal(handle, BrowserTask.go_on, ADA)
        await handle.execute_update(BrowserTask.abort, ADA)
        with pytest.raises(WorkflowFailureError):
            await handle.result()
    async with scripted(client, Script(performing=(held := Held(0)))) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL))
        await held.begun.wait()
        edited = await refusal(handle, BrowserTask.edit_step, EditStep(sequence=1, step=FILL))
        lent = await refusal(handle, BrowserTask.take_over, TakeOverRequest())
        held.free.set()
        await handle.result()

    assert "the run is not paused; possible: answer, pause, skip a later step, abort" in going_on
    assert "no step of this run waits because it failed; possible: pause" in edited
    assert "pause it first" in lent


@pytest.mark.parametrize("at", ["a question", "a step", "a pause"])
async def test_a_run_that_is_aborted_ends_as_such_and_gives_everything_back(client: Client, at: str) -> None:
    held = Held(1)
    script = Script(perform=refused_until(9)) if at == "a question" else Script(performing=held)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL, CLICK, on_failure="ask"))
        if at == "a question":
            await waiting(handle)
        else:
            await held.begun.wait()
        if at == "a pause":
            await handle.execute_update(BrowserTask.pause, ADA)
            held.free.set()
            await status(handle, "paused")
        await handle.execute_update(BrowserTask.abort, ADA)
        held.free.set()
        with pytest.raises(WorkflowFailureError) as failure:
            await handle.result()

    assert isinstance(failure.value.cause, ApplicationError)
    result = RunResult.model_validate(failure.value.cause.details[0])
    assert (result.reason, result.message) == ("aborted", "ended by ada: the shop is being counted")
    assert script.steered[-1].event == "aborted"
    assert len(script.closed) == 1
    assert 2 not in [request.context.sequence for request in script.performed]
    assert await replays(handle)


async def test_a_failed_step_is_done_otherwise_and_nothing_is_done_again(client: Client) -> None:
    def perform(request: CommandOnStep, _call: int) -> StepOutcome:
        if request.context.step.instruction == "the name field":
            return StepOutcome(status=Status.REFUSED, reason="covered", effect=Effect.IDEMPOTENT)
        return done(request)

    script = Script(perform=perform)
    mended = {**FILL, "instruction": "the field called Name", "value": "{{who}}"}

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL, CLICK, on_failure="ask", steps_per_history=2))
        question = await waiting(handle)
        wrong = await refusal(handle, BrowserTask.edit_step, EditStep(sequence=1, step=mended))
        same = await refusal(handle, BrowserTask.edit_step, EditStep(sequence=1, step=FILL))
        over = await refusal(handle, BrowserTask.edit_step, EditStep(sequence=1, step=mended, question="2-9"))
        asked = EditStep(sequence=1, step={**mended, "value": "Ada"}, question=question.id, who="ada", why="renamed")
        await handle.execute_update(BrowserTask.edit_step, asked)
        result = await handle.result()
    history = await client.get_workflow_handle(handle.id, run_id=handle.first_execution_run_id).fetch_history()
    replayed = await Replayer(workflows=[], plugins=[WorkflowPlugin(sandboxed=True)]).replay_workflow(history)

    assert "undeclared parameter 'who'" in wrong
    assert "nothing is changed" in same
    assert "question 2-9 is over" in over
    tried = [request.context.step.instruction for request in script.performed]
    assert tried == ["", "the name field", "the name field", "the field called Name", "the send button"]
    assert len({request.context.fingerprint for request in script.performed}) == 4
    [note] = script.steered
    assert note.event == "edited"
    assert note.before == FILL
    assert note.after is not None
    assert note.after["instruction"] == "the field called Name"
    assert note.fingerprint == script.performed[1].context.fingerprint
    assert [request.verdict.verdict for request in script.settled] == ["retry"]
    assert result.succeeded
    assert replayed.replay_failure is None


async def test_a_held_run_does_one_step_after_the_other_as_it_is_told_and_asks_where_one_fails(client: Client) -> None:
    def perform(request: CommandOnStep, _call: int) -> StepOutcome:
        if request.context.step.instruction == "the name field":
            return StepOutcome(status=Status.REFUSED, reason="covered", effect=Effect.IDEMPOTENT)
        return done(request)

    script = Script(perform=perform)
    state = RunState(steering=Steering(hold_at=1))
    mended, other = {**FILL, "instruction": "the field called Name"}, {**FILL, "instruction": "the other field"}

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL, CLICK, on_failure="ask", state=state))
        await status(handle, "paused")
        far = await refusal(handle, BrowserTask.edit_step, EditStep(sequence=2, step=CLICK, rest=()))
        same = EditStep(sequence=1, step=FILL, rest=(CLICK,), hold=True)
        await handle.execute_update(BrowserTask.edit_step, same)
        question = await waiting(handle)
        await handle.execute_update(
            BrowserTask.edit_step, same.model_copy(update={"step": mended, "rest": (other, CLICK)})
        )
        held = await status(handle, "paused")
        await handle.execute_update(BrowserTask.edit_step, EditStep(sequence=2, step=other, rest=(), hold=False))
        result = await handle.result()

    assert "the run waits at step 2, not at step 3" in far
    assert question.sequence == 1
    assert (held.step, held.steps) == (2, 4)
    tried = [request.context.step.instruction for request in script.performed]
    assert tried == ["", "the name field", "the name field", "the field called Name", "the other field"]
    assert [note.event for note in script.steered] == ["paused", "continued", "edited", "paused", "continued", "edited"]
    assert result.succeeded
    assert await replays(handle)


async def test_a_held_run_that_is_told_to_go_on_is_held_no_more(client: Client) -> None:
    script = Script()
    run = run_of(GOTO, FILL, CLICK, state=RunState(steering=Steering(hold_at=1)))

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run)
        await status(handle, "paused")
        await handle.execute_update(BrowserTask.go_on, ADA)
        await handle.result()

    assert [request.context.sequence for request in script.performed] == [0, 1, 2]


async def test_a_step_of_a_list_is_not_edited_alone(client: Client) -> None:
    each = {"action": "for_each", "item": "name", "values": ["Ada", "Bo"], "steps": [{**FILL, "value": "{{name}}"}]}

    def items(request: CommandOnStep, call: int) -> StepOutcome:
        if request.context.step.action == "for_each":
            return done(request, extracted={"items": ["Ada", "Bo"]})
        return refused_until(2)(request, call)

    script = Script(perform=items)
    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, each, on_failure="ask"))
        question = await waiting(handle)
        told = await refusal(handle, BrowserTask.edit_step, EditStep(sequence=question.sequence, step=CLICK))
        await handle.execute_update(BrowserTask.abort, ADA)
        with pytest.raises(WorkflowFailureError):
            await handle.result()

    assert "belongs to the items of a list" in told


async def test_the_browser_of_a_run_that_waits_is_lent_and_taken_back_before_it_goes_on(client: Client) -> None:
    script = Script(perform=refused_until(2), checkpoint=True)
    run = run_of(GOTO, FILL, on_failure="ask", hibernate_after_s=0.2)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run)
        await waiting(handle)
        await until(lambda: script.closed)
        lent = await handle.execute_update(BrowserTask.take_over, TakeOverRequest(who="ada"))
        again = await handle.execute_update(BrowserTask.take_over, TakeOverRequest(who="bo"))
        progress = await handle.query(BrowserTask.progress)
        closed = len(script.closed)
        await asyncio.sleep(0.5)
        await handle.execute_update(BrowserTask.resolve_step, PersonVerdict(sequence=1, verdict="retry"))
        result = await handle.result()

    assert lent == again
    assert lent.file == "/s2"
    assert progress.doing == "ada drives the browser"
    assert closed == 1
    assert len(script.opened) == 2
    assert [request.said.who for request in script.taken_back] == ["ada"]
    assert result.succeeded
    assert await replays(handle)


async def test_a_lent_browser_is_taken_back_when_its_time_is_over_and_the_run_waits_on(client: Client) -> None:
    script = Script(perform=refused_until(2))

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL, on_failure="ask"))
        await waiting(handle)
        await handle.execute_update(BrowserTask.take_over, TakeOverRequest(who="ada", lasts_s=1))
        await until(lambda: script.taken_back)
        await waiting(handle)
        await handle.execute_update(BrowserTask.take_over, TakeOverRequest(who="bo"))
        await handle.execute_update(BrowserTask.resolve_step, PersonVerdict(sequence=1, verdict="retry"))
        await handle.result()

    assert [request.said.who for request in script.taken_back] == ["ada", "bo"]
    assert len({request.lending for request in script.lent}) == 2


async def test_a_browser_that_is_lost_in_a_persons_hands_is_had_anew(client: Client) -> None:
    script = Script(perform=refused_until(2), checkpoint=True, adopt=False)

    def gone(_request: object) -> Any:
        raise lost()

    script.take_back = gone
    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL, on_failure="ask"))
        await waiting(handle)
        await handle.execute_update(BrowserTask.take_over, TakeOverRequest(who="ada"))
        await handle.execute_update(BrowserTask.resolve_step, PersonVerdict(sequence=1, verdict="retry"))
        result = await handle.result()

    assert result.succeeded
    assert [request.state for request in script.restored] == ["after-0"]
    assert [request.context.sequence for request in script.performed] == [0, 1, 1, 1]


def unmet(context: StepContext) -> StepOutcome:
    return StepOutcome(status=Status.UNMET, reason="not_found", fingerprint=context.fingerprint, effect=Effect.COMMIT)


HAND_OVER = {
    "action": "take_over",
    "instruction": "choose the seats",
    "expect": [{"text_contains": "seats chosen"}],
}


async def test_a_step_for_a_person_waits_is_looked_at_and_is_never_done_again(client: Client) -> None:
    def perform(request: CommandOnStep, call: int) -> StepOutcome:
        if (request.context.sequence, call) == (2, 0):
            raise lost()
        return done(request)

    script = Script(perform=perform, checkpoint=True, adopt=False)
    left = Checkpoint(position=2, state="handed-back")
    script.look_back = lambda request, _call: done(request.action, effect=Effect.COMMIT, checkpoint=left)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, HAND_OVER, FILL))
        question = await waiting(handle)
        await handle.execute_update(BrowserTask.take_over, TakeOverRequest(who="ada"))
        verdict = PersonVerdict(sequence=1, verdict="done", who="ada", why="row 7")
        await handle.execute_update(BrowserTask.resolve_step, verdict)
        result = await handle.result()

    assert question.kind == "take_over"
    assert "choose the seats" in question.text
    assert question.answers == ("done", "abandon")
    assert [request.context.sequence for request in script.performed] == [0, 2, 2]
    assert [request.state for request in script.restored] == ["handed-back"]
    assert [(each.said.who, each.said.why) for each in script.handed_back] == [("ada", "row 7")]
    assert result.succeeded
    assert await replays(handle)


async def test_a_step_that_a_person_has_not_done_fails_and_is_theirs_again_on_retry(client: Client) -> None:
    script = Script()
    script.look_back = lambda request, call: unmet(request.action) if call == 0 else done(request.action)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, HAND_OVER, on_failure="ask"))
        for number, answer in ((1, "done"), (2, "retry"), (3, "done")):
            question = await waiting(handle, number)
            said = {"sequence": 1, "verdict": answer, "question": question.id}
            await handle.execute_update(BrowserTask.resolve_step, PersonVerdict.model_validate(said))
        result = await handle.result()

    assert result.succeeded
    assert len(script.handed_back) == 2


async def test_what_a_person_did_in_a_browser_that_was_lost_is_asked_for_again(client: Client) -> None:
    script = Script(adopt=False, checkpoint=True)
    losses = iter([True])

    def back(request: TakeBack) -> HandedBack:
        if next(losses, False):
            raise lost()
        return HandedBack(known=True)

    script.take_back = back
    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, HAND_OVER))
        texts = []
        for number in (1, 2):
            question = await waiting(handle, number)
            texts.append(question.text)
            await handle.execute_update(BrowserTask.take_over, TakeOverRequest(who="ada"))
            verdict = PersonVerdict(sequence=1, verdict="done", question=question.id)
            await handle.execute_update(BrowserTask.resolve_step, verdict)
        result = await handle.result()

    assert "the browser was lost before it was handed back" not in texts[0]
    assert "the browser was lost before it was handed back" in texts[1]
    assert len(script.handed_back) == 1
    assert result.succeeded


@pytest.mark.parametrize(("on_timeout", "succeeds"), [("fail", False), ("skip", True)])
async def test_a_step_that_no_person_does_in_time_ends_as_it_declares(
    client: Client, on_timeout: str, succeeds: bool
) -> None:
    script = Script()

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, {**HAND_OVER, "within_s": 1, "on_timeout": on_timeout}))
        if succeeds:
            result = await handle.result()
        else:
            with pytest.raises(WorkflowFailureError) as failure:
                await handle.result()
            assert isinstance(failure.value.cause, ApplicationError)
            result = RunResult.model_validate(failure.value.cause.details[0])

    assert result.succeeded is succeeds
    assert result.reason == ("" if succeeds else "unanswered")
    assert [request.reason for request in script.left_out] == (["unanswered"] if succeeds else [])


def weak(request: CommandOnStep, _call: int) -> StepOutcome:
    """The second step has failed too often of late."""
    if request.context.sequence == 1 and given(request, "weak") == "ask":
        return StepOutcome(
            status=Status.REFUSED, reason="weak_step", message="it was done in 3 of the last 5 runs", effect=Effect.READ
        )
    return done(
        request, warnings=("weak_step: it was done in 3 of the last 5 runs",) if request.context.sequence else ()
    )


@pytest.mark.parametrize(("answer", "performed"), [("approve", [0, 1, 1, 2]), ("skip", [0, 1, 2]), ("abandon", [0, 1])])
async def test_a_step_that_fails_too_often_is_asked_about_before_it_is_begun(
    client: Client, answer: str, performed: list[int]
) -> None:
    script = Script(perform=weak)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL, GOTO, on_failure="ask"))
        question = await waiting(handle)
        verdict = {"sequence": 1, "verdict": answer, "who": "ada"}
        await handle.execute_update(BrowserTask.resolve_step, PersonVerdict.model_validate(verdict))
        if answer == "abandon":
            with pytest.raises(WorkflowFailureError):
                await handle.result()
        else:
            await handle.result()

    assert question.kind == "weak_step"
    assert "it was done in 3 of the last 5 runs" in question.text
    assert [request.context.sequence for request in script.performed] == performed


async def test_where_nobody_is_to_be_asked_a_weak_step_is_done_and_the_result_warns(client: Client) -> None:
    async with scripted(client, Script(perform=weak)) as queue:
        result = await (await start(client, queue, run_of(GOTO, FILL))).result()

    assert result.warnings == ("step 2: weak_step: it was done in 3 of the last 5 runs",)


async def test_an_abort_that_an_activity_swallows_ends_the_run_all_the_same(client: Client) -> None:
    script = Script(perform=refused_until(9))
    looking, free = asyncio.Event(), asyncio.Event()

    async def slow(_request: TakeCheckpoint) -> None:
        looking.set()
        await free.wait()

    script.before_checkpoint = slow
    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL, on_failure="ask"))
        await looking.wait()
        await handle.execute_update(BrowserTask.abort, ADA)
        free.set()
        with pytest.raises(WorkflowFailureError) as failure:
            await handle.result()

    assert isinstance(failure.value.cause, ApplicationError)
    assert RunResult.model_validate(failure.value.cause.details[0]).reason == "aborted"
    assert await replays(handle)
