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
from replaywright.cli.people.updates import user_name
from replaywright.dashboard.access_file import Access, read_access
from replaywright.dashboard.app import Dashboard
from replaywright.dashboard.guard import AccessGuard
from replaywright.dashboard.people import Role, Viewer
from replaywright.errors import InputInvalid
from replaywright.keeper.host.own_processes import entered
from replaywright.settings import Settings, load_settings
from replaywright.vault.environment import EnvironmentSecrets

_LEAVING_S = 2
"""Grace period for a response under way on Ctrl-C."""


@app.command()
def dashboard(
    *,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on loopback; 0 takes a free one.")] = 0,
    opened: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
    access: Annotated[
        Path | None,
        typer.Option(help="Have people sign in with an OpenID Connect provider, by this file of roles."),
    ] = None,
) -> None:
    """Show runs, inbox, skills and cache as pages in a browser; they change as the runs go on.

    What waits for a person is answered there, and a run's browser is watched, taken over and handed back. The dashboard
    listens on loopback. Its address has a token: everybody with the address sees the runs of this tenant, answers them
    and takes them over. With --access there is no token: people sign in, and their role says what they may do. Ctrl-C
    ends it.

    Example: `replaywright dashboard --open`
    """
    settings = load_settings()
    declared = None if access is None else read_access(access)
    if declared is not None and not port:
        raise InputInvalid("--access: give --port as well, so that the proxy at the address of the file finds it")
    with listening(port) as listener, entered(settings.home):
        asyncio.run(_serve(settings, listener, declared, opened=opened))


def _guarded(settings: Settings, source: RunningSource, port: int, declared: Access | None) -> tuple[AccessGuard, str]:
    """Return the guarded pages, and the address to open."""
    if declared is None:
        names = [f"{name}:{port}" for name in (HOST, "localhost")]
        owner = Viewer(user_name(), Role.OPERATE)
        pages = Dashboard(source, tenant=settings.tenant, owner=owner).app()
        guard = AccessGuard(pages, hosts=names, origins=[f"http://{name}" for name in names])
        return guard, f"http://{HOST}:{port}{guard.entrance}"
    from replaywright.dashboard.sign_in import SignIn  # noqa: PLC0415 - its library takes its time

    name = declared.client_secret
    secret = EnvironmentSecrets(os.environ, settings.home).resolve(name) if name else ""
    pages = Dashboard(source, tenant=settings.tenant).app()
    door = SignIn(declared, secret)
    guard = AccessGuard(pages, hosts=[declared.host], origins=[declared.origin], path=declared.path, door=door)
    return guard, declared.address


async def _serve(settings: Settings, listener: socket.socket, declared: Access | None, *, opened: bool) -> None:
    logging.basicConfig(level="WARNING", format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("replaywright.dashboard.deeds").setLevel("INFO")
    async with _source(settings) as source:
        port = listener.getsockname()[1]
        guard, address = _guarded(settings, source, port, declared)
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
        told = "whoever has this address sees the runs, and answers them"
        if declared is not None:
            told = f"it listens on {HOST}:{port}, and people sign in with {declared.issuer}"
        output.print_line(f"{told}; Ctrl-C ends it", style="dim")
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
