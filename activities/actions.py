"""One browser action as one activity: resolve, run, record."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from temporalio import activity

from activities.downloads import keep_downloads, not_kept
from activities.failures import FailureEvidence
from activities.heartbeats import heartbeats
from activities.killpoints import hit
from activities.sessions import Attachment, Attachments
from replaywright.domain.actions import Action, Effect, effect_of
from replaywright.domain.deriving import derived_from, loosened, todays
from replaywright.domain.entries import ActionCacheEntry, EntryStatus
from replaywright.domain.evaluation import failing
from replaywright.domain.filling import filled_step, filled_target, general_target, unseen_parameters
from replaywright.domain.fingerprints import (
    content_key,
    digest,
    entered_parameters,
    fingerprint,
    instruction_parameters,
    naming_parameters,
    site_scope,
)
from replaywright.domain.observed import PredicateResult
from replaywright.domain.outcomes import SERVER_ERROR, UNPROVEN, Costs, Evidence, Lookup, Proof, Status, StepOutcome
from replaywright.domain.overrides import Due, OverrideRule, host_of
from replaywright.domain.predicates import Predicate, ResponseStatus, meaning_of, named_parameters, parts_of
from replaywright.domain.proof import is_open, refused_by
from replaywright.domain.redacted import redacted_outcome, redacted_snapshot, redacted_target
from replaywright.domain.runs import (
    ActionRequest,
    Heal,
    Mode,
    step_title,
)
from replaywright.domain.snapshots import Snapshot
from replaywright.domain.steps import Fill, Paste, Type, action_of, arguments_of, names_element
from replaywright.domain.targets import Target
from replaywright.domain.templates import fill, secrets_in
from replaywright.domain.text import shorten
from replaywright.errors import ActionFailed, ArtifactsUnavailable, SessionLost, StoreUnavailable
from replaywright.ports import (
    Artifacts,
    BeforeDispatch,
    Known,
    Overrides,
    Recording,
    Report,
    Secrets,
    StepStore,
    Work,
)

_log = logging.getLogger("replaywright.actions")

RECORD_TRIES = 4
"""Writing an outcome is tried this often; then the outcome goes to Temporal alone."""
RECORD_PAUSE_S = 0.2
"""Pause before the second try; each further one is twice as long."""
_NOTHING_SEEN = Evidence()
WARNING_LIMIT = 300
"""Characters of a warning."""
WARNINGS_KEPT = 4
SEEN_MS = 1_000
"""How long a page is given to show that a repeatable step had taken effect before its worker was lost."""


class Actions:
    """Activities `browser.<action>`."""

    def __init__(
        self,
        attachments: Attachments,
        store: StepStore,
        artifacts: Artifacts,
        secrets: Secrets,
        overrides: Overrides | None = None,
    ) -> None:
        """Without `overrides` there are no rules."""
        self._overrides = overrides
        self._attachments = attachments
        self._store = store
        self._artifacts = artifacts
        self._secrets = secrets
        self.failures = FailureEvidence(artifacts, secrets)

    def activities(self) -> list[Callable[..., Awaitable[Any]]]:
        """All of them, one activity type per browser action, so that a run reads like a script in Temporal's UI."""
        return [self._named(action) for action in Action]

    def _named(self, action: Action) -> Callable[[ActionRequest], Awaitable[StepOutcome]]:
        @activity.defn(name=f"browser.{action}")
        async def perform(request: ActionRequest) -> StepOutcome:
            return await self.perform_action(request)

        return perform

    async def perform_action(self, request: ActionRequest) -> StepOutcome:
        """Return the recorded outcome of this step, or perform it, verify it and record it.

        Promise on a retry: a step whose outcome was recorded is never performed again; a commit step whose intent
        was recorded without an outcome comes back as `in_doubt`, untouched. A miss or an unmet expectation is an
        outcome, not an error.

        Raises:
            SessionLost: the browser is gone, or a newer attempt owns it.
            StoreUnavailable: the ledger cannot be read; nothing was done.
        """
        async with heartbeats(f"step {request.sequence}"):
            try:
                held = await self._attachments.hold(request.session, request.epoch)
                return await _Performance(self, request, held).outcome()
            except SessionLost:
                await self._attachments.drop(request.session.session_id, request.epoch)
                raise

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

    async def look_up(self, request: ActionRequest, key: str, held: Attachment) -> tuple[Known, int]:
        """What the store knows before this step, and the round trips it took: none when it was fetched ahead."""
        known = held.prefetched.pop((request.fingerprint, key), None)
        if known is not None and not request.recovered and activity.info().attempt == 1:
            return known, 0
        known = await self._store.look_up(
            tenant=request.tenant,
            lineage=request.lineage,
            run_id=request.run_id,
            fingerprint=request.fingerprint,
            content_key=key,
        )
        return known, 1

    async def intend(self, request: ActionRequest) -> Known:
        """Write the intent of a commit step.

        All tries under one epoch are one attempt: the workflow makes another one only when the one before came back
        without having dispatched. So an intent that the store took after its writer had given up waiting is not
        somebody else's.
        """
        return await self._store.intend(
            tenant=request.tenant,
            lineage=request.lineage,
            fingerprint=request.fingerprint,
            epoch=request.epoch,
            attempt=f"{activity.info().workflow_run_id}/{request.epoch}",
        )

    async def release(self, request: ActionRequest, who: str) -> None:
        """Take back an intent that definitely led to nothing, under the next epoch: this attempt is over.

        Without a store the intent stays open, and a later run of this lineage has to ask whether it took effect.
        """
        scope = {"tenant": request.tenant, "lineage": request.lineage, "fingerprint": request.fingerprint}
        try:
            await self._store.fence(**scope, epoch=request.epoch + 1)
            await self._store.settle(**scope, epoch=request.epoch + 1, state="NOT_DONE", who=who)
        except StoreUnavailable as exc:
            _log.warning("the intent of step %d of %s stays open: %s", request.sequence, request.lineage, exc)

    async def keep_snapshot(self, snapshot: Snapshot | None) -> str:
        """Store a snapshot, secrets removed; its digest, or "" when there is none or no place for it."""
        if snapshot is None:
            return ""
        text = redacted_snapshot(snapshot, self._secrets).model_dump_json(by_alias=True)
        try:
            return await self._artifacts.put(text.encode())
        except ArtifactsUnavailable as exc:
            _log.warning("the snapshot of %r is not kept: %s", snapshot.url, exc)
            return ""

    async def keep_files(self, report: Report, held: Attachment) -> Report:
        """The report with what was downloaded as evidence: each file is an artifact, or its verdict says why not."""
        if not report.downloads:
            return report
        files = await keep_downloads(report, held.browser, self._artifacts)
        evidence = report.evidence.model_copy(update={"files": tuple(files)})
        return replace(report, evidence=evidence, after=(*report.after, *not_kept(files)))

    async def rules_for(self, request: ActionRequest, url: str) -> tuple[OverrideRule, ...]:
        """The rules that may be due on the page at `url`: none for a step that is itself of a rule."""
        if self._overrides is None or request.override or "*" in request.spent:
            return ()
        rules = await self._overrides.rules(request.tenant, host_of(url))
        return tuple(rule for rule in rules if rule.when is not None and rule.name not in request.spent)

    def dialog_text_of(self, request: ActionRequest) -> str | None:
        """What the step answers prompts with, secrets resolved."""
        text = request.step.dialog_text
        return None if text is None else fill(text, request.values, self._secrets.resolve)

    def text_of(self, request: ActionRequest) -> tuple[str, bool]:
        """What a fill, type or paste step enters, and whether a secret is in it."""
        step = request.step
        if not isinstance(step, Fill | Type | Paste):
            return "", False
        return fill(step.value, request.values, self._secrets.resolve), bool(secrets_in(step.value))

    @property
    def secrets(self) -> Secrets:
        """The secrets of this worker."""
        return self._secrets


