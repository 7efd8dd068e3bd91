"""One step on its way: what the ledger knows, the action, the judgement, the outcome."""

import time
from dataclasses import replace
from typing import Any

from temporalio import activity

from activities.policing import blocked_by
from activities.proof.reconciling import go_there
from activities.session.attachments import Attachment
from activities.step.acting import Acting, Ungranted
from activities.step.awaiting import Waiting
from activities.step.downloads import with_downloads
from activities.step.endings import NOTHING_SEEN, WARNING_LIMIT, Endings
from activities.step.skipping import unmet
from activities.step.step_gate import AlreadyCommitted, StepGate
from activities.step.underway import StepTools, StepUnderway
from replaywright.domain.common.text import shorten
from replaywright.domain.locating.filling import filled_target
from replaywright.domain.locating.misses import missed_message
from replaywright.domain.page.snapshots import Snapshot
from replaywright.domain.predicate.evaluation import failing
from replaywright.domain.predicate.unmet import unmet_message
from replaywright.domain.proof.late import LATE
from replaywright.domain.proof.proof import effect_seen, is_open, shows_itself, unanswered
from replaywright.domain.proof.remarks import remarks_on
from replaywright.domain.proof.witness import GRACE_MS, Witness, missing
from replaywright.domain.run.commands import Await, Perform, Reapply, Recheck
from replaywright.domain.run.scope import Mode
from replaywright.domain.secrets.secret_sites import RULE as SECRET_RULE
from replaywright.domain.skill.value_faults import is_of_values
from replaywright.domain.skill.weak_steps import WEAK_STEP
from replaywright.domain.step.outcomes import (
    AWAITED,
    BLOCKED,
    DONE_BEFORE,
    DOUBT_BEFORE,
    GATE_CUT,
    NOTHING_SENT,
    UNANSWERED,
    UNWITNESSED,
    WHEN,
    Proof,
    Status,
    StepOutcome,
)
from replaywright.domain.step.press_grants import UNGRANTED
from replaywright.domain.task.actions import Effect, stronger
from replaywright.domain.task.steps import GoBack, Goto, names_element
from replaywright.errors import ActionFailed, DoneElsewhere, PolicyBlocked, StoreUnavailable
from replaywright.killpoints import enter, hit
from replaywright.ports.browser import Report
from replaywright.ports.ledger import Known

RECHECK_MS = 3_000
"""Additional time that a page has to show what is expected, before anything else is tried."""
SEEN_MS = 1_000
"""Time that a page has to show that a repeatable step had taken effect before its worker was lost."""
_REMEDY = (
    "give late_ms if it sends later, reconcile if the site shows it, or evidence: page if it sends nothing or only GETs"
)


