"""Interceptors that pass traces through Temporal and measure runs and activities.

Temporal's own interceptors (`temporalio.contrib.opentelemetry`) were not taken. `TracingInterceptor` writes the spans
of a workflow without a duration, and one for every command. `OpenTelemetryPlugin` holds a workflow's spans open in the
worker: one that is put out of the cache ends there, and a second time where the run ends. Both record the messages of
exceptions, which hold what pages say. What travels is the same as theirs, so that a team's own client with one of
them starts the trace.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NoReturn

import temporalio.api.common.v1
import temporalio.client
import temporalio.worker
from opentelemetry.trace import SpanKind
from temporalio import activity, workflow
from temporalio.converter import PayloadConverter
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory

from replaywright.domain.common.templates import fill, parameters_in
from replaywright.domain.run.runs import RunInput, RunResult
from replaywright.domain.run.skill_runs import is_outside
from replaywright.domain.step.outcomes import BLOCKED
from replaywright.domain.step.overrides import host_of
from replaywright.domain.task.steps import Goto
from replaywright.observing import TELL, RecoveryTold, StepTold, Told, span
from replaywright.telemetry import catalogue
from replaywright.telemetry.catalogue import PREFIX, RUN_ID
from replaywright.telemetry.measuring import Ran, Value, attributes, measured
from replaywright.telemetry.metrics import Metrics
from replaywright.telemetry.spans import Spans

Headers = Mapping[str, temporalio.api.common.v1.Payload]

HEADER = "_tracer-data"
"""The same header as that of Temporal's own interceptors."""
CHAIN = "replaywright-chain"
"""Header of a run that continues as new: the origin of its trace, and its start time."""
WORKFLOW = "BrowserTask"
_BEGIN, _ENDED = "replaywright_begin", "replaywright_ended"
_BROWSER_SUFFIX, _HOST_PART, _MODEL_SUFFIX = "-browser", "-host-", "-model"
_PLAIN = PayloadConverter.default


@dataclass(frozen=True)
class Beginning:
    """State of a run when one of its executions begins."""

    given: str
    """`traceparent` of whoever started the run; empty for none."""
    ids: tuple[str, ...]
    begun_ns: int


@dataclass(frozen=True)
class RunEnd:
    """A run that is over."""

    beginning: Beginning
    own: str
    ended_ns: int
    run_id: str
    run: RunInput
    status: str
    result: RunResult | None


class TelemetryInterceptor(temporalio.client.Interceptor, temporalio.worker.Interceptor):
    """Measures and traces everything that a client starts, and that its workers do."""

    def __init__(self, spans: Spans | None, metrics: Metrics | None) -> None:
        """Without `spans` nothing is traced, without `metrics` nothing is counted."""
        self._spans = spans
        self._metrics = metrics

    def intercept_client(
        self,
        next: temporalio.client.OutboundInterceptor,  # noqa: A002 - Temporal's name
    ) -> temporalio.client.OutboundInterceptor:
        """Runs that are started become part of the trace that their caller is in."""
        return next if self._spans is None else _Client(next, self._spans)

    def intercept_activity(
        self,
        next: temporalio.worker.ActivityInboundInterceptor,  # noqa: A002 - Temporal's name
    ) -> temporalio.worker.ActivityInboundInterceptor:
        """Open a span for every attempt at an activity, and count it."""
        return _Activity(next, self._spans, self._metrics)

    def workflow_interceptor_class(
        self,
        input: temporalio.worker.WorkflowInterceptorClassInput,  # noqa: A002 - Temporal's name
    ) -> type[temporalio.worker.WorkflowInboundInterceptor]:
        """Workflows are told their place in the trace, and tell what they were busy with."""
        input.unsafe_extern_functions.update({TELL: self._tell, _BEGIN: self._begin, _ENDED: self._ended})
        return _Workflow

    # ------------------------------------------------------- called by workflows, outside of their sandbox

    def _begin(self, beginning: Beginning) -> str:
        return "" if self._spans is None else self._spans.run_of(beginning.given, *beginning.ids)

    def _tell(self, told: Told) -> None:
        if self._metrics is not None:
            self._metrics.told(told)
        if self._spans is not None:
            failed = isinstance(told, StepTold) and told.outcome == "failed"
            self._spans.write(
                "step" if isinstance(told, StepTold) else "recovery",
                parent=told.parent,
                own=told.own,
                begun_ns=told.begun_ns,
                ended_ns=told.ended_ns,
                attributes=_told(told),
                failed=told.reason if failed and isinstance(told, StepTold) else "",
            )

    def _ended(self, ended: RunEnd) -> None:
        begun_ns = ended.beginning.begun_ns
        if self._metrics is not None:
            seconds = (ended.ended_ns - begun_ns) / 1e9
            self._metrics.run_ended(status=ended.status, mode=ended.run.mode, seconds=seconds)
            if ended.run.is_canary:
                self._metrics.canary_ended(ended.run.named, canary_outcome(ended.result), ended.ended_ns / 1e9)
        if self._spans is not None:
            reason = "" if ended.result is None else ended.result.reason
            self._spans.write(
                "run",
                parent=ended.beginning.given,
                own=ended.own,
                begun_ns=begun_ns,
                ended_ns=ended.ended_ns,
                attributes=_of_run(ended),
                failed=(reason or ended.status) if ended.status == "failed" else "",
                kind=SpanKind.CONSUMER,
            )


