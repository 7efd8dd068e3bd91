"""Stopping a commit step whose run ends early: nothing more of it leaves, and what has left is told."""

import logging

from temporalio import activity

from activities.heartbeats import heartbeats
from activities.session.attachments import Attachments
from activities.session.gate import operation_of
from activities.step.records import has_lost_nothing, standing_of
from replaywright.domain.run.commit_lines import left_at
from replaywright.domain.run.commit_requests import Stopped, StopRequest
from replaywright.domain.session.commit_gate import GateSeen
from replaywright.errors import Fenced, SessionLost, StoreUnavailable
from replaywright.ports.ledger import StepStore

_log = logging.getLogger("replaywright.stopping")

STOPPED = "nothing left the browser before the run was ended"


class StopActivities:
    """Activity `effect.stop`."""

    def __init__(self, attachments: Attachments, store: StepStore) -> None:
        self._attachments = attachments
        self._store = store

    @activity.defn(name="effect.stop")
    async def stop_step(self, request: StopRequest) -> Stopped:
        """Close the gate of the step's browser, fence its record, and tell what is known of it.

        The gate comes first: it needs no store. A step of which nothing left is recorded as not done, one that was done
        stays so, and any other stays in doubt: that is for `resume` to decide.

        Promise on a retry: the same answer.
        """
        asked = request.action
        async with heartbeats(f"stopping step {asked.sequence}"):
            try:
                is_known, seen = True, await self._cut(request)
            except SessionLost as exc:
                _log.warning("the browser of step %d cannot be asked what has left it: %s", asked.sequence, exc)
                is_known, seen = False, None
            try:
                return await self._judged(request, seen, is_known=is_known)
            except (StoreUnavailable, Fenced) as exc:
                _log.warning("the record of step %d is left as it is: %s", asked.sequence, exc)
            if is_known and (seen is None or seen.nothing_left):
                return Stopped(state="not_done", is_armed=seen is not None)
            return Stopped(state="in_doubt", left_at=left_at(None if seen is None else seen.permitted_at))

    async def _cut(self, request: StopRequest) -> GateSeen | None:
        """Throw away what the attempt's gate holds; its black box's word, None if the attempt never came to the gate.

        Raises:
            SessionLost: its browser is gone, on another host, or does not answer.
        """
        asked = request.action
        if asked.run.session.session_id != request.session_id:
            raise SessionLost(f"session {request.session_id} has ended")
        return await self._attachments.cut(asked.run.session, asked.run.epoch, operation_of(asked), request.begun)

    async def _judged(self, request: StopRequest, seen: GateSeen | None, *, is_known: bool) -> Stopped:
        """Decide by gate and ledger together.

        Raises:
            StoreUnavailable: the ledger does not answer.
            Fenced: a newer attempt owns the record.
        """
        asked = request.action
        now = await self._store.look_up(**asked.record, run_id="", content_key="")
        has_left = seen is not None and not seen.nothing_left
        if not has_left and (now.state, now.epoch, now.late) == ("NOT_DONE", asked.run.epoch, None):
            # A worker that was frozen does it once more, when all is decided.
            return Stopped(state="not_done", is_armed=seen is not None)
        before = await self._store.fence(**asked.record, epoch=asked.run.epoch)
        left = left_at(None if seen is None else seen.permitted_at)
        if before.state == "COMMITTED" or before.outcome is not None or before.late is not None:
            return Stopped(state="done", left_at=left)
        if is_known:
            has_not_left = seen is None or seen.nothing_left
        else:
            # A ledger as it was when the step before was done, without an intent: the step was not begun.
            has_not_left = not standing_of(before) and await has_lost_nothing(self._store, asked, request.witness)
        if not has_not_left:
            return Stopped(state="in_doubt", left_at=left)
        await self._store.settle(**asked.record, epoch=asked.run.epoch, state="NOT_DONE", who=STOPPED)
        return Stopped(state="not_done", is_armed=seen is not None)
