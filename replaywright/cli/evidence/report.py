"""`replaywright report`: a run as one HTML file."""

import asyncio
import re
from pathlib import Path
from typing import Annotated

import typer

from replaywright.cli import output
from replaywright.cli.app import app
from replaywright.cli.evidence.artifacts import open_file
from replaywright.cli.evidence.run_facts import view_of
from replaywright.cli.files import write_whole
from replaywright.cli.options import Json, Run
from replaywright.cli.runs.finding import find_run
from replaywright.cli.servers.artifacts import artifact_store_of
from replaywright.cli.servers.connect import open_backend
from replaywright.reports import load, rendered


@app.command()
async def report(
    *,
    run: Run,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Output file; default: a file here, named as the run."),
    ] = None,
    opened: Annotated[bool, typer.Option("--open", help="Open it with this machine's browser.")] = False,
    max_mb: Annotated[
        float, typer.Option("--max-mb", metavar="MB", min=0, help="Limit of pictures; the most important come first.")
    ] = 25.0,
    json: Json = False,
) -> None:
    """Write a run as one HTML file: timeline with pictures, expectations and findings, model use, earlier runs.

    The file is self-contained and sends nothing. It has the names of secrets, never values, and it has content of
    pages: protect it like that content. An open run is shown in its current state.

    Example: `replaywright report latest --open`
    """
    async with open_backend() as here:
        view = await view_of(here, await find_run(here, run))
    loaded = await load(view, artifact_store_of(here.settings), budget_mb=max_mb)
    path = Path(file_name(view.facts.run_id)) if out is None else out
    write_whole(path, await asyncio.to_thread(rendered, view, loaded))
    if json:
        payload = view.model_dump(mode="json", by_alias=True)
        output.print_json(
            {"runId": view.facts.run_id, "file": str(path), "picturesLeftOut": loaded.left_out, "view": payload}
        )
    else:
        output.print_line_as_is(str(path))
    if opened:
        await open_file(path.resolve(), f"open {path} in a browser")


def file_name(run_id: str) -> str:
    """Return a file name that every file system accepts."""
    return f"report-{re.sub(r'[^A-Za-z0-9._~-]+', '-', run_id)[-120:].strip('.-') or 'run'}.html"
