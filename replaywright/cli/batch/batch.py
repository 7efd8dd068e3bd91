"""`replaywright batch`: one task over the rows of a file, each row once."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from replaywright.cli import output
from replaywright.cli.app import app
from replaywright.cli.batch.batch_follow import counts_text, end_text, followed, progress_of
from replaywright.cli.batch.batch_place import (
    BatchStore,
    batch_handle,
    batch_store,
    batches,
    find_batch,
    is_under_way,
    rows_digest,
    start_batch,
)
from replaywright.cli.batch.batch_retry import Chosen, Picked, begin_again, planned_again
from replaywright.cli.check.check_input import is_file
from replaywright.cli.command import Exit
from replaywright.cli.completion import tasks, tasks_or_skills
from replaywright.cli.files import require_writable, write_whole
from replaywright.cli.groups import DefaultCommand
from replaywright.cli.options import Json, Limit, NewId, ValueOptions, Why
from replaywright.cli.people.updates import once_ready, user_name
from replaywright.cli.runs.finding import input_of, memo_of
from replaywright.cli.runs.options import RunOptions
from replaywright.cli.runs.run import checked_id
from replaywright.cli.runs.starting import Order, Prepared, order_of, prepared, refuse_what_is_blocked
from replaywright.cli.servers.connect import (
    Backend,
    open_backend,
    open_existing_backend,
    open_working_backend,
    require_backend,
)
from replaywright.cli.skills.skill_run import runnable_at
from replaywright.cli.tasks import taskfile
from replaywright.domain.batch.batches import (
    DEFAULT_PARALLEL,
    MOST_PARALLEL,
    BatchInput,
    BatchProgress,
    BatchState,
    Row,
    StopBatch,
)
from replaywright.domain.batch.row_files import as_csv, as_json_line, read_rows, repeated, result_of
from replaywright.domain.common.elsewhere import ROWS_LIMIT
from replaywright.domain.run.scope import Mode
from replaywright.domain.skill.skills import SkillRef, SkillStatus
from replaywright.domain.task.tasks import Task
from replaywright.errors import InputInvalid
from replaywright.settings import Settings, load_settings
from replaywright.yaml_files import read_bytes

_REPEATED_SHOWN = 3


batch_app = app.group(
    "batch",
    "Run a skill or task once for each row of a file: begin, go on, try failed rows again, results.",
    "replaywright batch send-mail --csv rows.csv --out results.csv",
    cls=DefaultCommand,
)

BatchId = Annotated[
    str,
    typer.Argument(metavar="BATCH", help="Id of the batch, a unique beginning or end of it, or `latest`."),
]


@dataclass(frozen=True)
class PaceOptions:
    """Options that limit parallel rows and failures."""

    parallel: Annotated[
        int | None,
        typer.Option(
            "--parallel",
            metavar="N",
            min=1,
            max=MOST_PARALLEL,
            help=f"Rows that run in parallel. (default: {DEFAULT_PARALLEL}, of a resumed batch as before)",
        ),
    ] = None
    max_failures: Annotated[
        int | None,
        typer.Option("--max-failures", metavar="N", min=1, help="Start no further row after so many failures."),
    ] = None


@dataclass(frozen=True)
class ResultOptions:
    """Options for the output of results."""

    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Write the results to this file: CSV, or JSON lines for `.jsonl`."),
    ] = None
    jsonl: Annotated[bool, typer.Option("--jsonl", help="Write JSON lines, whatever the file's name.")] = False


@dataclass(frozen=True)
class WatchOptions:
    """Options for following the batch."""

    detach: Annotated[bool, typer.Option("--detach", help="Start, and return at once.")] = False
    wait: Annotated[
        bool, typer.Option("--wait", help="Keep waiting when only rows that wait for a person are left.")
    ] = False
    json: Json = False


@dataclass(frozen=True)
class _Asked:
    """Request of the caller for a batch that is started or resumed."""

    settings: Settings
    results: ResultOptions
    watching: WatchOptions

    @property
    def console(self) -> Console:
        """Console for progress."""
        return output.for_people(json=self.watching.json)

    def tell(self, text: str) -> None:
        """Print a progress message."""
        output.print_line(text, style="dim", console=self.console)


def _asked(results: ResultOptions, watching: WatchOptions) -> _Asked:
    """Check the options before anything is started."""
    require_writable("--out", results.out)
    settings = load_settings()
    if watching.detach:
        require_backend(settings)
        if results.out is not None:
            raise InputInvalid("--detach and --out: the results come later; `replaywright batch results` writes them")
    return _Asked(settings, results, watching)


Begin = Callable[[Backend, BatchStore], Awaitable[str]]
"""Function that starts or finds a batch and returns its id."""


@batch_app.command("start")
async def start(
    *,
    what: Annotated[
        str,
        typer.Argument(metavar="SKILL|FILE", help="Name of a skill, or a task file.", autocompletion=tasks_or_skills),
    ],
    csv: Annotated[
        str, typer.Option("--csv", metavar="FILE", help="The rows: a header with parameters' names; `-`: from stdin.")
    ],
    pace: PaceOptions,
    results: ResultOptions,
    given: ValueOptions,
    manner: RunOptions,
    batch_id: NewId = None,
    watching: WatchOptions,
) -> None:
    """Start a batch, and show it to its end; `replaywright batch SKILL` is short for it. Each row is done once.

    The whole file is checked first. Ctrl-C leaves the batch running. A row that fails does not end it; each row is a
    run of its own, which `replaywright show` and `report` show.

    Exit status: 0 all rows done, 1 a row failed, 2 bad input, 4 the rest waits for a person, 130 left with Ctrl-C.

    Example: `replaywright batch start send-mail --csv rows.csv --parallel 8 --max-failures 20 --out results.csv`
    """
    asked = _asked(results, watching)
    data = read_bytes(csv, f"--csv {csv!r}", ROWS_LIMIT)
    common = taskfile.read_parameters(given.param or [], given.params)
    wanted_id = checked_id(batch_id)
    from_file = taskfile.read_task(what) if is_file(what) else None
    source = "standard input" if csv == "-" else csv
    if from_file is not None:
        read_rows(data, source, from_file, common)  # what is wrong with them is told before a stack is started

    async def begin(here: Backend, store: BatchStore) -> str:
        task, skill = (from_file, None) if from_file is not None else await _skill(here, what, asked)
        rows = read_rows(data, source, task, common)
        order = order_of(task, rows[0].values, "", manner, skill)
        ready = await prepared(here, order)
        sited = _with_sites(task, rows, here.settings)
        _print_repeated(rows, asked)
        if here.how != "configured":
            taskfile.require_secrets(task, rows[0].values, here.settings.home)
        batch = wanted_id or _new_id(task, rows[0])
        whole = await _whole(store, ready, order, sited, source, pace=pace)
        await start_batch(here, batch, whole, again=False)
        return batch

    raise typer.Exit(await _carry_out(asked, begin))


async def _whole(
    store: BatchStore, told: Prepared, order: Order, rows: list[Row], source: str, *, pace: PaceOptions
) -> BatchInput:
    """Store the rows of the file, and return the batch over them."""
    return BatchInput(
        run=told.input.model_copy(update={"values": {}}),
        index=await store.put(rows),
        total=len(rows),
        parallel=pace.parallel or DEFAULT_PARALLEL,
        max_failures=pace.max_failures or 0,
        first_alone=order.mode is Mode.AUTO,
        source=source,
        summary=told.summary,
        details=told.details,
        memo=told.memo,
        attributes={pair.key.name: pair.value for pair in told.attributes.search_attributes},
    )


@batch_app.command("resume")
async def resume(*, batch: BatchId, pace: PaceOptions, results: ResultOptions, watching: WatchOptions) -> None:
    """Resume a batch: watch one that is under way, or start the remaining rows of one that was stopped.

    Rows that have ended are not repeated; `replaywright batch retry` repeats those that failed.

    Exit status: as for `batch start`.

    Example: `replaywright batch resume latest`
    """
    asked = _asked(results, watching)

    async def begin(here: Backend, store: BatchStore) -> str:
        found = await find_batch(here, batch)
        if is_under_way(found):
            if pace.parallel or pace.max_failures:
                raise InputInvalid(
                    f"{found.id} is under way: --parallel and --max-failures are for one that was stopped; "
                    f"`replaywright batch cancel {found.id}` stops it"
                )
            return found.id
        before = await input_of(here, found, BatchInput)
        index = await store.index(before.of_file)
        given = before.model_copy(
            update={
                "index": before.of_file,
                "whole": "",
                "total": index.rows,
                "parallel": pace.parallel or before.parallel,
                "max_failures": pace.max_failures or 0,
                "state": BatchState(),
            }
        )
        await start_batch(here, found.id, given, again=True)
        return found.id

    raise typer.Exit(await _carry_out(asked, begin))


@batch_app.command("retry")
async def retry(
    *,
    batch: BatchId,
    row: Annotated[
        list[int] | None,
        typer.Option("--row", metavar="N", min=1, help="Only this row, also when it is in doubt; repeatable."),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(
            "--task", metavar="FILE", help="Corrected task; default: that of the batch.", autocompletion=tasks
        ),
    ] = None,
    manner: RunOptions,
    pace: PaceOptions,
    results: ResultOptions,
    watching: WatchOptions,
) -> None:
    """Retry the rows that failed: each resumes where it stopped; completed steps are not repeated.

    Each row gets a new run that resumes the one before. A row is skipped if it is unknown whether a step with
    consequences took effect. Name it with --row, and its run finds out first, or asks a person.

    Exit status: as for `batch start`.

    Example: `replaywright batch retry latest --mode auto`
    """
    asked = _asked(results, watching)
    mended = None if task is None else taskfile.read_task(task)
    wish = Chosen(frozenset(row or []), mended, manner, user_name())

    async def begin(here: Backend, store: BatchStore) -> str:
        plan = await planned_again(here, store, batch, wish, tell=asked.tell)
        _print_picked(plan.picked, asked)
        changes = {"parallel": pace.parallel or plan.given.parallel, "max_failures": pace.max_failures or 0}
        await begin_again(here, replace(plan, given=plan.given.model_copy(update=changes)))
        return plan.batch

    raise typer.Exit(await _carry_out(asked, begin))


@batch_app.command("cancel")
async def cancel(
    *,
    batch: BatchId,
    abort: Annotated[
        bool, typer.Option("--abort", help="Cancel the rows under way, too; else these end by themselves.")
    ] = False,
    why: Why = "",
) -> None:
    """Stop a batch: no further row starts; rows under way finish or, with --abort, are cancelled.

    Changes on the site stay. `replaywright batch resume` starts the remaining rows, `retry` the cancelled ones.

    Example: `replaywright batch cancel latest`
    """
    async with open_existing_backend() as here:
        found = await find_batch(here, batch)
        if not is_under_way(found):
            output.print_line(f"{found.id}: nothing to stop: it has ended")
            return
        stop = StopBatch(abort=abort, who=user_name(), why=why)
        progress: BatchProgress = await once_ready(
            lambda: batch_handle(here, found.id).execute_update("stop", stop, result_type=BatchProgress)
        )
    rows = output.count(progress.under_way, "row")
    how = "cancelled" if abort else "left to end by themselves"
    output.print_line(f"{found.id}: no further row is begun; {rows} under way: {how}", style="yellow")


@batch_app.command("results")
async def results(*, batch: BatchId, results: ResultOptions) -> None:
    """Write the result of each row, in the order of the file; without --out to standard output.

    Works at any time: a row that has not started or not ended has the status `open`.

    Example: `replaywright batch results latest --out results.csv`
    """
    require_writable("--out", results.out)
    async with open_backend() as here, batch_store(here) as store:
        found = await find_batch(here, batch)
        await _write_results(here, store, found.id, results)
    if results.out is not None:
        output.print_line(f"results: {results.out}")


@batch_app.command("show")
async def show(*, batch: BatchId, json: Json = False) -> None:
    """Show the progress of a batch: counts by status, rows that wait, and failures.

    Example: `replaywright batch show latest`
    """
    async with open_backend() as here, batch_store(here) as store:
        found = await find_batch(here, batch)
        progress = await _standing(here, store, found.id, ended=not is_under_way(found))
        if json:
            output.print_json(_as_json(here, found.id, progress))
            return
        output.print_line(f"batch {found.id}", style="bold")
        _report(here, found.id, progress, output.standard_output())
        for end in progress.problems:
            output.print_line(f"  {end_text(end)}")


@batch_app.command("list")
async def list_batches(*, limit: Limit = 20, json: Json = False) -> None:
    """List batches, the newest first.

    Example: `replaywright batch list`
    """
    async with open_backend() as here:
        lines = [
            {
                "batch": each.id,
                "task": await memo_of(each, "task"),
                "status": "running" if is_under_way(each) else "ended",
                "started": each.start_time.isoformat(),
                "url": here.run_url(each.id),
            }
            for each in await batches(here, limit)
        ]
    output.print_list(
        {"batches": lines},
        ("status", "batch", "task", "started"),
        [(line["status"], line["batch"], line["task"], line["started"][:19]) for line in lines],
        json=json,
        nothing="no batches yet: `replaywright batch SKILL --csv rows.csv` begins one",
    )


# ---------------------------------------------------------------------------------------------- beginning


async def _carry_out(asked: _Asked, begin: Begin) -> Exit:
    async with open_working_backend(asked.settings, tell=asked.tell) as here, batch_store(here) as store:
        batch = await begin(here, store)
        console = asked.console
        output.print_line(f"batch {batch}", style="bold", console=console)
        if url := here.run_url(batch):
            output.print_line(f"  {url}", style="dim", console=console)
        if asked.watching.detach:
            if asked.watching.json:
                output.print_json({"batch": batch, "url": here.run_url(batch), "status": "started"})
            return Exit.DONE
        progress = await followed(here, batch_handle(here, batch), console, wait=asked.watching.wait)
        if progress is None:
            _print_it_goes_on(here, batch, console)
            if asked.watching.json:
                output.print_json({"batch": batch, "url": here.run_url(batch), "status": "running"})
            return Exit.INTERRUPTED
        status = exit_status(progress)
        _report(here, batch, progress, console)
        if asked.results.out is not None:
            await _write_results(here, store, batch, asked.results)
            output.print_line(f"results: {asked.results.out}", console=console)
        else:
            output.print_line(f"results: `replaywright batch results {batch} --out results.csv`", console=console)
        if asked.watching.json:
            output.print_json(_as_json(here, batch, progress) | {"exitStatus": int(status)})
        return status


def exit_status(progress: BatchProgress) -> Exit:
    """Return the exit status for the progress of a batch."""
    if progress.status == "running" and progress.waiting:
        return Exit.WAITING
    if progress.done == progress.total:
        return Exit.DONE
    unmet = progress.total - progress.done
    return Exit.BLOCKED if progress.ended.get("blocked", 0) == unmet else Exit.FAILED


def _report(here: Backend, batch: str, progress: BatchProgress, console: Console) -> None:
    is_done = progress.done == progress.total
    style = "green" if is_done else "yellow"
    output.print_line(f"{progress.status}: {counts_text(progress)}", style=style, console=console)
    if progress.stopped:
        output.print_line(f"  no further row was begun: {progress.why}", style="yellow", console=console)
    for begun in progress.waiting:
        output.print_line(
            f"  row {begun.number} waits for a person: `replaywright show {begun.run_id}`", console=console
        )
    left = progress.total - progress.over - progress.under_way
    if left > 0:
        rows = output.count(left, "row was", "rows were")
        output.print_line(f"  {rows} not begun: `replaywright batch resume {batch}` goes on", console=console)
    if progress.over > progress.done:
        rows = output.count(progress.over - progress.done, "row")
        output.print_line(f"  {rows} came to nothing: `replaywright batch retry {batch}` tries again", console=console)
    if here.how == "started" and progress.under_way:
        output.print_line("  start `replaywright up` first: the stack of this command ends now", console=console)


def _print_it_goes_on(here: Backend, batch: str, console: Console) -> None:
    if here.how == "started":
        text = (
            "the stack of this command ends with it, and the batch goes on with the next `replaywright up`; "
            f"`replaywright batch show {batch}` shows it"
        )
    else:
        text = (
            f"the batch goes on: `replaywright batch show {batch}` shows it, `replaywright batch resume {batch}` "
            f"follows it, `replaywright batch cancel {batch}` stops it"
        )
    output.print_line(text, style="yellow", console=console)


async def _skill(here: Backend, name: str, asked: _Asked) -> tuple[Task, SkillRef]:
    skill = await runnable_at(here, name)
    if skill.status is SkillStatus.SUSPECT:
        asked.tell(f"version {skill.version} of {name} is suspect, a run failed: `replaywright skills show {name}`")
    return skill.task, SkillRef(name=skill.name, version=skill.version)


def _with_sites(task: Task, rows: list[Row], settings: Settings) -> list[Row]:
    """Return the rows with their hosts, each of which the policy of this process must allow.

    Raises:
        PolicyBlocked: it does not; the worker decides again, by its own.
    """
    seen: set[str] = set()
    sited = []
    for row in rows:
        site = taskfile.site_of(task, row.values)
        if site not in seen:
            refuse_what_is_blocked(settings, task, row.values)
            seen.add(site)
        sited.append(row.model_copy(update={"site": site}))
    return sited


def _print_repeated(rows: list[Row], asked: _Asked) -> None:
    twice = repeated(rows)
    for row, earlier in twice[:_REPEATED_SHOWN]:
        asked.tell(f"line {row.line} says the same as line {earlier.line}: both are done, as two rows")
    if len(twice) > _REPEATED_SHOWN:
        asked.tell(f"and {output.count(len(twice) - _REPEATED_SHOWN, 'more such row')}")


def _print_picked(picked: Picked, asked: _Asked) -> None:
    for number, why in picked.left_out:
        output.print_line(f"row {number} is not tried again: {why}", style="yellow", console=asked.console)
    asked.tell(f"{output.count(len(picked.rows), 'row')} to be tried again")


def _new_id(task: Task, row: Row) -> str:
    name, _, stamp = taskfile.new_run_id(task, row.values).split("/")
    return f"{name}/batch/{stamp}"


# ---------------------------------------------------------------------------------------------- looking


async def _write_results(here: Backend, store: BatchStore, batch: str, results: ResultOptions) -> None:
    digest = await rows_digest(await find_batch(here, batch))
    found = [result_of(row, end) async for row, end in store.rows(batch, digest)]
    if results.jsonl or (results.out is not None and results.out.suffix.lower() == ".jsonl"):
        text = "".join(map(as_json_line, found))
    else:
        header, line = as_csv(list(found[0]["values"]))
        text = header + "".join(map(line, found))
    if results.out is None:
        output.print_file(text)
    else:
        write_whole(results.out, text)


async def _standing(here: Backend, store: BatchStore, batch: str, *, ended: bool) -> BatchProgress:
    """Return the progress; for a batch that has ended, over all its rows, not only those of its last execution."""
    if not ended:
        progress = await progress_of(batch_handle(here, batch))
        if progress is not None:
            return progress
        output.print_progress("no worker answers; what follows is what was noted")
    return await store.standing(batch, await rows_digest(await find_batch(here, batch)), ended=ended)


def _as_json(here: Backend, batch: str, progress: BatchProgress) -> dict[str, Any]:
    return {"batch": batch, "url": here.run_url(batch), **progress.model_dump(mode="json", by_alias=True)}
