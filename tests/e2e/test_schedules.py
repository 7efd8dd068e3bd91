"""A skill that a schedule starts on the real stack: the site's own store says how often its mail was sent."""

import asyncio
import json
import uuid
from pathlib import Path
from typing import Any

import pytest
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import ResetWorkflowExecutionRequest
from temporalio.client import WorkflowFailureError
from typer.testing import CliRunner

from demo.stage import Stage
from replaywright.cli.commands import app
from replaywright.stack.services import settings_environment
from tests.e2e.lab import Lab
from tests.e2e.test_skills import TASK


async def told(lab: Lab, *arguments: str) -> dict[str, Any]:
    environment = settings_environment(lab.place.settings)
    result = await asyncio.to_thread(CliRunner().invoke, app, [*arguments, "--json"], env=environment)
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


async def reset(stage: Stage, run_id: str) -> None:
    """Have Temporal do a run that has ended from its beginning, and wait for its end, whatever that is."""
    client = stage.place.client
    described = await client.get_workflow_handle(run_id).describe()
    again = await client.workflow_service.reset_workflow_execution(
        ResetWorkflowExecutionRequest(
            namespace=client.namespace,
            workflow_execution=WorkflowExecution(workflow_id=run_id, run_id=described.run_id),
            workflow_task_finish_event_id=4,
            request_id=uuid.uuid4().hex,
        )
    )
    with pytest.raises(WorkflowFailureError):  # nothing is sent any more, so that the page after it never comes
        await client.get_workflow_handle(run_id, run_id=again.run_id).result()


@pytest.mark.slow
async def test_each_firing_sends_its_mail_once_also_when_temporal_does_it_again(lab: Lab, tmp_path: Path) -> None:
    file = tmp_path / "task.yaml"
    file.write_text(TASK.replace("send-note", "send-minutes"), encoding="utf-8")
    stage = lab.stage
    before = len(stage.sent())
    await told(lab, "skills", "import", str(file))
    given = [f"base_url={stage.webmail}", "to=ada@example.com", "subject=Minutes"]
    name = f"minutes-{uuid.uuid4().hex[:6]}"

    made = await told(
        lab,
        *("schedule", "create", name, "skill:send-minutes", "--cron", "0 9 * * MON-FRI"),
        *("--time-zone", "Asia/Shanghai", "--paused", *(word for pair in given for word in ("-p", pair))),
    )
    runs = []
    for _ in range(2):
        fired = await told(lab, "schedule", "trigger", name)
        assert fired["outcome"] == "started"
        runs.append(fired["runId"])
        await stage.place.client.get_workflow_handle(runs[-1]).result()
    sent = [mail.subject for mail in stage.sent()[before:]]
    await reset(stage, runs[1])
    listed = next(one for one in (await told(lab, "schedule", "list"))["schedules"] if one["schedule"] == name)
    shown = (await told(lab, "runs", "--schedule", name))["runs"]
    report = await told(lab, "show", runs[0])

    assert made["next"][0].endswith("T09:00:00+08:00")
    assert sent == ["Minutes", "Minutes"]
    assert [mail.subject for mail in stage.sent()[before:]] == sent
    assert len(set(runs)) == 2
    assert all(run.startswith(f"{made['id']}-") for run in runs)
    assert (listed["fired"], listed["paused"], listed["runs"][0]["status"]) == (2, True, "failed")
    assert {run["runId"] for run in shown} == set(runs)
    assert {run["schedule"] for run in shown} == {name}
    assert len(report["steps"]) == 8
