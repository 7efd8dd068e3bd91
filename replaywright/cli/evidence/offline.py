"""Offline replay: runs the current workflow code against a recorded history, and compares the decisions.

The SDK's own Replayer drives the workflow with the recorded history: it needs no server and keeps to the SDK's public
interface. It stops at the first command that differs, but compares neither what an activity was asked nor what the
workflow ended with; so an interceptor notes both, and these are compared here.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from pydantic import BaseModel, ValidationError
from pydantic_core import to_jsonable_python
from temporalio import workflow
from temporalio.client import WorkflowHistory
from temporalio.exceptions import ApplicationError
from temporalio.worker import (
    ContinueAsNewInput,
    ExecuteWorkflowInput,
    Interceptor,
    Replayer,
    StartActivityInput,
    WorkflowInboundInterceptor,
    WorkflowInterceptorClassInput,
    WorkflowOutboundInterceptor,
)

from activities.policing import Policing
from activities.step.judging import Judge
from replaywright.domain.common.text import unmarked
from replaywright.domain.locating.filling import filled_step
from replaywright.domain.proof.proof import effect_seen
from replaywright.domain.run.commands import CommandOnStep, Perform, Reapply, StepCommand, StepContext
from replaywright.domain.step.outcomes import LEFT_OUT, SERVER_ERROR, UNPROVEN, Status, StepOutcome
from replaywright.domain.task.actions import Effect, effect_of
from replaywright.domain.task.steps import action_of
from replaywright.domain.trace.histories import ActivityCall, ExecutionEnd, How, calls_of, end_of
from replaywright.domain.trace.trace_file import History
from replaywright.ports.browser import Report
from replaywright.stack.temporal_client import quiet_runtime
from workflows.admission import AdmittingRunner
from workflows.plugin import WorkflowPlugin

SHOWN = 80
"""Characters of a value in a message."""


@dataclass(frozen=True)
class Difference:
    """Place where the current code decides differently."""

    where: str
    """The activity, such as `0003-35d31668e573`, or `the end`."""
    what: str


@dataclass(frozen=True)
class Replayed:
    """Result of one execution."""

    history: History
    activities: int
    """Recorded ones."""
    differences: tuple[Difference, ...]


@dataclass(frozen=True)
class _Asked:
    """Activity that the current code scheduled."""

    activity_id: str
    activity_type: str
    given: Any
    """Input as the workflow has it, in most cases a model."""


@dataclass
class _Decided:
    """Decisions of the current code in a replay."""

    calls: list[_Asked] = field(default_factory=list)
    end: tuple[How, Any] | None = None
    """Kind and value of the end."""


async def replay(history: History, policing: Policing | None = None) -> Replayed:
    """Replay one execution and judge its recorded outcomes with the code of this installation.

    What the `policing` of today would decide otherwise is told, too.
    """
    recorded = calls_of(history.events)
    decided = _Decided()
    replayer = Replayer(
        workflows=[],
        plugins=[WorkflowPlugin()],
        interceptors=[_Noting(decided)],
        workflow_runner=AdmittingRunner(),
        runtime=quiet_runtime(),  # this module reports the same facts itself
    )
    history_of_run = WorkflowHistory.from_json(history.workflow_id, json.dumps({"events": list(history.events)}))
    result = await replayer.replay_workflow(history_of_run, raise_on_replay_failure=False)
    end = end_of(history.events)
    found = list(_on_calls(recorded, decided.calls, ended=end is not None))
    if not found and result.replay_failure is not None:
        found.append(Difference("the history", f"does not replay: {result.replay_failure}"))
    if not found:
        found += _on_end(end, decided.end)
    policing = policing or Policing()
    found += [difference for call in recorded for difference in _on_outcome(call, policing)]
    return Replayed(history, len(recorded), tuple(found))


# ---------------------------------------------------------------------------------- what today's code does


class _Noting(Interceptor):
    """Interceptor that records the decisions of the replayed workflow."""

    def __init__(self, decided: _Decided) -> None:
        self._decided = decided

    def workflow_interceptor_class(self, _given: WorkflowInterceptorClassInput) -> type[WorkflowInboundInterceptor]:
        decided = self._decided

        class Outbound(WorkflowOutboundInterceptor):
            def start_activity(self, call: StartActivityInput) -> workflow.ActivityHandle[Any]:
                given = call.args[0] if call.args else None
                decided.calls.append(_Asked(call.activity_id or "", call.activity, given))
                return super().start_activity(call)

            def continue_as_new(self, call: ContinueAsNewInput) -> NoReturn:
                decided.end = ("continued", call.args[0] if call.args else None)
                super().continue_as_new(call)

        class Inbound(WorkflowInboundInterceptor):
            def init(self, outbound: WorkflowOutboundInterceptor) -> None:
                super().init(Outbound(outbound))

            async def execute_workflow(self, call: ExecuteWorkflowInput) -> Any:
                try:
                    result = await super().execute_workflow(call)
                except ApplicationError as error:
                    decided.end = ("failed", error.details[0] if error.details else None)
                    raise
                decided.end = ("completed", result)
                return result

        return Inbound


# -------------------------------------------------------------------------------------------- comparing


def _on_calls(recorded: Sequence[ActivityCall], today: Sequence[_Asked], *, ended: bool) -> Iterator[Difference]:
    """Yield the first activity that differs or has a different input."""
    for then, now in zip(recorded, today, strict=False):
        if (then.activity_type, then.activity_id) != (now.activity_type, now.activity_id):
            yield Difference(then.activity_id, _other_activity(then, now))
            return
        if (difference := _difference(then.given, now.given)) is not None:
            yield Difference(then.activity_id, f"{_named(then)} would be asked something else: {difference}")
            return
    if len(today) > len(recorded) and ended:
        now = today[len(recorded)]
        yield Difference(now.activity_id, f"recorded: the end; today: {_named(now)}")
    elif len(today) < len(recorded):
        then = recorded[len(today)]
        yield Difference(then.activity_id, f"recorded: {_named(then)}; today: it is not asked for")


def _other_activity(then: ActivityCall, now: _Asked) -> str:
    what = f"recorded: {_named(then)} ({then.activity_id}); today: {_named(now)} ({now.activity_id})"
    asked = _context(then)
    if asked and isinstance(now.given, CommandOnStep) and asked.fingerprint != now.given.context.fingerprint:
        same = then.activity_type == now.activity_type
        return f"another {'fingerprint' if same else 'activity'}: {what}"
    return f"another activity: {what}"


def _named(call: ActivityCall | _Asked) -> str:
    asked: object = _context(call) if isinstance(call, ActivityCall) else call.given
    asked = asked.context if isinstance(asked, CommandOnStep) else asked
    if not isinstance(asked, StepContext):
        return call.activity_type
    return f"{call.activity_type} {asked.step.title!r}"


def _command(call: ActivityCall) -> CommandOnStep | None:
    """Parse the command of a browser activity; None for other activities, or if it cannot be parsed."""
    if not call.activity_type.startswith("browser."):
        return None
    try:
        return StepCommand.model_validate(call.given).root
    except ValidationError:
        return None


def _context(call: ActivityCall) -> StepContext | None:
    command = _command(call)
    return None if command is None else command.context


def _on_end(recorded: ExecutionEnd | None, today: tuple[How, Any] | None) -> Iterator[Difference]:
    """Compare the ends. An execution that was ended from outside is not compared."""
    if recorded is None or recorded.how in ("cancelled", "timed_out", "terminated"):
        return
    how, value = today or ("going on", None)
    if how != recorded.how:
        yield Difference("the end", f"recorded: {recorded.how}; today: {how}")
    elif (difference := _difference(recorded.value, value)) is not None:
        yield Difference("the end", f"{recorded.how} with another value: {difference}")


def _difference(recorded: Any, today: Any) -> str | None:
    """Compare what was recorded with today's value; None also when it could not be read.

    Fields that today's models do not know are no decision, and left out. What was not recorded had its default.
    """
    if recorded is None:
        return None
    if isinstance(today, BaseModel):
        try:
            recorded = type(today).model_validate(recorded)
        except ValidationError:
            return f"today's {type(today).__name__} does not read what was recorded"
    return _first_difference(to_jsonable_python(recorded), to_jsonable_python(today))


def _first_difference(then: Any, now: Any, path: str = "") -> str | None:
    """Describe the first difference of two JSON values."""
    if isinstance(then, Mapping) and isinstance(now, Mapping):
        for name, value in then.items():
            where = f"{path}.{name}".lstrip(".")
            if name not in now:
                return f"{where}: recorded {_short(value)}, today nothing"
            if (difference := _first_difference(value, now[name], where)) is not None:
                return difference
        return None
    if isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        pairs = enumerate(zip(then, now, strict=True))
        return next(
            (difference for at, (a, b) in pairs if (difference := _first_difference(a, b, f"{path}[{at}]"))), None
        )
    if isinstance(then, str) and isinstance(now, str):  # where values stand in a text was not marked before
        then, now = unmarked(then), unmarked(now)
    return None if then == now else f"{path or 'value'}: recorded {_short(then)}, today {_short(now)}"


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


# ---------------------------------------------------------------------------------------------- judging


def _on_outcome(call: ActivityCall, policing: Policing) -> Iterator[Difference]:
    """Compare the recorded outcome of a step with the judgement of the current rules and policy."""
    asked = _context(call)
    if asked is None or call.answer is None:
        return
    try:
        outcome = StepOutcome.model_validate(call.answer)
    except ValidationError:
        yield Difference(call.activity_id, f"{_named(call)}: its recorded outcome cannot be read any more")
        return
    for change in (
        _other_status(asked, outcome),
        _other_effect(asked, outcome),
        _other_policy(_command(call), outcome, policing),
    ):
        if change:
            yield Difference(call.activity_id, f"{_named(call)}: {change}")


def _other_status(asked: StepContext, outcome: StepOutcome) -> str:
    """Compare the status by what is recorded: verdicts, evidence and proof."""
    judged = outcome.status is Status.DONE or outcome.reason in (UNPROVEN, SERVER_ERROR)
    if not judged or outcome.from_ledger or outcome.reason in ("person", "resolved"):
        return ""
    report = Report(
        lookup=outcome.lookup,
        acted=not outcome.already_done,
        proof=outcome.proof,
        after=outcome.predicates,
        evidence=outcome.evidence,
        url=outcome.url,
    )
    known = asked.step.effect is not None and not outcome.effect.repeatable
    judge = Judge(filled_step(asked.step, asked.values), (), known or outcome.reason == UNPROVEN)
    fault = judge.fault(report)
    if outcome.status is Status.DONE and fault is not None:
        return f"another outcome: recorded done; today: {fault[0]} ({fault[1]})"
    if outcome.status is not Status.DONE and fault is None:
        return f"another outcome: recorded {outcome.status} ({outcome.reason}); today: done"
    return ""


def _other_effect(asked: StepContext, outcome: StepOutcome) -> str:
    """Find a step that changed something and was recorded as repeatable."""
    sent = effect_seen(asked.step, outcome.evidence) is Effect.COMMIT
    if outcome.status is not Status.DONE or outcome.from_ledger or not sent:
        return ""
    today = effect_of(action_of(asked.step), asked.step.effect, Effect.COMMIT)
    if outcome.effect.repeatable and not today.repeatable:
        return f"another effect: recorded {outcome.effect}; today: {today}, which is never repeated"
    return ""


def _other_policy(command: CommandOnStep | None, outcome: StepOutcome, policing: Policing) -> str:
    """Compare the policy's current decision on a step with the recorded one."""
    if not isinstance(command, Perform | Reapply) or outcome.from_ledger or outcome.reason in LEFT_OUT:
        return ""
    refusal = policing.on_command(command)
    if refusal is not None and outcome.status is not Status.BLOCKED:
        return f"recorded {outcome.status}; today blocked by {refusal.message}"
    if refusal is None and outcome.status is Status.BLOCKED and _is_of_a_step(outcome.rule):
        return f"recorded blocked by {outcome.rule}; today: allowed"
    return ""


def _is_of_a_step(rule: str) -> bool:
    """Tell whether the step alone decides a rule; others depend on facts of the browser."""
    return rule.partition(": ")[2].startswith(("actions.", "amounts."))
