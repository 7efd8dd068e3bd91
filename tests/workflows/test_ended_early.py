"""A run that ends early says which of its steps with consequences were done, which were not, and which are in doubt."""

import asyncio
from datetime import UTC, datetime

import pytest
from temporalio.client import Client, WorkflowFailureError
from temporalio.exceptions import ApplicationError
from temporalio.worker import Replayer

from activities.heartbeats import heartbeats
from replaywright.cli.runs.follow import Ending, ended
from replaywright.domain.run.commands import CommandOnStep
from replaywright.domain.run.commit_lines import CommitLine
from replaywright.domain.run.commit_requests import Stopped
from replaywright.domain.run.runs import RunInput, RunResult
from replaywright.domain.run.steering import Said
from replaywright.domain.step.outcomes import Departure, Evidence, Status, StepOutcome
from replaywright.domain.task.actions import Effect
from tests.workflows.scripted import Script, done, lost, run_of, scripted, start, waiting
from workflows.plugin import WorkflowPlugin
from workflows.task import BrowserTask

GOTO = {"action": "goto", "url": "http://site/"}
SEND = {"action": "click", "instruction": "the send button", "effect": "commit"}
NEXT = {"action": "click", "instruction": "the next button"}
FILL = {"action": "fill", "instruction": "the name field", "value": "Ada"}
LEFT = datetime(2026, 11, 24, 10, 2, 3, tzinfo=UTC)
SENT = Evidence(departure=Departure(bytes_up=9, permitted_at=LEFT.timestamp()))


class Hanging:
    """Performs steps; one of them goes on until it is cancelled, or, if it `ends`, ends all the same."""

    def __init__(self, sequence: int, ends: StepOutcome | None = None) -> None:
        self._sequence = sequence
        self._ends = ends
        self.begun = asyncio.Event()

    async def __call__(self, request: CommandOnStep, _call: int) -> StepOutcome:
        if request.context.sequence == self._sequence:
            self.begun.set()
            try:
                async with heartbeats("hanging"):
                    await asyncio.Event().wait()
            except asyncio.CancelledError:
                if self._ends is None:
                    raise
                return self._ends.model_copy(update={"fingerprint": request.context.fingerprint})
        if request.context.step.effect is Effect.COMMIT:
            return done(request, effect=Effect.COMMIT, evidence=SENT)
        return done(request)


async def cancelled(client: Client, script: Script, run: RunInput, hanging: Hanging) -> Ending:
    """How a run ends that is cancelled while a step hangs."""
    script.performing = hanging
    async with scripted(client, script) as queue:
        handle = await start(client, queue, run)
        await hanging.begun.wait()
        await handle.cancel()
        ending = await ended(handle)
    replayed = await Replayer(workflows=[], plugins=[WorkflowPlugin(sandboxed=True)]).replay_workflow(
        await handle.fetch_history()
    )
    assert replayed.replay_failure is None
    return ending


async def test_a_run_that_is_cancelled_after_a_send_step_says_that_it_was_sent(client: Client) -> None:
    script = Script()

    ending = await cancelled(client, script, run_of(GOTO, SEND, FILL), Hanging(2))

    assert (ending.status, ending.result.message) == ("cancelled", "the run was cancelled; step 2 was sent")
    assert ending.result.commits == (CommitLine(step=1, title="click the send button", state="done", left_at=LEFT),)
    assert script.stopped == []


