"""Runs that a Temporal schedule starts: each a lineage of its own, of a skill's version of then."""

import asyncio
import uuid
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import ResetWorkflowExecutionRequest
from temporalio.client import (
    Client,
    Schedule,
    ScheduleActionExecutionStartWorkflow,
    ScheduleActionStartWorkflow,
    ScheduleBackfill,
    ScheduleHandle,
    ScheduleIntervalSpec,
    ScheduleOverlapPolicy,
    ScheduleSpec,
    ScheduleState,
    WorkflowFailureError,
)
from temporalio.exceptions import ApplicationError
from temporalio.worker import Replayer

from replaywright.domain.run.lineages import beginning_of
from replaywright.domain.run.runs import RunInput, RunResult
from replaywright.domain.run.skill_runs import NewestRequest
from replaywright.domain.skill.skills import Skill, SkillStatus
from tests.workflows.scripted import Script, run_of, scripted, start
from workflows.plugin import WorkflowPlugin
from workflows.task import BrowserTask

GOTO = {"action": "goto", "url": "http://site/"}
FILL = {"action": "fill", "instruction": "the name field", "value": "{{who}}"}
GREET = {
    "task": "greet",
    "url": "http://site/",
    "parameters": {"who": {"default": "Ada"}, "when": {"type": "date", "default": "2026-01-31"}},
    "steps": [FILL],
    "verify": [{"url_contains": "/"}],
}


async def scheduled(client: Client, queue: str, run: RunInput, exits: AsyncExitStack) -> ScheduleHandle:
    """A schedule of this run for every midnight, which is paused: none comes but by a backfill."""
    action = ScheduleActionStartWorkflow(BrowserTask.run, run, id=run.schedule, task_queue=queue)
    spec = ScheduleSpec(intervals=[ScheduleIntervalSpec(every=timedelta(days=1))])
    handle = await client.create_schedule(
        run.schedule, Schedule(action=action, spec=spec, state=ScheduleState(paused=True))
    )
    exits.push_async_callback(handle.delete)
    return handle


def version(number: int, **fields: Any) -> Skill:
    task = GREET | fields.pop("task", {})
    return Skill.model_validate({"name": "greet", "version": number, "status": "active", "task": task, **fields})


def named(**fields: Any) -> RunInput:
    """A run of the skill `greet`, whichever version of it; its own task is looked at by nobody."""
    return run_of(GOTO, named="greet", schedule="acme/daily", tenant="acme", **fields)


async def test_two_runs_that_a_schedule_gives_the_same_name_share_no_lineage(client: Client) -> None:
    script, run = Script(), run_of(GOTO, schedule=f"acme/{uuid.uuid4().hex[:8]}")
    noon = datetime(2026, 11, 1, 12, tzinfo=UTC)
    same = ScheduleBackfill(start_at=noon, end_at=noon + timedelta(days=1), overlap=ScheduleOverlapPolicy.BUFFER_ALL)

    async with AsyncExitStack() as exits:
        queue = await exits.enter_async_context(scripted(client, script))
        handle = await scheduled(client, queue, run, exits)
        await handle.backfill(same)
        await _ended(handle, 1)
        await handle.backfill(same)
        ids = await _ended(handle, 2)
        described = await client.get_workflow_handle(ids[0]).describe()

    lineages = [request.context.run.lineage for request in script.performed]
    assert ids == [f"{run.schedule}-2026-11-02T00:00:00Z"] * 2
    assert len(set(lineages)) == 2
    assert {beginning_of(lineage) for lineage in lineages} == {ids[0]}
    assert await described.memo_value("lineage") == lineages[1]


