"""Runs that workflows of another namespace start by Nexus, on a real Temporal server, with scripted activities."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from google.protobuf.duration_pb2 import Duration
from nexusrpc import HandlerError, HandlerErrorType
from temporalio import workflow
from temporalio.api.nexus.v1 import EndpointSpec, EndpointTarget
from temporalio.api.operatorservice.v1 import CreateNexusEndpointRequest
from temporalio.api.workflowservice.v1 import RegisterNamespaceRequest
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowFailureError, WorkflowHandle
from temporalio.exceptions import ApplicationError, NexusOperationError
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from replaywright.agents import nexus
from replaywright.agents.nexus import NexusRuns, serving_nexus
from replaywright.agents.requests import run_id_of
from replaywright.cli.runs.finding import exact_run, input_of
from replaywright.cli.servers.connect import Backend
from replaywright.cli.servers.running import RunningBackend
from replaywright.cli.servers.store import open_store
from replaywright.domain.run.commands import CommandOnStep
from replaywright.domain.run.runs import RunInput
from replaywright.domain.secrets.signing import Signer, written_key
from replaywright.domain.secrets.starts import MAC, start_fault
from replaywright.domain.skill.skills import Skill, SkillStatus
from replaywright.domain.step.outcomes import StepOutcome
from replaywright.domain.task.tasks import parse_task
from replaywright.errors import PolicyBlocked, ReplaywrightError, SettingsInvalid, StackFailed, StoreUnavailable
from replaywright.settings import Settings
from replaywright.stack.keyring import new_key
from replaywright.stack.temporal_client import connect_client
from tests.workflows.scripted import Script, done, missed, scripted

KEY = new_key("ours")
CALLERS = "nexus-callers"
TASK = {
    "task": "greet",
    "url": "https://shop.example/",
    "parameters": {"name": {"type": "text"}},
    "steps": [
        {"action": "fill", "target": {"role": "textbox", "name": "Name"}, "value": "{{name}}", "instruction": "Name"}
    ],
    "verify": [{"url_contains": "/"}],
}


@workflow.defn
class CallsNexus:
    """A workflow of a team's own."""

    @workflow.run
    async def run(self, endpoint: str, given: Any) -> Any:
        client = workflow.create_nexus_client(service="replaywright", endpoint=endpoint)
        return await client.execute_operation("run", given, output_type=dict[str, Any])


class Placed(RunningBackend):
    """Servers that are known already, or away."""

    def __init__(self, place: Backend | ReplaywrightError) -> None:
        super().__init__(Settings(), owner="the test")
        self.known = place

    async def here(self) -> Backend:
        if isinstance(self.known, ReplaywrightError):
            raise self.known
        return self.known


@dataclass
class Team:
    """Callers in a namespace of their own, and the tenant whose skill `greet` they start."""

    place: Backend
    client: Client
    endpoint: str

    async def call(self, given: Any) -> WorkflowHandle[Any, Any]:
        """Start a workflow that calls the operation."""
        handle: WorkflowHandle[Any, Any] = await self.client.start_workflow(
            "CallsNexus",
            args=[self.endpoint, given],
            id=uuid.uuid4().hex,
            task_queue=CALLERS,
            execution_timeout=timedelta(seconds=60),
        )
        return handle

    async def failed(self, given: Any) -> BaseException | None:
        """What the operation fails with."""
        with pytest.raises(WorkflowFailureError) as failure:
            await (await self.call(given)).result()
        assert isinstance(failure.value.cause, NexusOperationError)
        return failure.value.cause.cause

    def run_of(self, request_id: str) -> str:
        return run_id_of(self.place.settings.tenant, f"nexus {request_id}")


@pytest.fixture(scope="module")
async def callers(temporal_env: WorkflowEnvironment) -> Client:
    """A client in a namespace of callers."""
    kept = Duration(seconds=86_400)
    request = RegisterNamespaceRequest(namespace=CALLERS, workflow_execution_retention_period=kept)
    await temporal_env.client.workflow_service.register_namespace(request)
    return await Client.connect(temporal_env.client.service_client.config.target_host, namespace=CALLERS)


