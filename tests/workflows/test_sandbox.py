"""Which workflows run in Temporal's sandbox."""

import ast
import sys
import uuid
from pathlib import Path

import pytest
from temporalio import workflow
from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner

from workflows.plugin import OutsideRunner, WorkflowPlugin, _runner
from workflows.task import BrowserTask


@workflow.defn
class InTheSandbox:
    """A workflow of a team's own."""

    @workflow.run
    async def run(self) -> bool:
        """Whether it runs in the sandbox."""
        return workflow.unsafe.in_sandbox()


async def test_a_teams_own_workflow_stays_in_the_sandbox(temporal_env: WorkflowEnvironment) -> None:
    address = temporal_env.client.service_client.config.target_host
    client = await Client.connect(address, plugins=[WorkflowPlugin()])
    queue = f"sandbox-{uuid.uuid4().hex}"

    async with Worker(client, task_queue=queue, workflows=[InTheSandbox]):
        inside = await client.execute_workflow(InTheSandbox.run, id=queue, task_queue=queue)

    assert inside


@pytest.mark.parametrize("sandboxed", [False, True])
def test_ours_run_outside_of_it_except_in_tests(sandboxed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    entered = []
    monkeypatch.setattr(SandboxedWorkflowRunner, "create_instance", lambda _, details: entered.append(details))
    runner = _runner(None, sandboxed=sandboxed)
    monkeypatch.setattr("workflows.plugin.AdmittingRunner.create_instance", lambda _, details: details)
    assert isinstance(runner, SandboxedWorkflowRunner)

    runner.prepare_workflow(workflow._Definition.must_from_class(BrowserTask))

    assert isinstance(runner, OutsideRunner) is not sandboxed
    assert len(entered) == sandboxed


PURE = {
    *("abc", "collections", "contextlib", "dataclasses", "enum", "json", "shlex", "typing"),
    *("asyncio", "datetime"),  # whose loop is Temporal's, and whose clock nobody asks
}
"""Modules of Python whose functions come to the same when a run is replayed."""


def test_ours_ask_nothing_that_differs_when_a_run_is_replayed() -> None:
    imported, asked = set[str](), set[str]()
    for file in Path(sys.modules[BrowserTask.__module__].__file__ or "").parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add((node.module or "").partition(".")[0])
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                asked.add(f"{node.value.id}.{node.attr}")

    assert imported & sys.stdlib_module_names <= PURE
    assert {f"{kind}.{name}" for kind in ("date", "datetime") for name in ("now", "today", "utcnow")} & asked == set()
