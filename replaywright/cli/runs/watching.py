"""Display of a run: its progress and its end.

A module of its own, as a command that starts a run loads what draws on a terminal while the run begins.
"""

import asyncio
import contextlib
import json
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.live import Live
from temporalio.client import WorkflowHandle

from replaywright.cli import output
from replaywright.cli.command import Exit
from replaywright.cli.interrupts import interrupts, unless_left
from replaywright.cli.people import asking_here
from replaywright.cli.runs.follow import Ending, follow
from replaywright.cli.runs.options import FollowOptions
from replaywright.cli.runs.starting import Order
from replaywright.cli.servers.connect import Backend
from replaywright.cli.tasks import goal
from replaywright.domain.common.urls import bracketed
from replaywright.domain.predicate.unmet import unmet_message
from replaywright.domain.run.commit_lines import commits_said
from replaywright.domain.run.remedies import remedy_of, shows_steps
from replaywright.domain.run.runs import Progress, RunResult
from replaywright.domain.run.standing import STATUSES
from replaywright.domain.task.questions import answer_command

_REFUSED_SHOWN = 8
"""Number of blocked hosts in the report."""


@dataclass
class _Screen:
    """Display of a run's progress: live on a terminal, else one line for each finished step."""

    console: Console
    live: Live | None = None
    printed: set[tuple[int, str, str, str]] = field(default_factory=set)
    note: str = ""

    def show(self, progress: Progress | None, note: str) -> None:
        """Print the changes."""
        if self.live is not None:
            self.live.update(output.progress_view(progress, note, self.console))
            return
        for line in progress.lines if progress is not None else ():
            key = (line.sequence, line.title, line.status.value, line.override)
            if key not in self.printed:
                self.printed.add(key)
                output.print_lines([line], self.console)
        if note and note != self.note:
            output.print_line(note, console=self.console)
        self.note = note


async def watched(here: Backend, order: Order, following: FollowOptions) -> Exit:
    """Show a run that was started to its end, or until it waits for a person; the exit status."""
    console = output.for_people(json=following.json)
    begun = time.monotonic()
    handle = here.client.get_workflow_handle(order.run_id, result_type=RunResult)
    ending = await _followed_and_asked(here, handle, console, wait=following.wait, json=following.json)
    if ending is None:
        if following.json:
            output.print_json({"runId": order.run_id, "url": here.run_url(order.run_id), "status": "running"})
        return Exit.INTERRUPTED
    status = exit_status(ending, fail_on_heal=following.fail_on_heal)
    if following.json:
        output.print_json(
            {
                "runId": order.run_id,
                "url": here.run_url(order.run_id),
                "status": ending.status,
                "exitStatus": int(status),
                **ending.result.model_dump(mode="json", by_alias=True),
            }
        )
    report(ending, order, here, console, time.monotonic() - begun, healed_fails=status is Exit.HEALED)
    return status


async def _followed_and_asked(
    here: Backend, handle: WorkflowHandle[Any, RunResult], console: Console, *, wait: bool, json: bool
) -> Ending | None:
    """Follow the run; a question about what a press may send is asked here, on a terminal."""
    is_terminal = console.is_terminal and not json
    last = ""
    while True:
        ending = await _followed(here, handle, console, until_waiting=is_terminal or not wait)
        if ending is None or ending.status != "waiting":
            return ending
        question = asking_here.asks_here(ending.progress, json=json)
        if question is None or question.id == last:
            return ending if not wait else await _followed(here, handle, console, until_waiting=False)
        verdict = await asking_here.answered(question, lambda line: output.print_line(line, console=console))
        if verdict is None:
            return ending
        last = question.id
        from replaywright.cli.people.updates import decide, user_name, verdict_on  # noqa: PLC0415 - loads the store

        await decide(
            here, handle.id, verdict_on(handle.id, question, verdict, "", who=user_name(), why="on the terminal")
        )


async def _followed(
    here: Backend, handle: WorkflowHandle[Any, RunResult], console: Console, *, until_waiting: bool
) -> Ending | None:
    """Follow the run and return its end; None if the user left before."""
    live = Live(console=console, refresh_per_second=8, transient=False) if console.is_terminal else None
    screen = _Screen(console, live)
    with live if live is not None else contextlib.nullcontext():
        following = follow(handle, show=screen.show, until_waiting=until_waiting, patient=here.how == "configured")
        with _second_interrupt(lambda: _print_it_goes_on(here, handle.id, console)) as left:
            return await unless_left(following, left)


@contextlib.contextmanager
def _second_interrupt(first: Callable[[], None]) -> Iterator[asyncio.Event]:
    """Call `first` at the first Ctrl-C, and set the event at the second."""
    left = asyncio.Event()
    presses = 0

    def pressed() -> None:
        nonlocal presses
        presses += 1
        if presses == 1:
            first()
        else:
            left.set()

    with interrupts(pressed, signal.SIGINT):
        yield left


def _print_it_goes_on(here: Backend, run_id: str, console: Console) -> None:
    if here.how == "started":
        text = (
            f"Ctrl-C again leaves: the stack of this command ends with it, and the run goes on with the next "
            f"`replaywright up`; `replaywright show {run_id}` shows it"
        )
    else:
        text = (
            f"the run goes on: `replaywright show {run_id}` shows it, `replaywright cancel {run_id}` ends it; "
            f"Ctrl-C again leaves"
        )
    output.print_line(text, style="yellow", console=console)


