"""Starts from anywhere: what another SDK sends as plain JSON, and what becomes of one that is wrong."""

import asyncio
import uuid
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any
from unittest.mock import Mock

import pytest
from temporalio import workflow
from temporalio.api.common.v1 import Payload
from temporalio.api.failure.v1 import Failure
from temporalio.bridge.proto.workflow_activation import InitializeWorkflow, WorkflowActivation, WorkflowActivationJob
from temporalio.bridge.proto.workflow_completion import Failure as Failed
from temporalio.bridge.proto.workflow_completion import WorkflowActivationCompletion
from temporalio.client import (
    Client,
    WorkflowExecutionStatus,
    WorkflowFailureError,
    WorkflowHandle,
    WorkflowUpdateFailedError,
)
from temporalio.common import RawValue
from temporalio.contrib.pydantic import PydanticPayloadConverter
from temporalio.converter import DefaultFailureConverter
from temporalio.exceptions import ApplicationError
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Replayer

from replaywright.domain.run.runs import RunInput
from tests.e2e.lab import until
from tests.workflows.scripted import Script, scripted
from workflows.admission import _Admitting, objection_to
from workflows.plugin import WorkflowPlugin
from workflows.task import BrowserTask

TASK: Mapping[str, Any] = {
    "task": "greet",
    "url": "https://shop.example/",
    "parameters": {"greeting": {"default": "Hello"}, "name": {"example": "Ada"}},
    "steps": [{"action": "fill", "instruction": "the message", "value": "{{greeting}} {{name}}"}],
}
GOOD: Mapping[str, Any] = {"task": TASK, "values": {"name": "Ada"}}


@pytest.fixture
async def ours(temporal_env: WorkflowEnvironment) -> Client:
    address = temporal_env.client.service_client.config.target_host
    return await Client.connect(address, plugins=[WorkflowPlugin()])


@pytest.fixture
async def foreign(temporal_env: WorkflowEnvironment) -> Client:
    """Knows nothing of ours: what it sends is what any SDK sends by default."""
    return await Client.connect(temporal_env.client.service_client.config.target_host)


async def begun(client: Client, queue: str, *arguments: object) -> WorkflowHandle[Any, Any]:
    handle: WorkflowHandle[Any, Any] = await client.start_workflow(
        "BrowserTask", args=arguments, id=f"start/{uuid.uuid4().hex}", task_queue=queue
    )
    return handle


def activated(data: bytes, continued: str) -> WorkflowActivationCompletion:
    """The first workflow task of a run with this argument, which cannot be read."""
    job = WorkflowActivationJob(
        initialize_workflow=InitializeWorkflow(
            workflow_type="BrowserTask",
            arguments=[Payload(metadata={"encoding": b"json/plain"}, data=data)],
            continued_from_execution_run_id=continued,
        )
    )
    details = Mock(
        defn=workflow._Definition.must_from_class(BrowserTask),
        payload_converter_factory=PydanticPayloadConverter,
        failure_converter_class=DefaultFailureConverter,
    )
    inner = Mock(
        activate=lambda _act: WorkflowActivationCompletion(failed=Failed(failure=Failure(message="by the test")))
    )
    return _Admitting(inner, details).activate(WorkflowActivation(jobs=[job]))


async def refusal(handle: WorkflowHandle[Any, Any]) -> ApplicationError:
    with pytest.raises(WorkflowFailureError) as failed:
        await asyncio.wait_for(handle.result(), 30)
    assert isinstance(failed.value.cause, ApplicationError)
    return failed.value.cause


def raw(data: bytes, encoding: str = "json/plain") -> RawValue:
    return RawValue(Payload(metadata={"encoding": encoding.encode()}, data=data))


async def test_task_and_values_are_enough_and_defaults_are_filled_in(ours: Client, foreign: Client) -> None:
    script = Script()

    async with scripted(ours, script) as queue:
        result = await (await begun(foreign, queue, GOOD)).result()

    assert result["succeeded"] is True
    assert script.performed[-1].context.values == {"greeting": "Hello", "name": "Ada"}


