"""`replaywright runs`, `show`, `resolve` and `cancel`: looking at runs and stepping in."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer
from rich.text import Text
from temporalio.client import WorkflowExecution, WorkflowExecutionDescription, WorkflowExecutionStatus

from replaywright.artifacts.store import ArtifactStore
from replaywright.cli import output
from replaywright.cli.app import Command, Exit, app, options_of
from replaywright.cli.evidence.evidence import print_report, report_of
from replaywright.cli.people.updates import decide, over_said, require_going, who_asks
from replaywright.cli.runs.follow import WORKFLOW, Ending, ServerGone, ended, handle_of, progress_of
from replaywright.cli.runs.watching import failure_lines, say_what_it_waits_for
from replaywright.cli.servers.connect import Place, place, redis_url_of, require_somewhere, temporal_errors
from replaywright.cli.servers.searchable import SCHEDULED_BY, Filter, Wanted, refuse_unknown, schedule_id
from replaywright.cli.servers.store import StepRecord, opened_store, step_records
from replaywright.domain.commit_lines import commits_said
from replaywright.domain.questions import Verdict
from replaywright.domain.runs import Mode, PersonVerdict, Progress, RunResult
from replaywright.domain.standing import STATUS_WORDS, RunStatus, going
from replaywright.errors import InputInvalid, StoreUnavailable
from replaywright.settings import DEFAULT_TENANT, load_settings
from replaywright.stack.keyring import artifact_keys_of

ENDED: Mapping[WorkflowExecutionStatus | None, RunStatus] = {
    WorkflowExecutionStatus.COMPLETED: "done",
    WorkflowExecutionStatus.FAILED: "failed",
    WorkflowExecutionStatus.CANCELED: "cancelled",
    WorkflowExecutionStatus.TERMINATED: "terminated",
    WorkflowExecutionStatus.TIMED_OUT: "timed_out",
}
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
_LATEST = "latest"
_ALL = Filter()
QUICK = timedelta(seconds=2)
"""How long a run is given to say what it does, where that is nice to know."""
_END_LIMIT_S = 30
_END_POLL_S = 0.2

Run = Annotated[
    str, typer.Argument(metavar="RUN", help="Id of the run, an end or beginning of it that is unique, or `latest`.")
]


@dataclass(frozen=True)
class _Line:
    """One run of the list."""

    run_id: str
    task: str
    status: str
    style: str
    start: datetime
    seconds: float
    url: str
    schedule: str
    """Name of the schedule that started it; empty for none."""


@app.command(cls=Command)
def runs(
    ctx: typer.Context,
    *,
    healed: Annotated[bool, typer.Option("--healed", help="Only those that healed an element.")] = False,
    status: Annotated[
        Wanted | None, typer.Option("--status", help="Only those with this status; `running`: all under way.")
    ] = None,
    site: Annotated[str, typer.Option("--site", metavar="HOST", help="Only those on this host.")] = "",
    skill: Annotated[str, typer.Option("--skill", metavar="NAME", help="Only those of this skill.")] = "",
    mode: Annotated[Mode | None, typer.Option("--mode", help="Only those in this mode.")] = None,
    schedule: Annotated[
        str, typer.Option("--schedule", metavar="NAME", help="Only those that this schedule started.")
    ] = "",
    since: Annotated[
        str, typer.Option("--since", metavar="AGE", help="Only those that began then: `7d`, `12h`, or a date.")
    ] = "",
    query: Annotated[
        str, typer.Option("--query", metavar="CONDITION", help="Only those of which this holds, in Temporal's words.")
    ] = "",
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="How many, the newest first.")] = 20,
    json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """List runs, the newest first: all, or those that were healed, wait, were on a site, and so on.

    Example: `replaywright runs --healed --since 7d`
    """
    options_of(ctx).json = json
    chosen = "" if mode is None else mode.value
    settings = load_settings()
    started_by = schedule_id(settings.tenant, schedule) if schedule else ""
    wanted = Filter(
        healed=healed,
        status=status,
        site=site,
        skill=skill,
        mode=chosen,
        schedule=started_by,
        since=since,
        query=query,
    )
    lines = asyncio.run(_runs(limit, wanted))
    if json:
        output.print_json({"runs": [_as_json(line) for line in lines]})
        return
    if not lines:
        said = "no runs yet: `replaywright run TASK` starts one" if wanted == Filter() else "no such runs"
        output.print_line(said)
        return
    rows = output.table("status", "run", "task", "started", "took", "Temporal UI", right=["took"])
    for line in lines:
        started = line.start.astimezone().strftime("%Y-%m-%d %H:%M:%S")
        took = output.duration(line.seconds)
        rows.add_row(*output.cells(Text(line.status, line.style), line.run_id, line.task, started, took, line.url))
    output.print_table(rows)


@app.command(cls=Command)
def show(
    ctx: typer.Context,
    run: Run,
    step: Annotated[
        int | None, typer.Option(min=1, help="Only this step: what was expected of it and what was there.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Show a run: its steps, how each element was found, what it costs, and what it waits for.

    With `--step`, one step in full: what was expected and what was there, what is different from the last good run, and
    where the evidence of a failure is kept.

    Example: `replaywright show latest`
    """
    options_of(ctx).json = json
    asyncio.run(_show(run, json=json) if step is None else _show_step(run, step, json=json))


