"""Temporal plugin for clients, workflow workers and the Replayer."""

import dataclasses
from collections.abc import Callable

from temporalio.converter import DataConverter
from temporalio.plugin import SimplePlugin
from temporalio.worker import UnsandboxedWorkflowRunner, WorkflowInstance, WorkflowInstanceDetails, WorkflowRunner
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner

from replaywright.domain.common.base import build_schemas
from replaywright.errors import ReplaywrightError
from replaywright.sealing.payloads import speaking_records
from workflows.admission import AdmittingRunner
from workflows.batch.batch import BrowserBatch
from workflows.notices import Notices
from workflows.site_session import SiteSession
from workflows.task import BrowserTask

PURE = ("pydantic", "pydantic_core", "rfc8785", "rapidfuzz", "re2", "replaywright")
"""Modules that the workflow sandbox takes from outside: pure, and slow to load again for every workflow."""
OURS = ("workflows",)
"""The workflow's own. To load them anew for each run takes 60 to 90 ms: that is done in tests only."""


class OutsideRunner(SandboxedWorkflowRunner):
    """Runs a team's workflows in the sandbox, and ours outside of it.

    The sandbox watches nothing in modules that are not loaded anew, but the SDK enters it several times for each
    payload: with it, a replay takes a tenth more of the worker's processor time.
    """

    def create_instance(self, det: WorkflowInstanceDetails) -> WorkflowInstance:
        """One execution of a workflow."""
        if det.defn.cls.__module__.partition(".")[0] in OURS:
            return AdmittingRunner().create_instance(det)
        return super().create_instance(det)


class WorkflowPlugin(SimplePlugin):
    """Workflows, data converter and sandbox settings; no activities, so that callers need no browser.

    A team's own payload converter, codec and external storage stay.
    """

    def __init__(
        self,
        amend: Callable[[DataConverter], DataConverter] = lambda converter: converter,
        *,
        sandboxed: bool = False,
    ) -> None:
        """`amend` adds to the data converter, such as a codec.

        `sandboxed` loads the workflow's own modules anew for each run, and refuses what is not deterministic in them:
        for tests.
        """
        build_schemas()
        super().__init__(
            "replaywright",
            data_converter=lambda given: amend(speaking_records(given)),
            workflows=[BrowserTask, BrowserBatch, Notices, SiteSession],
            workflow_runner=lambda given: _runner(given, sandboxed=sandboxed),
            workflow_failure_exception_types=[ReplaywrightError],
        )


def _runner(given: WorkflowRunner | None, *, sandboxed: bool) -> WorkflowRunner:
    runner = given or SandboxedWorkflowRunner()
    if not isinstance(runner, SandboxedWorkflowRunner):
        return runner
    passed = PURE if sandboxed else (*PURE, *OURS)
    restrictions = runner.restrictions.with_passthrough_modules(*passed)
    if not sandboxed and type(runner) is SandboxedWorkflowRunner and runner.runner_class is UnsandboxedWorkflowRunner:
        return OutsideRunner(restrictions=restrictions)
    inner = AdmittingRunner if runner.runner_class is UnsandboxedWorkflowRunner else runner.runner_class
    return dataclasses.replace(runner, restrictions=restrictions, runner_class=inner)
