"""Starts whose arguments no worker can ever read fail their run, clearly and at once.

Temporal's SDK takes arguments that it cannot decode for a fault of the worker's code, and tries the workflow task again
for ever: whoever started the run in another language would wait for ever, too. So where the first workflow task of a
run fails, it is looked whether its arguments are to blame. Nothing is looked at while all is well.

What may be the fault of one worker only is left as it was, and tried again: payloads that are sealed with a key which
this one does not have, and the arguments with which a run continues as new: a newer worker may have written those.
"""

from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError
from temporalio import workflow
from temporalio.api.common.v1 import Payload
from temporalio.bridge.proto.workflow_activation import InitializeWorkflow, WorkflowActivation
from temporalio.bridge.proto.workflow_completion import WorkflowActivationCompletion
from temporalio.converter import PayloadConverter, SerializationContext, StorageDriverStoreContext
from temporalio.exceptions import ApplicationError
from temporalio.worker import UnsandboxedWorkflowRunner, WorkflowInstance, WorkflowInstanceDetails

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.tasks import explained

_SEALED = "binary/encrypted"


def refused(message: str) -> ApplicationError:
    """The error of a run that is not begun, as what it was started with is wrong."""
    return ApplicationError(message, type="InputInvalid", non_retryable=True)


class AdmittingRunner(UnsandboxedWorkflowRunner):
    """What the sandbox runs workflows with: as the SDK does, but for starts that are wrong."""

    def create_instance(self, det: WorkflowInstanceDetails) -> WorkflowInstance:
        """One execution of a workflow; of a team's own ones as the SDK has them."""
        instance = super().create_instance(det)
        return _Admitting(instance, det) if det.defn.cls.__module__.startswith("workflows.") else instance


class _Admitting(WorkflowInstance):
    def __init__(self, instance: WorkflowInstance, details: WorkflowInstanceDetails) -> None:
        self._instance = instance
        self._details = details

    def activate(self, act: WorkflowActivation) -> WorkflowActivationCompletion:
        completion = self._instance.activate(act)
        if not completion.HasField("failed"):
            return completion
        started = next((job.initialize_workflow for job in act.jobs if job.HasField("initialize_workflow")), None)
        objection = "" if started is None else self._objection(started)
        return self._failed(refused(objection)) if objection else completion

    def _objection(self, started: InitializeWorkflow) -> str:
        if started.continued_from_execution_run_id:
            return ""
        converter = self._details.payload_converter_factory()
        wanted = self._details.defn.arg_types or []
        return objection_to(started.workflow_type, started.arguments, wanted, converter)

    def _failed(self, error: ApplicationError) -> WorkflowActivationCompletion:
        completion = WorkflowActivationCompletion()
        failure = completion.successful.commands.add().fail_workflow_execution.failure
        self._details.failure_converter_class().to_failure(error, self._details.payload_converter_factory(), failure)
        return completion

    def get_serialization_context(self, command_info: Any) -> SerializationContext | None:
        return self._instance.get_serialization_context(command_info)

    def get_external_store_context(self, command_info: Any) -> StorageDriverStoreContext:
        return self._instance.get_external_store_context(command_info)

    def get_info(self) -> workflow.Info:
        return self._instance.get_info()

    def get_thread_id(self) -> int | None:
        return self._instance.get_thread_id()


def objection_to(
    workflow_type: str, payloads: Sequence[Payload], wanted: Sequence[type], converter: PayloadConverter
) -> str:
    """What is wrong with arguments, the first thing of it; empty when they can be read, or could be elsewhere."""
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
        return explained(exc, workflow_type, whole="the argument")
    except (KeyError, RuntimeError, TypeError, ValueError):  # what converters raise for encodings that they cannot read
        value = None
    if isinstance(value, wanted):
        return ""
    return f"{workflow_type}: the argument: expected a JSON object with the encoding 'json/plain', found {encoding!r}"
