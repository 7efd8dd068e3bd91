"""`replaywright runs`: list runs."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.text import Text
from temporalio.client import WorkflowExecution
from temporalio.common import SearchAttributeKey

from replaywright.cli import output
from replaywright.cli.app import app
from replaywright.cli.completion import skills
from replaywright.cli.options import Json, Limit, Site
from replaywright.cli.runs.finding import executions, memo_of, standing_of
from replaywright.cli.runs.searchable import SCHEDULED_BY, Filter, refuse_unknown, schedule_id
from replaywright.cli.servers.connect import Backend, open_backend, temporal_errors
from replaywright.dashboard.views import RunRow
from replaywright.domain.run.runs import Progress, Totals
from replaywright.domain.run.scope import Mode
from replaywright.domain.run.standing import FILTERS, STATUSES, RunStatus
from replaywright.domain.trace.search_attributes import (
    HEALS,
    MODE,
    MODEL_CALLS,
    NOTHING,
    SITE,
    SKILL,
    SearchAttribute,
)
from replaywright.settings import Settings, load_settings


class StatusFilter(StrEnum):
    """Statuses that the list of runs can be filtered by."""

    RUNNING = "running"
    WAITING = "waiting"
    PAUSED = "paused"
    DONE = "done"
    FAILED = "failed"
    BLOCKED = "blocked"
    CANCELLED = "cancelled"
    TERMINATED = "terminated"
    TIMED_OUT = "timed-out"


_WANTED = dict(zip(StatusFilter, FILTERS, strict=True))


@dataclass(frozen=True)
class FilterOptions:
    """Options that filter runs."""

    healed: Annotated[bool, typer.Option("--healed", help="Only those that healed an element.")] = False
    status: Annotated[
        StatusFilter | None, typer.Option("--status", help="Only those with this status; `running`: all under way.")
    ] = None
    site: Site = ""
    skill: Annotated[
        str, typer.Option("--skill", metavar="NAME", help="Only those of this skill.", autocompletion=skills)
    ] = ""
    mode: Annotated[Mode | None, typer.Option("--mode", help="Only those in this mode.")] = None
    schedule: Annotated[
        str, typer.Option("--schedule", metavar="NAME", help="Only those that this schedule started.")
    ] = ""
    since: Annotated[
        str, typer.Option("--since", metavar="AGE", help="Only those started since then: `7d`, `12h`, or a date.")
    ] = ""
    query: Annotated[
        str,
        typer.Option("--query", metavar="CONDITION", help="Only those that match this query in Temporal's language."),
    ] = ""

    def as_filter(self, settings: Settings) -> Filter:
        """Return the filter for Temporal."""
        return Filter(
            healed=self.healed,
            status=None if self.status is None else _WANTED[self.status],
            site=self.site,
            skill=self.skill,
            mode="" if self.mode is None else self.mode.value,
            schedule=schedule_id(settings.tenant, self.schedule) if self.schedule else "",
            since=self.since,
            query=self.query,
        )


@app.command()
async def runs(*, filtering: FilterOptions, limit: Limit = 20, json: Json = False) -> None:
    """List runs, the newest first: all, or those that match a filter.

    Example: `replaywright runs --healed --since 7d`
    """
    wanted = filtering.as_filter(load_settings())
    async with open_backend() as here:
        with temporal_errors(here.settings):
            await refuse_unknown(here, wanted)
        found = await executions(here, limit, wanted)
        rows = await asyncio.gather(*(row_of(here, execution) for execution in found))
    output.print_list(
        {"runs": [as_json(row) for row in rows]},
        ("status", "run", "task", "started", "took", "Temporal UI"),
        [
            (
                *(Text(STATUSES[row.status].words, STATUSES[row.status].style), row.run_id, row.task),
                *(f"{row.started:%Y-%m-%d %H:%M:%S}", output.duration(seconds_of(row)), row.temporal_url),
            )
            for row in rows
        ],
        json=json,
        nothing="no runs yet: `replaywright run TASK` starts one" if wanted == Filter() else "no such runs",
        right=("took",),
    )


async def row_of(here: Backend, execution: WorkflowExecution) -> RunRow:
    """Build the list's row of a run; one that is under way is asked for its progress."""
    status, progress = await standing_of(here, execution)
    return await row_at(here, execution, status, progress, None if progress is None else progress.totals)


async def row_at(
    here: Backend, execution: WorkflowExecution, status: RunStatus, progress: Progress | None, totals: Totals | None
) -> RunRow:
    """Build the row of a run whose status and counts are known."""
    schedule = execution.typed_search_attributes.get(SCHEDULED_BY) or ""
    return RunRow(
        run_id=execution.id,
        task=await memo_of(execution, "task") or execution.id.split("/")[0],
        status=status,
        started=execution.start_time.astimezone(),
        ended=None if execution.close_time is None else execution.close_time.astimezone(),
        site=_keyword(execution, SITE),
        skill=_keyword(execution, SKILL),
        mode=_keyword(execution, MODE),
        heals=totals.heals if totals is not None else _number(execution, HEALS),
        model_calls=totals.usage.calls if totals is not None else _number(execution, MODEL_CALLS),
        step=0 if progress is None else progress.step,
        steps=0 if progress is None else progress.steps,
        doing="" if progress is None else progress.doing,
        temporal_url=here.run_url(execution.id),
        schedule=schedule.removeprefix(schedule_id(here.settings.tenant, "")),
    )


def _keyword(execution: WorkflowExecution, attribute: SearchAttribute) -> str:
    value = execution.typed_search_attributes.get(SearchAttributeKey.for_keyword(attribute.name)) or ""
    return "" if value == NOTHING else value


def _number(execution: WorkflowExecution, attribute: SearchAttribute) -> int | None:
    return execution.typed_search_attributes.get(SearchAttributeKey.for_int(attribute.name))


def seconds_of(row: RunRow) -> float:
    """Return the duration of a run, up to now if it is under way."""
    return (datetime.now(UTC) - row.started).total_seconds() if row.seconds is None else row.seconds


def as_json(row: RunRow) -> dict[str, Any]:
    """Return the row for JSON output."""
    return {
        "runId": row.run_id,
        "task": row.task,
        "status": STATUSES[row.status].words,
        "started": row.started.astimezone(UTC).isoformat(),
        "seconds": round(seconds_of(row), 3),
        "url": row.temporal_url,
        "schedule": row.schedule,
    }
