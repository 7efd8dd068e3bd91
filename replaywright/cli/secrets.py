"""`replaywright secrets`: which secrets are configured here, where they come from, and where they may be entered."""

import os
from typing import Annotated, Any

import typer

from replaywright.cli import output
from replaywright.cli.app import Command, Exit, app, options_of
from replaywright.errors import InputInvalid, SecretMissing
from replaywright.vault.environment import EnvironmentSecrets

secrets_app = typer.Typer(
    help="Secrets that are configured in this environment. No command shows a value.",
    epilog="Example: `replaywright secrets check`",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
app.add_typer(secrets_app, name="secrets")

OWN_SITE = "the task's own site"
_FAULTS = "fault"


@secrets_app.command("list", cls=Command)
def list_secrets(
    ctx: typer.Context,
    json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """List the secrets: name, source, and the domains that they are bound to. Nothing is read or run.

    A worker sees those of its own environment, which may be others.

    Example: `replaywright secrets list`
    """
    options_of(ctx).json = json
    secrets = EnvironmentSecrets(os.environ)
    _show([_told(secrets, name) for name in secrets.names], as_json=json)


@secrets_app.command("check", cls=Command)
def check_secrets(
    ctx: typer.Context,
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Only these; else all.")] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Read every secret from its source, and say whether it has a value, or why not. Commands are run.

    Exit status 2 when one has none, or is bound to something that is no domain.

    Example: `replaywright secrets check PASSWORD`
    """
    options_of(ctx).json = json
    secrets = EnvironmentSecrets(os.environ)
    if not names and not secrets.names:
        raise InputInvalid("no secret is configured here: set REPLAYWRIGHT_SECRET_NAME, or the same with _FILE")
    told = [_checked(secrets, name) for name in names or secrets.names]
    _show(told, as_json=json, checked=True)
    raise typer.Exit(Exit.BAD_INPUT if any(one[_FAULTS] for one in told) else Exit.DONE)


def _told(secrets: EnvironmentSecrets, name: str) -> dict[str, Any]:
    """What is known of a secret without reading it."""
    told: dict[str, Any] = {"name": name, "source": "", "from": "", "domains": None, _FAULTS: ""}
    faults = []
    try:
        source = secrets.source(name)
        told |= {"source": source.kind, "from": source.shown}
    except SecretMissing as exc:
        faults.append(str(exc))
    try:
        sites = secrets.domains(name)
        told["domains"] = None if sites is None else [str(site) for site in sites]
    except SecretMissing as exc:
        told["domains"] = []
        faults.append(str(exc))
    return told | {_FAULTS: "; ".join(faults)}


def _checked(secrets: EnvironmentSecrets, name: str) -> dict[str, Any]:
    told = _told(secrets, name)
    if not told[_FAULTS]:
        try:
            secrets.resolve(name)
        except SecretMissing as exc:
            told[_FAULTS] = str(exc)
    return told


def _show(told: list[dict[str, Any]], *, as_json: bool, checked: bool = False) -> None:
    if as_json:
        output.print_json({"secrets": told})
        return
    rows = output.table("name", "source", "from", "may be entered at", "answer")
    for one in told:
        domains = OWN_SITE if one["domains"] is None else ", ".join(one["domains"]) or "nowhere"
        answer = one[_FAULTS] or ("ok" if checked else "")
        rows.add_row(*output.cells(one["name"], one["source"], one["from"], domains, answer))
    output.print_table(rows)