class Performance:
    """Performs one step once."""

    def __init__(self, tools: StepTools, command: Perform | Reapply, held: Attachment) -> None:
        self._at = StepUnderway(tools, command, held)
        self._gate = StepGate(self._at)
        self._endings = Endings(self._at, self._gate)
        self._report: Report | None = None
        """Set once it has acted, and its outcome may still change."""

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the step."""
        return self._at.context.fingerprint

    @property
    def is_untouched(self) -> bool:
        """Return True if it has certainly given no input yet."""
        return self._gate.is_untouched

    @property
    def has_left(self) -> bool:
        """Return True if its request is on its way."""
        return self._gate.has_left

    async def outcome(self) -> StepOutcome:
        """Perform the step, and return its outcome; see `Actions.perform_action`."""
        try:
            return await self._outcome()
        except Ungranted:
            return await self._ungranted(None)
        finally:
            await self._leave_gate()

    async def _leave_gate(self) -> None:
        """Stop listening at the gate, unless its request is still waited for."""
        if self._at.held.waiting is not self:
            await self._gate.leave()

    async def _outcome(self) -> StepOutcome:
        enter(self._at.context.sequence)
        hit("start")
        if self._at.is_reapplied and await self._is_needless():
            return self._endings.outcome(Status.DONE, WHEN, "when does not hold in the new browser")
        return await self._looked_up()

    async def _looked_up(self) -> StepOutcome:
        at = self._at
        try:
            known = await self._known()
        except StoreUnavailable as exc:
            if at.declared_effect(None).repeatable:
                raise
            return self._endings.outcome(Status.REFUSED, "store_unavailable", f"the ledger cannot be read: {exc}")
        if known.outcome is not None:
            return await at.tools.ledger.answered(at.context, known.outcome)
        at.entry = known.entry if self._uses_recordings else None
        at.refused = known.refused
        at.effect = at.declared_effect(None if at.entry is None else at.entry.effect)
        if known.state == "DAMAGED":
            fault = (
                "the ledger's record of this step cannot be read: find out if it took effect, then delete the record"
            )
            return self._endings.outcome(Status.REFUSED, "ledger_damaged", fault)
        if known.state not in ("", "NOT_DONE") and not self._is_own_intent(known):
            # Whatever this attempt takes the step for: an earlier one took it for a commit.
            reason = f"ledger_{known.state.lower()}"
            return self._endings.outcome(Status.IN_DOUBT, reason, "an earlier attempt left its intent")
        if (refusal := at.tools.policing.on_command(at.command)) is not None:
            return await self._blocked(blocked_by(refusal))
        return await self._acted()

    async def _known(self) -> Known:
        """Return what the store knows before this step; without a round trip if it was fetched ahead."""
        at = self._at
        begun = time.perf_counter()
        known = at.held.prefetched.pop((at.context.fingerprint, at.key), None)
        if known is None or at.command.recovered or activity.info().attempt > 1:
            known = await at.tools.ledger.look_up(at.context, at.key)
            at.spend(begun)
        wants_element = self._uses_recordings and names_element(at.step) and not at.is_proposed
        if wants_element and known.entry is None and known.outcome is None:
            begun = time.perf_counter()
            known = known.model_copy(update={"entry": await at.tools.ledger.element(at.context, at.element_key)})
            at.spend(begun)
        return Known(entry=known.entry, refused=known.refused) if at.is_reapplied else known

    @property
    def _uses_recordings(self) -> bool:
        at = self._at
        return (at.context.run.mode is not Mode.LEARN or at.is_reapplied) and not at.context.override

    def _is_own_intent(self, known: Known) -> bool:
        """Tell if an open intent was written by an earlier try of this attempt, which dispatched nothing."""
        at = self._at
        waited = isinstance(at.command, Perform) and at.command.waited
        return waited and known.state == "INTENT" and known.epoch == at.context.run.epoch

    async def _acted(self) -> StepOutcome:
        at = self._at
        if isinstance(at.command, Perform) and at.command.weak == "ask" and at.rate.asks:
            return self._endings.outcome(Status.REFUSED, WEAK_STEP, str(at.rate))
        try:
            try:
                report = await Acting(at, self._gate).report()
            finally:
                await at.held.pictured()
        except (AlreadyCommitted, DoneElsewhere) as signal:
            return await self._done_already(signal)
        except StoreUnavailable as exc:
            if at.effect.repeatable:
                raise
            return self._endings.outcome(Status.REFUSED, "store_unavailable", f"no intent could be written: {exc}")
        except ActionFailed as exc:
            if exc.reason == SECRET_RULE:
                return await self._blocked(PolicyBlocked(str(exc), rule=SECRET_RULE, dispatched=exc.dispatched))
            blocked = await self._refused_page(exc.reason, dispatched=exc.dispatched)
            return await (self._failed(await self._explained(exc)) if blocked is None else self._blocked(blocked))
        except PolicyBlocked as exc:
            return await self._blocked(exc)
        hit("acted", at.context.sequence)
        sent = effect_seen(at.step, report.evidence) is not Effect.READ
        if (blocked := await self._refused_page(report.page_fault, dispatched=sent)) is not None:
            return await self._blocked(blocked)
        return await self._recorded(await with_downloads(report, at.browser, at.tools.artifacts))

    async def _refused_page(self, fault: str, *, dispatched: bool) -> PolicyBlocked | None:
        """Return the rule that kept the page from coming; `fault` is how that looks to the browser."""
        if fault not in ("navigation_failed", "http_403", "timeout"):
            return None
        at = self._at
        return await at.held.network.refusal_of(at.browser.wanted_url, at.began_s, dispatched=dispatched)

    async def _explained(self, exc: ActionFailed) -> ActionFailed:
        """Return the fault; of a page that nobody sent, with the keeper's word for it, which a site cannot feign."""
        at = self._at
        is_of_page = exc.reason in ("navigation_failed", "http_502", "http_504", "timeout")
        if not (isinstance(at.step, Goto | GoBack) and is_of_page):
            return exc
        why = await at.held.network.unreached(at.browser.wanted_url, at.began_s)
        return ActionFailed("navigation_failed", why, dispatched=exc.dispatched) if why else exc

    async def _is_needless(self) -> bool:
        """Tell if the page does not ask any more for a step that it asked for: a banner that was agreed to."""
        return bool(self._at.step.when) and await unmet(self._at.browser, self._at.step) is not None

    async def _done_already(self, signal: AlreadyCommitted | DoneElsewhere) -> StepOutcome:
        """Return the recorded outcome; of an act that the lineage has under another chain of steps, a refusal.

        Whether that is done again is for a person to say.
        """
        if isinstance(signal, AlreadyCommitted):
            return await self._at.tools.ledger.answered(self._at.context, signal.outcome)
        earlier = signal.fingerprint
        known = await self._at.tools.ledger.known_of(self._at.context, earlier)
        reason = DONE_BEFORE if known.state == "COMMITTED" else DOUBT_BEFORE
        message = (
            "the same was done under another chain of steps" if reason == DONE_BEFORE else f"it is {known.state} there"
        )
        outcome = self._endings.outcome(Status.REFUSED, reason, f"step {earlier[:12]} of this lineage: {message}")
        await self._endings.write(outcome)
        return outcome.model_copy(update={"earlier": earlier})

    async def _failed(self, exc: ActionFailed) -> StepOutcome:
        message, seen = str(exc), self._at.browser.last_evidence
        if not exc.dispatched:
            await self._gate.take_back(f"refused: {exc.reason}")
            outcome = self._endings.outcome(Status.REFUSED, exc.reason, message, seen=seen)
        else:
            await self._gate.note_departure()
            status = Status.UNMET if self._at.effect.repeatable else Status.IN_DOUBT
            outcome = self._endings.outcome(status, exc.reason, message, seen=seen)
        return await self._endings.failed(self._blamed(outcome))

    def _blamed(self, outcome: StepOutcome, page: Snapshot | None = None, good: Snapshot | None = None) -> StepOutcome:
        """Return the outcome with who is to blame for it: the run's values, or what is recorded."""
        context = self._at.context
        of_values = is_of_values(context.step, context.values, outcome, page, good)
        return outcome.model_copy(update={"of_values": of_values})

    async def _blocked(self, exc: PolicyBlocked, report: Report | None = None) -> StepOutcome:
        """End a step that a rule forbade, or broke off.

        A commit step of which something may have left the browser is in doubt all the same. Where there is a `report`,
        it was done, and only what it was done for was broken off: it is blocked, and its intent stays open for whoever
        resumes the run. Nothing is looked at and kept but the trace's line: the page is not what is wrong.
        """
        seen = self._at.browser.last_evidence if exc.dispatched else NOTHING_SEEN
        if not exc.dispatched:
            await self._gate.take_back(f"blocked: {exc.rule}")
        left = exc.dispatched and not self._at.effect.repeatable
        if left:
            await self._gate.note_departure()
        status = Status.IN_DOUBT if left and report is None else Status.BLOCKED
        message = f"{exc}; the step has taken effect all the same" if left and report is not None else str(exc)
        outcome = self._endings.outcome(status, BLOCKED, message, report, seen)
        outcome = outcome.model_copy(update={"rule": exc.rule})
        await self._endings.write(outcome)
        return outcome

    async def _recorded(self, report: Report) -> StepOutcome:
        is_cut = await self._gate.is_cut()
        if self._gate.ungranted.is_set():
            return await self._ungranted(report)
        if is_cut:
            return await self._thrown_away(report)
        at = self._at
        if names_element(at.step) and not report.lookup.hit:
            if await self._seen_after_loss():
                return await self._endings.done(report)
            return await self._missed(report)
        if at.looks:
            return await self._endings.looked(report)
        if (forbidden := _forbidden_file(report)) is not None:
            return await self._blocked(forbidden, report)
        if self._is_to_be_awaited(report):
            self._report, self._at.held.waiting = report, self
            return self._endings.outcome(Status.IN_DOUBT, AWAITED, "nobody but its page has told of it yet", report)
        return await self._judged(report)

    async def _missed(self, report: Report) -> StepOutcome:
        """Return the outcome of a step without an element: the page, and if another run found the element."""
        at = self._at
        recorded = None if at.entry is None else at.entry.target
        by_query = report.lookup.tier == "query"
        sought = at.declared if recorded is None or by_query else filled_target(recorded, at.context.values)
        message = missed_message(sought, getattr(at.step, "instruction", ""), report.snapshot, report.lookup)
        if recorded is not None and at.entry is not None and (others := at.entry.other_values(at.context.values)):
            named = " and ".join(f"{{{{{name}}}}}" for name in others)
            message = f"the element was recorded for another value of {named}, and does not show which; {message}"
        message += remarks_on(report.evidence)
        missed = self._endings.outcome(Status.MISSED, report.lookup.reason, message, report)
        shown = at.command.shown if isinstance(at.command, Perform) else ""
        more: dict[str, Any] = {"snapshot": await at.tools.failures.keep_missed(report.snapshot, shown)}
        is_asked_for = at.context.run.mode is Mode.AUTO and not (at.context.override or at.is_proposed)
        if is_asked_for and shows_itself(at.step) and not at.is_reapplied:
            keys = (at.key, at.element_key)
            has_candidate = await at.tools.ledger.has_candidate(at.context, keys)
            more |= {"element_key": at.element_key, "has_candidate": has_candidate}
        return await self._endings.failed(missed.model_copy(update=more))

    async def _thrown_away(self, report: Report) -> StepOutcome:
        """Say that the gate did not let the bytes of the step go: whatever the page shows, they did not leave."""
        outcome = self._endings.outcome(Status.IN_DOUBT, GATE_CUT, self._gate.refusal, report)
        return await self._endings.failed(outcome.model_copy(update={"left": bool(report.left_at)}))

    def _is_to_be_awaited(self, report: Report) -> bool:
        """Tell if the step has ended before anybody but its page could tell of it, or before it sent what it sends."""
        at = self._at
        is_over = not report.acted or at.judge().refused(report) is not None
        if is_over or at.is_reapplied:
            return False
        judge = at.judge()
        if at.unsent(report):
            return True
        if self._gate.commit is None or not judge.is_declared:
            return False
        witness = judge.witness(report)
        is_as_recorded = bool(at.sends) and not missing(at.sends, report.evidence, at.masked)
        return witness is None or (witness is Witness.SENT and not is_as_recorded)

    async def awaited(self, command: Await) -> StepOutcome:
        """Wait for the request of the step, and return its outcome by then."""
        at, report = self._at, self._report
        assert report is not None
        assert isinstance(at.command, Perform)
        at.use(command.context)
        judge, late_ms = at.judge(), at.command.late_ms
        if not judge.is_declared:
            late_ms = min(late_ms, GRACE_MS + 2 * max(sending.delay_ms for sending in at.sends))
        waiting = Waiting(
            at.browser,
            self._gate.commit,
            judge,
            recorded=at.sends_by_itself if judge.is_declared else at.awaited(report.url),
            masked=at.masked,
            late_ms=late_ms,
            answer_ms=at.step.timeout_ms,
            verify=at.command.verify,
        )
        try:
            report = await waiting.report(report)
            is_cut = await self._gate.is_cut()
            if self._gate.ungranted.is_set():
                return await self._ungranted(report)
            outcome = await (self._thrown_away(report) if is_cut else self._judged(report))
        except ActionFailed as exc:
            return await self._failed(exc)
        else:
            if outcome.status is Status.DONE and report.left_at and _needs_its_page(at.command, outcome):
                await self._come_back(report)
            return outcome
        finally:
            await self._leave_gate()

    async def _come_back(self, report: Report) -> None:
        """Open the page again that was left, unless the step has led to it: that may be to do it again."""
        at = self._at
        if not report.is_fresh:
            await at.browser.come_back(report.url, at.step.timeout_ms)
        elif at.step.reconcile is not None:
            await go_there(at.browser, at.step.reconcile, at.context)

    async def _judged(self, report: Report) -> StepOutcome:
        at = self._at
        fault = at.judge().fault(report)
        if fault is None and self._is_unwitnessed(report):
            return await self._unwitnessed(report)
        if fault is None:
            await self._gate.open()
            return await (self._ungranted(report) if self._gate.ungranted.is_set() else self._endings.done(report))
        reason, message = fault
        sent = effect_seen(at.step, report.evidence) is not Effect.READ
        refused = at.judge().refused(report)
        doubtful = not at.effect.repeatable and sent and (refused is None or is_open(refused))
        if doubtful:
            await self._gate.note_departure()
        elif report.left_at:
            await self._gate.shut("the page sent nothing that changes anything, and was left")
        else:
            await self._gate.take_back(
                "the page sent nothing that changes anything" if refused is None else "the site refused it"
            )
        good = await self._good()
        message += remarks_on(report.evidence, report.snapshot, good)
        outcome = self._endings.outcome(Status.IN_DOUBT if doubtful else Status.UNMET, reason, message, report)
        outcome = self._blamed(outcome, report.snapshot, good)
        # A step that was taken for repeatable and sent something is not performed a second time either.
        raised = {"effect": stronger(at.effect, at.learned_effect(report))} if sent else {}
        kept = {"snapshot": await at.tools.failures.keep_snapshot(report.snapshot)}
        self._report, at.held.unmet = report, self
        return await self._endings.failed(outcome.model_copy(update={**raised, **kept, "left": bool(report.left_at)}))

    async def _good(self) -> Snapshot | None:
        """Return the page after the same step of the last good run."""
        digest = "" if self._at.entry is None else self._at.entry.good_snapshot
        return await self._at.tools.failures.shown(digest) if digest else None

    def _is_unwitnessed(self, report: Report) -> bool:
        judge = self._at.judge()
        is_asked = judge.is_declared and report.acted and self._gate.commit is not None and not self._at.is_reapplied
        return is_asked and judge.witness(report) is None

    async def _unwitnessed(self, report: Report) -> StepOutcome:
        """End a step of which nobody but the page that it acted in says that it took effect.

        If nothing has left the browser, it has not, and the gate stays closed: the page may still be about to send.
        """
        seconds = f"{self._at.command.late_ms / 1000:g} s"
        if unanswered(report.evidence, report.url):
            message = f"the site has not answered what the step sent, within {seconds} and the step's own time"
            await self._gate.note_departure()
            return await self._endings.failed(self._endings.outcome(Status.IN_DOUBT, UNANSWERED, message, report))
        departure = await self._gate.shut("")
        if departure.bytes_up:
            message = (
                f"nothing that changes anything left the page within {seconds}, and only the page says that it is done"
            )
            outcome = self._endings.outcome(Status.IN_DOUBT, UNWITNESSED, f"{message}: {_REMEDY}", report)
        else:
            await self._at.tools.ledger.release(self._at.context, NOTHING_SENT)
            message = f"the page sent nothing within {seconds} after the input, nor when it was left, whatever it says"
            outcome = self._endings.outcome(Status.UNMET, NOTHING_SENT, f"{message}: {_REMEDY}", report)
        return await self._endings.failed(outcome.model_copy(update={"left": bool(report.left_at)}))

    async def _ungranted(self, report: Report | None) -> StepOutcome:
        """Refused: what it would have sent was thrown away, and nothing of it has left.

        The gate stays closed: the page may send it again by itself, and the run goes on in another browser.
        """
        at, commit = self._at, self._gate.commit
        assert commit is not None
        await at.held.stop_loading()  # Chromium repeats by itself what was cut
        wanted = commit.wanted
        assert wanted is not None
        await self._gate.keep_shut(f"{UNGRANTED}: {wanted.kind}")
        message = f"a model chose this press, and nobody has granted what it would send: {wanted.kind}"
        outcome = self._endings.outcome(Status.REFUSED, UNGRANTED, message, report, at.browser.last_evidence)
        return await self._endings.failed(outcome.model_copy(update={"consequence": wanted}))

    async def looked_again(self, command: Recheck) -> StepOutcome:
        """Give what was expected some more time, and return the outcome by then; nothing is done but looking."""
        at, report, before = self._at, self._report, command.unmet
        assert report is not None
        at.use(command.context)
        # Each has had the time that it names for itself.
        expect = [predicate.model_copy(update={"within_ms": None}) for predicate in at.step.expect]
        results = await at.browser.check(expect, RECHECK_MS)
        after = (*results, *report.after[len(at.step.expect) :])
        late = replace(report, after=after, proof=Proof.BECAME_TRUE, url=at.browser.url)
        lacking = failing(results)
        if lacking is not None or self._is_unwitnessed(late):
            message = UNWITNESSED if lacking is None else unmet_message(lacking)
            message = shorten(at.tools.secrets.redact(message), WARNING_LIMIT)
            line = {"kind": "recheck", "sequence": at.context.sequence, "why": at.context.why, "said": message}
            await at.tools.ledger.trace(at.context, line)
            return before
        if not before.effect.repeatable:
            # Its intent was taken back under the next epoch; what is recorded now comes after that.
            run = at.context.run
            at.context = at.context.model_copy(update={"run": run.model_copy(update={"epoch": run.epoch + 2})})
        return await self._endings.done(late, LATE)

    async def _seen_after_loss(self) -> bool:
        """Tell if an attempt that was lost had got so far that its element is gone and its expectation holds."""
        at = self._at
        if not (at.command.recovered and at.effect.repeatable and at.step.expect):
            return False
        results = await at.browser.check(at.step.expect, SEEN_MS)
        return failing(results) is None


def _needs_its_page(command: Perform, outcome: StepOutcome) -> bool:
    """Tell if what comes after the step is done on its page: the next step, or the final verification."""
    if command.next_step is None:
        return bool(command.verify) and outcome.verification is None
    return not isinstance(command.next_step, Goto)


def _forbidden_file(report: Report) -> PolicyBlocked | None:
    """Return the error for a file that the step itself began to download, and that was broken off by a rule."""
    sent = report.evidence.observed_effect is not Effect.READ
    for file in report.evidence.files:
        if file.state == "blocked" and not file.earlier:
            return PolicyBlocked(
                f"{file.rule}: the download of {file.name!r} was broken off", rule=file.rule, dispatched=sent
            )
    return None
