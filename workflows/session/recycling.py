"""Exchanging a browser that has become old or large for a new one, between two steps, after a checkpoint.

The new one is brought to where the run is as a rebuilt one would be; the old one lives on until that has worked out,
and is kept if it does not. Nothing is risked for the sake of memory: a page that cannot be brought back goes on.
"""

import asyncio
from datetime import datetime

from temporalio import workflow
from temporalio.exceptions import ActivityError, CancelledError

from workflows import policies
from workflows.run.context import RunContext
from workflows.session.browser import Browser
from workflows.session.checkpoints import KnownCheckpoints
from workflows.session.recovery import Recovery

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.session.sessions import Recycling
    from replaywright.domain.step.checkpoints import Checkpoint, worn


class Recycler:
    """Looks at each checkpoint once, when the run has come to know of it."""

    def __init__(
        self, context: RunContext, browser: Browser, checkpoints: KnownCheckpoints, recovery: Recovery
    ) -> None:
        self._context = context
        self._browser = browser
        self._checkpoints = checkpoints
        self._recovery = recovery
        self._seen = checkpoints.newest
        self._not_before: datetime | None = None

    async def between_steps(self) -> None:
        """Exchange the browser if it is due; to be called when no step is under way."""
        newest = self._checkpoints.newest
        if newest in ("", self._seen):
            return
        self._seen = newest
        checkpoint = self._checkpoints.known[-1]
        if checkpoint.wear.session_id != self._browser.ref.session_id:  # it tells of one that was lost meanwhile
            return
        why = worn(checkpoint, after_s=self._context.run.recycle_after_s, above_mb=self._context.run.recycle_above_mb)
        # By the second: across a step that must not be repeated nothing leads back but a checkpoint after it.
        if not why or checkpoint.position <= self._context.state.last_commit:
            return
        if self._not_before is not None and workflow.now() < self._not_before:
            return
        recycling = await self._exchanged(checkpoint, why)
        self._not_before = workflow.now() + policies.RECYCLE_AGAIN if recycling.kept else None
        self._context.board.note_browser(recycling)

    async def _exchanged(self, checkpoint: Checkpoint, why: str) -> Recycling:
        """Get another browser, bring it to where the run is, and give the old one back; or keep that one."""
        recycling = Recycling(
            tenant=self._context.run.tenant, lineage=self._context.lineage, sequence=self._context.position, why=why
        )
        self._context.show(f"exchanging the browser for a new one: {why}")
        try:
            old = await self._browser.exchange(f"{self._context.position + 1:04d}-recycle")
        except ActivityError as error:
            if isinstance(error.cause, CancelledError):
                raise
            return recycling.model_copy(update={"kept": policies.said(error)})
        try:
            kept = await self._recovery.brought(checkpoint)
        except (ActivityError, asyncio.CancelledError):  # the run is cancelled, and closes the browser that it has
            recycling = recycling.model_copy(update={"kept": "the run was cancelled"})
            await asyncio.shield(self._browser.go_back(old, recycling))
            raise
        recycling = recycling.model_copy(update={"kept": kept})
        if kept:
            await self._browser.go_back(old, recycling)
        else:
            await self._browser.give_back(old, recycling)
        return recycling
