"""`replaywright batch`: one task over the rows of a file, each row once."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from typer.core import TyperGroup

from replaywright.cli import output
from replaywright.cli.app import Command, Exit, app, options_of
from replaywright.cli.batch.batch_follow import counts_said, end_said, followed, progress_of
from replaywright.cli.batch.batch_place import (
    BatchStore,
    batch_handle,
    batch_store,
    batches,
    find_batch,
    input_of,
    is_under_way,
    rows_digest,
    start_batch,
)
from replaywright.cli.batch.batch_retry import Chosen, Picked, chosen
from replaywright.cli.check.check import require_writable
from replaywright.cli.check.check_input import is_file
from replaywright.cli.evidence.trace import write_whole
from replaywright.cli.people.updates import who_asks
from replaywright.cli.runs.run import checked_id
from replaywright.cli.runs.runs import memo_of, tell
from replaywright.cli.runs.starting import Order, prepared, refuse_what_is_blocked
from replaywright.cli.servers.connect import Place, place, redis_url_of, require_somewhere, working_place
from replaywright.cli.skills.skill_run import runnable
from replaywright.cli.skills.skill_store import knowledge_base_at
from replaywright.cli.tasks import taskfile
from replaywright.domain.batches import (
    DEFAULT_PARALLEL,
    MOST_PARALLEL,
    BatchInput,
    BatchProgress,
    BatchState,
    Row,
    StopBatch,
)
from replaywright.domain.elsewhere import ROWS_LIMIT
from replaywright.domain.row_files import as_csv, as_json_line, read_rows, repeated, result_of
from replaywright.domain.runs import Heal, Mode
from replaywright.domain.skills import SkillRef, SkillStatus
from replaywright.domain.tasks import Task
from replaywright.errors import InputInvalid
from replaywright.settings import Settings, load_settings
from replaywright.yaml_files import read_bytes

_REPEATED_SHOWN = 3
_BEGIN = "start"


class _Batches(TyperGroup):
    """Takes `batch SKILL` for `batch start SKILL`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """What is no command's name is what to begin."""
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help"):
            args = [_BEGIN, *args]
        return super().parse_args(ctx, args)


