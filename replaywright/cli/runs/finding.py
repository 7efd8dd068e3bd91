"""Lookup of runs by id or filter, with their status, lineage and trace."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from pydantic import BaseModel
from temporalio.client import WorkflowExecution, WorkflowExecutionDescription, WorkflowExecutionStatus

from replaywright.cli.runs.follow import WORKFLOW, Ending, ServerGone, ended, handle_of, progress_of
from replaywright.cli.runs.searchable import Filter
from replaywright.cli.servers.connect import Backend, temporal_errors
from replaywright.cli.servers.store import StepRecord, open_store, step_records
from replaywright.domain.run.runs import Progress
from replaywright.domain.run.standing import ENDS, STATUSES, RunStatus, going
from replaywright.errors import InputInvalid, StoreUnavailable
from replaywright.settings import DEFAULT_TENANT

ENDED: Mapping[WorkflowExecutionStatus | None, RunStatus] = {
    WorkflowExecutionStatus[STATUSES[status].execution]: status for status in reversed(ENDS)
}
"""Status by Temporal's own; where that is the one of two, the first of them."""
_Given = TypeVar("_Given", bound=BaseModel)
_LATEST = "latest"
_ALL = Filter()
QUICK = timedelta(seconds=2)
"""Time limit for a progress query whose answer is optional."""


async def executions(here: Backend, limit: int, wanted: Filter = _ALL) -> list[WorkflowExecution]:
    """List the newest runs; of a run that continued as new, only its newest execution."""
    found: list[WorkflowExecution] = []
    with temporal_errors(here.settings):
        async for execution in here.client.list_workflows(wanted.as_query(datetime.now(UTC))):
            if len(found) == limit:
                break
            if await is_ours(here, execution) and await is_wanted(execution, wanted):
                found.append(execution)
    return found


async def is_wanted(execution: WorkflowExecution, wanted: Filter) -> bool:
    """Apply the conditions that the query cannot express: blocked or failed, and the workflow type."""
    if execution.workflow_type != WORKFLOW:
        return False
    if wanted.status not in {"failed", "blocked"}:
        return True
    return (await memo_of(execution, "status") == "blocked") is (wanted.status == "blocked")


async def standing_of(here: Backend, execution: WorkflowExecution) -> tuple[RunStatus, Progress | None]:
    """Return the status of a run; for one that is under way, also its progress."""
    if execution.status is WorkflowExecutionStatus.RUNNING:
        try:
            progress = await progress_of(handle_of(here.client, execution.id), QUICK)
        except (ServerGone, InputInvalid):
            progress = None
        if progress is None:
            return "silent", None
        return going(progress.status), progress
    if execution.status is WorkflowExecutionStatus.FAILED and await memo_of(execution, "status") == "blocked":
        return "blocked", None
    return ENDED.get(execution.status, "failed"), None


async def is_ours(here: Backend, execution: WorkflowExecution) -> bool:
    """Tell whether the run belongs to this tenant; without a tenant it is the default tenant's."""
    return (await memo_of(execution, "tenant") or DEFAULT_TENANT) == here.settings.tenant


async def memo_of(execution: WorkflowExecution, name: str) -> str:
    """Read a field of the run's memo; empty if it is not there."""
    value: Any = await execution.memo_value(name, default="")
    return value if isinstance(value, str) else ""


async def ending_of_run(here: Backend, execution: WorkflowExecution) -> Ending:
    """Return the ending of a closed run."""
    with temporal_errors(here.settings, execution.id):
        return await ended(handle_of(here.client, execution.id))


async def records_of(here: Backend, execution: WorkflowExecutionDescription) -> list[StepRecord]:
    """Return the steps of the run's trace, without those of other runs of its lineage.

    Raises:
        StoreUnavailable: the trace cannot be read.
    """
    return own_records(await trace_of(here, execution), execution.id)


def own_records(lines: Iterable[dict[str, Any]], run_id: str) -> list[StepRecord]:
    """Return the steps of one run of the lineage."""
    return step_records([line for line in lines if line.get("runId", run_id) == run_id])


async def trace_or_why(here: Backend, execution: WorkflowExecutionDescription) -> tuple[list[dict[str, Any]], str]:
    """Read the trace of the run's lineage; if it cannot be read, return none of it, and the reason."""
    try:
        return await trace_of(here, execution), ""
    except StoreUnavailable as exc:
        return [], f"the trace cannot be read: {exc}"


async def trace_of(here: Backend, execution: WorkflowExecutionDescription) -> list[dict[str, Any]]:
    """Read the trace of the run's lineage.

    Raises:
        StoreUnavailable: it cannot be read.
    """
    tenant, lineage = await scope_of(here, execution)
    async with open_store(here.settings) as store:
        return await store.steps.trace(tenant=tenant, lineage=lineage)


async def scope_of(here: Backend, execution: WorkflowExecutionDescription) -> tuple[str, str]:
    """Return the tenant and lineage of the run, the key of its ledger and trace."""
    tenant = await memo_of(execution, "tenant") or here.settings.tenant
    return tenant, await memo_of(execution, "lineage") or execution.id


async def find_run(here: Backend, run: str) -> WorkflowExecutionDescription:
    """Find the run with this id, the only one whose id begins or ends with it, or the `latest`.

    Raises:
        InputInvalid: there is none, or more than one.
    """
    try:
        with temporal_errors(here.settings, run):
            named = await here.client.get_workflow_handle(run).describe()
        if await is_ours(here, named):
            return named
        known_runs = []
    except InputInvalid:
        known_runs = await executions(here, 1000)
    found = unique_id(run, [execution.id for execution in known_runs])
    if not found:
        raise InputInvalid(f"there is no run {run!r}; `replaywright runs` lists them")
    with temporal_errors(here.settings, found):
        return await here.client.get_workflow_handle(found).describe()


async def exact_run(here: Backend, run_id: str) -> WorkflowExecutionDescription:
    """Describe the run with exactly this id.

    Raises:
        InputInvalid: there is none, or it is another tenant's.
    """
    with temporal_errors(here.settings, run_id):
        execution = await here.client.get_workflow_handle(run_id).describe()
    if execution.workflow_type != WORKFLOW or not await is_ours(here, execution):
        raise InputInvalid(f"there is no run {run_id!r}; `replaywright runs` lists them")
    return execution


async def input_of(here: Backend, execution: WorkflowExecutionDescription, model: type[_Given]) -> _Given:
    """Read the input of this execution of a workflow.

    Raises:
        InputInvalid: Temporal has no history of it any more.
        StackFailed: Temporal refuses.
    """
    with temporal_errors(here.settings, execution.id):
        handle = here.client.get_workflow_handle(execution.id, run_id=execution.run_id)
        async for event in handle.fetch_history_events(page_size=1):
            payloads = event.workflow_execution_started_event_attributes.input.payloads
            [given] = await here.client.data_converter.decode(payloads, [model])
            found: _Given = given
            return found
    raise InputInvalid(f"{execution.id}: Temporal has no history of it any more; start a new one")


def unique_id(text: str, ids: Iterable[str], kind: str = "runs") -> str:
    """Return the only id that begins or ends with `text`, or the first for `latest`; empty if there is none.

    Raises:
        InputInvalid: there is more than one.
    """
    known = list(dict.fromkeys(ids))
    found = known[:1] if text == _LATEST else [each for each in known if each.startswith(text) or each.endswith(text)]
    if len(found) > 1:
        such = f"{found[0]} and {found[1]}"
        raise InputInvalid(f"{text!r} is the beginning or end of {len(found)} {kind}, such as {such}")
    return next(iter(found), "")
