"""Facts of a run: its trace, its history, its result, and earlier runs of the same task."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime

from pydantic import ValidationError
from temporalio.client import WorkflowExecution, WorkflowExecutionDescription, WorkflowExecutionStatus

from replaywright import __version__
from replaywright.cli.evidence.trace import histories_of
from replaywright.cli.runs.finding import ENDED, QUICK, ending_of_run, executions, memo_of, scope_of, trace_of
from replaywright.cli.runs.follow import Ending, handle_of, progress_of
from replaywright.cli.servers.connect import Backend, temporal_errors
from replaywright.cli.tasks.taskfile import site_of
from replaywright.domain.run.lineages import beginning_of
from replaywright.domain.run.runs import Progress, RunEnd, RunInput, Totals
from replaywright.domain.run.standing import RunStatus, going
from replaywright.domain.skill.skills import SkillRef
from replaywright.domain.trace.histories import first_value
from replaywright.domain.trace.run_history import history_events
from replaywright.domain.trace.run_reading import expectations, run_view
from replaywright.domain.trace.run_view import Expected, RunFacts, RunNumbers, RunView, numbers_of
from replaywright.domain.trace.trace_file import History
from replaywright.errors import InputInvalid, SealBroken, StackFailed, StoreUnavailable

EARLIER = 19
"""Earlier runs that a run is compared with."""
LOOKED_AT = 60
"""Runs that are searched for those of the same skill."""
AT_ONCE = 8


async def view_of(here: Backend, execution: WorkflowExecutionDescription) -> RunView:
    """Collect all known facts of a run. Sources that cannot be read are named in the view; none is an error."""
    missing: list[str] = []
    is_running = execution.status is WorkflowExecutionStatus.RUNNING
    handle = handle_of(here.client, execution.id)
    progress = await progress_of(handle, QUICK)
    if progress is None and is_running:
        missing.append("no worker answers: what the run does at present is not known")
    ending = None if is_running else await ending_of_run(here, execution)
    try:
        histories = await histories_of(here, execution)
    except (InputInvalid, SealBroken, StackFailed) as exc:
        histories = []
        missing.append(f"the history cannot be read, and with it mode and recoveries: {exc}")
    given = _input(histories)
    _, lineage = await scope_of(here, execution)
    try:
        lines = await trace_of(here, execution)
    except StoreUnavailable as exc:
        lines = []
        missing.append(f"the trace cannot be read, and with it the steps: {exc}")
    else:
        if not lines:
            missing.append("there is no trace: nothing was recorded yet, or its time (90 days) is over")
    facts = await _facts(here, execution, progress, ending, lineage)
    facts = facts.model_copy(update={**asked_of(given, progress), "verification": verification_of(given, ending)})
    more = {"history": history_events([one.events for one in histories]), "missing": tuple(missing)}
    return run_view(facts.model_copy(update=more), lines)


async def _facts(
    here: Backend,
    execution: WorkflowExecutionDescription,
    progress: Progress | None,
    ending: Ending | None,
    lineage: str,
) -> RunFacts:
    result = None if ending is None else ending.result
    status = status_of(execution.status, progress, ending)
    task = await memo_of(execution, "task") or execution.id.partition("/")[0]
    skill = skill_of(ending)
    totals = totals_of(progress, ending)
    facts = RunFacts(
        run_id=execution.id,
        task=task,
        status=status,
        started=execution.start_time.timestamp(),
        ended=None if execution.close_time is None else execution.close_time.timestamp(),
        now=datetime.now(UTC).timestamp(),
        tenant=await memo_of(execution, "tenant") or here.settings.tenant,
        lineage=lineage,
        version=__version__,
        totals=totals,
        skill=skill,
        url=here.run_url(execution.id).partition("?")[0],  # a report may be passed on, and a token may not
        lineage_runs=await _lineage_runs(here, lineage),
        earlier=await _earlier(here, execution, task, skill),
    )
    payload: dict[str, object] = {}
    if progress is not None and ending is None:
        paused = progress.waiting_for if progress.status == "paused" else ""
        payload |= {"doing": progress.doing, "question": progress.question, "paused": paused}
    if result is not None:
        payload |= {name: getattr(result, name) for name in RunEnd.model_fields}
    return facts.model_copy(update=payload)


def asked_of(given: RunInput | None, progress: Progress | None) -> dict[str, object]:
    """Return the request of the run, as far as its history is known."""
    payload: dict[str, object] = {}
    if given is not None:
        payload |= {
            "goal": _goal(given),
            "site": site_of(given.task, given.values).strip("-"),
            "mode": given.mode.value,
            "heal": given.heal.value,
            "steps_planned": len(given.task.steps),
            "resumed_from": given.resume.of if given.resume is not None else "",
        }
    if progress is not None and progress.steps:
        payload["steps_planned"] = progress.steps
    return payload


def verification_of(given: RunInput | None, ending: Ending | None) -> tuple[Expected, ...]:
    """Return the results of the final verification, with the task's predicates."""
    results = () if ending is None else ending.result.verification
    asked = () if given is None else given.task.verify
    return expectations(results, [predicate.model_dump(mode="json", exclude_none=True) for predicate in asked])


