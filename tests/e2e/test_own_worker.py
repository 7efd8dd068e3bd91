"""A team's own worker, with everything of Replaywright as one argument."""

import uuid
from collections.abc import Iterator

import pytest
from temporalio.client import Client
from temporalio.worker import Replayer, Worker

from replaywright.client import Client as ReplaywrightClient
from replaywright.domain.run.runs import RunInput, RunResult
from replaywright.domain.task.tasks import parse_task
from tests.e2e.lab import Lab
from tests.e2e.our_workflow import OurWorkflow
from tests.telemetry.collector import Collector, collecting
from worker import ReplaywrightPlugin

pytestmark = pytest.mark.slow


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as collector:
        yield collector


@pytest.fixture
async def client(lab: Lab, collector: Collector) -> Client:
    settings = lab.stage.place.settings.model_copy(update={"otlp_endpoint": collector.url})
    plugin = ReplaywrightPlugin(settings)
    return await Client.connect(settings.temporal_address or "", plugins=[plugin])


async def test_one_plugin_brings_workflows_activities_replaying_and_traces(
    lab: Lab, client: Client, collector: Collector
) -> None:
    task = {
        "task": "read-button",
        "steps": [
            {"action": "goto", "url": f"{lab.stage.webmail}/login"},
            {"action": "extract", "target": {"role": "button"}, "fields": {"button": {"take": "text"}}},
        ],
        "verify": [{"url_contains": "/login"}],
    }
    run = RunInput(task=parse_task(task, "test"), tenant=f"t{uuid.uuid4().hex[:8]}")
    queue = f"ours-{uuid.uuid4().hex[:8]}"

    async with Worker(client, task_queue=queue, workflows=[OurWorkflow]):
        memo = ReplaywrightClient(client, lab.stage.place.settings).signed("OurWorkflow", queue, run)
        handle = await client.start_workflow(OurWorkflow.run, run, id=queue, task_queue=queue, memo=memo)
        label = await handle.result()
    history = await client.get_workflow_handle(f"{queue}/browser").fetch_history()
    replayed = await Replayer(workflows=[], plugins=[ReplaywrightPlugin()]).replay_workflow(history)

    assert label == "Log in"
    assert replayed.replay_failure is None
    result = await client.get_workflow_handle(f"{queue}/browser", result_type=RunResult).result()
    assert result.succeeded
    [run_span], [extracted] = collector.named("run"), collector.named("browser.extract")
    assert extracted.trace == run_span.trace
