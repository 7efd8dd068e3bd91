"""Questions of `BrowserTask` to a person: what they say, what they take, and how long they wait."""

import asyncio

import pytest
from temporalio.client import Client, WorkflowFailureError, WorkflowHandle, WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError, CancelledError
from temporalio.worker import Replayer

from replaywright.domain.run.commands import CommandOnStep
from replaywright.domain.run.commit_requests import PersonVerdict
from replaywright.domain.run.runs import Asking, RunResult
from replaywright.domain.step.outcomes import Status, StepOutcome
from replaywright.domain.task.questions import WAITS, Question, QuestionKind, QuestionNotice
from tests.workflows.scripted import Script, done, run_of, scripted, start, waiting
from workflows.plugin import WorkflowPlugin
from workflows.task import BrowserTask

GOTO = {"action": "goto", "url": "http://site/"}
FILL = {"action": "fill", "instruction": "the name field", "value": "Ada"}


def covered(request: CommandOnStep, call: int) -> StepOutcome:
    """Steps that fail until they are tried for the third time; the goto is done."""
    failed = StepOutcome(status=Status.REFUSED, reason="covered", effect=done(request).effect)
    return failed if request.context.sequence and call < 2 else done(request)


def result_of(error: WorkflowFailureError) -> RunResult:
    assert isinstance(error.cause, ApplicationError)
    return RunResult.model_validate(error.cause.details[0])


async def until(script: Script, event: str) -> QuestionNotice:
    """The first notice of this event."""
    async with asyncio.timeout(20):
        while True:
            if found := [notice for notice in script.notices if notice.event == event]:
                return found[0]
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("at", ["the checkpoint", "the look at the page"])
async def test_a_run_that_is_cancelled_while_it_prepares_to_wait_ends(client: Client, at: str) -> None:
    begun, goes_on = asyncio.Event(), asyncio.Event()

    async def slow(_request: object) -> None:
        begun.set()
        await goes_on.wait()

    preparing = {"before_checkpoint" if at == "the checkpoint" else "before_look": slow}
    script = Script(perform=covered, **preparing)  # type: ignore[arg-type]

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL, on_failure="ask"))
        await begun.wait()
        await handle.cancel()
        async with asyncio.timeout(20):
            while not await has_passed_on_the_request(handle):  # noqa: ASYNC110 - the history has no event
                await asyncio.sleep(0.05)
        goes_on.set()
        async with asyncio.timeout(20):
            with pytest.raises(WorkflowFailureError) as failure:
                await handle.result()

    assert isinstance(failure.value.cause, CancelledError)
    assert len(script.closed) == 1


async def has_passed_on_the_request(handle: WorkflowHandle[BrowserTask, RunResult]) -> bool:
    """Whether what is under way was asked to end."""
    history = await handle.fetch_history()
    return any(event.HasField("activity_task_cancel_requested_event_attributes") for event in history.events)


async def test_a_question_says_what_is_asked_since_when_and_what_the_page_shows(client: Client) -> None:
    script = Script(perform=covered)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL, on_failure="ask"))
        question = await waiting(handle)
        told = await until(script, "asked")
        remembered = await (await handle.describe()).memo_value(WAITS, type_hint=Question)
        await handle.execute_update(BrowserTask.resolve_step, PersonVerdict(sequence=1, verdict="retry"))
        result = await handle.result()
    afterwards = await (await handle.describe()).memo_value(WAITS)

    assert (question.kind, question.id, question.sequence) == (QuestionKind.FAILED, "2-1", 1)
    assert question.answers == ("retry", "done", "skip", "abandon")
    assert (question.picture, question.url, question.site_says) == ("picture", "http://site/", ("A page",))
    assert question.deadline is None
    assert told.question.id == question.id == remembered.id
    assert result.succeeded
    assert afterwards == ""


