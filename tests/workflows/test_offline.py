"""Runs of every kind, as Temporal keeps them, replay offline; so does one that is under way."""

import asyncio
import json

import pytest
from temporalio.client import Client, WorkflowFailureError
from temporalio.testing import WorkflowEnvironment

from replaywright.cli.evidence.offline import replay
from replaywright.domain.run.commands import CommandOnStep, StepCommand
from replaywright.domain.secrets.signing import Key
from replaywright.domain.step.outcomes import Status, StepOutcome
from replaywright.domain.trace.histories import calls_of, end_of
from replaywright.domain.trace.trace_file import History
from replaywright.sealing.codec import SealedPayloads, sealed
from tests.workflows.scripted import Script, done, history_of, known, run_of, scripted, start, waiting
from workflows.plugin import WorkflowPlugin

GOTO = {"action": "goto", "url": "http://site/"}
FILL = {"action": "fill", "instruction": "the name field", "value": "Ada"}
SEND = {"action": "click", "instruction": "the send button", "effect": "commit"}


async def test_each_execution_of_a_run_that_continued_as_new_replays(client: Client) -> None:
    async with scripted(client, Script()) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL, SEND, steps_per_history=2))
        await handle.result()

    first = await history_of(client, handle, handle.first_execution_run_id)
    last = await history_of(client, handle, None)
    assert [(await replay(one)).differences for one in (first, last)] == [(), ()]
    assert first.events != last.events


async def test_runs_that_failed_or_were_cancelled_replay(client: Client) -> None:
    def refused(request: CommandOnStep, _call: int) -> StepOutcome:
        return StepOutcome(status=Status.REFUSED, reason="covered") if request.context.sequence else done(request)

    async with scripted(client, Script(perform=refused)) as queue:
        failed = await start(client, queue, run_of(GOTO, SEND))
        with pytest.raises(WorkflowFailureError):
            await failed.result()
    in_doubt = StepOutcome(status=Status.IN_DOUBT, reason="no_response")
    script = Script(perform=lambda request, _call: in_doubt if request.context.sequence else done(request))
    async with scripted(client, script) as queue:
        cancelled = await start(client, queue, run_of(GOTO, SEND))
        await waiting(cancelled)
        under_way = await history_of(client, cancelled, None)
        await cancelled.cancel()
        with pytest.raises(WorkflowFailureError):
            await cancelled.result()

    over = [await history_of(client, handle, None) for handle in (failed, cancelled)]

    assert await asyncio.gather(*(_differences(one) for one in (*over, under_way))) == [(), (), ()]


async def test_a_sealed_history_tells_nothing_and_replays_for_those_who_have_the_key(
    temporal_env: WorkflowEnvironment,
) -> None:
    keys = (Key("k1", b"1" * 32),)
    address = temporal_env.client.service_client.config.target_host
    sealing = await Client.connect(address, plugins=[WorkflowPlugin(lambda converter: sealed(converter, keys))])

    def refused(request: CommandOnStep, _call: int) -> StepOutcome:
        return (
            StepOutcome(status=Status.REFUSED, reason="covered", message="by Canary")
            if request.context.sequence
            else done(request)
        )

    async with scripted(sealing, Script(perform=refused)) as queue:
        handle = await start(sealing, queue, run_of(GOTO, {**FILL, "value": "Canary"}))
        with pytest.raises(WorkflowFailureError) as failed:
            await handle.result()
    stored = await history_of(sealing, handle, None)
    opened = History(handle.id, "", SealedPayloads(keys).opened_events(stored.events))

    raw = await sealing.get_workflow_handle(handle.id).fetch_history()
    assert not [event for event in raw.events if b"Canary" in event.SerializeToString()]
    assert "by Canary" in str(failed.value.cause)
    assert "Canary" in json.dumps([(call.given, call.answer) for call in calls_of(opened.events)])
    assert all(call.given is None for call in calls_of(stored.events))
    assert (await replay(opened)).differences == ()
    assert end_of(opened.events) is not None


async def _differences(history: History) -> tuple[object, ...]:
    return (await replay(history)).differences


async def test_steps_tell_what_they_were_asked_and_replay(client: Client) -> None:
    async with scripted(client, Script(perform=known)) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL, SEND))
        await handle.result()
    history = await history_of(client, handle, None)

    steps = [call for call in calls_of(history.events) if call.activity_type.startswith("browser.")]
    asked = [StepCommand.model_validate(call.given).root for call in steps]

    assert [request.context.step.action for request in asked] == ["goto", "fill", "click"]
    assert [call.activity_id.split("-")[1] for call in steps] == [request.context.fingerprint[:12] for request in asked]
    assert all(StepOutcome.model_validate(call.answer).status is Status.DONE for call in steps)
    assert (await replay(history)).differences == ()
