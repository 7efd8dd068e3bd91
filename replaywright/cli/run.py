"""`replaywright run`: start a run, show it, and end with a status that a script can act on."""

import asyncio
import contextlib
import signal
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.live import Live
from temporalio.client import WorkflowHandle

from replaywright.cli import goal, output, taskfile
from replaywright.cli.app import Command, Exit, app, options_of
from replaywright.cli.connect import Place, is_somewhere, require_somewhere, working_place
from replaywright.cli.follow import Ending, ServerGone, follow
from replaywright.cli.policy import refuse_what_is_blocked
from replaywright.cli.starting import OnFailure, Order, start
from replaywright.domain.budgets import Budget
from replaywright.domain.pictures import Pictures
from replaywright.domain.remedies import remedy_of
from replaywright.domain.runs import SECRET_PREFIX, Heal, Mode, Progress, RunResult
from replaywright.domain.tasks import Task, bind_parameters
from replaywright.domain.urls import bracketed
from replaywright.errors import InputInvalid, SecretMissing
from replaywright.settings import Settings, load_settings
from replaywright.stack.redis import ask_redis

_ID_BYTES = 200
_IN_DOUBT = ("done", "not_done", "abandon")
"""Answers on a step in doubt; what a run of an older worker waits for."""
_RESOLVED = frozenset({"done", "not_done", "retry", "skip", "redo", "keep", "abandon"})
"""Answers of `replaywright resolve`."""
_RESTARTS = 3
"""How often a stack that ended under a run is replaced."""
_REFUSED_SHOWN = 8
"""Hosts that pages asked for in vain, in the report."""


Begin = Callable[["Place"], Awaitable[Order | None]]
"""Finds out what is to be run, where the runs are; None when that is nothing."""


@dataclass
class _Screen:
    """Shows a run while it goes: live on a terminal, else one line for each finished step."""

    console: Console
    live: Live | None = None
    printed: set[tuple[int, str, str, str]] = field(default_factory=set)
    note: str = ""

    def show(self, progress: Progress | None, note: str) -> None:
        """Show what is new."""
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


def _limit(option: str, unit: str, what: str) -> Any:
    """An option that limits what a run may spend."""
    return typer.Option(option, metavar=unit, min=0, help=what)


