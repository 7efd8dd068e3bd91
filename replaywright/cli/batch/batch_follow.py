"""Display of a batch: a bar on a terminal, else lines, with rate and estimate. Ctrl-C leaves the batch running."""

import asyncio
import contextlib
import signal
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError
from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text
from temporalio.client import WorkflowFailureError, WorkflowHandle, WorkflowQueryFailedError
from temporalio.service import RPCError, RPCStatusCode

from replaywright.cli import output
from replaywright.cli.interrupts import interrupts, unless_left
from replaywright.cli.runs.silence import Silence
from replaywright.cli.servers.connect import Backend
from replaywright.domain.batch.batches import BatchProgress, RowEnd
from replaywright.domain.run.standing import STATUSES
from replaywright.errors import StackFailed

_LOOK_EVERY_S = 0.5
_SAY_EVERY_S = 10.0
"""Between two lines, where nobody watches."""
_RATE_OVER_S = 120.0
"""The rate is that of the last two minutes."""
_SILENT_S = 5.0


@dataclass
class Pace:
    """Pace at which rows end."""

    seen: deque[tuple[float, int]] = field(default_factory=deque)

    def note(self, at: float, over: int) -> None:
        """Record the number of ended rows at a time."""
        self.seen.append((at, over))
        while self.seen[-1][0] - self.seen[0][0] > _RATE_OVER_S:
            self.seen.popleft()

    @property
    def per_second(self) -> float:
        """Rows; 0 where that is not known yet."""
        (begun, before), (now, over) = self.seen[0], self.seen[-1]
        return (over - before) / (now - begun) if now > begun else 0.0


def pace_text(rate: float, left: int) -> str:
    """Format the pace, as `12 rows a minute, 3 min 5 s left`; empty if no row has ended yet."""
    if rate <= 0:
        return ""
    message = f"{rate:.1f} rows a second" if rate >= 1 else f"{rate * 60:.1f} rows a minute"
    return f"{message}, {output.duration(left / rate)} left" if left else message


def counts_text(progress: BatchProgress) -> str:
    """Format the counts, as `40 of 100 rows: 38 done, 2 failed; 4 under way, 1 of them waits for a person`."""
    ended = ", ".join(f"{number} {status.replace('_', ' ')}" for status, number in progress.ended.items())
    message = f"{progress.over} of {output.count(progress.total, 'row')}" + (f": {ended}" if ended else "")
    if progress.under_way:
        message += f"; {progress.under_way} under way"
    if progress.waiting:
        waits = len(progress.waiting)
        message += f", {waits} of them {'wait' if waits > 1 else 'waits'} for a person"
    return message


def end_text(end: RowEnd) -> str:
    """Describe how a row failed."""
    step = "" if end.failed_step is None else f"step {end.failed_step + 1}: "
    words = end.message or end.reason.replace("_", " ")
    return f"row {end.number} {end.status.replace('_', ' ')}: {step}{words} ({end.reason}; {end.run_id})"


@dataclass
class Screen:
    """Display of a batch's progress."""

    console: Console
    live: Live | None = None
    pace: Pace = field(default_factory=Pace)
    told: set[tuple[int, str]] = field(default_factory=set)
    line: str = ""
    said_at: float = 0.0
    note: str = ""

    def show(self, progress: BatchProgress | None, note: str) -> None:
        """Print the changes."""
        now = time.monotonic()
        if note and note != self.note:
            output.print_line(note, style="yellow", console=self.console)
        self.note = note
        if progress is None:
            return
        self.pace.note(now, progress.over)
        for end in progress.problems:
            if (end.number, end.run_id) not in self.told:
                self.told.add((end.number, end.run_id))
                style = STATUSES[end.status].style
                output.print_line(end_text(end), style=style, console=self.console)
        pace = pace_text(self.pace.per_second, progress.total - progress.over)
        line = counts_text(progress)
        if self.live is not None:
            self.live.update(_bar(progress, line, pace))
        elif line != self.line and now - self.said_at >= _SAY_EVERY_S:
            self.line, self.said_at = line, now
            output.print_line(f"{line}; {pace}" if pace else line, console=self.console)


def _bar(progress: BatchProgress, line: str, pace: str) -> Table:
    view = Table.grid(padding=(0, 1))
    view.add_row(ProgressBar(total=max(1, progress.total), completed=progress.over, width=40), Text(pace, style="dim"))
    shown = Table.grid()
    shown.add_row(view)
    shown.add_row(Text(line))
    return shown


async def followed(
    here: Backend, handle: WorkflowHandle[Any, BatchProgress], console: Console, *, wait: bool
) -> BatchProgress | None:
    """Return the progress at the end, or when only rows that wait for a person are left; None if the user left.

    Raises:
        StackFailed: it has failed, or Temporal is out of reach.
    """
    is_live = console.is_terminal
    live = Live(console=console, refresh_per_second=4, transient=False) if is_live else None
    screen = Screen(console, live)
    left = asyncio.Event()
    with live if live is not None else contextlib.nullcontext(), interrupts(left.set, signal.SIGINT):
        return await unless_left(_follow(here, handle, screen.show, wait=wait), left)


async def _follow(
    here: Backend,
    handle: WorkflowHandle[Any, BatchProgress],
    show: Callable[[BatchProgress | None, str], None],
    *,
    wait: bool,
) -> BatchProgress:
    silence, heard = Silence(handle), time.monotonic()
    ending = asyncio.create_task(_ended(here, handle))
    try:
        while True:
            await asyncio.wait({ending}, timeout=_LOOK_EVERY_S)
            if ending.done():
                last = await ending
                show(last, "")
                return last
            progress = await progress_of(handle)
            if progress is None:
                if time.monotonic() - heard > _SILENT_S:
                    show(None, await silence.why())
                continue
            heard = time.monotonic()
            show(progress, "")
            if not wait and progress.waiting and _only_waits(progress):
                return progress
    finally:
        ending.cancel()
        with contextlib.suppress(asyncio.CancelledError, StackFailed):
            await ending


def _only_waits(progress: BatchProgress) -> bool:
    """Tell whether only rows that wait for a person are left."""
    waits = len(progress.waiting)
    return waits == progress.under_way and (progress.over + waits == progress.total or bool(progress.stopped))


async def progress_of(handle: WorkflowHandle[Any, BatchProgress]) -> BatchProgress | None:
    """Query the progress of the batch; None if no worker answers."""
    try:
        answer: BatchProgress = await handle.query("progress", result_type=BatchProgress)
    except (RPCError, WorkflowQueryFailedError, ValidationError):
        return None
    return answer


async def _ended(here: Backend, handle: WorkflowHandle[Any, BatchProgress]) -> BatchProgress:
    """Wait for the end by long poll; survive broken connections.

    Raises:
        StackFailed: the batch failed or was terminated, or is gone.
    """
    while True:
        try:
            return await handle.result()
        except WorkflowFailureError as exc:
            cause = exc.cause
            raise StackFailed(
                f"the batch {handle.id} has ended: {cause}; rows that were begun go on, and `replaywright batch resume "
                f"{handle.id}` goes on with the others"
            ) from exc
        except RPCError as exc:
            if exc.status is RPCStatusCode.NOT_FOUND:
                raise StackFailed(f"the batch {handle.id} is not on this Temporal server: {exc.message}") from exc
            if here.how != "configured":
                raise StackFailed(
                    f"the stack that the batch ran on has ended: `replaywright batch resume {handle.id}` goes on"
                ) from exc
            await asyncio.sleep(1.0)
