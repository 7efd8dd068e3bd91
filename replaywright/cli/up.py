"""`replaywright up`: the stack and its workers, in the foreground."""

import asyncio
import contextlib
import sys
import time
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from replaywright.cli import output
from replaywright.cli.app import Command, Exit, app
from replaywright.cli.interrupts import ENDING, interrupts
from replaywright.errors import InputInvalid, StackFailed
from replaywright.settings import PREFIX, Settings, load_settings
from replaywright.stack import Child, RunningStack, Stack, free_port, read_running, start_child, start_worker
from replaywright.stack.keyring import codec_keys_of

_LOOK_EVERY_S = 0.5
_CODEC_PORT = 8081
_DRAIN_S = 35
"""A little more than a worker's own graceful shutdown."""
_STABLE_S = 60
_RESTARTS = 5
"""A worker that ends this often within a minute is not started again: its log says why."""


class Role(StrEnum):
    """What a worker does."""

    ALL = "all"
    WORKFLOW = "workflow"
    BROWSER = "browser"
    MODEL = "model"


@app.command(cls=Command)
def up(
    role: Annotated[
        list[Role] | None,
        typer.Option(help="A worker for this role in a process of its own; repeatable. `all` without it."),
    ] = None,
    codec: Annotated[
        bool,
        typer.Option("--codec", help="A codec server too, so that the Temporal UI shows sealed payloads."),
    ] = False,
) -> None:
    """Run the stack and a worker in the foreground, until Ctrl-C.

    Temporal with its UI and Redis are started unless their addresses are configured; runs, ledger and cache are kept in
    the home folder and are there again the next time. A worker that dies is started again, and its runs go on.

    Example: `replaywright up`, or with a process for each kind of work
    `replaywright up --role workflow --role browser --role model`
    """
    raise typer.Exit(asyncio.run(_up(load_settings(), tuple(dict.fromkeys(role or [Role.ALL])), codec=codec)))


async def _up(settings: Settings, roles: tuple[Role, ...], *, codec: bool) -> Exit:
    if (running := read_running(settings.home)) is not None:
        raise StackFailed(_already(running))
    if codec:
        if settings.temporal_address is not None or not codec_keys_of(settings):
            raise InputInvalid(
                "--codec is for a Temporal that this command starts, with REPLAYWRIGHT_CODEC_KEYS set; for another, "
                "run `replaywright codec-server`"
            )
        settings = settings.model_copy(update={"codec_endpoint": f"http://127.0.0.1:{free_port(_CODEC_PORT)}"})
    async with Stack(settings, tell=output.print_line) as stack:
        if stack.joined:
            raise StackFailed(f"a stack has just been started elsewhere: {stack.ui_url or stack.temporal_address}")
        spares = {} if settings.spare_browsers is not None else {f"{PREFIX}SPARE_BROWSERS": "1"}
        workers = _Workers(stack.environment() | spares, settings.home / "log")
        codec_server: Child | None = None
        stopping = asyncio.Event()
        with interrupts(stopping.set, *ENDING):
            try:
                for role in roles:
                    await workers.start(role)
                if codec:
                    codec_server = _codec_server(stack)
                _announce(stack, settings, roles)
                return await _watch(settings, workers, stopping)
            finally:
                stopping.clear()
                await workers.stop(stopping)
                if codec_server is not None:
                    await codec_server.stop()


def _codec_server(stack: Stack) -> Child:
    settings = stack.settings
    port = str(urlsplit(settings.codec_endpoint or "").port)
    command = [sys.executable, "-m", "replaywright", "codec-server", "--port", port, "--ui", stack.ui_url or ""]
    log = settings.home / "log" / "codec-server.log"
    return start_child("codec server", command, log=log, environment=stack.environment())


def _already(running: RunningStack) -> str:
    return (
        f"a stack is running already: Temporal UI {running.temporal_ui_url or 'unknown'}, "
        f"Temporal {running.temporal_address}; use it, or stop it where it was started"
    )


def _announce(stack: Stack, settings: Settings, roles: tuple[Role, ...]) -> None:
    rows = [
        *stack.describe(),
        ("Model", _model(settings)),
        ("Worker", ", ".join(roles)),
        ("Queue", settings.queue),
        *((("Codec server", settings.codec_endpoint),) if settings.codec_endpoint else ()),
    ]
    width = max(len(name) for name, _ in rows)
    for name, address in rows:
        output.print_line_as_is(f"{name:<{width}}  {output.plain(address)}")
    output.print_line("ready: `replaywright run TASK` in another terminal; Ctrl-C stops", style="green")


def _model(settings: Settings) -> str:
    if settings.model is None:
        return "none: only what is in the cache can be done (set REPLAYWRIGHT_MODEL and the provider's key)"
    return settings.model + (f" at {settings.model_base_url}" if settings.model_base_url else "")


async def _watch(settings: Settings, workers: "_Workers", stopping: asyncio.Event) -> Exit:
    """Until Ctrl-C: start workers again; give up when a server has ended."""
    owns_servers = read_running(settings.home) is not None
    while not stopping.is_set():
        if owns_servers and read_running(settings.home) is None:
            raise StackFailed(f"Temporal or Redis has ended; their logs are in {settings.home / 'log'}")
        await workers.revive()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stopping.wait(), _LOOK_EVERY_S)
    output.print_line("stopping: steps under way may end; Ctrl-C again ends them at once", style="yellow")
    return Exit.DONE


@dataclass
class _Workers:
    environment: dict[str, str]
    logs: Path
    running: dict[Role, Child] = field(default_factory=dict)
    ends: list[float] = field(default_factory=list)

    async def start(self, role: Role) -> None:
        self.running[role] = await start_worker(self.environment, log=self.logs / f"worker-{role}.log", role=role)

    async def revive(self) -> None:
        """Start workers that have ended again.

        Raises:
            StackFailed: they end again and again.
        """
        for role, worker in list(self.running.items()):
            status = worker.exit_status()
            if status is None:
                continue
            now = time.monotonic()
            self.ends = [*(end for end in self.ends if now - end < _STABLE_S), now]
            if len(self.ends) > _RESTARTS:
                raise StackFailed(f"{worker.name} ends again and again; its log ends with: {worker.log_tail()[-500:]}")
            log = worker.log.with_suffix(".previous.log")
            worker.log.replace(log)  # a new worker writes its log anew
            output.print_line(
                f"{worker.name} ended with status {status} (log: {log}): starting it again", style="yellow"
            )
            await self.start(role)

    async def stop(self, at_once: asyncio.Event) -> None:
        """Let all of them drain together; end them when `at_once` is set."""
        draining = {asyncio.create_task(worker.stop(_DRAIN_S)) for worker in self.running.values()}
        hurry = asyncio.create_task(at_once.wait())
        while any(not task.done() for task in draining) and not hurry.done():
            await asyncio.wait({*draining, hurry}, return_when=asyncio.FIRST_COMPLETED)
        hurry.cancel()
        if at_once.is_set():
            for worker in self.running.values():
                worker.kill()
        await asyncio.gather(*draining)
