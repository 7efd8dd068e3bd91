"""Deciding whether a commit step in doubt took effect: by ledger, black box, live page, site, or a person."""

import logging
import time
from dataclasses import dataclass, field

from temporalio import activity

from activities.heartbeats import heartbeats
from activities.policing import Policing
from activities.proof.reconciling import ask_site, go_there, settle
from activities.session.attachments import BLANK, Attachment, Attachments
from activities.session.gate import acted_in, held_before, operation_of
from activities.step.records import from_ledger, has_lost_nothing, recording_of, settled_outcome
from replaywright.domain.common.durations import clock_of
from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.page.query_words import quoted
from replaywright.domain.page.saying import texts_of
from replaywright.domain.predicate.evaluation import failing
from replaywright.domain.predicate.predicates import fill_predicate
from replaywright.domain.proof.probing import SiteProbe
from replaywright.domain.proof.proof import is_same_site
from replaywright.domain.proof.reconciling import SIGNED_OUT_ANSWERS
from replaywright.domain.run.commands import StepContext
from replaywright.domain.run.commit_requests import (
    NO_INTENT,
    NOT_ON_SITE,
    NOTHING_LEFT,
    RESOLVED,
    Resolution,
    ResolveRequest,
    SettleRequest,
)
from replaywright.domain.run.redacted import redacted_outcome
from replaywright.domain.run.scope import Mode
from replaywright.domain.session.commit_gate import GateSeen
from replaywright.domain.skill.entries import ActionCacheEntry
from replaywright.domain.step.fingerprints import content_key
from replaywright.domain.step.outcomes import IN_FLIGHT, SENT_TWICE, UNWITNESSED, Status, StepOutcome
from replaywright.domain.task.actions import Effect, effect_of
from replaywright.domain.task.steps import Reconcile, action_of
from replaywright.errors import ActionFailed, Fenced, SessionLost
from replaywright.killpoints import hit
from replaywright.ports.ledger import Known, StepStore
from replaywright.ports.stores import Secrets

_log = logging.getLogger("replaywright.effects")

RESOLVE_MS = 5_000
"""Time that a live page has to show that a step in doubt took effect."""
WHO_LIMIT = 500
"""Characters of who decided, and why, in the ledger."""
SEEN = "seen_on_live_page"
"""Reason of a resolution."""
_OPEN = ("INTENT", "DISPATCHED")
_NO_ATTEMPT = ("", "NOT_DONE")
"""States of a record in which the ledger knows of no attempt."""


@dataclass(frozen=True)
class Flight:
    """Something that left the browser, or may have, and that the site has not answered."""

    left_at: float
    """Time, in seconds since 1970; 0 if unknown."""
    is_request: bool = False
    """It is a request whose answer the page waits for, not a tunnel: messages of a WebSocket have none."""

    def __str__(self) -> str:
        return f"it left at {clock_of(self.left_at)} (UTC) and was not answered"


