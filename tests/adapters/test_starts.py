"""How runs were started, by the word of a real Temporal server: MACs, schedules, batches, continuing as new, resets."""

import asyncio
import dataclasses
import time
import uuid
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest
from temporalio import workflow
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.history.v1 import WorkflowExecutionStartedEventAttributes
from temporalio.api.workflowservice.v1 import ResetWorkflowExecutionRequest
from temporalio.client import (
    Client,
    Schedule,
    ScheduleActionExecutionStartWorkflow,
    ScheduleActionStartWorkflow,
    ScheduleSpec,
    WorkflowHandle,
)
from temporalio.common import WorkflowIDReusePolicy
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from cache.connection import open_redis
from cache.first_starts import RedisFirstStarts
from replaywright.cli.servers.connect import Backend
from replaywright.cli.servers.macs import start_memo
from replaywright.domain.run.runs import RunInput
from replaywright.domain.secrets.signing import Key, Signer, written_key
from replaywright.domain.secrets.starts import FIRED, sign_start
from replaywright.domain.task.tasks import parse_task
from replaywright.errors import StoreUnavailable
from replaywright.ports.stores import FirstStarts
from replaywright.settings import Settings
from replaywright.stack.keyring import new_key
from replaywright.stack.serving.starts import BATCH, TemporalStarts
from replaywright.testing.stores import FakeFirstStarts
from workflows.plugin import WorkflowPlugin

OURS = new_key("ours")
LATER = new_key("later")
GIVEN: dict[str, Any] = {
    "task": {"task": "t", "url": "https://shop.example/"},
    "values": {"n": "ü 1"},
    "tenant": "acme",
}


@workflow.defn(name="BrowserTask")
class Continuing:
    """Continues as new with what it is told."""

    def __init__(self) -> None:
        self._next: dict[str, Any] | None = None

    @workflow.run
    async def run(self, _given: dict[str, Any]) -> None:
        await workflow.wait_condition(lambda: self._next is not None)
        workflow.continue_as_new(self._next)

    @workflow.signal
    def go_on(self, following: dict[str, Any]) -> None:
        self._next = following


@workflow.defn(name="BrowserBatch")
class Starting:
    """Starts runs, as a batch does; returns the execution of the last."""

    @workflow.run
    async def run(self, given: dict[str, Any]) -> str:
        execution = ""
        for run_id in given["ids"]:
            child = await workflow.start_child_workflow(
                "BrowserTask", given["child"], id=run_id, task_queue="nobody", parent_close_policy=_ABANDON
            )
            execution = child.first_execution_run_id or ""
        return execution


@workflow.defn(name="SomebodysWorkflow")
class Strange(Starting):
    """Starts a run, and is none of ours."""

    @workflow.run
    async def run(self, given: dict[str, Any]) -> str:
        return await super().run(given)


_ABANDON = workflow.ParentClosePolicy.ABANDON


@dataclasses.dataclass
class Server:
    client: Client
    signer: Signer
    queue: str
    firsts: FirstStarts

    def mac(self, run_id: str, given: dict[str, Any] = GIVEN, *, kind: str = "BrowserTask", key: Key = OURS) -> str:
        return sign_start(Signer((key,)), kind=kind, run_id=run_id, given=given)

    async def started(
        self, run_id: str, mac: str | None, given: dict[str, Any] = GIVEN, *, kind: str = "BrowserTask", queue: str = ""
    ) -> WorkflowHandle[Any, Any]:
        return await self.client.start_workflow(
            kind, given, id=run_id, task_queue=queue or "nobody", memo=None if mac is None else {"mac": mac}
        )

    def starts(self, signer: Signer | None = None) -> TemporalStarts:
        """One that remembers nothing."""
        return TemporalStarts(self.client, signer or self.signer, self.firsts)

    async def fault(self, run_id: str, execution: str | None, signer: Signer | None = None) -> str:
        return (await self.starts(signer).of(run_id, execution or "")).fault


