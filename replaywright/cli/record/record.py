"""`replaywright record`: a person shows a task in a browser, or another tool has recorded it; a task file comes out."""

import contextlib
import re
import signal
from collections.abc import Iterator
from typing import Annotated
from urllib.parse import urlsplit

import typer

from replaywright.cli import output
from replaywright.cli.app import app
from replaywright.cli.files import require_new
from replaywright.cli.record.browser import browsing, has_screen
from replaywright.cli.record.keeping import OutputOptions, keep, read_file
from replaywright.cli.record.panel import HELP, TerminalPanel, heard
from replaywright.domain.common.templates import ITEM_NAME
from replaywright.errors import InputInvalid
from replaywright.imports import Imported, check_name, task_name
from replaywright.recording.recorder import Recorder
from replaywright.settings import Settings, load_settings
from replaywright.yaml_files import read_text


@app.command()
async def record(
    *,
    url: Annotated[str | None, typer.Argument(metavar="URL", help="The page to begin on: http or https.")] = None,
    secret: Annotated[
        list[str] | None,
        typer.Option("--secret", metavar="NAME", help="Name for the next secret that is entered; repeatable."),
    ] = None,
    recording: Annotated[
        str | None,
        typer.Option("--from", metavar="FILE", help="Take another tool's recording instead; `-` is standard input."),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            "--kind",
            metavar="KIND",
            help="With --from: `devtools`, `hyperagent`, `browser-use` or `codegen`. (default: seen)",
        ),
    ] = None,
    kept: OutputOptions,
) -> None:
    """Record a task: show it once in a browser that opens, or take another tool's recording. No model is asked.

    What you type becomes a parameter, what a click visibly caused is expected, passwords become secrets and are kept
    nowhere. The terminal shows each step and takes commands of one letter. `--from` reads recordings of Chrome
    DevTools Recorder, HyperAgent, browser-use and Playwright codegen (Python).

    Example: `replaywright record http://127.0.0.1:8025 --name send-mail --secret PASSWORD`

    Example: `replaywright record --from recording.json --name send-mail --out send-mail.yaml`
    """
    kept.check()
    if (url is None) == (recording is None):
        raise InputInvalid("name either the page to begin on or, with --from, a recording of another tool")
    if recording is not None:
        if secret:
            raise InputInvalid("--secret names what is typed while it is recorded: leave it out with --from")
        imported, source = read_file(recording, kind, kept.name)
        await keep(imported, source, kept)
        return
    assert url is not None
    if kind is not None:
        raise InputInvalid("--kind is the kind of a recording: it needs --from")
    check_input(url, secret or [])
    name = check_name(kept.name or name_for(url))
    require_new(kept.file_of(name), force=kept.force)  # what was shown is not to be lost for a file's name
    imported = await demonstrated(load_settings(), url, name, secret or [])
    written = await keep(imported, url, kept)
    if written not in ("", "-") and not kept.json:
        output.print_file(read_text(written, written))


def check_input(url: str, secrets: list[str]) -> None:
    """Refuse what cannot be recorded.

    Raises:
        InputInvalid: says what is wrong.
    """
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


async def demonstrated(settings: Settings, url: str, name: str, secrets: list[str]) -> Imported:
    """Record until the person ends it, or closes the browser.

    Raises:
        InputInvalid: nothing was recorded.
    """
    if not has_screen():
        raise InputInvalid("there is no screen here: neither DISPLAY nor WAYLAND_DISPLAY is set")
    panel = TerminalPanel(output.print_progress)
    async with browsing(settings, url, headless=False) as (watched, _):
        recorder = Recorder(watched, url, secrets, changed=lambda: panel.show(recorder))
        output.print_progress(f"recording: work in the browser. Here: {HELP}")
        with heard(lambda line: panel.obey(recorder, line)), _ended_by_interrupt(recorder):
            await recorder.run()
    return recorder.task(name)


@contextlib.contextmanager
def _ended_by_interrupt(recorder: Recorder) -> Iterator[None]:
    """Let Ctrl-C finish the recording: what was shown is not lost."""
    before = signal.signal(signal.SIGINT, lambda *_: recorder.end())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
