"""`replaywright record`: a person shows a task in a browser, or another tool has recorded it; a task file comes out."""

import asyncio
import contextlib
import re
import signal
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from replaywright.browser.recording.screen import ChromiumScreen
from replaywright.cli import output
from replaywright.cli.app import app
from replaywright.cli.command import Exit
from replaywright.cli.completion import tasks
from replaywright.cli.files import require_new
from replaywright.cli.options import Port
from replaywright.cli.record.browser import browsing, has_screen
from replaywright.cli.record.keeping import OutputOptions, keep, read_file
from replaywright.cli.record.live import live_view
from replaywright.cli.record.panel import TerminalPanel, heard
from replaywright.cli.runs.options import FollowOptions
from replaywright.cli.runs.run import carry_out
from replaywright.cli.runs.starting import Order
from replaywright.cli.servers.connect import Backend
from replaywright.cli.tasks import taskfile
from replaywright.cli.tasks.taskfile import read_task
from replaywright.domain.common.templates import ITEM_NAME
from replaywright.domain.run.scope import Mode
from replaywright.domain.task.tasks import Task
from replaywright.errors import InputInvalid
from replaywright.imports import Imported, check_name, task_name
from replaywright.recording.commands import HELP, RecordingPanel
from replaywright.recording.comparing import compared
from replaywright.recording.recorder import DemonstrationRecorder
from replaywright.recording.trial import before_consequences, values_shown
from replaywright.settings import Settings, load_settings
from replaywright.yaml_files import read_text


@dataclass(frozen=True)
class FromOptions:
    """Options of a recording that another tool has made."""

    recording: Annotated[
        str | None,
        typer.Option("--from", metavar="FILE", help="Take another tool's recording instead; `-` is standard input."),
    ] = None
    kind: Annotated[
        str | None,
        typer.Option(
            "--kind",
            metavar="KIND",
            help="With --from: `devtools`, `hyperagent`, `browser-use` or `codegen`. (default: seen)",
        ),
    ] = None


@dataclass(frozen=True)
class ShowOptions:
    """Options of a demonstration."""

    secret: Annotated[
        list[str] | None,
        typer.Option("--secret", metavar="NAME", help="Name for the next secret that is entered; repeatable."),
    ] = None
    again: Annotated[
        str | None,
        typer.Option(
            "--again",
            metavar="TASK",
            help="A task that was shown before, by name or file: show it with other values. What differs are the "
            "parameters, what agrees is the check.",
            autocompletion=tasks,
        ),
    ] = None
    port: Port = 0


@app.command()
async def record(
    *,
    url: Annotated[str | None, typer.Argument(metavar="URL", help="The page to begin on: http or https.")] = None,
    show: ShowOptions,
    other: FromOptions,
    kept: OutputOptions,
) -> None:
    """Record a task: show it once in a browser that opens, or take another tool's recording. No model is asked.

    What you type becomes a parameter, what a click visibly caused is expected, passwords become secrets and are kept
    nowhere. The terminal shows each step and takes commands of one letter. The task is tried at once, up to its first
    step with consequences. Without a screen, the terminal gives an address that shows the browser.

    `--from` reads recordings of Chrome DevTools Recorder, HyperAgent, browser-use and Playwright codegen (Python).

    Example: `replaywright record http://127.0.0.1:8025 --name send-mail --secret PASSWORD`

    Example: `replaywright record --again send-mail`

    Example: `replaywright record --from recording.json --name send-mail --out send-mail.yaml`
    """
    kept.check()
    if other.recording is None:
        if other.kind is not None:
            raise InputInvalid("--kind is the kind of a recording: it needs --from")
        raise typer.Exit(await _show(url, show, kept))
    if url or show.secret or show.again:
        raise InputInvalid("--from reads what was recorded: leave out URL, --secret and --again")
    imported, source = read_file(other.recording, other.kind, kept.name)
    await keep(imported, source, kept)


