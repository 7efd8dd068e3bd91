"""Editing a task on the terminal and in the live view, until the person leaves."""

import contextlib
import signal
from collections.abc import Callable, Mapping
from pathlib import Path

from replaywright.browser.devtools.attach import ChromiumBrowsers
from replaywright.cli import output
from replaywright.cli.command import Exit
from replaywright.cli.files import write_new
from replaywright.cli.interrupts import interrupts
from replaywright.cli.people.changed_step import with_changes
from replaywright.cli.people.updates import progress_or_fail
from replaywright.cli.record.held_run import DraftRun, opens
from replaywright.cli.record.live import live_view
from replaywright.cli.record.panel import heard
from replaywright.cli.runs.starting import Order
from replaywright.cli.servers.connect import Backend
from replaywright.domain.task.questions import QuestionKind
from replaywright.domain.task.steps import ForEach
from replaywright.recording.edited_task import Draft
from replaywright.recording.task_editor import HELP, Editor
from replaywright.yaml_files import read_text


async def at_failure(here: Backend, order: Order, file: str) -> Exit:
    """Edit the task of a run that waits at a step that failed, in the run's browser; return the exit status.

    A run that waits for anything else is left alone. A task with lists is begun anew.
    """
    progress = await progress_or_fail(here, order.run_id)
    if progress.question is not None and progress.question.kind is QuestionKind.FAILED:
        draft = Draft(read_text(file, file), file)
        output.print_progress("the editor opens at the step that failed")
        await edited(here, draft, order.values, failed_run=order.run_id)
        return Exit.FAILED
    return Exit.WAITING


async def edited(
    here: Backend, draft: Draft, values: Mapping[str, str], port: int = 0, *, failed_run: str = ""
) -> None:
    """Edit until the person leaves; with `failed_run`, from the step on at which that run waits."""
    terminal = _Terminal()
    browsers = ChromiumBrowsers()
    run = DraftRun(here, values, browsers)
    editor = Editor(draft, run, keep=keeping(draft), set_fields=with_changes, changed=lambda: terminal.show(editor))
    failed, at = None, 0
    if failed_run:
        failed = run.take(failed_run, await progress_or_fail(here, failed_run))
        at = run.waits_at - opens(draft.task)
        if at < 0 or any(isinstance(step, ForEach) for step in draft.steps):
            await run.end()
            failed, at = None, 0
    async with contextlib.AsyncExitStack() as exits:
        exits.push_async_callback(browsers.close)
        address = await exits.enter_async_context(live_view(editor.screen, editor, port))
        output.print_progress("open this address: it shows the page and the steps")
        output.print_progress(f"live view: {address}")
        output.print_progress("here: " + "; ".join(f"{word} {meaning}" for word, meaning in HELP.items()))
        exits.enter_context(heard(editor.obey))
        exits.enter_context(interrupts(editor.leave, signal.SIGINT))
        exits.enter_context(interrupts(editor.end, signal.SIGTERM, signal.SIGHUP))
        await editor.run(failed, at)


class _Terminal:
    """Prints the steps and what becomes of them."""

    def __init__(self) -> None:
        self._said: list[str] = []
        self._message = ""

    def show(self, editor: Editor) -> None:
        """Print what is new."""
        news = editor.news()
        lines = [" – ".join(filter(None, (row["text"], row["mark"]))) for row in news["steps"]]
        for number, line in enumerate(lines):
            if number >= len(self._said) or self._said[number] != line:
                output.print_progress(line)
        self._said = lines
        if news["state"] != self._message:
            self._message = news["state"]
            output.print_progress(self._message or "ready")


def keeping(draft: Draft) -> Callable[[str, bool], str]:
    """Return the function that writes the draft's file, and says what became of it."""
    known = draft.text

    def keep(text: str, is_kept: bool) -> str:
        nonlocal known
        path, message = Path(draft.source), f"{draft.source} is written"
        there = read_text(draft.source, draft.source) if path.exists() else text
        if not is_kept or there not in (known, text):
            number = next(one for one in range(1, 10_000) if not Path(f"{path}.bak{one}").exists())
            write_new(f"{path}.bak{number}", there, force=False)
            why = "comments are lost" if there == known else "it was changed meanwhile"
            message += f"; {why}, and the file as it was is {path}.bak{number}"
        write_new(draft.source, text, force=True)
        known = text
        return message

    return keep