# ---------------------------------------------------------------------------------------------- client


class _Client(temporalio.client.OutboundInterceptor):
    def __init__(self, following: temporalio.client.OutboundInterceptor, spans: Spans) -> None:
        super().__init__(following)
        self._spans = spans

    async def start_workflow(
        self,
        input: temporalio.client.StartWorkflowInput,  # noqa: A002 - Temporal's name
    ) -> temporalio.client.WorkflowHandle[Any, Any]:
        if input.workflow != WORKFLOW:
            return await super().start_workflow(input)
        with self._spans.open("run.start", attributes={RUN_ID: input.id}, kind=SpanKind.PRODUCER) as started:
            input.headers = {**input.headers, **_header(started.traceparent)}
            try:
                return await super().start_workflow(input)
            except Exception as exc:
                started.fail(type(exc).__name__)
                raise


# -------------------------------------------------------------------------------------------- activities


class _Activity(temporalio.worker.ActivityInboundInterceptor):
    def __init__(
        self,
        following: temporalio.worker.ActivityInboundInterceptor,
        spans: Spans | None,
        metrics: Metrics | None,
    ) -> None:
        super().__init__(following)
        self._spans = spans
        self._metrics = metrics

    async def execute_activity(self, input: temporalio.worker.ExecuteActivityInput) -> Any:  # noqa: A002 - Temporal's
        info = activity.info()
        wait_s = max(0.0, (info.started_time - info.current_attempt_scheduled_time).total_seconds())
        if self._metrics is not None:
            self._metrics.add(catalogue.QUEUE_WAIT, wait_s, queue=queue_kind(info.task_queue))
        if self._spans is None:
            return await self._measured(input, info.attempt)
        given: dict[str, Value] = {
            RUN_ID: info.workflow_id or "",
            f"{PREFIX}activity.attempt": info.attempt,
            f"{PREFIX}queue.wait_ms": round(wait_s * 1000, 1),
        }
        parent = traceparent_in(input.headers)
        with self._spans.open(info.activity_type, parent=parent, attributes=given, kind=SpanKind.CONSUMER) as running:
            ran = Ran(_first(input.args), None, 0.0, info.attempt)
            try:
                result = await self._measured(input, info.attempt)
                ran = Ran(ran.request, result, 0.0, info.attempt)
            except BaseException as exc:
                if not is_benign(exc):
                    running.fail(kind_of(exc))
                raise
            finally:
                running.say(attributes(ran))
            return result

    async def _measured(self, input: temporalio.worker.ExecuteActivityInput, attempt: int) -> Any:  # noqa: A002
        """Measure the activity and return its result."""
        if self._metrics is None:
            return await super().execute_activity(input)
        request, result, begun = _first(input.args), None, time.perf_counter()
        is_told = True
        try:
            result = await super().execute_activity(input)
        except BaseException as exc:
            is_told = not is_benign(exc)  # nothing was done, and it is asked for elsewhere, or again
            raise
        finally:
            for one in measured(Ran(request, result, time.perf_counter() - begun, attempt)) if is_told else ():
                self._metrics.add(one.metric, one.value, **one.labels)
        return result


