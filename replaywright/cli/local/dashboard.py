"""`replaywright dashboard`: runs, inbox, skills and cache as pages in a browser."""

import asyncio
import contextlib
import logging
import os
import socket
import tempfile
from collections.abc import AsyncIterator, Iterator
from html import escape
from pathlib import Path
from typing import Annotated

import typer
import uvicorn

from replaywright.cli import output
from replaywright.cli.app import app
from replaywright.cli.local.dashboard_source import RunningSource
from replaywright.cli.local.listening import HOST, listening
from replaywright.dashboard.app import Dashboard
from replaywright.dashboard.guard import AccessGuard
from replaywright.keeper.host.own_processes import entered
from replaywright.settings import Settings, load_settings

_LEAVING_S = 2
"""Grace period for a response under way on Ctrl-C."""


@app.command()
def dashboard(
    *,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on loopback; 0 takes a free one.")] = 0,
    opened: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
) -> None:
    """Show runs, inbox, skills and cache as pages in a browser; they change as the runs go on.

    What waits for a person is answered there, and a run's browser is watched, taken over and handed back. The dashboard
    listens on loopback. Its address has a token: everybody with the address sees the runs of this tenant, answers them
    and takes them over. Ctrl-C ends it.

    Example: `replaywright dashboard --open`
    """
    settings = load_settings()
    with listening(port) as listener, entered(settings.home):
        asyncio.run(_serve(settings, listener, opened=opened))


async def _serve(settings: Settings, listener: socket.socket, *, opened: bool) -> None:
    port = listener.getsockname()[1]
    names = [f"{name}:{port}" for name in (HOST, "localhost")]
    logging.basicConfig(level="WARNING", format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    async with _source(settings) as source:
        pages = Dashboard(source, tenant=settings.tenant).app()
        guard = AccessGuard(pages, hosts=names, origins=[f"http://{name}" for name in names])
        address = f"http://{HOST}:{port}{guard.entrance}"
        server = uvicorn.Server(
            uvicorn.Config(
                guard,
                log_level="warning",
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=_LEAVING_S,
            )
        )
        output.print_line_as_is(f"dashboard: {address}")
        output.print_line("whoever has this address sees the runs, and answers them; Ctrl-C ends it", style="dim")
        with _opened(address) if opened else contextlib.nullcontext():
            await server.serve([listener])


@contextlib.asynccontextmanager
async def _source(settings: Settings) -> AsyncIterator[RunningSource]:
    source = RunningSource(settings)
    try:
        yield source
    finally:
        await source.close()


@contextlib.contextmanager
def _opened(address: str) -> Iterator[None]:
    """Show the address in the browser, by way of a file: arguments of programs are seen by all users of a machine."""
    descriptor, name = tempfile.mkstemp(prefix="replaywright-dashboard-", suffix=".html")
    shown = escape(address, quote=True)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url={shown}">\n')
    try:
        typer.launch(Path(name).as_uri())
        yield
    finally:
        Path(name).unlink(missing_ok=True)
