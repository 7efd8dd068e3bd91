"""Finding runs: by id or filter, with how they stand, their lineage and their trace."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from temporalio.client import WorkflowExecution, WorkflowExecutionDescription, WorkflowExecutionStatus

from replaywright.cli.runs.follow import WORKFLOW, Ending, ServerGone, ended, handle_of, progress_of
from replaywright.cli.runs.searchable import Filter, StatusFilter
from replaywright.cli.servers.connect import Place, temporal_errors
from replaywright.cli.servers.store import StepRecord, open_store, step_records
from replaywright.domain.run.runs import Progress
from replaywright.domain.run.standing import RunStatus, going
from replaywright.errors import InputInvalid
from replaywright.settings import DEFAULT_TENANT

ENDED: Mapping[WorkflowExecutionStatus | None, RunStatus] = {
    WorkflowExecutionStatus.COMPLETED: "done",
    WorkflowExecutionStatus.FAILED: "failed",
    WorkflowExecutionStatus.CANCELED: "cancelled",
    WorkflowExecutionStatus.TERMINATED: "terminated",
    WorkflowExecutionStatus.TIMED_OUT: "timed_out",
}
_LATEST = "latest"
_ALL = Filter()
QUICK = timedelta(seconds=2)
"""How long a run is given to say what it does, where that is nice to know."""


async def executions(here: Place, limit: int, wanted: Filter = _ALL) -> list[WorkflowExecution]:
    """The newest runs; of a run that continued as new only its newest execution."""
    found: list[WorkflowExecution] = []
    with temporal_errors(here.settings):
        async for execution in here.client.list_workflows(wanted.as_query(datetime.now(UTC))):
            if len(found) == limit:
                break
            if await is_ours(here, execution) and await is_wanted(execution, wanted):
                found.append(execution)
    return found


async def is_wanted(execution: WorkflowExecution, wanted: Filter) -> bool:
    """Decide what the query cannot: whether a run that failed was blocked, and that it is a run at all."""
    if execution.workflow_type != WORKFLOW:
        return False
    if wanted.status not in (StatusFilter.FAILED, StatusFilter.BLOCKED):
        return True
    return (await memo_of(execution, "status") == "blocked") is (wanted.status is StatusFilter.BLOCKED)


async def standing_of(here: Place, execution: WorkflowExecution) -> tuple[RunStatus, Progress | None]:
    """Find out how a run stands; of one that is under way, with what it says of itself."""
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


async def is_ours(here: Place, execution: WorkflowExecution) -> bool:
    """Say whether it is a run of this tenant; one that does not say is the default tenant's."""
    return (await memo_of(execution, "tenant") or DEFAULT_TENANT) == here.settings.tenant


async def memo_of(execution: WorkflowExecution, name: str) -> str:
    """Read what was written beside the run when it was started; empty where it is not there."""
    value: Any = await execution.memo_value(name, default="")
    return value if isinstance(value, str) else ""


async def ending_of_run(here: Place, execution: WorkflowExecution) -> Ending:
    """Find out how a run ended that is over."""
    with temporal_errors(here.settings, execution.id):
        return await ended(handle_of(here.client, execution.id))


async def records_of(here: Place, execution: WorkflowExecutionDescription) -> list[StepRecord]:
    """The steps of the run's trace, without those of other runs of its lineage.

    Raises:
        StoreUnavailable: the trace cannot be read.
    """
    lines = await trace_of(here, execution)
    return step_records([line for line in lines if line.get("runId", execution.id) == execution.id])


async def trace_of(here: Place, execution: WorkflowExecutionDescription) -> list[dict[str, Any]]:
    """The trace of the run's lineage.

    Raises:
        StoreUnavailable: it cannot be read.
    """
    tenant, lineage = await scope_of(here, execution)
    async with open_store(here.settings) as store:
        return await store.steps.trace(tenant=tenant, lineage=lineage)


async def scope_of(here: Place, execution: WorkflowExecutionDescription) -> tuple[str, str]:
    """Tenant and lineage of the run: with these its ledger and trace are found."""
    tenant = await memo_of(execution, "tenant") or here.settings.tenant
    return tenant, await memo_of(execution, "lineage") or execution.id


async def find_run(here: Place, run: str) -> WorkflowExecutionDescription:
    """The run with this id, or the only one whose id begins or ends with it.

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
    ids = list(dict.fromkeys(execution.id for execution in known_runs))
    found = ids[:1] if run == _LATEST else [known for known in ids if known.startswith(run) or known.endswith(run)]
    if not found:
        raise InputInvalid(f"there is no run {run!r}; `replaywright runs` lists them")
    if len(found) > 1:
        raise InputInvalid(f"{run!r} is the beginning or end of {len(found)} runs, such as {found[0]} and {found[1]}")
    with temporal_errors(here.settings, found[0]):
        return await here.client.get_workflow_handle(found[0]).describe()
