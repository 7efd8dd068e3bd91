"""Requests of an agent and their runs: the id of a run follows from that of its request, and Temporal takes it once."""

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import replace

from replaywright.agents.calls import StartingCall
from replaywright.cli.runs.finding import exact_run, memo_of
from replaywright.cli.runs.starting import REQUEST, Order, refuse_what_is_blocked, start
from replaywright.cli.servers.connect import Backend
from replaywright.domain.common.canonical import canonical
from replaywright.errors import InputInvalid, RunExists

_DIGITS = 32


def run_id_of(tenant: str, request_id: str) -> str:
    """Return the id of the run that a request starts; it tells nothing of the request."""
    return f"agent/{hashlib.sha256(canonical([tenant, request_id])).hexdigest()[:_DIGITS]}"


def digest_of(tool: str, call: StartingCall) -> str:
    """Digest all of a request that decides what its run does."""
    said = call.model_dump(mode="json", exclude={"request_id", "wait_s"})
    return hashlib.sha256(canonical([tool, said])).hexdigest()


async def begun(
    here: Backend,
    tool: str,
    call: StartingCall,
    order: Callable[[str], Awaitable[Order]],
    begin: Callable[[Backend, Order], Awaitable[object]] = start,
) -> tuple[str, bool]:
    """Start the run of a request unless there is one; return its id, and True if it is new.

    A repeated request finds its run although what it was for has changed since, such as a skill that is broken now.

    Args:
        here: The servers.
        tool: The tool that was called.
        call: Its arguments.
        order: Determines the run, given its id; not called for a repeated request.
        begin: Starts the run of an order.

    Raises:
        InputInvalid: the id was used for another request; nothing was started.
        PolicyBlocked: a rule of the policy forbids the task; nothing was started.
        StackFailed: Temporal refuses it or cannot be reached.
    """
    run_id, digest = run_id_of(here.settings.tenant, call.request_id), digest_of(tool, call)
    if await _is_there(here, run_id, digest):
        return run_id, False
    wanted = replace(await order(run_id), request=digest)
    refuse_what_is_blocked(here.settings, wanted.task, wanted.values)
    try:
        await begin(here, wanted)
    except RunExists:  # the same request, at the same time
        if not await _is_there(here, run_id, digest):
            raise
        return run_id, False
    return run_id, True


async def _is_there(here: Backend, run_id: str, digest: str) -> bool:
    try:
        execution = await exact_run(here, run_id)
    except InputInvalid:
        return False
    if await memo_of(execution, REQUEST) != digest:
        raise InputInvalid(
            "request_id: another request has used this id, with another tool or other arguments, and nothing was "
            "started; give this one an id of its own"
        )
    return True
