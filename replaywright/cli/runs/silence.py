"""Diagnosis of a silent run: no worker, a failing workflow task, or an activity that always fails."""

import logging
import time
from typing import Any

from temporalio.api.enums.v1 import EventType
from temporalio.api.workflow.v1 import PendingActivityInfo
from temporalio.client import WorkflowExecutionDescription, WorkflowHandle
from temporalio.service import RPCError

from replaywright.domain.common.text import shorten

_log = logging.getLogger(__name__)

NO_WORKER = "no worker answers; the run goes on when one is there (`replaywright up`)"
_ENDS = frozenset(
    {
        EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED,
        EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED,
        EventType.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT,
    }
)
_MESSAGE_LIMIT, _FAILURE_LIMIT = 200, 400
_OFTEN = 4
"""Attempts after which an activity is reported; one or two may fail as a worker or server restarts."""
_ASKED_EVERY_S = 3.0


class Silence:
    """Finds out why a run does not answer; its history is read again only for a new workflow task attempt."""

    def __init__(self, handle: WorkflowHandle[Any, Any]) -> None:
        self._handle = handle
        self._tries = 0
        self._answer = NO_WORKER

    async def why(self) -> str:
        """Return the reason and the remedy in one sentence; if Temporal does not answer, the previous one."""
        try:
            described = await self._handle.describe()
            task = described.raw_description.pending_workflow_task
            if task.attempt != self._tries:
                failure = await self._failure() if task.attempt > 1 else ""
                self._tries, self._answer = task.attempt, _broken(failure) if failure else NO_WORKER
        except RPCError as exc:
            _log.debug("Temporal does not tell why %s is silent: %s", self._handle.id, exc)
        return self._answer

    async def _failure(self) -> str:
        """Return the failure of the last workflow task; empty if it succeeded. Temporal keeps the first of several."""
        message = ""
        async for event in self._handle.fetch_history_events():
            if event.event_type in _ENDS:
                message = ""
            if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED:
                message = event.workflow_task_failed_event_attributes.failure.message or "no message"
        return message


class Vain:
    """Finds the activity that a run retries in vain: Temporal repeats it without limit."""

    def __init__(self, handle: WorkflowHandle[Any, Any]) -> None:
        self._handle = handle
        self._asked = 0.0
        self._tried = self._answer = ""

    async def why(self) -> str:
        """Describe the activity that fails repeatedly in one sentence; empty if there is none."""
        if time.monotonic() - self._asked < _ASKED_EVERY_S:
            return self._answer
        try:
            described = await self._handle.describe()
        except RPCError as exc:
            _log.debug("Temporal does not tell what %s tries: %s", self._handle.id, exc)
        else:
            await self._tell(described)
        self._asked = time.monotonic()
        return self._answer

    async def _tell(self, described: WorkflowExecutionDescription) -> None:
        pending = next(filter(_is_in_vain, described.raw_description.pending_activities), None)
        tried = "" if pending is None else pending.activity_id
        if tried != self._tried:
            self._tried, self._answer = tried, ""
            if pending is not None:
                failure = await described.data_converter.decode_failure(pending.last_failure)
                self._answer = _repeated(pending.activity_type.name, getattr(failure, "message", str(failure)))


def _is_in_vain(pending: PendingActivityInfo) -> bool:
    return bool(pending.attempt >= _OFTEN and pending.HasField("last_failure"))


def _repeated(name: str, failure: str) -> str:
    return (
        f"{name} fails each time ({shorten(failure, _FAILURE_LIMIT)}); it is tried again until that is mended "
        "(`replaywright doctor`) or the run is cancelled"
    )


def _broken(failure: str) -> str:
    return (
        f"the workflow's own code fails on this run ({shorten(failure, _MESSAGE_LIMIT)}); Temporal tries it again ever "
        "more slowly, and nothing is lost: it goes on when the workers have code that is mended, or that it began with"
    )