async def _show(url: str | None, show: ShowOptions, kept: OutputOptions) -> Exit:
    """Record a demonstration, keep the task and try it; return the exit status."""
    first = read_task(file_called(show.again)) if show.again is not None else None
    begin = url or (first.url if first is not None else "")
    check_input(begin, show.secret or [])
    name = check_name(kept.name or (first.task if first is not None else name_for(begin)))
    if show.again is not None and not (kept.out or kept.skill):
        kept = replace(kept, out=file_called(show.again), force=True)
    require_new(kept.file_of(name), force=kept.force)  # what was shown is not to be lost for a file's name
    settings = load_settings()
    secrets = show.secret or list(first.secrets if first is not None else ())
    imported = await demonstrated(settings, begin, name, secrets, show.port)
    if first is not None:
        imported = compared(first.model_copy(update={"task": name}), imported.task)
    written = await keep(imported, begin, kept)
    if kept.json or written == "-":
        output.print_progress("not tried: standard output is for a program")
        return Exit.DONE
    if written:
        output.print_file(read_text(written, written))
    return await tried(imported.task, settings)


async def tried(task: Task, settings: Settings) -> Exit:
    """Run the task with the values that were shown, up to its first step with consequences; return the exit status."""
    trial, values = before_consequences(task), values_shown(task)
    if trial is None or values is None:
        why = "its first step has consequences" if trial is None else "a value is too long to be kept"
        output.print_progress(f"not tried: {why}")
        return Exit.DONE
    try:
        taskfile.require_secrets(trial, values, settings.home)
    except InputInvalid as exc:
        output.print_progress(f"not tried: {exc}")
        return Exit.DONE
    rest = len(task.steps) - len(trial.steps)
    kept_back = f"; the other {rest} begin with consequences and are not done" if rest else ""
    steps = output.count(len(trial.steps), "step")
    output.print_progress(f"trying {steps} with the values that were shown{kept_back}")
    order = Order(trial, values, taskfile.new_run_id(trial, values), mode=Mode.REPLAY)

    async def begin(_here: Backend) -> Order:
        return order

    return await carry_out(begin, settings, FollowOptions())


def file_called(name: str) -> str:
    """Return the file of a task that is named by its file, or by its name."""
    return name if Path(name).suffix or Path(name).exists() else f"{name}.yaml"


def check_input(url: str, secrets: list[str]) -> None:
    """Refuse what cannot be recorded.

    Raises:
        InputInvalid: says what is wrong.
    """
    if not url:
        raise InputInvalid("name the page to begin on or, with --from, a recording of another tool")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputInvalid(f"{url!r} is no page: expected http://… or https://…")
    if "@" in parts.netloc:
        raise InputInvalid("the address holds a user and a password, which would stand in the file: sign in by steps")
    for name in secrets:
        if not re.fullmatch(ITEM_NAME, name):
            raise InputInvalid(f"--secret {name!r}: expected a name of letters, digits and _, no digit first")


def name_for(url: str) -> str:
    """Return a task's name for what is recorded at this address."""
    return task_name(urlsplit(url).hostname or "recorded")


async def demonstrated(settings: Settings, url: str, name: str, secrets: list[str], port: int = 0) -> Imported:
    """Record until the person ends it, or closes the browser; where there is no screen, in the live view.

    Raises:
        InputInvalid: nothing was recorded.
    """
    panel = TerminalPanel(output.print_progress)
    on_screen = has_screen()
    async with browsing(settings, url, headless=not on_screen) as (watched, _), contextlib.AsyncExitStack() as exits:
        recorder = DemonstrationRecorder(watched, url, secrets, changed=lambda: panel.show(recorder))
        if on_screen:
            output.print_progress("recording: work in the window that has opened")
        else:
            address = await exits.enter_async_context(
                live_view(ChromiumScreen(watched), RecordingPanel(recorder), port)
            )
            output.print_progress("there is no screen here: open this address, and work in the page that it shows")
            output.print_progress(f"live view: {address}")
        output.print_progress(f"here: {HELP}")
        exits.enter_context(heard(lambda line: panel.obey(recorder, line)))
        exits.enter_context(_ended_by_interrupt(recorder))
        await recorder.run()
    return recorder.task(name)


@contextlib.contextmanager
def _ended_by_interrupt(recorder: DemonstrationRecorder) -> Iterator[None]:
    """Let Ctrl-C finish the recording: what was shown is not lost."""
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, recorder.end)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)
