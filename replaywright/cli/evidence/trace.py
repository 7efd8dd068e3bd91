"""`replaywright admin trace`: a run's trace as a file, checked and replayed where there is no server."""

import json as json_format
from pathlib import Path
from typing import Annotated, Any

import typer
from temporalio.client import WorkflowExecutionDescription

from activities.policing import Policing
from replaywright import __version__
from replaywright.cli import output
from replaywright.cli.admin.policy import PolicyFile, operator_of
from replaywright.cli.app import admin
from replaywright.cli.command import Exit
from replaywright.cli.evidence.offline import Replayed, replay
from replaywright.cli.files import write_whole
from replaywright.cli.options import Json, Run
from replaywright.cli.runs.finding import find_run, scope_of
from replaywright.cli.servers.connect import Backend, open_backend, temporal_errors
from replaywright.cli.servers.store import open_store
from replaywright.domain.common.elsewhere import TRACE_LIMIT
from replaywright.domain.trace.audit import Audit, audit
from replaywright.domain.trace.trace_file import Header, History, histories_in, written
from replaywright.errors import InputInvalid
from replaywright.grants import granted_hosts
from replaywright.sealing.codec import SealedPayloads
from replaywright.settings import load_settings
from replaywright.stack.keyring import codec_keys_of, known_signer
from replaywright.yaml_files import read_bytes

SHOWN = 20
"""Findings that are printed."""

trace_app = admin.group(
    "trace",
    "Write a run's trace to a file, check such a file, and replay it against today's code, offline.",
    "replaywright admin trace export latest --out run.jsonl && replaywright admin trace verify run.jsonl",
)

File = Annotated[Path, typer.Argument(metavar="FILE", help="As `replaywright admin trace export` wrote it.")]


@trace_app.command("export")
async def export(
    run: Run,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Output file; default: standard output.")] = None,
    without_history: Annotated[
        bool,
        typer.Option(
            "--without-history",
            help="Leave the workflow's history out: with it go the values of parameters, and what `replay` needs.",
        ),
    ] = False,
) -> None:
    """Write the trace of a run as JSON Lines: a header, the lines as they are stored, the workflow's history.

    The file has the names of secrets, never values. Its history has the values of parameters, and both have texts of
    pages: protect the file like these. The printed seal identifies the file later: keep it elsewhere.

    Example: `replaywright admin trace export latest --out run.jsonl`
    """
    async with open_backend() as here:
        execution = await find_run(here, run)
        text, header = await exported(here, execution, with_history=not without_history)
    if out is None:
        output.print_file(text)
    else:
        write_whole(out, text)
    message = f"{output.count(header.lines, 'line')}, {output.count(header.histories, 'execution')}; seal {header.seal}"
    output.print_progress(f"{execution.id}: {message}")


@trace_app.command("verify")
def verify(
    file: File,
    seal: Annotated[str, typer.Option(metavar="DIGEST", help="The seal that `export` printed.")] = "",
    json: Json = False,
) -> None:
    """Verify a file's form, order, hash chain, signatures and fingerprints, and compare it with the history.

    Needs no server; signatures need their keys. Names the first line that was altered, removed, moved or inserted, and
    exits with 1 if there is one.

    Example: `replaywright admin trace verify run.jsonl`
    """
    verdict = audit(_text_of(file), seal=seal, signer=known_signer(load_settings()))
    if json:
        output.print_json(_audit_json(verdict))
    else:
        _print_audit(file, verdict)
    raise typer.Exit(Exit.FAILED if verdict.findings else Exit.DONE)


@trace_app.command("replay")
async def replay_file(file: File, policy: PolicyFile = None, json: Json = False) -> None:
    """Run the current workflow code against the recorded outcomes; no network, browser, Redis or Temporal.

    Lists different decisions (activity, fingerprint, question or end), outcomes that the current rules judge
    differently, and steps that the current policy blocks; exits with 1 if there are any.

    Example: `replaywright admin trace replay run.jsonl`
    """
    text = _text_of(file)
    home = load_settings().home
    policing = Policing(operator_of(policy), lambda: granted_hosts(home))
    try:
        histories = histories_in(text)
    except InputInvalid as exc:
        raise InputInvalid(f"{file}: {exc}") from exc
    if not histories:
        raise InputInvalid(f"{file}: it holds no history to replay: export it again, without --without-history")
    if (findings := audit(text).findings) and not json:
        message = f"{file}:{findings[0].line}: {findings[0].what}; what is replayed is not what was recorded"
        output.warn(message)
    replayed = [await replay(history, policing) for history in histories]
    if json:
        output.print_json({"whole": not findings, "executions": [_replayed_json(one) for one in replayed]})
    else:
        _print_replayed(replayed)
    raise typer.Exit(Exit.FAILED if any(one.differences for one in replayed) else Exit.DONE)


