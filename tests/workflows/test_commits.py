"""Commit steps in the loop of `BrowserTask`: dispatched once a round, resolved whenever it is not known what became."""

import pytest
from temporalio.client import Client, WorkflowFailureError
from temporalio.exceptions import ApplicationError

from replaywright.domain.run.commands import CommandOnStep, Reapply
from replaywright.domain.run.commit_requests import Resolution
from replaywright.domain.run.runs import RunResult
from replaywright.domain.step.outcomes import Status, StepOutcome
from replaywright.domain.task.actions import Effect
from tests.workflows.scripted import Script, after_goto, done, run_of, scripted, start
from workflows import policies

GOTO = {"action": "goto", "url": "http://site/"}
FILL = {"action": "fill", "instruction": "the name field", "value": "Ada"}
SEND = {"action": "click", "instruction": "the send button", "effect": "commit"}


def breaks_off(kind: str) -> Script:
    """The send step ends with an error of this kind when it is performed for the first time."""

    def perform(request: CommandOnStep, call: int) -> StepOutcome:
        if call == 0:
            raise ApplicationError("the answer did not come", type=kind)
        return done(request)

    return Script(perform=after_goto(perform))


def kinds(short: str, *others: str) -> list[object]:
    """One for every day; the others belong to the long form."""
    return [short, *(pytest.param(other, marks=pytest.mark.long) for other in others)]


@pytest.mark.parametrize("kind", kinds("ValueTooLarge", "RuntimeError", "StoreUnavailable"))
async def test_a_commit_step_whose_activity_breaks_off_is_resolved_and_not_tried_again(
    client: Client, kind: str
) -> None:
    script = breaks_off(kind)
    script.verify = lambda request: Resolution(verdict="done", outcome=done(request.action, effect=Effect.COMMIT))

    async with scripted(client, script) as queue:
        result = await (await start(client, queue, run_of(GOTO, SEND))).result()

    assert result.succeeded
    assert [request.context.sequence for request in script.performed] == [0, 1]
    assert [(request.action.sequence, request.action.run.epoch) for request in script.verified] == [(1, 3)]


@pytest.mark.parametrize("kind", kinds("SecretMissing", "InputInvalid"))
async def test_a_commit_step_that_is_refused_before_anything_is_done_fails_with_its_reason(
    client: Client, kind: str
) -> None:
    script = breaks_off(kind)

    async with scripted(client, script) as queue:
        with pytest.raises(WorkflowFailureError) as failure:
            await (await start(client, queue, run_of(GOTO, SEND))).result()

    assert isinstance(failure.value.cause, ApplicationError)
    assert RunResult.model_validate(failure.value.cause.details[0]).reason == kind
    assert (len(script.performed), script.verified) == (2, [])


async def test_a_commit_step_that_is_absent_every_time_is_given_up_after_three_dispatches(client: Client) -> None:
    doubtful = StepOutcome(status=Status.IN_DOUBT, reason="gate_cut", effect=Effect.COMMIT)
    script = Script(perform=after_goto(lambda _request, _call: doubtful))
    script.verify = lambda _request: Resolution(verdict="not_done", reason="not_on_site")

    async with scripted(client, script) as queue:
        with pytest.raises(WorkflowFailureError) as failure:
            await (await start(client, queue, run_of(GOTO, SEND))).result()

    assert isinstance(failure.value.cause, ApplicationError)
    assert "verified absent after 3 dispatches" in failure.value.cause.message
    assert [request.context.sequence for request in script.performed] == [0, 1] * policies.COMMIT_ROUNDS + [0]
    assert [isinstance(request, Reapply) for request in script.performed] == [False, False, *[True, False] * 2, True]
    assert len({request.context.run.session.session_id for request in script.performed}) == policies.COMMIT_ROUNDS + 1
    epochs = [request.context.run.epoch for request in script.performed]
    assert epochs == sorted(epochs)


async def test_the_lineage_is_that_of_the_run_in_every_execution_of_it(client: Client) -> None:
    script = Script()

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL, SEND, steps_per_history=1))
        await handle.result()

    assert {request.context.run.lineage for request in script.performed} == {handle.id}
    assert handle.first_execution_run_id != (await client.get_workflow_handle(handle.id).describe()).run_id
