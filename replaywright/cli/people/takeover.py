"""`replaywright takeover`: driving the live browser of a run that waits."""

import asyncio
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer

from replaywright.cli import output
from replaywright.cli.app import app
from replaywright.cli.options import Once, Run, Why
from replaywright.cli.people.updates import progress_or_fail, require_going, under_way, updated, user_name
from replaywright.cli.servers.connect import Backend
from replaywright.domain.run.runs import Progress
from replaywright.domain.run.steering import LEND_S, LentBrowser, Said, TakeOverRequest
from replaywright.errors import InputInvalid
from replaywright.keeper.host.identity import boot_id, host_name

_WAKING_LIMIT = timedelta(seconds=150)
"""A browser that was given back is opened again first, and brought to where the run is."""
_LOOK_EVERY_S = 0.3


@app.command()
async def takeover(
    *,
    run: Run,
    minutes: Annotated[float, typer.Option(min=0.1, max=1440, help="Time limit.")] = LEND_S / 60,
    why: Why = "",
    once: Once = "",
) -> None:
    """Take over the browser of a run: prints an address to open in a browser.

    A run that does not wait is paused before its next step, which this waits for.

    The address leads to Chromium's DevTools on loopback of the worker's host, with a secret in its path: everybody with
    the address controls the browser. The network policy stays in force. Requests meanwhile are recorded as yours.

    Example: `replaywright takeover latest`
    """
    asked = TakeOverRequest(lasts_s=minutes * 60, who=user_name(), why=why)
    async with under_way(run, "take over") as (here, run_id):
        if (await progress_or_fail(here, run_id)).status == "running":
            output.print_line("the run is paused before its next step", style="dim")
        lent = await lent_browser(here, run_id, asked, once=once)
        progress = await progress_or_fail(here, run_id)
    output.print_line_as_is(address_of(lent))
    until = datetime.fromtimestamp(lent.until).astimezone().strftime("%H:%M:%S")
    output.print_line(f"open it in a browser on this host, until {until}; then {handing_back(progress, run_id)}")


async def lent_browser(here: Backend, run_id: str, asked: TakeOverRequest, *, once: str = "") -> LentBrowser:
    """Take over the browser of a run. One that does not wait is paused before its next step, which is waited for.

    Raises:
        InputInvalid: the run has ended, or its browser cannot be had.
        StackFailed: no worker is there to lend it.
    """
    progress = await progress_or_fail(here, run_id)
    if progress.status == "running":
        await updated(here, run_id, "pause", Said(who=asked.who, why=asked.why), str)
    while progress.status == "running":
        await asyncio.sleep(_LOOK_EVERY_S)
        await require_going(here, run_id, "take over")
        progress = await progress_or_fail(here, run_id)
    return await updated(here, run_id, "take_over", asked, LentBrowser, once=once, limit=_WAKING_LIMIT)


def address_of(lent: LentBrowser) -> str:
    """Read the address of the lent browser.

    Raises:
        InputInvalid: only another host, or another user, can read it.
    """
    here = (host_name(), boot_id())
    if (lent.host, lent.boot_id) != here:
        raise InputInvalid(
            f"the browser lives on {lent.host}, not on {here[0]}: do this there, or read {lent.file} there and forward "
            "the port in it to this host (ssh -L)"
        )
    try:
        return Path(lent.file).read_text("ascii").strip()
    except OSError as exc:
        raise InputInvalid(
            f"{lent.file} cannot be read ({exc.strerror}): it is for the user of the worker only; do this as that user"
        ) from exc


def handing_back(progress: Progress, run_id: str) -> str:
    """Describe how the person returns the browser."""
    if progress.question is None:
        return f"`replaywright answer {run_id} continue` hands it back"
    answers = ", ".join(progress.question.answers)
    return f"`replaywright answer {run_id} ANSWER` hands it back; it takes: {answers}"