@dataclass(frozen=True, eq=False)
class EffectActivities:
    """Activities `effect.verify` and `effect.settle`."""

    attachments: Attachments
    store: StepStore
    secrets: Secrets
    policing: Policing = field(default_factory=Policing)

    @activity.defn(name="effect.verify")
    async def resolve_step(self, request: ResolveRequest) -> Resolution:
        """Decide by reading whether a commit step in doubt took effect; the attempt in doubt is fenced first.

        In this order: the ledger, the keeper's black box, the live page, the site. All of it is one activity, so that
        who asks the site is who has fenced the attempt, and knows since when nothing more can have left.

        Promise on a retry: starts again from the fence, with the same result unless the site has changed.
        """
        asked = request.action
        async with heartbeats(f"verifying step {asked.sequence}"):
            before = await self.store.fence(**asked.record, epoch=asked.run.epoch)
            hit("resolving", asked.sequence)
            if before.state == "DAMAGED":
                return Resolution(verdict="undecidable", reason="ledger_damaged")
            if (recorded := await self._by_ledger(asked, before)) is not None:
                where = self._where_it_shows(asked)
                if where is not None:
                    held = await self.attachments.hold(asked.run.session, asked.run.epoch)
                    if await _has_no_page_after(request, held):
                        await go_there(held.browser, where, asked)
                return recorded
            if before.state in _OPEN and not _attempts(request, before):
                return await self._not_done(asked, NO_INTENT, "what the ledger tells of was settled before")
            if (untouched := await self._by_black_box(request, before)) is not None:
                return untouched
            held = await self.attachments.hold(asked.run.session, asked.run.epoch)  # from here on nobody else writes
            since = time.monotonic()
            if (closed := await held.gate.pending()) is not None:  # the site could not be asked
                await held.stop_loading()
                await held.gate.disarm(closed.op_id)
            if await self._is_known_to_be_repeatable(request, before, held):
                return await self._not_done(asked, NO_INTENT, "recorded: the step sends nothing that changes anything")
            if await self._was_never_intended(request, before):
                return await self._not_done(asked, NO_INTENT, "ledger: it has lost nothing, and has no intent")
            seen = await self._by_page(request, before, held)
            return seen if isinstance(seen, Resolution) else await self._by_site(request, before, held, since, seen)

    def _where_it_shows(self, asked: StepContext) -> Reconcile | None:
        """Return where the task says that the site shows the step, if the policy lets it be opened."""
        where = asked.step.reconcile
        return None if where is None or self.policing.on_steps(asked.run.policy, where.steps) is not None else where

    async def _by_ledger(self, asked: StepContext, before: Known) -> Resolution | None:
        """Return the verdict if the record as it was before the fence gives one.

        That there is no intent in it says nothing: Redis may have come back without it.
        """
        if before.outcome is not None:
            return Resolution(verdict="done", reason="recorded", outcome=from_ledger(before.outcome))
        if before.state == "COMMITTED":
            return Resolution(
                verdict="done", reason="recorded", outcome=from_ledger(settled_outcome(asked.fingerprint))
            )
        if before.late is not None:
            await self.store.settle(
                **asked.record, epoch=asked.run.epoch, state="COMMITTED", who="a late report of success"
            )
            return Resolution(verdict="done", reason="late", outcome=from_ledger(before.late))
        return None

    async def _by_black_box(self, request: ResolveRequest, before: Known) -> Resolution | None:
        """Return the verdict if the keeper was there all the time, and nothing has left the browser since it was armed.

        It is asked about the attempt that the workflow knows of and about the one that the ledger knows of: they differ
        when Redis has fallen back. An attempt that was lost, and that the keeper does not know, never came to the gate,
        which is armed before the intent is written.
        """
        asked = request.action
        attempts = _attempts(request, before)
        if not attempts:
            return None
        if not request.adopted:
            return await self._by_what_it_left(request, before)
        held = await self.attachments.hold(asked.run.session, asked.run.epoch)
        reason = NO_INTENT
        for epoch in attempts:
            seen = await held.gate.recall(operation_of(asked), epoch)
            if seen is None and request.lost and epoch == request.doubted and not _is_intent_of(before, epoch):
                continue
            if seen is None or not seen.nothing_left:
                return None
            reason = NOTHING_LEFT
        if reason == NO_INTENT and before.state not in _NO_ATTEMPT:
            return None
        finding = "nothing left the browser" if reason == NOTHING_LEFT else "it was never armed"
        return await self._not_done(asked, reason, f"black box: {finding} in epoch {max(attempts)}")

    async def _by_what_it_left(self, request: ResolveRequest, before: Known) -> Resolution | None:
        """Return the verdict if the keeper has ended, and had written that nothing of the attempt left the browser.

        That an attempt never came to this gate says something only of the one that was made in this browser, and that
        has no intent: any other came to the gate of another one.
        """
        for epoch in _attempts(request, before):
            left = await self.attachments.left_behind(request.doubted_session, operation_of(request.action), epoch)
            is_own = request.lost and epoch == request.doubted and not _is_intent_of(before, epoch)
            if not left.nothing_left or (left.seen is None and not is_own):
                return None
        return await self._not_done(request.action, NOTHING_LEFT, "the black box on disk: nothing left the browser")

    async def _in_flight(self, request: ResolveRequest, before: Known, held: Attachment) -> Flight | None:
        """Return what the attempt in doubt has sent that may still take effect: the site may show it later.

        Where neither a living keeper nor one that has ended can tell, the ledger does: what it has not let go has not
        left; but what it has forgotten may have.
        """
        if request.answered:
            return None
        is_known = bool(_attempts(request, before))
        for epoch in _attempts(request, before):
            seen = await self._gate_of(request, held, epoch)
            is_known = is_known and seen is not None
            if seen is not None and seen.in_flight:
                flying = [sent for sent in seen.sent if sent.is_in_flight]
                left_at = max((sent.sent_at for sent in flying), default=0.0)
                return Flight(left_at, is_request=any(sent.method for sent in flying))
        if is_known:
            return None
        if before.state == "INTENT" and await has_lost_nothing(self.store, request.action, request.witness):
            return None
        return Flight(0.0)

    async def _gate_of(self, request: ResolveRequest, held: Attachment, epoch: int) -> GateSeen | None:
        """Return what is known of the gate of an attempt, from its keeper or from what that left behind."""
        op_id = operation_of(request.action)
        if request.adopted:
            return await held.gate.recall(op_id, epoch)
        return (await self.attachments.left_behind(request.doubted_session, op_id, epoch)).seen

    async def _is_known_to_be_repeatable(self, request: ResolveRequest, before: Known, held: Attachment) -> bool:
        """Tell if the step was seen to change nothing: the workflow, which knows no recordings, takes it for a commit.

        Only asked of a rebuilt browser, which is where the step began.
        """
        asked = request.action
        if request.adopted or not request.lost or before.state not in _NO_ATTEMPT or asked.run.mode is Mode.LEARN:
            return False
        entry = await self._recorded(asked, asked.run.run_id, held.browser.url)
        return entry is not None and effect_of(action_of(asked.step), asked.step.effect, entry.effect).repeatable

    async def _recorded(self, asked: StepContext, run_id: str, url: str) -> ActionCacheEntry | None:
        """Return the recording of the step for the page at `url`."""
        run, occurrence = asked.run, asked.occurrence
        key = content_key(run.tenant, url, asked.step, run.owner, values=asked.values, occurrence=occurrence)
        known = await self.store.look_up(
            tenant=asked.run.tenant, lineage=asked.run.lineage, run_id=run_id, fingerprint="", content_key=key
        )
        return known.entry

    async def _was_never_intended(self, request: ResolveRequest, before: Known) -> bool:
        """Tell if the ledger has lost nothing since the step before, and knows of no intent: then no input was given.

        Only asked when there is no keeper to ask any more. An intent that is still on its way is refused since the
        fence. A ledger that may have lost something says nothing: what was sent may be what it has lost.
        """
        if request.adopted or not request.lost or before.state not in _NO_ATTEMPT:
            return False
        return await has_lost_nothing(self.store, request.action, request.witness)

    async def _by_page(self, request: ResolveRequest, before: Known, held: Attachment) -> Resolution | str:
        """The verdict of the live page, or why it gives none: it can show that the step took effect, never that not.

        What held before the step decides nothing. Its intent says what did, and so does the keeper's note of the
        attempt, which no loss of Redis takes away; without both it is not known.
        """
        asked = request.action
        if not request.adopted:
            return "page_rebuilt"
        if request.contradicted:
            return request.contradicted
        expect = tuple(fill_predicate(predicate, asked.values) for predicate in asked.step.expect)
        if not expect:
            return "no_expectation"
        earlier = await _held_before(request, before, held)
        if earlier is None:
            return "ledger_gap" if await self._ledger_is_whole(asked) else "ledger_lost"
        telling = [index for index, each in enumerate(expect) if each.is_required and index not in earlier]
        if not telling:
            return "held_before"
        results = await held.browser.check(expect, RESOLVE_MS)
        if failing(results) is not None:
            return "not_seen"
        if asked.step.needs_witness and not await self._is_witnessed(request, before, held):
            return UNWITNESSED
        warnings = await self._sent_twice(request, before, held)
        proof = "the live page shows the expected state"
        return await self._done(asked, results, held.browser.url, proof, reason=SEEN, warnings=warnings)

    async def _is_witnessed(self, request: ResolveRequest, before: Known, held: Attachment) -> bool:
        """Tell if the site confirms what the page shows: it answered, or has sent the document."""
        for epoch in _attempts(request, before):
            seen = await held.gate.recall(operation_of(request.action), epoch)
            if seen is None:
                continue
            is_answered = any(
                not sent.is_safe and 0 < sent.status < 400 and is_same_site(sent.url, held.browser.url)
                for sent in seen.sent
                if sent.kind not in seen.aside
            )
            if is_answered or acted_in(seen) not in ("", held.browser.document):
                return True
        return False

    async def _by_site(
        self, request: ResolveRequest, before: Known, held: Attachment, since: float, reason: str
    ) -> Resolution:
        """The verdict of the step's `reconcile`; without one nobody knows, for the `reason` that there is already."""
        asked = request.action
        flight = await self._in_flight(request, before, held)
        if flight is not None and flight.left_at:
            reason = f"{IN_FLIGHT}: {flight}, and {reason}"
        proposed = None if asked.step.reconcile is not None else await self._proposed(request, held)
        reconcile = asked.step.reconcile if proposed is None else proposed.as_reconcile()
        if reconcile is None:
            reason += await self._dialog_shown(request, held)
            return await self._unknown(request, flight if request.adopted else None, reason)  # its page may show it yet
        if (refusal := self.policing.on_steps(asked.run.policy, reconcile.steps)) is not None:
            return await self._undecidable(asked, f"{reason}, and the site may not be asked: {refusal.message}")
        await settle(request.settle_ms, request.settled_ms, since)
        finding = await ask_site(held.browser, reconcile, asked)
        answer = f"the site was asked {finding.asked} times: {finding.reason}"
        if finding.answer == "yes":
            is_unanswered = flight is not None and flight.is_request
            if is_unanswered or await _has_no_page_after(request, held):
                await go_there(held.browser, reconcile, asked)
            warnings, proof = await self._sent_twice(request, before, held), "the site shows it (reconcile)"
            return await self._done(asked, finding.results, finding.url, proof, reason="on_site", warnings=warnings)
        if finding.answer == "unknown" and finding.reason in SIGNED_OUT_ANSWERS and request.may_sign_in:
            return Resolution(verdict="signed_out", reason=f"{reason}, and {answer}")
        if finding.answer == "unknown" or flight is not None:
            return await self._unknown(request, flight, f"{reason}, and {answer}")
        if asked.step.effect is Effect.IRREVERSIBLE:
            return await self._undecidable(asked, f"{answer}, but what cannot be undone is not done again on that")
        if proposed is not None and not proposed.asks_by_name:
            return await self._undecidable(asked, f"{answer}, but that probe was proposed, and may look too briefly")
        return await self._not_done(asked, NOT_ON_SITE, answer)

    async def _dialog_shown(self, request: ResolveRequest, held: Attachment) -> str:
        """Tell of a dialog on the live page: it may be all that the step has led to."""
        if not request.adopted:
            return ""
        try:
            shown = texts_of(await held.browser.snapshot(), ("alertdialog", "dialog"))
        except (ActionFailed, SessionLost):
            return ""
        asks = "; if it asks for something, a step of the task has to answer it"
        return f"; the page shows the dialog {quoted(self.secrets.redact(shown[0]))}{asks}" if shown else ""

    async def _unknown(self, request: ResolveRequest, flight: Flight | None, reason: str) -> Resolution:
        """End without a verdict: ask again as long as something in flight may be waited for."""
        if flight is None or not request.is_patient:
            return await self._undecidable(request.action, reason)
        return Resolution(verdict="in_flight", reason=reason, left_at=flight.left_at)

    async def _proposed(self, request: ResolveRequest, held: Attachment) -> SiteProbe | None:
        """Return the probe that was proposed, tried and kept when the step was learned; None if there is none."""
        asked = request.action
        if asked.run.mode is Mode.LEARN:
            return None
        entry = await self._recorded(asked, asked.run.lineage, request.began_at or held.browser.url)
        return None if entry is None else entry.probe

    async def _sent_twice(self, request: ResolveRequest, before: Known, held: Attachment) -> tuple[str, ...]:
        """Warn of what the keeper saw leave twice to the same address."""
        for epoch in _attempts(request, before):
            seen = await self._gate_of(request, held, epoch)
            first: dict[tuple[str, str], float] = {}
            for sent in () if seen is None else seen.sent:
                if sent.is_safe or not sent.method:
                    continue
                earlier = first.setdefault((sent.method, sent.url), sent.sent_at)
                if earlier != sent.sent_at:
                    times = f"at {clock_of(earlier)} and, to the same address, again at {clock_of(sent.sent_at)} (UTC)"
                    return (f"{SENT_TWICE}: {sent.method} {sent.url} was sent {times}",)
        return ()

    async def _done(
        self,
        asked: StepContext,
        results: tuple[PredicateResult, ...],
        url: str,
        proof: str,
        *,
        reason: str,
        warnings: tuple[str, ...],
    ) -> Resolution:
        outcome = StepOutcome(
            status=Status.DONE,
            reason=RESOLVED,
            fingerprint=asked.fingerprint,
            effect=Effect.COMMIT,
            predicates=results,
            url=url,
            warnings=warnings,
        )
        outcome = redacted_outcome(outcome, self.secrets)
        await self.store.record(recording_of(asked, outcome, trace={"resolved": proof}))
        hit("recorded", asked.sequence)
        return Resolution(verdict="done", reason=reason, outcome=outcome)

    async def _not_done(self, asked: StepContext, reason: str, who: str) -> Resolution:
        await self.store.settle(**asked.record, epoch=asked.run.epoch, state="NOT_DONE", who=who)
        return Resolution(verdict="not_done", reason=reason)

    async def _ledger_is_whole(self, asked: StepContext) -> bool:
        """Tell if the record of the step before is still there: an emptied store says nothing about this one."""
        lines = await self.store.trace(tenant=asked.run.tenant, lineage=asked.run.lineage)
        return asked.sequence == 0 or any(line.get("sequence") == asked.sequence - 1 for line in lines)

    @activity.defn(name="effect.settle")
    async def settle_step(self, request: SettleRequest) -> None:
        """Write a person's decision on a step in doubt to the ledger and the trace."""
        asked, verdict = request.action, request.verdict
        async with heartbeats(f"settling step {asked.sequence}"):
            try:
                await self._settle(request)
            except Fenced as exc:  # the record is gone or damaged: the word of the person stands in history and trace
                _log.warning("the ledger does not take the decision on step %d: %s", asked.sequence, exc)
            fields = verdict.model_dump(by_alias=True, exclude={"question", "value", "sealed"})
            line = {"kind": "person", "fingerprint": asked.fingerprint, **fields, "failed": request.failed}
            await self.store.append_trace(tenant=asked.run.tenant, lineage=asked.run.lineage, line=line)

    async def _settle(self, request: SettleRequest) -> None:
        """The ledger's part: of a step that failed, only that it is done; of one in doubt, whatever was decided."""
        asked, verdict = request.action, request.verdict
        committed = {"done": "COMMITTED", "keep": "COMMITTED"}
        states = {**committed, "not_done": "NOT_DONE", "retry": "NOT_DONE", "abandon": "ABANDONED"}
        state = states.get(verdict.verdict)
        if state is None or (request.failed and state != "COMMITTED"):
            return
        if request.failed:
            await self.store.fence(**asked.record, epoch=asked.run.epoch)
        who = verdict.who or "a person"
        if verdict.verdict == "retry":
            who += ", who has it performed again whether it took effect or not"
        await self.store.settle(
            **asked.record, epoch=asked.run.epoch, state=state, who=f"{who}: {verdict.why}"[:WHO_LIMIT]
        )

    async def _undecidable(self, asked: StepContext, reason: str) -> Resolution:
        who = f"undecidable: {reason}"
        await self.store.settle(**asked.record, epoch=asked.run.epoch, state="ESCALATED", who=who)
        return Resolution(verdict="undecidable", reason=reason)


async def _has_no_page_after(request: ResolveRequest, held: Attachment) -> bool:
    """Tell if the page is none that the step led to: it was rebuilt as it was before, or left, or not sent."""
    return not request.adopted or held.browser.url in BLANK or bool(await held.browser.page_fault())


def _attempts(request: ResolveRequest, before: Known) -> set[int]:
    """Return the epochs of the attempt in doubt, as workflow and ledger know it; they differ when Redis fell back."""
    is_open = before.state in _OPEN and before.epoch > request.settled
    return {request.doubted, before.epoch if is_open else 0} - {0}


async def _held_before(request: ResolveRequest, before: Known, held: Attachment) -> tuple[int, ...] | None:
    """Return which expectations held before the attempt in doubt; None if nobody knows."""
    if before.state in _OPEN:
        return before.held
    seen = await held.gate.recall(operation_of(request.action), request.doubted) if request.doubted else None
    return None if seen is None else held_before(seen)


def _is_intent_of(before: Known, epoch: int) -> bool:
    return before.state in _OPEN and before.epoch == epoch