@pytest.fixture
async def server(temporal_env: WorkflowEnvironment, redis_url: str) -> AsyncIterator[Server]:
    queue = f"starts-{uuid.uuid4().hex}"
    client = await Client.connect(temporal_env.client.service_client.config.target_host, plugins=[WorkflowPlugin()])
    plain = await Client.connect(temporal_env.client.service_client.config.target_host)
    redis = open_redis(redis_url)
    async with Worker(
        plain,
        task_queue=queue,
        workflows=[Continuing, Starting, Strange],
        workflow_runner=UnsandboxedWorkflowRunner(),
    ):
        yield Server(client, Signer((OURS,)), queue, RedisFirstStarts(redis))
    await redis.aclose()


def an_id() -> str:
    return f"order/{uuid.uuid4().hex}"


async def test_a_start_with_its_mac_is_signed(server: Server) -> None:
    run_id = an_id()
    handle = await server.started(run_id, server.mac(run_id))

    admission = await server.starts().of(run_id, handle.first_execution_run_id or "")

    assert (admission.fault, bool(admission.admitted)) == ("", True)


async def test_what_commands_send_is_signed_as_it_arrives(server: Server) -> None:
    settings = Settings(signing_keys=written_key(OURS), tenant="acme", unsigned=False)
    task = parse_task({"task": "t", "steps": [{"action": "goto", "url": "https://shop.example/ü"}]}, "test")
    given = RunInput(task=task, values={"a": "é\u2028"}, tenant="acme", hibernate_after_s=0.25)
    run_id = an_id()
    memo = start_memo(Backend(server.client, settings, "configured"), "BrowserTask", run_id, given)
    handle = await server.client.start_workflow("BrowserTask", given, id=run_id, task_queue="nobody", memo=memo)

    assert await server.fault(run_id, handle.first_execution_run_id) == ""


@pytest.mark.parametrize(
    "forged",
    [
        "no mac",
        "mac of another id",
        "mac of another input",
        "input of another tenant",
        "mac of another workflow type",
        "mac of another key",
        "mac that is no text",
        "mac with another key's name",
        "pass of another run",
    ],
)
async def test_a_start_is_unsigned(server: Server, forged: str) -> None:
    run_id, other = an_id(), an_id()
    given, mac = GIVEN, server.mac(run_id)
    signed = await server.started(other, server.mac(other))
    admitted = (await server.starts().of(other, signed.first_execution_run_id or "")).admitted
    match forged:
        case "no mac":
            mac = ""
        case "mac of another id":
            mac = server.mac(other)
        case "mac of another input":
            given = {**GIVEN, "values": {"n": "2"}}
        case "input of another tenant":
            given = {**GIVEN, "tenant": "other"}
        case "mac of another workflow type":
            mac = server.mac(run_id, kind="BrowserBatch")
        case "mac of another key":
            mac = server.mac(run_id, key=new_key("ours"))
        case "mac that is no text":
            mac = [mac]  # type: ignore[assignment]
        case "mac with another key's name":
            mac = f"later:{mac.partition(':')[2]}"
        case "pass of another run":
            given, mac = {**GIVEN, "admitted": admitted}, ""
    handle = await server.started(run_id, mac, given)

    assert await server.fault(
        run_id, handle.first_execution_run_id, Signer((OURS, LATER)) if "name" in forged else None
    )
    await signed.terminate()


async def test_without_keys_every_start_is_unsigned(server: Server) -> None:
    run_id = an_id()
    handle = await server.started(run_id, server.mac(run_id))

    assert await server.fault(run_id, handle.first_execution_run_id, Signer()) != ""


async def test_after_an_exchange_of_keys_both_count_until_the_old_one_is_taken_away(server: Server) -> None:
    run_id = an_id()
    handle = await server.started(run_id, server.mac(run_id))
    execution = handle.first_execution_run_id

    assert await server.fault(run_id, execution, Signer((LATER, OURS))) == ""
    assert "not known here" in await server.fault(run_id, execution, Signer((LATER,)))


