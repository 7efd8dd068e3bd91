"""`replaywright run`: start a run, show it, and end with a status that a script can act on."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated

import typer

from replaywright.cli.app import app
from replaywright.cli.command import Exit
from replaywright.cli.completion import tasks
from replaywright.cli.options import NewId, ValueOptions, limit
from replaywright.cli.runs.follow import ServerGone
from replaywright.cli.runs.options import FollowOptions, OnFailure, RunOptions
from replaywright.cli.runs.starting import Order, order_of, refuse_what_is_blocked, start
from replaywright.cli.servers.connect import Backend, backend_exists, open_working_backend, require_backend
from replaywright.cli.tasks import goal, taskfile
from replaywright.domain.common.text import plain
from replaywright.domain.task.budgets import Budget
from replaywright.domain.task.tasks import Task, bind_parameters
from replaywright.errors import InputInvalid
from replaywright.settings import Settings, load_settings
from replaywright.stack.redis import ask_ping

_ID_BYTES = 200
_RESTARTS = 3
"""Number of times that a stack is replaced that ended during a run."""


Begin = Callable[["Backend"], Awaitable[Order]]
"""Determines the run to start."""


@dataclass(frozen=True)
class SpendingOptions:
    """Options that limit what a run may spend."""

    max_calls: Annotated[int | None, limit("--max-calls", "N", "Model calls of the run.")] = None
    max_tokens: Annotated[int | None, limit("--max-tokens", "N", "Tokens of the run, in and out together.")] = None
    max_money: Annotated[
        float | None, limit("--max-money", "USD", "US dollars that the run's model calls may cost.")
    ] = None
    max_seconds: Annotated[
        float | None, limit("--max-seconds", "S", "Seconds of the run, after which no model is asked any more.")
    ] = None
    max_plans: Annotated[
        int | None, limit("--max-plans", "N", "How often the planner may revise the rest of the plan.")
    ] = None

    @property
    def budget(self) -> Budget:
        """Make the budget that the caller allows."""
        return Budget(
            calls=self.max_calls,
            tokens=self.max_tokens,
            money=self.max_money,
            seconds=self.max_seconds,
            plans=self.max_plans,
        )


@dataclass(frozen=True)
class SentenceOptions:
    """Options of a task that is a sentence."""

    url: Annotated[
        str | None, typer.Option("--url", metavar="URL", help="For a sentence: the page that the task starts on.")
    ] = None
    secret: Annotated[
        list[str] | None,
        typer.Option("--secret", metavar="NAME", help="For a sentence: a secret that may be entered; repeatable."),
    ] = None
    fresh: Annotated[bool, typer.Option("--fresh", help="For a sentence: learn it, whatever skill there is.")] = False
    no_wait: Annotated[
        bool, typer.Option("--no-wait", help="For a sentence: do not wait for another run that learns the same.")
    ] = False


@app.command()
async def run(
    *,
    task: Annotated[
        str,
        typer.Argument(
            metavar="TASK",
            help="Task file, YAML or JSON; `-` is standard input. Or a sentence that says what to do.",
            autocompletion=tasks,
        ),
    ],
    sentence: SentenceOptions,
    given: ValueOptions,
    manner: RunOptions,
    spending: SpendingOptions,
    following: FollowOptions,
    run_id: NewId = None,
    debug: Annotated[
        bool, typer.Option("--debug", help="Where a step fails, edit the task there: see `replaywright edit`.")
    ] = False,
) -> None:
    """Run a task and show its progress. A sentence is replayed with a skill that matches it, else learned.

    Exit status: 0 done, 1 the task failed, 2 bad input, 3 done but healed (`--fail-on-heal`), 4 waits for a person,
    5 blocked by the policy.

    Example: `replaywright run demo/send_mail.yaml -p base_url=http://127.0.0.1:8025 -p to=ada@example.com
    -p subject=Minutes -p body=Hello`

    Example: `replaywright run --url http://127.0.0.1:8025 --secret PASSWORD "Send ada@example.com a mail with the
    subject 'Minutes' and the text 'Hello'"`
    """
    settings = load_settings()
    wanted = goal.task_or_goal(task, url=sentence.url, secrets=sentence.secret or [])
    goal.refuse_for_steps(wanted, fresh=sentence.fresh, no_wait=sentence.no_wait)
    values = bind_parameters(wanted, taskfile.read_parameters(given.param or [], given.params))
    refuse_what_is_blocked(settings, wanted, values)
    order = replace(
        order_of(wanted, values, checked_id(run_id) or taskfile.new_run_id(wanted, values), manner),
        budget=spending.budget,
        fresh=sentence.fresh,
        wait_for_others=not sentence.no_wait,
    )
    if debug:
        _check_debug(task, manner, following, wanted)
        order = replace(order, on_failure=OnFailure.ASK)
    if following.detach:
        require_backend(settings)
    if not backend_exists(settings):
        taskfile.require_secrets(wanted, values, settings.home)

    async def begin(_here: Backend) -> Order:
        return order

    async def failed(here: Backend, order: Order) -> Exit:
        from replaywright.cli.record.edit_session import at_failure  # noqa: PLC0415 - loaded where it is wanted

        return await at_failure(here, order, task)

    raise typer.Exit(await carry_out(begin, settings, following, waits=failed if debug else None))


def _check_debug(file: str, manner: RunOptions, following: FollowOptions, wanted: Task) -> None:
    """Refuse `--debug` where nobody can edit the task.

    Raises:
        InputInvalid: says what contradicts it.
    """
    others = {"--detach": following.detach, "--json": following.json, "--wait": following.wait}
    others["--on-failure"] = manner.on_failure is not None
    if other := next((name for name, is_given in others.items() if is_given), ""):
        raise InputInvalid(f"--debug edits the task where it fails: leave out {other}")
    if file == "-" or not wanted.steps:
        raise InputInvalid("--debug edits a task file: name one that has steps")


async def carry_out(
    begin: Begin,
    settings: Settings,
    following: FollowOptions,
    *,
    waits: Callable[[Backend, Order], Awaitable[Exit]] | None = None,
) -> Exit:
    """Start the run of `begin`, show it to its end, and return the exit status.

    Where it ends by waiting for a person, `waits` decides on the status.
    """

    def tell(text: str) -> None:
        from replaywright.cli import output  # noqa: PLC0415 - as below; mostly nothing is told before

        output.print_line(text, style="dim", console=output.for_people(json=following.json))

    if settings.redis_url is not None:
        await ask_ping(settings.redis_url)
    order: Order | None = None
    for restart in range(_RESTARTS + 1):
        try:
            async with open_working_backend(settings, tell=tell) as here:
                is_new = order is None
                if order is None:
                    wanted = await begin(here)
                    mention_secrets(wanted.task, wanted.values, here, tell)
                    await start(here, wanted)
                    order = wanted
                from replaywright.cli.runs import watching  # noqa: PLC0415 - what draws is loaded while the run begins

                if is_new:
                    watching.announce(order, here, following)
                if following.detach:
                    return Exit.DONE
                status = await watching.watched(here, order, following)
                return await waits(here, order) if waits is not None and status is Exit.WAITING else status
        except ServerGone:
            if restart == _RESTARTS:
                raise
            tell("the stack that this run used has ended: going on with another")
    raise AssertionError("the last attempt returns or raises")


def mention_secrets(task: Task, values: Mapping[str, str], here: Backend, tell: Callable[[str], None]) -> None:
    """Refuse secrets that a worker of this command cannot enter; for another worker, print what is unknown here.

    Raises:
        InputInvalid: a worker that this command starts has no value or no binding of a secret.
    """
    try:
        taskfile.require_secrets(task, values, here.settings.home)
    except InputInvalid as exc:
        if here.how == "started":
            raise
        tell(f"from here, secrets of the worker cannot be seen; if it has no more than this: {exc}")


def checked_id(run_id: str | None) -> str:
    """Return the caller's id if Temporal and its UI accept it.

    Raises:
        InputInvalid: empty, too long, or with spaces or control characters.
    """
    if run_id is None:
        return ""
    if not run_id or len(run_id.encode(errors="replace")) > _ID_BYTES or plain(run_id) != run_id or " " in run_id:
        raise InputInvalid(f"--id {run_id!r}: expected 1 to {_ID_BYTES} bytes without spaces or control characters")
    return run_id