async def callers_known(team: Team, run_id: str, number: int) -> None:
    """Return when the result of the run goes to so many callers."""
    async with asyncio.timeout(30):
        while True:
            if len((await exact_run(team.place, run_id)).raw_description.callbacks) == number:
                return
            await asyncio.sleep(0.05)  # there is no event for it


@asynccontextmanager
async def team_of(
    client: Client, callers: Client, redis_url: str, script: Script, placed: Placed | None = None
) -> AsyncIterator[Team]:
    name = f"t{uuid.uuid4().hex[:8]}"
    settings = Settings(
        tenant=name,
        temporal_address=client.service_client.config.target_host,
        redis_url=redis_url,
        signing_keys=written_key(KEY),
        unsigned=False,
    )
    target = EndpointTarget(worker=EndpointTarget.Worker(namespace="default", task_queue=f"{name}-nexus"))
    await client.operator_service.create_nexus_endpoint(
        CreateNexusEndpointRequest(spec=EndpointSpec(name=name, target=target))
    )
    skill = Skill(
        name="greet", task=parse_task(TASK, "the test"), site="https://shop.example", status=SkillStatus.ACTIVE
    )
    async with open_store(settings) as store:
        await store.knowledge.skills.save(store.tenant, skill, who="the test")
    async with scripted(client, script) as queue:
        place = Backend(await connect_client(settings), settings, "configured", served_by=queue)
        async with (
            serving_nexus(placed or Placed(place), f"{name}-nexus"),
            Worker(callers, task_queue=CALLERS, workflows=[CallsNexus], workflow_runner=UnsandboxedWorkflowRunner()),
        ):
            yield Team(place, callers, name)


def asked(request_id: str, name: str = "Ada", **fields: Any) -> dict[str, Any]:
    return {"skill": "greet", "request_id": request_id, "values": {"name": name}, **fields}


async def test_a_request_has_one_signed_run_whose_result_each_caller_gets_early_late_or_after_its_end(
    client: Client, callers: Client, redis_url: str
) -> None:
    begun, release = asyncio.Event(), asyncio.Event()

    async def held(request: CommandOnStep, _call: int) -> StepOutcome:
        begun.set()
        await release.wait()
        return done(request)

    async with team_of(client, callers, redis_url, Script(performing=held)) as team:
        run_id = team.run_of("order-1")
        first = await team.call(asked("order-1"))
        await begun.wait()
        second = await team.call(asked("order-1"))
        await callers_known(team, run_id, 2)
        other = await team.failed(asked("order-1", "Bob"))
        execution = await exact_run(team.place, run_id)
        given = await input_of(team.place, execution, RunInput)
        release.set()
        results = [await first.result(), await second.result()]
        late = await (await team.call(asked("order-1"))).result()

    assert given.values == {"name": "Ada"}
    assert given.skill is not None
    assert (given.skill.name, given.tenant) == ("greet", team.place.settings.tenant)
    mac = await execution.memo_value(MAC)
    sent = json.loads(team.place.client.data_converter.payload_converter.to_payload(given).data)
    assert start_fault(Signer((KEY,)), kind="BrowserTask", run_id=run_id, given=sent, mac=mac) is None
    assert isinstance(other, HandlerError)
    assert (other.type, "another request has used this id" in other.message) == (HandlerErrorType.BAD_REQUEST, True)
    assert results[0]["succeeded"]
    assert results[0] == results[1] == late


