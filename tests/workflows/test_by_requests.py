"""A run by requests whose activity fails, is lost or is ended: its step with consequences is settled, or told."""

import asyncio
import itertools
import uuid
from collections.abc import Awaitable, Callable

import pytest
from temporalio import activity
from temporalio.client import Client, WorkflowHandle, WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError

from activities.heartbeats import heartbeats
from replaywright.cli.runs.follow import ended
from replaywright.domain.requests.commands import (
    BY_REQUESTS,
    WITHOUT_PAGE,
    RequestsRun,
    RunRequests,
    ShownRequests,
    is_sampled,
)
from replaywright.domain.run.commands import CommandOnStep
from replaywright.domain.run.commit_requests import NOT_ON_SITE, PersonVerdict, Resolution
from replaywright.domain.run.runs import Finished, FinishRequest, RunInput, RunResult
from replaywright.domain.run.steering import Said, SkipStep
from replaywright.domain.step.outcomes import Status, StepOutcome
from replaywright.domain.task.actions import Effect
from tests.workflows.scripted import Script, done, run_of, scripted, waiting
from workflows.task import BrowserTask

GOTO = {"action": "goto", "url": "http://site/"}
SEND = {"action": "click", "instruction": "the send button", "effect": "commit"}
THANKS = {"action": "click", "instruction": "the next button", "effect": "idempotent"}

READ = StepOutcome(status=Status.DONE, reason=BY_REQUESTS)
SENT = StepOutcome(status=Status.DONE, reason=BY_REQUESTS, effect=Effect.COMMIT)
DOUBTFUL = StepOutcome(status=Status.IN_DOUBT, reason=BY_REQUESTS, effect=Effect.COMMIT)
ALL_DONE = RequestsRun(status="done", outcomes=(READ, SENT, READ))
OPEN = RequestsRun(status="open", reason="no answer", outcomes=(READ, DOUBTFUL))

Handle = WorkflowHandle[BrowserTask, RunResult]
Steer = Callable[[Handle], Awaitable[None]]


def run() -> RunInput:
    own = run_of(GOTO, SEND, THANKS)
    return own.model_copy(update={"task": own.task.model_copy(update={"tier": "requests"})})


async def start(client: Client, queue: str, **more: object) -> Handle:
    names = (f"test-{uuid.uuid4().hex[:8]}" for _ in itertools.count())
    name = next(each for each in names if not is_sampled(each))
    return await client.start_workflow(BrowserTask.run, run().model_copy(update=more), id=name, task_queue=queue)


def sends(answer: RequestsRun | Exception) -> Callable[[RunRequests], Awaitable[RequestsRun]]:
    async def send(_request: RunRequests) -> RequestsRun:
        if isinstance(answer, Exception):
            raise answer
        return answer

    return send


class UntilEnded:
    """Goes on until it is cancelled; then it ends with an answer, or as cancelled."""

    def __init__(self, answer: RequestsRun | None) -> None:
        self._answer = answer
        self.begun = asyncio.Event()

    async def __call__(self, _request: RunRequests) -> RequestsRun:
        self.begun.set()
        try:
            async with heartbeats("sending"):
                await asyncio.Event().wait()
        except asyncio.CancelledError:
            if self._answer is None:
                raise
        assert self._answer is not None
        return self._answer


def performed(request: CommandOnStep, _call: int) -> StepOutcome:
    return done(request, effect=Effect.COMMIT if request.context.sequence == 1 else Effect.IDEMPOTENT)


def not_there(_request: object) -> Resolution:
    return Resolution(verdict="not_done", reason=NOT_ON_SITE)


def is_there(_request: object) -> Resolution:
    return Resolution(verdict="done", outcome=SENT)


async def test_a_task_that_is_done_by_its_requests_opens_no_browser(client: Client) -> None:
    script = Script(send=sends(ALL_DONE))
    async with scripted(client, script) as queue:
        result = await (await start(client, queue)).result()
    assert (result.succeeded, result.note, result.totals.steps) == (True, WITHOUT_PAGE, 3)
    assert [(line.step, line.state) for line in result.commits] == [(1, "done")]
    assert (script.opened, script.performed) == ([], [])


