"""`replaywright admin sessions`: the signed-in sessions that tasks may use, and who uses them."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer
from rich.text import Text

from activities.run.site_sessions import NO_KEYS
from replaywright.cli import output
from replaywright.cli.app import admin
from replaywright.cli.options import Json
from replaywright.cli.people.updates import user_name
from replaywright.cli.servers.artifacts import artifact_store_of
from replaywright.cli.servers.connect import open_backend
from replaywright.cli.servers.site_sessions import declared, signalled, standing_of_site_session, state_of
from replaywright.domain.common.urls import origin_of
from replaywright.domain.site_session.commands import sign_kept
from replaywright.domain.site_session.definitions import Definition
from replaywright.domain.site_session.leases import Leases
from replaywright.domain.step.checkpoints import PageState
from replaywright.errors import InputInvalid
from replaywright.settings import Settings
from replaywright.site_sessions.cookies import expired_in, for_hosts, read_storage
from replaywright.site_sessions.file import SETTING, definition_of
from replaywright.stack.chromium import find_chromium
from replaywright.stack.keyring import signer_of
from replaywright.yaml_files import read_text

sessions_app = admin.group(
    "sessions",
    "The signed-in sessions that tasks may use: who uses them, signing in anew, and cookies from a browser.",
    "replaywright admin sessions list",
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="Of a session in the file of sessions.")]


@sessions_app.command("list")
async def list_sessions(json: Json = False) -> None:
    """List the sessions: whether they are signed in, who uses them, who waits, and why signing in failed.

    Example: `replaywright admin sessions list`
    """
    async with open_backend() as here:
        rows = [(name, one, await standing_of_site_session(here, name)) for name, one in declared(here.settings)]
    output.print_list(
        {"sessions": [_as_json(*row) for row in rows]},
        ("session", "signed in", "used by", "waiting", "sign-ins", "expiries"),
        [_cells(*row) for row in rows],
        json=json,
        nothing=f"no sessions: set {SETTING} to a file that declares them (docs/reference/sessions.md)",
    )
    if json:
        return
    for name, _, leases in rows:
        if leases.why:
            output.warn(f"{name}: signing in failed: {leases.why}")


@sessions_app.command("sign-in")
async def sign_in(name: Name, json: Json = False) -> None:
    """Have a session signed in anew by a run, also while nobody signs in because it failed before.

    Example: `replaywright admin sessions sign-in crm-ada`
    """
    await _signal(name, "renew", [user_name()])
    message = f"a run signs {name} in: `replaywright runs`; `replaywright admin sessions list` tells how it ended"
    output.print_result(message, {"session": name, "asked": True}, json=json)


@sessions_app.command("import")
async def import_session(
    name: Name,
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="A storage state, a JSON list of cookies, or a cookies.txt.")
    ] = None,
    profile: Annotated[
        Path | None,
        typer.Option("--profile", metavar="FOLDER", help="Instead: a profile of Chromium; chrome://version names it."),
    ] = None,
    host: Annotated[
        list[str] | None,
        typer.Option("--host", metavar="HOST", help="Take what is for this host, too, such as that of the sign-in."),
    ] = None,
    json: Json = False,
) -> None:
    """Take a signed-in session over from a browser of your own: from the export of its cookies, or from its profile.

    Only cookies and storage of the session's site are taken. They are kept encrypted; delete the file afterwards. Of a
    profile a copy is opened, without a network.

    Example: `replaywright admin sessions import crm-ada cookies.json`
    """
    if (file is None) == (profile is None):
        raise InputInvalid("FILE: name the file of an export, or a profile with --profile, and not both")
    async with open_backend() as here:
        definition = definition_of(here.settings.sessions, name)
        artifacts = artifact_store_of(here.settings)
        if not artifacts.is_sealed:
            raise InputInvalid(f"session {name!r}: {NO_KEYS}")
        url = definition.signed_in.url
        hosts = [urlsplit(url).hostname or "", *(each.lower() for each in host or ())]
        if profile is None:
            storage, left_out = read_storage(read_text(str(file), "FILE"), str(file), hosts)
        else:
            storage, left_out = await _of_profile(here.settings, profile, url, hosts)
        state = PageState(url=url, storage=storage)
        digest = await artifacts.put(state.model_dump_json(by_alias=True).encode())
        kept = sign_kept(signer_of(here.settings), here.settings.tenant, name, 0, digest)
        await signalled(here, name, "bring", [kept])
    taken = len(storage["cookies"])
    if expired := expired_in(storage):
        output.warn(f"{expired} of the {taken} cookies have expired")
    message = f"{taken} cookies taken for {name}, {left_out} of other sites left out; the next run tells if they hold"
    output.print_result(message, {"session": name, "cookies": taken, "leftOut": left_out}, json=json)


@sessions_app.command("forget")
async def forget_session(name: Name, json: Json = False) -> None:
    """Forget what is kept of a session. The next run that uses it has it signed in anew; runs that use it go on.

    Example: `replaywright admin sessions forget crm-ada`
    """
    await _signal(name, "forget", [user_name()])
    output.print_result(f"{name} is forgotten", {"session": name, "forgotten": True}, json=json)


async def _of_profile(settings: Settings, profile: Path, url: str, hosts: Sequence[str]) -> tuple[dict[str, Any], int]:
    """Return what a profile has stored for these hosts, and the number of cookies that were left out."""
    from replaywright.browser.profiles import read_profile  # noqa: PLC0415 - Playwright, which few commands need

    chromium = await asyncio.to_thread(find_chromium, settings.chromium)
    origins = [origin_of(url), *(f"https://{host}" for host in hosts[1:])]
    state = await read_profile(profile, origins, chromium.path, has_sandbox=settings.chromium_sandbox)
    return for_hosts(state, str(profile), hosts)


async def _signal(name: str, signal: str, arguments: list[Any]) -> None:
    async with open_backend() as here:
        definition_of(here.settings.sessions, name)
        await signalled(here, name, signal, arguments)


def _cells(name: str, _definition: Definition, leases: Leases) -> tuple[object, ...]:
    users = ", ".join(user.run_id for user in leases.holders)
    since = "" if leases.is_expired or leases.signed_in_at is None else f", {leases.signed_in_at:%Y-%m-%d %H:%M} UTC"
    return (name, Text(f"{state_of(leases)}{since}"), users, len(leases.waiting), leases.sign_ins, leases.expiries)


def _as_json(name: str, definition: Definition, leases: Leases) -> dict[str, Any]:
    return {
        "session": name,
        "signIn": definition.sign_in,
        "shared": definition.shared,
        "signedIn": not leases.is_expired,
        "since": None if leases.signed_in_at is None else leases.signed_in_at.isoformat(),
        "signingIn": "" if leases.signing_in is None else leases.signing_in.run_id,
        "usedBy": [user.run_id for user in leases.holders],
        "waiting": [user.run_id for user in leases.waiting],
        "signIns": leases.sign_ins,
        "expiries": leases.expiries,
        "failures": leases.failures,
        "why": leases.why,
    }
