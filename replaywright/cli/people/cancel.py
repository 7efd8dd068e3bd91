"""`replaywright cancel`: end a run."""

import asyncio
from typing import Annotated

import typer
from temporalio.client import WorkflowExecutionStatus

from replaywright.cli import output
from replaywright.cli.app import app
from replaywright.cli.options import Run, Why
from replaywright.cli.people.updates import by_user, ended_message, updated
from replaywright.cli.runs.finding import find_run
from replaywright.cli.runs.follow import Ending, ended, handle_of
from replaywright.cli.servers.connect import Backend, open_existing_backend, temporal_errors
from replaywright.domain.run.commit_lines import commits_said

_END_LIMIT_S = 30
_END_POLL_S = 0.2


@app.command()
async def cancel(
    *,
    run: Run,
    fail: Annotated[
        bool, typer.Option("--fail", help="End it as failed, with the reason `aborted`, who did so, and why.")
    ] = False,
    why: Why = "",
) -> None:
    """End a run: the step under way is cancelled, the browser is closed, nothing further is done.

    Changes on the site stay; `replaywright resume` goes on after them. A request that is held at the gate is dropped
    first; one that has left gets 5 s for its response. The output names the steps that were sent, those that were not,
    and those in doubt. For a closed run, it describes the end.

    Example: `replaywright cancel latest --why "the order was withdrawn"`
    """
    async with open_existing_backend() as here:
        run_id = (await find_run(here, run)).id
        message, is_over = await end_run(here, run_id, fail=fail, why=why)
    output.print_line(message, style="green" if is_over else "yellow")


async def end_run(here: Backend, run_id: str, *, fail: bool = False, why: str) -> tuple[str, bool]:
    """End a run; return what became of it, and False if it ends later. Of a closed run, describe the end.

    Raises:
        InputInvalid: there is no such run.
        StackFailed: Temporal cannot be reached.
    """
    if message := await ended_message(here, run_id, "cancel"):
        return message, True
    with temporal_errors(here.settings, run_id):
        if fail:
            await updated(here, run_id, "abort", by_user(why), type(None))
        else:
            await handle_of(here.client, run_id).cancel(reason=why)
    ending = await _ended_soon(here, run_id)
    if ending is None:
        return f"{run_id}: asked to end; it ends as soon as a worker is there", False
    return (
        f"{run_id}: {'; '.join(filter(None, (ending.status.replace('_', ' '), commits_said(ending.result.commits))))}",
        True,
    )


async def _ended_soon(here: Backend, run_id: str) -> Ending | None:
    """Wait for the end; None if it does not come in time."""
    handle = handle_of(here.client, run_id)
    with temporal_errors(here.settings, run_id):
        for _ in range(int(_END_LIMIT_S / _END_POLL_S)):
            if (await handle.describe()).status is not WorkflowExecutionStatus.RUNNING:
                return await ended(handle)
            await asyncio.sleep(_END_POLL_S)
    return None