@pytest.mark.parametrize(
    ("verdict", "told"),
    [
        ({"sequence": 0, "verdict": "retry"}, "waits for step 2, not for step 1"),
        ({"sequence": 1, "verdict": "keep"}, "it takes: retry, done, skip, abandon"),
        ({"sequence": 1, "verdict": "retry", "question": "2-7"}, "question 2-7 is over"),
        ({"sequence": 1, "verdict": "retry", "value": "123456"}, "a value belongs to the answer"),
        ({"sequence": 1, "verdict": "retry", "who": "the deadline"}, "nobody's name"),
    ],
)
async def test_an_answer_to_what_was_not_asked_is_refused_and_says_why(
    client: Client, verdict: dict[str, object], told: str
) -> None:
    async with scripted(client, Script(perform=covered)) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL, on_failure="ask"))
        await waiting(handle)
        with pytest.raises(WorkflowUpdateFailedError) as refusal:
            await handle.execute_update(BrowserTask.resolve_step, PersonVerdict.model_validate(verdict))
        await handle.execute_update(BrowserTask.resolve_step, PersonVerdict(sequence=1, verdict="skip"))
        await handle.result()

    assert told in str(refusal.value.cause)
    assert "123456" not in str(refusal.value.cause)


async def test_whoever_answers_a_run_that_asks_nothing_is_told_so(client: Client) -> None:
    script = Script()
    script.full = lambda name: len(script.asked_for) < 4

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO))
        with pytest.raises(WorkflowUpdateFailedError) as refusal:
            await handle.execute_update(BrowserTask.resolve_step, PersonVerdict(sequence=0, verdict="done"))
        await handle.result()

    assert "does not wait for a decision" in str(refusal.value.cause)


async def test_a_question_outlives_its_worker_and_the_browser(client: Client) -> None:
    script = Script(perform=covered, checkpoint=True)
    run = run_of(GOTO, FILL, on_failure="ask", hibernate_after_s=0.2)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run)
        before = await waiting(handle)
        async with asyncio.timeout(20):
            while not script.closed:  # noqa: ASYNC110 - the fake has no event
                await asyncio.sleep(0.05)
    async with scripted(client, script, queue):
        after = await waiting(handle)
        await handle.execute_update(BrowserTask.resolve_step, PersonVerdict(sequence=1, verdict="retry"))
        result = await handle.result()

    assert before.id == after.id
    assert before.since == after.since
    assert result.succeeded
    assert len(script.opened) == 2


async def test_questions_are_counted_on_when_a_run_continues_as_new(client: Client) -> None:
    script = Script(perform=covered)
    run = run_of(GOTO, FILL, FILL, on_failure="ask", steps_per_history=1)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run)
        for sequence, number in ((1, 1), (2, 2)):
            question = await waiting(handle, number)
            said = PersonVerdict(sequence=sequence, verdict="skip", question=question.id)
            await handle.execute_update(BrowserTask.resolve_step, said)
        result = await handle.result()

    assert result.succeeded


async def test_a_question_that_nobody_answers_is_reminded_of_and_ends_the_run_at_its_deadline(client: Client) -> None:
    script = Script(perform=covered)
    run = run_of(GOTO, FILL, on_failure="ask", asking=Asking(within_s=1.5, remind_every_s=0.5))

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run)
        with pytest.raises(WorkflowFailureError) as failure:
            await handle.result()
    history = await handle.fetch_history()
    replayed = await Replayer(workflows=[], plugins=[WorkflowPlugin(sandboxed=True)]).replay_workflow(history)

    result = result_of(failure.value)
    assert result.reason == "unanswered"
    assert "nobody answered within 1.5 s" in result.message
    events = [notice.event for notice in script.notices]
    assert (events[0], {*events[1:-1]}, events[-1]) == ("asked", {"reminder"}, "timed_out")
    assert [notice.question.reminders for notice in script.notices[:-1]] == [*range(len(events) - 1)]
    assert replayed.replay_failure is None


async def test_that_nobody_can_be_told_fails_nothing(client: Client) -> None:
    script = Script(perform=covered)

    def broken(_notice: QuestionNotice) -> None:
        raise ApplicationError("no such command", type="NoticeFailed", non_retryable=True)

    script.notify = broken
    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL, on_failure="ask"))
        await waiting(handle)
        await until(script, "asked")
        await handle.execute_update(BrowserTask.resolve_step, PersonVerdict(sequence=1, verdict="skip"))
        result = await handle.result()

    assert result.succeeded
