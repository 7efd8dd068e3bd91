"""`replaywright demo`: the main job, shown and checked."""

import asyncio
import contextlib
import time
from typing import Annotated

import typer

from demo.goal_scene import GoalScene
from demo.main_job import MainJob
from demo.scene import Claim, Figures
from demo.stage import Stage
from replaywright.cli import output
from replaywright.cli.app import app
from replaywright.cli.command import Exit
from replaywright.cli.interrupts import ENDING, interrupts
from replaywright.settings import load_settings

_LOG_LINES = 30


@app.command()
async def demo(
    keep_open: Annotated[
        bool, typer.Option("--keep-open", help="Leave servers and Temporal UI running at the end, until Ctrl-C.")
    ] = False,
) -> None:
    """Learn, replay, heal and resume a task on a demo webmail, and check every claim against the webmail's own store.

    Five runs of `demo/send_mail.yaml`: learned with a model; replayed with other values; replayed after a redesign;
    one control that only the model can find again; the worker killed with SIGKILL in the middle. Then six runs from
    sentences: planned and learned; recalled with other values, in another language, and in other words; broken by a
    redesign and learned again from the step that failed; recalled once more. Temporal, Redis and Chromium are real.
    Without a configured model and its key a stand-in answers over HTTP, and says so.

    The last line is one JSON object with the figures. Exit status 1 when a claim does not hold.

    Example: `replaywright demo --keep-open`
    """
    begun = time.monotonic()
    async with Stage(load_settings(), tell=output.print_line) as stage:
        for name, address in (*stage.stack.describe(), ("Webmail", stage.webmail)):
            output.print_line_as_is(f"{name:<11}  {output.plain(address)}")
        figures = await MainJob(stage, output.print_line_as_is).perform()
        if not figures.failed:
            figures = figures.and_also(await GoalScene(stage, output.print_line_as_is).perform())
        _print(figures)
        if figures.failed:
            _print_log(stage)
        if keep_open:
            await _until_interrupted(stage)
    output.print_json(_as_json(figures, seconds=round(time.monotonic() - begun, 2)))
    raise typer.Exit(Exit.FAILED if figures.failed else Exit.DONE)


def _print(figures: Figures) -> None:
    numbers = ("seconds", "steps", "model calls", "small", "tokens", "hits", "heals", "fallbacks", "mails")
    rows = [
        (
            *(row.run, row.title, f"{row.seconds:.2f}", row.steps, row.model_calls, row.small_calls, row.tokens),
            *(row.hits, row.heals, row.fallbacks, row.mails),
        )
        for row in figures.rows
    ]
    output.print_table(("run", "what", *numbers), rows, right=numbers)
    for row in figures.rows:
        if row.skill:
            output.print_line_as_is(f"run {row.run:<3} {row.skill}")
    for row in figures.rows:
        output.print_line_as_is(f"run {row.run:<3} {row.url or row.run_id}")
    model = output.model_name(figures.model)
    output.print_line(
        f"model: {model}; small calls see no page; hits, heals and fallbacks count elements, mails what the site stored"
    )
    failed = figures.failed
    if not failed:
        output.print_line(f"all {len(figures.claims)} claims hold", style="green")
    for claim in failed:
        output.print_line(_claim_line(claim), style="red")


def _print_log(stage: Stage) -> None:
    """Print the end of the worker's log: the files are deleted when the demo ends."""
    console = output.standard_error()
    output.print_line("the worker's log ends with:", console=console)
    for line in stage.worker_logs[-1].read_text(errors="replace").splitlines()[-_LOG_LINES:]:
        output.print_line(f"  {line}", style="dim", console=console)


def _claim_line(claim: Claim) -> str:
    return f"run {claim.run}: DOES NOT HOLD: {claim.text} (found: {claim.found})"


def _as_json(figures: Figures, *, seconds: float) -> dict[str, object]:
    return {
        "ok": not figures.failed,
        "seconds": seconds,
        "runsSeconds": figures.seconds,
        "model": figures.model,
        "standIn": figures.stand_in,
        "claims": len(figures.claims),
        "failedClaims": [claim.model_dump() for claim in figures.failed],
        "runs": [row.model_dump() for row in figures.rows],
    }


async def _until_interrupted(stage: Stage) -> None:
    output.print_line(
        f"Temporal UI: {stage.stack.running.temporal_ui_url or 'unknown'}  Webmail: {stage.webmail}  (Ctrl-C ends)"
    )
    ended = asyncio.Event()
    with interrupts(ended.set, *ENDING), contextlib.suppress(asyncio.CancelledError):
        await ended.wait()