async def exported(
    here: Backend, execution: WorkflowExecutionDescription, *, with_history: bool = True
) -> tuple[str, Header]:
    """Return the run's trace as the text of a file, and its header.

    Raises:
        StoreUnavailable: the trace cannot be read.
        StackFailed: the history cannot be read.
    """
    # The history first: what it tells is in the trace by then.
    histories = await histories_of(here, execution) if with_history else []
    tenant, lineage = await scope_of(here, execution)
    async with open_store(here.settings) as store:
        stored = await store.steps.stored_trace(tenant=tenant, lineage=lineage)
    return written(
        stored, histories, run=execution.id, lineage=lineage, tenant=tenant, written_by=f"replaywright {__version__}"
    )


async def histories_of(here: Backend, execution: WorkflowExecutionDescription) -> list[History]:
    """Return the histories of the run's executions, oldest first, as far back as Temporal has them, decrypted.

    Raises:
        SealBroken: a payload is encrypted with a key that is not known here.
    """
    found: list[History] = []
    keys = codec_keys_of(here.settings)
    codec = SealedPayloads(keys) if keys else None
    run_id: str | None = execution.run_id
    while run_id:
        try:
            with temporal_errors(here.settings, execution.id):
                history = await here.client.get_workflow_handle(execution.id, run_id=run_id).fetch_history()
        except InputInvalid:
            if not found:
                raise
            output.print_progress(
                f"{execution.id}: Temporal has the execution {run_id} no more: the file begins after it"
            )
            break
        events = json_format.loads(history.to_json())["events"]
        found.insert(0, History(execution.id, run_id, codec.opened_events(events) if codec else events))
        started = history.events[0].workflow_execution_started_event_attributes
        run_id = started.continued_execution_run_id
    return found


def _text_of(file: Path) -> str:
    """Read the file's text; bytes that are no UTF-8 are preserved."""
    return read_bytes(str(file), str(file), TRACE_LIMIT).decode("utf-8", "surrogateescape")


def _print_audit(file: Path, verdict: Audit) -> None:
    for finding in verdict.findings[:SHOWN]:
        output.print_line(f"{file}:{finding.line}: {finding.what}", style="red")
    if len(verdict.findings) > SHOWN:
        output.print_line(f"… and {len(verdict.findings) - SHOWN} more", style="red")
    for note in verdict.notes:
        output.print_line(note, style="yellow")
    header = verdict.header
    if header is not None and not verdict.findings:
        held = f"{output.count(header.lines, 'line')}, {output.count(header.histories, 'execution')}"
        output.print_line(f"{file}: as it was written: {held} of {header.run}, seal {header.seal}", style="green")


def _audit_json(verdict: Audit) -> dict[str, Any]:
    return {
        "whole": not verdict.findings,
        "findings": [{"line": finding.line, "what": finding.what} for finding in verdict.findings],
        "notes": list(verdict.notes),
        "header": None if verdict.header is None else verdict.header.model_dump(mode="json", by_alias=True),
    }


def _print_replayed(replayed: list[Replayed]) -> None:
    for one in replayed:
        name = " ".join(part for part in (one.history.workflow_id, one.history.run_id) if part)
        activities = output.count(one.activities, "activity", "activities")
        if not one.differences:
            output.print_line(f"{name}: {activities}, decided today as recorded", style="green")
        for difference in one.differences:
            output.print_line(f"{name}: {difference.where}: {difference.what}", style="red")


def _replayed_json(one: Replayed) -> dict[str, Any]:
    return {
        "workflowId": one.history.workflow_id,
        "runId": one.history.run_id,
        "activities": one.activities,
        "differences": [{"where": difference.where, "what": difference.what} for difference in one.differences],
    }
