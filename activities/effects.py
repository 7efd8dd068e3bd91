"""Deciding whether a commit step in doubt took effect: by the ledger, the live page, or a person."""

import logging

from temporalio import activity

from activities.commit import operation_of
from activities.heartbeats import heartbeats
from activities.records import from_ledger, recording_of, settled_outcome
from activities.sessions import Attachments
from replaywright.domain.actions import Effect
from replaywright.domain.evaluation import failing
from replaywright.domain.outcomes import Status, StepOutcome
from replaywright.domain.predicates import fill_predicate
from replaywright.domain.redacted import redacted_outcome
from replaywright.domain.runs import NOTHING_LEFT, ActionRequest, Resolution, ResolveRequest, SettleRequest
from replaywright.errors import Fenced
from replaywright.killpoints import hit
from replaywright.ports import Known, Secrets, StepStore

_log = logging.getLogger("replaywright.effects")

RESOLVE_MS = 5_000
"""How long a live page is given to show that a step in doubt took effect."""


class EffectActivities:
    """Activities `effect.verify` and `effect.settle`."""

    def __init__(self, attachments: Attachments, store: StepStore, secrets: Secrets) -> None:
        self._attachments = attachments
        self._store = store
        self._secrets = secrets

    @activity.defn(name="effect.verify")
    async def resolve_step(self, request: ResolveRequest) -> Resolution:
        """Decide by reading whether a commit step in doubt took effect; the attempt in doubt is fenced first.

        Promise on a retry: starts again from the fence, with the same result unless the site has changed.
        """
        asked = request.action
        scope = {"tenant": asked.tenant, "lineage": asked.lineage, "fingerprint": asked.fingerprint}
        async with heartbeats(f"verifying step {asked.sequence}"):
            before = await self._store.fence(**scope, epoch=asked.epoch)
            hit("resolving", asked.sequence)
            if before.state == "DAMAGED":
                return Resolution(verdict="undecidable", reason="ledger_damaged")
            decided = await self._by_ledger(asked, before) or await self._by_black_box(request, before)
            return decided or await self._by_page(request)

    async def _by_ledger(self, asked: ActionRequest, before: Known) -> Resolution | None:
        """The verdict if the record as it was before the fence gives one."""
        scope = {"tenant": asked.tenant, "lineage": asked.lineage, "fingerprint": asked.fingerprint}
        if before.outcome is not None:
            return Resolution(verdict="done", reason="recorded", outcome=from_ledger(before.outcome))
        if before.state == "COMMITTED":
            return Resolution(verdict="done", reason="recorded", outcome=from_ledger(settled_outcome(asked)))
        if before.late is not None:
            await self._store.settle(**scope, epoch=asked.epoch, state="COMMITTED", who="a late report of success")
            return Resolution(verdict="done", reason="late", outcome=from_ledger(before.late))
        if before.state not in ("", "NOT_DONE"):
            return None
        if before.state == "" and not await self._ledger_is_whole(asked):
            return await self._undecidable(asked, "ledger_lost")
        await self._store.settle(**scope, epoch=asked.epoch, state="NOT_DONE", who="ledger: no intent")
        return Resolution(verdict="not_done", reason="no_intent")

    async def _by_black_box(self, request: ResolveRequest, before: Known) -> Resolution | None:
        """The verdict if the keeper was there all the time, and nothing has left the browser since it was armed."""
        asked = request.action
        if not request.adopted:
            return None
        held = await self._attachments.hold(asked.session, asked.epoch)
        seen = await held.gate.recall(operation_of(asked), before.epoch)
        if seen is None or not seen.nothing_left:
            return None
        scope = {"tenant": asked.tenant, "lineage": asked.lineage, "fingerprint": asked.fingerprint}
        who = f"black box: nothing left the browser in epoch {before.epoch}"
        await self._store.settle(**scope, epoch=asked.epoch, state="NOT_DONE", who=who)
        return Resolution(verdict="not_done", reason=NOTHING_LEFT)

    async def _by_page(self, request: ResolveRequest) -> Resolution:
        """The verdict of the live page: it can show that the step took effect, never that it did not."""
        asked = request.action
        if not request.adopted:
            return await self._undecidable(asked, "page_rebuilt")
        if request.contradicted:
            return await self._undecidable(asked, request.contradicted)
        expect = tuple(fill_predicate(predicate, asked.values) for predicate in asked.step.expect)
        if not expect:
            return await self._undecidable(asked, "no_expectation")
        held = await self._attachments.hold(asked.session, asked.epoch)
        results = await held.browser.check(expect, RESOLVE_MS)
        if failing(results) is not None:
            return await self._undecidable(asked, "not_seen")
        outcome = StepOutcome(
            status=Status.DONE,
            reason="resolved",
            fingerprint=asked.fingerprint,
            effect=Effect.COMMIT,
            predicates=results,
            url=held.browser.url,
        )
        outcome = redacted_outcome(outcome, self._secrets)
        await self._store.record(
            recording_of(asked, outcome, trace={"resolved": "the live page shows the expected state"})
        )
        return Resolution(verdict="done", reason="seen_on_live_page", outcome=outcome)

    async def _ledger_is_whole(self, asked: ActionRequest) -> bool:
        """Whether the record of the step before is still there: an emptied store says nothing about this one."""
        lines = await self._store.trace(tenant=asked.tenant, lineage=asked.lineage)
        return asked.sequence == 0 or any(line.get("sequence") == asked.sequence - 1 for line in lines)

    @activity.defn(name="effect.settle")
    async def settle_step(self, request: SettleRequest) -> None:
        """Write a person's decision on a step in doubt to the ledger and the trace."""
        asked, verdict = request.action, request.verdict
        scope = {"tenant": asked.tenant, "lineage": asked.lineage}
        async with heartbeats(f"settling step {asked.sequence}"):
            try:
                await self._settle(request)
            except Fenced as exc:  # the record is gone or damaged: the word of the person stands in history and trace
                _log.warning("the ledger does not take the decision on step %d: %s", asked.sequence, exc)
            told = verdict.model_dump(by_alias=True)
            line = {"kind": "person", "fingerprint": asked.fingerprint, **told, "failed": request.failed}
            await self._store.append_trace(**scope, line=line)

    async def _settle(self, request: SettleRequest) -> None:
        """The ledger's part: of a step that failed, only that it is done; of one in doubt, whatever was decided."""
        asked, verdict = request.action, request.verdict
        scope = {"tenant": asked.tenant, "lineage": asked.lineage, "fingerprint": asked.fingerprint}
        states = {"done": "COMMITTED", "keep": "COMMITTED", "not_done": "NOT_DONE", "abandon": "ABANDONED"}
        state = states.get(verdict.verdict)
        if state is None or (request.failed and state != "COMMITTED"):
            return
        if request.failed:
            await self._store.fence(**scope, epoch=asked.epoch)
        await self._store.settle(**scope, epoch=asked.epoch, state=state, who=verdict.who or "a person")

    async def _undecidable(self, asked: ActionRequest, reason: str) -> Resolution:
        await self._store.settle(
            tenant=asked.tenant,
            lineage=asked.lineage,
            fingerprint=asked.fingerprint,
            epoch=asked.epoch,
            state="ESCALATED",
            who=f"undecidable: {reason}",
        )
        return Resolution(verdict="undecidable", reason=reason)