def _goal(given: RunInput) -> str:
    """Return the sentence that the run began from; empty for a task with written steps."""
    begins = None if given.state.goal is None else given.state.goal.begins
    if begins is not None:
        return begins.task.goal
    return "" if given.task.steps else given.task.goal


def status_of(status: WorkflowExecutionStatus | None, progress: Progress | None, ending: Ending | None) -> RunStatus:
    """Return the status of a run by Temporal, its progress and its ending."""
    if ending is None:
        return "running" if progress is None else going(progress.status)
    return "blocked" if ending.status == "blocked" else ENDED.get(status, "failed")


def skill_of(ending: Ending | None) -> SkillRef | None:
    """Return the skill that the run used or learned."""
    used = None if ending is None else ending.result.skill
    return None if used is None else SkillRef(name=used.name, version=used.version)


def totals_of(progress: Progress | None, ending: Ending | None) -> Totals | None:
    """Return the run's own counts; None if there are none."""
    if ending is not None and ending.result.totals != Totals():
        return ending.result.totals
    return None if progress is None or progress.totals == Totals() else progress.totals


def _input(histories: Sequence[History]) -> RunInput | None:
    """Return the input of the run; for a run of a named skill, that of the execution that knew the version."""
    found: RunInput | None = None
    for history in histories:
        started = history.events[0].get("workflowExecutionStartedEventAttributes")
        try:
            found = None if started is None else RunInput.model_validate(first_value(started.get("input")))
        except ValidationError:  # of another version, or sealed
            return None
        if found is None or not found.named:
            break
    return found


async def _lineage_runs(here: Backend, lineage: str) -> tuple[str, ...]:
    """List all runs of a lineage, by the ids that `replaywright resume` gives them."""
    found, number = [beginning_of(lineage)], 2
    while True:
        try:
            with temporal_errors(here.settings, lineage):
                await here.client.get_workflow_handle(f"{lineage}~{number}").describe()
        except InputInvalid:
            return tuple(found)
        found.append(f"{lineage}~{number}")
        number += 1


async def _earlier(
    here: Backend, execution: WorkflowExecutionDescription, task: str, skill: SkillRef | None
) -> tuple[RunNumbers, ...]:
    """Return earlier runs of the same task; for a sentence, those of the same skill."""
    found: list[RunNumbers] = []
    is_goal = skill is not None and task == "goal"
    candidates = [
        one
        for one in await executions(here, LOOKED_AT)
        if one.start_time < execution.start_time and one.close_time is not None and one.id != execution.id
    ]
    async for other, ending in _endings(here, candidates, None if is_goal else task):
        used = skill_of(ending)
        if is_goal and (used is None or skill is None or used.name != skill.name):
            continue
        start, close = other.start_time, other.close_time or other.start_time
        seconds = (close - start).total_seconds()
        status = status_of(other.status, None, ending)
        found.append(numbers_of(other.id, start.timestamp(), seconds, status, ending.result.totals))
        if len(found) == EARLIER:
            break
    return tuple(sorted(found, key=lambda one: one.started))


async def _endings(
    here: Backend, candidates: Sequence[WorkflowExecution], task: str | None
) -> AsyncIterator[tuple[WorkflowExecution, Ending]]:
    """Yield these runs with their endings, the newest first; with `task`, only its runs."""
    own = [one for one in candidates if task is None or await memo_of(one, "task") == task]
    for start in range(0, len(own), AT_ONCE):
        some = own[start : start + AT_ONCE]
        for one, ending in zip(some, await asyncio.gather(*(ending_of_run(here, each) for each in some)), strict=True):
            yield one, ending
