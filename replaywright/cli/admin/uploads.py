"""`replaywright admin uploads`: list, grant and revoke folders that files may be uploaded from."""

from pathlib import Path
from typing import Annotated

import typer

from replaywright.cli import output
from replaywright.cli.app import admin
from replaywright.cli.options import Json
from replaywright.grants import Grants, change_grants, grants_file, read_grants
from replaywright.settings import load_settings

uploads_app = admin.group(
    "uploads",
    "Grant folders that files may be uploaded from, beside those of REPLAYWRIGHT_UPLOAD_ROOTS.",
    "replaywright admin uploads allow ./invoices",
)

Folders = Annotated[list[str], typer.Argument(metavar="FOLDER...", help="Folders of the worker's machine.")]


@uploads_app.command("allow")
def allow(folders: Folders, json: Json = False) -> None:
    """Let workers of this home upload files from these folders. It applies at once.

    Example: `replaywright admin uploads allow ./invoices`
    """
    home = load_settings().home
    _print(change_grants(home, lambda grants: grants.uploading(tuple(folders))), home, as_json=json)


@uploads_app.command("revoke")
def revoke(folders: Folders, json: Json = False) -> None:
    """Revoke grants of folders. Those of REPLAYWRIGHT_UPLOAD_ROOTS stay.

    Example: `replaywright admin uploads revoke ./invoices`
    """
    home = load_settings().home
    _print(change_grants(home, lambda grants: grants.not_uploading(tuple(folders))), home, as_json=json)


@uploads_app.command("list")
def list_uploads(json: Json = False) -> None:
    """List the folders that are granted in this home.

    Example: `replaywright admin uploads list`
    """
    home = load_settings().home
    _print(read_grants(home), home, as_json=json)


def _print(grants: Grants, home: Path, *, as_json: bool) -> None:
    file = str(grants_file(home))
    if as_json:
        output.print_json({"folders": list(grants.uploads), "file": file})
        return
    for folder in grants.uploads:
        output.print_line_as_is(folder)
    if not grants.uploads:
        output.print_line(f"no folder is granted ({file})")
