"""Admission of runs by their first event, which only the Temporal server knows."""

import re
from collections import OrderedDict
from datetime import timedelta
from typing import TypeVar

from pydantic import ValidationError
from temporalio.api.common.v1 import Payload, WorkflowExecution
from temporalio.api.history.v1 import WorkflowExecutionStartedEventAttributes
from temporalio.api.workflowservice.v1 import GetWorkflowExecutionHistoryRequest
from temporalio.client import Client
from temporalio.service import RPCError

from replaywright.domain.secrets.signing import Fault, Signer
from replaywright.domain.secrets.starts import FIRED, MAC, Admission, pass_fault, sign_pass, start_fault, tenant_of
from replaywright.errors import SealBroken, StoreUnavailable
from replaywright.ports.stores import FirstStarts

RUN, BATCH = "BrowserTask", "BrowserBatch"
_LIMIT = timedelta(seconds=5)
_GENERATIONS = 3
"""Workflows above a run that are looked at: a batch, or a workflow of a team's own."""
_KEPT = 10_000
"""Executions that are remembered; what is known of one never changes."""
_FIRING = re.compile(r"(.+)-\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
"""Workflow id that Temporal makes for a schedule's run."""

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class TemporalStarts:
    """`Starts` of one Temporal namespace."""

    def __init__(self, client: Client, signer: Signer, firsts: FirstStarts) -> None:
        self._client = client
        self._signer = signer
        self._firsts = firsts
        self._known: OrderedDict[tuple[str, str], Admission] = OrderedDict()
        self._above: OrderedDict[tuple[str, str, int], str] = OrderedDict()

    async def of(self, run_id: str, execution: str) -> Admission:
        """Return the admission of an execution; the server is asked once.

        Raises:
            StoreUnavailable: the server does not answer, or does not know it.
        """
        key = run_id, execution
        if (known := self._known.get(key)) is not None:
            return known
        return _kept(self._known, key, await self._looked_up(run_id, execution))

    async def _looked_up(self, run_id: str, execution: str) -> Admission:
        started = await self._started(run_id, execution)
        kind = started.workflow_type.name
        if kind not in (RUN, BATCH):
            return Admission(fault=f"workflow type {kind!r} is none of ours")
        given = await self._given(started)
        if not isinstance(given, dict):
            return Admission(fault="its input cannot be read")
        if fault := await self._fault_in_line(started, run_id, given):
            return Admission(fault=fault)
        tenant, first = tenant_of(given), started.first_execution_run_id or execution
        # A batch is resumed under its id, and Temporal may give two firings of a schedule the same one.
        if kind == RUN and not given.get("schedule") and await self._firsts.first(tenant, run_id, first) != first:
            return Admission(fault="its id has served for another run: an id serves once")
        return Admission(admitted=sign_pass(self._signer, tenant, run_id=run_id, first=first))

    async def _fault_in_line(
        self, started: WorkflowExecutionStartedEventAttributes, run_id: str, given: object, generation: int = 0
    ) -> str:
        """Return why neither the start nor that of a workflow above it is signed; empty if one is."""
        fault: str = self._fault(started, run_id, given, await self._mac(started)) or ""
        if not fault or generation == _GENERATIONS or not started.HasField("parent_workflow_execution"):
            return fault
        return await self._fault_above(started.parent_workflow_execution, generation + 1)

    async def _fault_above(self, parent: WorkflowExecution, generation: int) -> str:
        """Return the same of a workflow above a run; the server is asked once for all rows of a batch."""
        key = parent.workflow_id, parent.run_id, generation
        if (known := self._above.get(key)) is not None:
            return known
        started = await self._started(parent.workflow_id, parent.run_id)
        given = await self._given(started)
        return _kept(self._above, key, await self._fault_in_line(started, parent.workflow_id, given, generation))

    def _fault(
        self, started: WorkflowExecutionStartedEventAttributes, run_id: str, given: object, mac: str
    ) -> Fault | None:
        kind = started.workflow_type.name
        fault = start_fault(self._signer, kind=kind, run_id=run_id, given=given, mac=mac)
        if not isinstance(given, dict):
            return fault
        if fault is not None and given.get("schedule") and (fired := _FIRING.fullmatch(run_id)):
            fault = start_fault(self._signer, kind=kind, run_id=fired[1] + FIRED, given=given, mac=mac)
        if fault is not None and started.continued_execution_run_id:
            admitted = str(given.get("admitted", ""))
            first = started.first_execution_run_id
            fault = pass_fault(self._signer, tenant_of(given), run_id=run_id, first=first, admitted=admitted)
        return fault

    async def _started(self, run_id: str, execution: str) -> WorkflowExecutionStartedEventAttributes:
        try:
            answer = await self._client.workflow_service.get_workflow_execution_history(
                GetWorkflowExecutionHistoryRequest(
                    namespace=self._client.namespace,
                    execution=WorkflowExecution(workflow_id=run_id, run_id=execution),
                    maximum_page_size=1,
                ),
                timeout=_LIMIT,
            )
        except RPCError as exc:
            raise StoreUnavailable(f"Temporal does not tell how {run_id!r} was started: {exc.message}") from exc
        return answer.history.events[0].workflow_execution_started_event_attributes

    async def _given(self, started: WorkflowExecutionStartedEventAttributes) -> object:
        payloads = list(started.input.payloads)
        return await self._read(payloads) if len(payloads) == 1 else None

    async def _mac(self, started: WorkflowExecutionStartedEventAttributes) -> str:
        payload = started.memo.fields.get(MAC)
        mac = None if payload is None else await self._read([payload])
        return mac if isinstance(mac, str) else ""

    async def _read(self, payloads: list[Payload]) -> object:
        """Return the JSON that was sent; None where it is none, or cannot be decrypted."""
        try:
            [value] = await self._client.data_converter.decode(payloads)
        except (KeyError, RuntimeError, SealBroken, TypeError, ValidationError, ValueError):
            return None  # what converters and codecs raise for what is not theirs
        return value


def _kept(known: OrderedDict[_Key, _Value], key: _Key, value: _Value) -> _Value:
    """Remember it, and forget the oldest."""
    known[key] = value
    while len(known) > _KEPT:
        known.popitem(last=False)
    return value