def exit_status(ending: Ending, *, fail_on_heal: bool) -> Exit:
    """Return the exit status for the end of a run."""
    match ending.status:
        case "waiting":
            return Exit.WAITING
        case "done":
            return Exit.HEALED if fail_on_heal and ending.result.healed else Exit.DONE
        case "blocked":
            return Exit.BLOCKED
        case _:
            return Exit.FAILED


def report(
    ending: Ending, order: Order, here: Backend, console: Console, seconds: float, *, healed_fails: bool = False
) -> None:
    """Print the end of the run, its cost, and the next commands."""
    result = ending.result
    totals = output.totals_line(result.totals)
    took = output.duration(seconds)
    if ending.status == "done":
        style = "yellow" if healed_fails else "green"
        extra = " (exit 3: it healed, and --fail-on-heal was given)" if healed_fails else ""
        output.print_line(f"done in {took}: {totals}{extra}", style=style, console=console)
        if result.skill is not None:
            output.print_line(goal.told(result.skill), console=console)
        if result.note:
            output.print_line(result.note, style="yellow", console=console)
        if result.held:
            held = output.count(result.held, "healed entry waits", "healed entries wait")
            output.print_line(f"{held} for a person: `replaywright admin cache list --held`", console=console)
        for warning in result.warnings:
            output.print_line(f"  warning: {warning}", style="yellow", console=console)
        for name, value in result.extracted.items():
            told = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            output.print_line(f"  {name}: {told}", console=console)
        for file in result.files:
            output.print_line(f"  file {file.name}: {file.size} bytes, artifact {file.sha256}", console=console)
    elif ending.status == "waiting":
        output.print_line(f"waits for a person after {took}: {totals}", style="yellow", console=console)
        print_question(ending.progress, order.run_id, console, stack_ends=here.how == "started")
    else:
        style = STATUSES[ending.status].style
        output.print_line(f"{ending.status.replace('_', ' ')} after {took}: {totals}", style=style, console=console)
        for line in failure_lines(result):
            output.print_line(f"  {line}", console=console)
        remedy = remedy_of(result.reason, result.message, shows_steps(order.run_id))
        if remedy:
            output.print_line(f"  what to do: {remedy}", console=console)
        resumed = f"`replaywright resume {order.run_id}`, with --task FILE when the task was mended"
        output.print_line(f"  to go on where it stopped: {resumed}", console=console)
    _print_refused(result, console)
    if url := here.run_url(order.run_id):
        output.print_line(f"  {url}", style="dim", console=console)


def refused_lines(result: RunResult) -> list[str]:
    """List the hosts that the policy blocked, and the setting that allows them."""
    if not result.refused_hosts:
        return []
    parts = [
        f"{bracketed(each.host)}:{each.port} ({output.count(each.count, 'time')}, {each.rule})"
        for each in result.refused_hosts
    ]
    lines = [f"pages asked for hosts that the policy refuses: {', '.join(parts[:_REFUSED_SHOWN])}"]
    if len(parts) > _REFUSED_SHOWN:
        lines[0] += f" and {len(parts) - _REFUSED_SHOWN} more"
    return [*lines, "to let them have those that the task needs, add these to `policy: hosts: allow` in the task file"]


def _print_refused(result: RunResult, console: Console) -> None:
    for line in refused_lines(result):
        output.print_line(f"  {line}", style="dim", console=console)


def failure_lines(result: RunResult) -> list[str]:
    """Describe the failure and its reason."""
    lines: list[str] = []
    words = result.message or result.reason.replace("_", " ")
    if result.failed_step is not None:
        lines.append(f"step {result.failed_step + 1}: {words} ({result.rule or result.reason})")
    elif words:
        lines.append(words)
    if (message := commits_said(result.commits)) and message not in result.message:
        lines.append(message)
    lines += [f"final verification: {unmet_message(check)}" for check in result.verification if not check.passed]
    lines += [f"warning: {warning}" for warning in result.warnings]
    return lines


def print_question(progress: Progress | None, run_id: str, console: Console, *, stack_ends: bool = False) -> None:
    """Print the question that the run waits with and the command that answers it."""
    if progress is None:
        return
    output.print_line(f"  {progress.waiting_for}", console=console)
    if stack_ends:
        output.print_line("  start `replaywright up` first: the stack of this command ends now", console=console)
    question = progress.question
    if question is None:
        return
    for line in (*question.shows, *([f"page: {question.url}"] if question.url else [])):
        output.print_line(f"  {line}", console=console)
    output.print_line(f"  then: {answer_command(run_id, question.answers)}", console=console)


def announce(order: Order, here: Backend, following: FollowOptions) -> None:
    """Print that a run was started."""
    console = output.for_people(json=following.json)
    output.print_line(f"run {order.run_id}", style="bold", console=console)
    if url := here.run_url(order.run_id):
        output.print_line(f"  {url}", style="dim", console=console)
    if following.detach and following.json:
        output.print_json({"runId": order.run_id, "url": here.run_url(order.run_id), "status": "started"})