async def test_a_workflow_that_is_not_ours_is_unsigned_whatever_it_carries(server: Server) -> None:
    run_id = an_id()
    handle = await server.started(run_id, server.mac(run_id, kind="Evil"), kind="Evil")

    assert "none of ours" in await server.fault(run_id, handle.first_execution_run_id)


async def test_an_execution_that_the_server_does_not_know_is_told_as_such(server: Server) -> None:
    with pytest.raises(StoreUnavailable, match="does not tell"):
        await server.fault(an_id(), str(uuid.uuid4()))


# ------------------------------------------------------------------------------------------------- schedules


async def fired(server: Server, mac: str, given: dict[str, Any]) -> tuple[str, str]:
    """Id and execution of a run that a schedule starts."""
    name = given["schedule"]
    action = ScheduleActionStartWorkflow("BrowserTask", given, id=name, task_queue="nobody", memo={"mac": mac})
    schedule = await server.client.create_schedule(name, Schedule(action=action, spec=ScheduleSpec()))
    await schedule.trigger()
    deadline = time.monotonic() + 30
    while not (actions := (await schedule.describe()).info.recent_actions):
        assert time.monotonic() < deadline
        await asyncio.sleep(0.05)
    await schedule.delete()
    run = actions[0].action
    assert isinstance(run, ScheduleActionExecutionStartWorkflow)
    return run.workflow_id, run.first_execution_run_id


async def test_runs_of_a_signed_schedule_are_signed_and_its_mac_serves_for_nothing_else(server: Server) -> None:
    name = f"acme/{uuid.uuid4().hex}"
    given = {**GIVEN, "schedule": name}
    mac = server.mac(name + FIRED, given)
    plain = await server.started(name, mac, given)
    other = await server.started(f"{name}-other-2026-01-01T00:00:00Z", mac, given)

    assert await server.fault(*await fired(server, mac, given)) == ""
    assert await server.fault(name, plain.first_execution_run_id) != ""
    assert await server.fault(other.id, other.first_execution_run_id) != ""


async def test_runs_of_an_altered_schedule_are_unsigned(server: Server) -> None:
    name = f"acme/{uuid.uuid4().hex}"
    given = {**GIVEN, "schedule": name}

    assert await server.fault(*await fired(server, server.mac(name + FIRED, given), {**given, "values": {}})) != ""


# --------------------------------------------------------------------------------------------------- batches


@pytest.mark.parametrize(
    ("kind", "signed"),
    [("BrowserBatch", True), ("BrowserBatch", False), ("SomebodysWorkflow", True), ("SomebodysWorkflow", False)],
)
async def test_what_another_workflow_starts_is_signed_if_that_one_is(server: Server, kind: str, signed: bool) -> None:
    batch, row = an_id(), an_id()
    given = {"run": {"tenant": "acme"}, "ids": [row], "child": GIVEN}
    mac = sign_start(server.signer, kind=kind, run_id=batch, given=given) if signed else None
    parent = await server.started(batch, mac, given, kind=kind, queue=server.queue)
    execution = await parent.result()

    fault = await server.fault(row, execution)

    assert (fault == "") is signed
    if kind == "SomebodysWorkflow":  # it may start runs, and not call what runs call
        assert "none of ours" in await server.fault(batch, parent.first_execution_run_id)