async def test_a_wrong_start_fails_at_once_says_why_and_its_history_replays(ours: Client, foreign: Client) -> None:
    script = Script()
    wrong: dict[str, Sequence[object]] = {
        "BrowserTask: task.stepz: unknown field; did you mean 'steps'?": ({"task": {**TASK, "stepz": []}},),
        "parameter 'name' of task 'greet' has no value; pass values.name=…, for example 'Ada'": ({"task": TASK},),
        "values.nam: task 'greet' has no such parameter; it has: greeting, name": (
            {"task": TASK, "values": {"name": "Ada", "nam": "Ada"}},
        ),
    }

    async with scripted(ours, script) as queue:
        handles = [await begun(foreign, queue, *arguments) for arguments in wrong.values()]
        errors = [await refusal(handle) for handle in handles]
        histories = [await handle.fetch_history() for handle in handles]

    assert [error.message for error in errors] == list(wrong)
    assert {(error.type, error.non_retryable, error.details) for error in errors} == {("InputInvalid", True, ())}
    assert not script.checked_by_policy
    for history in histories:
        replayed = await Replayer(workflows=[], plugins=[WorkflowPlugin()]).replay_workflow(history)
        assert replayed.replay_failure is None


async def test_two_arguments_are_refused_like_a_wrong_one(ours: Client, foreign: Client) -> None:
    async with scripted(ours, Script()) as queue:
        error = await refusal(await begun(foreign, queue, TASK, {"name": "Ada"}))

    assert error.message == "BrowserTask: expected 1 argument (RunInput, as JSON), found 2"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (raw(b"{"), "the argument: Invalid JSON: EOF while parsing an object at line 1 column 1"),
        (raw(b"[1]"), "the argument: should be a mapping"),
        (
            raw(b"", "binary/null"),
            "the argument: expected a JSON object with the encoding 'json/plain', found 'binary/null'",
        ),
        (
            raw(b"x", "xml/plain"),
            "the argument: expected a JSON object with the encoding 'json/plain', found 'xml/plain'",
        ),
        ({"values": {}}, "task: this field is required"),
        (
            {"task": TASK, "values": {"name": 7}},
            "values.name: should be a text, and this is a number, 7: write it in quotes",
        ),
        ({"task": TASK, "mode": "fast"}, "mode: should be 'auto', 'learn' or 'replay', found 'fast'"),
        (
            {"task": {**TASK, "steps": [{"action": "clik"}]}},
            "task.steps[0]: unknown action 'clik'; did you mean 'click'?",
        ),
    ],
)
async def test_what_is_wrong_is_named(given: object, said: str) -> None:
    converter = PydanticPayloadConverter()
    [payload] = converter.to_payloads([given])

    objection = objection_to("BrowserTask", [payload], [RunInput], converter)

    assert objection.startswith(f"BrowserTask: {said}")


async def test_one_that_is_sealed_with_a_key_unknown_here_waits_for_a_worker_that_has_it(
    ours: Client, foreign: Client
) -> None:
    async with scripted(ours, Script()) as queue:
        handle = await begun(foreign, queue, raw(b"x", "binary/encrypted"))

        async def is_tried_again() -> bool:
            return (await handle.describe()).raw_description.pending_workflow_task.attempt > 1

        await until("the workflow task is tried again", is_tried_again)
        status = (await handle.describe()).status
        await handle.terminate("by the test")

    assert status is WorkflowExecutionStatus.RUNNING


@pytest.mark.parametrize(("continued", "fails"), [("", True), ("the execution before", False)])
def test_only_a_start_is_refused_never_what_a_run_continues_as_new_with(continued: str, fails: bool) -> None:
    """A newer worker may have written that."""
    completion = activated(b'{"task": {"task": "greet", "stepz": []}}', continued)

    assert completion.HasField("failed") is not fails
    assert [command.HasField("fail_workflow_execution") for command in completion.successful.commands] == [True] * fails


async def test_an_update_that_cannot_be_read_is_rejected_and_the_run_goes_on(ours: Client, foreign: Client) -> None:
    release = asyncio.Event()
    script = Script()

    async def slow(request: Any, call: int) -> Any:
        await release.wait()
        return script.answer(request, call)

    script.performing = slow
    async with scripted(ours, script) as queue:
        handle = await begun(foreign, queue, GOOD)
        rejected = []
        for arguments in ((), ("now",), ({"sequence": "first", "verdict": "done"},)):
            with pytest.raises(WorkflowUpdateFailedError) as failed:
                await handle.execute_update("resolve_step", args=arguments, rpc_timeout=timedelta(seconds=30))
            rejected.append(failed.value)
        release.set()
        result = await handle.result()

    assert len(rejected) == 3
    assert result["succeeded"] is True
