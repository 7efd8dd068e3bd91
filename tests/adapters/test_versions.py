"""Versions of workers on a real Temporal server; the workers have a workflow and an activity that tell their build."""

import asyncio
import json
import os
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
from temporalio import activity, workflow
from temporalio.client import Client, WorkflowHandle
from temporalio.common import VersioningBehavior, WorkerDeploymentVersion
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import UnsandboxedWorkflowRunner, Worker, WorkerConfig, WorkerDeploymentConfig
from typer.testing import CliRunner

from replaywright.cli.commands import app
from replaywright.cli.servers.connect import open_working_backend
from replaywright.errors import InputInvalid, SettingsInvalid
from replaywright.keeper.host.identity import host_name
from replaywright.settings import UNVERSIONED, Settings, load_settings
from replaywright.stack.doctor import Diagnosis, PartHealth, diagnose
from replaywright.stack.versions import Version, VersionState, deployment_of, promote, served, versions_of
from tests.e2e.lab import until
from worker import ReplaywrightPlugin
from workflows.policies import browser_queue


@workflow.defn(name="TellsVersion")
class TellsVersion:
    """Waits, if it is to, and tells whose it is and whose activity it got; as often as it is to continue as new."""

    def __init__(self) -> None:
        self._may_end = False

    @workflow.signal
    def end(self) -> None:
        self._may_end = True

    @workflow.run
    async def run(self, waits: bool, again: int) -> str:
        if waits:
            await workflow.wait_condition(lambda: self._may_end)
        if again:
            workflow.continue_as_new(args=[False, again - 1])
        version = workflow.info().get_current_deployment_version()
        acted: str = await workflow.execute_activity(
            "tell", task_queue=browser_queue(workflow.info().task_queue), start_to_close_timeout=timedelta(seconds=10)
        )
        return f"{version.build_id if version else ''}/{acted}"