@pytest.mark.parametrize("verdict", [not_there, is_there])
@pytest.mark.parametrize("how", ["lost", "broken", "in doubt"])
async def test_a_step_in_doubt_is_settled_first_and_performed_only_if_the_site_has_it_not(
    client: Client, how: str, verdict: Callable[[object], Resolution]
) -> None:
    answer = OPEN if how == "in doubt" else ApplicationError("a fault of ours", type="KeyError")
    shown: list[ShownRequests | None] = []

    def finish(request: FinishRequest) -> Finished:
        shown.append(request.requests)
        return Finished()

    script = Script(
        finish=finish,
        send=sends(answer),
        loses=frozenset({"requests.run"} if how == "lost" else ()),
        sent_before_loss=lambda _request: OPEN,
        verify=verdict,
        perform=performed,
    )
    async with scripted(client, script) as queue:
        result = await (await start(client, queue)).result()
    [asked] = script.verified
    again = [one.context for one in script.performed if one.context.sequence == 1]
    assert result.succeeded
    assert len(again) == (verdict is not_there)
    assert all(context.run.epoch > asked.action.run.epoch for context in again)
    assert [(line.step, line.state) for line in result.commits] == [(1, "done")]
    assert result.totals.recoveries == 0
    assert shown == [None]


async def test_what_a_lost_worker_said_of_the_ledger_is_told_to_whoever_asks_what_it_has_sent(client: Client) -> None:
    told: list[str] = []

    async def send(_request: RunRequests) -> RequestsRun:
        activity.heartbeat("sending", "the ledger's witness")
        await asyncio.Event().wait()
        return ALL_DONE

    def nothing_left(request: RunRequests) -> RequestsRun:
        told.append(request.witness)
        return RequestsRun(status="page", reason="nothing left")

    script = Script(send=send, sent_before_loss=nothing_left, perform=performed)
    async with scripted(client, script) as queue:
        result = await (await start(client, queue)).result()
    assert told == ["the ledger's witness"]
    assert (result.succeeded, script.verified) == (True, [])
    assert [(line.step, line.state) for line in result.commits] == [(1, "done")]


async def test_a_person_who_gives_a_step_in_doubt_up_reads_that_it_may_have_been_sent(client: Client) -> None:
    script = Script(send=sends(OPEN), verify=lambda _request: Resolution(verdict="undecidable", reason="text_missing"))
    async with scripted(client, script) as queue:
        handle = await start(client, queue)
        await waiting(handle)
        given_up = PersonVerdict(sequence=1, verdict="abandon", who="ada", why="too late")
        await handle.execute_update(BrowserTask.resolve_step, given_up)
        ending = await ended(handle)
    assert (ending.status, ending.result.reason) == ("failed", "abandoned")
    assert [(line.step, line.state) for line in ending.result.commits] == [(1, "in_doubt")]


async def cancels(handle: Handle) -> None:
    await handle.cancel()


async def aborts(handle: Handle) -> None:
    await handle.execute_update(BrowserTask.abort, Said(who="ada", why="a mistake"))


@pytest.mark.parametrize("ends", [cancels, aborts])
@pytest.mark.parametrize(
    ("answer", "told"), [(OPEN, [(1, "in_doubt")]), (ALL_DONE, [(1, "done")]), (None, [])], ids=["open", "done", "none"]
)
async def test_a_run_that_is_ended_meanwhile_tells_what_its_request_came_to_and_begins_nothing_more(
    client: Client, ends: Steer, answer: RequestsRun | None, told: list[tuple[int, str]]
) -> None:
    sending = UntilEnded(answer)
    script = Script(send=sending)
    async with scripted(client, script) as queue:
        handle = await start(client, queue)
        await sending.begun.wait()
        await ends(handle)
        ending = await ended(handle)
    assert ending.status == ("cancelled" if ends is cancels else "failed")
    assert [(line.step, line.state) for line in ending.result.commits] == told
    assert (script.opened, script.performed, script.verified) == ([], [], [])


async def test_what_a_rule_forbids_ends_the_run_and_is_not_tried_by_the_page(client: Client) -> None:
    refused = ApplicationError("host x is not allowed", {"rule": "hosts"}, type="PolicyBlocked", non_retryable=True)
    script = Script(send=sends(refused))
    async with scripted(client, script) as queue:
        ending = await ended(await start(client, queue))
    assert (ending.result.succeeded, script.opened, script.verified) == (False, [], [])
    assert ending.result.commits == ()


async def test_no_step_can_be_left_out_while_all_are_under_way(client: Client) -> None:
    sending = UntilEnded(ALL_DONE)
    async with scripted(client, Script(send=sending)) as queue:
        handle = await start(client, queue)
        await sending.begun.wait()
        with pytest.raises(WorkflowUpdateFailedError) as refusal:
            await handle.execute_update(BrowserTask.skip_step, SkipStep(sequence=2, who="ada"))
        await handle.cancel()
        await ended(handle)
    assert "step 3 has begun; what can be left out: none" in str(refusal.value.cause)
