"""Two versions of the worker at the same time: the second is a copy of the code that decides in another order."""

import asyncio
import dataclasses
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from temporalio.api.enums.v1 import WorkflowTaskFailedCause

from demo.stage import Stage
from replaywright.cli.people.updates import decide
from replaywright.cli.runs.follow import Ending, handle_of
from replaywright.cli.runs.starting import Order, start
from replaywright.cli.tasks.taskfile import new_run_id
from replaywright.domain.run.commit_requests import PersonVerdict
from replaywright.domain.run.scope import Mode
from replaywright.domain.task.tasks import Task, parse_task
from replaywright.settings import load_settings
from replaywright.stack import Child, stop_worker
from tests.e2e.lab import Lab, until
from tests.e2e.other_code import changed_copy

pytestmark = pytest.mark.slow

POLICY = "        self._admitted = await check_policy(self._context)\n"
"""The first line of a run's beginning; in the other version the browser is opened before it."""
APPROVAL = 1


@pytest.fixture
async def lab() -> AsyncIterator[Lab]:
    """A stage on which nothing is learned: the task declares its elements. Each run that waits keeps its browser."""
    settings = load_settings().model_copy(update={"max_browsers": 4})
    with pytest.MonkeyPatch.context() as environment:
        environment.delenv("REPLAYWRIGHT_MODEL", raising=False)
        async with Stage(settings, tell=lambda _text: None) as stage:
            yield Lab(stage)


@pytest.fixture(scope="module")
def other_code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the code whose runs open the browser before they ask the policy."""
    folder = tmp_path_factory.mktemp("version-b")
    return changed_copy(folder, "workflows/task.py", POLICY, "        await self._parts.browser.open()\n" + POLICY)


def task_of(lab: Lab) -> Task:
    """Opens a page, waits for a person, and reads what the page shows."""
    return parse_task(
        {
            "task": "read-button",
            "steps": [
                {"action": "goto", "url": f"{lab.stage.webmail}/login"},
                {"action": "approve", "instruction": "go on?"},
                {"action": "extract", "target": {"role": "button"}, "fields": {"button": {"take": "text"}}},
            ],
        },
        "test",
    )


async def began(lab: Lab) -> Order:
    """A run that waits for a person in its middle."""
    task = task_of(lab)
    order = Order(task, {}, new_run_id(task, {}), mode=Mode.REPLAY)
    await start(lab.place, order)
    await until("the run waits", lambda: waits(lab, order))
    return order


async def waits(lab: Lab, order: Order) -> bool:
    return (await lab.progress(order)).status == "waiting"


async def approve(lab: Lab, order: Order) -> None:
    await decide(lab.place, order.run_id, PersonVerdict(sequence=APPROVAL, verdict="approve", who="the test"))


async def ended(lab: Lab, order: Order) -> Ending:
    """The run's ending, after a person has answered."""
    await approve(lab, order)
    return await lab.follow(order)


def assert_done(ending: Ending) -> None:
    assert ending.status == "done", ending.result.model_dump_json(exclude_defaults=True)
    assert ending.result.extracted == {"button": "Log in"}


def replaywright(lab: Lab, *arguments: str) -> dict[str, Any]:
    """What a command says, in JSON."""
    command = [sys.executable, "-m", "replaywright", *arguments, "--json"]
    environment = os.environ | lab.stage.stack.environment()
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    said: dict[str, Any] = json.loads(run.stdout)
    return said


def states(said: dict[str, Any]) -> dict[str, tuple[str, int]]:
    """State and number of runs under way, by build id."""
    return {version["buildId"]: (version["state"], version["underWay"]) for version in said["versions"]}


@dataclasses.dataclass
class Told:
    """What a run's history tells of who has done what."""

    builds: set[str] = dataclasses.field(default_factory=set)
    """Versions that decided; empty for a worker without one."""
    activities: list[str] = dataclasses.field(default_factory=list)
    processes: set[int] = dataclasses.field(default_factory=set)
    """Those that performed activities."""
    causes: list[int] = dataclasses.field(default_factory=list)
    """Why decisions failed."""


async def error_json(lab: Lab, order: Order) -> Told:
    told = Told()
    async for event in handle_of(lab.place.client, order.run_id).fetch_history_events():
        if event.HasField("workflow_task_completed_event_attributes"):
            told.builds.add(event.workflow_task_completed_event_attributes.deployment_version.build_id)
        if event.HasField("workflow_task_failed_event_attributes"):
            told.causes.append(event.workflow_task_failed_event_attributes.cause)
        if event.HasField("activity_task_scheduled_event_attributes"):
            told.activities.append(event.activity_task_scheduled_event_attributes.activity_type.name)
        if event.HasField("activity_task_started_event_attributes"):
            told.processes.add(int(event.activity_task_started_event_attributes.identity.partition("@")[0]))
    return told


async def crashed(worker: Child) -> None:
    worker.kill()
    assert await worker.ended_within(30)


@pytest.mark.long
async def test_runs_end_on_the_version_they_began_with_through_upgrade_crash_and_rollback(
    lab: Lab, other_code: Path
) -> None:
    stage = lab.stage
    on_none = await began(lab)
    a = await stage.start_worker(REPLAYWRIGHT_BUILD_ID="a")
    replaywright(lab, "admin", "versions", "promote", "a")
    gone_over = await ended(lab, on_none)
    on_a = await began(lab)
    b = await stage.start_worker(REPLAYWRIGHT_BUILD_ID="b", PYTHONPATH=str(other_code))
    assert states(replaywright(lab, "admin", "versions"))["b"] == ("inactive", 0)
    replaywright(lab, "admin", "versions", "promote", "b")
    on_b = await began(lab)
    await crashed(a)
    a_again = await stage.start_worker(REPLAYWRIGHT_BUILD_ID="a")
    under_way = states(replaywright(lab, "admin", "versions"))
    replaywright(lab, "admin", "versions", "promote", "a")
    after_rollback = await began(lab)

    endings = [await ended(lab, order) for order in (on_a, on_b, after_rollback)]

    for ending in (gone_over, *endings):
        assert_done(ending)
    assert under_way == {"a": ("draining", 1), "b": ("current", 1), "unversioned": ("drained", 0)}
    without, first, second, third = [await error_json(lab, order) for order in (on_none, on_a, on_b, after_rollback)]
    assert [told.builds for told in (without, first, second, third)] == [{"", "a"}, {"a"}, {"b"}, {"a"}]
    assert first.activities[:2] == third.activities[:2] == ["policy.check", "session.open"]
    assert second.activities[:2] == ["session.open", "policy.check"]
    assert second.processes == {b.pid}
    assert (first.processes, third.processes) == ({a.pid, a_again.pid}, {a_again.pid})
    assert Counter(cause for told in (without, first, second, third) for cause in told.causes) == {}


@pytest.mark.long
async def test_without_versions_a_run_cannot_go_on_with_other_code(lab: Lab, other_code: Path) -> None:
    order = await began(lab)
    await stop_worker(lab.stage.worker)
    await lab.stage.start_worker(PYTHONPATH=str(other_code))

    async def has_failed() -> bool:
        wanted = WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_NON_DETERMINISTIC_ERROR
        return wanted in (await error_json(lab, order)).causes

    answer = asyncio.create_task(approve(lab, order))
    await until("the other code fails on the run's history", has_failed)
    answer.cancel()  # nobody takes it

    activities = (await error_json(lab, order)).activities
    assert activities[:2] == ["policy.check", "session.open"]
    assert "browser.extract" not in activities