@app.command(cls=Command)
def run(
    ctx: typer.Context,
    *,
    task: Annotated[
        str,
        typer.Argument(
            metavar="TASK", help="Task file, YAML or JSON; `-` is standard input. Or a sentence that says what to do."
        ),
    ],
    url: Annotated[
        str | None, typer.Option("--url", metavar="URL", help="Of a sentence: the page that the task starts on.")
    ] = None,
    secret: Annotated[
        list[str] | None,
        typer.Option("--secret", metavar="NAME", help="Of a sentence: a secret that may be entered; repeatable."),
    ] = None,
    param: Annotated[
        list[str] | None, typer.Option("--param", "-p", metavar="NAME=VALUE", help="A parameter's value; repeatable.")
    ] = None,
    params: Annotated[
        str | None, typer.Option("--params", metavar="FILE", help="YAML or JSON file with values; --param wins.")
    ] = None,
    mode: Annotated[
        Mode, typer.Option(help="`auto`: cache, then heal, then model. `learn`: model only. `replay`: never the model.")
    ] = Mode.AUTO,
    heal: Annotated[
        Heal, typer.Option(help="A changed page: fail (`off`), heal this run only (`propose`), or for good (`auto`).")
    ] = Heal.AUTO,
    on_failure: Annotated[
        OnFailure | None,
        typer.Option(help="When nothing mends a failed step: end the run (`fail`), or wait for a person (`ask`)."),
    ] = None,
    max_calls: Annotated[int | None, _limit("--max-calls", "N", "Model calls of the run.")] = None,
    max_tokens: Annotated[int | None, _limit("--max-tokens", "N", "Tokens of the run, in and out together.")] = None,
    max_money: Annotated[
        float | None, _limit("--max-money", "USD", "US dollars that the run's model calls may cost.")
    ] = None,
    max_seconds: Annotated[
        float | None, _limit("--max-seconds", "S", "Seconds of the run, after which no model is asked any more.")
    ] = None,
    max_plans: Annotated[
        int | None, _limit("--max-plans", "N", "How often the planner may revise the rest of the plan.")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Of a sentence: learn it, whatever skill there is.")] = False,
    no_wait: Annotated[
        bool, typer.Option("--no-wait", help="Of a sentence: do not wait for another run that learns the same.")
    ] = False,
    pictures: Annotated[
        Pictures | None,
        typer.Option(
            help="Of which steps to keep one: `failures`, also what is learned or healed (`auto`), all `steps`."
        ),
    ] = None,
    fail_on_heal: Annotated[bool, typer.Option("--fail-on-heal", help="Exit with 3 when the run healed.")] = False,
    detach: Annotated[bool, typer.Option("--detach", help="Start the run and return at once.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait on when the run waits for a person.")] = False,
    json: Annotated[
        bool, typer.Option("--json", help="One JSON object on standard output, the rest on standard error.")
    ] = False,
    run_id: Annotated[
        str | None,
        typer.Option("--id", metavar="ID", help="Name the run; a name serves once."),
    ] = None,
) -> None:
    """Run a task and show its progress. A sentence is recalled if a skill does what it says, else learned.

    Exit status: 0 done, 1 the task failed, 2 bad input, 3 done but healed (`--fail-on-heal`), 4 waits for a person,
    5 blocked by the policy.

    Example: `replaywright run demo/send_mail.yaml -p base_url=http://127.0.0.1:8025 -p to=ada@example.com
    -p subject=Minutes -p body=Hello`

    Example: `replaywright run --url http://127.0.0.1:8025 --secret PASSWORD "Send ada@example.com a mail with the
    subject 'Minutes' and the text 'Hello'"`
    """
    options_of(ctx).json = json
    settings = load_settings()
    wanted = goal.task_or_goal(task, url=url, secrets=secret or [])
    goal.refuse_for_steps(wanted, fresh=fresh, no_wait=no_wait)
    values = bind_parameters(wanted, taskfile.read_parameters(param or [], params))
    refuse_what_is_blocked(settings.policy, wanted, values)
    given = Budget(calls=max_calls, tokens=max_tokens, money=max_money, seconds=max_seconds, plans=max_plans)
    name = checked_id(run_id) or taskfile.new_run_id(wanted, values)
    order = Order(
        wanted,
        values,
        name,
        mode,
        heal,
        given,
        on_failure,
        fresh=fresh,
        wait_for_others=not no_wait,
        pictures=pictures,
    )
    if detach:
        require_somewhere(settings)
    if not is_somewhere(settings):
        taskfile.require_secrets(wanted)
    console = output.standard_error() if json else output.standard_output()

    async def as_said(_here: Place) -> Order:
        return order

    status = asyncio.run(
        carry_out(as_said, settings, console, fail_on_heal=fail_on_heal, detach=detach, wait=wait, json=json)
    )
    raise typer.Exit(status)


async def carry_out(
    begin: Begin, settings: Settings, console: Console, *, fail_on_heal: bool, detach: bool, wait: bool, json: bool
) -> Exit:
    """Start what `begin` finds out, show it to its end, and return the exit status."""

    def tell(text: str) -> None:
        output.print_line(text, style="dim", console=console)

    if settings.redis_url is not None:
        await ask_redis(settings.redis_url, ("PING",))
    order: Order | None = None
    for restart in range(_RESTARTS + 1):
        try:
            async with working_place(settings, tell=tell) as here:
                if order is None:
                    wanted = await begin(here)
                    if wanted is None:
                        return Exit.DONE
                    mention_secrets(wanted.task, here, tell)
                    await start(here, wanted)
                    order = wanted
                    _announce(order, here, console)
                if detach:
                    if json:
                        output.print_json(
                            {"runId": order.run_id, "url": here.run_url(order.run_id), "status": "started"}
                        )
                    return Exit.DONE
                return await _watched(here, order, console, fail_on_heal=fail_on_heal, wait=wait, json=json)
        except ServerGone:
            if restart == _RESTARTS:
                raise
            tell("the stack that this run used has ended: going on with another")
    raise AssertionError("the last attempt returns or raises")


async def _watched(here: Place, order: Order, console: Console, *, fail_on_heal: bool, wait: bool, json: bool) -> Exit:
    begun = time.monotonic()
    handle = here.client.get_workflow_handle(order.run_id, result_type=RunResult)
    ending = await _followed(here, handle, console, until_waiting=not wait)
    if ending is None:
        if json:
            output.print_json({"runId": order.run_id, "url": here.run_url(order.run_id), "status": "running"})
        return Exit.INTERRUPTED
    status = exit_status(ending, fail_on_heal=fail_on_heal)
    if json:
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


async def _followed(
    here: Place, handle: WorkflowHandle[Any, RunResult], console: Console, *, until_waiting: bool
) -> Ending | None:
    """The end of the run; None when the user left before it."""
    live = Live(console=console, refresh_per_second=8, transient=False) if console.is_terminal else None
    screen = _Screen(console, live)
    with live if live is not None else contextlib.nullcontext():
        following = asyncio.create_task(
            follow(handle, show=screen.show, until_waiting=until_waiting, patient=here.how == "configured")
        )
        with _interrupts(lambda: _say_it_goes_on(here, handle.id, console)) as left:
            leaving = asyncio.create_task(left.wait())
            await asyncio.wait({following, leaving}, return_when=asyncio.FIRST_COMPLETED)
        leaving.cancel()
        if following.done():
            return await following
        following.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await following
        return None


@contextlib.contextmanager
def _interrupts(first: Callable[[], None]) -> Iterator[asyncio.Event]:
    """The first Ctrl-C calls `first`, the second sets the event."""
    left = asyncio.Event()
    presses = 0

    def pressed() -> None:
        nonlocal presses
        presses += 1
        if presses == 1:
            first()
        else:
            left.set()

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, pressed)
    try:
        yield left
    finally:
        loop.remove_signal_handler(signal.SIGINT)