batch_app = typer.Typer(
    cls=_Batches,
    help="Run a skill or task once for each row of a file: begin, go on, try failed rows again, results.",
    epilog="Example: `replaywright batch send-mail --csv rows.csv --out results.csv`",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
app.add_typer(batch_app, name="batch")

BatchId = Annotated[
    str,
    typer.Argument(metavar="BATCH", help="Id of the batch, an end or beginning of it that is unique, or `latest`."),
]
Parallel = Annotated[
    int | None,
    typer.Option(
        "--parallel",
        metavar="N",
        min=1,
        max=MOST_PARALLEL,
        help=f"Rows under way at the same time. (default: {DEFAULT_PARALLEL})",
    ),
]
MaxFailures = Annotated[
    int | None,
    typer.Option("--max-failures", metavar="N", min=1, help="Begin no further row after so many that came to nothing."),
]
Out = Annotated[
    Path | None, typer.Option("--out", metavar="FILE", help="Write the results there: CSV, or JSON lines for `.jsonl`.")
]
JsonLines = Annotated[bool, typer.Option("--jsonl", help="Results as JSON lines, whatever the file is called.")]
Detach = Annotated[bool, typer.Option("--detach", help="Begin, and return at once.")]
Wait = Annotated[bool, typer.Option("--wait", help="Wait on when only rows are left that wait for a person.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output, the rest on standard error.")]

OneObject = Annotated[bool, typer.Option("--json", help="One JSON object.")]


@dataclass(frozen=True)
class _Asked:
    """What the caller wants of the command that begins or goes on with a batch."""

    settings: Settings
    out: Path | None
    jsonl: bool
    detach: bool
    wait: bool
    json: bool

    @property
    def console(self) -> Console:
        """Where progress goes."""
        return output.standard_error() if self.json else output.standard_output()

    def tell(self, text: str) -> None:
        """Say what takes long."""
        output.print_line(text, style="dim", console=self.console)


def _asked(ctx: typer.Context, *, out: Path | None, jsonl: bool, detach: bool, wait: bool, json: bool) -> _Asked:
    options_of(ctx).json = json
    require_writable("--out", out, is_folder=False)
    settings = load_settings()
    if detach:
        require_somewhere(settings)
        if out is not None:
            raise InputInvalid("--detach and --out: the results come later; `replaywright batch results` writes them")
    return _Asked(settings, out, jsonl, detach, wait, json)


Begin = Callable[[Place, BatchStore], Awaitable[str]]
"""Begins a batch, or finds one, and returns its id."""


@batch_app.command(_BEGIN, cls=Command)
def start(
    ctx: typer.Context,
    *,
    what: Annotated[str, typer.Argument(metavar="SKILL|FILE", help="Name of a skill, or a task file.")],
    csv: Annotated[
        str, typer.Option("--csv", metavar="FILE", help="The rows: a header with parameters' names; `-`: from stdin.")
    ],
    parallel: Parallel = None,
    max_failures: MaxFailures = None,
    out: Out = None,
    jsonl: JsonLines = False,
    param: Annotated[
        list[str] | None,
        typer.Option("--param", "-p", metavar="NAME=VALUE", help="A value for every row; repeatable."),
    ] = None,
    params: Annotated[
        str | None, typer.Option("--params", metavar="FILE", help="YAML or JSON file with such values; --param wins.")
    ] = None,
    mode: Annotated[
        Mode | None, typer.Option(help="As for `run`. (default: `replay` for a skill, `auto` for a task file)")
    ] = None,
    heal: Annotated[Heal, typer.Option(help="As for `run`.")] = Heal.AUTO,
    batch_id: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="Name the batch; a name serves once.")
    ] = None,
    detach: Detach = False,
    wait: Wait = False,
    json: Json = False,
) -> None:
    """Begin a batch, and show it to its end; `replaywright batch SKILL` is short for it. Each row is done once.

    The file is checked as a whole first. Ctrl-C leaves the batch to itself. A row that fails does not end it; each row
    is a run of its own, which `replaywright show` and `report` show.

    Exit status: 0 every row done, 1 one was not, 2 bad input, 4 what is left waits for a person, 130 left with Ctrl-C.

    Example: `replaywright batch send-mail --csv rows.csv --parallel 8 --max-failures 20 --out results.csv`
    """
    asked = _asked(ctx, out=out, jsonl=jsonl, detach=detach, wait=wait, json=json)
    data = read_bytes(csv, f"--csv {csv!r}", ROWS_LIMIT)
    common = taskfile.read_parameters(param or [], params)
    wanted_id = checked_id(batch_id)
    task = taskfile.read_task(what) if is_file(what) else None
    source = "standard input" if csv == "-" else csv
    rows = None if task is None else read_rows(data, source, task, common)

    async def begin(here: Place, store: BatchStore) -> str:
        if task is None:
            found, skill = await _skill(here, what, asked)
            read = read_rows(data, source, found, common)
        else:
            found, skill, read = task, None, rows or []
        order = Order(
            found, read[0].values, "", mode or (Mode.AUTO if skill is None else Mode.REPLAY), heal, skill=skill
        )
        told = await prepared(here, order)
        sited = _with_sites(found, read, here.settings)
        _tell_repeated(read, asked)
        if here.how != "configured":
            taskfile.require_secrets(found, read[0].values, here.settings.home)
        batch = wanted_id or _new_id(found, read[0])
        given = BatchInput(
            run=told.input.model_copy(update={"values": {}}),
            index=await store.put(sited),
            total=len(sited),
            parallel=parallel or DEFAULT_PARALLEL,
            max_failures=max_failures or 0,
            first_alone=order.mode is Mode.AUTO,
            source=source,
            summary=told.summary,
            details=told.details,
            memo=told.memo,
            attributes={pair.key.name: pair.value for pair in told.attributes.search_attributes},
        )
        await start_batch(here, batch, given, again=False)
        return batch

    raise typer.Exit(asyncio.run(_carry_out(asked, begin)))


@batch_app.command("resume", cls=Command)
def resume(
    ctx: typer.Context,
    *,
    batch: BatchId,
    parallel: Parallel = None,
    max_failures: MaxFailures = None,
    out: Out = None,
    jsonl: JsonLines = False,
    detach: Detach = False,
    wait: Wait = False,
    json: Json = False,
) -> None:
    """Go on with a batch: watch one that is under way, or begin the rows that one has left that was stopped.

    Rows that have ended stay as they are, however they ended; `replaywright batch retry` is for those that failed.

    Exit status: as for `batch start`.

    Example: `replaywright batch resume latest`
    """
    asked = _asked(ctx, out=out, jsonl=jsonl, detach=detach, wait=wait, json=json)

    async def begin(here: Place, store: BatchStore) -> str:
        found = await find_batch(here, batch)
        if is_under_way(found):
            if parallel or max_failures:
                raise InputInvalid(
                    f"{found.id} is under way: --parallel and --max-failures are for one that was stopped; "
                    f"`replaywright batch cancel {found.id}` stops it"
                )
            return found.id
        before = await input_of(here, found)
        index = await store.index(before.of_file)
        given = before.model_copy(
            update={
                "index": before.of_file,
                "whole": "",
                "total": index.rows,
                "parallel": parallel or before.parallel,
                "max_failures": max_failures or 0,
                "state": BatchState(),
            }
        )
        await start_batch(here, found.id, given, again=True)
        return found.id

    raise typer.Exit(asyncio.run(_carry_out(asked, begin)))


