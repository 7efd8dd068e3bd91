"""Starts whose arguments no worker can ever read fail their run, clearly and at once.

Temporal's SDK takes arguments that it cannot decode for a fault of the worker's code, and tries the workflow task again
for ever: whoever started the run in another language would wait for ever, too. So where the first workflow task of a
run fails, it is looked whether its arguments are to blame. Nothing is looked at while all is well.

Updates are held up here, too: their raw bytes are what their MAC was made of. Where the worker offers a function that
verifies them, what it objects to is rejected before the workflow sees it; a replay takes what was taken before.

What may be the fault of one worker only is left as it was, and tried again: payloads that are sealed with a key which
this one does not have, and the arguments with which a run continues as new: a newer worker may have written those.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from temporalio import workflow
from temporalio.api.common.v1 import Payload
from temporalio.api.failure.v1 import Failure
from temporalio.bridge.proto.workflow_activation import DoUpdate, InitializeWorkflow, WorkflowActivation
from temporalio.bridge.proto.workflow_completion import WorkflowActivationCompletion
from temporalio.converter import PayloadConverter, SerializationContext, StorageDriverStoreContext
from temporalio.exceptions import ApplicationError
from temporalio.worker import UnsandboxedWorkflowRunner, WorkflowInstance, WorkflowInstanceDetails

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.secrets.starts import tenant_of
    from replaywright.domain.task.mistakes import mistakes_of

GUARD = "replaywright.guard"
"""Name of the extern function that verifies updates: `SentUpdate` → objection, or ""."""
_SEALED = "binary/encrypted"


@dataclass(frozen=True)
class SentUpdate:
    """An update as it was sent."""

    tenant: str
    run_id: str
    name: str
    id: str
    argument: bytes
    """JSON of the first argument."""
    mac: bytes
    """JSON of the second argument; empty without one."""


def refused(message: str) -> ApplicationError:
    """The error of a run that is not begun, as what it was started with is wrong."""
    return ApplicationError(message, type="InputInvalid", non_retryable=True)


class AdmittingRunner(UnsandboxedWorkflowRunner):
    """The SDK's unsandboxed runner, except for starts with wrong arguments."""

    def create_instance(self, det: WorkflowInstanceDetails) -> WorkflowInstance:
        """One execution of a workflow; of a team's own ones as the SDK has them."""
        instance = super().create_instance(det)
        return _Admitting(instance, det) if det.defn.cls.__module__.startswith("workflows.") else instance


class _Admitting(WorkflowInstance):
    def __init__(self, instance: WorkflowInstance, details: WorkflowInstanceDetails) -> None:
        self._instance = instance
        self._details = details
        self._tenant = ""

    def activate(self, act: WorkflowActivation) -> WorkflowActivationCompletion:
        refused_updates = self._without_refused(act)
        completion = self._instance.activate(act)
        if not completion.HasField("failed"):
            for update, objection in refused_updates:
                response = completion.successful.commands.add().update_response
                response.protocol_instance_id = update.protocol_instance_id
                error = ApplicationError(objection, type="Unsigned", non_retryable=True)
                self._to_failure(error, response.rejected)
            return completion
        started = next((job.initialize_workflow for job in act.jobs if job.HasField("initialize_workflow")), None)
        objection = "" if started is None else self._objection(started)
        return self._failed(refused(objection)) if objection else completion

    def _without_refused(self, act: WorkflowActivation) -> list[tuple[DoUpdate, str]]:
        """Take MACs off the updates of an activation, and take those out that the worker objects to."""
        refused_updates, jobs = [], []
        for job in act.jobs:
            if job.HasField("initialize_workflow"):
                self._tenant = _tenant_of(job.initialize_workflow.arguments)
            if job.HasField("do_update") and (objection := self._objection_to_update(job.do_update)):
                refused_updates.append((job.do_update, objection))
            else:
                jobs.append(job)
        if refused_updates:
            del act.jobs[:]
            act.jobs.extend(jobs)
        return refused_updates

    def _objection_to_update(self, update: DoUpdate) -> str:
        argument, mac = [*(payload.data for payload in update.input), b"", b""][:2]
        del update.input[1:]
        verify = self._details.extern_functions.get(GUARD)
        if verify is None or not update.run_validator:
            return ""
        info = self._details.info
        asked = SentUpdate(self._tenant, info.workflow_id, update.name, update.id, argument, mac)
        return str(verify(asked))

    def _objection(self, started: InitializeWorkflow) -> str:
        if started.continued_from_execution_run_id:
            return ""
        converter = self._details.payload_converter_factory()
        wanted = self._details.defn.arg_types or []
        return objection_to(started.workflow_type, started.arguments, wanted, converter)

    def _failed(self, error: ApplicationError) -> WorkflowActivationCompletion:
        completion = WorkflowActivationCompletion()
        self._to_failure(error, completion.successful.commands.add().fail_workflow_execution.failure)
        return completion

    def _to_failure(self, error: ApplicationError, failure: Failure) -> None:
        self._details.failure_converter_class().to_failure(error, self._details.payload_converter_factory(), failure)

    def get_serialization_context(self, command_info: Any) -> SerializationContext | None:
        return self._instance.get_serialization_context(command_info)

    def get_external_store_context(self, command_info: Any) -> StorageDriverStoreContext:
        return self._instance.get_external_store_context(command_info)

    def get_info(self) -> workflow.Info:
        return self._instance.get_info()

    def get_thread_id(self) -> int | None:
        return self._instance.get_thread_id()


def _tenant_of(arguments: Sequence[Payload]) -> str:
    """Tenant of the input; "" of one that cannot be read."""
    try:
        given = json.loads(arguments[0].data) if arguments else None
    except (RecursionError, ValueError):
        return ""
    return tenant_of(given)


def objection_to(
    workflow_type: str, payloads: Sequence[Payload], wanted: Sequence[type], converter: PayloadConverter
) -> str:
    """Return the first fault of the arguments; empty when they can be read, here or by another worker."""
    if len(payloads) != len(wanted):
        names = ", ".join(each.__name__ for each in wanted)
        return f"{workflow_type}: expected {len(wanted)} argument ({names}, as JSON), found {len(payloads)}"
    pairs = zip(payloads, wanted, strict=True)
    return next(filter(None, (_objection(workflow_type, *pair, converter) for pair in pairs)), "")


def _objection(workflow_type: str, payload: Payload, wanted: type, converter: PayloadConverter) -> str:
    encoding = payload.metadata.get("encoding", b"").decode("utf-8", "replace")
    if encoding == _SEALED:
        return ""
    try:
        value: object = converter.from_payload(payload, wanted)
    except ValidationError as exc:
        return str(mistakes_of(exc, wanted, workflow_type, whole="the argument"))
    except (KeyError, RuntimeError, TypeError, ValueError):  # what converters raise for encodings that they cannot read
        value = None
    if isinstance(value, wanted):
        return ""
    return f"{workflow_type}: the argument: expected a JSON object with the encoding 'json/plain', found {encoding!r}"
