"""`replaywright up`: the stack and its workers, in the foreground."""

import asyncio
import contextlib
import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from replaywright.cli import output
from replaywright.cli.app import app
from replaywright.cli.command import Exit
from replaywright.cli.interrupts import ShutdownRequest, unless_left
from replaywright.errors import InputInvalid, StackFailed
from replaywright.settings import PREFIX, Settings, load_settings
from replaywright.stack import Child, Stack, free_port, start_child
from replaywright.stack.keyring import codec_keys_of
from replaywright.stack.processes import leave
from replaywright.stack.supervisor import Supervisor
from replaywright.stack.workers import WORKER_READY_S

_LOOK_EVERY_S = 0.5
_CODEC_PORT = 8081


class WorkerRole(StrEnum):
    """Roles of a worker."""

    ALL = "all"
    WORKFLOW = "workflow"
    BROWSER = "browser"
    MODEL = "model"


@app.command()
async def up(
    role: Annotated[
        list[WorkerRole] | None,
        typer.Option(help="Start a worker for this role in its own process; repeatable. (default: `all`)"),
    ] = None,
    codec: Annotated[
        bool,
        typer.Option("--codec", help="Start a codec server, too, so that the Temporal UI shows sealed payloads."),
    ] = False,
) -> None:
    """Run the stack and a worker in the foreground, until Ctrl-C.

    Temporal with its UI and Redis are started unless their addresses are configured; runs, ledger and cache are kept in
    the home folder and are there again the next time. A worker that dies, or is not ready in time, is started again;
    servers and runs stay. Ctrl-C lets steps under way end for 6 seconds, a second one ends them at once; browsers end
    with the servers, and their runs go on in new ones at the next `up`.

    Example: `replaywright up`, or with a process for each kind of work
    `replaywright up --role workflow --role browser --role model`
    """
    raise typer.Exit(await _up(load_settings(), tuple(dict.fromkeys(role or [WorkerRole.ALL])), codec=codec))


async def _up(settings: Settings, roles: tuple[WorkerRole, ...], *, codec: bool) -> Exit:
    if codec and (settings.temporal_address is not None or not codec_keys_of(settings)):
        raise InputInvalid(
            "--codec is for a Temporal that this command starts, with REPLAYWRIGHT_CODEC_KEYS set; for another, "
            "run `replaywright admin codec-server`"
        )
    codec_port = free_port(_CODEC_PORT) if codec else None
    ending = ShutdownRequest()
    # Heard to the very end: no signal interrupts what is being cleaned up.
    with ending.heard():
        async with contextlib.AsyncExitStack() as exits:
            stack = Stack(settings, brings_workers=True, codec_endpoint=_codec_endpoint(codec_port), tell=_say)
            if await unless_left(exits.enter_async_context(stack), ending.asked) is None:
                _say("stopped before it was up")
                leave(Exit.INTERRUPTED)  # a thread that installs a browser cannot be stopped, and is not waited for
            if stack.joined:
                raise StackFailed(_already(stack))
            return await _serve(stack, settings, roles, ending, codec_port=codec_port)


def _codec_endpoint(port: int | None) -> str | None:
    return None if port is None else f"http://127.0.0.1:{port}"


async def _serve(
    stack: Stack, settings: Settings, roles: tuple[WorkerRole, ...], ending: ShutdownRequest, *, codec_port: int | None
) -> Exit:
    """Keep workers running until a signal, or until a server has ended."""
    spares = {} if settings.spare_browsers is not None else {f"{PREFIX}SPARE_BROWSERS": "1"}
    workers = Supervisor(stack.environment() | spares, settings.home / "log", ready_s=WORKER_READY_S, tell=_say)
    helpers: list[Child] = []
    try:
        _announce(stack, settings, roles, codec_port)
        workers.start(roles)
        if codec_port is not None:
            helpers.append(_codec_server(stack, codec_port))
        await _watch(stack, workers, ending, lambda: helpers.append(_resident(settings.home)))
    finally:
        await workers.stop(ending.at_once)
        for helper in helpers:
            await helper.stop()
    _say("stopping: servers and browsers")
    return Exit.DONE


def _codec_server(stack: Stack, port: int) -> Child:
    command = [sys.executable, "-m", "replaywright", "admin", "codec-server", "--port", str(port)]
    log = stack.settings.home / "log" / "codec-server.log"
    return start_child("codec server", command, log=log, environment=stack.environment())


def _resident(home: Path) -> Child:
    command = [sys.executable, "-P", "-m", "replaywright.cli.resident.server", str(home)]
    return start_child("resident", command, log=home / "log" / "resident.log")


def _already(stack: Stack) -> str:
    running = stack.running
    by = "" if running.owner is None else f" (process {running.owner.pid})"
    return (
        f"a stack is running already{by}: Temporal UI {running.temporal_ui_url or 'unknown'}, Temporal "
        f"{running.temporal_address}; use it, or stop it where it was started"
    )


def _announce(stack: Stack, settings: Settings, roles: tuple[WorkerRole, ...], codec_port: int | None) -> None:
    endpoint = _codec_endpoint(codec_port)
    rows = [
        *stack.describe(),
        ("Model", _model(settings)),
        ("Worker", ", ".join(roles)),
        ("Queue", settings.queue),
        *((("Codec server", endpoint),) if endpoint else ()),
    ]
    width = max(len(name) for name, _ in rows)
    for name, address in rows:
        output.print_line_as_is(f"{name:<{width}}  {output.plain(address)}")
    _say("waiting for the worker…" if len(roles) == 1 else "waiting for the workers…")


def _model(settings: Settings) -> str:
    if settings.model is None:
        return "none: only what is in the cache can be done (set REPLAYWRIGHT_MODEL and the provider's key)"
    return settings.model + (f" at {settings.model_base_url}" if settings.model_base_url else "")


async def _watch(stack: Stack, workers: Supervisor, ending: ShutdownRequest, is_ready: Callable[[], object]) -> None:
    """Return at the first signal; call `is_ready` once when the workers are.

    Raises:
        StackFailed: a server has ended.
    """
    said_ready = False
    while not ending.asked.is_set():
        if (server := stack.ended_server()) is not None:
            raise StackFailed(
                f"{server.name} has ended with status {server.exit_status()}; its log is {server.log}\n"
                f"{server.log_tail()}"
            )
        if workers.ready.is_set() and not said_ready:
            said_ready = True
            is_ready()
            _say("ready: `replaywright run TASK` in another terminal; Ctrl-C stops", style="green")
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(ending.asked.wait(), _LOOK_EVERY_S)
    _say("stopping: steps under way may end; Ctrl-C again ends them at once", style="yellow")


def _say(text: str, style: str = "yellow") -> None:
    with contextlib.suppress(OSError):  # the terminal may be gone, and what was started is stopped all the same
        output.print_line(text, style=style)