@batch_app.command("retry", cls=Command)
def retry(
    ctx: typer.Context,
    *,
    batch: BatchId,
    row: Annotated[
        list[int] | None,
        typer.Option("--row", metavar="N", min=1, help="Only this row, also when it is in doubt; repeatable."),
    ] = None,
    task: Annotated[
        str | None, typer.Option("--task", metavar="FILE", help="The mended task; else that of the batch.")
    ] = None,
    mode: Annotated[Mode | None, typer.Option(help="As for `run`; else that of the batch.")] = None,
    heal: Annotated[Heal | None, typer.Option(help="As for `run`; else that of the batch.")] = None,
    parallel: Parallel = None,
    max_failures: MaxFailures = None,
    out: Out = None,
    jsonl: JsonLines = False,
    detach: Detach = False,
    wait: Wait = False,
    json: Json = False,
) -> None:
    """Try the rows again that came to nothing: each goes on where it stopped, and what it has done is not done again.

    Each gets a run with a new id that resumes the one before. Rows that were done stay done. A row of which nobody
    knows whether a step with consequences took effect is left out, unless it is named with --row: then its run finds
    out first, and asks a person where it cannot.

    Exit status: as for `batch start`.

    Example: `replaywright batch retry latest --mode auto`
    """
    asked = _asked(ctx, out=out, jsonl=jsonl, detach=detach, wait=wait, json=json)
    mended = None if task is None else taskfile.read_task(task)
    wish = Chosen(frozenset(row or []), mended, mode, heal, who_asks())

    async def begin(here: Place, store: BatchStore) -> str:
        found = await find_batch(here, batch)
        if is_under_way(found):
            raise InputInvalid(
                f"{found.id} is under way: wait for its end (`replaywright batch resume {found.id}`), or stop it with "
                f"`replaywright batch cancel {found.id}`"
            )
        before = await input_of(here, found)
        picked = await chosen(here, store, found.id, before, wish, tell=asked.tell)
        _tell_picked(picked, asked)
        if not picked.rows:
            raise InputInvalid(f"{found.id}: there is no row to try again; `replaywright batch show {found.id}`")
        run = before.run.model_copy(update={"skill": None, "relearns": False})
        told: dict[str, Any] = {
            name: value for name, value in (("task", mended), ("mode", mode), ("heal", heal)) if value
        }
        given = before.model_copy(
            update={
                "run": run.model_copy(update=told),
                "index": await store.put(picked.rows),
                "whole": before.of_file,
                "total": len(picked.rows),
                "parallel": parallel or before.parallel,
                "max_failures": max_failures or 0,
                "first_alone": False,
                "state": BatchState(),
            }
        )
        await start_batch(here, found.id, given, again=True)
        return found.id

    raise typer.Exit(asyncio.run(_carry_out(asked, begin)))


@batch_app.command("cancel", cls=Command)
def cancel(
    *,
    batch: BatchId,
    abort: Annotated[
        bool, typer.Option("--abort", help="Cancel the rows under way, too; else these end by themselves.")
    ] = False,
    why: Annotated[str, typer.Option(metavar="TEXT", help="The reason; kept with the batch.")] = "",
) -> None:
    """Stop a batch: no further row is begun, and those under way end by themselves, or with --abort are cancelled.

    What was done on the site stays done. `replaywright batch resume` goes on with the rest, `retry` with what was
    cancelled.

    Example: `replaywright batch cancel latest`
    """
    asyncio.run(_cancel(batch, StopBatch(abort=abort, who=who_asks(), why=why)))


@batch_app.command("results", cls=Command)
def results(
    batch: BatchId,
    out: Out = None,
    jsonl: JsonLines = False,
) -> None:
    """Write what became of each row, in the order of the file; without --out to standard output.

    Works at any time: a row that was not begun or has not ended has the status `open`.

    Example: `replaywright batch results latest --out results.csv`
    """
    require_writable("--out", out, is_folder=False)
    asyncio.run(_results(batch, out, jsonl=jsonl))