class _AlreadyCommitted(Exception):
    """The ledger answered an intent with the outcome of an earlier attempt."""

    def __init__(self, outcome: StepOutcome) -> None:
        super().__init__()
        self.outcome = outcome


class _Performance:
    """One step on its way through resolve, run and record."""

    def __init__(self, actions: Actions, request: ActionRequest, held: Attachment) -> None:
        self._actions = actions
        self._request = request
        self._held = held
        self._step = filled_step(request.step, request.values)
        self._key = content_key(request.tenant, held.browser.url, request.step)
        self._left_at = held.browser.url
        self._site = actions.secrets.redact(site_scope(held.browser.url))
        self._started = time.perf_counter()
        self._trips = 0
        self._redis_s = 0.0
        self._intended = False
        self._entry: ActionCacheEntry | None = None
        self._effect = Effect.COMMIT
        self._derived: tuple[Predicate, ...] = ()

    async def outcome(self) -> StepOutcome:
        hit("start", self._request.sequence)
        try:
            known = await self._known()
        except StoreUnavailable as exc:
            if effect_of(action_of(self._step), self._request.step.effect, None).repeatable:
                raise
            return self._ended(Status.REFUSED, "store_unavailable", f"the ledger cannot be read: {exc}")
        if known.outcome is not None:
            return from_ledger(known.outcome)
        recorded = (self._request.mode is not Mode.LEARN or self._request.reapply) and not self._request.override
        self._entry = known.entry if recorded else None
        seen = None if self._entry is None else self._entry.effect
        self._effect = effect_of(action_of(self._step), self._request.step.effect, seen)
        if known.state == "DAMAGED":
            said = "the ledger's record of this step cannot be read: find out if it took effect, then delete the record"
            return self._ended(Status.REFUSED, "ledger_damaged", said)
        own = self._request.waited and known.state == "INTENT" and known.epoch == self._request.epoch
        if known.state not in ("", "NOT_DONE") and not own:
            # Whatever this attempt takes the step for: an earlier one took it for a commit.
            return self._ended(Status.IN_DOUBT, f"ledger_{known.state.lower()}", "an earlier attempt left its intent")
        try:
            report = await self._performed()
        except _AlreadyCommitted as signal:
            return from_ledger(signal.outcome)
        except StoreUnavailable as exc:
            if self._effect.repeatable:
                raise
            return self._ended(Status.REFUSED, "store_unavailable", f"no intent could be written: {exc}")
        except ActionFailed as exc:
            return await self._failed(exc)
        hit("acted", self._request.sequence)
        return await self._recorded(await self._actions.keep_files(report, self._held))

    async def _performed(self) -> Report:
        """Act on what was recorded; if that is not certain, on what the task itself declares, which needs no model.

        Only if it declares what the element is called, or if it is called nothing: an identifier alone may be that of
        something else by now, which a name, a label or a row that was recorded would have told. What is found so is as
        much of a heal as any other: the page is not what was recorded.
        """
        rules = await self._actions.rules_for(self._request, self._held.browser.url)
        work, begun = replace(self._work(), overrides=rules), time.perf_counter()
        report = await self._held.browser.perform(work, self._gate())
        declared = getattr(self._step, "target", None)
        replayed = work.target is not None and self._request.proposed is None
        left_ms = work.timeout_ms - int(_ms_since(begun))
        if report.lookup.hit or not (replayed and work.heal) or left_ms <= 0:
            return report
        if declared is None or work.target is None or not (declared.says_what_it_is or _is_nameless(work.target)):
            return report
        again = replace(work, target=None, query=declared, causes=None, timeout_ms=left_ms)
        second = await self._held.browser.perform(again, self._gate())
        if not second.lookup.hit:
            return report
        return replace(
            second,
            lookup=second.lookup.model_copy(update={"healed": True}),
            evaluations=report.evaluations + second.evaluations,
            locating_ms=report.locating_ms + second.locating_ms,
        )

    async def _known(self) -> Known:
        begun = time.perf_counter()
        known, trips = await self._actions.look_up(self._request, self._key, self._held)
        self._spent(begun, trips)
        return Known(entry=known.entry) if self._request.reapply else known

    def _spent(self, begun: float, trips: int) -> None:
        self._redis_s += time.perf_counter() - begun
        self._trips += trips

    def _gate(self) -> BeforeDispatch | None:
        """What has to be done between finding and acting: for a commit step, writing its intent."""
        return None if self._effect.repeatable or self._request.reapply else self._write_intent

    async def _write_intent(self, _target: Target | None) -> None:
        hit("located", self._request.sequence)
        begun = time.perf_counter()
        known = await self._actions.intend(self._request)
        self._spent(begun, 1)
        if known.state == "COMMITTED":
            raise _AlreadyCommitted(known.outcome or settled_outcome(self._request))
        self._intended = True
        hit("intended", self._request.sequence)

    def _work(self) -> Work:
        request, entry = self._request, self._entry
        self._derived = () if entry is None or request.proposed else todays(entry.derived, request.values)
        text, sensitive = self._actions.text_of(request)
        recorded = None if entry is None or not self._serves(entry) else entry.target
        target = request.proposed or (None if recorded is None else filled_target(recorded, request.values))
        declared = getattr(self._step, "target", None)
        return Work(
            step=self._step,
            text=text,
            sensitive=sensitive or bool(secrets_in(request.step.dialog_text or "")),
            dialog_text=self._actions.dialog_text_of(request),
            target=target,
            query=declared if target is None else None,
            entry_version=0 if entry is None else entry.version,
            expect=(*self._step.expect, *self._derived),
            learning=entry is None or request.proposed is not None,
            causes=None if entry is None or request.proposed is not None else entry.causes,
            heal=request.heal is not Heal.OFF,
            skip_if_holds=self._may_be_done(),
            timeout_ms=self._step.timeout_ms,
        )

    def _may_be_done(self) -> bool:
        """Whether what is expected of a commit step, if it holds beforehand, shows that just this was done already.

        Only an expectation that names a parameter can: "Sent" may be yesterday's.
        """
        step = self._request.step
        if not self._is_known_commit() or step.always or self._request.reapply:
            return False
        return any(predicate.is_required and named_parameters(predicate) for predicate in step.expect)

    def _serves(self, entry: ActionCacheEntry) -> bool:
        """Whether the recording is of the element that today's values name.

        An element that the task declares by its parameters is looked for as declared: nothing could say it better.
        """
        declared = getattr(self._request.step, "target", None)
        if declared is not None and naming_parameters(self._request.step):
            return False
        return all(digest(self._request.values.get(name, "")) == value for name, value in entry.bound.items())

    async def _failed(self, exc: ActionFailed) -> StepOutcome:
        message, seen = str(exc), self._held.browser.last_evidence
        if not exc.dispatched:
            if self._intended:
                await self._actions.release(self._request, f"refused: {exc.reason}")
            return await self._traced(self._ended(Status.REFUSED, exc.reason, message, seen=seen))
        status = Status.UNMET if self._effect.repeatable else Status.IN_DOUBT
        return await self._traced(self._ended(status, exc.reason, message, seen=seen))

    async def _recorded(self, report: Report) -> StepOutcome:
        if names_element(self._step) and not report.lookup.hit:
            if await self._seen_after_loss():
                return await self._done(report)
            missed = self._ended(Status.MISSED, report.lookup.reason, "", report)
            return await self._traced(
                missed.model_copy(update={"snapshot": await self._actions.keep_snapshot(report.snapshot)})
            )
        fault = self._fault(report)
        if fault is None:
            return await self._done(report)
        reason, message = fault
        sent = report.evidence.observed_effect is not Effect.READ
        refused = refused_by(report.evidence, report.url)
        doubtful = not self._effect.repeatable and sent and (refused is None or is_open(refused))
        if self._intended and not doubtful:
            why = "the page sent nothing that changes anything" if refused is None else "the site refused it"
            await self._actions.release(self._request, why)
        outcome = self._ended(Status.IN_DOUBT if doubtful else Status.UNMET, reason, message, report)
        # A step that was taken for repeatable and sent something is not performed a second time either.
        raised = {"effect": max(self._effect, self._learned_effect(report), key=_rank)} if sent else {}
        kept = {"snapshot": await self._actions.keep_snapshot(report.snapshot)}
        return await self._traced(outcome.model_copy(update={**raised, **kept}))

    def _fault(self, report: Report) -> tuple[str, str] | None:
        """Why what was done is not what was wanted, as reason and message; None when nothing speaks against it."""
        unmet = failing(report.after)
        if unmet is not None:
            return unmet.reason, f"expected {unmet.reason.replace('_', ' ')}: {unmet.details}"
        refused = refused_by(report.evidence, report.url)
        if report.acted and refused is not None and not any(map(_judges_responses, self._step.expect)):
            said = f"{refused.method} {refused.url} was answered with status {refused.status}"
            return SERVER_ERROR, f"{said}, whatever the page shows; if that is as it should be, expect response_status"
        differs = failing([result.model_copy(update={"required": True}) for result in self._soft(report)])
        shown = report.proof in (None, Proof.BECAME_TRUE, Proof.RESPONSE, Proof.CAUSE)
        if report.acted and differs is not None and not shown and not self._step.expect:
            return differs.reason, f"last time it led to something else: {differs.details}"
        if self._is_unproven(report) and self._is_known_commit():
            return UNPROVEN, "nothing shows that it did anything: no request, no change of the page, no expectation met"
        return None

    def _soft(self, report: Report) -> tuple[PredicateResult, ...]:
        """The verdicts on what was derived while the step was learned."""
        declared = len(self._step.expect)
        return report.after[declared : declared + len(self._derived)]

    def _is_unproven(self, report: Report) -> bool:
        return report.acted and report.proof is Proof.NONE

    def _is_known_commit(self) -> bool:
        """Whether the step is one with consequences by what was declared or seen, not only because nobody knows."""
        recorded = None if self._entry is None else self._entry.effect
        known = self._request.step.effect is not None or recorded is not None
        return known and not self._effect.repeatable

    def _warnings(self, report: Report) -> tuple[str, ...]:
        optional = (result for result in report.after if not result.passed and not result.required)
        said = [f"{result.reason}: {shorten(str(result.details), WARNING_LIMIT)}" for result in optional]
        return (*((UNPROVEN,) if self._is_unproven(report) else ()), *said)[:WARNINGS_KEPT]

    async def _seen_after_loss(self) -> bool:
        """Whether an attempt that was lost had got so far that its element is gone and its expectation holds."""
        if not (self._request.recovered and self._effect.repeatable and self._step.expect):
            return False
        results = await self._held.browser.check(self._step.expect, SEEN_MS)
        return failing(results) is None

    async def _done(self, report: Report) -> StepOutcome:
        self._left_at = report.url or self._held.browser.url
        outcome = self._ended(Status.DONE, "", "", report).model_copy(
            update={
                "effect": self._learned_effect(report) if report.acted else self._effect,
                "already_done": names_element(self._step) and not report.acted and report.lookup.hit,
                "warnings": self._warnings(report),
            }
        )
        if self._request.reapply:
            return outcome
        begun = time.perf_counter()
        entry = await self._new_entry(report)
        known, due = await asyncio.gather(self._write(outcome, entry), self._due(only_before=True))
        spent = {"recording_ms": _ms_since(begun), "total_ms": _ms_since(self._started)}
        self._keep_ahead(outcome, known)
        hit("recorded", self._request.sequence)
        return outcome.model_copy(update={"costs": outcome.costs.model_copy(update=spent), "due": due})

    async def _due(self, *, only_before: bool = False) -> tuple[Due, ...]:
        """What rules ask for on the page as it is now; after a step that was done, those tried before a step."""
        browser = self._held.browser
        try:
            rules = await self._actions.rules_for(self._request, browser.url)
            asked = [rule for rule in rules if not only_before or rule.tried == "before_a_step"]
            return tuple(Due.of(rule) for rule in await browser.due(asked)) if asked else ()
        except SessionLost:  # that is for the next step to say: what became of this one is known
            return ()

    def _learned_effect(self, report: Report) -> Effect:
        """The effect by all that is known now: what was declared, recorded and seen."""
        recorded = None if self._entry is None else self._entry.effect
        observed = max(report.evidence.observed_effect, recorded or Effect.READ, key=_rank)
        return effect_of(action_of(self._step), self._request.step.effect, observed)

    def _keep_ahead(self, outcome: StepOutcome, known: Known) -> None:
        self._held.prefetched.clear()
        if self._request.next_step is not None and known != Known():
            self._held.prefetched[self._next_keys(outcome)] = known

    def _next_keys(self, outcome: StepOutcome) -> tuple[str, str]:
        step = self._request.next_step
        assert step is not None
        mark = fingerprint(step, self._request.values, self._request.fingerprint, outcome.digest)
        return mark, content_key(self._request.tenant, self._left_at, step)

    async def _traced(self, outcome: StepOutcome) -> StepOutcome:
        """Record an outcome that is not the step's last word: evidence, trace; find what may clear the way."""
        outcome = await self._actions.failures.added(
            outcome, self._request, self._held.browser, expect=self._step.expect, entry=self._entry
        )
        await self._write(outcome, None)
        return outcome.model_copy(update={"due": await self._due()})

    async def _write(self, outcome: StepOutcome, entry: ActionCacheEntry | None) -> Known:
        following = ("", "")
        if outcome.status is Status.DONE and self._request.next_step is not None:
            following = self._next_keys(outcome)
        recording = recording_of(self._request, outcome, trace=self._trace()).model_copy(
            update={
                "entry": entry,
                "used_version": 0 if self._entry is None else self._entry.version,
                "next_fingerprint": following[0],
                "next_content_key": following[1],
            }
        )
        return await self._actions.write(recording)

    def _trace(self) -> dict[str, Any]:
        request = self._request
        told = {"override": request.override, "overruled": self._actions.secrets.redact(request.overruled)}
        return {"site": self._site, **{key: value for key, value in told.items() if value}}

    async def _new_entry(self, report: Report) -> ActionCacheEntry | None:
        """A new version of the cache entry when this step taught something, else None."""
        step, old = self._request.step, self._entry
        if self._request.override:  # a rule's element is always looked for as the rule describes it
            return None
        if action_of(step) is Action.GOTO or (names_element(step) and report.target is None):
            return None
        seen = report.evidence.observed_effect if report.acted else None
        causes = report.evidence.causes if report.acted else ()
        if old is not None and self._request.proposed is None and not report.lookup.healed:
            raised = seen is not None and (old.effect is None or seen.rank > old.effect.rank)
            if not raised and (set(causes) <= set(old.causes) or not report.acted):
                return self._reviewed(old, report)
        names, naming = instruction_parameters(step), naming_parameters(step)
        seen_now = redacted_target(report.target or Target(), self._actions.secrets)
        target = general_target(seen_now, self._request.values, names, naming, entered_parameters(step))
        kept = seen if old is None or old.effect is None or seen is None else max(seen, old.effect, key=_rank)
        healed = report.lookup.healed
        return ActionCacheEntry(
            **target.model_dump(),
            content_key=self._key,
            step_index=self._request.sequence,
            site=self._site,
            instruction=step.instruction,
            action_type=action_of(step),
            method=step.action,
            arguments=arguments_of(step),
            effect=kept if report.acted else (None if old is None else old.effect),
            causes=causes if report.acted or old is None else old.causes,
            expectation=tuple(p.model_dump(mode="json", exclude_none=True) for p in step.expect),
            derived=self._derived_now(report),
            good_snapshot=await self._good_snapshot(report),
            run_id=self._request.run_id,
            origin="model" if self._request.proposed is not None else "heal" if healed else "declared",
            bound={name: digest(self._request.values.get(name, "")) for name in unseen_parameters(target, naming)},
            hold=healed and self._request.heal is Heal.PROPOSE,
        )

    def _derived_now(self, report: Report) -> tuple[Predicate, ...]:
        """What may be expected from now on: derived anew where the step was learned, else what held as before."""
        old = self._entry
        if old is not None and self._request.proposed is None:
            return loosened(old.derived, self._soft(report), self._request.values)
        if report.seen is None or any(predicate.is_required for predicate in self._step.expect):
            return ()
        target = None if report.target is None else redacted_target(report.target, self._actions.secrets)
        pages = {
            name: None if page is None else redacted_snapshot(page, self._actions.secrets)
            for name, page in (("before", report.seen.before), ("again", report.seen.again))
        }
        after = redacted_snapshot(report.seen.after, self._actions.secrets)
        seen = report.seen.model_copy(update={**pages, "after": after})
        return derived_from(self._request.step, seen, target, self._request.values)

    async def _good_snapshot(self, report: Report) -> str:
        if report.seen is not None:
            return await self._actions.keep_snapshot(report.seen.after)
        return "" if self._entry is None else self._entry.good_snapshot

    def _reviewed(self, old: ActionCacheEntry, report: Report) -> ActionCacheEntry | None:
        """A version without the derived expectations that did not hold although the step was done; None if all did.

        It becomes active only if the run is verified, like everything that a run learns.
        """
        kept = loosened(old.derived, self._soft(report), self._request.values)
        if kept == old.derived:
            return None
        gone = [meaning_of(predicate) for predicate in old.derived if predicate not in kept]
        note = f"gave up {gone}, which did not hold in run {self._request.run_id}"
        changes = {"derived": kept, "note": note[:500], "origin": "review", "run_id": self._request.run_id}
        return old.model_copy(update={**changes, "hold": False, "status": EntryStatus.CANDIDATE})

    def _ended(
        self, status: Status, reason: str, message: str, report: Report | None = None, seen: Evidence = _NOTHING_SEEN
    ) -> StepOutcome:
        lookup = Lookup() if report is None else report.lookup
        if self._request.proposed is not None:
            lookup = lookup.model_copy(update={"from_model": True, "healed": False})
        if self._entry is not None:
            lookup = lookup.model_copy(update={"entry_version": self._entry.version})
        outcome = StepOutcome(
            status=status,
            reason=reason,
            message=message,
            fingerprint=self._request.fingerprint,
            content_key=self._key,
            effect=self._effect,
            lookup=lookup,
            evidence=seen if report is None else report.evidence,
            predicates=() if report is None else report.after,
            proof=None if report is None else report.proof,
            url=self._held.browser.url if report is None or not report.url else report.url,
            extracted=report.extracted if report is not None and status is Status.DONE else {},
            costs=Costs(
                evaluations=0 if report is None else report.evaluations,
                redis_round_trips=self._trips + 1,
                locating_ms=0.0 if report is None else round(report.locating_ms, 2),
                acting_ms=0.0 if report is None else round(report.acting_ms, 2),
                verifying_ms=0.0 if report is None else round(report.verifying_ms, 2),
                redis_ms=round(self._redis_s * 1000, 2),
                total_ms=_ms_since(self._started),
            ),
        )
        redacted = redacted_outcome(outcome, self._actions.secrets)
        return redacted.model_copy(update={"message": redacted.message[:500]})


