"""Workflows of teams that call a browser task: what becomes of the run when their worker is killed."""

import os
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest
from google.protobuf.duration_pb2 import Duration
from temporalio.api.nexus.v1 import EndpointSpec, EndpointTarget
from temporalio.api.operatorservice.v1 import CreateNexusEndpointRequest
from temporalio.api.workflowservice.v1 import RegisterNamespaceRequest
from temporalio.client import Client, WorkflowExecutionStatus

from replaywright.agents.requests import run_id_of
from replaywright.cli.runs.follow import handle_of
from replaywright.cli.runs.starting import run_input
from replaywright.cli.servers.macs import start_memo
from replaywright.cli.servers.store import open_store
from replaywright.domain.run.scope import Mode
from replaywright.domain.skill.skills import Skill, SkillStatus
from replaywright.stack import start_child
from tests.e2e.lab import Lab

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "examples"
SKILL = "mail-by-nexus"
SERVED = "nexus-of-callers"


@contextmanager
def serving(example: str, *arguments: str) -> Iterator["subprocess.Popen[bytes]"]:
    """The worker of the team; killed at the end of the block at the latest."""
    worker = subprocess.Popen([sys.executable, EXAMPLES / example, *arguments])
    try:
        yield worker
    finally:
        worker.kill()
        worker.wait()


@pytest.mark.long
async def test_a_run_survives_the_worker_of_its_caller_which_gets_the_result(lab: Lab) -> None:
    await lab.served()
    here, order = lab.place, lab.order(mode=Mode.REPLAY)
    address = here.settings.temporal_address or ""
    queue, child = f"orders-{uuid.uuid4().hex[:8]}", here.client.get_workflow_handle
    given = {"queue": here.queue, "run": run_input(here.settings, order).model_dump(mode="json", by_alias=True)}
    memo = start_memo(here, "PlaceOrder", queue, given)

    with serving("caller.py", address, queue) as worker:
        async with lab.freezing(lab.stage.worker, "acted:2"):
            caller = await here.client.start_workflow("PlaceOrder", given, id=queue, task_queue=queue, memo=memo)
        worker.kill()
        worker.wait()
    lab.thaw(lab.stage.worker)
    ended = await child(f"{queue}/browser").result()  # while nobody serves its caller
    waits = await caller.describe()
    with serving("caller.py", address, queue):
        result = await caller.result()

    assert ended["succeeded"]
    assert waits.status is not None
    assert waits.status.name == "RUNNING"
    assert result["succeeded"]
    lab.assert_one_right_mail(order)


@asynccontextmanager
async def listening(lab: Lab, folder: Path) -> AsyncIterator[None]:
    """`replaywright mcp --http --nexus`; the demo's task is a skill."""
    skill = Skill(name=SKILL, task=lab.task, site=lab.stage.webmail, status=SkillStatus.ACTIVE, label="Mail by Nexus")
    async with open_store(lab.place.settings) as store:
        if await store.knowledge.skills.get(store.tenant, SKILL) is None:
            await store.knowledge.skills.save(store.tenant, skill, who="the test")
    options = ("--http", "--token-file", str(folder / "token"), "--nexus", SERVED)
    environment = {**os.environ, **lab.stage.stack.environment()}
    command, log = [sys.executable, "-m", "replaywright", "mcp", *options], folder / "listener.log"
    listener = start_child("listener", command, log=log, environment=environment)
    try:
        yield
    finally:
        listener.kill()
        await listener.ended_within(10)


@pytest.fixture(scope="module")
async def shop(lab: Lab) -> Client:
    """A client in the namespace of another team, which reaches `SERVED` through the endpoint `replaywright`."""
    client = lab.place.client
    kept = Duration(seconds=86_400)
    request = RegisterNamespaceRequest(namespace="shop", workflow_execution_retention_period=kept)
    await client.workflow_service.register_namespace(request)
    target = EndpointTarget(worker=EndpointTarget.Worker(namespace=client.namespace, task_queue=SERVED))
    endpoint = EndpointSpec(name="replaywright", target=target)
    await client.operator_service.create_nexus_endpoint(CreateNexusEndpointRequest(spec=endpoint))
    return await Client.connect(client.service_client.config.target_host, namespace="shop")


@pytest.mark.long
async def test_a_run_by_nexus_survives_the_worker_of_its_caller_which_gets_the_result(
    lab: Lab, shop: Client, tmp_path: Path
) -> None:
    await lab.served()
    order, queue = lab.order(), f"orders-{uuid.uuid4().hex[:8]}"
    arguments = ("nexus_caller.py", shop.service_client.config.target_host, shop.namespace, queue)
    given = {"skill": SKILL, "values": dict(order.values)}

    async with listening(lab, tmp_path):
        with serving(*arguments) as worker:
            async with lab.freezing(lab.stage.worker, "acted:2"):
                caller = await shop.start_workflow("OrderByNexus", given, id=queue, task_queue=queue)
            worker.kill()
            worker.wait()
        [operation] = (await caller.describe()).raw_description.pending_nexus_operations
    # The listener has ended, too.
    lab.thaw(lab.stage.worker)
    run_id = run_id_of(lab.place.settings.tenant, f"nexus shop {queue}")
    ended = await handle_of(lab.place.client, run_id).result()
    waits = await caller.describe()
    with serving(*arguments):
        result = await caller.result()

    assert operation.operation_token
    assert ended.succeeded
    assert waits.status is WorkflowExecutionStatus.RUNNING
    assert result == {"succeeded": True, "steps": ended.totals.steps, "extracted": dict(ended.extracted)}
    lab.assert_one_right_mail(order)