async def test_a_reset_and_a_new_history_leave_a_scheduled_run_in_its_lineage(client: Client) -> None:
    script = Script()

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, GOTO, GOTO, schedule="acme/daily", steps_per_history=1))
        await handle.result()
        [first] = {request.context.run.lineage for request in script.performed}
        told = await (await client.get_workflow_handle(handle.id).describe()).memo_value("lineage")
        again = await client.workflow_service.reset_workflow_execution(
            ResetWorkflowExecutionRequest(
                namespace=client.namespace,
                workflow_execution=WorkflowExecution(workflow_id=handle.id, run_id=handle.first_execution_run_id or ""),
                workflow_task_finish_event_id=4,
                request_id=uuid.uuid4().hex,
            )
        )
        await client.get_workflow_handle(handle.id, run_id=again.run_id).result()

    assert told == first == f"{handle.id}@{handle.first_execution_run_id}"
    assert len(script.performed) == 6
    assert {request.context.run.lineage for request in script.performed} == {first}


async def test_a_run_that_is_told_the_name_of_a_skill_is_one_of_its_version_of_then(client: Client) -> None:
    script = Script(newest=lambda _request: version(3))

    async with scripted(client, script) as queue:
        handle = await start(client, queue, named(values={"who": "Bea"}))
        result = await handle.result()
        script.newest = lambda _request: version(4, task={"steps": [FILL, FILL]})
        await (await start(client, queue, named())).result()
        history = await client.get_workflow_handle(handle.id, run_id=handle.first_execution_run_id).fetch_history()

    assert script.looked_up == [NewestRequest(tenant="acme", name="greet")] * 2
    assert [counted.run.version for counted in script.counted] == [3, 4]
    assert [request.context.values for request in script.performed if request.context.step.action == "fill"] == [
        {"who": "Bea", "when": "2026-01-31"},
        *[{"who": "Ada", "when": "2026-01-31"}] * 2,
    ]
    assert result.succeeded
    assert {request.context.run.lineage for request in script.performed[:2]} == {
        f"{handle.id}@{handle.first_execution_run_id}"
    }
    await Replayer(workflows=[], plugins=[WorkflowPlugin(sandboxed=True)]).replay_workflow(history)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            {"when": "tomorrow"},
            "skill 'greet', version 3: parameter 'when' is 'tomorrow'; expected a date as YYYY-MM-DD",
        ),
        (
            {"whom": "Bea"},
            "skill 'greet', version 3: --param whom: task 'greet' has no such parameter; it has: when, who",
        ),
    ],
)
async def test_what_the_version_of_then_does_not_take_ends_the_run_before_anything_is_done(
    client: Client, values: dict[str, str], said: str
) -> None:
    script = Script(newest=lambda _request: version(3))

    async with scripted(client, script) as queue:
        result = await failed(client, queue, named(values=values))

    assert (result.reason, result.message, result.failed_step) == ("InputInvalid", said, None)
    assert (script.opened, script.counted) == ([], [])


async def test_a_skill_that_is_not_there_any_more_ends_the_run_and_one_that_is_suspect_is_told_of(
    client: Client,
) -> None:
    def gone(_request: NewestRequest) -> Skill:
        raise ApplicationError("there is no skill 'greet' any more", type="InputInvalid")

    script = Script(newest=gone)

    async with scripted(client, script) as queue:
        result = await failed(client, queue, named())
        script.newest = lambda _request: version(3, status=SkillStatus.SUSPECT)
        suspect = await (await start(client, queue, named())).result()

    assert (result.reason, result.message) == ("InputInvalid", "there is no skill 'greet' any more")
    assert suspect.warnings == ("version 3 of greet is suspect: a run of it failed",)


async def failed(client: Client, queue: str, run: RunInput) -> RunResult:
    with pytest.raises(WorkflowFailureError) as caught:
        await (await start(client, queue, run)).result()
    assert isinstance(caught.value.cause, ApplicationError)
    return RunResult.model_validate(caught.value.cause.details[0])


async def _ended(handle: ScheduleHandle, count: int) -> list[str]:
    """The ids of the runs, as soon as so many have ended."""
    async with asyncio.timeout(60):
        while True:
            info = (await handle.describe()).info
            if info.num_actions == count and not info.running_actions:
                started = [result.action for result in info.recent_actions]
                return [run.workflow_id for run in started if isinstance(run, ScheduleActionExecutionStartWorkflow)]
            await asyncio.sleep(0.05)  # a schedule has no event