def _first(arguments: Any) -> object:
    return arguments[0] if arguments else None


def is_benign(exc: BaseException) -> bool:
    """Return True if the error is no fault, such as a host without a free browser."""
    return isinstance(exc, ApplicationError) and exc.category == ApplicationErrorCategory.BENIGN


def kind_of(exc: BaseException) -> str:
    """Return the name of an error, never its message."""
    return (exc.type if isinstance(exc, ApplicationError) else "") or type(exc).__name__


def queue_kind(name: str) -> str:
    """Return the kind of a tenant's queue, by the names in `workflows.policies` and the worker."""
    if name.endswith(_BROWSER_SUFFIX):
        return "browser"
    if name.endswith(_MODEL_SUFFIX):
        return "model"
    return "host" if _HOST_PART in name else "session"


# --------------------------------------------------------------------------------------------- workflows


class _Workflow(temporalio.worker.WorkflowInboundInterceptor):
    """Runs in the sandbox, with every replay again: it writes nothing itself."""

    def init(self, outbound: temporalio.worker.WorkflowOutboundInterceptor) -> None:
        super().init(_Outbound(outbound, self))

    def __init__(self, following: temporalio.worker.WorkflowInboundInterceptor) -> None:
        super().__init__(following)
        self.beginning: Beginning | None = None
        self.own = ""

    async def execute_workflow(self, input: temporalio.worker.ExecuteWorkflowInput) -> Any:  # noqa: A002 - Temporal's
        run = _first(input.args)
        if workflow.info().workflow_type != WORKFLOW or not isinstance(run, RunInput):
            self.own = traceparent_in(input.headers)  # what a team's own workflow does is part of what started it
            return await super().execute_workflow(input)
        self.beginning = beginning = _beginning(input.headers)
        self.own = workflow.extern_functions()[_BEGIN](beginning)
        span.set(self.own)
        try:
            result = await super().execute_workflow(input)
        except ApplicationError as exc:
            told = exc.details[0] if exc.details else None
            blocked = isinstance(told, RunResult) and bool(told.rule)
            self._over(run, BLOCKED if blocked else "failed", told)
            raise
        except BaseException as exc:
            if workflow.cancellation_reason() is not None:
                self._over(run, "cancelled", None)
            elif workflow.is_failure_exception(exc):
                self._over(run, "failed", None)
            raise
        self._over(run, "done", result)
        return result

    def _over(self, run: RunInput, status: str, result: object) -> None:
        if workflow.unsafe.is_replaying() or self.beginning is None:
            return
        workflow.extern_functions()[_ENDED](
            RunEnd(
                beginning=self.beginning,
                own=self.own,
                ended_ns=workflow.time_ns(),
                run_id=workflow.info().workflow_id,
                run=run,
                status=status,
                result=result if isinstance(result, RunResult) else None,
            )
        )