async def test_the_server_is_asked_once_for_the_batch_of_many_rows(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch, rows = an_id(), [an_id(), an_id()]
    given = {"run": {"tenant": "acme"}, "ids": rows, "child": GIVEN}
    parent = await server.started(
        batch, sign_start(server.signer, kind=BATCH, run_id=batch, given=given), given, kind=BATCH, queue=server.queue
    )
    await parent.result()
    starts = server.starts()
    ask, asked = starts._started, Counter[str]()

    async def counted(run_id: str, execution: str) -> WorkflowExecutionStartedEventAttributes:
        asked[run_id] += 1
        return await ask(run_id, execution)

    monkeypatch.setattr(starts, "_started", counted)
    faults = [(await starts.of(row, "")).fault for row in rows]

    assert faults == ["", ""]
    assert asked == {batch: 1, rows[0]: 1, rows[1]: 1}


# ------------------------------------------------------------------------------- continuing as new, and resets


async def continued(server: Server, run_id: str, mac: str | None, following: dict[str, Any] | None = None) -> str:
    """The execution that continues a run; with its first one's proof unless it is told otherwise."""
    handle = await server.started(run_id, mac, queue=server.queue)
    first = await server.starts().of(run_id, handle.first_execution_run_id or "")
    await handle.signal(
        "go_on", {**GIVEN, "values": {}, "admitted": first.admitted} if following is None else following
    )
    deadline = time.monotonic() + 30
    while (now := (await server.client.get_workflow_handle(run_id).describe()).run_id) == handle.first_execution_run_id:
        assert time.monotonic() < deadline
        await asyncio.sleep(0.05)
    assert now is not None
    return now


async def test_what_continues_a_signed_run_is_signed_by_its_proof(server: Server) -> None:
    run_id = an_id()

    assert await server.fault(run_id, await continued(server, run_id, server.mac(run_id))) == ""


async def test_what_continues_an_unsigned_run_is_unsigned(server: Server) -> None:
    run_id, other = an_id(), an_id()
    signed = await server.started(other, server.mac(other))
    stolen = (await server.starts().of(other, signed.first_execution_run_id or "")).admitted

    assert await server.fault(run_id, await continued(server, run_id, None)) != ""
    for following in ({**GIVEN, "values": {}}, {**GIVEN, "values": {}, "admitted": stolen}):
        another = an_id()
        execution = await continued(server, another, server.mac(another), following)
        assert await server.fault(another, execution) != ""


async def test_a_proof_serves_no_later_run_with_the_same_id(server: Server) -> None:
    run_id = an_id()
    handle = await server.started(run_id, server.mac(run_id))
    admitted = (await server.starts().of(run_id, handle.first_execution_run_id or "")).admitted
    await handle.terminate()
    server.firsts = FakeFirstStarts()  # as if the store had lost which ids have served
    stolen = {**GIVEN, "values": {}, "admitted": admitted}
    again = await server.started(run_id, None, stolen)
    assert await server.fault(run_id, again.first_execution_run_id) != ""
    await again.terminate()

    assert await server.fault(run_id, await continued(server, run_id, None, stolen)) != ""


async def test_a_start_that_is_repeated_after_its_run_is_over_is_unsigned(server: Server) -> None:
    run_id = an_id()
    mac = server.mac(run_id)
    handle = await server.started(run_id, mac)
    assert await server.fault(run_id, handle.first_execution_run_id) == ""
    await handle.terminate()
    again = await server.client.start_workflow(
        "BrowserTask",
        GIVEN,
        id=run_id,
        task_queue="nobody",
        memo={"mac": mac},
        id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
    )

    assert "an id serves once" in await server.fault(run_id, again.first_execution_run_id)
    assert await server.fault(run_id, handle.first_execution_run_id) == ""


async def test_a_run_that_was_reset_is_signed_as_before(server: Server) -> None:
    for mac_of in (server.mac, lambda _run_id: ""):
        run_id = an_id()
        handle = await server.started(run_id, mac_of(run_id), queue=server.queue)
        history = await handle.fetch_history()
        while not any(event.HasField("workflow_task_completed_event_attributes") for event in history.events):
            await asyncio.sleep(0.05)
            history = await handle.fetch_history()
        answer = await server.client.workflow_service.reset_workflow_execution(
            ResetWorkflowExecutionRequest(
                namespace=server.client.namespace,
                workflow_execution=WorkflowExecution(workflow_id=run_id),
                reason="test",
                workflow_task_finish_event_id=4,
                request_id=uuid.uuid4().hex,
            )
        )
        assert answer.run_id != handle.first_execution_run_id
        assert (await server.fault(run_id, answer.run_id) == "") is (mac_of(run_id) != "")