def _say_it_goes_on(here: Place, run_id: str, console: Console) -> None:
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
    """The exit status for how a run ended."""
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
    ending: Ending, order: Order, here: Place, console: Console, seconds: float, *, healed_fails: bool = False
) -> None:
    """Say how the run ended, what it cost, and what to do next."""
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
            output.print_line(f"{held} for a person: `replaywright cache list --held`", console=console)
        for warning in result.warnings:
            output.print_line(f"  warning: {warning}", style="yellow", console=console)
        for name, value in result.extracted.items():
            output.print_line(f"  {name}: {value}", console=console)
        for file in result.files:
            output.print_line(f"  file {file.name}: {file.size} bytes, artifact {file.sha256}", console=console)
    elif ending.status == "waiting":
        output.print_line(f"waits for a person after {took}: {totals}", style="yellow", console=console)
        say_what_it_waits_for(ending.progress, order.run_id, console, stack_ends=here.how == "started")
    else:
        style = {"cancelled": "yellow", "blocked": "magenta"}.get(ending.status, "red")
        output.print_line(f"{ending.status.replace('_', ' ')} after {took}: {totals}", style=style, console=console)
        for line in failure_lines(result):
            output.print_line(f"  {line}", console=console)
        remedy = remedy_of(result.reason, order.run_id)
        if remedy:
            output.print_line(f"  what to do: {remedy}", console=console)
        resumed = f"`replaywright resume {order.run_id}`, with --task FILE when the task was mended"
        output.print_line(f"  to go on where it stopped: {resumed}", console=console)
    _say_refused(result, console)
    if url := here.run_url(order.run_id):
        output.print_line(f"  {url}", style="dim", console=console)


