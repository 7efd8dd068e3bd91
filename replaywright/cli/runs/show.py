"""`replaywright show`: show a run."""

from typing import Annotated

import typer
from temporalio.client import WorkflowExecutionDescription, WorkflowExecutionStatus

from replaywright.cli import output
from replaywright.cli.app import app
from replaywright.cli.evidence.evidence import print_report, report_of
from replaywright.cli.options import Json, Run
from replaywright.cli.runs.finding import QUICK, ending_of_run, find_run, own_records, records_of, trace_or_why
from replaywright.cli.runs.follow import Ending, handle_of, progress_of
from replaywright.cli.runs.listing import as_json, row_of, seconds_of
from replaywright.cli.runs.watching import failure_lines, print_question
from replaywright.cli.servers.artifacts import artifact_store_of
from replaywright.cli.servers.connect import Backend, open_backend
from replaywright.cli.servers.store import StepRecord
from replaywright.dashboard.views import RunRow
from replaywright.domain.run.runs import Progress, RunResult
from replaywright.domain.run.standing import STATUSES


@app.command()
async def show(
    run: Run,
    step: Annotated[
        int | None, typer.Option(min=1, help="Only this step: what was expected of it and what was there.")
    ] = None,
    json: Json = False,
) -> None:
    """Show a run: its steps, how each element was found, its cost, and its question.

    With `--step`, show one step in full: expectations and findings, differences from the last good run, and the
    artifacts of a failure.

    Example: `replaywright show latest`
    """
    async with open_backend() as here:
        execution = await find_run(here, run)
        if step is None:
            await _show(here, execution, json=json)
            return
        report = await report_of(
            execution.id, step, await records_of(here, execution), artifact_store_of(here.settings)
        )
    if json:
        output.print_json(report.as_json())
    else:
        print_report(report)


async def _show(here: Backend, execution: WorkflowExecutionDescription, *, json: bool) -> None:
    row = await row_of(here, execution)
    handle = handle_of(here.client, execution.id)
    progress = None if row.status == "silent" else await progress_of(handle, QUICK)
    is_running = execution.status is WorkflowExecutionStatus.RUNNING
    ending = None if is_running else await ending_of_run(here, execution)
    lines, missing = await trace_or_why(here, execution)
    records = own_records(lines, execution.id)
    if json:
        shown = as_json(row) | {
            "progress": progress.model_dump(mode="json", by_alias=True) if progress is not None else None,
            "result": ending.result.model_dump(mode="json", by_alias=True) if ending is not None else None,
            "steps": [record.line for record in records],
        }
        output.print_json(shown)
        return
    _print_run(row, progress, ending, records, missing)


def _print_run(
    row: RunRow, progress: Progress | None, ending: Ending | None, records: list[StepRecord], missing: str
) -> None:
    console = output.standard_output()
    output.print_line(f"run {row.run_id}", style="bold")
    status, took = STATUSES[row.status].words, output.duration(seconds_of(row))
    output.print_line_as_is(f"  {status}, started {row.started:%Y-%m-%d %H:%M:%S}, {took}")
    if row.temporal_url:
        output.print_line_as_is(f"  {row.temporal_url}")
    if records:
        _print_steps(records)
    elif progress is not None:
        output.print_lines(progress.lines, console)
    if missing:
        output.print_line(missing, style="yellow")
    if progress is not None and ending is None:
        now = progress.waiting_for if progress.status == "paused" else progress.doing or progress.status
        output.print_line(f"now: step {progress.step + 1} of {progress.steps}: {now}")
        if progress.status == "waiting":
            print_question(progress, row.run_id, console)
    result = ending.result if ending is not None else RunResult(succeeded=True)
    if not result.succeeded:
        for words in failure_lines(result):
            output.print_line(words, style="red")
        if result.artifacts and result.failed_step is not None:
            shown = f"replaywright show {row.run_id} --step {result.failed_step + 1}"
            output.print_line(f"what was expected and what was there: {shown}", style="dim")
    totals = result.totals if ending is not None else progress.totals if progress is not None else None
    if totals is not None:
        output.print_line(output.totals_line(totals), style="dim")
    output.print_line(f"all of it, with pictures: replaywright report {row.run_id}", style="dim")


def _print_steps(records: list[StepRecord]) -> None:
    console, rows = output.standard_output(), []
    for record in records:
        score = f"{record.lookup.score:.2f}" if record.lookup.score else ""
        calls = output.count(record.usage.calls, "call") if record.usage.calls else ""
        found = output.how_found(
            record.lookup, from_ledger=record.from_ledger, already_done=record.outcome.already_done
        )
        step = (f"{record.sequence + 1:04d}", output.mark(record.status, console), _what(record))
        rows.append((*step, found, score, output.duration(record.seconds), calls))
    columns = ("step", "", "what", "found by", "score", "took", "model calls")
    output.print_table(columns, rows, right=("step", "score", "took"), console=console)


def _what(record: StepRecord) -> str:
    rule = f"override {record.override}: " if record.override else ""
    warnings = (f"warning: {warning}" for warning in record.outcome.warnings)
    beside = (record.overruled, record.message, *warnings)
    return " – ".join((f"{rule}{record.title}", *filter(None, beside)))
