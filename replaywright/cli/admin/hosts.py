"""`replaywright admin hosts`: list, grant and revoke addresses that are not public."""

from pathlib import Path
from typing import Annotated

import typer

from replaywright.cli import output
from replaywright.cli.app import admin
from replaywright.cli.options import Json
from replaywright.domain.session.host_patterns import host_rule
from replaywright.errors import InputInvalid
from replaywright.grants import change_grants, grants_file, read_grants
from replaywright.keeper.host.own_processes import OwnPorts
from replaywright.reaching import is_of_this_machine
from replaywright.settings import load_settings

hosts_app = admin.group(
    "hosts",
    "Grant addresses that are not public: of this machine, of private networks. No task can grant one.",
    "replaywright admin hosts allow 127.0.0.1:8030",
)

Hosts = Annotated[
    list[str],
    typer.Argument(metavar="HOST...", help="`127.0.0.1:8030`, `10.1.2.0/24:443`, `wiki.corp=10.1.2.3`, `localhost:*`."),
]


@hosts_app.command("allow")
def allow(hosts: Hosts, json: Json = False) -> None:
    """Let runs of this home reach these addresses, if their task and the operator's policy allow them, too.

    Without a port, a pattern covers 80 and 443. It applies to sessions that are opened from now on.

    Example: `replaywright admin hosts allow 127.0.0.1:8030`
    """
    home = load_settings().home
    for pattern in hosts:
        _refuse_own(home, pattern)
    _print(change_grants(home, lambda grants: grants.allowed(tuple(hosts))).hosts, home, as_json=json)


@hosts_app.command("revoke")
def revoke(hosts: Hosts, json: Json = False) -> None:
    """Revoke grants for sessions that are opened from now on. The operator's policy stays.

    Example: `replaywright admin hosts revoke 127.0.0.1:8030`
    """
    home = load_settings().home
    _print(change_grants(home, lambda grants: grants.revoked(tuple(hosts))).hosts, home, as_json=json)


@hosts_app.command("list")
def list_hosts(json: Json = False) -> None:
    """List the addresses that are granted in this home.

    Example: `replaywright admin hosts list`
    """
    home = load_settings().home
    _print(read_grants(home).hosts, home, as_json=json)


def _refuse_own(home: Path, pattern: str) -> None:
    rule = host_rule(pattern, "HOST")
    host = rule.host.partition("/")[0]
    is_here = host == "localhost" or (rule.kind == "network" and is_of_this_machine(host))
    if is_here and rule.port is not None and OwnPorts(home).has(rule.port):
        raise InputInvalid(f"{pattern!r} is a server of Replaywright's own, which no page may reach; it is not granted")


def _print(hosts: tuple[str, ...], home: Path, *, as_json: bool) -> None:
    file = str(grants_file(home))
    if as_json:
        output.print_json({"hosts": list(hosts), "file": file})
        return
    for host in hosts:
        output.print_line_as_is(host)
    if not hosts:
        output.print_line(f"no address is granted ({file})")