@pytest.mark.parametrize(
    ("stopped", "said"),
    [
        (Stopped(state="not_done"), "step 2 was not sent"),
        (Stopped(state="done", left_at=LEFT), "step 2 was sent"),
        (
            Stopped(state="in_doubt", left_at=LEFT),
            "step 2 is in doubt: it left at 10:02:03 UTC, and no answer was seen",
        ),
        (Stopped(state="in_doubt"), "step 2 is in doubt: nobody knows if it left the browser"),
    ],
)
async def test_a_run_that_is_cancelled_inside_a_send_step_has_its_gate_closed_first_and_says_what_left(
    client: Client, stopped: Stopped, said: str
) -> None:
    closed_before: list[int] = []
    script = Script()

    def stop(_request: object) -> Stopped:
        closed_before.append(len(script.closed))
        return stopped

    script.stop = stop
    ending = await cancelled(client, script, run_of(GOTO, SEND), Hanging(1))

    assert ending.result.message == f"the run was cancelled; {said}"
    [request] = script.stopped
    begun = script.performed[-1]
    assert (request.session_id, request.begun) == (begun.context.run.session.session_id, begun.context.run.epoch)
    assert request.action.run.epoch > begun.context.run.epoch
    assert (closed_before, len(script.closed)) == ([0], 1)


async def test_what_a_cancelled_step_came_to_all_the_same_is_told(client: Client) -> None:
    sent = StepOutcome(status=Status.DONE, effect=Effect.COMMIT, evidence=SENT)
    script = Script()

    ending = await cancelled(client, script, run_of(GOTO, SEND, SEND), Hanging(1, sent))

    assert ending.result.message == "the run was cancelled; step 2 was sent"
    assert [request.context.sequence for request in script.performed] == [0, 1]


async def test_a_step_that_was_left_in_doubt_by_its_cancel_is_not_asked_about_any_more(client: Client) -> None:
    doubtful = StepOutcome(status=Status.IN_DOUBT, reason="timeout", effect=Effect.COMMIT, evidence=SENT)
    script = Script()

    ending = await cancelled(client, script, run_of(GOTO, SEND), Hanging(1, doubtful))

    assert ending.result.message.endswith("step 2 is in doubt: it left at 10:02:03 UTC, and no answer was seen")
    assert (script.verified, len(script.stopped)) == ([], 1)


async def test_a_click_that_had_not_come_to_its_gate_is_not_worth_a_word(client: Client) -> None:
    script = Script(stop=lambda _request: Stopped(state="not_done", is_armed=False))

    ending = await cancelled(client, script, run_of(GOTO, NEXT), Hanging(1))

    assert (ending.result.message, ending.result.commits) == ("the run was cancelled", ())


async def test_a_run_that_is_cancelled_while_a_person_is_asked_of_a_doubt_keeps_the_doubt(client: Client) -> None:
    def perform(request: CommandOnStep, call: int) -> StepOutcome:
        if (request.context.sequence, call) == (1, 0):
            raise lost()
        return done(request)

    script = Script(perform=perform)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, SEND))
        await waiting(handle)
        await handle.cancel()
        ending = await ended(handle)

    assert [(line.step, line.state) for line in ending.result.commits] == [(1, "in_doubt")]


async def test_an_aborted_run_says_what_it_has_done_in_its_result(client: Client) -> None:
    hanging = Hanging(2)
    script = Script(performing=hanging, stop=lambda _request: Stopped(state="not_done"))

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, SEND, SEND, steps_per_history=1))
        await hanging.begun.wait()
        await handle.execute_update(BrowserTask.abort, Said(who="ada", why="withdrawn"))
        with pytest.raises(WorkflowFailureError) as failure:
            await handle.result()

    assert isinstance(failure.value.cause, ApplicationError)
    result = RunResult.model_validate(failure.value.cause.details[0])
    assert result.message == "ended by ada: withdrawn; step 2 was sent; step 3 was not sent"
    assert [(line.step, line.state) for line in result.commits] == [(1, "done"), (2, "not_done")]


async def test_with_the_worker_of_its_browser_lost_another_one_of_the_host_stops_and_closes_it(client: Client) -> None:
    script = Script(loses=frozenset({"effect.stop", "session.close"}), stop=lambda _request: Stopped(state="not_done"))

    ending = await cancelled(client, script, run_of(GOTO, SEND), Hanging(1))

    assert sorted(script.lost) == ["effect.stop", "session.close"]
    assert ending.result.message.endswith("step 2 was not sent")
    assert (len(script.stopped), len(script.closed)) == (1, 1)
