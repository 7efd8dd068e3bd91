"""`replaywright runs`: list runs."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.text import Text
from temporalio.client import WorkflowExecution

from replaywright.cli import output
from replaywright.cli.app import app
from replaywright.cli.completion import skills
from replaywright.cli.options import Json, Limit, Site
from replaywright.cli.runs.finding import executions, memo_of, standing_of
from replaywright.cli.runs.searchable import SCHEDULED_BY, Filter, StatusFilter, refuse_unknown, schedule_id
from replaywright.cli.servers.connect import Backend, open_backend, temporal_errors
from replaywright.domain.run.runs import Mode
from replaywright.domain.run.standing import STATUS_WORDS, RunStatus
from replaywright.settings import Settings, load_settings

STYLES: Mapping[RunStatus, str] = {
    "running": "cyan",
    "waiting": "yellow",
    "paused": "yellow",
    "silent": "yellow",
    "done": "green",
    "failed": "red",
    "blocked": "magenta",
    "cancelled": "yellow",
    "terminated": "red",
    "timed_out": "red",
}


@dataclass(frozen=True)
class RunLine:
    """One run of the list."""

    run_id: str
    task: str
    status: str
    style: str
    start: datetime
    seconds: float
    url: str
    schedule: str
    """Schedule that started it; empty for none."""

    @property
    def started(self) -> str:
        """Local time of its start, for people."""
        return self.start.astimezone().strftime("%Y-%m-%d %H:%M:%S")


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
            status=self.status,
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
        lines = await asyncio.gather(*(line_of(here, execution) for execution in found))
    output.print_list(
        {"runs": [as_json(line) for line in lines]},
        ("status", "run", "task", "started", "took", "Temporal UI"),
        [
            (
                *(Text(line.status, line.style), line.run_id, line.task, line.started),
                *(output.duration(line.seconds), line.url),
            )
            for line in lines
        ],
        json=json,
        nothing="no runs yet: `replaywright run TASK` starts one" if wanted == Filter() else "no such runs",
        right=("took",),
    )


async def line_of(here: Backend, execution: WorkflowExecution) -> RunLine:
    """Build the list's line for a run."""
    standing, _ = await standing_of(here, execution)
    status, style = STATUS_WORDS[standing], STYLES[standing]
    end = execution.close_time or datetime.now(UTC)
    return RunLine(
        run_id=execution.id,
        task=await memo_of(execution, "task") or execution.id.split("/")[0],
        status=status,
        style=style,
        start=execution.start_time,
        seconds=(end - execution.start_time).total_seconds(),
        url=here.run_url(execution.id),
        schedule=(execution.typed_search_attributes.get(SCHEDULED_BY) or "").removeprefix(
            schedule_id(here.settings.tenant, "")
        ),
    )


def as_json(line: RunLine) -> dict[str, Any]:
    """Return the line for JSON output."""
    return {
        "runId": line.run_id,
        "task": line.task,
        "status": line.status,
        "started": line.start.isoformat(),
        "seconds": round(line.seconds, 3),
        "url": line.url,
        "schedule": line.schedule,
    }
