"""The workflow `Notices`: tells people what happened, one for each tenant.

Runs raise notices by a signal and go on: nothing of a delivery can hold up or fail a run. Each destination has an
outbox of its own, so that one that is away holds up no other. A delivery is an activity, tried again for a day.
"""

import asyncio
from collections import deque
from datetime import timedelta
from typing import TypeVar

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError, CancelledError

from workflows import policies
from workflows.calls import Terms, ask

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.common.base import Record
    from replaywright.domain.notice.commands import (
        KNOWN_KEPT,
        LOST_KEPT,
        WORKFLOW,
        Deliver,
        Delivered,
        EndedSince,
        Lost,
        NoticesStanding,
        NoticesState,
        Raised,
        Routes,
        WatchEnds,
    )
    from replaywright.domain.notice.outbox import Outbox
    from replaywright.domain.trace.details import event_summary
    from replaywright.domain.trace.saying import count

_Answer = TypeVar("_Answer")

_ROUTING = Terms(policies.OPENING, timedelta(seconds=20), heartbeat=None)
_DELIVERING = Terms(policies.DELIVERING, policies.NOTICE_LIMIT, policies.DELIVERY_TOTAL, heartbeat=None)
_WATCHING = Terms(policies.OPENING, timedelta(minutes=30), heartbeat=timedelta(minutes=1))


@workflow.defn(name=WORKFLOW)
class Notices:
    """Notices of one tenant."""

    @workflow.init
    def __init__(self, state: NoticesState) -> None:
        self._state = state
        self._raised: deque[Raised] = deque()
        self._sending: dict[str, asyncio.Task[None]] = {}
        self._taken = 0

    @workflow.run
    async def run(self, _state: NoticesState) -> None:
        """Tell people, until this continues as new."""
        watching = asyncio.create_task(self._watch())
        try:
            while self._raised or self._sending or not self._is_full:
                await self._tell()
                await self._wait()
        finally:
            watching.cancel()
        workflow.continue_as_new(self._state)

    @workflow.signal(name="tell")
    def tell(self, raised: Raised) -> None:
        """Take a notice."""
        self._raised.append(raised)

    @workflow.query(name="standing")
    def standing(self) -> NoticesStanding:
        """Return what was told, what waits, and what never arrived."""
        held = {name: len(box.held) for name, box in self._state.boxes.items() if box.held}
        return self._state.standing.model_copy(update={"held": held})

    @property
    def _is_full(self) -> bool:
        return self._taken >= self._state.per_history or workflow.info().is_continue_as_new_suggested()

    async def _tell(self) -> None:
        """Sort in what was raised, and begin the deliveries that are due."""
        while self._raised:
            await self._take(self._raised.popleft())
        now = workflow.now()
        for name, box in self._state.boxes.items():
            if name not in self._sending and box.due is not None and box.due <= now:
                self._sending[name] = asyncio.create_task(self._deliver(name, box))

    async def _wait(self) -> None:
        """Wait for a notice, the end of a delivery, or the time of the next."""
        due = [box.due for name, box in self._state.boxes.items() if box.due and name not in self._sending]
        left = min(due) - workflow.now() if due else None
        sending = len(self._sending)
        try:
            await workflow.wait_condition(
                lambda: bool(self._raised) or len(self._sending) < sending,
                timeout=None if left is None else max(left, timedelta(milliseconds=1)),
                timeout_summary="until the next notice is due",
            )
        except TimeoutError:
            return

    async def _take(self, raised: Raised) -> None:
        notice = raised.notice
        self._taken += 1
        if notice.id in self._state.known:
            return
        self._change(known=(*self._state.known, notice.id)[-KNOWN_KEPT:])
        routes = await _asked("notice.route", raised, Routes, _ROUTING, event_summary(notice.title))
        boxes = dict(self._state.boxes)
        for route in routes.routes:
            boxes[route.destination] = boxes.get(route.destination, Outbox()).taking(notice, route)
        self._change(boxes=boxes)

    async def _deliver(self, name: str, box: Outbox) -> None:
        told, rest = box.delivering(workflow.now())
        self._change(boxes={**self._state.boxes, name: rest})
        what = told[0].notice.title if len(told) == 1 else count(len(told), "notice")
        try:
            request = Deliver(id=str(workflow.uuid4()), tenant=self._state.tenant, destination=name, told=told)
            summary = event_summary(f"to {name}: {what}")
            delivered = await _asked("notice.deliver", request, Delivered, _DELIVERING, summary)
            standing = self._state.standing
            self._count(sent=standing.sent + bool(delivered.sent), over=standing.over + delivered.over)
        except ActivityError as error:
            if isinstance(error.cause, CancelledError):
                raise
            why = error.cause.message if isinstance(error.cause, ApplicationError) else str(error.cause or error)
            workflow.logger.error("notices never arrived at %s: %s", name, why)
            titles = tuple(one.notice.title for one in told)
            lost = Lost(destination=name, titles=titles, at=workflow.now(), why=why)
            standing = self._state.standing
            kept = (*standing.lost, lost)[-LOST_KEPT:]
            self._count(lost=kept, lost_in_all=standing.lost_in_all + len(told))
        finally:
            del self._sending[name]

    async def _watch(self) -> None:
        """Raise the notices of runs that end."""
        while True:
            request = WatchEnds(tenant=self._state.tenant, since=self._state.since or workflow.now())
            seen = await _asked("notice.watch", request, EndedSince, _WATCHING, "watch for runs that fail or heal")
            self._change(since=seen.since)
            self._raised.extend(seen.raised)

    def _count(self, **changes: object) -> None:
        self._change(standing=self._state.standing.model_copy(update=changes))

    def _change(self, **changes: object) -> None:
        self._state = self._state.model_copy(update=changes)


async def _asked(name: str, request: Record, answer: type[_Answer], terms: Terms, summary: str) -> _Answer:
    queue = policies.notice_queue(workflow.info().task_queue)
    return await ask(name, request, answer, terms, activity_id=None, summary=summary, queue=queue)