def _ms_since(begun: float) -> float:
    return round((time.perf_counter() - begun) * 1000, 2)


def _judges_responses(predicate: Predicate) -> bool:
    return isinstance(predicate, ResponseStatus) or any(map(_judges_responses, parts_of(predicate)))


def _is_nameless(recorded: Target) -> bool:
    return not (recorded.name or recorded.label or recorded.row)


def _rank(effect: Effect) -> int:
    return effect.rank


def from_ledger(outcome: StepOutcome) -> StepOutcome:
    """The outcome, marked as one of an earlier attempt."""
    return outcome.model_copy(update={"from_ledger": True})


def settled_outcome(request: ActionRequest) -> StepOutcome:
    """What is known of a step that a person declared done, and of which nothing else was recorded."""
    return StepOutcome(status=Status.DONE, reason="person", fingerprint=request.fingerprint, effect=Effect.COMMIT)


def recording_of(request: ActionRequest, outcome: StepOutcome, trace: dict[str, Any]) -> Recording:
    """What is written of an outcome; `trace` adds to its line."""
    return Recording(
        run_id=request.run_id,
        lineage=request.lineage,
        tenant=request.tenant,
        sequence=request.sequence,
        epoch=request.epoch,
        outcome=outcome,
        title=step_title(request.step),
        trace={**trace, "task": request.task, "usage": request.usage.model_dump(by_alias=True)},
    )
