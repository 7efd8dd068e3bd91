"""Exchanging a browser that has become old or large for a new one, between two steps, after a checkpoint.

The new one is brought to where the run is as a rebuilt one would be; the old one lives on until that has worked out,
and is kept if it does not. Nothing is risked for the sake of memory: a page that cannot be brought back goes on.
"""

import asyncio
from collections.abc import Callable
from datetime import datetime

from temporalio import workflow
from temporalio.exceptions import ActivityError, CancelledError

from workflows import policies
from workflows.run.board import Board
from workflows.session.browser import Browser
from workflows.session.recovery import Place, Recovery

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.run.runs import RunInput
    from replaywright.domain.session.sessions import Recycling
    from replaywright.domain.step.checkpoints import Checkpoint, worn


class Recycler:
    """Looks at each checkpoint once, when the run has come to know of it."""

    def __init__(
        self,
        browser: Browser,
        recovery: Recovery,
        board: Board,
        run: RunInput,
        *,
        lineage: str,
        show: Callable[[str], None],
    ) -> None:
        self._browser = browser
        self._recovery = recovery
        self._board = board
        self._run = run
        self._lineage = lineage
        self._show = show
        self._seen = recovery.newest
        self._not_before: datetime | None = None

    async def between_steps(self, place: Place) -> None:
        """Exchange the browser if it is due; to be called when no step is under way."""
        newest = self._recovery.newest
        if newest in ("", self._seen):
            return
        self._seen = newest
        checkpoint = self._recovery.checkpoints[-1]
        if checkpoint.wear.session_id != self._browser.ref.session_id:  # it tells of one that was lost meanwhile
            return
        why = worn(checkpoint, after_s=self._run.recycle_after_s, above_mb=self._run.recycle_above_mb)
        # By the second: across a step that must not be repeated nothing leads back but a checkpoint after it.
        if not why or checkpoint.position <= place.last_commit:
            return
        if self._not_before is not None and workflow.now() < self._not_before:
            return
        told = await self._exchanged(checkpoint, place, why)
        self._not_before = workflow.now() + policies.RECYCLE_AGAIN if told.kept else None
        self._board.note_browser(told)

    async def _exchanged(self, checkpoint: Checkpoint, place: Place, why: str) -> Recycling:
        """Get another browser, bring it to where the run is, and give the old one back; or keep that one."""
        told = Recycling(tenant=self._run.tenant, lineage=self._lineage, sequence=place.position, why=why)
        self._show(f"exchanging the browser for a new one: {why}")
        try:
            old = await self._browser.exchange(f"{place.position + 1:04d}-recycle")
        except ActivityError as error:
            if isinstance(error.cause, CancelledError):
                raise
            return told.model_copy(update={"kept": policies.said(error)})
        try:
            kept = await self._recovery.brought(checkpoint, place)
        except (ActivityError, asyncio.CancelledError):  # the run is cancelled, and closes the browser that it has
            await asyncio.shield(self._browser.go_back(old, told.model_copy(update={"kept": "the run was cancelled"})))
            raise
        told = told.model_copy(update={"kept": kept})
        if kept:
            await self._browser.go_back(old, told)
        else:
            await self._browser.give_up(old, told)
        return told