@pytest.fixture
def settings(temporal_env: WorkflowEnvironment, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Of a queue of its own, in the environment too, for commands."""
    address = temporal_env.client.service_client.config.target_host
    queue = f"v.{uuid.uuid4().hex[:8]}"
    monkeypatch.setenv("REPLAYWRIGHT_TEMPORAL_ADDRESS", address)
    monkeypatch.setenv("REPLAYWRIGHT_TASK_QUEUE", queue)
    return load_settings()


@asynccontextmanager
async def polling(
    environment: WorkflowEnvironment, settings: Settings, build: str | None, *, only_workflows: bool = False
) -> AsyncIterator[None]:
    """Workers of this build, or without one."""

    @activity.defn(name="tell")
    async def tell() -> str:
        return build or "none"

    version = deployment_of(settings.model_copy(update={"build_id": build}))
    workflows = Worker(
        environment.client,
        task_queue=settings.queue,
        workflows=[TellsVersion],
        workflow_runner=UnsandboxedWorkflowRunner(),
        no_remote_activities=True,
        sticky_queue_schedule_to_start_timeout=timedelta(seconds=1),
        deployment_config=version,
    )
    queue = browser_queue(settings.queue)
    activities = Worker(environment.client, task_queue=queue, activities=[tell], deployment_config=version)

    async def is_known() -> bool:
        return (build or UNVERSIONED) in (await served(environment.client, settings.queue)).workers

    async with workflows:
        await until("Temporal knows of the worker", is_known)
        if only_workflows:
            yield
            return
        async with activities:
            yield


async def begun(
    environment: WorkflowEnvironment, settings: Settings, *, waits: bool, again: int = 0
) -> WorkflowHandle[Any, str]:
    return await environment.client.start_workflow(
        "TellsVersion", args=[waits, again], id=uuid.uuid4().hex, task_queue=settings.queue, result_type=str
    )


async def told(environment: WorkflowEnvironment, settings: Settings) -> str:
    """Whose a run is that begins and ends now."""
    result: str = await (await begun(environment, settings, waits=False)).result()
    return result


def states(found: tuple[Version, ...]) -> dict[str, tuple[str, int, int]]:
    return {version.build_id: (version.state.value, version.under_way, version.workers) for version in found}


async def finding(settings: Settings) -> Diagnosis | None:
    """What `doctor` says of versions."""
    return next((found for found in await diagnose(settings) if found.component == "Versions"), None)


async def test_runs_and_their_activities_stay_on_a_version_through_promotion_continue_as_new_and_rollback(
    temporal_env: WorkflowEnvironment, settings: Settings
) -> None:
    client = temporal_env.client
    async with polling(temporal_env, settings, None), polling(temporal_env, settings, "a"):
        await promote(client, settings, "a")
        old = await begun(temporal_env, settings, waits=True, again=2)
        async with polling(temporal_env, settings, "b"):
            await promote(client, settings, "b")
            new = await told(temporal_env, settings)
            during = states(await versions_of(client, settings))
            await old.signal("end")
            ended = await old.result()
            await promote(client, settings, "a")
            rolled_back = await told(temporal_env, settings)
            await promote(client, settings, "unversioned")
            without = await told(temporal_env, settings)

    assert (ended, new, rolled_back) == ("a/a", "b/b", "a/a")
    assert without.endswith("/none")
    assert during == {"b": ("current", 0, 1), "a": ("draining", 1, 1), "unversioned": ("drained", 0, 1)}


async def test_a_ramp_takes_some_of_the_new_runs_and_ends_with_a_promotion(
    temporal_env: WorkflowEnvironment, settings: Settings
) -> None:
    client = temporal_env.client
    async with polling(temporal_env, settings, "a"), polling(temporal_env, settings, "b"):
        await promote(client, settings, "a")
        await promote(client, settings, "b", 100)
        ramping = {
            version.build_id: (version.state, version.ramp_percent) for version in await versions_of(client, settings)
        }
        ramped = await told(temporal_env, settings)
        await promote(client, settings, "a")
        back = [await told(temporal_env, settings) for _ in range(3)]
        await promote(client, settings, "b", 50)
        await promote(client, settings, "b", 0)
        stopped = states(await versions_of(client, settings))

    assert ramping == {"a": (VersionState.CURRENT, 0), "b": (VersionState.RAMPING, 100)}
    assert (ramped, back) == ("b/b", ["a/a"] * 3)
    assert stopped["a"][0] == "current"
    assert stopped["b"][0] == "draining"


async def test_what_is_not_there_or_does_less_is_not_promoted(
    temporal_env: WorkflowEnvironment, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("replaywright.stack.versions._WITHIN_S", 1.0)
    client = temporal_env.client
    async with polling(temporal_env, settings, "a"):
        await promote(client, settings, "a")
        await told(temporal_env, settings)
        with pytest.raises(InputInvalid, match=r"no worker of version 'c' polls .*there are 'a'.*BUILD_ID=c"):
            await promote(client, settings, "c")
        with pytest.raises(InputInvalid, match="all new runs or none"):
            await promote(client, settings, "unversioned", 10)
        async with polling(temporal_env, settings, "b", only_workflows=True):
            with pytest.raises(InputInvalid, match="start them in the same roles"):
                await promote(client, settings, "b")

    assert (await served(client, settings.queue)).current == "a"


async def test_doctor_and_run_say_when_the_workers_are_of_no_version_that_gets_runs(
    temporal_env: WorkflowEnvironment, settings: Settings
) -> None:
    said: list[str] = []
    mine = settings.model_copy(update={"build_id": "b"})
    before = await finding(settings)
    async with polling(temporal_env, settings, "b"):
        waiting = await finding(mine)
        async with open_working_backend(mine, tell=said.append):
            pass
        await promote(temporal_env.client, settings, "b")
        current = await finding(mine)
    other = await finding(settings.model_copy(update={"build_id": "c"}))

    assert before is None
    assert waiting is not None
    assert (waiting.health, waiting.found) == (PartHealth.WARNING, "b inactive, unversioned current")
    assert "workers of version 'b' get no runs: `replaywright admin versions promote b`" in waiting.advice
    [why] = said
    assert "wait for workers of version 'unversioned'" in why
    assert "`replaywright admin versions promote b`" in why
    assert current is not None
    assert (current.health, current.advice) == (PartHealth.OK, "")
    assert other is not None
    assert "'c' is that of no worker yet" in other.advice


async def test_a_worker_of_this_host_whose_process_is_gone_serves_nobody_though_temporal_lists_it(
    temporal_env: WorkflowEnvironment, settings: Settings
) -> None:
    address = temporal_env.client.service_client.config.target_host
    process = await asyncio.create_subprocess_exec("true")
    await process.wait()

    async def serving(identity: str) -> tuple[dict[str, int], dict[str, int]]:
        queue = f"v.{uuid.uuid4().hex[:8]}"
        client = await Client.connect(address, identity=identity)
        async with Worker(
            client, task_queue=queue, workflows=[TellsVersion], workflow_runner=UnsandboxedWorkflowRunner()
        ):

            async def is_listed() -> bool:
                return bool((await served(client, queue)).workers)

            await until("Temporal lists the worker", is_listed)
            return (await served(client, queue)).workers, (await served(client, queue, is_own=True)).workers

    assert await serving(f"{process.pid}@{host_name()}") == ({UNVERSIONED: 1}, {})
    for identity in (f"{os.getpid()}@{host_name()}", f"{process.pid}@elsewhere", "of its own"):
        assert await serving(identity) == ({UNVERSIONED: 1}, {UNVERSIONED: 1})


def test_runs_whose_workers_are_gone_are_told() -> None:
    version = Version("a", VersionState.DRAINING, under_way=2)
    gone = Version("a", VersionState.CURRENT)

    assert version.concern == "2 runs of version 'a' wait, as none of its workers is there: start one again"
    assert gone.concern == "new runs go to version 'a' and none of its workers is there"
    assert Version("a", VersionState.DRAINED).concern == ""


async def test_the_command_lists_promotes_and_names_what_is_wrong(
    temporal_env: WorkflowEnvironment, settings: Settings
) -> None:
    run = CliRunner().invoke
    async with polling(temporal_env, settings, "a"):
        promoted = await asyncio.to_thread(run, app, ["admin", "versions", "promote", "a", "--json"])
        listed = await asyncio.to_thread(run, app, ["admin", "versions", "list"])
        wrong = await asyncio.to_thread(run, app, ["admin", "versions", "promote", "a", "--ramp", "101"])
        current = await asyncio.to_thread(run, app, ["admin", "versions", "promote", "a", "--ramp", "10"])

    assert promoted.exit_code == listed.exit_code == 0, promoted.output + listed.output
    [only] = json.loads(promoted.stdout)["versions"]
    assert (only["buildId"], only["state"], only["workers"]) == ("a", "current", 1)
    assert json.loads(promoted.stdout)["deployment"] == settings.queue.replace(".", "-")
    assert "current" in listed.stdout
    assert wrong.exit_code == 2
    assert (current.exit_code, "already current" in current.output) == (2, True)


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("BUILD_ID", "unversioned", "stands for workers without a version"),
        ("BUILD_ID", "a b", "REPLAYWRIGHT_BUILD_ID"),
    ],
)
def test_a_name_that_temporal_would_not_take_is_refused_at_once(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, said: str
) -> None:
    monkeypatch.setenv(f"REPLAYWRIGHT_{variable}", value)

    with pytest.raises(SettingsInvalid, match=said):
        load_settings()


@pytest.mark.parametrize(
    ("theirs", "build", "behaviour"),
    [
        (None, "ours", VersioningBehavior.PINNED),
        (VersioningBehavior.UNSPECIFIED, "theirs", VersioningBehavior.PINNED),
        (VersioningBehavior.AUTO_UPGRADE, "theirs", VersioningBehavior.AUTO_UPGRADE),
    ],
)
def test_a_teams_own_worker_is_the_version_it_says_and_else_that_of_the_settings(
    theirs: VersioningBehavior | None, build: str, behaviour: VersioningBehavior
) -> None:
    plugin = ReplaywrightPlugin(load_settings(build_id="ours", unsigned=True))
    config = WorkerConfig(task_queue="q")
    if theirs is not None:
        version = WorkerDeploymentVersion("shop", "theirs")
        config["deployment_config"] = WorkerDeploymentConfig(
            version, use_worker_versioning=True, default_versioning_behavior=theirs
        )

    configured = plugin.configure_worker(config)["deployment_config"]

    assert configured is not None
    assert (configured.version.build_id, configured.default_versioning_behavior) == (build, behaviour)
