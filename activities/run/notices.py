"""Notices: raised by runs, led to their destinations, delivered; and the watch for runs that ended badly."""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

from temporalio import activity
from temporalio.client import Client
from temporalio.common import AutoUpgradeVersioningOverride, WorkflowIDConflictPolicy

from activities.heartbeats import heartbeats
from activities.run.ended_runs import asks, ended_since
from replaywright.domain.notice.commands import (
    WORKFLOW,
    Deliver,
    Delivered,
    EndedSince,
    NoticesState,
    Raised,
    Routes,
    WatchEnds,
    workflow_id,
)
from replaywright.domain.notice.notices import QUESTIONS, Notice
from replaywright.domain.notice.routing import NoticeFile
from replaywright.domain.secrets.signing import Signer
from replaywright.errors import InputInvalid, NoticeFailed
from replaywright.ports.people import Deliveries
from replaywright.ports.stores import Skills

_log = logging.getLogger("replaywright.notices")

_LOOK_EVERY_S: Final = 10.0
_PATIENCE_S: Final = 900.0
"""Time after which a watch that has seen nothing ends, and begins anew."""
PURPOSE: Final = "notice"
"""Of the MAC of a raised notice."""


def signed(notice: Notice, signer: Signer) -> Raised:
    """Return the notice with the proof that one of ours raised it."""
    return Raised(notice=notice, mac=signer.mac(PURPOSE, notice.tenant, notice.model_dump(mode="json")))


class Announcer:
    """Raises notices of one tenant: hands them to its workflow `Notices`, which is begun if need be."""

    def __init__(self, client: Client, signer: Signer, *, queue: str, tenant: str, versioned: bool = False) -> None:
        """`versioned` says that the workers have versions: unlike runs, `Notices` goes on with the newest one."""
        self._client = client
        self._override = AutoUpgradeVersioningOverride() if versioned else None
        self._signer = signer
        self._queue = queue
        self._tenant = tenant

    async def begin(self) -> None:
        """See that the workflow is there: it watches for runs that fail or heal.

        Raises:
            RPCError: Temporal does not begin it.
        """
        await self._start()

    async def tell(self, notice: Notice) -> None:
        """Raise a notice.

        Raises:
            RPCError: Temporal does not take it.
        """
        await self._start(start_signal="tell", start_signal_args=[signed(notice, self._signer)])

    async def _start(self, **signal: Any) -> None:
        await self._client.start_workflow(
            WORKFLOW,
            NoticesState(tenant=self._tenant),
            id=workflow_id(self._tenant),
            task_queue=self._queue,
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
            static_summary="Tells people what happened",
            versioning_override=self._override,
            **signal,
        )


class NoticeActivities:
    """Activities `notice.route`, `notice.deliver` and `notice.watch`."""

    def __init__(
        self, read: Callable[[], NoticeFile], deliveries: Deliveries, skills: Skills, signer: Signer, *, tenant: str
    ) -> None:
        """`read` reads the file of notices as it is now; changes need no restart."""
        self._read = read
        self._deliveries = deliveries
        self._skills = skills
        self._signer = signer
        self._tenant = tenant

    @activity.defn(name="notice.route")
    async def route(self, raised: Raised) -> Routes:
        """Say where a notice goes, and when. One that none of ours raised goes nowhere.

        Raises:
            InputInvalid: the file of notices cannot be used.
        """
        notice = raised.notice
        fault = None
        if not self._signer.is_unsigned:
            fault = self._signer.mac_fault(PURPOSE, notice.tenant, notice.model_dump(mode="json"), raised.mac)
        if fault is not None or notice.tenant != self._tenant:
            _log.error("a notice is told to nobody: it is %s, or of another tenant", fault)
            return Routes()
        return Routes(routes=tuple((await asyncio.to_thread(self._read)).routes(notice, datetime.now(UTC))))

    @activity.defn(name="notice.deliver")
    async def deliver(self, request: Deliver) -> Delivered:
        """Deliver to one destination. Repeated, it is delivered again, under the same id.

        Raises:
            InputInvalid: there is no such destination any more.
            NoticeFailed: it cannot be delivered now, or the file of notices cannot be used.
            SecretMissing: a secret of the destination has no value here.
        """
        try:
            file = await asyncio.to_thread(self._read)
        except InputInvalid as exc:  # it may be mended within the day
            raise NoticeFailed(str(exc)) from exc
        destination = file.to.get(request.destination)
        if destination is None:
            raise InputInvalid(f"there is no destination {request.destination!r} in the file of notices any more")
        told = [one for one in request.told if not await self._is_over(one.notice)]
        if told:
            await self._deliveries.send(
                destination, told, id_=request.id, tenant=request.tenant, dashboard=file.dashboard
            )
        return Delivered(sent=len(told), over=len(request.told) - len(told))

    async def _is_over(self, notice: Notice) -> bool:
        """Tell whether a question was answered before anybody was told of it."""
        if notice.kind not in QUESTIONS[:2] or notice.question is None:
            return False
        return not await asks(activity.client(), notice.run_id, notice.question.id)

    @activity.defn(name="notice.watch")
    async def watch(self, request: WatchEnds) -> EndedSince:
        """Wait for runs that fail or heal, and return what is to be told of them. Touches nothing.

        Raises:
            StoreUnavailable: runs cannot be listed.
        """
        since, until = request.since, asyncio.get_running_loop().time() + _PATIENCE_S
        async with heartbeats("watching for runs that end badly"):
            while True:
                notices, since = await ended_since(activity.client(), self._skills, request.tenant, since)
                if notices or activity.is_worker_shutdown() or asyncio.get_running_loop().time() > until:
                    return EndedSince(raised=tuple(signed(one, self._signer) for one in notices), since=since)
                with contextlib.suppress(TimeoutError):  # a worker that drains waits for nobody's runs to fail
                    async with asyncio.timeout(_LOOK_EVERY_S):
                        await activity.wait_for_worker_shutdown()
