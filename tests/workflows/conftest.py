"""One client for all tests of a module: each has task queues and workers of its own."""

from typing import Any, ClassVar

import pytest
from temporalio.client import Client
from temporalio.plugin import SimplePlugin
from temporalio.testing import WorkflowEnvironment
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner

from workflows.plugin import WorkflowPlugin


class _PreparedOnce(SandboxedWorkflowRunner):
    """Loads a workflow for the first worker of a process, to see whether it can be, and not for every worker.

    That takes longer than most runs here. Each run still loads the workflow's modules anew.
    """

    _prepared: ClassVar[set[type]] = set()

    def prepare_workflow(self, defn: Any) -> None:
        """Load the workflow, unless that was done."""
        if defn.cls not in self._prepared:
            super().prepare_workflow(defn)
            self._prepared.add(defn.cls)


IN_THE_SANDBOX = ("test_browser_task", "test_batch", "test_notices", "test_site_session", "test_poison")
"""A module for each workflow, and where its code is patched; the others run as workers do, in a fifth less time."""


@pytest.fixture(scope="module")
async def client(temporal_env: WorkflowEnvironment, request: pytest.FixtureRequest) -> Client:
    """A client whose workers load the workflow's modules anew for each run, in some modules."""
    address = temporal_env.client.service_client.config.target_host
    if request.path.stem not in IN_THE_SANDBOX:
        return await Client.connect(address, plugins=[WorkflowPlugin()])
    once = SimplePlugin("prepared-once", workflow_runner=_PreparedOnce())
    return await Client.connect(address, plugins=[once, WorkflowPlugin(sandboxed=True)])