async def test_a_wrong_request_is_refused_once_with_field_value_and_remedy(
    client: Client, callers: Client, redis_url: str
) -> None:
    async with team_of(client, callers, redis_url, Script()) as team:
        wrong = {
            "color": {**asked("1"), "values": {"name": "Ada", "color": "red"}},
            "name": {**asked("1"), "values": {}},
            "request_id": {"skill": "greet"},
            "at most 190": asked("1" * 191),
            "wait_s": asked("1", wait_s=5),
            "expected an object": ["greet"],
        }
        refused = {says: await team.failed(given) for says, given in wrong.items()}
        unknown = await team.failed(asked("1", skill="meet"))
        runs = [run async for run in team.place.client.list_workflows(f'WorkflowId = "{team.run_of("1")}"')]

    for says, error in refused.items():
        assert isinstance(error, HandlerError)
        assert (error.type, error.retryable, says in error.message) == (HandlerErrorType.BAD_REQUEST, False, True)
    assert isinstance(unknown, HandlerError)
    assert (unknown.type, unknown.retryable) == (HandlerErrorType.NOT_FOUND, False)
    assert "'meet'" in unknown.message
    assert runs == []


async def test_callers_of_a_run_that_failed_are_told_why_also_after_its_end(
    client: Client, callers: Client, redis_url: str
) -> None:
    async with team_of(client, callers, redis_url, Script(perform=lambda _r, _c: missed("no_entry"))) as team:
        early = await team.failed(asked("1"))
        late = await team.failed(asked("1"))

    assert isinstance(early, ApplicationError)
    assert early.details[0]["reason"] == "no_entry"
    assert isinstance(late, ApplicationError)
    assert isinstance(late.cause, ApplicationError)
    assert late.cause.details == early.details


async def test_the_operation_is_served_as_soon_as_temporal_and_its_namespace_are_there(
    client: Client, callers: Client, redis_url: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nexus, "_LOOK_EVERY_S", 0.05)
    placed = Placed(StackFailed("no Temporal is there"))

    async def told(text: str) -> None:
        async with asyncio.timeout(30):
            while True:
                if text in caplog.text:
                    return
                await asyncio.sleep(0.05)  # there is no event for it

    async with team_of(client, callers, redis_url, Script(), placed) as team:
        await told("no Temporal is there")
        elsewhere = team.place.settings.model_copy(update={"temporal_namespace": "nowhere"})
        placed.known = Backend(await connect_client(elsewhere), elsewhere, "configured")
        await told("nowhere")
        placed.known = team.place
        result = await (await team.call(asked("1"))).result()

    assert result["succeeded"]
    assert caplog.text.count("no Temporal is there") == 1


async def test_an_operation_that_is_cancelled_ends_its_run(client: Client, callers: Client, redis_url: str) -> None:
    begun = asyncio.Event()

    async def held(request: CommandOnStep, _call: int) -> StepOutcome:
        begun.set()
        await asyncio.Event().wait()
        return done(request)

    async with team_of(client, callers, redis_url, Script(performing=held)) as team:
        caller = await team.call(asked("1"))
        await begun.wait()
        await caller.cancel()
        with pytest.raises(WorkflowFailureError):
            await caller.result()
        execution = await exact_run(team.place, team.run_of("1"))

    assert execution.status is WorkflowExecutionStatus.CANCELED


@pytest.mark.parametrize(
    ("error", "kind", "is_repeated"),
    [
        (StackFailed("Temporal does not answer"), HandlerErrorType.UNAVAILABLE, True),
        (StoreUnavailable("Redis does not answer"), HandlerErrorType.UNAVAILABLE, True),
        (PolicyBlocked("not there", rule="hosts"), HandlerErrorType.UNAUTHORIZED, False),
        (SettingsInvalid("a key is wrong"), HandlerErrorType.INTERNAL, True),
    ],
)
async def test_what_passes_is_repeated_and_what_is_forbidden_is_not(
    error: ReplaywrightError, kind: HandlerErrorType, *, is_repeated: bool
) -> None:
    runs: Any = NexusRuns(Placed(error))

    with pytest.raises(HandlerError) as refusal:
        await runs.run(None, None, asked("1"))

    assert (refusal.value.type, refusal.value.retryable) == (kind, is_repeated)
    assert refusal.value.message == str(error)
    assert refusal.value.__cause__ is None