@batch_app.command("show", cls=Command)
def show(
    ctx: typer.Context, batch: BatchId, json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False
) -> None:
    """Show how a batch stands: how many rows ended how, what waits, and what came to nothing.

    Example: `replaywright batch show latest`
    """
    options_of(ctx).json = json
    asyncio.run(_show(batch, json=json))


@batch_app.command("list", cls=Command)
def list_batches(
    ctx: typer.Context,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="How many, the newest first.")] = 20,
    json: OneObject = False,
) -> None:
    """List batches, the newest first.

    Example: `replaywright batch list`
    """
    options_of(ctx).json = json
    asyncio.run(_list(limit, json=json))


# ---------------------------------------------------------------------------------------------- beginning


async def _carry_out(asked: _Asked, begin: Begin) -> Exit:
    async with working_place(asked.settings, tell=asked.tell) as here, batch_store(here) as store:
        batch = await begin(here, store)
        console = asked.console
        output.print_line(f"batch {batch}", style="bold", console=console)
        if url := here.run_url(batch):
            output.print_line(f"  {url}", style="dim", console=console)
        if asked.detach:
            if asked.json:
                output.print_json({"batch": batch, "url": here.run_url(batch), "status": "started"})
            return Exit.DONE
        progress = await followed(here, batch_handle(here, batch), console, wait=asked.wait)
        if progress is None:
            _say_it_goes_on(here, batch, console)
            if asked.json:
                output.print_json({"batch": batch, "url": here.run_url(batch), "status": "running"})
            return Exit.INTERRUPTED
        status = exit_status(progress)
        _report(here, batch, progress, console)
        if asked.out is not None:
            await _write_results(here, store, batch, asked.out, jsonl=asked.jsonl)
            output.print_line(f"results: {asked.out}", console=console)
        else:
            output.print_line(f"results: `replaywright batch results {batch} --out results.csv`", console=console)
        if asked.json:
            output.print_json(_as_json(here, batch, progress) | {"exitStatus": int(status)})
        return status


def exit_status(progress: BatchProgress) -> Exit:
    """The exit status for how a batch ended, or for how it stands."""
    if progress.status == "running" and progress.waiting:
        return Exit.WAITING
    if progress.done == progress.total:
        return Exit.DONE
    unmet = progress.total - progress.done
    return Exit.BLOCKED if progress.ended.get("blocked", 0) == unmet else Exit.FAILED


def _report(here: Place, batch: str, progress: BatchProgress, console: Console) -> None:
    is_done = progress.done == progress.total
    style = "green" if is_done else "yellow"
    output.print_line(f"{progress.status}: {counts_said(progress)}", style=style, console=console)
    if progress.stopped:
        output.print_line(f"  no further row was begun: {progress.why}", style="yellow", console=console)
    for begun in progress.waiting:
        output.print_line(
            f"  row {begun.number} waits for a person: `replaywright show {begun.run_id}`", console=console
        )
    left = progress.total - progress.over - progress.under_way
    if left > 0:
        said = output.count(left, "row was", "rows were")
        output.print_line(f"  {said} not begun: `replaywright batch resume {batch}` goes on", console=console)
    if progress.over > progress.done:
        said = output.count(progress.over - progress.done, "row")
        output.print_line(f"  {said} came to nothing: `replaywright batch retry {batch}` tries again", console=console)
    if here.how == "started" and progress.under_way:
        output.print_line("  start `replaywright up` first: the stack of this command ends now", console=console)


def _say_it_goes_on(here: Place, batch: str, console: Console) -> None:
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


async def _skill(here: Place, name: str, asked: _Asked) -> tuple[Task, SkillRef]:
    async with knowledge_base_at(redis_url_of(here.settings), here.settings) as base:
        skill = await runnable(base, name, None)
    if skill.status is SkillStatus.SUSPECT:
        asked.tell(f"version {skill.version} of {name} is suspect, a run failed: `replaywright skills show {name}`")
    return skill.task, SkillRef(name=skill.name, version=skill.version)


