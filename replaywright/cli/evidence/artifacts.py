"""`replaywright admin artifacts`: what is kept of steps that failed, and how much of it stays."""

import asyncio
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from replaywright.artifacts.store import ArtifactStore
from replaywright.cli import output
from replaywright.cli.app import admin
from replaywright.cli.evidence.evidence import KeptArtifact, artifacts_of, attempts_of, print_artifacts
from replaywright.cli.groups import DefaultCommand
from replaywright.cli.options import Json, Run
from replaywright.cli.runs.finding import find_run, records_of
from replaywright.cli.servers.artifacts import artifact_store_of
from replaywright.cli.servers.connect import open_backend
from replaywright.cli.servers.store import open_store
from replaywright.domain.step.outcomes import KEPT_KINDS
from replaywright.errors import InputInvalid
from replaywright.stack.retention import enforce

_LIST = "list"


artifacts_app = admin.group(
    "artifacts",
    "List, open or save what is kept of steps that failed: `replaywright admin artifacts RUN`. Or delete what is old.",
    "replaywright admin artifacts latest",
    cls=DefaultCommand,
)


@artifacts_app.command(_LIST)
async def list_artifacts(
    *,
    run: Run,
    step: Annotated[int | None, typer.Option(min=1, help="Only those of this step.")] = None,
    opened: Annotated[str, typer.Option("--open", metavar="KIND", help=f"Open one: {', '.join(KEPT_KINDS)}.")] = "",
    save: Annotated[Path | None, typer.Option(metavar="DIR", help="Copy all into this folder.")] = None,
    json: Json = False,
) -> None:
    """List the artifacts of a run's failed steps; open one of them, or save them all.

    `replaywright admin artifacts RUN` is short for it. Artifacts hold no secrets: pictures hide them, texts lack them.

    Example: `replaywright admin artifacts list latest --step 3 --open screenshot`
    """
    if opened and opened not in KEPT_KINDS:
        raise InputInvalid(f"--open {opened!r}: the kinds are {', '.join(KEPT_KINDS)}")
    if opened and save is not None:
        raise InputInvalid("say one of --open and --save, not both")
    async with open_backend() as here:
        execution = await find_run(here, run)
        records = await records_of(here, execution)
    store = artifact_store_of(here.settings)
    chosen = records if step is None else attempts_of(execution.id, step, records)
    found = await artifacts_of(chosen, store)
    if save is not None:
        await _save(found, store, save)
    if json:
        output.print_json({"runId": execution.id, "artifacts": [artifact.as_json() for artifact in found]})
    elif opened:
        await _open(execution.id, found, store, opened)
    elif save is None and found:
        print_artifacts(found)
    elif not found:
        of = f"step {step}" if step is not None else "any step"
        output.print_line(f"nothing is kept of {of} of {execution.id}: only steps that fail leave artifacts")


@artifacts_app.command("prune")
async def prune(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be deleted, and delete nothing.")
    ] = False,
    json: Json = False,
) -> None:
    """Delete artifacts beyond the limits, the longest unused first; workers do the same regularly.

    The limits are REPLAYWRIGHT_ARTIFACTS_MAX_DAYS and …_MAX_MB. Artifacts that were used within a day, or that an open
    run or the cache refers to, stay.

    Example: `replaywright admin artifacts prune --dry-run`
    """
    async with open_backend() as here, open_store(here.settings) as store:
        done = await enforce(here.settings, here.client, store.client, dry_run=dry_run)
    payload = {"deleted": done.count, "bytes": done.size_bytes, "left": done.left_count, "leftBytes": done.left_bytes}
    what = output.count(done.count, "artifact")
    verb = "would be deleted" if dry_run else "deleted"
    left = f"{output.count(done.left_count, 'artifact')} with {done.left_bytes} bytes"
    message = f"{what} with {done.size_bytes} bytes {verb}; {left} {'would be left' if dry_run else 'left'}"
    output.print_result(message, {"dryRun": dry_run} | payload, json=json)


async def _save(found: Sequence[KeptArtifact], store: ArtifactStore, folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for artifact in found:
            if artifact.size is not None:
                (folder / artifact.name).write_bytes(await store.get(artifact.digest))
    except OSError as exc:
        raise InputInvalid(f"--save {str(folder)!r}: {exc.strerror or exc}; name a folder that can be written") from exc
    kept = sum(artifact.size is not None for artifact in found)
    output.print_line(f"{output.count(kept, 'artifact')} saved in {folder}", console=output.standard_error())


async def _open(run_id: str, found: Sequence[KeptArtifact], store: ArtifactStore, kind: str) -> None:
    """Open the last one of that kind with what this machine opens such files with."""
    fitting = [artifact for artifact in found if artifact.kind == kind]
    there = [artifact for artifact in fitting if artifact.size is not None]
    if not there:
        why = f": {fitting[-1].note}" if fitting else ""
        kinds = ", ".join(dict.fromkeys(artifact.kind for artifact in found if artifact.size is not None)) or "nothing"
        raise InputInvalid(
            f"no {kind} is kept of this{why}; there is {kinds}, see `replaywright admin artifacts {run_id}`"
        )
    # The store's files have no ending that tells what they are; and a viewer must not write into the store.
    path = Path(tempfile.mkdtemp(prefix="replaywright-")) / there[-1].name
    path.write_bytes(await store.get(there[-1].digest))
    output.print_line(str(path))
    await open_file(path, f"look at {path}, or copy them with --save DIR")


async def open_file(path: Path, remedy: str) -> None:
    """Open a file with the viewer of this system.

    Raises:
        InputInvalid: there is no viewer, which `remedy` follows, or it fails.
    """
    command = shutil.which("open" if sys.platform == "darwin" else "xdg-open")
    if command is None:
        raise InputInvalid(f"nothing here opens files: {remedy}")
    null = asyncio.subprocess.DEVNULL
    status = await (
        await asyncio.create_subprocess_exec(command, str(path), stdin=null, stdout=null, stderr=null)
    ).wait()
    if status:
        raise InputInvalid(f"{command} could not open {path} (status {status}): open it yourself")
