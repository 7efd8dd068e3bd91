"""`replaywright admin secrets`: list and check the secrets that are configured here, and bind them to hosts."""

import os
import sys
from getpass import getpass
from pathlib import Path
from typing import Annotated, Any

import typer

from replaywright.cli import output
from replaywright.cli.app import admin
from replaywright.cli.command import Exit
from replaywright.cli.options import Json
from replaywright.errors import InputInvalid, SecretMissing
from replaywright.grants import change_grants, grants_file, read_grants
from replaywright.settings import load_settings
from replaywright.vault.environment import EnvironmentSecrets
from replaywright.vault.sources import keep_secret, without_line_break

secrets_app = admin.group(
    "secrets",
    "List secrets, and bind them to the hosts whose pages may get them. No command shows a value.",
    "replaywright admin secrets check",
)

_FAULTS = "fault"


@secrets_app.command("list")
def list_secrets(
    json: Json = False,
) -> None:
    """List the secrets: name, source, and the domains that they are bound to. Nothing is read or run.

    A worker sees those of this home, and of its own environment, which may differ.

    Example: `replaywright admin secrets list`
    """
    home = load_settings().home
    secrets = EnvironmentSecrets(os.environ, home)
    names = sorted({*secrets.names, *read_grants(home).secrets})
    _show([_described(secrets, name) for name in names], as_json=json)


@secrets_app.command("check")
def check_secrets(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Only these; else all.")] = None,
    json: Json = False,
) -> None:
    """Read every secret from its source, and report missing values. Commands are run.

    Exit status 2 if a value is missing, or a binding is no domain.

    Example: `replaywright admin secrets check PASSWORD`
    """
    secrets = EnvironmentSecrets(os.environ, load_settings().home)
    if not names and not secrets.names:
        raise InputInvalid("no secret is configured here: `replaywright admin secrets set NAME`")
    rows = [_checked(secrets, name) for name in names or secrets.names]
    _show(rows, as_json=json, checked=True)
    raise typer.Exit(Exit.BAD_INPUT if any(one[_FAULTS] for one in rows) else Exit.DONE)


@secrets_app.command("set")
def set_secret(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The secret, as tasks name it.")],
    json: Json = False,
) -> None:
    """Write the value of a secret into a file of this home, which its owner alone may read.

    The value is asked for on the terminal, without an echo, or read from standard input. Workers of this home see it at
    once. To remove it, delete the file.

    Example: `replaywright admin secrets set PASSWORD`
    """
    value = getpass(f"value of {name}: ") if sys.stdin.isatty() else without_line_break(sys.stdin.read())
    home = load_settings().home
    file = keep_secret(name, value, home)
    _show([_described(EnvironmentSecrets(os.environ, home), name)], as_json=json)
    if not json:
        output.print_line_as_is(str(file))


@secrets_app.command("bind")
def bind_secret(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The secret, as tasks name it.")],
    hosts: Annotated[
        list[str],
        typer.Argument(
            metavar="HOST...", help="`shop.example`, `*.shop.example`, with `:port`; `http://host` also without TLS."
        ),
    ],
    json: Json = False,
) -> None:
    """Allow the secret on pages of these hosts, in addition to those that it is bound to already.

    Workers of this home see the change at once. A secret that is bound to no host is not entered anywhere.

    Example: `replaywright admin secrets bind PASSWORD shop.example`
    """
    home = load_settings().home
    bound = change_grants(home, lambda grants: grants.bound(name, tuple(hosts))).secrets
    _print_binding(name, bound.get(name, ()), grants_file(home), as_json=json)


@secrets_app.command("unbind")
def unbind_secret(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The secret, as tasks name it.")],
    hosts: Annotated[list[str] | None, typer.Argument(metavar="[HOST]...", help="Only from these; else all.")] = None,
    json: Json = False,
) -> None:
    """Remove bindings of a secret. Its variable `..._DOMAINS` is not changed.

    Example: `replaywright admin secrets unbind PASSWORD shop.example`
    """
    home = load_settings().home
    bound = change_grants(home, lambda grants: grants.unbound(name, tuple(hosts or ()))).secrets
    _print_binding(name, bound.get(name, ()), grants_file(home), as_json=json)


def _print_binding(name: str, hosts: tuple[str, ...], file: Path, *, as_json: bool) -> None:
    if as_json:
        output.print_json({"name": name, "hosts": list(hosts), "file": str(file)})
        return
    output.print_line(f"{name}: {', '.join(hosts) or 'bound to no host'} ({file})")


def _described(secrets: EnvironmentSecrets, name: str) -> dict[str, Any]:
    """Describe a secret without reading its value."""
    payload: dict[str, Any] = {"name": name, "source": "", "from": "", "domains": [], _FAULTS: ""}
    faults = []
    try:
        source = secrets.source(name)
        payload |= {"source": source.kind, "from": source.shown}
    except SecretMissing as exc:
        faults.append(str(exc))
    try:
        sites = secrets.domains(name)
        payload["domains"] = [str(site) for site in sites]
        if not sites:
            faults.append(f"bound to no host: `replaywright admin secrets bind {name} HOST`")
    except SecretMissing as exc:
        faults.append(str(exc))
    return payload | {_FAULTS: "; ".join(faults)}


def _checked(secrets: EnvironmentSecrets, name: str) -> dict[str, Any]:
    payload = _described(secrets, name)
    if not payload[_FAULTS]:
        try:
            secrets.resolve(name)
        except SecretMissing as exc:
            payload[_FAULTS] = str(exc)
    return payload


def _show(told: list[dict[str, Any]], *, as_json: bool, checked: bool = False) -> None:
    good = "ok" if checked else ""
    rows = [
        (one["name"], one["source"], one["from"], ", ".join(one["domains"]) or "nowhere", one[_FAULTS] or good)
        for one in told
    ]
    output.print_list({"secrets": told}, ("name", "source", "from", "may be entered at", "answer"), rows, json=as_json)