class _Outbound(temporalio.worker.WorkflowOutboundInterceptor):
    def __init__(self, following: temporalio.worker.WorkflowOutboundInterceptor, inbound: _Workflow) -> None:
        super().__init__(following)
        self._inbound = inbound

    def start_activity(
        self,
        input: temporalio.worker.StartActivityInput,  # noqa: A002 - Temporal's name
    ) -> workflow.ActivityHandle[Any]:
        if parent := span.get() or self._inbound.own:
            input.headers = {**input.headers, **_header(parent)}
        return super().start_activity(input)

    async def start_child_workflow(
        self,
        input: temporalio.worker.StartChildWorkflowInput,  # noqa: A002 - Temporal's name
    ) -> workflow.ChildWorkflowHandle[Any, Any]:
        if parent := span.get() or self._inbound.own:
            input.headers = {**input.headers, **_header(parent)}
        return await super().start_child_workflow(input)

    def continue_as_new(self, input: temporalio.worker.ContinueAsNewInput) -> NoReturn:  # noqa: A002 - Temporal's name
        if (beginning := self._inbound.beginning) is not None:
            chain = {"given": beginning.given, "begun": str(beginning.begun_ns)}
            input.headers = {**input.headers, CHAIN: _PLAIN.to_payload(chain)}
        super().continue_as_new(input)


def _beginning(headers: Headers) -> Beginning:
    """Return the state that the first execution handed on, or began with."""
    info = workflow.info()
    ids = (info.namespace, info.workflow_id, info.first_execution_run_id)
    if (payload := headers.get(CHAIN)) is not None:
        chain: dict[str, str] = _PLAIN.from_payload(payload)
        return Beginning(chain["given"], ids, int(chain["begun"]))
    return Beginning(traceparent_in(headers), ids, _nanoseconds(info.start_time))


def _nanoseconds(at: datetime) -> int:
    return int((at - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1e6) * 1000


def _header(traceparent: str) -> dict[str, temporalio.api.common.v1.Payload]:
    return {HEADER: _PLAIN.to_payload({"traceparent": traceparent})}


def traceparent_in(headers: Headers) -> str:
    """Return the `traceparent` that came along; empty where none did."""
    payload = headers.get(HEADER)
    carrier = None if payload is None else _PLAIN.from_payload(payload)
    found = carrier.get("traceparent", "") if isinstance(carrier, dict) else ""
    return found if isinstance(found, str) else ""


# -------------------------------------------------------------------------------------------- attributes


def _told(told: Told) -> dict[str, Value]:
    values: dict[str, Value] = {}
    match told:
        case StepTold():
            values = {
                "site": told.site,
                "step.sequence": told.sequence,
                "step.action": told.action,
                "step.effect": told.effect,
                "step.outcome": told.outcome,
                "step.reason": told.reason,
                "step.how": told.how,
                "lookup.tier": told.tier,
                "step.fingerprint": told.fingerprint,
            }
        case RecoveryTold():
            values = {"recovery.kind": told.kind}
    return {RUN_ID: told.run_id, **{PREFIX + name: value for name, value in values.items() if value != ""}}


def canary_outcome(result: RunResult | None) -> str:
    """Return what a canary says about its page; None: it was ended by somebody."""
    if result is None or (not result.succeeded and (result.of_values or is_outside(result.reason))):
        return "unjudged"
    if not result.succeeded:
        return "broken"
    return "drifted" if result.totals.heals else "intact"


def _site_of(run: RunInput) -> str:
    """Return the host that the task itself begins at."""
    first = run.task.steps[0] if run.task.steps else None
    url = run.task.url or (first.url if isinstance(first, Goto) else "")
    return host_of(fill(url, run.values)) if parameters_in(url) <= run.values.keys() else ""


def _of_run(ended: RunEnd) -> dict[str, Value]:
    run, result = ended.run, ended.result
    values: dict[str, Value] = {
        "site": _site_of(run),
        "run.mode": run.mode.value,
        "run.tenant": run.tenant,
        "run.task": run.task.task,
        "run.status": ended.status,
    }
    if result is not None:
        totals = result.totals
        values |= {
            "run.reason": result.reason,
            "run.steps": totals.steps,
            "run.heals": totals.heals,
            "run.fallbacks": totals.fallbacks,
            "run.recoveries": totals.recoveries,
            "model.calls": totals.usage.calls,
            "model.cost": totals.usage.cost_usd,
        }
    return {RUN_ID: ended.run_id, **{PREFIX + name: value for name, value in values.items() if value != ""}}
