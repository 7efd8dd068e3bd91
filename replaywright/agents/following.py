"""Waiting for a run, with progress that holds no text of a page."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeAlias

from temporalio.client import WorkflowExecutionStatus

from replaywright.cli.runs.finding import QUICK, ending_of_run, exact_run
from replaywright.cli.runs.follow import Ending, follow, handle_of, progress_of
from replaywright.cli.servers.connect import Backend
from replaywright.domain.run.runs import Progress, RunResult

Report: TypeAlias = Callable[[float, float | None, str], Awaitable[None]]
"""Takes progress, its total if known, and a message."""

_BEAT_S = 10.0
"""Time after which progress is reported although nothing has changed, so that no client takes the call for lost."""
_BEAT = 0.001
"""Each report has to be above the one before."""


async def followed(here: Backend, run_id: str, wait_s: float, report: Report) -> Ending | Progress | None:
    """Wait until a run ends or asks; return its ending, else its progress: None when no worker answers.

    Raises:
        InputInvalid: there is no such run.
        StackFailed: Temporal refuses.
    """
    execution = await exact_run(here, run_id)
    if execution.status is not WorkflowExecutionStatus.RUNNING:
        return await ending_of_run(here, execution)
    handle = handle_of(here.client, run_id)
    last = await progress_of(handle, QUICK)
    if last is not None and last.status == "waiting":
        return Ending("waiting", RunResult(succeeded=False, totals=last.totals), last)
    if not wait_s:
        return last
    async with _reporting(report) as show:

        def shown(progress: Progress | None, note: str) -> None:
            nonlocal last
            last = progress
            show(progress, note)

        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                return await follow(handle, show=shown, until_waiting=True, patient=True)
    return last


@contextlib.asynccontextmanager
async def _reporting(report: Report) -> AsyncIterator[Callable[[Progress | None, str], None]]:
    """Report what the callable is given, without waiting for whoever listens; the last of it when the block ends."""
    changed, is_over = asyncio.Event(), False
    now: tuple[int, int, str] = (0, 0, "")

    def show(progress: Progress | None, note: str) -> None:
        nonlocal now
        seen = (0, 0, note) if progress is None else (progress.step, progress.steps, note)
        if seen != now:
            now = seen
            changed.set()

    async def send() -> None:
        last, ends = 0.0, False
        while not ends:
            changed.clear()
            ends, (step, steps, note) = is_over, now
            last = max(float(step), last + _BEAT)
            words = f"{step} of {steps} steps done" if steps else "deciding what to do"
            await report(last, float(steps) if steps >= last else None, f"{words}; {note}" if note else words)
            if not ends:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_BEAT_S):
                        await changed.wait()

    sending = asyncio.create_task(send())
    try:
        yield show
        is_over = True
        changed.set()
        await sending
    finally:
        sending.cancel()