def refused_lines(result: RunResult) -> list[str]:
    """Which hosts pages asked for and did not get, and how to let them have these."""
    if not result.refused_hosts:
        return []
    told = [
        f"{bracketed(each.host)}:{each.port} ({output.count(each.count, 'time')}, {each.rule})"
        for each in result.refused_hosts
    ]
    lines = [f"pages asked for hosts that the policy refuses: {', '.join(told[:_REFUSED_SHOWN])}"]
    if len(told) > _REFUSED_SHOWN:
        lines[0] += f" and {len(told) - _REFUSED_SHOWN} more"
    return [*lines, "to let them have those that the task needs, add these to `policy: hosts: allow` in the task file"]


def _say_refused(result: RunResult, console: Console) -> None:
    for line in refused_lines(result):
        output.print_line(f"  {line}", style="dim", console=console)


def failure_lines(result: RunResult) -> list[str]:
    """What failed and why."""
    lines: list[str] = []
    words = result.message or result.reason.replace("_", " ")
    if result.failed_step is not None:
        lines.append(f"step {result.failed_step + 1}: {words} ({result.rule or result.reason})")
    elif words:
        lines.append(words)
    lines += [
        f"final verification: {check.reason}: {check.details}" for check in result.verification if not check.passed
    ]
    lines += [f"warning: {warning}" for warning in result.warnings]
    return lines


def say_what_it_waits_for(
    progress: Progress | None, run_id: str, console: Console, *, stack_ends: bool = False
) -> None:
    """What a person has to decide, and with which command."""
    if progress is None:
        return
    output.print_line(f"  {progress.waiting_for}", console=console)
    if stack_ends:
        output.print_line("  start `replaywright up` first: the stack of this command ends now", console=console)
    question = progress.question
    if question is not None and not set(question.answers) <= _RESOLVED:
        for line in (*(f"  {line}" for line in question.shows), f"page: {question.url}"):
            output.print_line(f"  {line}", console=console)
        said = "|".join(question.answers)
        output.print_line(f"  then: replaywright answer {run_id} {said}  [--why TEXT]", console=console)
        return
    answers = " | ".join(f"--{answer.replace('_', '-')}" for answer in progress.answers or _IN_DOUBT)
    output.print_line(
        f"  then: replaywright resolve {run_id} --step {progress.step + 1} {answers}  [--why TEXT]", console=console
    )


def _announce(order: Order, here: Place, console: Console) -> None:
    output.print_line(f"run {order.run_id}", style="bold", console=console)
    if url := here.run_url(order.run_id):
        output.print_line(f"  {url}", style="dim", console=console)


def mention_secrets(task: Task, here: Place, tell: Callable[[str], None]) -> None:
    """With a worker of somebody else's, what is set here says nothing for certain."""
    if here.how == "started":
        taskfile.require_secrets(task)
        return
    try:
        taskfile.require_secrets(task)
    except (InputInvalid, SecretMissing):
        names = ", ".join(SECRET_PREFIX + name for name in task.secrets)
        tell(f"the worker needs {names}; it is not set here, which is well if it is set there")


def checked_id(run_id: str | None) -> str:
    """The caller's id, if it is one that Temporal and a path of its UI can hold.

    Raises:
        InputInvalid: empty, too long, or with spaces or control characters.
    """
    if run_id is None:
        return ""
    if (
        not run_id
        or len(run_id.encode(errors="replace")) > _ID_BYTES
        or output.plain(run_id) != run_id
        or " " in run_id
    ):
        raise InputInvalid(f"--id {run_id!r}: expected 1 to {_ID_BYTES} bytes without spaces or control characters")
    return run_id
