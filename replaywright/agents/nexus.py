"""Runs started by Temporal Nexus: workflows of other namespaces start a skill, and get the result of its run.

The service `replaywright` has one operation, `run`. Temporal takes the result of the run's workflow to each caller,
whatever becomes of this process and of the caller's worker meanwhile. A `temporal_operation` and no
`workflow_run_operation`, as a repeated request may come after the end of its run, and is answered at once then.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, Final

from nexusrpc import HandlerError, HandlerErrorType, OperationError, OperationErrorState
from nexusrpc.handler import service_handler
from temporalio.client import WorkflowExecutionStatus, WorkflowFailureError
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import CancelledError, WorkflowAlreadyStartedError
from temporalio.nexus import (
    TemporalNexusClient,
    TemporalOperationResult,
    TemporalStartOperationContext,
    temporal_operation,
)
from temporalio.worker import Worker

from replaywright.agents.calls import AskedSkill, RunSkill, parsed
from replaywright.agents.handling import order_of_call
from replaywright.agents.requests import begun
from replaywright.agents.triggers import status_of
from replaywright.cli.command import one_line
from replaywright.cli.runs.finding import exact_run, input_of
from replaywright.cli.runs.follow import WORKFLOW, handle_of
from replaywright.cli.runs.starting import Order, start_by
from replaywright.cli.servers.connect import Backend, temporal_errors
from replaywright.cli.servers.running import RunningBackend
from replaywright.domain.run.runs import RunInput, RunResult
from replaywright.errors import InputInvalid, ReplaywrightError

SERVICE: Final = "replaywright"
_TYPES: Final = {
    400: HandlerErrorType.BAD_REQUEST,
    403: HandlerErrorType.UNAUTHORIZED,
    404: HandlerErrorType.NOT_FOUND,
    503: HandlerErrorType.UNAVAILABLE,
}
"""Errors by the status of HTTP that says the same. Temporal repeats the last, and those that are not here."""
_LOOK_EVERY_S: Final = 2.0

_Result = TemporalOperationResult[RunResult]
_log = logging.getLogger(__name__)


@service_handler(name=SERVICE)
class NexusRuns:
    """The service, for one tenant."""

    def __init__(self, running: RunningBackend) -> None:
        """Start runs on these servers."""
        self._running = running

    @temporal_operation
    async def run(
        self, _ctx: TemporalStartOperationContext, client: TemporalNexusClient, given: Any
    ) -> TemporalOperationResult[RunResult]:
        """Start the run of a request, or take up the one that it has started."""
        try:
            return await self._taken(client, given)
        except ReplaywrightError as exc:
            kind = _TYPES.get(status_of(exc), HandlerErrorType.INTERNAL)
            raise HandlerError(one_line(exc), type=kind) from None  # the cause would go to the caller, too

    async def _taken(self, client: TemporalNexusClient, given: Any) -> _Result:
        if not isinstance(given, dict):
            raise InputInvalid("the input: expected an object with skill, request_id and values")
        asked = parsed(AskedSkill, "run", given)
        call = RunSkill(request_id=f"nexus {asked.request_id}", values=asked.values, wait_s=0)
        here = await self._running.here()
        started: list[_Result] = []

        async def begin(here: Backend, order: Order) -> None:
            started.append(await start_by(client.start_workflow, here, order))

        run_id, _ = await begun(here, asked.skill, call, partial(order_of_call, here, asked.skill, call), begin)
        return started[0] if started else await _joined(here, client, run_id)


async def _joined(here: Backend, client: TemporalNexusClient, run_id: str) -> _Result:
    """Have the result of a run that was begun before delivered to this caller, too; of one that is over, return it."""
    execution = await exact_run(here, run_id)
    if execution.status is WorkflowExecutionStatus.RUNNING:
        given = await input_of(here, execution, RunInput)
        with suppress(WorkflowAlreadyStartedError), temporal_errors(here.settings):  # it has ended meanwhile
            return await client.start_workflow(
                WORKFLOW,
                given,
                id=run_id,
                task_queue=here.queue,
                id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
                id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
            )
    try:
        with temporal_errors(here.settings, run_id):
            return TemporalOperationResult.sync(await handle_of(here.client, run_id).result())
    except WorkflowFailureError as exc:
        was_cancelled = isinstance(exc.cause, CancelledError)
        state = OperationErrorState.CANCELED if was_cancelled else OperationErrorState.FAILED
        raise OperationError(str(exc.cause), state=state) from exc.cause


@asynccontextmanager
async def serving_nexus(running: RunningBackend, queue: str) -> AsyncIterator[None]:
    """Serve the operation on a task queue during the block; without a `queue`, nothing."""
    if not queue:
        yield
        return
    async with asyncio.TaskGroup() as tasks:
        serving = tasks.create_task(_served(running, queue))
        yield
        serving.cancel()


async def _served(running: RunningBackend, queue: str) -> None:
    """Serve for as long as this task is not cancelled, on whichever Temporal runs."""
    why = ""
    while True:
        try:
            here = await running.here()
            async with Worker(here.client, task_queue=queue, nexus_service_handlers=[NexusRuns(running)]):
                why = ""
                while (await running.here()).client is here.client:  # noqa: ASYNC110 - nobody tells of a new stack
                    await asyncio.sleep(_LOOK_EVERY_S)
        except (ReplaywrightError, RuntimeError) as exc:  # the latter of the SDK: there is no such namespace, for one
            if str(exc) != why:
                why = str(exc)
                _log.warning("no Nexus operation is served: %s", why)
            await asyncio.sleep(_LOOK_EVERY_S)
