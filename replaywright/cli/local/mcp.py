"""`replaywright mcp`: runs, skills and questions as tools of agents."""

import asyncio
import logging
import os
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from replaywright.agents.permissions import AgentGrant
from replaywright.cli import output
from replaywright.cli.app import app
from replaywright.cli.local.listening import listening
from replaywright.errors import InputInvalid
from replaywright.keeper.host.own_processes import entered
from replaywright.settings import Settings, load_settings
from replaywright.vault.environment import EnvironmentSecrets

_TOKEN_FILE = "mcp-token"  # noqa: S105  the name of the file


@app.command()
def mcp(
    *,
    grant: Annotated[
        list[AgentGrant] | None,
        typer.Option(help="Let the agent decide questions of this kind, which are a person's otherwise; repeatable."),
    ] = None,
    http: Annotated[bool, typer.Option("--http", help="Serve HTTP on loopback instead of standard input.")] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="For --http: the port; 0 takes a free one.")] = 0,
    token_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="For --http: the token; written if it is not there. (default: in the home folder)"
        ),
    ] = None,
    hooks: Annotated[
        str,
        typer.Option(
            metavar="SECRET",
            help="For --http: take webhooks at `/hook/SKILL`, verified by this secret. (none: no hooks)",
        ),
    ] = "",
    nexus: Annotated[
        str,
        typer.Option(
            metavar="TASK_QUEUE",
            help="For --http: serve Nexus operations that start skills, on this task queue of Temporal. (none: not)",
        ),
    ] = "",
    skill: Annotated[bool, typer.Option("--skill", help="Print the guide for agents, as SKILL.md, and exit.")] = False,
) -> None:
    """Serve an agent: each active skill is a tool, and there are tools to run tasks, learn, follow and answer runs.

    A Model Context Protocol server on standard input and output; the agent's program starts it. Runs are Temporal's:
    they outlive server and agent, and are taken up again by their ids. Policy, secrets and tenant are those of every
    command. What only a person may decide, such as an approval, stays a person's unless --grant names it. Whoever has
    the token of --http, or reaches a Nexus endpoint that leads to the queue of --nexus, starts active skills.

    Example: `replaywright mcp`, or for several agents `replaywright mcp --http --port 8040`
    """
    if skill:
        from replaywright.agents.resources import guide  # noqa: PLC0415 - the protocol's library is not needed

        output.print_file(guide())
        return
    if not http and (port or token_file is not None or hooks or nexus):
        raise InputInvalid("--port, --token-file, --hooks and --nexus belong to --http")
    settings, grants = load_settings(), frozenset(grant or ())
    logging.basicConfig(level="WARNING", format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    if not http:
        from replaywright.agents.server import serve_stdio  # noqa: PLC0415 - the protocol's library takes its time

        asyncio.run(serve_stdio(settings, grants))
        return
    _serve_http(settings, grants, port, token_file or settings.home / _TOKEN_FILE, hooks=hooks, nexus=nexus)


def _serve_http(
    settings: Settings, grants: frozenset[AgentGrant], port: int, path: Path, *, hooks: str, nexus: str
) -> None:
    from replaywright.agents.listening import serve_http, token_in  # noqa: PLC0415 - as above

    token = token_in(path)

    secrets = EnvironmentSecrets(os.environ, settings.home)
    if hooks:
        secrets.check(hooks)

    def announce(address: str) -> None:
        output.print_line_as_is(f"MCP: {address}")
        output.print_line_as_is(f"HTTP: {address.removesuffix('/mcp')}/run/SKILL, described by /openapi.json")
        if nexus:
            output.print_line_as_is(f"Nexus: service replaywright, operation run, on the task queue {nexus}")
        output.print_line(f"its token is in {path}: whoever has it can start runs; Ctrl-C ends it", style="dim")

    with listening(port) as listener, entered(settings.home):
        secret = partial(secrets.resolve, hooks) if hooks else None
        asyncio.run(serve_http(settings, grants, listener, token, announce, hook_secret=secret, nexus=nexus))
