"""`replaywright admin keys`: keys for signing and encrypting, and signing what was kept before there were any."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Annotated, TypeVar

import typer

from cache.signing.signing_existing import Existing, Survey
from replaywright.cli import output
from replaywright.cli.app import admin
from replaywright.cli.command import Exit
from replaywright.cli.options import Json, Yes
from replaywright.cli.servers.store import open_or_start_store
from replaywright.domain.secrets.signing import Signer, written_key
from replaywright.errors import InputInvalid
from replaywright.settings import Settings, load_settings
from replaywright.stack.keyring import artifact_keys_of, codec_keys_of, new_key, signer_of

_Result = TypeVar("_Result")

SHOWN = 20
"""Records that are named."""

keys_app = admin.group(
    "keys",
    "Make keys that sign and encrypt, list which are in use, and sign what was kept before there were any.",
    "replaywright admin keys new",
)


@keys_app.command("new")
def new(
    key_id: Annotated[str, typer.Option("--id", metavar="ID", help="Id of the key; default: a random one.")] = "",
) -> None:
    """Print a new key for REPLAYWRIGHT_SIGNING_KEYS, REPLAYWRIGHT_CODEC_KEYS or REPLAYWRIGHT_ARTIFACT_KEYS.

    To rotate a key, put the new one in front of the old one everywhere; remove the old one when nothing needs it.

    Example: `export REPLAYWRIGHT_SIGNING_KEYS=$(replaywright admin keys new)`
    """
    if key_id and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}", key_id):
        raise InputInvalid(f"--id {key_id!r}: expected letters, digits, dot, _ and -, 32 at most")
    output.print_line_as_is(written_key(new_key(key_id)))


@keys_app.command("list")
def list_keys(json: Json = False) -> None:
    """Show the ids of the keys in use, the one that signs or encrypts first; never the keys.

    Example: `replaywright admin keys list`
    """
    settings = load_settings()
    found = {
        "signing": list(signer_of(settings).key_ids),
        "codec": [key.id for key in codec_keys_of(settings)],
        "artifacts": [key.id for key in artifact_keys_of(settings)],
    }
    if json:
        output.print_json(found)
        return
    nothing = {"signing": "UNSIGNED", "codec": "clear text", "artifacts": "clear text"}
    for purpose, ids in found.items():
        output.print_line_as_is(f"{purpose:<10}{', '.join(ids) or nothing[purpose]}")


@keys_app.command("sign-existing")
def sign_existing(
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Sign records of the store that have no signature, or one of a key that is no longer the first.

    Check the list first: runs act on signed records. Records with an unknown key, or altered ones, stay refused.

    Example: `replaywright admin keys sign-existing`
    """
    settings = load_settings()
    signer = signer_of(settings)
    if signer.is_unsigned:
        raise InputInvalid("REPLAYWRIGHT_UNSIGNED is set: there is no key to sign with; unset it first")
    survey = asyncio.run(_with_existing(settings, signer, Existing.look))
    wanted = sum(survey.to_sign.values())
    if not json:
        _show(survey)
    agreed = yes or (not json and wanted > 0 and typer.confirm(f"Sign {output.count(wanted, 'record')}?"))
    done = 0
    if agreed and wanted:
        done = asyncio.run(_with_existing(settings, signer, lambda existing: existing.sign(survey.names)))
    if json:
        payload = {"alreadySigned": survey.signed, "unsigned": survey.to_sign, "refused": survey.refused}
        output.print_json({**payload, "signed": done})
    elif wanted:
        message = f"{output.count(done, 'record')} signed" if agreed else "nothing was changed"
        output.print_line(message, style="green" if agreed else "yellow")
    raise typer.Exit(Exit.FAILED if survey.refused else Exit.DONE)


async def _with_existing(settings: Settings, signer: Signer, work: Callable[[Existing], Awaitable[_Result]]) -> _Result:
    async with open_or_start_store(settings) as store:
        return await work(Existing(store.client, store.tenant, signer))


def _show(survey: Survey) -> None:
    for line in survey.told[:SHOWN]:
        output.print_line_as_is(output.plain(line))
    if len(survey.told) > SHOWN:
        output.print_line(f"… and {len(survey.told) - SHOWN} more")
    counts = (("signed already", survey.signed), ("to sign", survey.to_sign), ("refused", survey.refused))
    for name, found in counts:
        parts = ", ".join(f"{number} {kind}" for kind, number in sorted(found.items()))
        output.print_line_as_is(f"{name + ':':<16}{parts or 'none'}")