def _with_sites(task: Task, rows: list[Row], settings: Settings) -> list[Row]:
    """The rows with the hosts that they begin on, each of which the policy of this process must allow.

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


def _tell_repeated(rows: list[Row], asked: _Asked) -> None:
    twice = repeated(rows)
    for row, earlier in twice[:_REPEATED_SHOWN]:
        asked.tell(f"line {row.line} says the same as line {earlier.line}: both are done, as two rows")
    if len(twice) > _REPEATED_SHOWN:
        asked.tell(f"and {output.count(len(twice) - _REPEATED_SHOWN, 'more such row')}")


def _tell_picked(picked: Picked, asked: _Asked) -> None:
    for number, why in picked.left_out:
        output.print_line(f"row {number} is not tried again: {why}", style="yellow", console=asked.console)
    asked.tell(f"{output.count(len(picked.rows), 'row')} to be tried again")


def _new_id(task: Task, row: Row) -> str:
    name, _, stamp = taskfile.new_run_id(task, row.values).split("/")
    return f"{name}/batch/{stamp}"


# ---------------------------------------------------------------------------------------------- looking


async def _cancel(batch: str, said: StopBatch) -> None:
    settings = load_settings()
    require_somewhere(settings)
    async with place(settings, tell=tell) as here:
        found = await find_batch(here, batch)
        if not is_under_way(found):
            output.print_line(f"{found.id}: nothing to stop: it has ended")
            return
        progress: BatchProgress = await batch_handle(here, found.id).execute_update(
            "stop", said, result_type=BatchProgress
        )
    rows = output.count(progress.under_way, "row")
    how = "cancelled" if said.abort else "left to end by themselves"
    output.print_line(f"{found.id}: no further row is begun; {rows} under way: {how}", style="yellow")


async def _results(batch: str, out: Path | None, *, jsonl: bool) -> None:
    settings = load_settings()
    async with place(settings, tell=tell) as here, batch_store(here) as store:
        found = await find_batch(here, batch)
        await _write_results(here, store, found.id, out, jsonl=jsonl)
    if out is not None:
        output.print_line(f"results: {out}")


async def _write_results(here: Place, store: BatchStore, batch: str, out: Path | None, *, jsonl: bool) -> None:
    digest = await rows_digest(await find_batch(here, batch))
    found = [result_of(row, end) async for row, end in store.rows(batch, digest)]
    if jsonl or (out is not None and out.suffix.lower() == ".jsonl"):
        text = "".join(map(as_json_line, found))
    else:
        header, line = as_csv(list(found[0]["values"]))
        text = header + "".join(map(line, found))
    if out is None:
        output.print_file(text)
    else:
        write_whole(out, text)


async def _show(batch: str, *, json: bool) -> None:
    settings = load_settings()
    async with place(settings, tell=tell) as here, batch_store(here) as store:
        found = await find_batch(here, batch)
        progress = await _standing(here, store, found.id, ended=not is_under_way(found))
        if json:
            output.print_json(_as_json(here, found.id, progress))
            return
        output.print_line(f"batch {found.id}", style="bold")
        _report(here, found.id, progress, output.standard_output())
        for end in progress.problems:
            output.print_line(f"  {end_said(end)}")


async def _standing(here: Place, store: BatchStore, batch: str, *, ended: bool) -> BatchProgress:
    """How it stands; of one that has ended, over all its rows, not only those of its last part."""
    if not ended:
        progress = await progress_of(batch_handle(here, batch))
        if progress is not None:
            return progress
        tell("no worker answers; what follows is what was noted")
    counts: dict[Any, int] = {}
    total, problems = 0, []
    async for _row, end in store.rows(batch, await rows_digest(await find_batch(here, batch))):
        total += 1
        if end is not None:
            counts[end.status] = counts.get(end.status, 0) + 1
            problems += [] if end.status == "done" else [end]
    status = "running" if not ended else "done" if sum(counts.values()) == total else "stopped"
    return BatchProgress.model_validate({"status": status, "total": total, "ended": counts, "problems": problems[-20:]})


def _as_json(here: Place, batch: str, progress: BatchProgress) -> dict[str, Any]:
    return {"batch": batch, "url": here.run_url(batch), **progress.model_dump(mode="json", by_alias=True)}


async def _list(limit: int, *, json: bool) -> None:
    async with place(load_settings(), tell=tell) as here:
        found = await batches(here, limit)
        lines = [
            {
                "batch": each.id,
                "task": await memo_of(each, "task"),
                "status": "running" if is_under_way(each) else "ended",
                "started": each.start_time.isoformat(),
                "url": here.run_url(each.id),
            }
            for each in found
        ]
    if json:
        output.print_json({"batches": lines})
        return
    if not lines:
        output.print_line("no batches yet: `replaywright batch SKILL --csv rows.csv` begins one")
        return
    rows = output.table("status", "batch", "task", "started")
    for line in lines:
        rows.add_row(*output.cells(line["status"], line["batch"], line["task"], line["started"][:19]))
    output.print_table(rows)