@app.command(cls=Command)
def resolve(
    *,
    run: Run,
    step: Annotated[int, typer.Option(min=1, help="Number of the step that the run waits at, as `show` says.")],
    done: Annotated[bool, typer.Option("--done", help="The step took effect: go on after it.")] = False,
    not_done: Annotated[bool, typer.Option("--not-done", help="It took no effect: perform it again.")] = False,
    retry: Annotated[
        bool,
        typer.Option("--retry", help="Perform it again: it failed, or may have taken effect and it does not matter."),
    ] = False,
    skip: Annotated[bool, typer.Option("--skip", help="The step failed and is not needed: go on after it.")] = False,
    redo: Annotated[bool, typer.Option("--redo", help="The same was done before a resume: do it once more.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="The same was done before a resume: take it as done.")] = False,
    abandon: Annotated[bool, typer.Option("--abandon", help="End the run here, as failed.")] = False,
    why: Annotated[str, typer.Option(metavar="TEXT", help="What you saw; kept with the run.")] = "",
) -> None:
    """Decide a step of which nobody but you can say whether it took effect, or one that failed (`--on-failure ask`).

    Look at the site first: a mail that was sent and is said not to be is sent again, and so it is with --retry. `show`
    says which answers the run takes; a step with consequences cannot be skipped. Who decided, and why, is kept in the
    ledger and in the trace.

    Example: `replaywright resolve latest --step 10 --done --why "it is in the Sent folder"`
    """
    given: dict[Verdict, bool] = {
        "done": done,
        "not_done": not_done,
        "retry": retry,
        "skip": skip,
        "redo": redo,
        "keep": keep,
        "abandon": abandon,
    }
    chosen = [verdict for verdict, is_given in given.items() if is_given]
    if len(chosen) != 1:
        raise InputInvalid("say exactly one of --done, --not-done, --retry, --skip, --redo, --keep and --abandon")
    verdict = PersonVerdict(sequence=step - 1, verdict=chosen[0], who=who_asks(), why=why)
    asyncio.run(_resolve(run, verdict))


@app.command(cls=Command)
def cancel(
    run: Run,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Kept in the run's history.")] = "",
) -> None:
    """Cancel a run: the step under way ends, the browser is closed, nothing further is done.

    What was done on the site stays done. A request that is held at the gate is thrown away first; one that has left is
    given 5 s to be answered. The answer names the steps that were sent, those that were not, and those in doubt. For a
    run that is over already it says how that ended and what it has done.

    Example: `replaywright cancel latest`
    """
    raise typer.Exit(asyncio.run(_cancel(run, reason)))


async def _runs(limit: int, wanted: Filter) -> list[_Line]:
    async with place(load_settings(), tell=tell) as here:
        with temporal_errors(here.settings):
            await refuse_unknown(here, wanted)
        found = await executions(here, limit, wanted)
        return list(await asyncio.gather(*(_line(here, execution) for execution in found)))


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
    """What the query cannot say: whether a run that failed was blocked, and that it is a run at all."""
    if execution.workflow_type != WORKFLOW:
        return False
    if wanted.status not in (Wanted.FAILED, Wanted.BLOCKED):
        return True
    return (await memo_of(execution, "status") == "blocked") is (wanted.status is Wanted.BLOCKED)


async def _line(here: Place, execution: WorkflowExecution) -> _Line:
    standing, _ = await standing_of(here, execution)
    status, style = STATUS_WORDS[standing], STYLES[standing]
    end = execution.close_time or datetime.now(UTC)
    return _Line(
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


async def standing_of(here: Place, execution: WorkflowExecution) -> tuple[RunStatus, Progress | None]:
    """How a run stands; of one that is under way, with what it says of itself."""
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
    """Whether it is a run of this tenant; one that does not say is the default tenant's."""
    return (await memo_of(execution, "tenant") or DEFAULT_TENANT) == here.settings.tenant


async def memo_of(execution: WorkflowExecution, name: str) -> str:
    """What was written beside the run when it was started; empty where it is not there."""
    value: Any = await execution.memo_value(name, default="")
    return value if isinstance(value, str) else ""


def _as_json(line: _Line) -> dict[str, Any]:
    return {
        "runId": line.run_id,
        "task": line.task,
        "status": line.status,
        "started": line.start.isoformat(),
        "seconds": round(line.seconds, 3),
        "url": line.url,
        "schedule": line.schedule,
    }


async def _show(run: str, *, json: bool) -> None:
    async with place(load_settings(), tell=tell) as here:
        execution = await find_run(here, run)
        line = await _line(here, execution)
        handle = handle_of(here.client, execution.id)
        progress = None if line.status.endswith("no worker answers") else await progress_of(handle, QUICK)
        is_running = execution.status is WorkflowExecutionStatus.RUNNING
        ending = None if is_running else await ending_of_run(here, execution)
        records, missing = await _records_or_why(here, execution)
    if json:
        shown = _as_json(line) | {
            "progress": progress.model_dump(mode="json", by_alias=True) if progress is not None else None,
            "result": ending.result.model_dump(mode="json", by_alias=True) if ending is not None else None,
            "steps": [record.line for record in records],
        }
        output.print_json(shown)
        return
    _print_run(line, progress, ending, records, missing)


async def _show_step(run: str, step: int, *, json: bool) -> None:
    async with place(load_settings(), tell=tell) as here:
        execution = await find_run(here, run)
        records = await records_of(here, execution)
        report = await report_of(
            execution.id, step, records, ArtifactStore(here.settings.artifacts, artifact_keys_of(here.settings))
        )
    if json:
        output.print_json(report.as_json())
        return
    print_report(report)


async def ending_of_run(here: Place, execution: WorkflowExecution) -> Ending:
    """How a run ended that is over."""
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
    async with opened_store(redis_url_of(here.settings), here.settings) as store:
        return await store.trace(tenant=tenant, lineage=lineage)


async def scope_of(here: Place, execution: WorkflowExecutionDescription) -> tuple[str, str]:
    """Tenant and lineage of the run: with these its ledger and trace are found."""
    tenant = await memo_of(execution, "tenant") or here.settings.tenant
    return tenant, await memo_of(execution, "lineage") or execution.id


async def _records_or_why(here: Place, execution: WorkflowExecutionDescription) -> tuple[list[StepRecord], str]:
    try:
        return await records_of(here, execution), ""
    except StoreUnavailable as exc:
        return [], f"the trace cannot be read: {exc}"


def _print_run(
    line: _Line, progress: Progress | None, ending: Ending | None, records: list[StepRecord], missing: str
) -> None:
    console = output.standard_output()
    output.print_line(f"run {line.run_id}", style="bold")
    started = line.start.astimezone().strftime("%Y-%m-%d %H:%M:%S")
    output.print_line_as_is(f"  {line.status}, started {started}, {output.duration(line.seconds)}")
    if line.url:
        output.print_line_as_is(f"  {line.url}")
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
            say_what_it_waits_for(progress, line.run_id, console)
    result = ending.result if ending is not None else RunResult(succeeded=True)
    if not result.succeeded:
        for words in failure_lines(result):
            output.print_line(words, style="red")
        if result.artifacts and result.failed_step is not None:
            shown = f"replaywright show {line.run_id} --step {result.failed_step + 1}"
            output.print_line(f"what was expected and what was there: {shown}", style="dim")
    totals = result.totals if ending is not None else progress.totals if progress is not None else None
    if totals is not None:
        output.print_line(output.totals_line(totals), style="dim")
    output.print_line(f"all of it, with pictures: replaywright report {line.run_id}", style="dim")


def _print_steps(records: list[StepRecord]) -> None:
    rows = output.table("step", "", "what", "found by", "score", "took", "model calls", right=["step", "score", "took"])
    console = output.standard_output()
    for record in records:
        score = f"{record.lookup.score:.2f}" if record.lookup.score else ""
        calls = output.count(record.usage.calls, "call") if record.usage.calls else ""
        found = output.how_found(
            record.lookup, from_ledger=record.from_ledger, already_done=record.outcome.already_done
        )
        rows.add_row(
            *output.cells(
                f"{record.sequence + 1:04d}",
                output.mark(record.status, console),
                _what(record),
                found,
                score,
                output.duration(record.seconds),
                calls,
            )
        )
    output.print_table(rows, console)


def _what(record: StepRecord) -> str:
    rule = f"override {record.override}: " if record.override else ""
    warnings = (f"warning: {warning}" for warning in record.outcome.warnings)
    beside = (record.overruled, record.message, *warnings)
    return " – ".join((f"{rule}{record.title}", *filter(None, beside)))


async def _resolve(run: str, verdict: PersonVerdict) -> None:
    settings = load_settings()
    require_somewhere(settings)
    async with place(settings, tell=tell) as here:
        execution = await find_run(here, run)
        await require_going(here, execution.id, "resolve")
        await decide(here, execution.id, verdict)
    again = dict.fromkeys(("not_done", "retry", "redo"), "performs it again")
    said = {**again, "abandon": "ends here, as failed"}
    output.print_line(
        f"step {verdict.sequence + 1} decided: the run {said.get(verdict.verdict, 'goes on after it')}", style="green"
    )


async def _cancel(run: str, reason: str) -> Exit:
    settings = load_settings()
    require_somewhere(settings)
    async with place(settings, tell=tell) as here:
        execution = await find_run(here, run)
        if said := await over_said(here, execution.id, "cancel"):
            output.print_line(said)
            return Exit.DONE
        handle = handle_of(here.client, execution.id)
        with temporal_errors(here.settings, execution.id):
            await handle.cancel(reason=reason)
            for _ in range(int(_END_LIMIT_S / _END_POLL_S)):
                if (await handle.describe()).status is not WorkflowExecutionStatus.RUNNING:
                    ending = await ended(handle)
                    output.print_line(f"{execution.id}: {ended_said(ending)}", style="green")
                    return Exit.DONE
                await asyncio.sleep(_END_POLL_S)
    output.print_line(f"{execution.id}: asked to cancel; it ends as soon as a worker is there", style="yellow")
    return Exit.DONE


def ended_said(ending: Ending) -> str:
    """How a run ended, and which of its steps with consequences were done or are in doubt."""
    return "; ".join(filter(None, (ending.status.replace("_", " "), commits_said(ending.result.commits))))


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


def tell(text: str) -> None:
    """Say what happens meanwhile, on standard error."""
    output.print_line(text, style="dim", console=output.standard_error())
