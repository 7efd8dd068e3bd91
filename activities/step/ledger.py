"""The ledger and the trace of steps: intents, outcomes, and the wait for a store that is away."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

from temporalio import activity

from activities.step.records import answered_line, from_ledger, standing_of
from replaywright.domain.run.commands import Perform, StepContext
from replaywright.domain.skill.entries import ActionCacheEntry
from replaywright.domain.step.outcomes import StepOutcome
from replaywright.errors import DoneElsewhere, Fenced, StoreUnavailable
from replaywright.ports.ledger import Intent, Known, Recording, StepStore

_log = logging.getLogger("replaywright.actions")

RECORD_TRIES = 4
"""Tries to write an outcome; then it goes to Temporal alone."""
RECORD_PAUSE_S = 0.2
"""Pause before the second try; each further one is twice as long."""
TAKE_OVERS = 3
"""Tries to take over an act that other steps of the lineage had claimed in vain."""


class StepLedger:
    """Reads and writes the records of steps."""

    def __init__(self, store: StepStore) -> None:
        self._store = store

    async def write(self, recording: Recording) -> Known:
        """Record an outcome, trying again for a while; without a store the outcome goes to Temporal alone."""
        for attempt in range(RECORD_TRIES):
            try:
                return await self._store.record(recording)
            except StoreUnavailable as exc:
                if attempt == RECORD_TRIES - 1:
                    _log.warning("step %d of %s is not recorded: %s", recording.sequence, recording.lineage, exc)
                    return Known()
                await asyncio.sleep(RECORD_PAUSE_S * 2**attempt)
        raise AssertionError("unreachable")

    async def trace(self, context: StepContext, line: dict[str, Any]) -> None:
        """Add a line to the run's trace, if the store takes it."""
        try:
            await self._store.append_trace(tenant=context.run.tenant, lineage=context.run.lineage, line=line)
        except StoreUnavailable as exc:
            _log.warning("no trace line for step %d of %s: %s", context.sequence, context.run.lineage, exc)

    async def look_up(self, context: StepContext, key: str) -> Known:
        """Read the step's record, and the recording under this content key."""
        return await self._store.look_up(**context.record, run_id=context.run.lineage, content_key=key)

    async def element(self, context: StepContext, key: str) -> ActionCacheEntry | None:
        """Read what other tasks on this site have recorded of the step's element."""
        run = context.run
        known = await self._store.look_up(
            tenant=run.tenant, lineage=run.lineage, run_id=run.lineage, fingerprint="", content_key=key
        )
        return known.entry

    async def has_candidate(self, context: StepContext, keys: Sequence[str]) -> bool:
        """Tell if another run found the step's element, and was never verified; False if the store does not say."""
        run = context.run
        try:
            found = await self._store.candidates(tenant=run.tenant, run_id=run.lineage, content_keys=keys)
        except StoreUnavailable:
            return False
        return any(entry.is_proven and entry.is_for(context.values) for entry in found)

    async def keep(self, context: StepContext, entry: ActionCacheEntry) -> None:
        """Keep a recording of an element as a candidate of the run, if the store takes it."""
        try:
            await self._store.keep(tenant=context.run.tenant, run_id=context.run.lineage, entry=entry)
        except StoreUnavailable as exc:
            _log.warning("the element of step %d of %s is not kept: %s", context.sequence, context.run.lineage, exc)

    async def known_of(self, context: StepContext, fingerprint: str = "") -> Known:
        """Read the record of this step, or of another one of its lineage."""
        address = context.record | ({"fingerprint": fingerprint} if fingerprint else {})
        return await self._store.look_up(**address, run_id="", content_key="")

    async def intend(self, command: Perform, held: tuple[int, ...] | None) -> Known:
        """Write the intent of a commit step, and which of its expectations `held` before; None: that is not known.

        All tries under one epoch are one attempt: the workflow makes another one only when the one before came back
        without having dispatched. So an intent that the store took after its writer had given up waiting is not
        somebody else's. Where the lineage has the same act under another fingerprint, the step takes it over if nothing
        came of it there, if it turned out to be harmless, or if a person wants it done again.

        Raises:
            DoneElsewhere: it was done, or nobody knows.
            Fenced: a newer attempt owns the step, or other steps keep claiming its act.
        """
        context = command.context
        intent = Intent(
            **context.record,
            epoch=context.run.epoch,
            attempt=_attempt(context),
            held=held,
            act=context.act,
            over=command.redo,
        )
        for _ in range(TAKE_OVERS):
            try:
                return await self._store.intend(intent)
            except DoneElsewhere as exc:
                if standing_of(await self.known_of(context, exc.fingerprint)) != "":
                    raise
                intent = intent.model_copy(update={"over": exc.fingerprint})
        raise Fenced(f"step {context.sequence}: lost the claim on its act repeatedly")

    async def dispatch(self, context: StepContext) -> None:
        """Ask whether the bytes of a commit step may leave now.

        Raises:
            Fenced: they may not.
        """
        await self._store.dispatch(**context.record, epoch=context.run.epoch, attempt=_attempt(context))

    async def release(self, context: StepContext, who: str) -> None:
        """Take back an intent that definitely led to nothing, under the next epoch: this attempt is over.

        Without a store the intent stays open, and a later run of this lineage has to ask whether it took effect.
        """
        epoch = context.run.epoch + 1
        try:
            await self._store.fence(**context.record, epoch=epoch)
            await self._store.settle(**context.record, epoch=epoch, state="NOT_DONE", who=who)
        except StoreUnavailable as exc:
            _log.warning("the intent of step %d of %s stays open: %s", context.sequence, context.run.lineage, exc)

    async def answered(self, context: StepContext, outcome: StepOutcome) -> StepOutcome:
        """Return the recorded outcome, marked as recorded, and add a line to the trace."""
        recorded = from_ledger(outcome)
        await self.trace(context, answered_line(context, recorded))
        return recorded


def _attempt(context: StepContext) -> str:
    return f"{activity.info().workflow_run_id}/{context.run.epoch}"
